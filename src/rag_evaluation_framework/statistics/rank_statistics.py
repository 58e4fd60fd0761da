"""How well scores follow the truth: AUROC, and the correlations of Pearson and Spearman.

Each comes with a bootstrap interval over items, in which ranks are taken anew in every resample. A figure
that is not defined (one class only, or all values the same) is ``None``; resamples in which it is not are
left out, and if they are most, or if the others are all alike, there is no interval. The same seed gives the
same figures in whatever order the items come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.statistics.agreement_tables import Estimate, Resampling
from rag_evaluation_framework.statistics.arrays import Floats, Numbers, finite_array, require_equal_lengths
from rag_evaluation_framework.statistics.classification import zero_one
from rag_evaluation_framework.statistics.resampling import generator

Counts = Floats
"""How often each item is drawn, a row for each resample."""

# Counts held at a time: 2 MB stay in the processor's cache.
_CELLS = 1 << 18
# A variance below this share of the squares it is the difference of is rounding alone.
_ROUNDING = 1e-12


def auroc(scores: Numbers, truths: Numbers, *, resampling: Resampling | None = None) -> Estimate:
    """Return the probability that a positive item scores above a negative one; a tie counts half.

    Formula: ``(pairs ordered rightly + ties / 2) / pairs`` over all pairs of a positive (truth 1) and a
    negative item. 1 is perfect, 0.5 is chance.

    Source: Hanley and McNeil, The meaning and use of the area under a ROC curve, 1982.
    """
    array, positive = finite_array(scores, "scores"), zero_one(truths, "truths")
    require_equal_lengths(len(array), len(positive))
    order = np.lexsort((positive, array))
    array, positive = array[order], positive[order]
    starts = np.flatnonzero(np.diff(array, prepend=np.nan) != 0.0)

    def area(counts: Counts) -> Floats:
        hits = np.add.reduceat(counts * positive, starts, axis=1)
        misses = np.add.reduceat(counts * ~positive, starts, axis=1)
        below = np.cumsum(misses, axis=1) - misses / 2.0
        pairs = hits.sum(axis=1) * misses.sum(axis=1)
        return _ratio((hits * below).sum(axis=1), pairs, pairs > 0.0)

    return _bootstrapped(area, len(array), resampling or Resampling())


def pearson(x: Numbers, y: Numbers, *, resampling: Resampling | None = None) -> Estimate:
    """Return how far two measurements of the same items lie on a straight line, from -1 to 1."""
    first, second = _ordered_pairs(x, y)
    first, second = first - first.mean(), second - second.mean()

    def correlation(counts: Counts) -> Floats:
        return _correlation(counts, first, second)

    return _bootstrapped(correlation, len(first), resampling or Resampling())


def spearman(x: Numbers, y: Numbers, *, resampling: Resampling | None = None) -> Estimate:
    """Return how far two measurements put the same items in the same order, from -1 to 1.

    Formula: Pearson's correlation of the ranks, equal values sharing the middle of theirs.
    """
    first, second = _ordered_pairs(x, y)
    groups = [np.unique(values, return_inverse=True)[1] for values in (first, second)]

    def correlation(counts: Counts) -> Floats:
        return _correlation(counts, *(_middle_ranks(counts, group) for group in groups))

    return _bootstrapped(correlation, len(first), resampling or Resampling())


def _ordered_pairs(x: Numbers, y: Numbers) -> tuple[Floats, Floats]:
    first, second = finite_array(x, "x"), finite_array(y, "y")
    require_equal_lengths(len(first), len(second))
    order = np.lexsort((second, first))
    return first[order], second[order]


def _middle_ranks(counts: Counts, group: npt.NDArray[np.int64]) -> Floats:
    """Return each item's rank in each resample, from the number of the distinct value it has."""
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    sizes = np.add.reduceat(counts[:, order], starts, axis=1)
    middles = np.cumsum(sizes, axis=1) - sizes / 2.0
    return middles[:, group]


def _correlation(counts: Counts, x: Floats, y: Floats) -> Floats:
    """Return the correlation of each resample; x and y have a row for each, or one for all."""
    n = counts.sum(axis=1, keepdims=True)
    dx = x - (counts * x).sum(axis=1, keepdims=True) / n
    dy = y - (counts * y).sum(axis=1, keepdims=True) / n
    xx, yy = (counts * dx * dx).sum(axis=1), (counts * dy * dy).sum(axis=1)
    defined = xx > _ROUNDING * (counts * x * x).sum(axis=1)
    defined &= yy > _ROUNDING * (counts * y * y).sum(axis=1)
    return np.clip(_ratio((counts * dx * dy).sum(axis=1), np.sqrt(xx * yy), defined), -1.0, 1.0)


def _ratio(part: Floats, whole: Floats, defined: npt.NDArray[np.bool_]) -> Floats:
    """Divide; what is not defined is NaN here, and stays in this module."""
    return np.where(defined, part / np.where(defined, whole, 1.0), np.nan)


def _bootstrapped(figure: Callable[[Counts], Floats], n: int, resampling: Resampling) -> Estimate:
    value = float(figure(np.ones((1, n)))[0])
    if np.isnan(value):
        return Estimate(None, None)
    drawn = np.concatenate([figure(counts) for counts in _resample_counts(n, resampling)])
    return Estimate(value, resampling.interval(drawn[~np.isnan(drawn)]))


def _resample_counts(n: int, resampling: Resampling) -> Iterator[Counts]:
    """Draw n of the n items with replacement, again and again; yield how often each was drawn."""
    rng = generator(resampling.seed)
    rows = max(1, _CELLS // n)
    for start in range(0, resampling.resamples, rows):
        size = min(rows, resampling.resamples - start)
        drawn = rng.integers(0, n, size=(size, n)) + n * np.arange(size)[:, None]
        yield np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)
