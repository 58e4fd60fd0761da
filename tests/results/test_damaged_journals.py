"""A journal with a flipped byte: nothing is lost without a word, and the journal as it was is kept."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from fault_agent import running_server
from finished_runs import on_disk, scored

from command_lines import rag_eval
from rag_evaluation_framework import InputError, Sample, Turn, UsageError
from rag_evaluation_framework.results.run_store import RunFolder, set_damage_aside
from rag_evaluation_framework.structs import replace

JOURNALS = 200
IDS = [f"q{number}" for number in range(12)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    samples = [Sample(id=name, turns=(Turn(role="user", content=name),)) for name in IDS]
    values = {name: number / 12 for number, name in enumerate(IDS)}
    return on_disk(tmp_path_factory.mktemp("runs"), scored(values), samples=samples, run_id="whole")


def answered(folder: RunFolder) -> set[int]:
    return {entry.index for entry in folder.entries()}


@pytest.mark.parametrize("seed", range(JOURNALS))
def test_a_flipped_byte_is_told_and_costs_only_what_its_line_held(
    whole: RunFolder, tmp_path: Path, seed: int
) -> None:
    shutil.copytree(whole.path, tmp_path / "whole")
    folder = RunFolder.open(tmp_path / "whole")
    written = folder.journal_path.read_bytes()
    data, chance = bytearray(written), random.Random(seed)
    # Every tenth falls on one of the ends, which part or join lines.
    ends = [place for place, byte in enumerate(written) if byte == ord("\n")]
    place = chance.choice(ends) if seed % 10 == 0 else chance.randrange(len(data))
    data[place] ^= 1 << chance.randrange(8)
    folder.journal_path.write_bytes(data)
    lines = bytes(data).count(b"\n") + (not data.endswith(b"\n"))

    assert folder.state == "broken"
    with pytest.raises(InputError, match=r"journal\.jsonl:\d+: expected an intact line"):
        list(folder.entries())
    assert folder.journal_path.read_bytes() == data  # looking changes nothing

    (told,) = set_damage_aside(folder.path)
    assert told.copy.read_bytes() == data
    assert len(told.damaged) in (1, 2)
    assert all(1 <= line <= lines for line in told.damaged)
    held = {written.count(b"\n", 0, place), written.count(b"\n", 0, place + 1)}  # a lost end joins two lines
    lost = set(range(12)) - answered(folder)
    assert lost == held & set(range(12))
    assert (folder.state, folder.counts.done) == ("incomplete", 12 - len(lost))
    assert set_damage_aside(folder.path) == []  # nothing more to mend, no second copy


def test_a_second_copy_has_the_next_number(whole: RunFolder, tmp_path: Path) -> None:
    shutil.copytree(whole.path, tmp_path / "whole")
    folder = RunFolder.open(tmp_path / "whole")
    for line in (2, 5):
        lines = folder.journal_path.read_bytes().splitlines(keepends=True)
        lines[line] = lines[line].replace(b"q", b"Q")
        folder.journal_path.write_bytes(b"".join(lines))
        set_damage_aside(folder.path)
    assert sorted(path.name for path in folder.path.glob("journal*")) == [
        "journal.damaged-1.jsonl",
        "journal.damaged-2.jsonl",
        "journal.jsonl",
    ]
    assert folder.counts.done == 10


def damage(folder: RunFolder, numbers: Iterable[int]) -> list[bytes]:
    """Flip a letter of these lines, and return those that are left."""
    lines = folder.journal_path.read_bytes().splitlines(keepends=True)
    damaged = [each.replace(b"q", b"Q") if place in numbers else each for place, each in enumerate(lines, 1)]
    folder.journal_path.write_bytes(b"".join(damaged))
    return [each for place, each in enumerate(lines, 1) if place not in numbers]


def test_the_first_damaged_lines_are_named_and_the_others_stay_as_they_are(
    whole: RunFolder, tmp_path: Path
) -> None:
    for number, (numbers, named) in enumerate(
        [
            ([3, 6], "2 damaged lines (3, 6)"),
            (range(2, 12), "10 damaged lines (2, 3, 4, 5, 6, 7, 8, 9, 10, 11)"),
            (range(2, 13), "11 damaged lines (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …)"),
        ]
    ):
        shutil.copytree(whole.path, tmp_path / f"run{number}")
        folder = RunFolder.open(tmp_path / f"run{number}")
        left = damage(folder, numbers)
        (told,) = set_damage_aside(folder.path)
        assert str(told) == (
            f"{folder.journal_path}: {named} set aside; the journal as it was is now journal.damaged-1.jsonl"
        )
        assert folder.journal_path.read_bytes() == b"".join(left)


def test_the_runs_of_an_evaluation_and_the_cells_of_a_sweep_are_mended_with_it(
    whole: RunFolder, tmp_path: Path
) -> None:
    def copied(path: Path, **configuration: Any) -> RunFolder:
        shutil.copytree(whole.path, path)
        folder = RunFolder.at(path)
        return folder.amended(replace(folder.head, run_id=path.name, configuration=configuration))

    leader, alone = copied(tmp_path / "leader"), copied(tmp_path / "alone")
    second = copied(tmp_path / "second", evaluation="leader")
    for folder in (leader, second, alone):
        damage(folder, [5])
    told = set_damage_aside("leader", tmp_path)
    assert [each.journal for each in told] == [leader.journal_path, second.journal_path]
    sweep = copied(tmp_path / "sweep", cells=["one", "two"], samples=12)
    sweep.journal_path.unlink()
    cells = [copied(sweep.path / name) for name in ("one", "two")]
    (sweep.path / "notes").mkdir()
    assert sweep.counts.done == 24
    damage(cells[1], [1])
    assert [each.journal for each in set_damage_aside(sweep.path)] == [cells[1].journal_path]
    assert (sweep.counts.done, sweep.state) == (23, "incomplete")


def test_the_command_refuses_says_what_to_do_and_asks_only_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    samples = [{"input": f"What is {number}?", "expected": "that"} for number in range(5)]
    Path("five.jsonl").write_text("".join(json.dumps(each) + "\n" for each in samples))
    evaluation = {"datasets": [{"name": "five", "path": "five.jsonl"}], "metrics": ["string_match"]}
    manifest = {"apiVersion": "agentspec.io/v1", "kind": "AgentSpec", "metadata": {"name": "a"}}
    Path("agent.yaml").write_text(json.dumps({**manifest, "spec": {"evaluation": evaluation}}))
    with running_server() as server:
        command = ("evaluate", "agent.yaml", "--url", server.url)
        assert rag_eval(*command).return_value == 0
        (run,) = Path("runs").iterdir()
        journal = run / "journal.jsonl"
        before = journal.read_bytes()
        damaged = before.replace(b'"index":3', b'"index":4')
        journal.write_bytes(damaged)
        asked = len(server.log()["requests"])

        refused = rag_eval(*command, "--resume", run.name)
        assert isinstance(refused.exception, InputError)
        assert "--resume RUN --ask-damaged" in str(refused.exception)
        assert (journal.read_bytes(), len(server.log()["requests"])) == (damaged, asked)

        mended = rag_eval(*command, "--resume", run.name, "--ask-damaged")
        assert mended.return_value == 0, mended.output
        assert "1 damaged line (" in mended.output
        assert "journal.damaged-1.jsonl" in mended.output
        assert len(server.log()["requests"]) == asked + 1
    assert (run / "journal.damaged-1.jsonl").read_bytes() == damaged
    assert RunFolder.open(run).state == "complete"


def test_the_word_alone_is_wrong_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("agent.yaml").write_text("{}")
    refused = rag_eval("evaluate", "agent.yaml", "--url", "http://127.0.0.1:9", "--ask-damaged")
    assert isinstance(refused.exception, UsageError)
    assert "--ask-damaged needs --resume" in str(refused.exception)
