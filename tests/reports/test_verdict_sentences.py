"""The sentences of verdicts, word for word."""

from __future__ import annotations

from typing import Any

import pytest

from cases import tables_beside
from rag_evaluation_framework.reports.messages import verdict_sentences as of

TABLES = tables_beside(__file__)


@pytest.mark.parametrize(("situation", "given", "expected"), [*TABLES["of_many"], *TABLES["of_one"]])
def test_sentence_of_a_situation_is_as_designed(situation: str, given: dict[str, Any], expected: str) -> None:
    assert getattr(of, situation)(**given) == expected
    assert len(expected) <= 90


def test_some_wrong_with_many_kinds_stays_short() -> None:
    kinds = {"not_used": 9, "retrieval_missed": 8, "contradicted": 7, "missed_refusal": 6, "wrong": 5}
    said = of.some_wrong(wrong=35, total=400, kinds=kinds)
    assert said == "35 of 400 answers are wrong: 9 retrieved but not used, 26 other."
    assert len(f"✗ FAILED: {said}") <= 90
