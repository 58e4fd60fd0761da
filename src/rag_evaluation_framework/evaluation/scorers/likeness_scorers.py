"""Scores by how alike two texts are: an answer and its reference, or an answer and its question."""

from __future__ import annotations

import numpy as np

from rag_evaluation_framework.evaluation.scorers.expected_answers import class_of_answer
from rag_evaluation_framework.evaluation.scorers.metric_scorer import DeclaredMetricScorer
from rag_evaluation_framework.extensions import Embedder
from rag_evaluation_framework.judging.answer_text import said_in
from rag_evaluation_framework.metrics.declaration import BoundMetric
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Score
from rag_evaluation_framework.retrieval.embedders import embedded
from rag_evaluation_framework.text.tokens import content_keys


class EmbeddedSimilarity(DeclaredMetricScorer):
    """The cosine of answer and reference."""

    def __init__(self, metric: BoundMetric, embedder: Embedder) -> None:
        super().__init__(metric, method=f"embedding:{embedder!r}", is_slow=True)
        self._embedder = embedder

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score the answer; opposite directions count as nothing in common."""
        return self.scored(max(cosine(self._embedder, response.text or "", sample.reference or ""), 0.0))


class EmbeddedRelevancy(DeclaredMetricScorer):
    """The cosine of answer and question."""

    def __init__(self, metric: BoundMetric, embedder: Embedder) -> None:
        super().__init__(metric, method=f"embedding:{embedder!r}", is_slow=True)
        self._embedder = embedder

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score the answer; one that does not answer is not relevant."""
        answer = response.text or ""
        kind = class_of_answer(sample, answer).kind
        likeness = cosine(self._embedder, sample.question, answer)
        return self.scored(self.metric(likeness, is_noncommittal=kind != "answered"), {"answer_class": kind})


class LexicalRelevancy(DeclaredMetricScorer):
    """The share of the question's content words that the answer takes up."""

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score the answer; one that does not answer is not relevant."""
        answer = response.text or ""
        asked = set(content_keys(sample.question))
        kind = class_of_answer(sample, answer).kind
        likeness = len(asked & set(content_keys(said_in(answer)))) / len(asked)
        return self.scored(self.metric(likeness, is_noncommittal=kind != "answered"), {"answer_class": kind})

    def _inapplicable(self, sample: Sample, response: Response) -> str | None:
        if reason := super()._inapplicable(sample, response):
            return reason
        return None if content_keys(sample.question) else "the question has no content words"


def cosine(embedder: Embedder, first: str, second: str) -> float:
    """Return the cosine of two texts' vectors; 0 where one of them has no direction."""
    one, other = embedded(embedder, [first, second]).astype(np.float64)
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / lengths if lengths else 0.0
