"""Builds the scorer of an answer metric; its class depends on the method."""

from __future__ import annotations

from rag_evaluation_framework.evaluation.scorers.claim_scorers import CLAIM_METRICS, ClaimScorer
from rag_evaluation_framework.evaluation.scorers.judged_scorers import (
    JudgedContexts,
    JudgedRelevancy,
    RubricScorer,
)
from rag_evaluation_framework.evaluation.scorers.likeness_scorers import EmbeddedRelevancy, LexicalRelevancy
from rag_evaluation_framework.evaluation.scorers.metric_scorer import DeclaredMetricScorer, NeedsJudge
from rag_evaluation_framework.evaluation.scorers.scoring_methods import ScoringMethods, chosen_method
from rag_evaluation_framework.evaluation.scorers.word_scorers import WordScorer
from rag_evaluation_framework.metrics.declaration import BoundMetric


def answer_scorer(metric: BoundMetric, methods: ScoringMethods) -> DeclaredMetricScorer:
    """Return the scorer of a metric of answers."""
    method, name, judge = chosen_method(metric, methods), metric.metric.name, methods.judge
    if method is None:
        return NeedsJudge(metric)
    if method == "judge" and judge is not None:
        if name == "answer_relevancy":
            return JudgedRelevancy(metric, judge, methods.verdicts_by(method).answers)
        if name == "context_precision":
            return JudgedContexts(metric, judge)
        if name not in CLAIM_METRICS:
            return RubricScorer(metric, judge, methods.rubric)
    if name in CLAIM_METRICS:
        return ClaimScorer(metric, methods.verdicts_by(method))
    if name == "answer_relevancy":
        if method == "embedding" and methods.embedder is not None:
            return EmbeddedRelevancy(metric, methods.embedder)
        return LexicalRelevancy(metric)
    return WordScorer(metric, methods.verdicts_by(method))
