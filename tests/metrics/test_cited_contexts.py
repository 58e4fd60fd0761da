"""The numbered contexts that an answer cites against those of its reference."""

from __future__ import annotations

import pytest

from rag_evaluation_framework import evaluate
from rag_evaluation_framework.metrics.citations import (
    cited_context_f1,
    cited_context_precision,
    cited_context_recall,
)


@pytest.mark.parametrize(
    ("answer", "reference", "precision", "recall", "f1"),
    [
        ("[1]", "[1]", 1.0, 1.0, 1.0),
        # one of two is right, one of three is found: 2 × 1 / (2 + 3)
        ("Noon [1], fares [4].", "[1][2][3]", 0.5, 1 / 3, 0.4),
        ("[1-3]", "[1, 2]", 2 / 3, 1.0, 0.8),
        ("[1][1]", "[1]", 1.0, 1.0, 1.0),
        ("At noon.", "[2]", None, 0.0, 0.0),
        ("[2]", "[1]", 0.0, 0.0, 0.0),
    ],
)
def test_each_number_counts_once(
    answer: str, reference: str, precision: float | None, recall: float, f1: float
) -> None:
    assert cited_context_precision(answer, reference) == pytest.approx(precision)
    assert cited_context_recall(answer, reference) == pytest.approx(recall)
    assert cited_context_f1(answer, reference) == pytest.approx(f1)


def test_a_reference_that_cites_nothing_is_skipped_with_the_reason() -> None:
    rows = [{"user_input": "q", "response": "At noon [1].", "reference": each} for each in ("[1]", "Noon.")]
    figure = evaluate(rows, metrics=["cited_context_f1"]).metrics["cited_context_f1"]
    assert (figure.value, figure.n_scored, figure.n_skipped) == (1.0, 1, 1)
