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
    cited_context_f1,
    cited_context_precision,
    cited_context_recall,
    factual_consistency,
    hallucination_rate,
    overall_citation_accuracy,
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


def test_consistency_and_hallucination_add_up_and_no_claim_has_neither() -> None:
    assert (factual_consistency(FLAGS), hallucination_rate(FLAGS)) == (3 / 4, 1 / 4)
    assert (factual_consistency([]), hallucination_rate([])) == (None, None)
    assert (citation_recall([]), citation_completeness([]), citation_f1([], [True])) == (None, None, None)


def test_the_overall_accuracy_weighs_its_parts() -> None:
    parts = {
        "tolerance_jaccard": 0.5,
        "citation_validity": 1.0,
        "mean_consistency": 0.8,
        "no_hallucination": 0.6,
    }
    # 0.30 × 0.5 + 0.30 × 1 + 0.25 × 0.8 + 0.15 × 0.6
    assert overall_citation_accuracy(parts) == pytest.approx(0.15 + 0.3 + 0.2 + 0.09)
    lacking = {**parts, "mean_consistency": None}
    assert overall_citation_accuracy(lacking) is None
    assert overall_citation_accuracy(lacking, {"citation_validity": 1.0, "mean_consistency": 0.0}) == 1.0


@pytest.mark.parametrize(
    ("answer", "reference", "precision", "recall", "f1"),
    [
        ("So it is [1][3].", "It is so [3].", 1 / 2, 1.0, 2 / 3),
        ("So it is [1].", "It is so [2][3].", 0.0, 0.0, 0.0),
        ("So it is.", "It is so [2].", None, 0.0, 0.0),
        ("So it is [2], yes [2].", "It is so [2][4].", 1.0, 1 / 2, 2 / 3),
    ],
)
def test_numbered_contexts_are_held_against_those_of_the_reference(
    answer: str, reference: str, precision: float | None, recall: float, f1: float
) -> None:
    assert cited_context_precision(answer, reference) == precision
    assert (cited_context_recall(answer, reference), cited_context_f1(answer, reference)) == (recall, f1)


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
