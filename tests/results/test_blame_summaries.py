"""Blame summed up over a run: counts, shares of what can be told, and the text block."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.records.scores import BLAME_KINDS, PART_OF_KIND, Blame, BlameEvidence
from rag_evaluation_framework.results.breakdowns import (
    blame_line,
    blame_of_all,
    blame_summary,
    read_blame,
    read_blame_summary,
    read_blames,
    write_blames,
)
from rag_evaluation_framework.statistics.intervals import wilson_interval

BLAMES = [
    *[Blame("contradicted", "otherwise")] * 5,
    *[Blame("retrieval_missed", "not there")] * 3,
    *[Blame("not_used", "left aside")] * 2,
    *[Blame("unknown", "the answer is empty")] * 2,
    Blame("unknown", "no reference"),
]


def test_shares_are_of_the_answers_of_which_it_can_be_told() -> None:
    summary = blame_summary(BLAMES, method="containment")
    assert (summary.total, summary.told) == (13, 10)
    shares = {share.kind: share for share in summary.shares}
    assert list(shares) == list(BLAME_KINDS)
    assert (shares["contradicted"].count, shares["contradicted"].share) == (5, 0.5)
    assert (shares["retrieval_missed"].part, shares["retrieval_missed"].share) == ("retrieval", 0.3)
    assert shares["not_used"].interval == wilson_interval(2, 10)
    assert (shares["unknown"].count, shares["unknown"].share) == (3, None)
    assert sum(share.share or 0.0 for share in summary.shares) == pytest.approx(1.0)
    assert summary.unknown_because == {"the answer is empty": 2, "no reference": 1}


def test_every_kind_belongs_to_a_part() -> None:
    assert set(PART_OF_KIND) == set(BLAME_KINDS)


def test_nothing_told_has_no_shares_and_no_rows_is_no_error() -> None:
    summary = blame_summary([Blame("unknown", "no reference")], method="containment")
    assert all(share.share is None for share in summary.shares)
    assert blame_summary([], method="containment").total == 0


def test_the_summary_is_plain_values() -> None:
    written = strict_json.decode(strict_json.encode(blame_summary(BLAMES, method="m").to_dict()))
    assert written["shares"][0]["kind"] == "retrieval_missed"


def test_several_runs_are_summed_up_as_one() -> None:
    halves = [blame_summary(BLAMES[:6], method="m"), blame_summary(BLAMES[6:], method="m")]
    assert blame_of_all(halves) == blame_summary(BLAMES, method="m")
    assert blame_of_all([]) is None


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
    summary = blame_summary(BLAMES, method="m").to_dict()
    shares = [{"kind": "ok", "part": "neither", "count": 9, "share": 0.5, "interval": None}]
    read = read_blame_summary({**summary, "total": 22, "told": 19, "shares": [*shares, *summary["shares"]]})
    assert read == blame_summary(BLAMES, method="m")
