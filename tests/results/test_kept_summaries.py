"""Lists of many runs read what has changed since the last list, and believe no summary against a file."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from rag_evaluation_framework import evaluate
from rag_evaluation_framework.datasets import value_files
from rag_evaluation_framework.results import journal, run_folder, run_groups, stored_runs
from rag_evaluation_framework.results.run_groups import SUMMARIES_FILE, list_runs
from rag_evaluation_framework.results.stored_runs import stored_results

RUNS = 25


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of 25 runs over three questions, written long enough ago."""
    runs = tmp_path_factory.mktemp("summaries") / "runs"
    rows = [{"id": f"q{at}", "input": f"{at}?", "expected": "yes"} for at in range(3)]
    evaluate(
        rows,
        target=lambda _: "yes",
        metrics=["string_match"],
        gate={"string_match": 0.5},
        runs_directory=runs,
    )
    (first,) = runs.iterdir()
    for number in range(2, RUNS + 1):
        copied = shutil.copytree(first, runs / f"{first.name[:-3]}{number:03}")
        for name in ("head.json", "results.json"):
            written = (copied / name).read_text(encoding="utf-8")
            (copied / name).write_text(written.replace(first.name, copied.name), encoding="utf-8")
    return runs


@pytest.fixture
def runs(begun: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run_groups, "_SETTLED_NS", 0)  # so that the test need not wait
    return Path(shutil.copytree(begun, tmp_path / "runs"))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs of which a whole file is read, in the order in which they are."""
    whole: list[str] = []
    results, index = value_files.read_results, journal.read_index

    def read_results(path: Path, **wish: object) -> object:
        whole.append(Path(path).parent.name)
        return results(path, **wish)  # type: ignore[arg-type]

    def read_index(path: Path, *, total: int) -> object:
        whole.append(path.parent.name)
        return index(path, total=total)

    monkeypatch.setattr(stored_runs, "read_results", read_results)
    monkeypatch.setattr(run_folder, "read_index", read_index)
    return whole


def test_the_second_list_reads_no_file_whole_and_says_the_same(runs: Path, read: list[str]) -> None:
    first, states = stored_results(runs), [each.summary for each in list_runs(runs)]
    assert len(read) == 2 * RUNS
    assert (first[0].answers["correct"], first[0].answers["total"], first[0].verdict) == (3, 3, "passed")
    told = [(each.state, each.counts and (each.counts.done, each.counts.total)) for each in states]
    assert told == [("complete", (3, 3))] * RUNS
    read.clear()
    assert stored_results(runs) == first
    assert [each.summary for each in list_runs(runs)] == states
    assert read == []


def test_what_changed_is_read_again_even_where_size_and_time_are_the_same(
    runs: Path, read: list[str]
) -> None:
    stored_results(runs)
    list_runs(runs)
    read.clear()
    changed, torn = sorted(each for each in runs.iterdir() if each.is_dir())[3:5]
    path = changed / "results.json"
    before, written = path.stat(), path.read_text(encoding="utf-8")
    document = json.loads(written)
    other = written.replace(document["dataset_id"], "x" * len(document["dataset_id"]))
    path.write_text(other, encoding="utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    lines = (torn / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (torn / "journal.jsonl").write_bytes(b"".join(lines[:-1]))
    shown = {each.id: each.dataset for each in stored_results(runs)}
    assert shown[changed.name] == "x" * len(document["dataset_id"])
    assert {each.path.name: each.state for each in list_runs(runs)}[torn.name] == "incomplete"
    assert read == [changed.name, torn.name]


@pytest.mark.parametrize(
    "written", ["", "{", "[]", '{"version": "0"}', '{"version": "%s", "runs": {"a": 1}}']
)
def test_summaries_that_cannot_be_used_are_made_again(runs: Path, read: list[str], written: str) -> None:
    stored_results(runs)
    path = runs / SUMMARIES_FILE
    version = json.loads(path.read_text(encoding="utf-8"))["version"]
    path.write_text(written.replace("%s", version), encoding="utf-8")
    read.clear()
    assert len(stored_results(runs)) == RUNS
    assert len(read) == RUNS
    assert len(json.loads(path.read_text(encoding="utf-8"))["results"]) == RUNS


def test_a_few_runs_and_what_was_just_written_keep_no_summary(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_groups, "_SETTLED_NS", 3_600_000_000_000)
    stored_results(runs)
    assert not (runs / SUMMARIES_FILE).exists()
    monkeypatch.setattr(run_groups, "_SETTLED_NS", 0)
    for path in sorted(each for each in runs.iterdir() if each.is_dir())[10:]:
        shutil.rmtree(path)
    list_runs(runs)
    assert not (runs / SUMMARIES_FILE).exists()
