"""Tests of whether two systems differ on the same queries: randomisation, Student's t, Wilcoxon's.

``a[i]`` and ``b[i]`` are the two systems' scores on query i, and a difference is a minus b. All tests are
two-sided.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import UnknownNameError, UsageError
from rag_evaluation_framework.statistics.arrays import (
    ROUNDING,
    Floats,
    Labels,
    Numbers,
    cluster_totals,
    paired_differences,
    require_count,
)
from rag_evaluation_framework.statistics.distributions import (
    normal_two_sided,
    signed_rank_tail,
    t_two_sided,
)
from rag_evaluation_framework.statistics.resampling import all_sign_sums, generator, sign_flipped_sums
from rag_evaluation_framework.statistics.sums import exact_mean, standard_deviation

WilcoxonMethod = Literal["auto", "exact", "normal"]

# All signs are counted, rather than drawn, up to this many: 14 differences.
_COUNTED_SIGNS = 2**14

# Up to this many differences the table of rank sums is small and its counts fit 64 bits.
_MOST_FOR_EXACT_RANKS = 50


@dataclass(frozen=True, slots=True)
class PairedTestResult:
    """How far apart two systems are, and how likely that far or farther is if they do not differ.

    ``statistic`` is the test's own: the mean difference, t, or the smaller rank sum; ``None`` where t is
    infinite. ``pairs`` counts all pairs.
    """

    mean_difference: float
    statistic: float | None
    p_value: float
    method: str
    pairs: int


def paired_randomisation_test(
    a: Numbers, b: Numbers, *, resamples: int = 10_000, seed: int = 0, clusters: Labels | None = None
) -> PairedTestResult:
    """Test the mean difference by swapping the systems at random, pair by pair.

    Formula: ``p = (1 + swaps at least as far from 0) / (1 + resamples)``. Where all signs of the differences
    that are not 0 are at most 2^14, or ``resamples`` if that is more, they are counted one by one and p is
    their share. With ``clusters`` all the pairs of a cluster are swapped together.

    The same seed gives the same p in whatever order the pairs come. If no pair differs, p is 1.

    Source: Fisher, The Design of Experiments, 1935; for retrieval, Smucker, Allan and Carterette, 2007.
    """
    differences = paired_differences(a, b)
    require_count(resamples, "resamples")
    mean = exact_mean(differences)
    units = differences if clusters is None else cluster_totals(differences, clusters)[0]
    scale = math.fsum(np.abs(differences))
    magnitudes = np.sort(np.abs(units))
    magnitudes = magnitudes[magnitudes > ROUNDING * scale / len(differences)]
    # A swap that gives the observed sum again must count, whatever the rounding of its order of addition.
    threshold = abs(math.fsum(units)) - ROUNDING * scale
    if 2 ** min(len(magnitudes), 64) <= max(_COUNTED_SIGNS, resamples):
        sums = all_sign_sums(magnitudes)
        p_value = float(np.mean(np.abs(sums) >= threshold))
        method = "paired randomisation, exact"
    else:
        sums = sign_flipped_sums(magnitudes, resamples=resamples, rng=generator(seed))
        p_value = (1 + int(np.count_nonzero(np.abs(sums) >= threshold))) / (1 + resamples)
        method = f"paired randomisation, {resamples:,} resamples"
    if clusters is not None:
        method = f"clustered {method}"
    return PairedTestResult(mean, mean, p_value, method, len(differences))


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


def wilcoxon_test(a: Numbers, b: Numbers, *, method: WilcoxonMethod = "auto") -> PairedTestResult:
    """Test whether the differences are symmetric around 0, by the ranks of their sizes.

    Formula: pairs that do not differ are left out, the others ranked by size (ties share the middle rank);
    the statistic is the smaller of the rank sums of the positive and the negative differences. ``exact``
    counts all signs, ties included (up to 50 differences); ``normal`` approximates, with the correction for
    ties and none for continuity; ``auto`` is exact wherever it can be. If no pair differs, p is 1.

    Source: Wilcoxon, Individual comparisons by ranking methods, 1945.
    """
    if method not in ("auto", "exact", "normal"):
        raise UnknownNameError("Wilcoxon method", str(method), ("auto", "exact", "normal"))
    differences = paired_differences(a, b)
    unequal = differences[differences != 0.0]
    exact = method == "exact" or (method == "auto" and len(unequal) <= _MOST_FOR_EXACT_RANKS)
    if exact and len(unequal) > _MOST_FOR_EXACT_RANKS:
        raise UsageError(
            f"an exact Wilcoxon test takes at most {_MOST_FOR_EXACT_RANKS} differences, got {len(unequal)}"
        )
    doubled, tied = _doubled_ranks(np.abs(unequal))
    positive = int(doubled[unequal > 0].sum())
    smaller = min(positive, int(doubled.sum()) - positive)
    if exact:
        p_value = min(1.0, 2.0 * signed_rank_tail(doubled, smaller))
    else:
        p_value = _normal_rank_p(len(unequal), tied, smaller / 2.0)
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


def _normal_rank_p(n: int, tied: npt.NDArray[np.int64], statistic: float) -> float:
    if n == 0:
        return 1.0
    sizes = tied.astype(np.float64)
    variance = n * (n + 1) * (2 * n + 1) / 24 - float((sizes**3 - sizes).sum()) / 48
    return normal_two_sided((statistic - n * (n + 1) / 4) / math.sqrt(variance))
