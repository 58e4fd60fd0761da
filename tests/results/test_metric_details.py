"""What results have of a metric beside its mean, from runs that the scorers themselves scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from finished_runs import evaluated

from rag_evaluation_framework import (
    Corpus,
    Document,
    DocumentId,
    Response,
    Sample,
    SpanCitation,
    Turn,
    evaluate,
)
from rag_evaluation_framework.datasets.schemas import schema_issues
from rag_evaluation_framework.evaluation.scoring import scorers_for
from rag_evaluation_framework.judging.methods import Methods
from rag_evaluation_framework.records.runs import SampleResult
from rag_evaluation_framework.results.storage import compare_documents

TEXT = "The boat leaves at noon. The boat returns at six."
CORPUS = Corpus([Document(DocumentId("boats.md"), TEXT)])
LEAVES, RETURNS = SpanCitation("boats.md", 0, 24), SpanCitation("boats.md", 25, 49)
ASKED = Sample(
    id="q", turns=(Turn(role="user", content="When do the boats sail?"),), relevant_spans=(LEAVES, RETURNS)
)
# Both claims cited, one wrongly; then the first alone, short of four characters, beside a claim about whales.
ANSWERS = (
    "The boat leaves at noon [boats.md:?:0-24]. The boat returns at six [boats.md:?:0-24].",
    "The boat leaves at noon [boats.md:?:4-24]. Whales sing loudly in winter.",
)


def rows(metrics: Sequence[str], answers: Sequence[str] = ANSWERS) -> list[SampleResult]:
    scorers = scorers_for(metrics, Methods(corpus=CORPUS))
    found = []
    for number, text in enumerate(answers):
        response = Response(text=text, contexts=(TEXT,))
        scores = tuple(scorer.score(ASKED, response) for scorer in scorers)
        found.append(SampleResult(f"q{number}", response, scores))
    return found


def document(given: Sequence[SampleResult]) -> dict[str, Any]:
    return evaluated(given).to_dict()


def test_shares_of_citations_and_claims_have_their_counts() -> None:
    written = document(rows(["citation_completeness", "citation_correctness", "hallucination_rate"]))
    assert schema_issues("results", written) == []
    completeness = written["citation_metrics"]["citation_completeness"]
    assert (completeness["total_claims"], completeness["cited_claims"]) == (4, 3)
    assert completeness["value"] == (2 / 2 + 1 / 2) / 2  # the mean over answers, not 3 / 4
    correctness = written["citation_metrics"]["citation_correctness"]
    assert (correctness["total_citations"], correctness["correct_citations"]) == (3, 2)
    made_up = written["answer_quality_metrics"]["hallucination_rate"]
    assert (made_up["total_claims"], made_up["hallucinated_claims"]) == (4, 1)


def test_consistency_has_a_score_for_each_answer_and_their_mean() -> None:
    given = rows(["factual_consistency"])
    written = document(given)["answer_quality_metrics"]["factual_consistency"]
    told = [score.details["mean_consistency"] for result in given for score in result.scores]
    assert written["consistency_scores"] == told
    assert written["mean_consistency"] == pytest.approx(sum(told) / 2)
    assert 0.5 < written["mean_consistency"] < 1.0


@pytest.mark.parametrize("metric", ["citation_exact_jaccard", "citation_span_f1"])
def test_every_metric_of_cited_spans_tells_the_span_accuracy(metric: str) -> None:
    accuracy = document(rows([metric]))["citation_metrics"]["span_accuracy"]
    # Of the first answer one span of two is there (the same place twice is one), of the second 20 of its 24
    # characters: (1 + 0) / 2 and (20 / 24 + 0) / 2; with the tolerance (1 + 0) / 2 each.
    assert accuracy.pop("mean_exact_jaccard") == pytest.approx((1 / 2 + 20 / 24 / 2) / 2)
    assert accuracy == {
        "mean_tolerance_jaccard": 0.5,
        "perfect_matches": 1,
        "good_matches": 2,
        "n_scored": 2,
        "method": "exact",
    }


def test_the_span_accuracy_is_by_the_tolerance_that_was_asked_for() -> None:
    strict = "citation_tolerance_jaccard(tolerance_chars=2)"
    written = document(rows(["citation_exact_jaccard", strict]))["citation_metrics"]
    assert written["span_accuracy"]["mean_tolerance_jaccard"] == written[strict]["value"]
    assert "perfect_matches" not in written[strict]


def test_what_was_not_measured_is_left_out() -> None:
    declined = document(rows(["factual_consistency", "citation_exact_jaccard"], ["I don't know."]))
    consistency = declined["answer_quality_metrics"]["factual_consistency"]
    assert consistency["value"] is None
    assert not consistency.keys() & {"mean_consistency", "consistency_scores"}
    assert "citation_metrics" not in document(rows(["token_f1"]))
    # Scored before the counts were told: a sum over some of the samples would be wrong.
    early, late = rows(["citation_completeness"])
    (score,) = early.scores
    bare = replace(early, scores=(replace(score, details={}),))
    written = document([bare, late])["citation_metrics"]["citation_completeness"]
    assert written["n_scored"] == 2
    assert "total_claims" not in written


def test_the_counts_of_two_documents_stand_side_by_side() -> None:
    written = document(rows(["citation_completeness"]))
    compared = compare_documents({"a": written, "b": written})
    assert compared["metrics_comparison"]["citation_completeness.cited_claims"] == {"a": 3, "b": 3}


def test_small_amounts_are_no_shares() -> None:
    """Four answers of a tenth of a penny each: Wilson's interval of a share would reach 0.5."""
    costs = (0.0015, 0.0025, 0.0012, 0.0011)
    rows = [{"question": "How high?", "answer": "5 m", "cost": cost} for cost in costs]
    interval = evaluate(rows, metrics=["cost"]).metrics["cost"].interval
    assert interval is not None
    # mean .001575, standard error .000320, t of three degrees 3.182: .000556 to .002594
    assert (interval.low, interval.high) == pytest.approx((0.000556, 0.002594), abs=2e-6)
