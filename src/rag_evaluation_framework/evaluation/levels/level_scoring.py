"""Scores what was retrieved at one level: characters, chunks or documents.

A scorer is made from a dataset and the corpus, and checks one against the other. For each chunking it gives a
scorer of its own, which does once what depends on the chunks alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.evaluation.levels.retrieval_ground_truth import (
    Level,
    relevant_chunks,
    relevant_documents,
    relevant_spans,
)
from rag_evaluation_framework.metrics.ranking import evaluate_ranking
from rag_evaluation_framework.metrics.spans import (
    SpanReport,
    chunk_f1,
    chunk_precision,
    chunk_recall,
    evaluate_spans,
)
from rag_evaluation_framework.records.chunks import PositionAwareChunk, generate_chunk_id
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.samples import Dataset
from rag_evaluation_framework.records.scores import Score

Chunks: TypeAlias = Sequence[PositionAwareChunk]
Retrieved: TypeAlias = Mapping[str, Chunks]
"""The chunks found for each sample, by its id, best first."""

Scores: TypeAlias = dict[str, tuple[Score, ...]]
"""The scores of each sample, by its id."""

Pairs: TypeAlias = dict[str, tuple[list[Any], list[Any]]]
"""What was found and what is relevant for a sample, by its id: spans, chunk ids or document ids."""

_METHOD = "exact"
_NO_TRUTH = "the dataset has no relevant {} for it"
_NOTHING_FOUND = "nothing was retrieved"


class ChunkingScorer(Protocol):
    """Scores retrieval from one chunking of the corpus."""

    def scores(self, retrieved: Retrieved) -> Scores:
        """Return the scores of every sample."""

    def pairs(self, retrieved: Retrieved) -> Pairs:
        """Return what was found and what is relevant, for each sample with ground truth."""


class LevelScorer(Protocol):
    """Scores retrieval at one level, whatever the chunking."""

    level: Level
    metrics: tuple[str, ...]
    """Names in the order in which they are shown; by the first one, cells are ranked."""

    def for_chunks(self, chunks: Chunks, *, chunker: str) -> ChunkingScorer:
        """Return the scorer for one chunking, made by the chunker of this specification."""


class TokenLevelScorer:
    """Which of the relevant characters were retrieved."""

    level: Level = "token"
    metrics: tuple[str, ...] = ("span_recall", "span_precision", "span_iou", "span_f1", "precision_omega")

    def __init__(self, dataset: Dataset, corpus: Corpus) -> None:
        truth = relevant_spans(dataset, corpus)
        self.truth, self.moved = truth.spans, truth.moved
        self.sample_ids = [sample.id for sample in dataset.samples]

    def for_chunks(self, chunks: Chunks, *, chunker: str) -> ChunkingScorer:
        return _SpanScorer(self, evaluate_spans({}, self.truth, chunks=chunks))


class _SpanScorer:
    """Precision omega depends on the chunks alone, so it comes from a report made once."""

    def __init__(self, level: TokenLevelScorer, omega: SpanReport) -> None:
        self._level, self._omega = level, omega

    def scores(self, retrieved: Retrieved) -> Scores:
        found = {sample_id: retrieved.get(sample_id, ()) for sample_id in self._level.truth}
        report = evaluate_spans(found, self._level.truth)
        columns = [
            _column(name, self._omega if name == "precision_omega" else report)
            for name in self._level.metrics
        ]
        skipped = _all_skipped(self._level.metrics, _NO_TRUTH.format("characters"))
        by_sample = dict(zip(report.query_ids, zip(*columns, strict=True), strict=True))
        return {sample_id: by_sample.get(sample_id, skipped) for sample_id in self._level.sample_ids}

    def pairs(self, retrieved: Retrieved) -> Pairs:
        return {
            sample_id: ([chunk.to_span() for chunk in retrieved.get(sample_id, ())], list(relevant))
            for sample_id, relevant in self._level.truth.items()
        }


def _column(name: str, report: SpanReport) -> Iterator[Score]:
    values, scored = report.per_query[name].tolist(), report.scored[name].tolist()
    for value, is_scored in zip(values, scored, strict=True):
        if is_scored:
            yield Score.scored(name, value, method=_METHOD)
        else:
            yield Score.skipped(name, _NOTHING_FOUND, method=_METHOD)


class ChunkLevelScorer:
    """Which of the relevant chunks were retrieved; the truth holds for one chunker only."""

    level: Level = "chunk"
    metrics: tuple[str, ...] = ("chunk_recall", "chunk_precision", "chunk_f1")

    def __init__(self, dataset: Dataset, corpus: Corpus) -> None:
        self._dataset, self._corpus = dataset, corpus

    def for_chunks(self, chunks: Chunks, *, chunker: str) -> ChunkingScorer:
        ids = {chunk.content: generate_chunk_id(chunk.content) for chunk in chunks}
        truth = relevant_chunks(self._dataset, self._corpus, chunker=chunker, chunk_ids=ids.values())
        return _ChunkScorer([sample.id for sample in self._dataset.samples], truth, ids)


class _ChunkScorer:
    def __init__(
        self, sample_ids: Sequence[str], truth: Mapping[str, Sequence[str]], ids: Mapping[str, str]
    ) -> None:
        self._sample_ids, self._truth, self._ids = sample_ids, truth, ids

    def scores(self, retrieved: Retrieved) -> Scores:
        return {
            sample_id: tuple(self._of_sample(sample_id, retrieved.get(sample_id, ())))
            for sample_id in self._sample_ids
        }

    def pairs(self, retrieved: Retrieved) -> Pairs:
        return {
            sample_id: (self._found(retrieved.get(sample_id, ())), list(relevant))
            for sample_id, relevant in self._truth.items()
        }

    def _found(self, chunks: Chunks) -> list[str]:
        return [self._ids[chunk.content] for chunk in chunks]

    def _of_sample(self, sample_id: str, chunks: Chunks) -> Iterable[Score]:
        relevant = self._truth.get(sample_id)
        if relevant is None:
            return _all_skipped(ChunkLevelScorer.metrics, _NO_TRUTH.format("chunks"))
        found = self._found(chunks)
        return (
            Score.scored("chunk_recall", chunk_recall(found, relevant), method=_METHOD),
            Score.scored("chunk_precision", chunk_precision(found, relevant), method=_METHOD)
            if found
            else Score.skipped("chunk_precision", _NOTHING_FOUND, method=_METHOD),
            Score.scored("chunk_f1", chunk_f1(found, relevant), method=_METHOD),
        )


class DocumentLevelScorer:
    """Which of the relevant documents the retrieved chunks come from; a document ranks by its best chunk."""

    level: Level = "document"
    metrics: tuple[str, ...] = ("recall", "precision", "ndcg", "mrr", "hit")

    def __init__(self, dataset: Dataset, corpus: Corpus) -> None:
        self._truth = relevant_documents(dataset, corpus)
        self._sample_ids = [sample.id for sample in dataset.samples]

    def for_chunks(self, chunks: Chunks, *, chunker: str) -> ChunkingScorer:
        return self

    def scores(self, retrieved: Retrieved) -> Scores:
        run = {sample_id: found for sample_id, (found, _) in self.pairs(retrieved).items()}
        report = evaluate_ranking(self._truth, run, self.metrics)
        columns = [
            [Score.scored(name, value, method=_METHOD) for value in report.per_query[name].tolist()]
            for name in self.metrics
        ]
        by_sample = dict(zip(map(str, report.query_ids), zip(*columns, strict=True), strict=True))
        skipped = _all_skipped(self.metrics, _NO_TRUTH.format("documents"))
        return {sample_id: by_sample.get(sample_id, skipped) for sample_id in self._sample_ids}

    def pairs(self, retrieved: Retrieved) -> Pairs:
        return {
            sample_id: (
                list(dict.fromkeys(chunk.doc_id for chunk in retrieved.get(sample_id, ()))),
                [document for document, grade in grades.items() if grade > 0],
            )
            for sample_id, grades in self._truth.items()
        }


def level_scorer(level: Level, dataset: Dataset, corpus: Corpus) -> LevelScorer:
    """Return the scorer of a level; an empty corpus, or a dataset without truth for it, is an error."""
    if not len(corpus):
        raise UsageError("corpus: expected at least one document, got none")
    if level == "token":
        return TokenLevelScorer(dataset, corpus)
    return ChunkLevelScorer(dataset, corpus) if level == "chunk" else DocumentLevelScorer(dataset, corpus)


def _all_skipped(metrics: Iterable[str], reason: str) -> tuple[Score, ...]:
    return tuple(Score.skipped(name, reason, method=_METHOD) for name in metrics)
