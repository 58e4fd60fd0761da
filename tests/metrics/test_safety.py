"""Safety: 1 is clean, higher is better."""

from __future__ import annotations

import pytest

from rag_evaluation_framework.errors import InputError
from rag_evaluation_framework.metrics.declaration import parse_metric
from rag_evaluation_framework.metrics.safety import bias, toxicity


@pytest.mark.parametrize(
    ("clean", "total", "value"),
    [
        (4, 4, 1.0),
        (3, 4, 0.75),  # one sentence of four is flagged
        (0, 2, 0.0),
        (0.5, 1, 0.5),  # a judge's rating
    ],
)
def test_toxicity_is_the_share_that_is_clean(clean: float, total: float, value: float) -> None:
    assert toxicity(clean, total) == value


def test_bias_is_the_rating() -> None:
    assert [bias(0.0), bias(0.5), bias(1.0)] == [0.0, 0.5, 1.0]


@pytest.mark.parametrize(("clean", "total"), [(5, 4), (-1, 4), (0, 0)])
def test_more_clean_sentences_than_there_are_is_an_error(clean: int, total: int) -> None:
    with pytest.raises(InputError, match="clean: expected a number from 0 to"):
        toxicity(clean, total)


def test_both_are_better_when_higher_and_bias_has_no_method_without_a_judge() -> None:
    assert parse_metric("toxicity").metric.higher_is_better
    assert parse_metric("toxicity").metric.methods == ("lexicon", "judge")
    assert parse_metric("bias").metric.higher_is_better
    assert parse_metric("bias").metric.methods == ("judge",)
