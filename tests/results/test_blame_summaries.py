"""Blame summed up over a run: counts, shares of what can be told, and the text block."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rag_evaluation_framework.evaluation.blame import BLAME_KINDS, Blame
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.judging.verdicts import Claim, ClaimVerdict
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.runs import SampleResult
from rag_evaluation_framework.records.samples import Sample, Turn
from rag_evaluation_framework.reports.blame import blame_text
from rag_evaluation_framework.results.blame_summaries import (
    PART_OF_KIND,
    blame_of_all,
    blame_summary,
    blamed_rows,
)
from rag_evaluation_framework.results.run_rows import RunRow
from rag_evaluation_framework.statistics.intervals import wilson_interval

BLAMES = [
    *[Blame("ok", "right")] * 5,
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
    assert (shares["ok"].count, shares["ok"].share) == (5, 0.5)
    assert (shares["retrieval_missed"].part, shares["retrieval_missed"].share) == ("retrieval", 0.3)
    assert shares["not_used"].interval == wilson_interval(2, 10)
    assert (shares["unknown"].count, shares["unknown"].share) == (3, None)
    assert sum(share.share or 0.0 for share in summary.shares) == pytest.approx(1.0)
    assert summary.unknown_because == {"the answer is empty": 2, "no reference": 1}
    assert summary.count("not_used") == 2


def test_every_kind_belongs_to_a_part() -> None:
    assert set(PART_OF_KIND) == set(BLAME_KINDS)


def test_nothing_told_has_no_shares_and_no_rows_is_no_error() -> None:
    summary = blame_summary([Blame("unknown", "no reference")], method="containment")
    assert all(share.share is None for share in summary.shares)
    assert "cannot be told for 1: no reference (1)" in blame_text(summary)
    assert blame_summary([], method="containment").total == 0


def test_the_text_names_the_part_the_count_and_the_method() -> None:
    text = blame_text(blame_summary(BLAMES, method="lexical support, screening"))
    lines = text.splitlines()
    assert lines[0] == "where it fails (lexical support, screening): 10 of 13 answers"
    row = ("relevant", "text", "not", "retrieved", "retrieval", "3", "30.0%", "[10.8%,", "60.3%]")
    assert row in [tuple(line.split()) for line in lines]
    assert not any("contradicted" in line for line in lines)
    assert lines[-1] == "cannot be told for 3: the answer is empty (2); no reference (1)"


def test_the_summary_is_plain_values() -> None:
    written = strict_json.decode(strict_json.encode(blame_summary(BLAMES, method="m").to_dict()))
    assert written["shares"][1]["kind"] == "retrieval_missed"


class Agreeable:
    """Supports everything."""

    name = "agreeable"
    version = 1

    def supports(
        self, claims: Sequence[Claim], evidence: Sequence[str], *, question: str = ""
    ) -> list[ClaimVerdict]:
        return [ClaimVerdict(claim=claim, label="supported") for claim in claims]


def test_rows_without_their_sample_are_passed_over() -> None:
    asked = Sample(id="q1", turns=(Turn(role="user", content="?"),), reference="It is so.")
    result = SampleResult("q1", Response(text="It is so.", contexts=("It is so.",)))
    rows = [RunRow(result, asked), RunRow(SampleResult("q2", Response(text="x")))]
    ((identifier, found),) = blamed_rows(rows, Agreeable())
    assert (identifier, found.kind) == ("q1", "ok")


def test_several_runs_are_summed_up_as_one() -> None:
    halves = [blame_summary(BLAMES[:6], method="m"), blame_summary(BLAMES[6:], method="m")]
    assert blame_of_all(halves) == blame_summary(BLAMES, method="m")
    assert blame_of_all([]) is None


def test_every_turn_of_a_conversation_is_an_answer_of_its_own() -> None:
    turns = (
        Turn(role="user", content="Who keeps the tables?"),
        Turn(role="assistant", reference="Tobin Reed."),
        Turn(role="user", content="Who taught him?"),
        Turn(role="assistant", reference="Mara Quill."),
    )
    told = [
        {"question": "Who keeps the tables?", "answer": "Tobin Reed", "contexts": []},
        {"question": "Who taught him?", "answer": "Nobody", "contexts": ["Mara Quill taught him."]},
    ]
    response = Response(text="Nobody", metadata={"turns": told})
    row = RunRow(SampleResult("c", response), Sample(id="c", turns=turns))
    found = list(blamed_rows([row], Agreeable()))
    assert [(identifier, each.kind) for identifier, each in found] == [("c", "ok"), ("c", "not_used")]
