"""The run that the tests of every surface share has each state once or more, and is counted as it says."""

from __future__ import annotations

from every_state import ANSWERS, GRADES, evaluate_every_state
from rag_evaluation_framework.judging.verdict import STATES


def test_every_state_occurs_and_is_counted_once() -> None:
    found = evaluate_every_state()
    answers = found.answers.to_dict()
    assert {row.id: row.verdict.state for row in found.rows if row.verdict and row.id in STATES} == {
        name: name for name in ANSWERS if name in STATES
    }
    assert {grade: answers[grade] for grade in GRADES} == GRADES
    assert (answers["total"], answers["questions"], answers["flagged"]) == (13, 12, 1)
    assert found.answers.looks_wrong == 1
