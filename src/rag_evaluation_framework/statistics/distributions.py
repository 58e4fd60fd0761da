"""Tails and quantiles of the normal, Student's t and the signed-rank distribution."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

_SMALLEST = 1e-300
_CONVERGED = 1e-16
_MOST_STEPS = 100_000


def normal_quantile(probability: float) -> float:
    """Return the z below which a standard normal variable lies with this probability."""
    return NormalDist().inv_cdf(probability)


def normal_two_sided(z: float) -> float:
    """Return the probability that a standard normal variable is at least ``|z|`` away from 0."""
    return math.erfc(abs(z) / math.sqrt(2.0))


def t_two_sided(t: float, degrees: int) -> float:
    """Return the probability that Student's t is at least ``|t|`` away from 0.

    Formula: ``I_x(degrees / 2, 1 / 2)`` with ``x = degrees / (degrees + t^2)``.
    """
    a, b = degrees / 2.0, 0.5
    ratio = t * t / degrees
    if ratio == 0.0:
        return 1.0
    x, rest = 1.0 / (1.0 + ratio), ratio / (1.0 + ratio)
    # log(x^a * (1 - x)^b / B(a, b)), with log1p because x is near 1 when there are many degrees.
    log_front = -a * math.log1p(ratio) + b * math.log(rest) + _log_gamma_step(a) - math.lgamma(b)
    front = math.exp(log_front)
    # The continued fraction converges fast on the near side of the mean only: DLMF 8.17.
    if x < (a + 1.0) / (a + b + 2.0):
        return front * _beta_fraction(a, b, x) / a
    return 1.0 - front * _beta_fraction(b, a, rest) / b


def t_quantile(probability: float, degrees: int) -> float:
    """Return the t below which Student's t lies with this probability, by bisection of its tail."""
    tail = 2.0 * min(probability, 1.0 - probability)
    if tail == 1.0:
        return 0.0
    low, high = 0.0, 1.0
    while t_two_sided(high, degrees) > tail:
        low, high = high, high * 2.0
    while True:
        middle = (low + high) / 2.0
        if middle in (low, high):
            return math.copysign(middle, probability - 0.5)
        low, high = (middle, high) if t_two_sided(middle, degrees) > tail else (low, middle)


def signed_rank_tail(doubled_ranks: npt.NDArray[np.int64], doubled_sum: int) -> float:
    """Return the probability that random signs give positive ranks that add up to at most the sum.

    Ranks come doubled, so that the middle ranks of ties are whole. All ``2^n`` signs are counted, by
    adding one rank after the other to the table of sums.
    """
    ways = np.zeros(int(doubled_ranks.sum()) + 1, dtype=np.int64)
    ways[0] = 1
    for rank in doubled_ranks.tolist():
        with_rank = ways[:-rank].copy()
        ways[rank:] += with_rank
    return float(ways[: doubled_sum + 1].sum() / 2.0 ** len(doubled_ranks))


def _log_gamma_step(a: float) -> float:
    """Return ``log(gamma(a + 1/2) / gamma(a))``.

    For large ``a`` the two logarithms are huge and nearly equal, so their difference comes from its
    asymptotic series: Tricomi and Erdélyi, 1951.
    """
    if a < 30.0:
        return math.lgamma(a + 0.5) - math.lgamma(a)
    square = a * a
    series = 1 / 8 - (1 / 192 - (1 / 640 - 17 / 14336 / square) / square) / square
    return 0.5 * math.log(a) - series / a


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Evaluate the continued fraction of the incomplete beta function: DLMF 8.17.22, by Lentz's method."""
    c, d = 1.0, 1.0 / _away_from_zero(1.0 - (a + b) * x / (a + 1.0))
    fraction = d
    for m in range(1, _MOST_STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1.0 / _away_from_zero(1.0 + term * d)
            c = _away_from_zero(1.0 + term / c)
            fraction *= c * d
        if abs(c * d - 1.0) <= _CONVERGED:
            break
    return fraction


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _SMALLEST else _SMALLEST
