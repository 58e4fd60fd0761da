"""What the ranking metrics count in the judgements of a block of queries, wherever these came from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.metrics.judged_rankings import Booleans, Integers


@dataclass(frozen=True, slots=True)
class GradeCounts:
    """Each query's judged documents, counted, and its positive grades from the highest down."""

    relevant: Integers
    nonrelevant: Integers
    ideal_grades: Integers


def count_grades(judged: Integers, *, relevance_level: int, depth: int | None) -> GradeCounts:
    """Count the grades in the columns of a table padded as unjudged; ideal grades reach to ``depth``."""
    relevant = _counted(judged >= relevance_level)
    nonrelevant = _counted(judged >= 0) - relevant
    return GradeCounts(relevant, nonrelevant, _ideal_grades(judged, depth=depth))


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
