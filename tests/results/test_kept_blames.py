"""The blames of a run, as its folder keeps them."""

from __future__ import annotations

from pathlib import Path

from rag_evaluation_framework.records.scores import BLAME_KINDS, PART_OF_KIND, Blame, BlameEvidence
from rag_evaluation_framework.results.breakdowns import blame_line, read_blame, read_blames, write_blames


def test_every_kind_belongs_to_a_part() -> None:
    assert set(PART_OF_KIND) == set(BLAME_KINDS)


def test_blames_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    told = Blame("not_used", "left aside", (BlameEvidence("It is so."),))
    shown = (BlameEvidence("The ferry is green.", "The ferry is not green."), BlameEvidence("海葡萄"))
    blames = [
        ("q1", Blame("contradicted", "1 claim is contradicted", shown)),
        ("q2", Blame.of_turns({1: None, 2: told})),
        ("q3", None),
    ]
    write_blames(tmp_path / "blame.jsonl", [blame_line(*each) for each in blames])
    assert list(read_blames(tmp_path / "blame.jsonl")) == blames
    write_blames(tmp_path / "blame.jsonl", [])
    assert list(read_blames(tmp_path / "blame.jsonl")) == []


def test_kinds_of_older_runs_that_tell_no_cause_are_left_out() -> None:
    old = {"kind": "ok", "why": "right", "evidence": [], "turns": {}}
    missed = {**old, "kind": "not_used", "why": "left aside"}
    assert read_blame(old) is None
    both = read_blame({**old, "kind": "answered_wrongly", "turns": {"1": old, "3": missed}})
    assert both == Blame.of_turns({1: None, 3: Blame("not_used", "left aside")})
