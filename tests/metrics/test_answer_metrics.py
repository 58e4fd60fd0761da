"""Metrics of claims and contexts: worked tables, and what adds up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import UsageError
from rag_evaluation_framework.metrics.claims import (
    claim_f1,
    claim_hallucination,
    claim_precision,
    claim_recall,
    context_claim_recall,
    context_precision,
    context_recall,
    context_utilization,
    correctness_by_claims,
    faithfulness,
    grounded_fraction,
    hallucination,
    judged_ndcg,
    noise_sensitivity,
    nugget_recall,
    nugget_recall_strict,
    relevance_grade,
    rubric,
    rubric_pass,
    self_knowledge,
    unsupported_tokens,
    vital_nugget_recall,
    vital_nugget_recall_strict,
)
from rag_evaluation_framework.metrics.texts import answer_relevancy

T, F = True, False
FLAGS = st.lists(st.booleans(), max_size=12)


@pytest.mark.parametrize(
    ("function", "arguments", "value"),
    [
        (faithfulness, ([T, T, F, T],), 3 / 4),  # 3 of 4 claims are supported
        (hallucination, ([T, T, F, T],), 1 / 4),
        (claim_precision, ([T, F],), 1 / 2),
        (claim_recall, ([T, F, F],), 1 / 3),
        (claim_f1, ([T, F], [T, F, F]), 2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3)),
        (claim_f1, ([T, F], [T, F]), 1 / 2),  # both are 1/2
        (claim_f1, ([F], [F]), 0.0),
        (claim_f1, ([], [T]), 0.0),  # an answer that claims nothing makes no claim of the reference
        # by words, a claim may be made in part: precision 3/4, recall 1/2
        (claim_f1, ([1.0, 0.5], [0.5]), 2 * (3 / 4) * (1 / 2) / (3 / 4 + 1 / 2)),
        # correct T F F, supported F T F: the third is neither
        (claim_hallucination, ([T, F, F], [F, T, F]), 1 / 3),
        (self_knowledge, ([T, F, F], [F, T, F]), 1 / 3),
        # the contexts hold the first two claims of the reference, the answer tells the first and the third
        (context_utilization, ([T, F, T], [T, T, F]), 1 / 2),
        # the second claim is wrong and comes from a relevant context; the third is wrong all by itself
        (noise_sensitivity, ([T, F, F], [T, T, F]), 1 / 3),
        (noise_sensitivity, ([T, T, F], [T, T, T]), 1 / 3),  # what is right misled nobody
        (context_recall, ([T, T, F],), 2 / 3),
        (context_claim_recall, ([T, F, F, T],), 2 / 4),  # 2 of 4 claims of the reference came
        # three nuggets held in full, in part and not at all; the first and the last are vital
        (nugget_recall, ([1, 0.5, 0],), 1.5 / 3),
        (nugget_recall_strict, ([1, 0.5, 0],), 1 / 3),
        (nugget_recall_strict, ([1, 1, 0],), 2 / 3),
        (vital_nugget_recall, ([1, 0.5, 0.5], [T, F, T]), 1.5 / 2),
        (vital_nugget_recall_strict, ([1, 1, 0.5], [T, F, T]), 1 / 2),
        (vital_nugget_recall_strict, ([0.5, 1, 0.5], [T, T, T]), 1 / 3),
        (relevance_grade, ([3, 0, 1],), 4 / 3),
        # 1 / log2(2) + 3 / log2(3) of the best, 3 / log2(2) + 1 / log2(3)
        (judged_ndcg, ([1, 3],), (1 + 3 / log2(3)) / (3 + 1 / log2(3))),
        (judged_ndcg, ([0, 0],), 0.0),
    ],
)
def test_a_share_of_claims_is_what_can_be_counted_by_hand(
    function: Callable[..., float | None], arguments: tuple[Sequence[bool], ...], value: float
) -> None:
    assert function(*arguments) == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize(
    ("function", "empty"),
    [
        (faithfulness, ([],)),
        (hallucination, ([],)),
        (claim_precision, ([],)),
        (claim_recall, ([],)),
        (claim_f1, ([T], [])),
        (claim_hallucination, ([], [])),
        (self_knowledge, ([], [])),
        (context_utilization, ([T, T], [F, F])),
        (noise_sensitivity, ([], [])),
        (context_precision, ([],)),
        (context_recall, ([],)),
        (context_claim_recall, ([],)),
        (grounded_fraction, (0, 0)),
        (unsupported_tokens, (0, 0)),
        (nugget_recall, ([],)),
        (vital_nugget_recall, ([1], [F])),
        (relevance_grade, ([],)),
        (judged_ndcg, ([],)),
    ],
)
def test_where_there_is_nothing_to_score_there_is_no_value(
    function: Callable[..., float | None], empty: tuple[object, ...]
) -> None:
    assert function(*empty) is None


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


@pytest.mark.parametrize(
    ("grades", "value", "passes"),
    [
        ((1.0, 1.0, 1.0, 1.0), 1.0, 1.0),
        ((0.75, 0.75, 0.5, 0.5), 0.675, 1.0),  # 0.3 + 0.225 + 0.1 + 0.05
        ((0.75, 0.5, 0.5, 0.5), 0.6, 0.0),  # 0.3 + 0.15 + 0.1 + 0.05, below 0.65
        ((1.0, 1.0, 1.0, 0.25), 0.925, 0.0),  # good, but one grade is below 0.4
        ((0.875, 0.5, 0.5, 0.5), 0.65, 1.0),  # 0.35 + 0.15 + 0.1 + 0.05, just enough
        ((1.0, 1.0, 1.0, 0.4), 0.94, 1.0),  # and so is a grade of 0.4
    ],
)
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
