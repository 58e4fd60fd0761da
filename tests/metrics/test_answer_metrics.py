"""Metrics of claims and contexts: worked tables, and what adds up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import log2
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import UsageError
from rag_evaluation_framework.metrics import claims
from rag_evaluation_framework.metrics.claims import (
    claim_hallucination,
    context_precision,
    correctness_by_claims,
    faithfulness,
    grounded_fraction,
    judged_ndcg,
    relevance_grade,
    rubric,
    rubric_pass,
    self_knowledge,
    unsupported_tokens,
)
from rag_evaluation_framework.metrics.texts import answer_relevancy

TABLES = tables_beside(__file__)

T, F = True, False
FLAGS = st.lists(st.booleans(), max_size=12)


@pytest.mark.parametrize(
    ("function", "arguments", "value"),
    [
        *(
            (getattr(claims, name), arguments, float(Fraction(value)))
            for name, arguments, value in TABLES["a_share_of_claims_is_what_can_be_counted_by_hand"]
        ),
        # 1 / log2(2) + 3 / log2(3) of the best, 3 / log2(2) + 1 / log2(3)
        (judged_ndcg, ([1, 3],), (1 + 3 / log2(3)) / (3 + 1 / log2(3))),
    ],
)
def test_a_share_of_claims_is_what_can_be_counted_by_hand(
    function: Callable[..., float | None], arguments: Sequence[Any], value: float
) -> None:
    assert function(*arguments) == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize(("function", "empty"), TABLES["where_there_is_nothing_to_score_there_is_no_value"])
def test_where_there_is_nothing_to_score_there_is_no_value(function: str, empty: list[Any]) -> None:
    assert getattr(claims, function)(*empty) is None


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=12))
def test_faithfulness_claim_hallucination_and_self_knowledge_add_up_to_one(
    verdicts: list[tuple[bool, bool]],
) -> None:
    correct, supported = [right for right, _ in verdicts], [borne for _, borne in verdicts]
    parts = (
        faithfulness(supported),
        claim_hallucination(correct, supported),
        self_knowledge(correct, supported),
    )
    assert None not in parts
    assert sum(part for part in parts if part is not None) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("correct", "recalled", "similarity", "value"),
    [
        # TP 2, FP 1, FN 1: F1 = 2 / (2 + 1) = 2/3; 0.75 × 2/3 + 0.25 × 0.4
        ([T, T, F], [T, F], 0.4, 0.75 * 2 / 3 + 0.1),
        ([T], [T], 1.0, 1.0),
        ([F], [F], 0.0, 0.0),
        # an answer that claims nothing: TP 0, FN 2
        ([], [F, F], 0.2, 0.05),
    ],
)
def test_by_a_judge_correctness_weighs_claims_and_wording(
    correct: list[bool], recalled: list[bool], similarity: float, value: float
) -> None:
    assert correctness_by_claims(correct, recalled, similarity=similarity) == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize(
    ("useful", "value"),
    [
        ([T, F, T], (1 / 1 + 2 / 3) / 2),  # precision@1 = 1, precision@3 = 2/3
        ([F, T], 1 / 2),
        ([F, F], 0.0),
        ([T, T], 1.0),
    ],
)
def test_context_precision_rewards_useful_contexts_that_come_first(useful: list[bool], value: float) -> None:
    assert context_precision(useful) == pytest.approx(value, abs=1e-15)


@given(FLAGS.filter(any))
def test_context_precision_never_falls_when_useful_contexts_move_to_the_front(useful: list[bool]) -> None:
    value, sorted_value = context_precision(useful), context_precision(sorted(useful, reverse=True))
    assert value is not None
    assert sorted_value == 1.0 >= value


def test_words_are_counted_as_grounded_or_new() -> None:
    assert grounded_fraction(8, 2) == 0.75
    assert unsupported_tokens(8, 2) == 2.0
    for count, of_four in ((grounded_fraction, [1.0, 0.0]), (unsupported_tokens, [0.0, 4.0])):
        assert [count(4, 0), count(4, 4)] == of_four
        for wrong in (4, -1):
            with pytest.raises(UsageError, match=f"from 0 to 3 new words, got {wrong}"):
                count(3, wrong)


@pytest.mark.parametrize(
    ("likeness", "noncommittal", "value"), [(0.6, F, 0.6), (0.6, T, 0.0), (-0.2, F, 0.0), (1.2, F, 1.0)]
)
def test_an_answer_that_does_not_answer_is_not_relevant(
    likeness: float, noncommittal: bool, value: float
) -> None:
    assert answer_relevancy(likeness, answered=not noncommittal) == value


WEIGHTS = {"factuality": 0.4, "grounding": 0.3, "completeness": 0.2, "communication": 0.1}


@pytest.mark.parametrize(("grades", "value", "passes"), TABLES["rubric_grades"])
def test_a_rubric_is_summed_here_and_passed_here(
    grades: tuple[float, ...], value: float, passes: float
) -> None:
    scores = dict(zip(WEIGHTS, grades, strict=True))
    assert rubric(scores, WEIGHTS) == pytest.approx(value, abs=1e-12)
    assert rubric_pass(scores, WEIGHTS) == passes


def test_a_rubric_without_criteria_passes_nobody_and_has_nine_digits() -> None:
    assert rubric_pass({}, {}, pass_at=0.0) == 0.0
    assert rubric({"a": 0.1234567894}, {"a": 1.0}) == 0.123456789


def test_cut_offs_leave_out_the_contexts_below_them() -> None:
    assert relevance_grade([3, 0, 3], k=2) == 3 / 2
    assert judged_ndcg([2, 1, 3], k=1) == 2 / 3  # the best of all has 3 at the top


def test_verdicts_on_different_claims_and_grades_on_other_criteria_are_refused() -> None:
    with pytest.raises(UsageError, match="the same claims, got 1 and 2"):
        claim_hallucination([T], [T, F])
    with pytest.raises(UsageError, match="expected grades for factuality"):
        rubric({"style": 1.0}, WEIGHTS)
