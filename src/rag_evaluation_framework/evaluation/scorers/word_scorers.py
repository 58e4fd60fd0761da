"""Scores answers word by word: which content words stand in the contexts or in the question."""

from __future__ import annotations

from rag_evaluation_framework.evaluation.scorers.metric_scorer import DeclaredMetricScorer
from rag_evaluation_framework.judging.words.content_tokens import content_tokens, words_of
from rag_evaluation_framework.metrics.declaration import BoundMetric
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Score


class WordScorer(DeclaredMetricScorer):
    """Counts the content words of an answer, and those that are new."""

    def __init__(self, metric: BoundMetric) -> None:
        super().__init__(metric, method=metric.metric.method)

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score the answer, and say where its new words stand."""
        words = content_tokens(response.text or "")
        known = {key for text in (sample.question, *response.contexts) for key in words_of(text).keys}
        new = [word for word in words if word.key not in known]
        value = self.metric(len(words), len(new))
        if value is None:
            return self.skipped("the answer has no content words")
        return self.scored(value, {"new_tokens": [[word.start, word.end] for word in new]})
