"""Intervals of a mean or share, and the distributions behind them.

Which interval a mean gets was chosen by how often it covers the truth (``docs/explanation/statistics.md``).
The bootstrap and the normal approximation take the spread from the values. Where these are all equal, the
interval has no width, and would claim a certainty that nobody has: :func:`mean_interval` never gives one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import Literal

import msgspec
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
    require_count,
    require_share,
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


def t_two_sided(t: float, degrees: float) -> float:
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


@lru_cache(maxsize=512)
def t_quantile(probability: float, degrees: float) -> float:
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

# Below so many values from 0 to 1, or so many different ones, resamples tell too little of the tails: of 8
# grades near an end of the scale, studentised intervals cover the mean in .54 to .72, Wilson's in .98.
_FEWEST_FOR_BOOTSTRAP = 20
_FEWEST_DISTINCT = 5

# Most values of a metric differ, which a few of them show already.
_LOOKED_AT_FIRST = 256

# How many times as far from the mean as Student's the end of a studentised interval may lie.
_MOST_OF_STUDENTS = 3.0

# From so many values on, the quantiles of resamples follow from skewness and kurtosis, where the second
# correction is at most this: 10,000 resamples themselves are off by 0.03.
_FEWEST_FOR_EXPANSION = 1_000
_MOST_OF_SECOND_ORDER = 0.01

# By so much, times the square of their number, sums of squares of whole multiples may be off by rounding.
_ROUNDING_OF_SQUARES = 2.0**-50


class Interval(msgspec.Struct, frozen=True):
    """From ``low`` to ``high``, at this confidence, by this method."""

    low: float
    high: float
    confidence: float
    method: str


class _Units(msgspec.Struct, frozen=True):
    """The units to draw, values or clusters of them, each with its share of the distance from the mean.

    Deviations are multiples of ``2^exponent``, the largest about 1, so that no square overflows or vanishes.
    """

    values: Floats
    mean: float
    deviations: Floats
    sizes: Floats | None
    exponent: int

    @property
    def error(self) -> float:
        """The mean's standard error; of clusters, that of a ratio of their sums to their sizes."""
        units = len(self.deviations)
        scaled = math.sqrt(units / (units - 1) * math.fsum((self.deviations**2).tolist())) / len(self.values)
        return math.ldexp(scaled, self.exponent)

    @property
    def is_coarse(self) -> bool:
        """Return True if there are too few different units for resamples to show the tails."""
        if len(set(self.deviations[:_LOOKED_AT_FIRST].tolist())) >= _FEWEST_DISTINCT:
            return False
        return int(np.count_nonzero(np.diff(np.sort(self.deviations)))) + 1 < _FEWEST_DISTINCT


def _units(values: Numbers, clusters: Labels | None) -> _Units:
    array = finite_array(values, "values")
    mean = exact_mean(array)
    deviations, sizes = array - mean, None
    if clusters is not None:
        deviations, sizes = cluster_totals(deviations, clusters)
    exponent = math.frexp(float(np.abs(deviations).max()))[1]
    return _Units(array, mean, np.ldexp(deviations, -exponent), sizes, exponent)


def bootstrap_interval(
    values: Numbers,
    *,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    clusters: Labels | None = None,
) -> Interval:
    """Return the studentised bootstrap interval of the mean.

    Formula: ``mean - q(1 - tail) se`` to ``mean - q(tail) se``, where ``tail = (1 - confidence) / 2`` and q
    are the quantiles of ``(mean* - mean) / se*`` over ``resamples`` resamples of n values drawn with
    replacement, but neither less than Student's t nor more than three times as much: the first helps where
    many values are equal, as many differences are, the second keeps few such values from having an interval
    without end. With ``clusters`` (a label for each value: the conversation of a turn, the document of a
    question) whole clusters are drawn, a resample's mean is the sum of their sums over the sum of their
    sizes, and its error that of such a ratio.

    Of 1,000 values and more, the quantiles are what ever more resamples come to, by their expansion in
    skewness and kurtosis; nothing is drawn then, unless the values are so skewed that it would be off. Of
    more than 32,768 clusters, or values so skewed, neighbours are drawn as groups.

    Where resamples cannot tell the tails (fewer than five different values, or many resamples whose values
    are all alike), it is Student's interval, ``mean ± t se``. The same seed gives the same bits for
    any order of the values. At least two values, or two clusters, are needed.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, section 12.5; for clusters, Davison
    and Hinkley, Bootstrap Methods and their Application, 1997, section 3.8; for many values, Hall, The
    Bootstrap and Edgeworth Expansion, 1992, sections 2.5 and 2.6.
    """
    units = _units(values, clusters)
    _require_settings(confidence, resamples, seed)
    if len(units.deviations) < 2:
        kind = "values" if clusters is None else "clusters"
        raise UsageError(f"a bootstrap interval needs at least 2 {kind}, got {len(units.deviations)}")
    (interval,) = _bootstrap_intervals([units], confidence=confidence, resamples=resamples, seed=seed)
    return interval or _t_interval(units, confidence)


def _bootstrap_intervals(
    drawn: Sequence[_Units], *, confidence: float, resamples: int, seed: int
) -> list[Interval | None]:
    """Return the studentised interval of each, ``None`` where resamples cannot tell it."""
    made = {place: _expanded(units, confidence) for place, units in enumerate(drawn)}
    left = [place for place, units in enumerate(drawn) if made[place] is None and not units.is_coarse]
    tables = {place: _moments(drawn[place]) for place in left}
    sums = resampled_sums([table for table, _ in tables.values()], resamples=resamples, seed=seed)
    for (place, (_, shifts)), of_one in zip(tables.items(), sums, strict=True):
        made[place] = _studentised(drawn[place], np.ldexp(of_one, shifts), confidence)
    return list(made.values())


def _expanded(units: _Units, confidence: float) -> Interval | None:
    """Return the studentised interval by its expansion, ``None`` where that is not near enough.

    A quantile is ``z - q1 / sqrt(n) + (q1 q1' - z q1^2 / 2 - q2) / n``: the polynomials of Hall's (2.55) and
    (2.58), the last with the variance over n - 1.
    """
    n = len(units.deviations)
    if units.sizes is not None or n < _FEWEST_FOR_EXPANSION or units.is_coarse:
        return None
    squares = units.deviations**2
    variance = math.fsum(squares.tolist()) / n
    skewness = math.fsum((squares * units.deviations).tolist()) / n / variance**1.5
    kurtosis = math.fsum((squares**2).tolist()) / n / variance**2 - 3.0
    z = normal_quantile((1.0 + confidence) / 2.0)
    ends = []
    for end in (z, -z):
        first = skewness * (2.0 * end**2 + 1.0) / 6.0
        slope = skewness * 4.0 * end / 6.0
        second = end * (
            kurtosis * (end**2 - 3.0) / 12.0
            - skewness**2 * (end**4 + 2.0 * end**2 - 3.0) / 18.0
            - (end**2 + 1.0) / 4.0
        )
        correction = (first * slope - end * first**2 / 2.0 - second) / n
        if abs(correction) > _MOST_OF_SECOND_ORDER:
            return None
        ends.append(end - first / math.sqrt(n) + correction)
    return _around_mean(units, -ends[1], ends[0], confidence, "studentised bootstrap, closed form")


def _around_mean(units: _Units, low: float, high: float, confidence: float, method: str) -> Interval:
    """Return the interval from quantiles of the studentised mean, the lower one turned around."""
    student = t_quantile((1.0 + confidence) / 2.0, len(units.deviations) - 1)
    below, above = (units.error * min(max(far, student), _MOST_OF_STUDENTS * student) for far in (high, low))
    return Interval(units.mean - below, units.mean + above, confidence, method)


def _moments(units: _Units) -> tuple[Floats, list[int]]:
    """Return what each unit adds to the sums of a resample, in whole numbers, and their powers of two.

    The sums are those of deviations and their squares; of clusters, also of sizes, of deviations times sizes,
    and of squares of sizes.
    """
    columns = [units.deviations, units.deviations**2]
    if units.sizes is not None:
        columns += [units.sizes, units.deviations * units.sizes, units.sizes**2]
    whole = [whole_multiples(column) for column in columns]
    return np.column_stack([column for column, _ in whole]), [-shift for _, shift in whole]


def _studentised(units: _Units, sums: Floats, confidence: float) -> Interval | None:
    """Return the interval from the sums of resamples, ``None`` if more than a tail of these are all alike."""
    deviations, squares = sums[:, 0], sums[:, 1]
    if units.sizes is None:
        sizes: Floats | float = float(len(units.values))
        shift = deviations / sizes
        residual = squares - shift * deviations
    else:
        sizes, products, squared_sizes = sums[:, 2], sums[:, 3], sums[:, 4]
        shift = deviations / sizes
        residual = squares - 2.0 * shift * products + shift**2 * squared_sizes
    is_alike = residual <= _ROUNDING_OF_SQUARES * len(units.values) ** 2
    # A resample whose values are all alike lies infinitely many errors away, on its side of the mean.
    away = np.where(shift == 0.0, 0.0, np.copysign(np.inf, shift))
    drawn = len(units.deviations)
    errors = np.sqrt(np.where(is_alike, 1.0, residual) * drawn / (drawn - 1)) / sizes
    t = np.where(is_alike, away, shift / errors)
    tail = (1.0 - confidence) / 2.0
    low = float(np.quantile(t, tail, method="lower"))
    high = float(np.quantile(t, 1.0 - tail, method="higher"))
    if math.isinf(low) or math.isinf(high):
        return None
    name = "studentised bootstrap" if units.sizes is None else "clustered studentised bootstrap"
    return _around_mean(units, -low, high, confidence, f"{name}, {len(t):,} resamples")


def _t_interval(units: _Units, confidence: float) -> Interval:
    degrees = len(units.deviations) - 1
    half = t_quantile((1.0 + confidence) / 2.0, degrees) * units.error
    name = "Student's t" if units.sizes is None else "Student's t over clusters"
    return Interval(units.mean - half, units.mean + half, confidence, name)


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


def newcombe_interval(
    successes: int, n: int, other_successes: int, other_n: int, *, confidence: float = 0.95
) -> Interval:
    """Return Newcombe's hybrid score interval of a share minus that of another sample.

    Formula: ``d - sqrt((p1 - l1)^2 + (u2 - p2)^2)`` to ``d + sqrt((u1 - p1)^2 + (p2 - l2)^2)`` with
    ``d = p1 - p2`` and the ends of Wilson's intervals of both shares, l and u.

    Source: Newcombe, Interval estimation for the difference between independent proportions, 1998, method 10.
    """
    first = wilson_interval(successes, n, confidence=confidence)
    second = wilson_interval(other_successes, other_n, confidence=confidence)
    share, other = successes / n, other_successes / other_n
    low = math.hypot(share - first.low, second.high - other)
    high = math.hypot(first.high - share, other - second.low)
    return Interval(share - other - low, share - other + high, confidence, "Newcombe hybrid score")


def welch_difference(
    values: Numbers, others: Numbers, *, confidence: float = 0.95
) -> tuple[Interval, float] | None:
    """Return the interval of a mean minus that of another sample, and p; ``None`` if they tell no spread.

    Formula: ``t = d / e`` with ``e^2 = s1^2 / n1 + s2^2 / n2``, on
    ``e^4 / ((s1^2 / n1)^2 / (n1 - 1) + (s2^2 / n2)^2 / (n2 - 1))`` degrees of freedom.

    Source: Welch, The generalization of Student's problem when several different population variances are
    involved, 1947.
    """
    first, second = finite_array(values, "values"), finite_array(others, "others")
    if min(len(first), len(second)) < 2:
        return None
    parts = [standard_deviation(each) ** 2 / len(each) for each in (first, second)]
    if not sum(parts):
        return None
    degrees = sum(parts) ** 2 / (parts[0] ** 2 / (len(first) - 1) + parts[1] ** 2 / (len(second) - 1))
    difference, error = exact_mean(first) - exact_mean(second), math.sqrt(sum(parts))
    half = t_quantile((1.0 + require_share(confidence, "confidence")) / 2.0, degrees) * error
    interval = Interval(difference - half, difference + half, confidence, "Welch's t")
    return interval, t_two_sided(difference / error, degrees)


def _wilson_of_mean(units: _Units, confidence: float) -> Interval:
    """Return Wilson's interval at the mean: values from 0 to 1 spread at most as far as zeros and ones.

    Clusters count as the number of independent values that would tell the mean as well (Kish's design
    effect), fewer by what Student's t asks of so few clusters. Where all values are alike, a cluster is one.

    Source: Dean and Pagano, Evaluating confidence interval methods for binomial proportions in clustered
    surveys, 2015.
    """
    n, name = float(len(units.values)), "Wilson score of the mean"
    if units.sizes is not None:
        clusters, alone = len(units.sizes), standard_deviation(units.values) ** 2 / n
        effect = max(1.0, units.error**2 / alone) if alone else n / clusters
        level = (1.0 + confidence) / 2.0
        n *= (normal_quantile(level) / t_quantile(level, clusters - 1)) ** 2 / effect
        name += ", clustered"
    elif ((units.values == 0.0) | (units.values == 1.0)).all():
        name = "Wilson score"
    return Interval(*wilson_ends(min(units.mean, 1.0), n, confidence), confidence, name)


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
    clusters: Labels | None = None,
) -> Interval | None:
    """Return the interval of the mean by the method asked for, or ``None`` if the values do not tell one.

    ``auto`` is what was measured to cover. Values from 0 to 1: Wilson's interval of the mean where they are
    fewer than 20 (values, or clusters) or fewer than five are different, as those that are all 0 or 1; else
    the studentised bootstrap, within Wilson's. All other values: the studentised bootstrap. Differences of
    two systems are not scores, though they too may all lie between 0 and 1: ask for the bootstrap.

    A single value tells no interval unless it lies between 0 and 1, nor do other values that are all equal,
    of whose spread nothing is known.
    """
    (interval,) = mean_intervals(
        [values], method=method, confidence=confidence, resamples=resamples, seed=seed, clusters=clusters
    )
    return interval


def mean_intervals(
    columns: Sequence[Numbers],
    *,
    method: IntervalMethod = "auto",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    clusters: Labels | None = None,
) -> list[Interval | None]:
    """Return :func:`mean_interval` of each column, to the last bit; those of one length share resamples."""
    if method not in _METHODS:
        raise UnknownNameError("interval method", str(method), _METHODS)
    if method == "normal" and clusters is not None:
        raise UsageError("a normal interval cannot use clusters. Use method=bootstrap")
    _require_settings(confidence, resamples, seed)
    every = [_units(values, clusters) for values in columns]
    methods = [_method_for(units, method) for units in every]
    wanted = [
        place
        for place, units in enumerate(every)
        if methods[place] in ("bootstrap", "capped") and len(units.deviations) > 1
    ]
    made = _bootstrap_intervals(
        [every[place] for place in wanted], confidence=confidence, resamples=resamples, seed=seed
    )
    drawn = dict(zip(wanted, made, strict=True))
    return [
        _mean_interval(units, methods[place], drawn.get(place), confidence)
        for place, units in enumerate(every)
    ]


def _require_settings(confidence: float, resamples: int, seed: int) -> None:
    require_share(confidence, "confidence")
    require_count(resamples, "resamples")
    require_count(seed, "seed", least=0)


_Chosen = Literal["wilson", "normal", "bootstrap", "capped"]


def _method_for(units: _Units, method: IntervalMethod) -> _Chosen:
    """Return what ``auto`` means for these values: ``capped`` is the bootstrap, within Wilson's interval."""
    is_share = bool(units.values.min() >= 0.0 and units.values.max() <= 1.0)
    if method == "wilson" and not is_share:
        raise UsageError("a Wilson interval needs values from 0 to 1. Use method=bootstrap")
    if method != "auto":
        return method
    if not is_share:
        return "bootstrap"
    is_small = len(units.deviations) < _FEWEST_FOR_BOOTSTRAP or units.is_coarse
    return "wilson" if is_small else "capped"


def _mean_interval(
    units: _Units, method: _Chosen, drawn: Interval | None, confidence: float
) -> Interval | None:
    """Return the interval by the method chosen; ``drawn`` is that of the bootstrap, if there is one."""
    if units.sizes is not None and len(units.sizes) < 2:
        return None
    if method == "wilson" or (method == "capped" and drawn is None):
        return _wilson_of_mean(units, confidence)
    if len(units.values) < 2:
        return None
    if method == "normal":
        interval = normal_interval(units.values, confidence=confidence)
    else:
        interval = drawn or _t_interval(units, confidence)
    if method == "capped":
        widest = _wilson_of_mean(units, confidence)
        low, high = max(interval.low, widest.low), min(interval.high, widest.high)
        if (low, high) == (widest.low, widest.high):
            return widest
        within = "" if (low, high) == (interval.low, interval.high) else ", within Wilson's"
        return Interval(low, high, confidence, interval.method + within)
    return interval if interval.low < interval.high else None
