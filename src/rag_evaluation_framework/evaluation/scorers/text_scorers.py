"""Scores an answer's words against the expected answer's, in the best of its readings."""

from __future__ import annotations

from rag_evaluation_framework.evaluation.scorers.best_reading import BestReading
from rag_evaluation_framework.evaluation.scorers.likeness_scorers import EmbeddedSimilarity
from rag_evaluation_framework.evaluation.scorers.metric_scorer import DeclaredMetricScorer, MetricScorer
from rag_evaluation_framework.evaluation.scorers.scoring_methods import ScoringMethods, chosen_method
from rag_evaluation_framework.metrics.declaration import BoundMetric
from rag_evaluation_framework.metrics.texts import has_rouge_units
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Score


class TextScorer(DeclaredMetricScorer):
    """Scores by a function of the two texts."""

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score the answer against the reference."""
        return self.scored(self.metric(response.text, sample.reference))


class RougeScorer(TextScorer):
    """Scores by the n-grams or tokens of the two texts."""

    def _inapplicable(self, sample: Sample, response: Response) -> str | None:
        if reason := super()._inapplicable(sample, response):
            return reason
        variant = self.metric.parameters["variant"]
        if has_rouge_units(sample.reference or "", variant=variant):
            return None
        return f"the reference has no units of {variant}: no answer could share one"


def text_scorer(metric: BoundMetric, methods: ScoringMethods) -> MetricScorer:
    """Return the scorer of a metric of texts; answer_similarity has an embedding method too."""
    chosen = chosen_method(metric, methods) if metric.metric.methods else "lexical"
    if chosen == "embedding" and methods.embedder is not None:
        return BestReading(EmbeddedSimilarity(metric, methods.embedder))
    return BestReading(RougeScorer(metric) if metric.metric.name == "rouge" else TextScorer(metric))
