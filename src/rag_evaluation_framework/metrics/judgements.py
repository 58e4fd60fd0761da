"""Judgements (qrels) in Python's own containers: read, checked and counted."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import Issue, shown
from rag_evaluation_framework.metrics.judged_rankings import Integers

Judgements = Mapping[Any, int] | Collection[Any]

_GRADES = np.iinfo(np.int32)


@dataclass(frozen=True, slots=True)
class CountedJudgements:
    """The judgements of a block of queries: a lookup for each, and what the metrics count in them."""

    lookups: list[Mapping[Any, int]]
    highest: int
    relevant: Integers
    nonrelevant: Integers
    ideal_grades: Integers


def as_lookups(judgements: Iterable[Judgements]) -> list[Mapping[Any, int]]:
    """Return document-to-grade lookups; a bare collection of documents means grade 1 for each."""
    return [each if isinstance(each, Mapping) else dict.fromkeys(each, 1) for each in judgements]


def count_judgements(
    lookups: list[Mapping[Any, int]], *, relevance_level: int, depth: int | None
) -> CountedJudgements | None:
    """Count a block's judgements, with ideal grades down to ``depth``; ``None`` if a grade is not one."""
    flat = _flat_grades(lookups)
    if flat is None:
        return None
    ends = np.cumsum(np.fromiter(map(len, lookups), dtype=np.int64, count=len(lookups)))
    relevant = _counted(flat >= relevance_level, ends)
    highest = int(flat.max(initial=0))
    return CountedJudgements(
        lookups,
        highest,
        relevant,
        _counted(flat >= 0, ends) - relevant,
        _ideal_grades(flat, ends, highest=highest, depth=depth),
    )


def grade_issues(query: Hashable, lookup: Mapping[Any, int]) -> list[Issue]:
    """Return an issue for each grade of a query that is not a whole number of ordinary size."""
    return [
        Issue("grade", "a whole-number grade", shown(grade), f"qrels[{query!r}][{document!r}]")
        for document, grade in lookup.items()
        if not _is_grade(grade)
    ]


def collection_issue(query: Hashable, judgements: object) -> Issue | None:
    """Return what is wrong when a query's judgements are neither grades by document nor documents."""
    if isinstance(judgements, Mapping | AbstractSet):
        return None
    place = f"qrels[{query!r}]"
    if not isinstance(judgements, Sequence) or isinstance(judgements, str | bytes):
        return Issue("judgements", "grades by document, or documents", shown(judgements), place)
    return None


def _is_grade(grade: object) -> bool:
    return isinstance(grade, int | np.integer) and _GRADES.min <= int(grade) <= _GRADES.max


def _flat_grades(lookups: list[Mapping[Any, int]]) -> npt.NDArray[np.int64] | None:
    """Return all grades one after another, or ``None`` if one of them is not a grade."""
    grades = list(chain.from_iterable(lookup.values() for lookup in lookups))
    if not all(issubclass(kind, int | np.integer) for kind in set(map(type, grades))):
        return None
    if grades and not (_GRADES.min <= min(grades) and max(grades) <= _GRADES.max):
        return None
    return np.array(grades, dtype=np.int64)


def _counted(chosen: npt.NDArray[np.bool_], ends: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Count the chosen judgements of each query."""
    running = np.concatenate(([0], np.cumsum(chosen, dtype=np.int64)))
    return np.diff(running[ends], prepend=0)


def _ideal_grades(
    flat: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], *, highest: int, depth: int | None
) -> Integers:
    """Return the positive grades of each query from the highest down, ``[rank, query]``, padded with 0."""
    positive = _counted(flat > 0, ends)
    rows = int(positive.max(initial=0))
    rows = rows if depth is None else min(rows, depth)
    ranks = np.arange(rows)[:, np.newaxis]
    if highest <= 1:
        return (ranks < positive).astype(np.int8)
    # One sort orders everything: the query is the high part of the key, the missing grade the low part.
    queries = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))[flat > 0]
    keys = np.sort(queries * highest + (highest - flat[flat > 0]))
    place = np.arange(len(keys)) - np.repeat(np.cumsum(positive) - positive, positive)
    shown_ranks = place < rows
    ideal = np.zeros((rows, len(ends)), dtype=np.int64)
    ideal[place[shown_ranks], queries[shown_ranks]] = highest - keys[shown_ranks] % highest
    return ideal
