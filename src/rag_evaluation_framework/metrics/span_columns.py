"""Spans as columns of integers, the form in which many queries are compared at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import InputError, Issue
from rag_evaluation_framework.records.identifiers import DocumentId

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


@dataclass(frozen=True, slots=True)
class SpanColumns:
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
        issue = Issue("invalid-span", f"a position up to {LARGEST_POSITION}", "a larger one", side)
        raise InputError([issue]) from error
