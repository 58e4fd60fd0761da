"""Whether a score may be read as a probability: of the items at 0.8, are 80 % positive?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rag_evaluation_framework.errors import invalid
from rag_evaluation_framework.statistics.arrays import (
    Numbers,
    finite_array,
    require_count,
    require_equal_lengths,
)
from rag_evaluation_framework.statistics.classification import zero_one
from rag_evaluation_framework.statistics.intervals import Interval, wilson_interval


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """The items whose score is in ``[low, high)``, the last bin with its end: predicted and true share."""

    low: float
    high: float
    n: int
    mean_score: float
    positive_share: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class Reliability:
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
    require_count(bins, "bins")
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
