"""Scores of what a retriever found, for many samples at once: characters, chunks or documents.

A level is made from a dataset and the corpus, and checks one against the other. For each chunking it gives
scorers of its own, which do once what depends on the chunks alone; the metrics of a level are computed
together, for a batch of samples, when the first of them is asked for.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, Protocol, TypeAlias

from rag_evaluation_framework.errors import UsageError, shown
from rag_evaluation_framework.evaluation.retrieval_truth import (
    Level,
    relevant_chunks,
    relevant_documents,
    relevant_spans,
)
from rag_evaluation_framework.extensions import Scorer
from rag_evaluation_framework.metrics.ranking import evaluate_ranking
from rag_evaluation_framework.metrics.spans import (
    chunk_f1,
    chunk_precision,
    chunk_recall,
    evaluate_spans,
)
from rag_evaluation_framework.records.chunks import generate_chunk_id
from rag_evaluation_framework.records.documents import CharacterSpan, Corpus
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Dataset, Sample
from rag_evaluation_framework.records.scores import Score
from rag_evaluation_framework.retrieval.pipeline import Chunking

CUSTOM = "custom"
"""The method of a score that somebody else's metric computed."""

Pair: TypeAlias = tuple[list[Any], list[Any]]
"""What was found and what is relevant: spans, chunk ids or document ids."""

_METHOD = "exact"
_NO_TRUTH = "the dataset has no relevant {} for it"
_NOTHING_FOUND = "nothing was retrieved"
_WORD_BEGINS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class RetrievalLevel(Protocol):
    """Scores retrieval at one level, whatever the chunking; ``moved`` counts spans that changed places."""

    level: Level
    metrics: tuple[str, ...]
    """Names in the order in which they are shown; by the first one, cells are ranked."""
    moved: int

    def scorers(self, chunking: Chunking) -> list[Scorer]:
        """Return a scorer for each metric; truth that does not fit the chunking is refused."""


class Columns(ABC):
    """Computes the metrics of a level for a batch, once for all of its scorers."""

    metrics: tuple[str, ...]

    def __init__(self) -> None:
        self._last: tuple[Sequence[Response], dict[str, list[Score]]] | None = None

    def of(self, samples: Sequence[Sample], responses: Sequence[Response]) -> dict[str, list[Score]]:
        """Return the scores of each metric, in the order of the samples."""
        if self._last is None or self._last[0] is not responses:
            self._last = responses, self._computed(samples, responses)
        return self._last[1]

    @abstractmethod
    def pair(self, sample: Sample, response: Response) -> Pair | None:
        """Return what was found and what is relevant, where the dataset has ground truth for a sample."""

    @abstractmethod
    def _computed(self, samples: Sequence[Sample], responses: Sequence[Response]) -> dict[str, list[Score]]:
        """Compute the metrics of a batch."""


class ColumnScorer:
    """One metric of a level, for one sample or for many."""

    method = _METHOD

    def __init__(self, name: str, columns: Columns) -> None:
        self.name, self.columns = name, columns

    def score(self, sample: Sample, response: Response) -> Score:
        return self.score_many([sample], [response])[0]

    def score_many(self, samples: Sequence[Sample], responses: Sequence[Response]) -> list[Score]:
        return self.columns.of(samples, responses)[self.name]


class TokenLevel:
    """Which of the relevant characters were retrieved."""

    level: Level = "token"
    metrics: tuple[str, ...] = ("span_recall", "span_precision", "span_iou", "span_f1", "precision_omega")

    def __init__(self, dataset: Dataset, corpus: Corpus) -> None:
        truth = relevant_spans(dataset, corpus)
        self.truth, self.moved = truth.spans, truth.moved

    def scorers(self, chunking: Chunking) -> list[Scorer]:
        # Precision omega depends on the chunks alone, so it is computed once.
        omega = evaluate_spans({}, self.truth, chunks=chunking.chunks)
        values = omega.per_query["precision_omega"].tolist()
        best = dict(zip(omega.query_ids, values, strict=True))
        return _scorers(self.metrics, _SpanColumns(self.truth, best))


class _SpanColumns(Columns):
    metrics = TokenLevel.metrics

    def __init__(self, truth: Mapping[str, Sequence[CharacterSpan]], omega: Mapping[str, float]) -> None:
        super().__init__()
        self._truth, self._omega = truth, omega

    def pair(self, sample: Sample, response: Response) -> Pair | None:
        relevant = self._truth.get(sample.id)
        return None if relevant is None else (_spans(response), list(relevant))

    def _computed(self, samples: Sequence[Sample], responses: Sequence[Response]) -> dict[str, list[Score]]:
        found = {sample.id: _spans(response) for sample, response in zip(samples, responses, strict=True)}
        relevant = {sample_id: self._truth[sample_id] for sample_id in found if sample_id in self._truth}
        report = evaluate_spans({sample_id: found[sample_id] for sample_id in relevant}, relevant)
        columns: dict[str, list[Score]] = {}
        for name in self.metrics:
            if name == "precision_omega":
                column = {each: _scored(name, self._omega[each]) for each in relevant}
            else:
                values, scored = report.per_query[name].tolist(), report.scored[name].tolist()
                column = {
                    each: _scored(name, value) if is_scored else _skipped(name, _NOTHING_FOUND)
                    for each, value, is_scored in zip(report.query_ids, values, scored, strict=True)
                }
            columns[name] = _filled(name, column, found, "characters")
        return columns


class ChunkLevel:
    """Which of the relevant chunks were retrieved; the truth holds for one chunker only."""

    level: Level = "chunk"
    metrics: tuple[str, ...] = ("chunk_recall", "chunk_precision", "chunk_f1")
    moved = 0

    def __init__(self, dataset: Dataset, corpus: Corpus) -> None:
        self._dataset, self._corpus = dataset, corpus

    def scorers(self, chunking: Chunking) -> list[Scorer]:
        ids = {generate_chunk_id(chunk.content) for chunk in chunking.chunks}
        truth = relevant_chunks(self._dataset, self._corpus, chunker=chunking.chunker, chunk_ids=ids)
        return _scorers(self.metrics, _ChunkColumns(truth))


class _ChunkColumns(Columns):
    metrics = ChunkLevel.metrics

    def __init__(self, truth: Mapping[str, Sequence[str]]) -> None:
        super().__init__()
        self._truth = truth

    def pair(self, sample: Sample, response: Response) -> Pair | None:
        relevant = self._truth.get(sample.id)
        return None if relevant is None else ([hit.id for hit in response.hits], list(relevant))

    def _computed(self, samples: Sequence[Sample], responses: Sequence[Response]) -> dict[str, list[Score]]:
        rows = [self._row(self.pair(*each)) for each in zip(samples, responses, strict=True)]
        return dict(zip(self.metrics, map(list, zip(*rows, strict=True)), strict=True))

    def _row(self, pair: Pair | None) -> Iterable[Score]:
        if pair is None:
            return [_skipped(name, _NO_TRUTH.format("chunks")) for name in self.metrics]
        found, relevant = pair
        return (
            _scored("chunk_recall", chunk_recall(found, relevant)),
            _scored("chunk_precision", chunk_precision(found, relevant))
            if found
            else _skipped("chunk_precision", _NOTHING_FOUND),
            _scored("chunk_f1", chunk_f1(found, relevant)),
        )


class DocumentLevel:
    """Which of the relevant documents the retrieved chunks come from; a document ranks by its best chunk."""

    level: Level = "document"
    metrics: tuple[str, ...] = ("recall", "precision", "ndcg", "mrr", "hit")
    moved = 0

    def __init__(self, dataset: Dataset, corpus: Corpus) -> None:
        self._truth = relevant_documents(dataset, corpus)

    def scorers(self, chunking: Chunking) -> list[Scorer]:
        return _scorers(self.metrics, _DocumentColumns(self._truth))


class _DocumentColumns(Columns):
    metrics = DocumentLevel.metrics

    def __init__(self, truth: Mapping[str, Mapping[str, int]]) -> None:
        super().__init__()
        self._truth = truth

    def pair(self, sample: Sample, response: Response) -> Pair | None:
        grades = self._truth.get(sample.id)
        if grades is None:
            return None
        return _documents(response), [document for document, grade in grades.items() if grade > 0]

    def _computed(self, samples: Sequence[Sample], responses: Sequence[Response]) -> dict[str, list[Score]]:
        found = {sample.id: _documents(response) for sample, response in zip(samples, responses, strict=True)}
        judged = {sample_id: self._truth[sample_id] for sample_id in found if sample_id in self._truth}
        if not judged:
            return {name: _filled(name, {}, found, "documents") for name in self.metrics}
        run = {sample_id: found[sample_id] for sample_id in judged}
        report = evaluate_ranking(judged, run, self.metrics)
        columns: dict[str, list[Score]] = {}
        for name in self.metrics:
            values = zip(map(str, report.query_ids), report.per_query[name].tolist(), strict=True)
            column = {sample_id: _scored(name, value) for sample_id, value in values}
            columns[name] = _filled(name, column, found, "documents")
        return columns


def retrieval_level(level: Level, dataset: Dataset, corpus: Corpus) -> RetrievalLevel:
    """Return a level by its name; an empty corpus, or a dataset without truth for it, is an error."""
    if not len(corpus):
        raise UsageError("corpus: expected at least one document, got none")
    if level == "token":
        return TokenLevel(dataset, corpus)
    return ChunkLevel(dataset, corpus) if level == "chunk" else DocumentLevel(dataset, corpus)


class GivenMetric(Protocol):
    """A metric of either level: what was found, what is relevant, in that order."""

    def calculate(self, retrieved: Any, ground_truth: Any, /) -> float: ...


class GivenMetrics:
    """A level with other metrics than its own, ours or anybody else's.

    One of ours is computed as always. Another one is named by its ``name`` or, in small letters, its class;
    samples without ground truth are skipped.
    """

    def __init__(self, level: RetrievalLevel, metrics: Sequence[GivenMetric]) -> None:
        self._level = level
        self._metrics = _named(metrics)
        self.level: Level = level.level
        self.moved = level.moved
        self.metrics: tuple[str, ...] = tuple(self._metrics)

    def scorers(self, chunking: Chunking) -> list[Scorer]:
        own = {scorer.name: scorer for scorer in self._level.scorers(chunking)}
        columns = next(each.columns for each in own.values() if isinstance(each, ColumnScorer))
        return [own.get(name) or GivenScorer(name, metric, columns) for name, metric in self._metrics.items()]


class GivenScorer:
    """A metric object of somebody else's, put to what was found and what is relevant."""

    method = CUSTOM

    def __init__(self, name: str, metric: GivenMetric, columns: Columns) -> None:
        self.name, self._metric, self._columns = name, metric, columns

    def score(self, sample: Sample, response: Response) -> Score:
        pair = self._columns.pair(sample, response)
        if pair is None:
            return Score.skipped(self.name, "the dataset has no ground truth for it", method=CUSTOM)
        value = self._metric.calculate(*pair)
        if not isfinite(value):
            return Score.failed(self.name, f"expected a finite number, got {value}", method=CUSTOM)
        return Score.scored(self.name, value, method=CUSTOM)


def _named(metrics: Sequence[GivenMetric]) -> dict[str, GivenMetric]:
    if not metrics:
        raise UsageError("metrics: expected at least one, got none")
    named: dict[str, GivenMetric] = {}
    for metric in metrics:
        if isinstance(metric, type) or not callable(getattr(metric, "calculate", None)):
            raise UsageError(f"metrics: expected objects with a method calculate, got {shown(metric)}")
        name = str(getattr(metric, "name", "") or _in_small_letters(type(metric).__name__))
        if name in named:
            raise UsageError(f"metrics: expected each name once, got {name} again")
        named[name] = metric
    return named


def _in_small_letters(class_name: str) -> str:
    """Write a class as metrics are written: ``SpanRecall`` is ``span_recall``."""
    return _WORD_BEGINS.sub("_", class_name.replace("IoU", "Iou")).lower()


def _spans(response: Response) -> list[CharacterSpan]:
    return [hit.span for hit in response.hits if hit.span is not None]


def _documents(response: Response) -> list[str]:
    return list(dict.fromkeys(span.doc_id for span in _spans(response)))


def _scorers(metrics: Iterable[str], columns: Columns) -> list[Scorer]:
    return [ColumnScorer(name, columns) for name in metrics]


def _filled(name: str, column: Mapping[str, Score], ids: Iterable[str], what: str) -> list[Score]:
    skipped = _skipped(name, _NO_TRUTH.format(what))
    return [column.get(sample_id, skipped) for sample_id in ids]


def _scored(name: str, value: float) -> Score:
    return Score.scored(name, value, method=_METHOD)


def _skipped(name: str, reason: str) -> Score:
    return Score.skipped(name, reason, method=_METHOD)
