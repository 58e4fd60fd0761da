"""What the ranking metrics see: the judged grades of a block of queries, as arrays.

Arrays run over ranks first and queries second, so that a metric is a running sum down the ranks with all
queries side by side. Each query's sum is taken in rank order, as trec_eval takes it, and its bits do not
depend on which other queries share the block.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import Issue

Integers = npt.NDArray[np.signedinteger[Any]]
Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]

# Why a query is left out, in the order in which reports list them.
NOT_JUDGED = "no judgements for this query"
NOT_RETRIEVED = "not in the run"
NOTHING_RELEVANT = "no relevant document among its judgements"

# Stands in ``grades`` for a retrieved document without a judgement, and for ranks beyond a list's end.
UNJUDGED = -1

# Array cells in a block: small enough to stay in a processor's cache, large enough to hide Python.
_BLOCK_CELLS = 2**16
_ORDINARY_WIDTH = 256
_SHOWN_ISSUES = 20
# From here on a rank takes more than 16 bits; narrow numbers are compared faster.
_MANY_RANKS = 2**15 - 1


@dataclass(frozen=True, slots=True)
class Reading:
    """How far down the lists the requested metrics look.

    ``depth`` is the largest cut-off, or ``None`` for whole lists. With ``first_hit`` the first relevant
    document is also looked for below that depth.
    """

    depth: int | None
    first_hit: bool = False


@dataclass(frozen=True, eq=False)
class JudgedRankings:
    """The rankings of a block of queries, each document replaced by its grade.

    ``grades[rank, query]`` reaches as deep as the metrics look; ``retrieved`` counts each whole list.
    ``relevant`` and ``nonrelevant`` count the query's judgements, retrieved or not: grades from
    ``relevance_level`` up, and grades from 0 up to below it. ``ideal_grades[rank, query]`` has the positive
    grades of the judgements from the highest down, then zeros. ``first_hit`` is the rank of the first
    relevant document where it was searched for in whole lists, 0 where there is none.
    """

    grades: Integers
    retrieved: Integers
    relevant: Integers
    nonrelevant: Integers
    ideal_grades: Integers
    relevance_level: int = 1
    first_hit: Integers | None = None

    @property
    def depth(self) -> int:
        return int(self.grades.shape[0])

    @cached_property
    def ranks(self) -> Floats:
        """The ranks 1, 2, … as a column."""
        return np.arange(1.0, self.depth + 1)[:, np.newaxis]

    @cached_property
    def is_relevant(self) -> Booleans:
        return np.asarray(self.grades >= self.relevance_level)

    @cached_property
    def hits(self) -> Integers:
        """How many relevant documents stand at each rank or above."""
        return running_sum(self.is_relevant.astype(np.int32))

    @cached_property
    def first_relevant(self) -> Integers:
        """The rank of the first relevant document, 0 where there is none."""
        if self.first_hit is not None:
            return self.first_hit
        return rank_of_first(self.is_relevant)

    @cached_property
    def precision_sums(self) -> Floats:
        """The sum of the precisions at the relevant documents, down to each rank."""
        return running_sum(self.hits * self.is_relevant / self.ranks)

    @cached_property
    def discounted_gains(self) -> tuple[Floats, Floats]:
        """The discounted grades down to each rank: those of the ranking, and of the ideal one."""
        return discounted_sum(np.maximum(self.grades, 0)), discounted_sum(self.ideal_grades)

    def hits_within(self, k: int | None) -> Integers:
        return last_row(self.hits, k)

    def retrieved_within(self, k: int | None) -> Integers:
        return self.retrieved if k is None else np.minimum(self.retrieved, k)


JudgedBlock = tuple[Sequence[Hashable], JudgedRankings | str]
"""Some queries with their judged rankings, or with the reason why they are left out."""


def rank_of_first(found: Booleans) -> Integers:
    """Return for each column the 1-based row of its first true value, 0 where there is none."""
    depth = len(found)
    left = np.arange(depth, 0, -1, dtype=np.int16 if depth < _MANY_RANKS else np.int64)[:, np.newaxis]
    most_left = (found * left).max(axis=0, initial=0).astype(np.int64)
    return np.where(most_left > 0, depth + 1 - most_left, 0)


Number = TypeVar("Number", bound=np.generic)


def running_sum(terms: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Sum down the ranks, in place: ten times as fast as ``np.cumsum`` along the first axis."""
    for above, here in pairwise(terms):
        np.add(here, above, out=here)
    return terms


def discounted_sum(gains: npt.NDArray[Any]) -> Floats:
    """Sum gain / log2(rank + 1) down the ranks."""
    return running_sum(gains / np.log2(np.arange(2.0, len(gains) + 2.0))[:, np.newaxis])


def last_row(running: npt.NDArray[Any], k: int | None) -> npt.NDArray[Any]:
    """Return a running sum's value at rank ``k``, or at the end when the ranks stop before."""
    depth = running.shape[0]
    if depth == 0:
        return np.zeros(running.shape[1], dtype=running.dtype)
    return np.asarray(running[min(k or depth, depth) - 1])


def blocks(widths: npt.NDArray[np.int64]) -> Iterator[slice]:
    """Cut the queries into runs of neighbours whose padded arrays keep to the block size."""
    widest = int(widths.max(initial=1))
    if widest <= _ORDINARY_WIDTH:
        yield from even_blocks(len(widths), width=widest)
        return
    # One query with a very long list must not make its neighbours' padding as long.
    start, widest = 0, 1
    for position, width in enumerate(widths.tolist()):
        wider = max(widest, width)
        if wider * (position + 1 - start) > _BLOCK_CELLS and position > start:
            yield slice(start, position)
            start, wider = position, max(1, width)
        widest = wider
    yield slice(start, len(widths))


def even_blocks(queries: int, *, width: int) -> Iterator[slice]:
    """Cut queries that all take up the same width into blocks."""
    step = max(1, _BLOCK_CELLS // max(1, width))
    return (slice(start, min(start + step, queries)) for start in range(0, queries, step))


def capped(issues: Iterable[Issue]) -> list[Issue]:
    """Return the first issues, and how many more there are: a wrong column makes one on every line."""
    every = list(issues)
    more = len(every) - _SHOWN_ISSUES
    last = [Issue("more", "no further problems", f"{more} more like these")] if more > 0 else []
    return [*every[:_SHOWN_ISSUES], *last]
