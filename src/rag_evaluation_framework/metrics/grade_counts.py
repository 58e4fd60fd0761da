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


def count_grades(
    flat: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], *, relevance_level: int, depth: int | None
) -> GradeCounts:
    """Count grades that stand one query after another; ideal grades reach down to ``depth``."""
    relevant = counted(flat >= relevance_level, lengths)
    nonrelevant = counted((flat >= 0) & (flat < relevance_level), lengths)
    return GradeCounts(relevant, nonrelevant, _ideal_grades(flat, lengths, depth=depth))


def smallest_type(grades: Integers) -> type[np.int8 | np.int32]:
    """Return the narrowest type that holds the grades; narrow ones are read and compared faster."""
    narrow = np.iinfo(np.int8)
    fits = narrow.min <= grades.min(initial=0) and grades.max(initial=0) <= narrow.max
    return np.int8 if fits else np.int32


def counted(chosen: Booleans, lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Count what is chosen for each query, of values that stand one query after another."""
    counts = np.zeros(len(lengths), dtype=np.int64)
    # reduceat would take one value even where a query has none.
    some = lengths > 0
    if some.any():
        starts = np.cumsum(lengths) - lengths
        counts[some] = np.add.reduceat(chosen, starts[some], dtype=np.int64)
    return counts


def _ideal_grades(
    flat: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], *, depth: int | None
) -> Integers:
    """Return the positive grades of each query from the highest down, ``[rank, query]``, padded with 0."""
    positive = counted(flat > 0, lengths)
    rows = int(positive.max(initial=0))
    rows = rows if depth is None else min(rows, depth)
    highest = int(flat.max(initial=0))
    if highest <= 1:
        return (np.arange(rows)[:, np.newaxis] < positive).astype(np.int8)
    # One sort orders everything: the query is the high part of the key, the missing grade the low part.
    queries = np.repeat(np.arange(len(lengths)), lengths)[flat > 0]
    keys = np.sort(queries * highest + (highest - flat[flat > 0]))
    place = np.arange(len(keys)) - np.repeat(np.cumsum(positive) - positive, positive)
    kept = place < rows
    ideal = np.zeros((rows, len(lengths)), dtype=np.int64)
    ideal[place[kept], queries[kept]] = highest - keys[kept] % highest
    return ideal
