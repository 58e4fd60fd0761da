"""Whole files through ``validate``: recognised, each issue in its place, hostile ones refused in one line."""

from __future__ import annotations

import copy
import gzip
import json
import os
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from format_examples import (
    EVALUATION_DATASET,
    EXAMPLES,
    GOLDEN_MULTITURN,
    MANIFEST,
    QA_PAIR,
    RESULTS,
    SAMPLE_DATASET,
)
from single_mistakes import mistakes

from cases import tables_beside
from command_lines import rag_eval
from rag_evaluation_framework import Issue, validate_file
from rag_evaluation_framework.cli.validate import command
from rag_evaluation_framework.datasets.benchmark_files import write_benchmark
from rag_evaluation_framework.datasets.recognition import recognise
from rag_evaluation_framework.datasets.schemas import schema
from rag_evaluation_framework.datasets.validation import checked_files
from rag_evaluation_framework.errors import LimitExceededError, UnknownNameError
from rag_evaluation_framework.files.access import compress
from rag_evaluation_framework.files.json_scanner import written_path
from rag_evaluation_framework.files.yaml_documents import encode as encode_yaml

TABLES = tables_beside(__file__)

LINE_KINDS = {
    *("agent-sample", "offline-record", "qa-pair", "retrieval-case", "summary", "langsmith-example"),
    "ragas-record",
}
FORMATS = TABLES["formats"]
SAMPLE = {"input": "渡轮几点出发？", "expected": "Eight.\u2028Sharp."}


def written(path: Path, value: Any, *, indent: int | None = 2) -> Path:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=indent), encoding="utf-8")
    return path


def lines_file(path: Path, *values: Any) -> Path:
    text = "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)
    path.write_bytes(text.encode("utf-8"))
    return path


def example_file(path: Path, kind: str, value: Any) -> Path:
    return lines_file(path, value) if kind in LINE_KINDS else written(path, value)


def placed(path: Path, **options: Any) -> list[tuple[int | None, str, str]]:
    return [(issue.line, issue.path, issue.code) for issue in validate_file(path, **options)]


def errors(path: Path) -> list[Issue]:
    return [issue for issue in validate_file(path) if issue.severity == "error"]


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments], standalone_mode=False)


@pytest.mark.parametrize(
    ("kind", "value"), [example for example in EXAMPLES if not example[0].startswith("beir")]
)
def test_the_users_examples_are_recognised_by_content_alone(kind: str, value: Any, tmp_path: Path) -> None:
    name = "some.config.json" if kind == "configuration" else "some.file"
    (checked,) = checked_files([example_file(tmp_path / name, kind, value)])
    assert checked.format == FORMATS.get(kind, kind)
    # An example names documents that it does not bring along.
    allowed = {"missing-document"}
    assert {issue.code for issue in checked.issues if issue.severity == "error"} <= allowed


@pytest.mark.parametrize(
    ("kind", "value"),
    [example for example in EXAMPLES if not example[0].startswith(("beir", "configuration"))],
)
def test_a_missing_field_is_reported_though_it_tells_what_the_file_is(
    kind: str, value: Any, tmp_path: Path
) -> None:
    names = TABLES["names"]
    formats = {"squad": "squad"}  # without its data, it could be anything
    for number, mistake in enumerate(mistakes(schema(kind), value)):
        if mistake.code != "missing-field":
            continue
        path = example_file(tmp_path / f"{number}_{names.get(kind, 'file')}", kind, mistake.value)
        assert (written_path(mistake.path), "missing-field") in {
            (issue.path, issue.code) for issue in validate_file(path, format=formats.get(kind))
        }, mistake.path


def test_golden_files_may_have_comments_and_are_warned_of(tmp_path: Path) -> None:
    text = json.dumps(GOLDEN_MULTITURN, ensure_ascii=False, indent=2)
    text = text.replace('了什么？"', "了什么？\"  // 测试指代消解 '它' -> '阿尤'")
    (tmp_path / "multiturn_qa.json").write_text(text, encoding="utf-8")
    (issue,) = validate_file(tmp_path / "multiturn_qa.json")
    assert (issue.severity, issue.code, issue.line) == ("warning", "json-comment", 15)


def test_an_issue_in_a_document_has_its_file_line_and_path(tmp_path: Path) -> None:
    dataset = copy.deepcopy(SAMPLE_DATASET)
    dataset["queries"][0]["query_type"] = "odd"
    dataset["queries"][0]["citations"][0]["end_char"] = 50
    del dataset["name"]
    path = written(tmp_path / "a.eval.json", dataset)
    text = path.read_text(encoding="utf-8").splitlines()
    found = errors(path)
    assert [(issue.path, issue.code) for issue in found] == [
        ("name", "missing-field"),
        ("queries[0].query_type", "unknown-value"),
        ("queries[0].citations[0].end_char", "inverted-span"),
    ]
    assert all(issue.file == str(path) for issue in found)
    assert '"query_type"' in text[(found[1].line or 0) - 1]
    assert '"end_char"' in text[(found[2].line or 0) - 1]


@pytest.mark.parametrize("suffix", ["json", "yaml", "json.gz", "yaml.zst"])
def test_a_dataset_is_checked_in_every_notation_and_compression(suffix: str, tmp_path: Path) -> None:
    dataset = {**EVALUATION_DATASET, "created_at": "yesterday"}
    text = encode_yaml(dataset) if suffix.startswith("yaml") else json.dumps(dataset, indent=2)
    data = text.encode()
    if suffix.endswith(("gz", "zst")):
        data = compress(data, "gzip" if suffix.endswith("gz") else "zstd")
    path = tmp_path / f"a.eval.{suffix}"
    path.write_bytes(data)
    assert (6 if suffix.startswith("json") else 5, "created_at", "wrong-format") in placed(path)


def test_a_dataset_in_rows_has_the_lines_of_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.eval.csv"
    path.write_text(
        "dataset_id,name,version,query_id,query_text,relevant_documents,difficulty\n"
        'd,D,1.0.0,q1,What?,"[""a""]",easy\n'
        ',,,q2,Which?,"[""a""]",odd\n',
        encoding="utf-8",
    )
    assert placed(path) == [(3, "queries[1].difficulty", "unknown-value")]


def test_every_bad_line_of_a_line_file_is_reported(tmp_path: Path) -> None:
    path = lines_file(
        tmp_path / "rag.jsonl",
        SAMPLE,
        {"input": 5},
        {**SAMPLE, "tags": "a"},
        {**SAMPLE, "extra": {"kept": 1}},
    )
    with path.open("ab") as stream:
        stream.write(b'\r\n{"input": NaN}\n{"input": "a", "input": "b"}\n')
    assert placed(path) == [
        (2, "input", "wrong-type"),
        (2, "expected", "missing-field"),
        (3, "tags", "wrong-type"),
        (6, "input", "json-syntax"),
        (7, "", "duplicate-key"),
    ]


def test_an_id_that_occurs_twice_is_reported_with_both_lines(tmp_path: Path) -> None:
    other = {**QA_PAIR, "task_id": "other"}
    path = lines_file(tmp_path / "qa_pairs.jsonl", QA_PAIR, other, QA_PAIR)
    (issue,) = validate_file(path)
    assert str(issue).endswith(f"expected unique ids, got duplicate '{QA_PAIR['task_id']}', first in line 1")
    assert (issue.line, issue.code) == (3, "duplicate-id")


def test_a_file_too_broken_to_recognise_is_what_its_name_says(tmp_path: Path) -> None:
    assert placed(written(tmp_path / "a.eval.json", {"dataset_id": "d"})) == [
        (1, "name", "missing-field"),
        (1, "version", "missing-field"),
        (1, "queries", "missing-field"),
    ]
    assert placed(written(tmp_path / "b.results.json", {"value": 1}))[0][2] == "missing-field"


@pytest.mark.parametrize(("name", "text", "code"), TABLES["what cannot be read is one issue"])
def test_what_cannot_be_read_is_one_issue(name: str, text: str, code: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="latin-1")
    assert [issue.code for issue in validate_file(path)] == [code]


def test_a_format_overrides_the_content_and_unknown_ones_are_refused(tmp_path: Path) -> None:
    path = lines_file(tmp_path / "a.jsonl", QA_PAIR)
    assert placed(path, format="agent-samples") == [
        (1, "input", "missing-field"),
        (1, "expected", "missing-field"),
    ]
    with pytest.raises(UnknownNameError, match='Did you mean "agent-samples'):
        list(validate_file(path, format="agent-sample"))


def test_lenient_asks_for_the_least(tmp_path: Path) -> None:
    query = {"query_id": "q", "query_text": "What?", "relevant_documents": []}
    path = written(tmp_path / "a.eval.json", {"dataset_id": "d", "queries": [query]})
    assert [code for _, _, code in placed(path)] == ["missing-field", "missing-field"]
    assert placed(path, lenient=True) == []


@pytest.mark.parametrize(("suffix", "needs"), [("parquet", "pyarrow"), ("h5", "h5py")])
def test_benchmark_tables_are_checked_and_damaged_ones_are_one_issue(
    suffix: str, needs: str, tmp_path: Path
) -> None:
    pytest.importorskip(needs)
    path = tmp_path / f"a.benchmark.{suffix}"
    write_benchmark(next(value for kind, value in EXAMPLES if kind == "benchmark"), path)
    assert placed(path) == []
    path.write_bytes(path.read_bytes()[:60])
    (issue,) = validate_file(path)
    assert issue.severity == "error"


def test_every_file_that_may_be_data_is_checked_and_others_are_mentioned(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    lines_file(tmp_path / "deep" / "rag.jsonl", SAMPLE)
    written(tmp_path / "run.results.json", RESULTS)
    written(tmp_path / "package.json", {"name": "x", "version": "1", "description": "something else"})
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    (tmp_path / "notes.md").write_text("{", encoding="utf-8")
    (tmp_path / ".hidden.json").write_text("{", encoding="utf-8")
    checked = {
        Path(file.file).name: (file.format, [(issue.severity, issue.code) for issue in file.issues])
        for file in checked_files([tmp_path])
    }
    assert checked == {
        "broken.json": (None, [("error", "json-syntax")]),
        "package.json": (None, [("info", "unknown-dialect")]),
        "run.results.json": ("results", []),
        "rag.jsonl": ("agent-samples", []),
    }


def test_a_link_that_leaves_the_folder_is_not_followed(tmp_path: Path) -> None:
    outside = lines_file(tmp_path / "secret.jsonl", SAMPLE)
    folder = tmp_path / "data"
    folder.mkdir()
    lines_file(folder / "own.jsonl", SAMPLE)
    (folder / "link.jsonl").symlink_to(outside)
    (folder / "twin.jsonl").symlink_to(folder / "own.jsonl")
    (folder / "loop.jsonl").symlink_to(folder / "loop.jsonl")
    found = {Path(file.file).name: [issue.code for issue in file.issues] for file in checked_files([folder])}
    assert found == {"link.jsonl": ["link-out-of-folder"], "loop.jsonl": ["unreadable"], "own.jsonl": []}


def test_a_folder_without_data_is_an_error(tmp_path: Path) -> None:
    written(tmp_path / "package.json", {"name": "something else"})
    result = run(tmp_path)
    assert (
        f"{tmp_path}: error: expected files with evaluation data, got no such file [no-data]" in result.output
    )
    assert result.return_value == 2


def test_a_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.jsonl")
    (issue,) = validate_file(tmp_path / "a.jsonl")
    assert str(issue).endswith("expected a regular file, got a pipe")


def test_without_a_manifest_to_compare_with_an_older_one_it_is_wrong_usage(tmp_path: Path) -> None:
    old = written(tmp_path / "old.json", MANIFEST)
    result = run(lines_file(tmp_path / "a.jsonl", SAMPLE), "--against", old, "--json")
    assert json.loads(result.output)["files"][1]["issues"][0]["code"] == "nothing-to-compare"
    assert result.return_value == 2


def test_a_file_name_that_is_not_unicode_is_no_obstacle(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"\xff.jsonl")
    try:
        lines_file(path, {"input": "a"})
    except OSError:
        pytest.skip("this file system has only Unicode names")
    (file,) = json.loads(run(tmp_path, "--json").output)["files"]
    assert file["issues"][0]["code"] == "missing-field"


# Runs the command and reports its own peak, since what a parent sees of a child includes the parent's pages.
MEASURED = """
import re, sys
from pathlib import Path
from rag_evaluation_framework.cli.validate import command
code = command.main(sys.argv[1:], standalone_mode=False)
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]
print(int(peak) // 1024, file=sys.stderr)
sys.exit(code)
"""


def validated(path: Path) -> tuple[int, list[str], int]:
    """Return the exit code, the lines printed and the peak in megabytes of a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout.splitlines(), int(done.stderr)


def gzip_bomb(piece: bytes) -> bytes:
    """Return a gzip file of 4 GB in about 4 MB: one compressed piece of 1 MB, 4,096 times."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    once = deflate.compress(piece * ((1 << 20) // len(piece))) + deflate.flush(zlib.Z_FULL_FLUSH)
    return gzip.compress(b"")[:10] + once * 4096


needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the peak from /proc")


@needs_proc
@pytest.mark.parametrize(
    ("name", "code"), TABLES["a hostile file is refused in one line and in little memory"]
)
def test_a_hostile_file_is_refused_in_one_line_and_in_little_memory(
    name: str, code: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    deep = b"[" * 5_000 + b"]" * 5_000
    if name == "device.jsonl":
        path.symlink_to("/dev/zero")
    else:
        aliases = "".join(f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 9)}]\n" for n in range(9))
        path.write_bytes(
            {
                "deep.json": deep,
                "deep.eval.json": b'{"queries": ' + deep + b"}",
                "deep.jsonl": b'{"input": "a", "expected": "b", "metadata": ' + deep + b"}\n",
                "bomb.eval.yaml": f"a0: &a0 [x, x, x]\n{aliases}queries: *a9\n".encode(),
                "zeros.eval.json.gz": gzip_bomb(b"\0"),
                "lines.jsonl.gz": gzip_bomb(b'{"input":"","expected":""}\n'),
            }[name]
        )
    exit_code, lines, megabytes = validated(path)
    assert exit_code == 2
    assert [line.rpartition("[")[2] for line in lines[:-2]] == [f"{code}]"]
    assert megabytes < 200


def test_a_bomb_is_refused_before_its_first_sample_comes_out(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl.gz"
    path.write_bytes(gzip_bomb(b'{"input":"","expected":""}\n'))
    with pytest.raises(LimitExceededError, match="a compression ratio of at most"):
        next(recognise(path).stream(path))


def test_files_that_are_not_there_are_reported_beside_what_is_wrong_with_others(tmp_path: Path) -> None:
    wrong = lines_file(tmp_path / "a.jsonl", {"input": "q"})
    gone = tmp_path / "gone.jsonl"
    result = run(gone, wrong)
    assert result.return_value == 2
    assert result.output.splitlines() == [
        f"{gone}: error: there is no file of this name [unreadable]",
        f'{wrong}:1: error: "expected" is missing [missing-field]',
        "",
        "2 errors in 2 files",
    ]


def test_one_field_in_common_with_a_format_does_not_make_a_file_of_it(tmp_path: Path) -> None:
    record = {"query_id": "1", "query": "q", "positive_passages": [], "negative_passages": []}
    path = lines_file(tmp_path / "topics.jsonl", record, {**record, "query_id": "2"})
    (checked,) = checked_files([path])
    assert (checked.format, list(checked.issues)) == ("rows", [])
    record["text"] = record.pop("query")
    (issue,) = validate_file(lines_file(path, record, record))
    assert issue.code == "unknown-dialect"


@needs_proc
def test_memory_does_not_grow_with_a_line_file(tmp_path: Path) -> None:
    record = {**SAMPLE, "context": ["The ferry leaves at eight. " * 40] * 4}
    peaks = []
    for count in (500, 8_000):  # 2 MB, 35 MB
        path = lines_file(tmp_path / f"{count}.jsonl", *({**record, "id": f"s{n}"} for n in range(count)))
        exit_code, _, megabytes = validated(path)
        assert exit_code == 0
        peaks.append(megabytes)
    assert peaks[1] < peaks[0] + 8


PASSENGERS = TABLES["passengers"]
FOUND = TABLES["found"]


def test_what_is_found_is_told_as_editors_read_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("passengers.jsonl").write_text(PASSENGERS, encoding="utf-8")
    assert run("passengers.jsonl").stdout == FOUND


def test_the_way_on_is_to_read_a_file_by_its_own_names_where_that_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own.jsonl").write_text('{"question": "Who runs it?", "answer": "Anna"}\n' * 2)
    told = rag_eval("validate", "own.jsonl", "--format", "agent-samples").output
    (line,) = [line for line in told.splitlines() if line.startswith("Next: ")]
    options = line.removeprefix("Next: correct the file, or pass ").split()
    assert options == ["--map", "input=question", "--map", "expected=answer"]
    assert "valid: 0 errors" in rag_eval("validate", "own.jsonl", *options).output
    # A field that is missing once is put right in the file.
    right, wrong = '{"input": "q", "expected": "a"}\n', '{"question": "q", "answer": "a"}\n'
    Path("one.jsonl").write_text(right * 3 + wrong)
    assert "Next: " not in rag_eval("validate", "one.jsonl").output
