"""How large a difference is: Cohen's d, and how many pairs each system wins."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np

from rag_evaluation_framework.errors import UsageError, shown
from rag_evaluation_framework.statistics.arrays import ROUNDING, Numbers, paired_differences
from rag_evaluation_framework.statistics.sums import exact_mean, standard_deviation


@dataclass(frozen=True, slots=True)
class Outcomes:
    """On how many pairs the first system is better, as good, and worse."""

    wins: int
    ties: int
    losses: int


def cohens_d(a: Numbers, b: Numbers) -> float | None:
    """Return the mean of the differences a minus b in units of their standard deviation (d_z).

    Formula: ``mean(a - b) / s(a - b)``. If no pair differs it is 0; if there is one pair, or all differ by
    the same, it is not defined: ``None``.

    Source: Cohen, Statistical Power Analysis for the Behavioral Sciences, 1988.
    """
    differences = paired_differences(a, b)
    if len(differences) < 2:
        return None
    mean, deviation = exact_mean(differences), standard_deviation(differences)
    if mean == 0.0:
        return 0.0
    return mean / deviation if deviation > ROUNDING * abs(mean) else None


def wins_ties_losses(
    a: Numbers, b: Numbers, *, tolerance: float = 0.0, higher_is_better: bool = True
) -> Outcomes:
    """Count the pairs on which a is better than b, as good, and worse.

    Scores at most ``tolerance`` apart are as good as each other.
    """
    if not (isinstance(tolerance, Real) and tolerance >= 0.0):
        raise UsageError(f"tolerance: expected a number of at least 0, got {shown(tolerance)}")
    differences = paired_differences(a, b)
    above = int(np.count_nonzero(differences > tolerance))
    below = int(np.count_nonzero(differences < -tolerance))
    ties = len(differences) - above - below
    return Outcomes(above, ties, below) if higher_is_better else Outcomes(below, ties, above)
