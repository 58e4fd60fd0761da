"""Building splits: what is counted, what is refused, and that three files are always of one build."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import signal
import subprocess
import sys
import textwrap
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cases import tables_beside
from peak_memory import PEAK_SOURCE
from rag_evaluation_framework import InputError, UsageError
from rag_evaluation_framework.datasets.schemas import schema_issues
from rag_evaluation_framework.datasets.split_build import (
    BuiltSplits,
    EvaluationConfig,
    build_splits,
    build_time,
    read_manifest,
    split_path,
)
from rag_evaluation_framework.errors import LimitExceededError, StorageError
from rag_evaluation_framework.files.atomic import recover
from rag_evaluation_framework.structs import replace

NOW = datetime(2025, 11, 4, 18, 30, tzinfo=UTC)


def raw(task_id: str, task_type: str = "qa", **fields: Any) -> dict[str, Any]:
    return {
        "task_id": task_id,
        "task_type": task_type,
        "instruction": "q",
        "expected_response": "r",
        **fields,
    }


def paths_in(folder: Path, **changed: Path) -> EvaluationConfig:
    paths = {
        "offline_dataset": folder / "offline_dataset.jsonl",
        "qa_output": folder / "out" / "qa_pairs.jsonl",
        "summaries_output": folder / "out" / "summaries.jsonl",
        "manifest_output": folder / "out" / "manifest.json",
    }
    return EvaluationConfig(root=folder, **{**paths, **changed})


def write(folder: Path, *records: dict[str, Any] | str) -> EvaluationConfig:
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    paths = paths_in(folder)
    paths.offline_dataset.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return paths


def build(paths: EvaluationConfig, **options: Any) -> BuiltSplits:
    version = options.pop("version", "v1")
    return build_splits(replace(paths, version=version), now=NOW, **options)


def written(paths: EvaluationConfig) -> list[bytes]:
    return [path.read_bytes() for path in paths.outputs if path.exists()]


def ids(path: Path) -> list[str]:
    return [json.loads(line)["task_id"] for line in path.read_text(encoding="utf-8").splitlines()]


def test_records_go_to_their_split_in_source_order_and_everything_is_counted(tmp_path: Path) -> None:
    paths = write(
        tmp_path,
        raw("a"),
        raw("b", "summaries"),
        "",
        raw("c", "chats"),
        raw("d"),
        raw("e", instruction=" "),
        raw("f", "summaries", expected_response=""),
        raw("g", "chats"),
        raw("h", "summaries"),
    )
    built = build(paths)
    assert built.records == 8
    assert ids(paths.qa_output) == ["a", "d"]
    assert ids(paths.summaries_output) == ["b", "h"]
    manifest = read_manifest(paths.manifest_output)
    assert manifest == built.manifest
    assert manifest == {
        "version": "v1",
        "generated_at_utc": "2025-11-04T18:30:00Z",
        "source_offline_dataset": "offline_dataset.jsonl",
        "filters": {},
        "splits": {
            name: {
                "path": f"out/{path.name}",
                "count": 2,
                "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            }
            for name, path in (("qa", paths.qa_output), ("summaries", paths.summaries_output))
        },
        "excluded_task_types": {"chats": 2},
        "dropped": {"qa": {"missing_question": 1}, "summaries": {"missing_reference": 1}},
    }
    assert schema_issues("manifest", manifest) == []


def test_the_same_input_gives_the_same_bytes_but_for_the_time(tmp_path: Path) -> None:
    paths = write(tmp_path, *(raw(str(number), metadata={"z": 1, "a": [2.5]}) for number in range(50)))
    build(paths)
    first = written(paths)
    build(paths, force=True)
    assert written(paths) == first
    build_splits(paths, now=datetime(2030, 1, 1, tzinfo=UTC), force=True)
    later = written(paths)
    assert later[:2] == first[:2]
    assert later[2] == first[2].replace(b"2025-11-04T18:30:00Z", b"2030-01-01T00:00:00Z")


def test_source_date_epoch_sets_the_time() -> None:
    assert build_time({"SOURCE_DATE_EPOCH": "1762281000"}) == datetime(2025, 11, 4, 18, 30, tzinfo=UTC)
    assert abs((build_time({}) - datetime.now(UTC)).total_seconds()) < 60
    with pytest.raises(UsageError, match="expected seconds since 1970, got 'soon'"):
        build_time({"SOURCE_DATE_EPOCH": "soon"})


def test_a_task_id_that_comes_twice_is_an_error_that_names_both_lines(tmp_path: Path) -> None:
    paths = write(tmp_path, "not JSON", raw("a"), "", raw("b", "chats"), raw("b", "summaries"))
    with pytest.raises(
        InputError, match=r"jsonl:5: task_id: expected unique task_ids, got duplicate 'b', first in line 4"
    ):
        build(paths, on_error="skip")
    assert not paths.manifest_output.exists()


def test_a_malformed_line_stops_the_build_with_its_number_or_is_counted(tmp_path: Path) -> None:
    mismatch = raw("b", rag={"contexts": ["x"], "sources": ["y", "z"]})
    paths = write(tmp_path, raw("a"), mismatch, "{", raw("c"))
    with pytest.raises(
        InputError, match=r"offline_dataset.jsonl:2: rag.sources: expected one for each of the 1"
    ):
        build(paths)
    assert not any(path.exists() for path in paths.outputs)
    built = build(paths, on_error="skip")
    assert ids(paths.qa_output) == ["a", "c"]
    assert built.manifest["dropped"] == {"qa": {}, "summaries": {}, "malformed": 2}
    assert built.records == 2


@pytest.mark.parametrize(("line", "message"), tables_beside(__file__)["malformed"])
def test_what_is_wrong_with_a_line_is_said_with_its_own_number(
    tmp_path: Path, line: str, message: str
) -> None:
    with pytest.raises(InputError, match=f"offline_dataset.jsonl:2: .*{message}"):
        build(write(tmp_path, raw("a"), line, raw("b")))


def test_all_that_is_wrong_with_a_line_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        build(write(tmp_path, '{"task_type": 5, "metadata": [], "rag": {"contexts": "a"}}'))
    paths = ["metadata", "rag.contexts", "task_id", "task_type"]
    assert sorted(issue.path for issue in caught.value.issues) == paths


def test_the_limit_counts_records_not_lines(tmp_path: Path) -> None:
    paths = write(tmp_path, "", raw("a"), "{", "", raw("b", "chats"), raw("c"), raw("d"))
    built = build(paths, limit=3, on_error="skip")
    assert built.records == 3
    assert ids(paths.qa_output) == ["a", "c"]
    assert built.manifest["filters"] == {"limit": 3}


def test_files_that_exist_need_force(tmp_path: Path) -> None:
    paths = write(tmp_path, raw("a"))
    build(paths)
    old = written(paths)
    with pytest.raises(
        UsageError,
        match=r"qa_pairs.jsonl, .*summaries.jsonl, .*manifest.json; the manifest already has version v1",
    ):
        build(paths)
    paths.qa_output.unlink()
    paths.summaries_output.unlink()
    with pytest.raises(UsageError, match=r"manifest.json; the manifest already has version v1"):
        build(paths)
    with pytest.raises(UsageError, match=r"manifest.json\. To replace it, add --force"):
        build(paths, version="v2")
    assert build(paths, force=True).changed_version is None
    assert written(paths) == old


def test_a_version_that_comes_to_stand_for_other_content_is_told(tmp_path: Path) -> None:
    build(write(tmp_path, raw("a")))
    paths = write(tmp_path, raw("a"), raw("b"))
    assert build(paths, force=True).changed_version == "v1"
    assert build(paths, force=True, version="v2").changed_version is None
    paths.manifest_output.write_text("not a manifest", encoding="utf-8")
    assert build(paths, force=True).replaced is None


def test_the_outputs_may_not_be_the_raw_records_or_each_other(tmp_path: Path) -> None:
    paths = write(tmp_path, raw("a"))
    before = paths.offline_dataset.read_bytes()
    with pytest.raises(UsageError, match="expected outputs other than the raw records"):
        build(paths_in(tmp_path, qa_output=paths.offline_dataset), force=True)
    with pytest.raises(UsageError, match="expected different output files"):
        build(paths_in(tmp_path, qa_output=paths.summaries_output))
    assert paths.offline_dataset.read_bytes() == before


def test_what_cannot_be_read_or_written_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"there is no file .*offline_dataset.jsonl"):
        build(paths_in(tmp_path))
    paths = write(tmp_path, raw("a"))
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot write"):
        build(paths_in(tmp_path, qa_output=tmp_path / "file" / "qa.jsonl"))
    with pytest.raises(UsageError, match="version: expected a name such as v1, got ' '"):
        build(paths, version=" ")
    assert not paths.manifest_output.exists()


def test_compressed_files_are_read_and_written_by_content_and_name(tmp_path: Path) -> None:
    write(tmp_path, raw("a", instruction="渡轮几点开？\u2028"), raw("b", "summaries"))
    source = tmp_path / "raw.gz"
    source.write_bytes(gzip.compress((tmp_path / "offline_dataset.jsonl").read_bytes()))
    paths = paths_in(tmp_path, offline_dataset=source, qa_output=tmp_path / "qa.jsonl.gz")
    built = build_splits(paths, now=NOW)
    written = paths.qa_output.read_bytes()
    assert json.loads(gzip.decompress(written))["question"] == "渡轮几点开？\u2028"
    assert built.manifest["splits"]["qa"]["sha256"] == hashlib.sha256(written).hexdigest()
    source.write_bytes(gzip.compress(b"x" * 100)[:-20])
    with pytest.raises(InputError, match="truncated"):
        build_splits(paths, now=NOW, force=True)
    assert paths.qa_output.read_bytes() == written


def test_a_line_beyond_the_limit_on_length_ends_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_evaluation_framework.datasets.split_mapping.MAX_LINE_BYTES", 200)
    paths = write(tmp_path, raw("a"), raw("b", rag_prompt="x" * 200))
    with pytest.raises(LimitExceededError, match=r"jsonl:2: expected a line of at most 200 bytes"):
        build(paths, on_error="skip")


def test_a_manifests_paths_lead_to_the_files_from_anywhere(tmp_path: Path) -> None:
    paths = write(tmp_path, raw("a"))
    written = build(paths).manifest["splits"]["qa"]["path"]
    assert written == "out/qa_pairs.jsonl"
    assert split_path(paths.manifest_output, written) == paths.qa_output
    assert split_path(paths.manifest_output, "out/gone.jsonl") == Path("out/gone.jsonl")


BUILD = """
    import sys
    from datetime import UTC, datetime
    from pathlib import Path
    from rag_evaluation_framework.datasets.split_build import EvaluationConfig, build_splits
    folder = Path(sys.argv[1])
    paths = EvaluationConfig(
        offline_dataset=folder / sys.argv[2],
        qa_output=folder / "out" / "qa_pairs.jsonl",
        summaries_output=folder / "out" / "summaries.jsonl",
        manifest_output=folder / "out" / "manifest.json",
        root=folder,
        version=sys.argv[2],
    )
    print("ready", flush=True)
    now = datetime(2025, 11, 4, tzinfo=UTC)
    while True:
        build_splits(paths, now=now, force=True)
"""


def big_raw(path: Path, size: int, word: str) -> None:
    """Write raw records of about four kilobytes each, half of them questions, half summaries."""
    text = (word + " ") * 400
    with path.open("w", encoding="utf-8") as stream:
        for number in range(size // 4000):
            rag = {"prompt": text, "contexts": [text[:800], text[:400]], "sources": ["a", "b"]}
            stream.write(json.dumps(raw(f"{word}-{number}", ("qa", "summaries")[number % 2], rag=rag)) + "\n")


def test_a_kill_at_any_moment_leaves_the_three_old_files_or_the_three_new_ones(tmp_path: Path) -> None:
    for name in ("old", "new"):
        big_raw(tmp_path / name, 400_000, name)
    started = time.monotonic()
    build(paths_in(tmp_path, offline_dataset=tmp_path / "old"), version="old")
    length_of_a_build = time.monotonic() - started
    generator = random.Random(5)
    for turn in range(20):
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(BUILD), str(tmp_path), ("new", "old")[turn % 2]],
            stdout=subprocess.PIPE,
        )
        assert process.stdout.readline() == b"ready\n"
        time.sleep(generator.uniform(0, 3 * length_of_a_build))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        recover(tmp_path / "out")
        assert {path.name for path in (tmp_path / "out").iterdir()} == {
            "qa_pairs.jsonl",
            "summaries.jsonl",
            "manifest.json",
        }
        check_of_one_build(tmp_path)


def check_of_one_build(folder: Path) -> None:
    """Make sure that every file is what the manifest says."""
    manifest = json.loads((folder / "out" / "manifest.json").read_bytes())
    for split in manifest["splits"].values():
        assert hashlib.sha256((folder / split["path"]).read_bytes()).hexdigest() == split["sha256"]
        assert split["count"] == 50
    for name in ("qa_pairs.jsonl", "summaries.jsonl"):
        assert all(task_id.startswith(manifest["version"]) for task_id in ids(folder / "out" / name))


def test_a_full_disk_is_a_clear_error_and_the_old_files_are_untouched(tmp_path: Path) -> None:
    build(write(tmp_path, raw("a"), raw("b", "summaries")))
    old = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    big_raw(tmp_path / "big", 2_000_000, "tide")
    limited = "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    limited += "resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))\n"
    run = subprocess.run(
        [sys.executable, "-c", limited + textwrap.dedent(BUILD), str(tmp_path), "big"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "StorageError: cannot write" in run.stderr
    assert "qa_pairs.jsonl: File too large" in run.stderr or "summaries.jsonl: File too large" in run.stderr
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == old


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    once = textwrap.dedent(BUILD).replace("while True:", "if True:")
    once = PEAK_SOURCE + once + "print(peak_kib())\n"
    peaks = []
    for megabytes in (10, 105):
        big_raw(tmp_path / f"{megabytes}", megabytes * 1_000_000, "ferry")
        run = subprocess.run(
            [sys.executable, "-c", once, str(tmp_path), str(megabytes)],
            capture_output=True,
            text=True,
            check=True,
        )
        peaks.append(int(run.stdout.split()[-1]) / 1024)
        (tmp_path / f"{megabytes}").unlink()
    small, large = peaks
    # 23,750 more records, at about 100 bytes each for their digests, and some room for the allocator.
    assert large < small + 8
    assert large < 150
