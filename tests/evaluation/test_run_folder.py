"""A run on the disk: its name, its head, its state and its lock."""

from __future__ import annotations

import json
import multiprocessing
import os
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from simulated_targets import Calculator, ExactMatch, new_folder, sample, samples

from rag_evaluation_framework import InputError, UsageError
from rag_evaluation_framework.errors import StorageError
from rag_evaluation_framework.evaluation.engine import run_samples
from rag_evaluation_framework.records.runs import RunHead
from rag_evaluation_framework.results.run_store import (
    NEW_RUN,
    RunFolder,
    list_runs,
    run_paths,
    runs_ending_in,
    short_id,
    tied_runs,
)
from rag_evaluation_framework.structs import replace

DAY = datetime(2026, 11, 15, 23, 59, tzinfo=UTC)
HEAD = RunHead(
    run_id=NEW_RUN,
    dataset_id="sums",
    dataset_version="1.2.0",
    dataset_hash="sha256:00",
    target="http://agent",
    configuration={"concurrency": 16, "nested": {"list": [1, None]}},
    metric_versions={"exact_match": 1},
    seed=7,
    packages={"rag-evaluation-framework": "0.1.0"},
)


def finished(directory: Path, count: int = 3) -> RunFolder:
    folder = new_folder(directory)
    run_samples(samples(count), Calculator(), [ExactMatch()], folder=folder)
    return folder


def test_runs_are_numbered_within_their_utc_day(tmp_path: Path) -> None:
    created = [RunFolder.create(tmp_path / "runs", HEAD, now=lambda: DAY) for _ in range(2)]
    assert [folder.head.run_id for folder in created] == ["eval_run_20261115_001", "eval_run_20261115_002"]
    (tmp_path / "runs" / "eval_run_20261115_1234").mkdir()
    assert RunFolder.create(tmp_path / "runs", HEAD, now=lambda: DAY).path.name == "eval_run_20261115_1235"


def create_some(directory: str, count: int) -> list[str]:
    return [RunFolder.create(directory, HEAD).head.run_id for _ in range(count)]


def test_processes_that_create_runs_at_once_never_get_the_same_one(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        created = pool.starmap(create_some, [(str(tmp_path), 10)] * 4)
    ids = [run_id for some in created for run_id in some]
    assert len(set(ids)) == 40
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(ids)


def test_a_head_is_read_back_equal(tmp_path: Path) -> None:
    created = RunFolder.create(tmp_path, HEAD)
    for opened in (RunFolder.open(created.head.run_id, tmp_path), RunFolder.open(created.path)):
        assert opened.head == created.head
    assert created.head.started_at is not None


@pytest.mark.parametrize("run_id", ["../evil", "a/b", "..", ".hidden", "", "a\0b", "/tmp/evil"])
def test_a_run_id_cannot_leave_the_folder(tmp_path: Path, run_id: str) -> None:
    with pytest.raises(InputError):
        new_folder(tmp_path / "runs", run_id=run_id)
    assert not list(tmp_path.glob("evil*"))


def test_a_run_id_that_is_taken_is_refused(tmp_path: Path) -> None:
    new_folder(tmp_path, run_id="nightly")
    with pytest.raises(UsageError, match="'nightly', which exists already"):
        new_folder(tmp_path, run_id="nightly")


def test_an_unknown_run_names_the_latest(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is none"):
        RunFolder.open("eval_run_20261115_001", tmp_path / "nowhere")
    created = new_folder(tmp_path)
    with pytest.raises(UsageError, match=f"The latest is {created.head.run_id}"):
        RunFolder.open("eval_run_1999-01-01_001", tmp_path)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(StorageError, match="Not a directory"):
        new_folder(tmp_path / "runs")


def test_the_state_follows_the_journal(tmp_path: Path) -> None:
    folder = new_folder(tmp_path)
    assert folder.state == "incomplete"
    folder = finished(tmp_path)
    assert folder.state == "complete"
    lines = folder.journal_path.read_bytes().splitlines(keepends=True)
    folder.journal_path.write_bytes(b"".join(lines[:2]))
    assert folder.state == "incomplete"
    assert (folder.counts.total, folder.counts.done, folder.counts.remaining) == (3, 2, 1)
    folder.journal_path.write_bytes(lines[0].replace(b"q0", b"Q0") + lines[1])
    assert folder.state == "broken"
    with folder.lock():
        assert folder.state == "running"


def test_a_run_whose_judge_has_not_used_its_budget_is_incomplete_in_the_list_too(tmp_path: Path) -> None:
    folder = finished(tmp_path)
    folder = folder.amended(replace(folder.head, configuration={"judge_budget": {"calls": 2}}))
    assert (folder.state, list_runs(tmp_path)[0].state) == ("incomplete", "incomplete")
    folder.judged_path.write_text("{}")
    assert (folder.state, list_runs(tmp_path)[0].state) == ("complete", "complete")


def test_runs_are_listed_with_their_state_and_the_unreadable_with_the_reason(tmp_path: Path) -> None:
    whole = finished(tmp_path)
    (tmp_path / "half_made").mkdir()
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange" / "head.json").write_text("[1]")
    listed = {run.path.name: run for run in list_runs(tmp_path)}
    assert {name: run.state for name, run in listed.items()} == {
        whole.head.run_id: "complete",
        "half_made": "broken",
        "strange": "broken",
    }
    assert "there is no file" in (listed["half_made"].error or "")
    assert "the head of a run" in (listed["strange"].error or "")
    assert list_runs(tmp_path / "nowhere") == []


@pytest.mark.parametrize("name", ["configuration", "metric_versions", "packages"])
@pytest.mark.parametrize("written", [None, [1], "x"])
def test_a_head_with_something_else_in_place_of_an_object_is_refused(
    tmp_path: Path, name: str, written: object
) -> None:
    folder = new_folder(tmp_path)
    head = json.loads((folder.path / "head.json").read_text())
    (folder.path / "head.json").write_text(json.dumps({**head, name: written}))
    with pytest.raises(InputError, match=rf"head\.json: {name}: expected an object, got "):
        RunFolder.open(folder.path)
    (listed,) = list_runs(tmp_path)
    assert listed.state == "broken"


def test_any_of_the_runs_that_belong_together_finds_them_all(tmp_path: Path) -> None:
    def begun(run_id: str, **tie: str) -> RunFolder:
        return RunFolder.create(tmp_path, replace(HEAD, run_id=run_id, configuration=tie))

    leader, other = begun("m_first"), begun("m_alone")
    second, third = begun("b_later", leader="m_first"), begun("z_last", leader="m_first")
    begun("elsewhere", leader="m_alone"), begun("otherwise", group="m_first")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "head.json").write_text("{")
    for named in (leader, second, third):
        found = [folder.path for folder in tied_runs(named, "leader")]
        assert found == [leader.path, second.path, third.path]
    assert [folder.head.run_id for folder in tied_runs(other, "leader")] == ["m_alone", "elsewhere"]


def test_a_lock_names_its_owner_and_is_free_when_let_go(tmp_path: Path) -> None:
    folder = new_folder(tmp_path)
    assert folder.owner is None
    with folder.lock():
        owner = folder.owner
        assert owner is not None
        assert owner.pid == os.getpid()
        with pytest.raises(UsageError, match=re.escape(f"is in use by process {os.getpid()} on ")):
            run_samples([sample(1)], Calculator(), [], folder=folder)
    assert folder.owner is None
    with folder.lock():
        pass


@pytest.mark.skipif(os.name == "nt", reason="Windows deletes no file that is open")
def test_a_lock_that_was_deleted_still_keeps_a_second_writer_off(tmp_path: Path) -> None:
    folder = new_folder(tmp_path)
    with folder.lock():
        (folder.path / "lock").unlink()
        with pytest.raises(UsageError, match="is in use; its lock file was deleted"), folder.lock():
            pass
    with folder.lock():
        pass


@pytest.mark.parametrize(
    "name", ["head.json", "journal.jsonl", "data.jsonl.zst", "results.json", "blame.jsonl.zst", "lock"]
)
def test_a_link_in_a_run_folder_is_never_written_through(tmp_path: Path, name: str) -> None:
    folder = new_folder(tmp_path)
    run_samples([sample(1)], Calculator(), [], folder=folder)
    inside, outside = folder.path / name, tmp_path / "precious"
    outside.write_bytes(inside.read_bytes() if inside.exists() else b"precious")
    before = outside.read_bytes()
    inside.unlink(missing_ok=True)
    inside.symlink_to(outside)
    with pytest.raises(UsageError, match=rf"expected no links in a run that is written to, got {name}"):
        run_samples([sample(1)], Calculator(), [], folder=folder)
    assert outside.read_bytes() == before


def test_a_run_is_named_by_any_end_of_its_id_that_only_one_has(tmp_path: Path) -> None:
    names = ["eval_run_20261115_001", "eval_run_20261115_002", "eval_run_20261116_001", "nightly"]
    folders = {name: new_folder(tmp_path, run_id=name) for name in names}
    (tmp_path / "notes.txt").write_text("no run")
    (tmp_path / ".hidden").mkdir()
    assert run_paths(tmp_path) == [folders[name].path for name in names]
    for end, ending in (
        ("002", names[1:2]),
        ("001", [names[0], names[2]]),
        ("02", []),
        ("/002", []),
        ("x02", []),
    ):
        assert [path.name for path in runs_ending_in(end, tmp_path)] == ending, end
    assert [short_id(folders[name].path) for name in names] == [
        "20261115_001",
        "002",
        "20261116_001",
        "nightly",
    ]
    assert RunFolder.open("002", tmp_path).path == folders[names[1]].path
    assert RunFolder.open(folders["nightly"].path).path == folders["nightly"].path
    with pytest.raises(UsageError, match=rf"001 matches 2 runs \({names[0]}, {names[2]}\)\. Give"):
        RunFolder.open("001", tmp_path)
    with pytest.raises(UsageError, match="a results file has the figures of a run, not its journal"):
        RunFolder.open(tmp_path / "notes.txt", tmp_path)
    with pytest.raises(UsageError, match=r"Did you mean \"eval_run_20261116_001\"\?"):
        RunFolder.open("eval_run_20261116_01", tmp_path)
    for further in ("20261117", "20261118"):
        new_folder(tmp_path, run_id=f"eval_run_{further}_001")
    last = ", ".join(f"eval_run_202611{day}_001" for day in (16, 17, 18))
    with pytest.raises(UsageError, match=rf"001 matches 4 runs \({last}\)"):
        RunFolder.open("001", tmp_path)


def test_a_run_keeps_when_it_started_and_takes_another_head_before_it_has_answers(tmp_path: Path) -> None:
    created = RunFolder.create(tmp_path, HEAD, now=lambda: DAY)
    assert created.head.started_at == "2026-11-15T23:59:00+00:00"
    known = RunFolder.create(tmp_path, replace(HEAD, run_id="known", started_at="then"), now=lambda: DAY)
    assert known.head.started_at == "then"
    amended = known.amended(replace(known.head, seed=8))
    assert RunFolder.at(known.path).head == amended.head
    head = json.loads((known.path / "head.json").read_text())
    (known.path / "head.json").write_text(json.dumps({**head, "of_a_later_version": 1}))
    assert RunFolder.at(known.path).head == amended.head
    (known.path / "head.json").write_text(json.dumps({"dataset_id": "sums"}))
    with pytest.raises(InputError, match=r"head\.json: expected the head of a run"):
        RunFolder.at(known.path)


def test_a_sweep_is_as_far_as_its_cells(tmp_path: Path) -> None:
    sweep = RunFolder.create(tmp_path, replace(HEAD, configuration={"cells": ["a", "b"], "samples": 3}))
    assert (sweep.state, sweep.counts.total, sweep.counts.done) == ("incomplete", 6, 0)
    cells = [finished(sweep.path) for _ in "ab"]
    (sweep.path / "no_cell").mkdir()
    assert sweep.cells() == [each.path for each in cells]
    assert (sweep.state, sweep.counts.done, sweep.counts.failed) == ("complete", 6, 0)
    cells[0].journal_path.write_bytes(b"x\n")
    assert (sweep.state, sweep.index().problems[0].line) == ("broken", 1)


def test_a_lock_that_says_nothing_has_an_unknown_owner_and_one_that_cannot_be_opened_is_an_error(
    tmp_path: Path,
) -> None:
    folder = new_folder(tmp_path)
    with folder.lock():
        (folder.path / "lock").write_bytes(b"")
        owner = folder.owner
        assert owner is not None
        assert str(owner) == "process 0 on an unknown host since just now"
    (folder.path / "lock").unlink()
    (folder.path / "lock").mkdir()
    with pytest.raises(StorageError, match="cannot write"), folder.lock():
        pass
