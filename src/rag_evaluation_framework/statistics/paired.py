"""Paired tests, effect sizes, Holm, power.

``a[i]`` and ``b[i]`` are the two systems' scores on query i, and a difference is a minus b. Tests are
two-sided, but for those that are asked to look one way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import UsageError, invalid, shown
from rag_evaluation_framework.statistics.intervals import (
    Interval,
    mean_interval,
    normal_quantile,
    normal_two_sided,
    signed_rank_tail,
    t_quantile,
    t_two_sided,
)
from rag_evaluation_framework.statistics.resampling import (
    LARGEST,
    ROUNDING,
    Floats,
    Numbers,
    all_sign_sums,
    exact_mean,
    finite_array,
    generator,
    paired_differences,
    require_count,
    require_share,
    sign_flipped_sums,
    standard_deviation,
)

Looks = Literal["both ways", "down"]
PairedTest = Literal["randomisation", "t", "wilcoxon"]
PAIRED_TESTS: tuple[PairedTest, ...] = ("randomisation", "t", "wilcoxon")

# All signs are counted, rather than drawn, up to this many: 14 differences.
_COUNTED_SIGNS = 2**14

# Of more differences, none of which outweighs the others, the sum of random signs is normal to more digits
# than drawing tells: the error of the limit is about a thousandth, that of 10,000 draws up to five times it.
# Where some do outweigh them, the signs of the largest are drawn: each of the others is less than that share.
_MOST_DRAWN = 250_000
_LARGEST_SHARE = 1e-4
_DRAWN_OF_MANY = 1 << 14

# Up to so many flips, or samples asked repeatedly, all outcomes are counted.
_MOST_FLIPS_COUNTED = 500
_MOST_SAMPLES_COUNTED = 20_000

# Up to this many differences the table of rank sums is small and its counts fit 64 bits.
_MOST_FOR_EXACT_RANKS = 50


class PairedTestResult(msgspec.Struct, frozen=True):
    """The difference of two systems, and the probability of one as large if they do not differ.

    ``statistic`` is the test's own: the mean difference, t, or the smaller rank sum; ``None`` where t is
    infinite. ``pairs`` counts all pairs.
    """

    mean_difference: float
    statistic: float | None
    p_value: float
    method: str
    pairs: int


def paired_test(
    a: Numbers, b: Numbers, *, test: PairedTest, resamples: int, seed: int
) -> PairedTestResult | None:
    """Return what the test of this name finds; a single pair cannot be tested."""
    if len(a) < 2:
        return None
    if test == "t":
        return paired_t_test(a, b)
    if test == "wilcoxon":
        return wilcoxon_test(a, b)
    return paired_randomisation_test(a, b, resamples=resamples, seed=seed)


def difference_interval(
    a: Floats, b: Floats, *, confidence: float, resamples: int, seed: int
) -> Interval | None:
    """Return the interval of the mean difference; scores from 0 to 1 are at most 1 apart."""
    found = mean_interval(a - b, method="bootstrap", confidence=confidence, resamples=resamples, seed=seed)
    if found is None or min(a.min(), b.min()) < 0.0 or max(a.max(), b.max()) > 1.0:
        return found
    return Interval(max(found.low, -1.0), min(found.high, 1.0), found.confidence, found.method)


def paired_randomisation_test(
    a: Numbers, b: Numbers, *, resamples: int = 10_000, seed: int = 0, looks: Looks = "both ways"
) -> PairedTestResult:
    """Test the mean difference by swapping the systems at random, pair by pair.

    Formula: ``p = (1 + swaps at least as far from 0) / (1 + resamples)``. Where all signs of the differences
    that are not 0 are at most 2^14, or ``resamples`` if that is more, they are counted one by one and p is
    their share. Of more than 250,000 pairs, p is that of the normal limit, for which at most the largest are
    swapped. One that looks ``down`` counts the swaps whose sum is as low or lower.

    The same seed gives the same p for any order of the pairs. If no pair differs, p is 1.

    Source: Fisher, The Design of Experiments, 1935; for retrieval, Smucker, Allan and Carterette, 2007.
    """
    differences = paired_differences(a, b)
    require_count(resamples, "resamples")
    mean = exact_mean(differences)
    scale = math.fsum(np.abs(differences))
    magnitudes = np.sort(np.abs(differences))
    magnitudes = magnitudes[magnitudes > ROUNDING * scale / len(differences)]
    # A swap that gives the observed sum again must count, whatever the rounding of its order of addition.
    total = math.fsum(differences)
    threshold = (abs(total) if looks == "both ways" else -total) - ROUNDING * scale
    is_exact = 2 ** min(len(magnitudes), 64) <= max(_COUNTED_SIGNS, resamples)
    is_many, squares = len(magnitudes) > _MOST_DRAWN and not is_exact, magnitudes @ magnitudes
    if is_many and magnitudes[-1] ** 2 <= _LARGEST_SHARE * squares:
        p_value = normal_two_sided(total / math.sqrt(squares))
        if looks == "down":
            p_value = p_value / 2 if total < 0 else 1 - p_value / 2
        p_value, method = max(p_value, 1 / (1 + resamples)), "normal limit"  # as where drawn: never 0
    else:
        if is_exact:
            sums, own, method = all_sign_sums(magnitudes), 0, "exact"
        else:
            rng, apart = generator(seed), len(magnitudes) - _DRAWN_OF_MANY if is_many else 0
            sums = sign_flipped_sums(magnitudes[apart:], resamples=resamples, rng=rng)
            sums += rng.normal(scale=math.sqrt(magnitudes[:apart] @ magnitudes[:apart]), size=resamples)
            own, method = 1, f"{resamples:,} resamples"
        reached = np.count_nonzero((np.abs(sums) if looks == "both ways" else -sums) >= threshold)
        p_value = (own + int(reached)) / (own + len(sums))
    method = f"paired randomisation, {method}" + (", one-sided" if looks == "down" else "")
    return PairedTestResult(mean, mean, p_value, method, len(differences))


def flips_p_value(worse: int, better: int) -> float:
    """Return how likely it is that so many of the samples that flipped got worse, if both ways are alike.

    Formula: ``P(X > worse) + P(X = worse) / 2`` for X binomial over all flips with share 1/2 (mid-p). Of more
    than 500 flips it is computed directly, by the normal distribution and its next term.

    Source: McNemar, 1947; for mid-p, Fagerland, Lydersen and Laake, 2013.
    """
    flips = worse + better
    if flips > _MOST_FLIPS_COUNTED:
        z = (worse - better) / math.sqrt(flips)
        return math.erfc((z + (z**3 - 7.0 * z) / (12.0 * flips)) / math.sqrt(2.0)) / 2.0
    above = sum(math.comb(flips, count) for count in range(worse + 1, flips + 1))
    return float((2 * above + math.comb(flips, worse)) / 2 ** (flips + 1))


def repeated_flips_p_value(answers: Sequence[tuple[int, int, int, int]]) -> float:
    """Return how likely so few passing answers are now, if each sample passes as often as before.

    A sample is ``(passed before, asked before, passed now, asked now)``. Formula: ``P(S < s) + P(S = s) / 2``
    for S the sum of hypergeometric numbers, one a sample: of all its answers that pass, how many are of now.
    Where each was asked once in either run, it is that of :func:`flips_p_value`. Of more than 20,000 samples
    it is that of the normal limit.

    Source: Mantel and Haenszel, Statistical aspects of the analysis of data from retrospective studies of
    disease, 1959; exact, by convolution.
    """
    if len(answers) > _MOST_SAMPLES_COUNTED:
        passed_before, before, passed_now, now = np.array(answers, dtype=np.float64).T
        passing, asked = passed_before + passed_now, np.maximum(before + now, 2.0)
        spread = (now * before * passing * (before + now - passing) / (asked**2 * (asked - 1.0))).sum()
        off = (now * passing / asked - passed_now)[asked == before + now].sum()
        return math.erfc(off / math.sqrt(2.0 * spread)) / 2.0 if spread else 0.5
    distribution, low, now_passing = np.ones(1), 0, 0
    for passed_before, before, passed_now, now in answers:
        passing = passed_before + passed_now
        least, most = max(0, passing - before), min(passing, now)
        ways = [math.comb(now, k) * math.comb(before, passing - k) for k in range(least, most + 1)]
        whole = math.comb(before + now, passing)
        distribution = np.convolve(distribution, [way / whole for way in ways])
        low, now_passing = low + least, now_passing + passed_now
    place = now_passing - low
    return float(distribution[:place].sum() + distribution[place] / 2)


def largest_drop(worse: int, better: int, n: int, *, confidence: float = 0.95) -> float:
    """Return the upper end of the one-sided interval of the drop in a share, of n samples paired.

    Formula: the drop at which the score statistic of the flips is the normal quantile, by bisection.

    Source: Tango, Equivalence test and confidence interval for the difference in proportions for the
    paired-sample design, 1998.
    """
    z = normal_quantile(require_share(confidence, "confidence"))
    low, high = (worse - better) / n, 1.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _flips_score(worse, better, n, middle) > -z else (low, middle)
    return high


def _flips_score(worse: int, better: int, n: int, drop: float) -> float:
    """Return how many standard errors the drop observed lies above this one."""
    a, c = 2.0 * n, -better * drop * (1.0 - drop)
    b = -worse - better + (2.0 * n - worse + better) * drop
    share = (math.sqrt(max(0.0, b * b - 4.0 * a * c)) - b) / (2.0 * a)
    variance = n * (2.0 * share + drop * (1.0 - drop))
    off = worse - better - n * drop
    return off / math.sqrt(variance) if variance > 0.0 else -math.inf if off < 0.0 else 0.0


def paired_t_test(a: Numbers, b: Numbers) -> PairedTestResult:
    """Test the mean difference against its standard error.

    Formula: ``t = mean / (s / sqrt(n))`` with n - 1 degrees of freedom. If no pair differs, t is 0 and p is
    1; if all differ by the same, t is infinite and p is 0.

    Source: Student, The probable error of a mean, 1908.
    """
    differences = paired_differences(a, b)
    n = len(differences)
    if n < 2:
        raise UsageError(f"a paired t test needs at least 2 pairs, got {n}")
    mean, deviation = exact_mean(differences), standard_deviation(differences)
    t: float | None
    if mean == 0.0:
        t, p_value = 0.0, 1.0
    elif deviation <= ROUNDING * abs(mean):
        t, p_value = None, 0.0
    else:
        t = mean / (deviation / math.sqrt(n))
        p_value = t_two_sided(t, n - 1)
    return PairedTestResult(mean, t, p_value, "paired t", n)


def wilcoxon_test(a: Numbers, b: Numbers) -> PairedTestResult:
    """Test whether the differences are symmetric around 0, by the ranks of their sizes.

    Formula: pairs that do not differ are left out, the others ranked by size (ties share the middle rank);
    the statistic is the smaller of the rank sums of the positive and the negative differences. Up to 50
    differences all signs are counted, ties included; beyond, the normal distribution approximates, with the
    correction for ties and none for continuity. If no pair differs, p is 1.

    Source: Wilcoxon, Individual comparisons by ranking methods, 1945.
    """
    differences = paired_differences(a, b)
    unequal = differences[differences != 0.0]
    exact = len(unequal) <= _MOST_FOR_EXACT_RANKS
    doubled, tied = _doubled_ranks(np.abs(unequal))
    positive = int(doubled[unequal > 0].sum())
    smaller = min(positive, int(doubled.sum()) - positive)
    if exact:
        p_value = min(1.0, 2.0 * signed_rank_tail(doubled, smaller))
    else:
        n, sizes = len(unequal), tied.astype(np.float64)
        variance = n * (n + 1) * (2 * n + 1) / 24 - float((sizes**3 - sizes).sum()) / 48
        p_value = normal_two_sided((smaller / 2.0 - n * (n + 1) / 4) / math.sqrt(variance))
    name = "Wilcoxon signed-rank, " + ("exact" if exact else "normal approximation")
    return PairedTestResult(exact_mean(differences), smaller / 2.0, p_value, name, len(differences))


def _doubled_ranks(magnitudes: Floats) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return twice the rank of each magnitude, and how many share each; rounding breaks no tie."""
    order = np.argsort(magnitudes, kind="stable")
    ascending = magnitudes[order]
    starts = np.flatnonzero(np.diff(ascending, prepend=-1.0) > ROUNDING * ascending)
    sizes = np.diff(starts, append=len(ascending))
    doubled = np.empty(len(magnitudes), dtype=np.int64)
    doubled[order] = np.repeat(2 * starts + sizes + 1, sizes)
    return doubled, sizes


# How large a difference is: Cohen's d, and how many pairs each system wins.


class Outcomes(msgspec.Struct, frozen=True):
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


def wins_ties_losses(a: Numbers, b: Numbers, *, higher_is_better: bool = True) -> Outcomes:
    """Count the pairs on which a is better than b, as good, and worse."""
    differences = paired_differences(a, b)
    above, below = int(np.count_nonzero(differences > 0)), int(np.count_nonzero(differences < 0))
    ties = len(differences) - above - below
    return Outcomes(above, ties, below) if higher_is_better else Outcomes(below, ties, above)


# Correcting for many tests at once.


def holm(p_values: Numbers) -> list[float]:
    """Return the p-values adjusted so that the chance of any false alarm among them stays at the level.

    Formula: the i-th smallest of m (from 0) becomes ``min(1, (m - i) p)``, but no less than the one before
    it. The result has the order given; no p-values give none.

    Source: Holm, A simple sequentially rejective multiple test procedure, 1979.
    """
    if len(p_values) == 0:
        return []
    given = finite_array(p_values, "p_values")
    for position in np.flatnonzero((given < 0.0) | (given > 1.0)):
        raise invalid(f"p_values[{position}]", "a number from 0 to 1", float(given[position]))
    order = np.argsort(given, kind="stable")
    scaled = np.minimum(1.0, np.arange(len(given), 0, -1) * given[order])
    return list(np.maximum.accumulate(scaled)[np.argsort(order)].tolist())


# What a number of queries can show, and how many queries a difference needs to show.

# So many differences to the standard deviation need 10^17 pairs, and no more can be told apart as floats.
_MOST_SD = 1e8


def smallest_detectable_difference(sd: float, n: int, *, power: float = 0.8, alpha: float = 0.05) -> float:
    """Return the mean difference that a two-sided paired test at ``alpha`` finds with probability ``power``.

    Formula: ``(t(1 - alpha/2) + t(power)) sd / sqrt(n)`` with n - 1 degrees of freedom, where ``sd`` is the
    standard deviation of the differences of the n pairs. It holds for the t test and, closely, for the
    randomisation test: from 20 pairs on, the power by the noncentral t is within 0.01 of the one asked for.

    Source: Snedecor and Cochran, Statistical Methods, 1989.
    """
    _require_size(sd, "sd")
    require_count(n, "n", least=2)
    critical = t_quantile(1.0 - require_share(alpha, "alpha") / 2.0, n - 1)
    return max(0.0, critical + t_quantile(require_share(power, "power"), n - 1)) * sd / math.sqrt(n)


def sample_size(difference: float, sd: float, *, power: float = 0.8, alpha: float = 0.05) -> int:
    """Return the fewest pairs whose smallest detectable difference is at most this one, up or down."""
    _require_size(sd, "sd")
    _require_size(abs(difference), "difference")
    if difference == 0.0 or abs(difference) * _MOST_SD < sd:
        raise UsageError(f"difference: too small to detect with any number of pairs: {difference!r}")
    z = normal_quantile(1.0 - require_share(alpha, "alpha") / 2.0) + normal_quantile(
        require_share(power, "power")
    )
    # The normal distribution has the shorter tails, so it never asks for more pairs than t does.
    n = max(2, math.ceil((max(0.0, z) * sd / difference) ** 2))
    while smallest_detectable_difference(sd, n, power=power, alpha=alpha) > abs(difference):
        n += 1
    return n


def _require_size(value: float, name: str) -> None:
    if not (isinstance(value, Real) and 0.0 <= float(value) <= LARGEST):
        raise UsageError(f"{name}: expected a finite number of at least 0, got {shown(value)}")
