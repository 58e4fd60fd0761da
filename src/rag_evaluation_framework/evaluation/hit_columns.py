"""Scores of what a retriever found, for many samples at once: characters, chunks or documents.

A level is made from a dataset and the corpus, and checks one against the other. For each chunking it gives
scorers of its own, which do once what depends on the chunks alone; the metrics of a level are computed
together, for a batch of samples, when the first of them is asked for.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from math import isfinite
from typing import Any, Protocol, TypeAlias

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.errors import UnknownNameError, UsageError, shown
from rag_evaluation_framework.evaluation.retrieval_truth import (
    Level,
    relevant_chunks,
    relevant_documents,
    relevant_spans,
)
from rag_evaluation_framework.extensions import Scorer
from rag_evaluation_framework.metrics.ranking import evaluate_ranking
from rag_evaluation_framework.metrics.spans import (
    ChunkLevelMetric,
    TokenLevelMetric,
    chunk_f1,
    chunk_precision,
    chunk_recall,
    evaluate_spans,
)
from rag_evaluation_framework.metrics.views import NO_TRUTH, NOTHING_RETRIEVED
from rag_evaluation_framework.records.chunks import generate_chunk_id
from rag_evaluation_framework.records.documents import CharacterSpan, Corpus
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Dataset, Sample
from rag_evaluation_framework.records.scores import Score
from rag_evaluation_framework.retrieval.pipeline import EXISTING, Chunking

CUSTOM = "custom"
"""The method of a score that somebody else's metric computed."""

Pair: TypeAlias = tuple[list[Any], list[Any]]
"""The found and the relevant items: spans, chunk ids or document ids."""

Values: TypeAlias = Mapping[str, Sequence[float | str]]
"""Each metric's values for a batch; a text says why there is none."""

_METHOD = "exact"
_OMEGA = "precision_omega"
_UNKNOWN_CHUNKS = "the chunks of an existing index are unknown"
_WORD_BEGINS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class GivenMetric(Protocol):
    """A metric of either level: what was found, what is relevant, in that order."""

    def calculate(self, retrieved: Any, ground_truth: Any, /) -> float: ...


class RetrievalLevel(msgspec.Struct, frozen=True, kw_only=True):
    """Scores retrieval at one level, with any chunking; ``moved`` counts spans that changed places.

    By the first of the ``metrics``, which are in the order in which they are shown, cells are ranked. Those
    ``given`` are somebody else's.
    """

    level: Level
    metrics: tuple[str, ...]
    columns: Callable[[Chunking], Columns]
    moved: int = 0
    given: Mapping[str, GivenMetric] = {}

    def scorers(self, chunking: Chunking) -> list[Scorer]:
        """Return a scorer for each metric; truth that does not fit the chunking is refused."""
        columns = self.columns(chunking)
        return [
            ColumnScorer(name, columns)
            if name in columns.metrics
            else GivenScorer(name, self.given[name], columns)
            for name in self.metrics
        ]

    def with_metrics(self, metrics: Sequence[GivenMetric | str]) -> RetrievalLevel:
        """Return the level with these metrics: names of its own, objects of ours or anybody else's.

        One of ours is computed as always. Another one is named by its ``name`` or, in small letters, its
        class; samples without ground truth are skipped.
        """
        if not metrics:
            raise UsageError("metrics is empty")
        named: dict[str, GivenMetric | str] = {}
        own = _METRICS[self.level]
        for metric in metrics:
            if isinstance(metric, str):
                if metric not in own:
                    raise UnknownNameError(f"metric at {self.level} level", metric, own)
                named[metric] = metric
                continue
            if isinstance(metric, type) or not callable(getattr(metric, "calculate", None)):
                raise UsageError(f"metrics: expected objects with the method calculate, got {shown(metric)}")
            self._require_own(metric)
            kind = type(metric).__name__.replace("IoU", "Iou")
            name = str(getattr(metric, "name", "") or _WORD_BEGINS.sub("_", kind).lower())
            if name in named:
                raise UsageError(f"metrics: duplicate name {name}")
            named[name] = metric
        given = {name: metric for name, metric in named.items() if not isinstance(metric, str)}
        return replace(self, metrics=tuple(named), given=given)

    def _require_own(self, metric: GivenMetric) -> None:
        """Refuse a metric of another level: chunk ids and characters are never equal, so it would be 0."""
        kinds = {"chunk": ChunkLevelMetric, "token": TokenLevelMetric}
        own = kinds.get(self.level, object)
        for level, kind in kinds.items():
            if isinstance(metric, kind) and not isinstance(metric, own):
                known = ", ".join(_METRICS[self.level])
                raise UsageError(
                    f"metrics: {type(metric).__name__} is a metric at {level} level; expected a metric "
                    f"at {self.level} level ({known}) or your own"
                )


def retrieval_level(level: Level, dataset: Dataset, corpus: Corpus) -> RetrievalLevel:
    """Return a level by its name; an empty corpus, or a dataset without truth for it, is an error."""
    if not len(corpus):
        raise UsageError("corpus contains no documents")
    moved = 0
    columns: Callable[[Chunking], Columns]
    if level == "token":
        truth = relevant_spans(dataset, corpus)
        columns, moved = partial(_SpanColumns, truth.spans), truth.moved
    elif level == "chunk":
        columns = partial(_ChunkColumns, dataset, corpus)
    else:
        columns = partial(_DocumentColumns, relevant_documents(dataset, corpus))
    return RetrievalLevel(level=level, metrics=_METRICS[level], columns=columns, moved=moved)


_METRICS: Mapping[Level, tuple[str, ...]] = {
    "token": ("span_recall", "span_precision", "span_iou", "span_f1", _OMEGA),
    "chunk": ("chunk_recall", "chunk_precision", "chunk_f1"),
    "document": ("recall", "precision", "ndcg", "mrr", "hit"),
}


class Columns(ABC):
    """Computes the metrics of a level for a batch, once for all of its scorers."""

    metrics: tuple[str, ...]
    no_truth: str

    def __init__(self) -> None:
        self._last: tuple[Sequence[Response], dict[str, list[Score]]] | None = None

    def of(self, samples: Sequence[Sample], responses: Sequence[Response]) -> dict[str, list[Score]]:
        """Return the scores of each metric, in the order of the samples."""
        if self._last is None or self._last[0] is not responses:
            columns = self._computed(samples, responses)
            scores = {name: [_score(name, value) for value in columns[name]] for name in self.metrics}
            self._last = responses, scores
        return self._last[1]

    @abstractmethod
    def pair(self, sample: Sample, response: Response) -> Pair | None:
        """Return what was found and what is relevant, where the dataset has ground truth for a sample."""

    @abstractmethod
    def _computed(self, samples: Sequence[Sample], responses: Sequence[Response]) -> Values:
        """Return the values for a batch."""


def _score(metric: str, value: float | str) -> Score:
    if isinstance(value, str):
        return Score.skipped(metric, value, method=_METHOD)
    return Score.scored(metric, value, method=_METHOD)


class ColumnScorer:
    """One metric of a level, for one sample or for many."""

    method = _METHOD

    def __init__(self, name: str, columns: Columns) -> None:
        self.name, self.columns = name, columns

    def score(self, sample: Sample, response: Response) -> Score:
        return self.score_many([sample], [response])[0]

    def score_many(self, samples: Sequence[Sample], responses: Sequence[Response]) -> list[Score]:
        return self.columns.of(samples, responses)[self.name]


class GivenScorer:
    """A metric object of somebody else's, put to what was found and what is relevant."""

    method = CUSTOM

    def __init__(self, name: str, metric: GivenMetric, columns: Columns) -> None:
        self.name, self._metric, self._columns = name, metric, columns

    def score(self, sample: Sample, response: Response) -> Score:
        pair = self._columns.pair(sample, response)
        if pair is None:
            return Score.skipped(
                self.name, ("the dataset has no ground truth for this question"), method=CUSTOM
            )
        value = self._metric.calculate(*pair)
        if not isfinite(value):
            return Score.failed(self.name, f"expected a finite number, got {value}", method=CUSTOM)
        return Score.scored(self.name, value, method=CUSTOM)


class _SpanColumns(Columns):
    """Which of the relevant characters were retrieved."""

    metrics = _METRICS["token"]
    no_truth = NO_TRUTH.format("characters")

    def __init__(self, truth: Mapping[str, Sequence[CharacterSpan]], chunking: Chunking) -> None:
        super().__init__()
        self._truth, self._chunking = truth, chunking
        self._no_omega = _UNKNOWN_CHUNKS if chunking.chunker == EXISTING else self.no_truth

    @cached_property
    def _omega(self) -> dict[str, float]:
        """Precision omega, which depends on the chunks alone."""
        if self._chunking.chunker == EXISTING:
            return {}
        omega = evaluate_spans({}, self._truth, chunks=self._chunking.chunks)
        return dict(zip(omega.query_ids, omega.per_query[_OMEGA].tolist(), strict=True))

    def pair(self, sample: Sample, response: Response) -> Pair | None:
        relevant = self._truth.get(sample.id)
        return None if relevant is None else (_spans(response), list(relevant))

    def _computed(self, samples: Sequence[Sample], responses: Sequence[Response]) -> Values:
        found = {sample.id: _spans(response) for sample, response in zip(samples, responses, strict=True)}
        relevant = {sample_id: self._truth[sample_id] for sample_id in found if sample_id in self._truth}
        report = evaluate_spans({sample_id: found[sample_id] for sample_id in relevant}, relevant)
        columns: dict[str, list[float | str]] = {
            _OMEGA: [self._omega.get(sample_id, self._no_omega) for sample_id in found]
        }
        for name in self.metrics[:-1]:
            values, scored = report.per_query[name].tolist(), report.scored[name].tolist()
            known = {
                sample_id: value if is_scored else NOTHING_RETRIEVED
                for sample_id, value, is_scored in zip(report.query_ids, values, scored, strict=True)
            }
            columns[name] = [known.get(sample_id, self.no_truth) for sample_id in found]
        return columns


class _ChunkColumns(Columns):
    """Which of the relevant chunks were retrieved; the truth holds for one chunker only."""

    metrics = _METRICS["chunk"]
    no_truth = NO_TRUTH.format("chunks")

    def __init__(self, dataset: Dataset, corpus: Corpus, chunking: Chunking) -> None:
        super().__init__()
        ids = {generate_chunk_id(chunk.content) for chunk in chunking.chunks}
        self._truth = relevant_chunks(dataset, corpus, chunker=chunking.chunker, chunk_ids=ids)

    def pair(self, sample: Sample, response: Response) -> Pair | None:
        relevant = self._truth.get(sample.id)
        return None if relevant is None else ([hit.id for hit in response.hits], list(relevant))

    def _computed(self, samples: Sequence[Sample], responses: Sequence[Response]) -> Values:
        rows: list[tuple[float | str, ...]] = []
        for each in zip(samples, responses, strict=True):
            if (pair := self.pair(*each)) is None:
                rows.append((self.no_truth,) * 3)
            else:
                precision = chunk_precision(*pair) if pair[0] else NOTHING_RETRIEVED
                rows.append((chunk_recall(*pair), precision, chunk_f1(*pair)))
        return dict(zip(self.metrics, zip(*rows, strict=True), strict=True))


class _DocumentColumns(Columns):
    """Which of the relevant documents the retrieved chunks come from; a document ranks by its best chunk."""

    metrics = _METRICS["document"]
    no_truth = NO_TRUTH.format("documents")

    def __init__(self, truth: Mapping[str, Mapping[str, int]], _chunking: Chunking) -> None:
        super().__init__()
        self._truth = truth

    def pair(self, sample: Sample, response: Response) -> Pair | None:
        grades = self._truth.get(sample.id)
        if grades is None:
            return None
        return _documents(response), [document for document, grade in grades.items() if grade > 0]

    def _computed(self, samples: Sequence[Sample], responses: Sequence[Response]) -> Values:
        found = {sample.id: _documents(response) for sample, response in zip(samples, responses, strict=True)}
        judged = {sample_id: self._truth[sample_id] for sample_id in found if sample_id in self._truth}
        if not judged:
            return dict.fromkeys(self.metrics, [self.no_truth] * len(samples))
        run = {sample_id: found[sample_id] for sample_id in judged}
        report = evaluate_ranking(judged, run, self.metrics)
        columns: dict[str, list[float | str]] = {}
        for name in self.metrics:
            known = dict(zip(report.query_ids, report.per_query[name].tolist(), strict=True))
            columns[name] = [known.get(sample_id, self.no_truth) for sample_id in found]
        return columns


def _spans(response: Response) -> list[CharacterSpan]:
    return [hit.span for hit in response.hits if hit.span is not None]


def _documents(response: Response) -> list[str]:
    return list(dict.fromkeys(span.doc_id for span in _spans(response)))
