"""Sets of characters: merging spans, and counting what two sides share, for many queries at once.

All documents are laid end to end on one line, with a gap of one character so that the end of a document
never touches the next; each query has such a line to itself. A span is then two integers, and a side of
the comparison two sorted arrays, whatever the number of queries and documents.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from rag_evaluation_framework.errors import InputError, Issue, invalid
from rag_evaluation_framework.metrics.span_columns import IntArray, Span, SpanColumns, positions
from rag_evaluation_framework.records.identifiers import DocumentId
from rag_evaluation_framework.records.spans import CharacterSpan

_LONGEST_LINE = 2**63 - 1


@dataclass(frozen=True, slots=True)
class SpanCounts:
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


@dataclass(frozen=True, slots=True)
class _Line:
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
