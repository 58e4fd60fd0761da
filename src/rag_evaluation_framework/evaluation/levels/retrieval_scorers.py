"""Scores what a target retrieved for one sample: its hits against the relevant characters or chunks.

:func:`retrieval_scorers` takes the truth from the corpus, where it is checked and each name of a document is
looked up. A scorer that is made by its metric's name alone has only the sample to go by: a document is then
the one whose id is the name that the sample cites.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rag_evaluation_framework.errors import Problems, UsageError
from rag_evaluation_framework.evaluation.levels.retrieval_ground_truth import relevant_chunks, relevant_spans
from rag_evaluation_framework.evaluation.scorers.named_scorers import MetricScorer
from rag_evaluation_framework.metrics.declaration import BoundMetric, parse_metric
from rag_evaluation_framework.metrics.spans import FRACTIONS
from rag_evaluation_framework.records.chunks import generate_chunk_id
from rag_evaluation_framework.records.datasets import Dataset
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.identifiers import DocumentId
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Score
from rag_evaluation_framework.records.spans import CharacterSpan
from rag_evaluation_framework.retrieval.chunking import Chunking

SPAN_METRICS = tuple(FRACTIONS)
CHUNK_METRICS = ("chunk_recall", "chunk_precision", "chunk_f1")

_NO_TRUTH = "the dataset has no relevant {} for it"
_NOTHING_FOUND = "nothing was retrieved"
_EXCERPT = "pa_chunk_"


class _HitScorer:
    """What the scorers of hits share: the declared metric, and when there is nothing to measure."""

    def __init__(self, metric: BoundMetric) -> None:
        self.metric = metric
        self.name = str(metric)
        self.method = metric.metric.method
        self.version = metric.metric.version
        self.higher_is_better = metric.metric.higher_is_better
        self.needs: tuple[str, ...] = ()

    def _scored(self, retrieved: Sequence[Any], relevant: Sequence[Any]) -> Score:
        if not retrieved and "precision" in self.metric.metric.name:
            return self._skipped(_NOTHING_FOUND)
        return Score.scored(self.name, self.metric(retrieved, relevant), method=self.method)

    def _skipped(self, reason: str) -> Score:
        return Score.skipped(self.name, reason, method=self.method)


class SpanScorer(_HitScorer):
    """Scores the characters of the hits. ``truth`` has the relevant ones of each sample that has any."""

    def __init__(self, text: str, *, truth: Mapping[str, Sequence[CharacterSpan]] | None = None) -> None:
        super().__init__(_metric(text, SPAN_METRICS))
        self._truth = truth

    def score(self, sample: Sample, response: Response) -> Score:
        """Score the hits; without relevant characters the sample is skipped, without spans it has failed."""
        relevant = self._cited(sample) if self._truth is None else self._truth.get(sample.id, ())
        if not relevant:
            return self._skipped(_NO_TRUTH.format("characters"))
        spans = [hit.span for hit in response.hits if hit.span is not None]
        if len(spans) < len(response.hits):
            reason = (
                f"{len(response.hits) - len(spans)} of {len(response.hits)} hits do not tell where they stand"
            )
            return Score.failed(self.name, reason, method=self.method)
        return self._scored(spans, relevant)

    def _cited(self, sample: Sample) -> list[CharacterSpan]:
        return [
            CharacterSpan(DocumentId(cited.file), cited.start, cited.end) for cited in sample.relevant_spans
        ]


class ChunkScorer(_HitScorer):
    """Scores the ids of the hits. ``truth`` has the relevant ones of each sample that has any.

    The id of a chunk with a position is that of its text, so it counts as such.
    """

    def __init__(self, text: str, *, truth: Mapping[str, Sequence[str]] | None = None) -> None:
        super().__init__(_metric(text, CHUNK_METRICS))
        self._truth = truth

    def score(self, sample: Sample, response: Response) -> Score:
        """Score the hits; a sample without relevant chunks is skipped, and one with ids of excerpts too."""
        relevant = sample.relevant_chunk_ids if self._truth is None else self._truth.get(sample.id, ())
        if not relevant:
            return self._skipped(_NO_TRUTH.format("chunks"))
        if any(each.startswith(_EXCERPT) for each in relevant):
            return self._skipped("its relevant ids are those of excerpts, not of chunks")
        return self._scored([hit.id.removeprefix("pa_") for hit in response.hits], relevant)


def retrieval_scorers(
    metrics: Iterable[str], dataset: Dataset, *, corpus: Corpus, chunking: Chunking | None = None
) -> list[MetricScorer]:
    """Return a scorer for each metric of spans and chunks, with the truth that the corpus bears out.

    What is wrong with the truth is an error before anything is asked. Chunk metrics need the ``chunking``
    of the pipeline, because their truth holds for one chunker only.
    """
    names, problems = list(dict.fromkeys(name.strip() for name in metrics)), Problems()
    bound: list[BoundMetric] = []
    for name in names:
        with problems.collected():
            bound.append(_metric(name, (*SPAN_METRICS, *CHUNK_METRICS)))
    problems.raise_all()
    families = {metric.metric.family for metric in bound}
    spans = relevant_spans(dataset, corpus).spans if "spans" in families else None
    chunks = _checked_chunks(dataset, corpus, chunking) if "chunks" in families else None
    return [
        SpanScorer(str(metric), truth=spans)
        if metric.metric.family == "spans"
        else ChunkScorer(str(metric), truth=chunks)
        for metric in bound
    ]


def _checked_chunks(
    dataset: Dataset, corpus: Corpus, chunking: Chunking | None
) -> Mapping[str, Sequence[str]]:
    if chunking is None:
        raise UsageError("chunking: expected that of the pipeline, which chunk metrics need, got none")
    ids = {generate_chunk_id(chunk.content) for chunk in chunking.chunks}
    return relevant_chunks(dataset, corpus, chunker=chunking.chunker, chunk_ids=ids)


def _metric(text: str, names: Sequence[str]) -> BoundMetric:
    metric = parse_metric(text)
    if metric.metric.name not in names:
        raise UsageError(f"metric of hits: expected one of {', '.join(names)}, got {metric.metric.name}")
    return metric
