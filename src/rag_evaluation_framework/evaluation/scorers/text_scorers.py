"""Scores an answer's words against the expected answer's."""

from __future__ import annotations

from rag_evaluation_framework.evaluation.scorers.likeness_scorers import EmbeddedSimilarity
from rag_evaluation_framework.evaluation.scorers.metric_scorer import DeclaredMetricScorer
from rag_evaluation_framework.evaluation.scorers.scoring_methods import ScoringMethods, chosen_method
from rag_evaluation_framework.metrics.declaration import BoundMetric
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Score


class TextScorer(DeclaredMetricScorer):
    """Scores by a function of the two texts."""

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score the answer against the reference."""
        return self.scored(self.metric(response.text, sample.reference))


def text_scorer(metric: BoundMetric, methods: ScoringMethods) -> DeclaredMetricScorer:
    """Return the scorer of a metric of texts; answer_similarity has an embedding method too."""
    chosen = chosen_method(metric, methods) if metric.metric.methods else "lexical"
    if chosen == "embedding" and methods.embedder is not None:
        return EmbeddedSimilarity(metric, methods.embedder)
    return TextScorer(metric)
