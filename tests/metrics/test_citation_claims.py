"""The metrics of citations as functions of flags."""

from __future__ import annotations

import pytest

from rag_evaluation_framework.metrics.citations import (
    citation_completeness,
    citation_correctness,
    citation_f1,
    citation_precision,
    citation_recall,
    citation_validity,
)
from rag_evaluation_framework.metrics.declaration import parse_metric

FLAGS = [True, True, True, False]


def test_each_metric_is_the_share_of_its_flags() -> None:
    for share in (
        citation_recall,
        citation_precision,
        citation_completeness,
        citation_correctness,
        citation_validity,
    ):
        assert share(FLAGS) == 3 / 4
        assert share([False]) == 0.0


def test_f1_is_the_harmonic_mean_of_recall_and_precision() -> None:
    # Recall 3/4, precision 1/2: 2 × 0.375 / 1.25 = 0.6.
    assert citation_f1(FLAGS, [True, False]) == pytest.approx(0.6)
    assert citation_f1(FLAGS, []) == 0.0
    assert citation_f1([False], [True]) == 0.0


def test_an_answer_that_cites_nothing_has_precision_zero_and_no_correctness_or_validity() -> None:
    assert citation_precision([]) == 0.0
    assert citation_correctness([]) is None
    assert citation_validity([]) is None


@pytest.mark.parametrize(
    "name",
    ["citation_recall", "citation_precision", "citation_f1", "citation_completeness", "citation_correctness"],
)
def test_metrics_of_claims_run_by_both_methods(name: str) -> None:
    metric = parse_metric(f"{name}(method=judge)")
    assert metric.metric.methods == ("lexical", "judge")
    assert str(metric) == f"{name}(method=judge)"
    assert metric.metric.family == "citations"
    assert metric.metric.higher_is_better
