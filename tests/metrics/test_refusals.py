"""Refusals that were due, and those that were not."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import pytest

from rag_evaluation_framework.errors import InputError
from rag_evaluation_framework.judging.answer_classes import AnswerKind
from rag_evaluation_framework.metrics.declaration import parse_metric
from rag_evaluation_framework.metrics.safety import (
    ANSWER_CLASSES,
    dont_know,
    over_refusal,
    refusal_recall,
)


@pytest.mark.parametrize(
    ("answer_class", "recall", "over", "unknown"),
    [
        ("answered", 0.0, 0.0, 0.0),
        ("refused", 1.0, 1.0, 0.0),
        ("dont_know", 1.0, 1.0, 1.0),  # to say that one does not know is to decline, too
        ("asks_back", 0.0, 0.0, 0.0),
    ],
)
def test_refusing_and_not_knowing_decline_and_asking_back_does_not(
    answer_class: str, recall: float, over: float, unknown: float
) -> None:
    assert refusal_recall(answer_class) == recall
    assert over_refusal(answer_class) == over
    assert dont_know(answer_class) == unknown


def test_the_two_by_two_table_adds_up() -> None:
    # Four samples expect a refusal: two are refused, one is not known, one is answered: recall 3/4.
    # Five expect an answer: three get one, one is refused, one is not known: over-refusal 2/5.
    expecting_refusals = ["refused", "refused", "dont_know", "answered"]
    expecting_answers = ["answered", "answered", "answered", "refused", "dont_know"]
    assert sum(map(refusal_recall, expecting_refusals)) / 4 == 0.75
    assert sum(map(over_refusal, expecting_answers)) / 5 == 0.4
    assert sum(map(dont_know, expecting_answers)) / 5 == 0.2


@pytest.mark.parametrize("metric", [refusal_recall, over_refusal, dont_know])
def test_a_class_that_is_none_is_refused(metric: Callable[[str], float]) -> None:
    with pytest.raises(
        InputError, match="answer_class: expected one of answered, refused, dont_know, asks_back"
    ):
        metric("silent")


def test_over_refusals_are_better_when_there_are_fewer() -> None:
    assert parse_metric("refusal_recall").metric.higher_is_better
    assert not parse_metric("over_refusal").metric.higher_is_better
    assert not parse_metric("dont_know").metric.higher_is_better


def test_the_classes_are_those_of_the_classifier() -> None:
    assert get_args(AnswerKind) == ANSWER_CLASSES
