"""The journal of a complete run is compressed, and nothing else about the run changes."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from command_lines import rag_eval
from rag_evaluation_framework import Evaluation, load
from rag_evaluation_framework.files.access import read_bytes
from rag_evaluation_framework.files.atomic import lock_taken
from run_files import plain_journal

ROWS = [
    {"id": f"a{number}", "question": f"What is the fare to pier {number}?", "answer": f"{number % 7} pounds."}
    for number in range(200)
]
SCORE = ("score", "rows.jsonl", "-m", "string_match", "-m", "token_f1")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    rows = ({**row, "reference": f"{number % 5} pounds"} for number, row in enumerate(ROWS))
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert rag_eval(*SCORE).exception is None
    return folder


@pytest.fixture
def run(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    (found,) = Path("runs").iterdir()
    return found


def told(run: Path) -> list[Any]:
    loaded = load(run)
    assert isinstance(loaded, Evaluation)
    return [(row.id, row.response.text, row.scores, row.verdict) for row in loaded.rows]


def stated() -> Any:
    """Return what the list of runs says of the only one."""
    (run,) = json.loads(rag_eval("runs", "--json").stdout)
    return run


def resume(*more: str) -> None:
    ended = rag_eval(*SCORE, "--resume", *more)
    assert ended.exception is None, ended.output


def test_a_complete_run_keeps_its_journal_compressed(run: Path) -> None:
    packed = run / "journal.jsonl.zst"
    assert not (run / "journal.jsonl").exists()
    lines = read_bytes(packed)
    assert packed.stat().st_size < len(lines) / 4
    compressed = told(run)
    assert plain_journal(run).read_bytes() == lines
    assert told(run) == compressed
    assert len(compressed) == len(ROWS)


def test_a_kill_between_writing_and_removing_loses_nothing(run: Path) -> None:
    before, packed = told(run), (run / "journal.jsonl.zst").read_bytes()
    lines = plain_journal(run).read_bytes()
    (run / "journal.jsonl.zst").write_bytes(packed)
    assert told(run) == before
    assert stated()["state"] == "complete"
    resume()
    assert not (run / "journal.jsonl").exists()
    assert (read_bytes(run / "journal.jsonl.zst"), told(run)) == (lines, before)


def test_a_run_that_lost_its_end_goes_on_from_the_lines_it_has(run: Path) -> None:
    before, journal = told(run), plain_journal(run)
    journal.write_bytes(journal.read_bytes()[:-5000])
    assert stated()["state"] == "incomplete"
    resume()
    assert told(run) == before
    assert not journal.exists()


@pytest.mark.parametrize("seed", range(8))
def test_a_flipped_byte_is_damage_and_costs_no_other_answer(run: Path, seed: int) -> None:
    before, packed, chance = told(run), run / "journal.jsonl.zst", random.Random(seed)
    data = bytearray(packed.read_bytes())
    # The first is in the head of a frame, the second cuts the end off.
    place = 5 if seed == 0 else chance.randrange(len(data))
    data[place] ^= 1 << chance.randrange(8)
    packed.write_bytes(data[:-40] if seed == 1 else data)
    state = stated()
    if state["state"] == "broken":
        assert "--ask-damaged" in state["error"]
        assert "expected an intact line" in str(rag_eval("show").exception)
        resume("--ask-damaged")
        assert len(list(run.glob("journal.damaged-1.jsonl.zst"))) == 1
    assert told(run) == before


def test_a_resume_without_a_name_takes_what_is_left_to_do_by_its_command(run: Path) -> None:
    journal = plain_journal(run)
    journal.write_bytes(journal.read_bytes()[:-5000])
    assert rag_eval(*SCORE).exception is None  # complete, and later
    refused = str(rag_eval("evaluate", "rows.jsonl", "--target", "rows.jsonl", "--resume").exception)
    assert "--resume: no run of rag-eval evaluate in runs" in refused
    refused = str(rag_eval(*SCORE, "-m", "rouge", "--resume").exception)
    assert "--resume uses the options of the run. Remove --metric" in refused
    resume("--seed", "0")
    states = {Path(each["path"]).name for each in json.loads(rag_eval("results", "--json").stdout)}
    assert states == {"results.json"}
    assert not journal.exists()


@pytest.mark.parametrize("command", [(*SCORE, "--resume"), SCORE])
def test_what_a_killed_process_left_is_removed_by_the_next(run: Path, command: tuple[str, ...]) -> None:
    places = [*([] if "--resume" in command else [run.parent]), run]
    left = [place / f".rag-eval-{number:016x}.tmp" for number, place in enumerate(places)]
    living = run / f".rag-eval-{9:016x}.tmp"
    for path in (*left, living):
        path.write_bytes(b"half of a file")
    with living.open("rb") as file:
        assert lock_taken(file.fileno(), patience=0)
        assert rag_eval(*command).exception is None
    assert living.exists()
    assert not any(path.exists() for path in left)


def test_a_small_journal_stays_as_it_is(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = (made / "rows.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "rows.jsonl").write_text("".join(lines[:5]), encoding="utf-8")
    assert rag_eval(*SCORE).exception is None
    (found,) = Path("runs").iterdir()
    assert {"journal.jsonl", "data.jsonl.zst"} <= {path.name for path in found.iterdir()}
    assert not (found / "journal.jsonl.zst").exists()


def test_the_results_beside_a_journal_lead_to_its_answers(run: Path, tmp_path: Path) -> None:
    results = run / "results.json"
    assert "query_results" not in json.loads(results.read_text(encoding="utf-8"))
    assert told(results) == told(run)
    shown = [rag_eval("show", each, "--all", "--json").stdout for each in (results, run)]
    assert shown[0] == shown[1]
    assert json.loads(rag_eval("compare", results, run, "--json").stdout)["answers"]
    refused = rag_eval("convert", results, tmp_path / "rows.results.csv")
    assert f"rag-eval export {run} --to csv" in str(refused.exception)
