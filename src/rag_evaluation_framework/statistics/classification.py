"""Confusion, AUROC, correlations, thresholds, reliability.

"Positive" is the class to detect; flags and truths are given as 0 or 1. A figure that is not defined, such
as the precision of a flag that was never raised, is ``None``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import UsageError, invalid
from rag_evaluation_framework.statistics.agreement import Estimate, Flags, Resampling, kappa_of_tables
from rag_evaluation_framework.statistics.intervals import Interval, wilson_interval
from rag_evaluation_framework.statistics.resampling import (
    Floats,
    Numbers,
    finite_array,
    generator,
    require_equal_lengths,
    resampled_figures,
)


class Confusion(msgspec.Struct, frozen=True):
    """The counts of a flag and the truth: both yes, both no, or one of them."""

    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int

    @property
    def n(self) -> int:
        return self.positives + self.negatives

    @property
    def positives(self) -> int:
        """Return the number of true positives and missed ones."""
        return self.true_positives + self.false_negatives

    @property
    def negatives(self) -> int:
        return self.false_positives + self.true_negatives

    @property
    def flagged(self) -> int:
        return self.true_positives + self.false_positives


class ClassificationFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The figures that follow from the four counts."""

    precision: Estimate
    recall: Estimate
    specificity: Estimate
    f1: Estimate
    accuracy: Estimate
    balanced_accuracy: Estimate


def confusion(flags: Numbers, truths: Numbers) -> Confusion:
    """Count how often flags and truths, each 0 or 1, agree and disagree."""
    raised, true = zero_one(flags, "flags"), zero_one(truths, "truths")
    require_equal_lengths(len(raised), len(true))
    return Confusion(
        true_positives=int((raised & true).sum()),
        false_positives=int((raised & ~true).sum()),
        false_negatives=int((~raised & true).sum()),
        true_negatives=int((~raised & ~true).sum()),
    )


def classification_figures(counts: Confusion, *, confidence: float = 0.95) -> ClassificationFigures:
    """Return precision, recall, F1 and the like, with intervals.

    Formula: shares have Wilson's interval. F1 is ``2 J / (1 + J)``, where ``J = TP / (TP + FP + FN)`` is a
    share too, so its interval is that of J carried over. Balanced accuracy is the mean of recall and
    specificity; its interval joins theirs by the squares of their distances.

    Source: Wilson, 1927; joined intervals: Newcombe, Interval estimation for the difference between
    independent proportions, 1998.
    """
    tp, tn = counts.true_positives, counts.true_negatives
    recall = _share(tp, counts.positives, confidence)
    specificity = _share(tn, counts.negatives, confidence)
    return ClassificationFigures(
        precision=_share(tp, counts.flagged, confidence),
        recall=recall,
        specificity=specificity,
        f1=_f1(_share(tp, counts.n - tn, confidence)),
        accuracy=_share(tp + tn, counts.n, confidence),
        balanced_accuracy=_halfway(recall, specificity),
    )


def kappa(counts: Confusion, *, resampling: Resampling | None = None) -> Estimate:
    """Return Cohen's kappa of flag and truth, with a bootstrap interval over items."""
    cells = (counts.true_negatives, counts.false_positives, counts.false_negatives, counts.true_positives)
    tables = np.repeat(np.eye(4), cells, axis=0).reshape(-1, 2, 2)
    return kappa_of_tables(list(tables), resampling or Resampling())


def zero_one(values: Numbers, name: str) -> Flags:
    """Return values that are all 0 or 1 as booleans; any other is an error that names its place."""
    array = finite_array(values, name)
    wrong = np.flatnonzero((array != 0.0) & (array != 1.0))
    if len(wrong):
        raise invalid(f"{name}[{wrong[0]}]", "0 or 1", float(array[wrong[0]]))
    return np.equal(array, 1.0)


def _in_order(scores: Numbers, truths: Numbers) -> tuple[Floats, Flags]:
    """Return scores and truths in rising order, so that the order in which they come does not matter."""
    array, positive = finite_array(scores, "scores"), zero_one(truths, "truths")
    require_equal_lengths(len(array), len(positive))
    order = np.lexsort((positive, array))
    return array[order], positive[order]


def _share(part: int, whole: int, confidence: float) -> Estimate:
    if whole == 0:
        return Estimate(None, None)
    return Estimate(part / whole, wilson_interval(part, whole, confidence=confidence))


def _f1(jaccard: Estimate) -> Estimate:
    if jaccard.value is None or jaccard.interval is None:
        return Estimate(None, None)
    low, high = (2.0 * end / (1.0 + end) for end in (jaccard.interval.low, jaccard.interval.high))
    interval = Interval(low, high, jaccard.interval.confidence, "Wilson score of TP / (TP + FP + FN)")
    return Estimate(2.0 * jaccard.value / (1.0 + jaccard.value), interval)


def _halfway(first: Estimate, second: Estimate) -> Estimate:
    if first.value is None or second.value is None or first.interval is None or second.interval is None:
        return Estimate(None, None)
    value = (first.value + second.value) / 2.0
    down = math.hypot(first.value - first.interval.low, second.value - second.interval.low) / 2.0
    up = math.hypot(first.interval.high - first.value, second.interval.high - second.value) / 2.0
    method = "Wilson scores, joined"
    return Estimate(value, Interval(value - down, value + up, first.interval.confidence, method))


# Where to cut a score into yes and no, and how good that cut will be on items it was not chosen by.

ThresholdRule = Literal["f1", "youden"]

FEWEST_OF_A_CLASS = 10
"""With fewer labels of a class, a threshold would be fitted to chance."""

_FOLDS = 10


class ThresholdSuggestion(msgspec.Struct, frozen=True, kw_only=True):
    """The score from which items are called positive.

    ``counts`` are those of the labels it was chosen by; ``cross_validated`` those to expect for others: every
    item was called by a threshold chosen without it.
    """

    threshold: float
    counts: Confusion
    cross_validated: Confusion


def suggested_threshold(
    scores: Numbers, truths: Numbers, *, rule: ThresholdRule = "youden", seed: int = 0
) -> ThresholdSuggestion:
    """Return the threshold that is best by a rule.

    ``f1`` makes F1 of the positive class largest, ``youden`` recall + specificity, which does not depend on
    how frequent positives are. Thresholds tried lie halfway between neighbouring scores; of equally good
    ones the one in the widest gap is taken. Cross-validation cuts each class into 10 parts, dealt at random.
    Fewer than 10 items of a class are refused.
    """
    array, positive = _in_order(scores, truths)
    fewest = min(int(positive.sum()), int((~positive).sum()))
    if fewest < FEWEST_OF_A_CLASS:
        raise UsageError(f"a threshold needs at least {FEWEST_OF_A_CLASS} labels per class, got {fewest}")
    threshold = _best_threshold(array, positive, rule)
    fold_of = _dealt(positive, seed=seed)
    called = np.zeros(len(array), dtype=np.bool_)
    for fold in range(_FOLDS):
        held_out = fold_of == fold
        called[held_out] = array[held_out] >= _best_threshold(array[~held_out], positive[~held_out], rule)
    return ThresholdSuggestion(
        threshold=threshold,
        counts=confusion(array >= threshold, positive),
        cross_validated=confusion(called, positive),
    )


def _best_threshold(scores: Floats, positive: Flags, rule: ThresholdRule) -> float:
    """Return the best threshold of scores in rising order, both classes among them."""
    starts = np.flatnonzero(np.diff(scores, prepend=np.nan) != 0.0)
    if len(starts) == 1:
        return float(scores[0])
    # Cut k calls positive what is at least the k-th distinct score; the first calls everything so.
    passed = np.concatenate([[0], np.cumsum(positive)])[starts]
    total = int(positive.sum())
    hits = total - passed
    false_alarms = (len(scores) - starts) - hits
    if rule == "f1":
        merit = 2.0 * hits / (hits + false_alarms + total)
    else:
        merit = hits / total - false_alarms / (len(scores) - total)
    distinct = scores[starts]
    gaps = np.diff(distinct, prepend=distinct[0])
    best = np.flatnonzero(merit >= merit.max() - 1e-12)
    cut = int(best[np.argmax(gaps[best])])
    return float(distinct[0] if cut == 0 else distinct[cut - 1] + gaps[cut] / 2.0)


def _dealt(positive: Flags, *, seed: int) -> npt.NDArray[np.int64]:
    """Deal the items of each class to the folds, as evenly as can be."""
    rng = generator(seed)
    fold_of = np.empty(len(positive), dtype=np.int64)
    for members in (np.flatnonzero(positive), np.flatnonzero(~positive)):
        fold_of[rng.permutation(members)] = np.arange(len(members)) % _FOLDS
    return fold_of


# How well scores follow the truth: AUROC, and the correlations of Pearson and Spearman.
#
# Each comes with a bootstrap interval over items, in which ranks are taken anew in every resample. A
# figure that is not defined (one class only, or all values the same) is ``None``; resamples in which it
# is not are left out, and if they are most, or if the others are all alike, there is no interval. The
# same seed gives the same figures in whatever order the items come.

Counts = Floats
"""Number of draws of each item, a row per resample."""

Groups = Sequence[npt.NDArray[np.int64]]

# Counts held at a time: 2 MB stay in the processor's cache.
_CELLS = 1 << 18
_FEWEST_FOR_SUMS = 2_000
# A variance below this share of the squares it is the difference of is rounding alone.
_ROUNDING = 1e-12


def auroc(scores: Numbers, truths: Numbers, *, resampling: Resampling | None = None) -> Estimate:
    """Return the probability that a positive item scores above a negative one; a tie counts half.

    Formula: ``(pairs ordered rightly + ties / 2) / pairs`` over all pairs of a positive (truth 1) and a
    negative item. 1 is perfect, 0.5 is chance. From 2,000 items on, resamples are drawn as sums over items,
    ranks moving to first order.

    Source: Hanley and McNeil, The meaning and use of the area under a ROC curve, 1982.
    """
    array, positive = _in_order(scores, truths)
    starts = np.flatnonzero(np.diff(array, prepend=np.nan) != 0.0)

    def area(counts: Counts) -> Floats:
        hits = np.add.reduceat(counts * positive, starts, axis=1)
        misses = np.add.reduceat(counts * ~positive, starts, axis=1)
        below = np.cumsum(misses, axis=1) - misses / 2.0
        pairs = hits.sum(axis=1) * misses.sum(axis=1)
        return _ratio((hits * below).sum(axis=1), pairs, pairs > 0.0)

    groups = [np.unique(array, return_inverse=True)[1]]
    return _bootstrapped(area, (array, positive.astype(np.float64)), groups, resampling)


def pearson(x: Numbers, y: Numbers, *, resampling: Resampling | None = None) -> Estimate:
    """Return how far two measurements of the same items lie on a straight line, from -1 to 1."""
    first, second = _ordered_pairs(x, y)
    first, second = first - first.mean(), second - second.mean()

    def correlation(counts: Counts) -> Floats:
        return _correlation(counts, first, second)

    return _bootstrapped(correlation, (first, second), (), resampling)


def spearman(x: Numbers, y: Numbers, *, resampling: Resampling | None = None) -> Estimate:
    """Return how far two measurements put the same items in the same order, from -1 to 1.

    Formula: Pearson's correlation of the ranks, equal values sharing the middle of theirs. From 2,000 items
    on, resamples are drawn as for :func:`auroc`.
    """
    first, second = _ordered_pairs(x, y)
    groups = [np.unique(values, return_inverse=True)[1] for values in (first, second)]

    def correlation(counts: Counts) -> Floats:
        return _correlation(counts, *(_middle_ranks(counts, group) for group in groups))

    return _bootstrapped(correlation, (first, second), groups, resampling)


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


def _bootstrapped(
    figure: Callable[[Counts], Floats], given: Sequence[Floats], ranked: Groups, resampling: Resampling | None
) -> Estimate:
    """Return a figure of two measurements, the first ``len(ranked)`` of which count by their ranks."""
    n, settings = len(given[0]), resampling or Resampling()
    value = float(figure(np.ones((1, n)))[0])
    if np.isnan(value):
        return Estimate(None, None)
    if n >= _FEWEST_FOR_SUMS:
        drawn = _drawn_from_sums(given, ranked, settings)
    else:
        drawn = np.concatenate([figure(counts) for counts in _resample_counts(n, settings)])
    return Estimate(value, settings.interval(drawn[~np.isnan(drawn)]))


def _drawn_from_sums(given: Sequence[Floats], ranked: Groups, settings: Resampling) -> Floats:
    """Return the correlations of resamples, or the areas where only the first is ranked.

    Ranks are those among all items; how an item that is drawn moves those of others is added to first order.
    """
    n, is_area = len(given[0]), len(ranked) == 1
    if is_area:  # the share of negatives below a positive, and less that of positives above a negative
        hits, misses = _middle_ranks(np.array([given[1], 1.0 - given[1]]), ranked[0])
        found = given[1].sum()
        given, ranked = (np.where(given[1], misses / (n - found), hits / found - 1.0), given[1]), ()
    first, second = [_middle_ranks(np.ones((1, n)), group)[0] for group in ranked] or given
    spreads = (second.std() if is_area else first.std(), second.std())
    x, y = (first - first.mean()) / spreads[0], (second - second.mean()) / spreads[1]
    r, moved = (x * y).mean(), np.zeros(n)
    for group, slopes, spread in zip(ranked, (y - r * x, x - r * y), spreads, strict=False):
        totals = np.bincount(group, slopes)
        moved += (totals / 2.0 - np.cumsum(totals))[group] / spread

    def figure(sums: Floats) -> Floats:
        a, b, aa, ab, bb, more = sums.T / n
        across, along = aa - a * a, bb - b * b
        defined = (is_area | (across > _ROUNDING * aa)) & (along > _ROUNDING * bb)
        whole = along if is_area else np.sqrt(np.abs(across * along))
        found: Floats = _ratio(ab - a * b, whole, defined) + more - is_area * r / 2.0
        return np.clip(found, is_area - 1.0, 1.0)

    columns = np.column_stack([x, y, x * x, x * y, y * y, moved - moved.mean()])
    return resampled_figures(columns, figure, resamples=settings.resamples, seed=settings.seed)


def _resample_counts(n: int, resampling: Resampling) -> Iterator[Counts]:
    """Draw n of the n items with replacement, again and again; yield how often each was drawn."""
    rng = generator(resampling.seed)
    rows = max(1, _CELLS // n)
    for start in range(0, resampling.resamples, rows):
        size = min(rows, resampling.resamples - start)
        drawn = rng.integers(0, n, size=(size, n)) + n * np.arange(size)[:, None]
        yield np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)


# Whether a score may be read as a probability: of the items at 0.8, are 80 % positive?


class ReliabilityBin(msgspec.Struct, frozen=True):
    """The items whose score is in ``[low, high)``, the last bin with its end: predicted and true share."""

    low: float
    high: float
    n: int
    mean_score: float
    positive_share: float
    interval: Interval


class Reliability(msgspec.Struct, frozen=True):
    """The bins that hold any item, and by how much predicted and true share differ on average."""

    expected_calibration_error: float
    bins: tuple[ReliabilityBin, ...]


def reliability(scores: Numbers, truths: Numbers, *, bins: int = 10, confidence: float = 0.95) -> Reliability:
    """Compare scores from 0 to 1 with how often the truth is 1, in bins of equal width.

    Formula: the expected calibration error is ``sum(n_b / n |mean score_b - share of positives_b|)`` over
    the bins b.

    Source: Naeini, Cooper and Hauskrecht, Obtaining well calibrated probabilities using Bayesian binning,
    2015.
    """
    array, positive = finite_array(scores, "scores"), zero_one(truths, "truths")
    require_equal_lengths(len(array), len(positive))
    outside = np.flatnonzero((array < 0.0) | (array > 1.0))
    if len(outside):
        raise invalid(f"scores[{outside[0]}]", "a number from 0 to 1", float(array[outside[0]]))
    number = np.minimum((array * bins).astype(np.int64), bins - 1)
    filled = []
    for index in np.unique(number).tolist():
        members = number == index
        n, hits = int(members.sum()), int(positive[members].sum())
        interval = wilson_interval(hits, n, confidence=confidence)
        mean = math.fsum(array[members]) / n
        filled.append(ReliabilityBin(index / bins, (index + 1) / bins, n, mean, hits / n, interval))
    error = math.fsum(each.n * abs(each.mean_score - each.positive_share) for each in filled) / len(array)
    return Reliability(error, tuple(filled))
