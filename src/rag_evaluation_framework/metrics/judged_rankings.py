"""The judged block that ranking metrics see, from arrays.

Arrays run over ranks first and queries second, so that a metric is a running sum down the ranks with all
queries side by side. Each query's sum is taken in rank order, as trec_eval takes it, and its bits do not
depend on which other queries share the block.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import InputError, Issue, UsageError, invalid, shown

Integers = npt.NDArray[np.signedinteger[Any]]
Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]

# Why a query is left out, in the order in which reports list them.
NOT_JUDGED = "no judgments for this query"
NOT_RETRIEVED = "not in the run"
NOTHING_RELEVANT = "no relevant document among its judgments"

# Stands in ``grades`` for a retrieved document without a judgement, and for ranks beyond a list's end.
UNJUDGED = -1

# Array cells in a block: small enough to stay in a processor's cache, large enough to hide Python.
_BLOCK_CELLS = 2**16
_ORDINARY_WIDTH = 256
_SHOWN_ISSUES = 20
# From here on a rank takes more than 16 bits; narrow numbers are compared faster.
_MANY_RANKS = 2**15 - 1


class Reading(msgspec.Struct, frozen=True):
    """The depth to which the requested metrics read the lists.

    ``depth`` is the largest cut-off, or ``None`` for whole lists. With ``first_hit`` the first relevant
    document is also looked for below that depth.
    """

    depth: int | None
    first_hit: bool = False


class JudgedRankings(msgspec.Struct, frozen=True, eq=False, dict=True, weakref=True):
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
        """Return the number of relevant documents at each rank or above."""
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
    last = [Issue("more", "no more problems", f"{more:,} more")] if more > 0 else []
    return [*every[:_SHOWN_ISSUES], *last]


# The rules that ranking metrics leave open, written down: ties, missing queries, nothing relevant.

Ties = Literal["document_ascending", "trec_eval"]

_CHOICES: dict[str, tuple[str, ...]] = {
    "ties": ("document_ascending", "trec_eval"),
    "missing_queries": ("zero", "skip"),
    "no_relevant": ("skip", "zero"),
}


class RankingRules(msgspec.Struct, frozen=True):
    """The reading of rankings where tools differ. The defaults are ours; :meth:`trec_eval` is the other set.

    ``ties``
        Documents with equal scores: ``document_ascending`` puts the smaller document id first;
        ``trec_eval`` compares scores as 32-bit floats and puts the larger document id first, in byte order.
        A ranked list has no ties.
    ``missing_queries``
        A judged query that the run lacks: ``zero`` scores it as a query that retrieved nothing; ``skip``
        leaves it out and says so.
    ``no_relevant``
        A query whose judgements hold nothing relevant: ``skip`` leaves it out and says so, since no ranking
        could score; ``zero`` keeps it, as trec_eval does.
    ``relevance_level``
        The lowest grade that counts as relevant, trec_eval's ``-l``. Gains (ndcg, err) use every grade.

    A query of the run without judgements is never scored, only listed.
    """

    ties: Ties = "document_ascending"
    missing_queries: Literal["zero", "skip"] = "zero"
    no_relevant: Literal["skip", "zero"] = "skip"
    relevance_level: int = 1

    def __post_init__(self) -> None:
        for field, choices in _CHOICES.items():
            if getattr(self, field) not in choices:
                raise UsageError(
                    f"ranking rules: expected {field} to be {' or '.join(choices)}, "
                    f"got {shown(getattr(self, field))}"
                )
        level = self.relevance_level
        if isinstance(level, bool) or not isinstance(level, int) or level < 1:
            raise UsageError(f"ranking rules: expected relevance_level to be 1 or more, got {shown(level)}")

    @classmethod
    def trec_eval(cls, *, relevance_level: int = 1) -> RankingRules:
        """Return the rules of trec_eval (and pytrec_eval), under which the figures agree with it."""
        return cls("trec_eval", missing_queries="skip", no_relevant="zero", relevance_level=relevance_level)


# What the ranking metrics count in the judgements of a block of queries, wherever these came from.


def count_grades(
    judged: Integers, *, relevance_level: int, depth: int | None
) -> tuple[Integers, Integers, Integers]:
    """Count the grades in the columns of a table padded as unjudged.

    Returns how many are relevant and how many are not, and the ideal grades down to ``depth``.
    """
    relevant = _counted(judged >= relevance_level)
    nonrelevant = _counted(judged >= 0) - relevant
    return relevant, nonrelevant, _ideal_grades(judged, depth=depth)


def counted(chosen: Booleans, lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Count what is chosen for each query, of values that stand one query after another."""
    before = np.zeros(len(chosen) + 1, dtype=np.int64)
    np.cumsum(chosen, out=before[1:])
    ends = np.cumsum(lengths)
    counts: npt.NDArray[np.int64] = before[ends] - before[ends - lengths]
    return counts


def _counted(chosen: Booleans) -> npt.NDArray[np.int64]:
    return np.asarray(chosen.sum(axis=0, dtype=np.int64))


def _ideal_grades(judged: Integers, *, depth: int | None) -> Integers:
    """Return the positive grades of each query from the highest down, ``[rank, query]``, padded with 0."""
    positive = _counted(judged > 0)
    rows = int(positive.max(initial=0))
    rows = rows if depth is None else min(rows, depth)
    if judged.max(initial=0) <= 1:
        return (np.arange(rows)[:, np.newaxis] < positive).astype(np.int8)
    rising = np.sort(judged, axis=0)
    return np.maximum(rising[::-1][:rows], 0)


# Grades and scores that stand one query after another.

# Stands for a score too large for 32 bits: above all others, equal among themselves, yet finite.
_BEYOND_32_BITS = 1e39


def grade_table(flat: Integers, lengths: npt.NDArray[np.int64]) -> Integers:
    """Return ``grades[rank, query]`` of grades that stand one query after another, padded as unjudged."""
    depth = int(lengths.max(initial=0))
    if len(flat) == depth * len(lengths):
        return np.ascontiguousarray(flat.reshape(len(lengths), depth).T)
    grades = np.full((len(lengths), depth), UNJUDGED, dtype=flat.dtype)
    grades[np.arange(depth) < lengths[:, np.newaxis]] = flat
    return np.ascontiguousarray(grades.T)


def as_compared(scores: Floats, ties: Ties) -> Floats:
    """Return scores with the precision at which the tie rule compares them."""
    if ties != "trec_eval":
        return scores
    with np.errstate(over="ignore"):
        narrow = scores.astype(np.float32).astype(np.float64)
    return np.clip(narrow, -_BEYOND_32_BITS, _BEYOND_32_BITS)


def rows_that_rise(scores: Floats, lengths: npt.NDArray[np.int64]) -> Booleans:
    """Tell for each query whether some score is not below the one before it."""
    rises = np.zeros(len(scores) + 1, dtype=np.bool_)
    np.greater_equal(scores[1:], scores[:-1], out=rises[1:-1])
    rises[np.cumsum(lengths)] = False  # the first score of the next query is compared with nothing
    found = np.zeros(len(lengths), dtype=np.bool_)
    found[np.searchsorted(np.cumsum(lengths), np.flatnonzero(rises), side="right")] = True
    return found


# Qrels and runs as arrays of integer document ids, brought together into blocks of judged rankings.
#
# This is the quickest way in: no dictionary is built, whole blocks of ids are compared at once.

IdArray = npt.NDArray[np.integer[Any]]
QrelArrays = IdArray | tuple[IdArray, IdArray]

PADDING = -1
_MATCHES_NOTHING = -2
_SHORT = 24


def judge_arrays(
    qrels: QrelArrays, run: IdArray, *, rules: RankingRules, reading: Reading
) -> Iterator[JudgedBlock]:
    """Yield the rows of both arrays in blocks of judged rankings; a row's number is its query's id.

    ``run[query, rank]`` and ``qrels[query, n]`` hold document ids of 0 or more, padded with -1 at the end.
    Qrels may be a pair of ids and grades of the same shape; ids alone mean grade 1. A row of the run that is
    all padding is a query that the run lacks.
    """
    ids, wide_grades = _ids_and_grades(qrels)
    grades = _narrowed(wide_grades)
    queries = np.arange(len(run))
    is_missing = run[:, 0] == PADDING
    if rules.missing_queries == "skip" and is_missing.any():
        yield np.flatnonzero(is_missing).tolist(), NOT_RETRIEVED
        queries = np.flatnonzero(~is_missing)
        ids, grades, run = ids[queries], grades[queries], run[queries]
    depth = run.shape[1] if reading.depth is None else min(reading.depth, run.shape[1])
    issues: list[Issue] = []
    for block in even_blocks(len(run), width=max(depth, ids.shape[1])):
        rows = queries[block]
        judged_ids, top = _columns(ids[block]), _columns(run[block, :depth])
        issues += _row_issues(judged_ids, "qrels", rows) + _row_issues(top, "run", rows)
        own_grades = np.where(judged_ids == PADDING, grades.dtype.type(UNJUDGED), grades[block].T)
        judged = _judged(judged_ids, own_grades, top, run[block], rules=rules, reading=reading)
        if judged.first_hit is not None:
            issues += _issues_above(judged.first_hit, run[block], rows, depth=depth)
        yield rows.tolist(), judged
    if issues:
        raise InputError(capped(issues))


def _ids_and_grades(qrels: QrelArrays) -> tuple[IdArray, IdArray]:
    return qrels if isinstance(qrels, tuple) else (qrels, np.ones(qrels.shape, dtype=np.int8))


def _narrowed(grades: IdArray) -> Integers:
    """Return the grades in a narrow type, which is read and compared faster."""
    narrow = np.iinfo(np.int8)
    fits = narrow.min <= grades.min() and grades.max() <= narrow.max
    return grades.astype(np.int8 if fits else np.int32, copy=False)


def _columns(rows: IdArray) -> IdArray:
    """Lay rows out as columns, so that all queries stand side by side in memory."""
    return np.ascontiguousarray(rows.T)


def _judged(
    ids: IdArray, grades: Integers, top: IdArray, run: IdArray, *, rules: RankingRules, reading: Reading
) -> JudgedRankings:
    """Grade a block; ``ids``, their ``grades`` and the ``top`` of the run have a column for each query."""
    level, depth = rules.relevance_level, len(top)
    counts = count_grades(grades, relevance_level=level, depth=reading.depth)
    top_grades = _look_up(top, ids, grades)
    first_hit = None
    if reading.first_hit and depth < run.shape[1]:
        first_hit = rank_of_first(top_grades >= level)
        missed = np.flatnonzero(first_hit == 0)
        relevant_ids = np.where(grades[:, missed] >= level, ids[:, missed], _MATCHES_NOTHING)
        below = _first_found(run[missed, depth:], relevant_ids)
        first_hit[missed] = np.where(below > 0, depth + below, 0)
    return JudgedRankings(top_grades, _retrieved(run), *counts, level, first_hit)


def _look_up(top: IdArray, ids: IdArray, grades: Integers) -> Integers:
    """Return ``grades[rank, query]`` of the documents; padding finds the padding, which is unjudged."""
    found = np.full(top.shape, UNJUDGED, dtype=grades.dtype)
    for judged, grade in zip(ids, grades, strict=True):
        np.copyto(found, grade, where=top == judged)
    return found


def _first_found(documents: IdArray, ids: IdArray) -> Integers:
    """Return for each row the 1-based place of its first document that is in its column of ids, or 0."""
    found = np.zeros(documents.shape, dtype=np.bool_)
    for wanted in ids:
        found |= documents == wanted[:, np.newaxis]
    place = found.argmax(axis=1)
    return np.where(found[np.arange(len(found)), place], place + 1, 0)


def _retrieved(run: IdArray) -> npt.NDArray[np.int64]:
    """Count each row's documents; only rows that end in padding need counting."""
    retrieved = np.full(len(run), run.shape[1], dtype=np.int64)
    short = np.flatnonzero(run[:, -1] == PADDING)
    retrieved[short] = (run[short] != PADDING).sum(axis=1)
    return retrieved


def _issues_above(
    first_hit: Integers, run: IdArray, rows: npt.NDArray[np.int64], *, depth: int
) -> list[Issue]:
    """Return what is wrong above first hits that were found below the depth: it would make the rank wrong."""
    found = np.flatnonzero(first_hit > depth)
    suspect = found[_holds_twice(run[found].T)]
    above = np.arange(run.shape[1]) < first_hit[suspect, np.newaxis]
    return _row_issues(_columns(np.where(above, run[suspect], PADDING)), "run", rows[suspect])


def check_arrays(qrels: QrelArrays, run: IdArray) -> None:
    """Refuse arrays that cannot be qrels and a run: their shapes and types, not yet what is in them."""
    ids, grades = _ids_and_grades(qrels)
    for name, array in (("qrels", ids), ("grades", grades), ("run", run)):
        if not (isinstance(array, np.ndarray) and array.ndim == 2 and array.dtype.kind in "iu"):
            kind = getattr(array, "dtype", type(array).__name__)
            raise invalid(name, "a two-dimensional array of integers", f"{np.ndim(array)} of {kind}")
    if len(ids) != len(run):
        raise invalid("run", f"one row per query of the qrels ({len(ids)})", len(run))
    if ids.shape != grades.shape:
        raise invalid("grades", f"the shape {ids.shape} of the ids", grades.shape)
    if run.size == 0 or ids.size == 0:
        raise invalid("run" if run.size == 0 else "qrels", "at least one row and one column", (0,))
    for grade in (int(grades.min()), int(grades.max())):
        if not GRADE_RANGE.min <= grade <= GRADE_RANGE.max:
            raise invalid("grades", f"whole numbers from {GRADE_RANGE.min} to {GRADE_RANGE.max}", grade)


def _row_issues(columns: IdArray, name: str, rows: npt.NDArray[np.int64]) -> list[Issue]:
    """Return what is wrong in rows of ids: negative ids, padding before the end, an id twice."""
    is_padding = columns == PADDING
    wrong = {
        "document ids of 0 or more, or padding of -1": (columns < PADDING).any(axis=0),
        "padding only at the end of a row": (is_padding[:-1] & ~is_padding[1:]).any(axis=0),
        "unique documents": _holds_twice(columns),
    }
    return [
        Issue("document", expected, shown(columns[:, row].tolist()), f"{name}[{rows[row]}]")
        for expected, found in wrong.items()
        for row in np.flatnonzero(found)
    ]


def _holds_twice(columns: IdArray) -> Booleans:
    """Tell for each query whether an id stands twice in its column; short ones are compared, long sorted."""
    if len(columns) > _SHORT:
        in_order = np.sort(columns.T, axis=1)
        repeated = (in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] != PADDING)
        return np.asarray(repeated.any(axis=1))
    repeated = np.zeros(columns.shape, dtype=np.bool_)
    for distance in range(1, len(columns)):
        repeated[distance:] |= columns[distance:] == columns[:-distance]
    return np.asarray((repeated & (columns != PADDING)).any(axis=0))


# Wide enough for any scale of grades, narrow enough that sums of gains stay exact.
GRADE_RANGE = np.iinfo(np.int32)
