"""Scores the hits of a retriever that reports all of them, against the relevant characters or chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.evaluation.scorers.metric_scorer import NOTHING_RETRIEVED, DeclaredMetricScorer
from rag_evaluation_framework.metrics.declaration import BoundMetric
from rag_evaluation_framework.records.documents import CharacterSpan
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Score

NO_TRUTH = "the dataset has no relevant {} for it"
_EXCERPT = "pa_chunk_"


class RetrievalScorer(DeclaredMetricScorer):
    """A scorer of what was retrieved, whatever the answer."""

    def score(self, sample: Sample, response: Response) -> Score:
        """Score what was retrieved."""
        return self.measured(sample, response)

    def _compared(self, retrieved: Sequence[Any], relevant: Sequence[Any]) -> Score:
        if not retrieved and "precision" in self.metric.metric.name:
            return self.skipped(NOTHING_RETRIEVED)
        return self.scored(self.metric(retrieved, relevant))


class SpanScorer(RetrievalScorer):
    """Scores the characters of the hits. ``truth`` has the relevant ones of each sample that has any."""

    def __init__(self, metric: BoundMetric, truth: Mapping[str, Sequence[CharacterSpan]]) -> None:
        super().__init__(metric)
        self._truth = truth

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score the hits; a sample without relevant characters is skipped, a hit without a span fails it."""
        relevant = self._truth.get(sample.id, ())
        if not relevant:
            return self.skipped(NO_TRUTH.format("characters"))
        spans = [hit.span for hit in response.hits if hit.span is not None]
        if len(spans) < len(response.hits):
            missing = len(response.hits) - len(spans)
            of_all = counted(len(response.hits), "hit has", "hits have")
            return self.failed(f"{missing:,} of {of_all} no position")
        return self._compared(spans, relevant)


class ChunkScorer(RetrievalScorer):
    """Scores the ids of the hits. ``truth`` has the relevant ones; by default each sample has its own.

    A chunk with a position counts by the id of its text.
    """

    def __init__(self, metric: BoundMetric, truth: Mapping[str, Sequence[str]] | None = None) -> None:
        super().__init__(metric)
        self._truth = truth

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score the hits; a sample without relevant chunks is skipped, or with the ids of excerpts."""
        relevant = sample.relevant_chunk_ids if self._truth is None else self._truth.get(sample.id, ())
        if not relevant:
            return self.skipped(NO_TRUTH.format("chunks"))
        if any(each.startswith(_EXCERPT) for each in relevant):
            return self.skipped("its relevant ids are those of excerpts, not of chunks")
        return self._compared([hit.id.removeprefix("pa_") for hit in response.hits], relevant)
