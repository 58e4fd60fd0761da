"""Yes or no against the truth: the four counts, and the figures made of them, each with an interval.

"Positive" is whatever is looked for; flags and truths are given as 0 or 1. A figure that is not defined, such
as the precision of a flag that was never raised, is ``None``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rag_evaluation_framework.errors import invalid
from rag_evaluation_framework.statistics.agreement import Flags
from rag_evaluation_framework.statistics.agreement_tables import Estimate, Resampling, kappa_of_tables
from rag_evaluation_framework.statistics.arrays import Numbers, finite_array, require_equal_lengths
from rag_evaluation_framework.statistics.intervals import Interval, wilson_interval


@dataclass(frozen=True, slots=True)
class Confusion:
    """How often a flag and the truth were yes or no together."""

    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int

    @property
    def n(self) -> int:
        return self.positives + self.negatives

    @property
    def positives(self) -> int:
        """How many are positive in truth."""
        return self.true_positives + self.false_negatives

    @property
    def negatives(self) -> int:
        return self.false_positives + self.true_negatives

    @property
    def flagged(self) -> int:
        return self.true_positives + self.false_positives


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassificationFigures:
    """What the four counts amount to."""

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
    tables = [np.eye(4)[cell].reshape(2, 2) for cell, count in enumerate(cells) for _ in range(count)]
    return kappa_of_tables(tables, resampling or Resampling())


def zero_one(values: Numbers, name: str) -> Flags:
    """Return values that are all 0 or 1 as booleans; any other is an error that names its place."""
    array = finite_array(values, name)
    wrong = np.flatnonzero((array != 0.0) & (array != 1.0))
    if len(wrong):
        raise invalid(f"{name}[{wrong[0]}]", "0 or 1", float(array[wrong[0]]))
    ones: Flags = array == 1.0
    return ones


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
