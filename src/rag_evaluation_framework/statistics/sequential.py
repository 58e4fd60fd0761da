"""Looking at an experiment as often as one likes: a test whose error rate does not grow with the looks.

Two groups are compared by the difference of their means. ``variance`` is that of the difference: the sum over
the groups of the variance of a value, divided by their number. ``scale`` is a difference that matters; the
test mixes over normal differences with that standard deviation, so it is quickest for about such ones.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from rag_evaluation_framework.errors import UsageError, shown
from rag_evaluation_framework.statistics.resampling import Numbers, finite_array, require_share

_MOST = 10**12


def always_valid_p(difference: float, variance: float, *, scale: float) -> float:
    """Return the probability of so large a difference at any look by chance alone.

    Formula: ``1 / L``, at most 1, for the mixture likelihood ratio ``L = sqrt(v / (v + s^2)) exp(s^2 d^2 / (2
    v (v + s^2)))``. The chance that it is ever below alpha is at most alpha.

    Source: Robbins, Statistical methods related to the law of the iterated logarithm, 1970; Johari, Koomen,
    Pekelis and Walsh, Peeking at A/B tests, 2017.
    """
    _require_positive(variance, "variance")
    mixed = variance + _require_positive(scale, "scale") ** 2
    exponent = (scale * difference) ** 2 / (2.0 * variance * mixed)
    return min(1.0, math.exp(0.5 * math.log(mixed / variance) - exponent))


def always_valid_reach(variance: float, *, scale: float, alpha: float = 0.05) -> float:
    """Return how far from 0 a difference must lie for its :func:`always_valid_p` to be ``alpha``.

    The difference ± this holds the true one at all looks together with a confidence of 1 - alpha.
    """
    _require_positive(variance, "variance")
    mixed = variance + _require_positive(scale, "scale") ** 2
    needed = 0.5 * math.log(mixed / variance) - math.log(require_share(alpha, "alpha"))
    return math.sqrt(2.0 * variance * mixed * needed) / scale


def sequential_size(
    difference: float, sd: float, *, share: float = 0.5, power: float = 0.8, alpha: float = 0.05
) -> int:
    """Return how many values of both groups together show a difference with this power, at the last look.

    ``share`` is that of the first group, ``sd`` the standard deviation of a value. Earlier looks only add to
    the power.
    """
    scale = _require_positive(abs(difference), "difference")
    _require_positive(sd, "sd")
    z = NormalDist().inv_cdf(require_share(power, "power"))
    spread = sd**2 * (1.0 / require_share(share, "share") + 1.0 / (1.0 - share))

    def is_enough(n: int) -> bool:
        variance = spread / n
        return always_valid_reach(variance, scale=scale, alpha=alpha) + z * math.sqrt(variance) <= scale

    high = 2
    while not is_enough(high):
        high *= 2
        if high > _MOST:
            raise UsageError(f"difference: too small to detect with any number of values: {difference!r}")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def guarded_variance(values: Numbers, *, is_share: bool) -> float | None:
    """Return the variance of values; of one, or of equal ones without bounds, ``None``.

    Shares are taken with one 0 and one 1 beside them, so that a few equal ones do not pass for certainty.
    """
    array = finite_array(values, "values")
    given = np.append(array, (0.0, 1.0)) if is_share else array
    if len(given) < 2:
        return None
    mean = math.fsum(given.tolist()) / len(given)
    found = math.fsum(((given - mean) ** 2).tolist()) / (len(given) - 1)
    return found or None


def _require_positive(value: float, name: str) -> float:
    if not (isinstance(value, int | float) and math.isfinite(value) and value > 0):
        raise UsageError(f"{name}: expected a number above 0, got {shown(value)}")
    return float(value)
