"""Intervals of a mean or share, and the distributions behind them.

The bootstrap and the normal approximation take the spread from the values. Where these are all equal, the
interval has no width, and would claim a certainty that nobody has: :func:`mean_interval` never gives one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import Literal

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import UnknownNameError, UsageError
from rag_evaluation_framework.statistics.resampling import (
    Floats,
    Labels,
    Numbers,
    cluster_totals,
    exact_mean,
    finite_array,
    generator,
    require_count,
    require_share,
    resampled_columns,
    resampled_sums,
    standard_deviation,
    whole_multiples,
)

# Tails and quantiles of the normal, Student's t and the signed-rank distribution.

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


IntervalMethod = Literal["auto", "bootstrap", "wilson", "normal"]

_METHODS = ("auto", "bootstrap", "wilson", "normal")
_SPREAD_UNKNOWN = "Wilson score at the widest spread, resamples all alike"


@dataclass(frozen=True, slots=True)
class Interval:
    """From ``low`` to ``high``, at this confidence, by this method."""

    low: float
    high: float
    confidence: float
    method: str


def bootstrap_interval(
    values: Numbers,
    *,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    clusters: Labels | None = None,
) -> Interval:
    """Return the percentile bootstrap interval of the mean.

    Formula: the ``(1 - confidence) / 2`` and ``(1 + confidence) / 2`` quantiles of the means of ``resamples``
    resamples of n values drawn with replacement. With ``clusters`` (a label for each value: the
    conversation of a turn, the document of a question) whole clusters are drawn, and a resample's mean is
    the sum of their sums over the sum of their sizes.

    The same seed gives the same bits, in whatever order the values come. At least two values, or two
    clusters, are needed.

    Source: Efron, Bootstrap methods: another look at the jackknife, 1979; for clusters, Davison and
    Hinkley, Bootstrap Methods and their Application, 1997, section 3.8.
    """
    array = finite_array(values, "values")
    require_share(confidence, "confidence")
    require_count(resamples, "resamples")
    centre = exact_mean(array)
    if clusters is None:
        sums, sizes = array - centre, None
    else:
        sums, sizes = cluster_totals(array - centre, clusters)
    if len(sums) < 2:
        kind = "values" if clusters is None else "clusters"
        raise UsageError(f"a bootstrap interval needs at least 2 {kind}, got {len(sums)}")
    deviations, decimals = _resampled_deviations(sums, sizes, resamples=resamples, seed=seed)
    name = "bootstrap percentile" if clusters is None else "clustered bootstrap percentile"
    return _percentiles(array, centre, deviations, decimals, confidence, name)


def _percentiles(
    array: Floats, centre: float, deviations: Floats, decimals: int, confidence: float, name: str
) -> Interval:
    tail = (1.0 - confidence) / 2.0
    ends = (centre + np.quantile(deviations, [tail, 1.0 - tail])).tolist()
    # A mean of the values lies between them; rounding must not carry it outside, nor make a zero negative.
    low, high = np.clip([round(end, decimals) + 0.0 for end in ends], array.min(), array.max()).tolist()
    return Interval(low, high, confidence, f"{name}, {len(deviations):,} resamples")


def wilson_interval(successes: int, n: int, *, confidence: float = 0.95) -> Interval:
    """Return Wilson's score interval of a proportion.

    Formula: ``(p + z^2/2n ± z sqrt(p (1 - p) / n + z^2/4n^2)) / (1 + z^2/n)`` with ``p = successes / n``.

    Source: Wilson, Probable inference, the law of succession, and statistical inference, 1927.
    """
    require_count(n, "n")
    require_count(successes, "successes", least=0)
    if successes > n:
        raise UsageError(f"successes: expected at most n ({n}), got {successes}")
    low, high = wilson_ends(successes / n, n, confidence)
    return Interval(low, high, confidence, "Wilson score")


def wilson_ends(p: float, n: float, confidence: float) -> tuple[float, float]:
    """Return the ends of Wilson's interval of a share of n items, where n need not be whole."""
    z = normal_quantile((1.0 + require_share(confidence, "confidence")) / 2.0)
    spread = z * z / n
    middle = (p + spread / 2.0) / (1.0 + spread)
    half = z * math.sqrt(p * (1.0 - p) / n + spread / (4.0 * n)) / (1.0 + spread)
    # At both ends the formula is exactly 0 and 1; rounding must not say otherwise.
    return 0.0 if p == 0.0 else max(middle - half, 0.0), 1.0 if p == 1.0 else min(middle + half, 1.0)


def normal_interval(values: Numbers, *, confidence: float = 0.95) -> Interval:
    """Return the interval of the mean by its normal approximation, ``mean ± z s / sqrt(n)``."""
    array = finite_array(values, "values")
    z = normal_quantile((1.0 + require_share(confidence, "confidence")) / 2.0)
    if len(array) < 2:
        raise UsageError(f"a normal interval needs at least 2 values, got {len(array)}")
    mean = exact_mean(array)
    half = z * standard_deviation(array) / math.sqrt(len(array))
    return Interval(mean - half, mean + half, confidence, "normal approximation")


def mean_interval(
    values: Numbers,
    *,
    method: IntervalMethod = "auto",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> Interval | None:
    """Return the interval of the mean by the method asked for, or ``None`` if the values do not tell one.

    ``auto`` is Wilson's interval when every value is 0 or 1, else the bootstrap. Differences of two systems
    are not proportions, though they too may all be 0 or 1: ask for the bootstrap.

    Too few values tell no interval, nor do values that are all equal, from which nothing is known of their
    spread. If they lie between 0 and 1, ``auto`` then takes the widest spread that such values with this
    mean can have, that of zeros and ones: Wilson's interval at the mean.
    """
    (interval,) = mean_intervals(
        [values], method=method, confidence=confidence, resamples=resamples, seed=seed
    )
    return interval


def mean_intervals(
    columns: Sequence[Numbers],
    *,
    method: IntervalMethod = "auto",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> list[Interval | None]:
    """Return :func:`mean_interval` of each column, to the last bit; those of one length share resamples."""
    if method not in _METHODS:
        raise UnknownNameError("interval method", str(method), _METHODS)
    require_share(confidence, "confidence")
    require_count(resamples, "resamples")
    arrays = [finite_array(values, "values") for values in columns]
    wanted = [place for place, array in enumerate(arrays) if len(array) > 1 and _is_drawn(array, method)]
    centres = {place: exact_mean(arrays[place]) for place in wanted}
    whole = {place: whole_multiples(arrays[place] - centres[place]) for place in wanted}
    sums = resampled_columns([whole[place][0] for place in wanted], resamples=resamples, seed=seed)
    drawn = dict(zip(wanted, sums, strict=True))

    def bootstrap(place: int) -> Interval:
        array, shift = arrays[place], whole[place][1]
        deviations = np.ldexp(drawn[place] / len(array), -shift)
        name = "bootstrap percentile"
        return _percentiles(array, centres[place], deviations, _decimals(shift), confidence, name)

    return [
        _mean_interval(array, method, confidence, partial(bootstrap, place))
        for place, array in enumerate(arrays)
    ]


def _is_drawn(array: Floats, method: IntervalMethod) -> bool:
    return method == "bootstrap" or (method == "auto" and not _is_proportion(array))


def _is_proportion(array: Floats) -> bool:
    return bool(np.isin(array, (0.0, 1.0)).all())


def _mean_interval(
    array: Floats, method: IntervalMethod, confidence: float, bootstrap: Callable[[], Interval]
) -> Interval | None:
    proportion = _is_proportion(array)
    if method == "wilson" and not proportion:
        raise UsageError("a Wilson interval needs values that are all 0 or 1; ask for the bootstrap")
    if method == "wilson" or (method == "auto" and proportion):
        return wilson_interval(int(array.sum()), len(array), confidence=confidence)
    if len(array) < 2:
        return None
    interval = normal_interval(array, confidence=confidence) if method == "normal" else bootstrap()
    if interval.low < interval.high:
        return interval
    if method == "auto" and array.min() >= 0.0 and array.max() <= 1.0:
        return Interval(*wilson_ends(exact_mean(array), len(array), confidence), confidence, _SPREAD_UNKNOWN)
    return None


def _resampled_deviations(
    sums: Floats, sizes: Floats | None, *, resamples: int, seed: int
) -> tuple[Floats, int]:
    """Return each resample's mean less the mean of all, and how many decimals of it hold.

    Sizes of ``None`` are all 1.
    """
    whole, shift = whole_multiples(sums)
    units = whole[:, None] if sizes is None else np.column_stack([whole, sizes])
    drawn = resampled_sums(units, resamples=resamples, rng=generator(seed))
    drawn_sizes = len(sums) if sizes is None else drawn[:, 1]
    return np.ldexp(drawn[:, 0] / drawn_sizes, -shift), _decimals(shift)


def _decimals(shift: int) -> int:
    return math.floor(shift * math.log10(2.0)) - 1
