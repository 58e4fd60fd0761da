"""Metrics of retrieved characters and chunks, one query or many at once.

Spans that overlap or touch are merged on both sides, so that each character counts once. The ``unmerged``
forms and ``precision_omega`` follow Chroma's chunking evaluation, to reproduce what it has published.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, Protocol, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from rag_evaluation_framework.errors import InputError, Issue, invalid
from rag_evaluation_framework.metrics.declaration import metric
from rag_evaluation_framework.metrics.views import HITS, NOTHING_RETRIEVED
from rag_evaluation_framework.records.documents import CharacterSpan, DocumentId

# Spans as columns of integers, the form in which many queries are compared at once.

IntArray: TypeAlias = npt.NDArray[np.int64]

# No document is this long; below it, adding one to a position cannot overflow.
LARGEST_POSITION = 2**62


class Span(Protocol):
    """Anything with a document and characters ``[start, end)``: a CharacterSpan, or a chunk."""

    @property
    def doc_id(self) -> DocumentId: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


class SpanColumns(msgspec.Struct, frozen=True):
    """A row is a span: the number of its query, the number of its document, start and end."""

    query: IntArray
    document: IntArray
    start: IntArray
    end: IntArray

    def __post_init__(self) -> None:
        lengths = sorted({len(self.query), len(self.document), len(self.start), len(self.end)})
        if len(lengths) > 1:
            raise InputError(
                [Issue("unequal-columns", "columns of one length", f"lengths {lengths}", "spans")]
            )
        wrong = (self.query < 0) | (self.document < 0) | (self.start < 0) | (self.end <= self.start)
        wrong |= self.end > LARGEST_POSITION
        if wrong.any():
            row = int(np.argmax(wrong))
            expected = f"numbers of at least 0 and start < end <= {LARGEST_POSITION}"
            values = (self.query[row], self.document[row], self.start[row], self.end[row])
            found = "query {}, document {}, start {}, end {}".format(*values)
            raise InputError([Issue("invalid-span", expected, found, f"spans[{row}]")])

    def __len__(self) -> int:
        return len(self.query)


def columns_of(*sides: Sequence[Sequence[Span]]) -> list[SpanColumns]:
    """Turn each side, a list of spans for every query, into columns. The sides share document numbers."""
    numbers: dict[str, int] = {}
    columns = []
    for queries in sides:
        spans = list(chain.from_iterable(queries))
        document = [numbers.setdefault(span.doc_id, len(numbers)) for span in spans]
        query = np.repeat(np.arange(len(queries), dtype=np.int64), [len(of_one) for of_one in queries])
        columns.append(
            SpanColumns(
                query, np.array(document, np.int64), positions("start", spans), positions("end", spans)
            )
        )
    return columns


def positions(side: str, spans: Sequence[Span]) -> IntArray:
    """Return the starts or the ends of spans as an array."""
    try:
        return np.fromiter(map(attrgetter(side), spans), np.int64, len(spans))
    except OverflowError as error:
        issue = Issue("invalid-span", f"a position up to {LARGEST_POSITION}", "a larger number", side)
        raise InputError([issue]) from error


# Sets of characters: merging spans, and counting what two sides share, for many queries at once.
#
# All documents are laid end to end on one line, with a gap of one character so that the end of a document
# never touches the next; each query has such a line to itself. A span is then two integers, and a side of
# the comparison two sorted arrays, whatever the number of queries and documents.

_LONGEST_LINE = 2**63 - 1


class SpanCounts(msgspec.Struct, frozen=True):
    """Characters of each query: retrieved and relevant (each once), shared by both, and retrieved as given.

    ``unmerged`` adds up the lengths of the retrieved spans, so a character in two spans counts twice.
    """

    retrieved: IntArray
    relevant: IntArray
    shared: IntArray
    unmerged: IntArray


def count_characters(retrieved: SpanColumns, relevant: SpanColumns, *, queries: int) -> SpanCounts:
    """Count the characters of queries 0 to ``queries`` - 1 on both sides, and those that both have.

    Time grows as that of sorting the spans; nothing depends on how long they are.
    """
    line = _Line.through(retrieved, relevant, queries=queries)
    found_starts, found_ends = merged(*line.placed(retrieved))
    starts, ends = merged(*line.placed(relevant))
    shared = _covered(starts, ends, up_to=found_ends) - _covered(starts, ends, up_to=found_starts)
    return SpanCounts(
        retrieved=line.sums(found_starts, found_ends - found_starts),
        relevant=line.sums(starts, ends - starts),
        shared=line.sums(found_starts, shared),
        unmerged=_sums(retrieved.query, retrieved.end - retrieved.start, queries=queries),
    )


def merge_spans(spans: Iterable[Span]) -> list[CharacterSpan]:
    """Merge spans that overlap or touch, document by document; sorted by document and start.

    >>> merge_spans([CharacterSpan("d", 50, 150), CharacterSpan("d", 0, 100), CharacterSpan("d", 150, 160)])
    [CharacterSpan(doc_id='d', start=0, end=160)]
    """
    by_document: dict[DocumentId, list[Span]] = {}
    for span in spans:
        by_document.setdefault(span.doc_id, []).append(span)
    united: list[CharacterSpan] = []
    for document, inside in sorted(by_document.items()):
        starts, ends = merged(positions("start", inside), positions("end", inside))
        united += map(CharacterSpan, [document] * len(starts), starts.tolist(), ends.tolist())
    return united


def merged(starts: IntArray, ends: IntArray) -> tuple[IntArray, IntArray]:
    """Merge overlapping and touching spans of a line into sorted ones with gaps between them.

    Starts and ends are sorted apart: there is a gap before the i-th start, counted from 0, exactly when
    i spans have ended by then, which is when the end before the i-th lies below it.
    """
    starts, ends = np.sort(starts), np.sort(ends)
    gap = starts[1:] > ends[:-1]
    return np.concatenate([starts[:1], starts[1:][gap]]), np.concatenate([ends[:-1][gap], ends[-1:]])


def touched_chunks(chunks: SpanColumns, relevant: SpanColumns, *, touching: bool) -> SpanColumns:
    """Return, for every query, the chunks that share a character with its relevant spans.

    With ``touching``, a chunk that only ends where a relevant span starts, or starts where it ends, counts
    too. A chunk is repeated when several relevant spans touch it.
    """
    wanted = replace(relevant, query=np.zeros_like(relevant.query))
    line = _Line.through(chunks, wanted, queries=1)
    starts, ends = line.placed(chunks)
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], ends[order]
    begin, finish = line.placed(wanted)
    if touching:
        begin, finish = begin - 1, finish + 1
    # Between the first chunk that reaches beyond a span's begin and the last that starts before its finish.
    first = np.searchsorted(np.maximum.accumulate(ends), begin, side="right")
    amount = np.maximum(np.searchsorted(starts, finish, side="left") - first, 0)
    row = np.repeat(np.arange(len(relevant)), amount)
    chunk = np.arange(len(row)) + np.repeat(first - (np.cumsum(amount) - amount), amount)
    reaches = ends[chunk] > begin[row]
    row, chunk = row[reaches], order[chunk[reaches]]
    return replace(
        relevant,
        query=relevant.query[row],
        document=chunks.document[chunk],
        start=chunks.start[chunk],
        end=chunks.end[chunk],
    )


def _covered(starts: IntArray, ends: IntArray, *, up_to: IntArray) -> IntArray:
    """Count, for each position, the characters of merged spans that lie before it."""
    if not len(starts):
        return np.zeros_like(up_to)
    begun = np.searchsorted(starts, up_to, side="left")
    lengths = np.concatenate([[0], np.cumsum(ends - starts)])
    beyond = np.maximum(ends[begun - 1] - up_to, 0)  # the last one begun may reach past the position
    return np.where(begun > 0, lengths[begun] - beyond, 0)


def _sums(query: IntArray, amounts: IntArray, *, queries: int) -> IntArray:
    sums = np.zeros(queries, np.int64)
    np.add.at(sums, query, amounts)
    return sums


class _Line(msgspec.Struct, frozen=True):
    """The line on which every query has all the documents, one after the other."""

    offsets: IntArray
    length: int
    queries: int

    @classmethod
    def through(cls, *sides: SpanColumns, queries: int) -> _Line:
        """Lay out the documents, each as long as its last mentioned character and one more."""
        last = max((int(side.query.max()) for side in sides if len(side)), default=-1)
        if last >= queries:
            raise invalid("spans", f"a query below {queries}", last)
        documents = 1 + max((int(side.document.max()) for side in sides if len(side)), default=0)
        widths = np.ones(documents, np.int64)
        for side in sides:
            np.maximum.at(widths, side.document, side.end + 1)
        length = sum(widths.tolist())
        if length * queries > _LONGEST_LINE:
            found = f"{queries} queries over {length} characters"
            raise InputError([Issue("line-too-long", "fewer queries at once", found, "spans")])
        return cls(np.cumsum(widths) - widths, length, queries)

    def placed(self, side: SpanColumns) -> tuple[IntArray, IntArray]:
        """Return starts and ends on the line."""
        shift = side.query * self.length + self.offsets[side.document]
        return side.start + shift, side.end + shift

    def sums(self, places: IntArray, amounts: IntArray) -> IntArray:
        """Add up amounts by the query in whose part of the line they lie."""
        return _sums(places // self.length, amounts, queries=self.queries)


# Every metric is one count over another: (numerator, denominator) of each query.
FRACTIONS: Mapping[str, Callable[[SpanCounts], tuple[IntArray, IntArray]]] = {
    "span_recall": lambda counts: (counts.shared, counts.relevant),
    "span_precision": lambda counts: (counts.shared, counts.retrieved),
    "span_iou": lambda counts: (counts.shared, counts.retrieved + counts.relevant - counts.shared),
    "span_f1": lambda counts: (2 * counts.shared, counts.retrieved + counts.relevant),
    "span_precision_unmerged": lambda counts: (counts.shared, counts.unmerged),
    "span_iou_unmerged": lambda counts: (counts.shared, counts.unmerged + counts.relevant - counts.shared),
}

# What a metric is when its denominator is 0; two empty sets are equal.
EMPTY_VALUES: Mapping[str, float] = {
    **dict.fromkeys(FRACTIONS, 0.0),
    "span_iou": 1.0,
    "span_iou_unmerged": 1.0,
}


def _fraction(name: str, retrieved: Sequence[Span], relevant: Sequence[Span]) -> float:
    found, expected = columns_of([retrieved], [relevant])
    fraction = FRACTIONS[name](count_characters(found, expected, queries=1))
    return float(_divided(*fraction, empty=EMPTY_VALUES[name])[0])


@metric("span_recall", reads=HITS)
def span_recall(retrieved_spans: Sequence[Span], relevant_spans: Sequence[Span]) -> float:
    """The share of the relevant characters that was retrieved.

    Formula: |retrieved ∩ relevant| / |relevant|, in characters, each once.

    Empty: 0 when nothing is relevant; a summary leaves such queries out.

    Source: token-level evaluation of retrieval; both sides are merged.
    """
    return _fraction("span_recall", retrieved_spans, relevant_spans)


def _nothing_retrieved(retrieved_spans: Sequence[Span]) -> str | None:
    return None if retrieved_spans else NOTHING_RETRIEVED


@metric("span_precision", reads=HITS, unless=(_nothing_retrieved,))
def span_precision(retrieved_spans: Sequence[Span], relevant_spans: Sequence[Span]) -> float:
    """The share of the retrieved characters that is relevant.

    Formula: |retrieved ∩ relevant| / |retrieved|, in characters, each once.

    Empty: 0 when nothing was retrieved; a summary leaves such queries out.

    Source: token-level evaluation of retrieval; both sides are merged.
    """
    return _fraction("span_precision", retrieved_spans, relevant_spans)


@metric("span_iou", reads=HITS)
def span_iou(retrieved_spans: Sequence[Span], relevant_spans: Sequence[Span]) -> float:
    """The overlap of the retrieved and the relevant characters (intersection over union).

    Formula: |retrieved ∩ relevant| / |retrieved ∪ relevant|, in characters, each once.

    Empty: 1 when both sides are empty, 0 when one is; a summary leaves out queries without relevant spans.

    Source: token-level evaluation of retrieval; Jaccard, 1901.
    """
    return _fraction("span_iou", retrieved_spans, relevant_spans)


@metric("span_f1", reads=HITS)
def span_f1(retrieved_spans: Sequence[Span], relevant_spans: Sequence[Span]) -> float:
    """The harmonic mean of span recall and span precision.

    Formula: 2 × |retrieved ∩ relevant| / (|retrieved| + |relevant|), in characters, each once.

    Empty: 0 when either side is empty; a summary leaves out queries without relevant spans.

    Source: token-level evaluation of retrieval; van Rijsbergen, "Information Retrieval", 1979.
    """
    return _fraction("span_f1", retrieved_spans, relevant_spans)


@metric("span_precision_unmerged", reads=HITS, unless=(_nothing_retrieved,))
def span_precision_unmerged(retrieved_spans: Sequence[Span], relevant_spans: Sequence[Span]) -> float:
    """The share of the retrieved text that is relevant; text retrieved twice counts twice.

    Formula: |retrieved ∩ relevant| / sum of the lengths of the retrieved spans. The numerator counts each
    character once, the denominator as often as it was retrieved.

    Empty: 0 when nothing was retrieved; a summary leaves such queries out.

    Source: Smith and Troynikov, "Evaluating Chunking Strategies for Retrieval", Chroma, 2024: its precision.
    """
    return _fraction("span_precision_unmerged", retrieved_spans, relevant_spans)


@metric("span_iou_unmerged", reads=HITS)
def span_iou_unmerged(retrieved_spans: Sequence[Span], relevant_spans: Sequence[Span]) -> float:
    """The overlap of the retrieved and the relevant text; text retrieved twice counts twice.

    Formula: |retrieved ∩ relevant| / (sum of the lengths of the retrieved spans + relevant characters that
    were not retrieved).

    Empty: 1 when both sides are empty, 0 when one is; a summary leaves out queries without relevant spans.

    Source: Smith and Troynikov, "Evaluating Chunking Strategies for Retrieval", Chroma, 2024: its IoU.
    """
    return _fraction("span_iou_unmerged", retrieved_spans, relevant_spans)


@metric("precision_omega", reads=HITS)
def precision_omega(
    chunk_spans: Sequence[Span], relevant_spans: Sequence[Span], *, touching: bool = False
) -> float:
    """The highest precision that the chunking allows, with perfect retrieval.

    It judges the chunking alone, so its first argument is every chunk of the corpus, not what was retrieved.

    Formula: span IoU of the needed chunks and the relevant spans. Needed is a chunk that shares a character
    with a relevant span; with ``touching``, one that only borders on it too, as Chroma's own code has it.

    Empty: 1 when there are neither chunks nor relevant spans, 0 when one is missing; a summary leaves out
    queries without relevant spans.

    Source: Smith and Troynikov, "Evaluating Chunking Strategies for Retrieval", Chroma, 2024.
    """
    every, expected = columns_of([chunk_spans], [relevant_spans])
    return float(_omega(every, expected, touching=touching, queries=1)[0])


class _Declared:
    """A metric object over a metric that is declared."""

    function: Callable[[Any, Any], float]

    @property
    def name(self) -> str:
        """Return the name of the metric; empty if a subclass computes another."""
        return self.function.__name__ if type(self).calculate is _Declared.calculate else ""

    def calculate(self, retrieved: Any, ground_truth: Any) -> float:
        return self.function(retrieved, ground_truth)


class TokenLevelMetric(ABC):
    """A metric over character spans. It is called by position, so a subclass may rename the arguments.

    Example:
        >>> from rag_evaluation_framework import CharacterSpan, TokenLevelMetric
        >>> class RetrievedCharacters(TokenLevelMetric):
        ...     def calculate(self, retrieved, ground_truth):
        ...         return float(sum(span.end - span.start for span in retrieved))
        >>> RetrievedCharacters().calculate([CharacterSpan("a.md", 0, 5)], [])
        5.0
    """

    @abstractmethod
    def calculate(self, retrieved: Sequence[CharacterSpan], ground_truth: Sequence[CharacterSpan]) -> float:
        """Score the retrieved spans of one query against its relevant ones."""


class SpanRecall(_Declared, TokenLevelMetric):
    """The share of the relevant characters that was retrieved.

    Example:
        >>> from rag_evaluation_framework import CharacterSpan, SpanRecall
        >>> SpanRecall().calculate([CharacterSpan("a.md", 0, 5)], [CharacterSpan("a.md", 0, 10)])
        0.5
    """

    function = staticmethod(span_recall)


class SpanPrecision(_Declared, TokenLevelMetric):
    """The share of the retrieved characters that is relevant.

    Example:
        >>> from rag_evaluation_framework import CharacterSpan, SpanPrecision
        >>> SpanPrecision().calculate([CharacterSpan("a.md", 0, 20)], [CharacterSpan("a.md", 0, 10)])
        0.5
    """

    function = staticmethod(span_precision)


class SpanIoU(_Declared, TokenLevelMetric):
    """The overlap of the retrieved and the relevant characters: intersection over union.

    Example:
        >>> from rag_evaluation_framework import CharacterSpan, SpanIoU
        >>> SpanIoU().calculate([CharacterSpan("a.md", 0, 5)], [CharacterSpan("a.md", 0, 10)])
        0.5
    """

    function = staticmethod(span_iou)


class SpanF1(_Declared, TokenLevelMetric):
    """The harmonic mean of span recall and span precision."""

    function = staticmethod(span_f1)


# Span metrics of many queries at once.

FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]


class SpanReport(msgspec.Struct, frozen=True):
    """The span metrics of every query, and their means.

    The arrays stand in the order of ``query_ids``. Where a metric has nothing to measure (no relevant
    span; for a precision, nothing retrieved), ``scored`` is false: the row holds the value that the metric's
    function states for the empty case, and the mean does not count it. A metric without any scored row has
    no mean.
    """

    query_ids: tuple[str, ...]
    counts: SpanCounts
    per_query: Mapping[str, FloatArray]
    scored: Mapping[str, BoolArray]
    mean: Mapping[str, float]


def evaluate_spans(
    retrieved: Mapping[str, Sequence[Span]],
    relevant: Mapping[str, Sequence[Span]],
    *,
    chunks: Sequence[Span] | None = None,
    touching: bool = False,
) -> SpanReport:
    """Compute every span metric for all queries; with the corpus's ``chunks``, ``precision_omega`` too.

    A query with relevant spans and no entry in ``retrieved`` has retrieved nothing. A query that was
    retrieved for and has no relevant spans is listed and not scored. ``touching`` is as in
    :func:`~rag_evaluation_framework.metrics.spans.precision_omega`.
    """
    query_ids = (*relevant, *(query for query in retrieved if query not in relevant))
    found, expected, corpus = columns_of(
        [retrieved.get(query, ()) for query in query_ids],
        [relevant.get(query, ()) for query in query_ids],
        [chunks or ()],
    )
    counts = count_characters(found, expected, queries=len(query_ids))
    per_query: dict[str, FloatArray] = {}
    scored: dict[str, BoolArray] = {}
    for name, fraction in FRACTIONS.items():
        numerator, denominator = fraction(counts)
        per_query[name] = _divided(numerator, denominator, empty=EMPTY_VALUES[name])
        scored[name] = (denominator > 0) & (counts.relevant > 0)
    if chunks is not None:
        per_query["precision_omega"] = _omega(corpus, expected, touching=touching, queries=len(query_ids))
        scored["precision_omega"] = counts.relevant > 0
    mean = {
        name: math.fsum(per_query[name][rows]) / int(rows.sum())
        for name, rows in scored.items()
        if rows.any()
    }
    return SpanReport(query_ids, counts, per_query, scored, mean)


def _divided(numerator: IntArray, denominator: IntArray, *, empty: float) -> FloatArray:
    quotients: FloatArray = np.full(len(numerator), empty)
    np.divide(numerator, denominator, out=quotients, where=denominator > 0)
    return quotients


def _omega(corpus: SpanColumns, expected: SpanColumns, *, touching: bool, queries: int) -> FloatArray:
    needed = touched_chunks(corpus, expected, touching=touching)
    numerator, denominator = FRACTIONS["span_iou"](count_characters(needed, expected, queries=queries))
    return _divided(numerator, denominator, empty=0.0 if len(corpus) else 1.0)


# Which chunks were retrieved: set recall, precision and F1 over chunk ids. A repeated id counts once.


@metric("chunk_recall", reads=HITS)
def chunk_recall(retrieved_ids: Sequence[str], relevant_ids: Sequence[str]) -> float:
    """The share of the relevant chunks that was retrieved.

    Formula: |retrieved ∩ relevant| / |relevant|.

    Empty: 0 when nothing is relevant; a summary leaves such queries out.

    Source: chunk-level evaluation of retrieval; set recall.
    """
    expected = set(relevant_ids)
    return len(expected.intersection(retrieved_ids)) / len(expected) if expected else 0.0


def _no_chunk_retrieved(retrieved_ids: Sequence[str]) -> str | None:
    return None if retrieved_ids else NOTHING_RETRIEVED


@metric("chunk_precision", reads=HITS, unless=(_no_chunk_retrieved,))
def chunk_precision(retrieved_ids: Sequence[str], relevant_ids: Sequence[str]) -> float:
    """The share of the retrieved chunks that is relevant.

    Formula: |retrieved ∩ relevant| / |retrieved|.

    Empty: 0 when nothing was retrieved; a summary leaves such queries out.

    Source: chunk-level evaluation of retrieval; set precision.
    """
    found = set(retrieved_ids)
    return len(found.intersection(relevant_ids)) / len(found) if found else 0.0


@metric("chunk_f1", reads=HITS)
def chunk_f1(retrieved_ids: Sequence[str], relevant_ids: Sequence[str]) -> float:
    """The harmonic mean of chunk recall and chunk precision.

    Formula: 2 × |retrieved ∩ relevant| / (|retrieved| + |relevant|).

    Empty: 0 when either side is empty; a summary leaves out queries without relevant chunks.

    Source: chunk-level evaluation of retrieval; van Rijsbergen, "Information Retrieval", 1979.
    """
    found, expected = set(retrieved_ids), set(relevant_ids)
    return 2 * len(found & expected) / (len(found) + len(expected)) if found and expected else 0.0


class ChunkLevelMetric(ABC):
    """A metric over chunk ids. It is called by position, so a subclass may rename the arguments.

    Example:
        >>> from rag_evaluation_framework import ChunkLevelMetric
        >>> class FirstIsRelevant(ChunkLevelMetric):
        ...     def calculate(self, retrieved, ground_truth):
        ...         return float(retrieved[0] in ground_truth)
        >>> FirstIsRelevant().calculate(["c1", "c3"], ["c1"])
        1.0
    """

    @abstractmethod
    def calculate(self, retrieved: Sequence[str], ground_truth: Sequence[str]) -> float:
        """Score the retrieved chunk ids of one query against its relevant ones."""


class ChunkRecall(_Declared, ChunkLevelMetric):
    """The share of the relevant chunks that was retrieved.

    Example:
        >>> from rag_evaluation_framework import ChunkRecall
        >>> ChunkRecall().calculate(["c1", "c3"], ["c1", "c2"])
        0.5
    """

    function = staticmethod(chunk_recall)


class ChunkPrecision(_Declared, ChunkLevelMetric):
    """The share of the retrieved chunks that is relevant.

    Example:
        >>> from rag_evaluation_framework import ChunkPrecision
        >>> ChunkPrecision().calculate(["c1", "c3"], ["c1"])
        0.5
    """

    function = staticmethod(chunk_precision)


class ChunkF1(_Declared, ChunkLevelMetric):
    """The harmonic mean of chunk recall and chunk precision.

    Example:
        >>> from rag_evaluation_framework import ChunkF1
        >>> ChunkF1().calculate(["c1", "c3"], ["c1", "c2"])
        0.5
    """

    function = staticmethod(chunk_f1)
