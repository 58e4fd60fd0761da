"""Qrels and runs as arrays of integer document ids, brought together into blocks of judged rankings.

This is the quickest way in: no dictionary is built, whole blocks of ids are compared at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import InputError, Issue, invalid, shown
from rag_evaluation_framework.metrics.grade_counts import count_grades
from rag_evaluation_framework.metrics.judged_rankings import (
    NOT_RETRIEVED,
    UNJUDGED,
    Booleans,
    Integers,
    JudgedBlock,
    JudgedRankings,
    Reading,
    capped,
    even_blocks,
    rank_of_first,
)
from rag_evaluation_framework.metrics.judgements import GRADE_RANGE
from rag_evaluation_framework.metrics.ranking_rules import RankingRules

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
    return JudgedRankings(
        top_grades,
        _retrieved(run),
        counts.relevant,
        counts.nonrelevant,
        counts.ideal_grades,
        level,
        first_hit,
    )


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
            raise invalid(name, "an array of integers with two dimensions", f"{np.ndim(array)} of {kind}")
    if len(ids) != len(run):
        raise invalid("run", f"a row for each of the {len(ids)} queries of the qrels", len(run))
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
        "each document once": _holds_twice(columns),
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
