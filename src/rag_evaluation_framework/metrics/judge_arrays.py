"""Qrels and runs as arrays of integer document ids, brought together into blocks of judged rankings.

This is the quickest way in: no dictionary is built, whole blocks of ids are compared at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import InputError, Issue, invalid, shown
from rag_evaluation_framework.metrics.grade_counts import count_grades, smallest_type
from rag_evaluation_framework.metrics.judged_rankings import (
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
    ids, grades = _ids_and_grades(qrels)
    queries = np.arange(len(run))
    if rules.missing_queries == "skip" and (run[:, 0] == PADDING).any():
        queries = np.flatnonzero(run[:, 0] != PADDING)
        ids, grades, run = ids[queries], grades[queries], run[queries]
    depth = run.shape[1] if reading.depth is None else min(reading.depth, run.shape[1])
    issues: list[Issue] = []
    for block in even_blocks(len(run), width=max(depth, ids.shape[1])):
        rows = queries[block]
        issues += _row_issues(ids[block], "qrels", rows) + _row_issues(run[block, :depth], "run", rows)
        judged = _judged(ids[block], grades[block], run[block], depth=depth, rules=rules, reading=reading)
        if judged.first_hit is not None:
            issues += _issues_above(judged.first_hit, run[block], rows, depth=depth)
        yield rows.tolist(), judged
    if issues:
        raise InputError(capped(issues))


def _ids_and_grades(qrels: QrelArrays) -> tuple[IdArray, IdArray]:
    return qrels if isinstance(qrels, tuple) else (qrels, np.ones(qrels.shape, dtype=np.int8))


def _judged(
    ids: IdArray, grades: IdArray, run: IdArray, *, depth: int, rules: RankingRules, reading: Reading
) -> JudgedRankings:
    is_judged = ids != PADDING
    flat = grades[is_judged].astype(np.int64)
    counts = count_grades(
        flat, np.count_nonzero(is_judged, axis=1), relevance_level=rules.relevance_level, depth=reading.depth
    )
    own_grades: Integers = grades.astype(smallest_type(flat), copy=False)
    top = _look_up(run[:, :depth], ids, own_grades)
    first_hit = None
    if reading.first_hit and depth < run.shape[1]:
        first_hit = rank_of_first(top >= rules.relevance_level)
        missed = np.flatnonzero(first_hit == 0)
        relevant_ids = np.where(grades[missed] >= rules.relevance_level, ids[missed], PADDING)
        below = _first_found(run[missed, depth:], relevant_ids)
        first_hit[missed] = np.where(below > 0, depth + below, 0)
    return JudgedRankings(
        top,
        _retrieved(run),
        counts.relevant,
        counts.nonrelevant,
        counts.ideal_grades,
        rules.relevance_level,
        first_hit,
    )


def _look_up(documents: IdArray, ids: IdArray, grades: Integers) -> Integers:
    """Return ``grades[rank, query]`` of the documents, unjudged where there is nothing to find."""
    ranked = np.ascontiguousarray(documents.T)
    found = np.full(ranked.shape, UNJUDGED, dtype=grades.dtype)
    wanted = np.ascontiguousarray(_without_padding(ids).T)
    for judged, grade in zip(wanted, np.ascontiguousarray(grades.T), strict=True):
        np.copyto(found, grade, where=ranked == judged)
    return found


def _first_found(documents: IdArray, ids: IdArray) -> Integers:
    """Return for each row the 1-based place of its first document that is among the ids, 0 if none is."""
    found = np.zeros(documents.shape, dtype=np.bool_)
    for wanted in _without_padding(ids).T:
        found |= documents == wanted[:, np.newaxis]
    place = found.argmax(axis=1)
    return np.where(found[np.arange(len(found)), place], place + 1, 0)


def _without_padding(ids: IdArray) -> IdArray:
    """Return the ids with padding that does not match the padding of the run."""
    return np.where(ids == PADDING, _MATCHES_NOTHING, ids)


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
    return _row_issues(np.where(above, run[suspect], PADDING), "run", rows[suspect])


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
    if grades.min() < GRADE_RANGE.min or grades.max() > GRADE_RANGE.max:
        raise invalid("grades", f"whole numbers up to {GRADE_RANGE.max}", int(np.abs(grades).max()))


def _row_issues(array: IdArray, name: str, rows: npt.NDArray[np.int64]) -> list[Issue]:
    """Return what is wrong in rows of ids: negative ids, padding before the end, an id twice."""
    columns = np.ascontiguousarray(array.T)
    is_padding = columns == PADDING
    wrong = {
        "document ids of 0 or more, or padding of -1": (columns < PADDING).any(axis=0),
        "padding only at the end of a row": (is_padding[:-1] & ~is_padding[1:]).any(axis=0),
        "each document once": _holds_twice(columns),
    }
    return [
        Issue("document", expected, shown(array[row].tolist()), f"{name}[{rows[row]}]")
        for expected, found in wrong.items()
        for row in np.flatnonzero(found)
    ]


def _holds_twice(columns: IdArray) -> Booleans:
    """Tell for each query whether an id stands twice in its column; short ones are compared, long sorted."""
    if len(columns) > _SHORT:
        in_order = np.sort(columns.T, axis=1)
        repeated = (in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] != PADDING)
        return np.asarray(repeated.any(axis=1))
    twice = np.zeros(columns.shape[1], dtype=np.bool_)
    for place in range(1, len(columns)):
        twice |= (columns[:place] == columns[place]).any(axis=0) & (columns[place] != PADDING)
    return twice
