"""The same figures as scipy and krippendorff, to ten digits where nothing is drawn at random."""

from __future__ import annotations

from typing import Any

import krippendorff
import numpy as np
import pytest

from rag_evaluation_framework.statistics.agreement import krippendorff_alpha
from rag_evaluation_framework.statistics.intervals import (
    bootstrap_interval,
    normal_interval,
    t_quantile,
    t_two_sided,
    wilson_interval,
)
from rag_evaluation_framework.statistics.paired import (
    paired_randomisation_test,
    paired_t_test,
    smallest_detectable_difference,
    wilcoxon_test,
)
from sizes import loaded_on_use

stats = loaded_on_use("scipy.stats", reason="scipy is not installed")
DEGREES = (1, 2, 3, 7, 30, 59, 60, 61, 199, 10_000, 1_000_000)


@pytest.mark.parametrize("degrees", DEGREES)
def test_t_tails_and_quantiles_are_scipys(degrees: int) -> None:
    for t in (0.01, 0.3, 1.0, 1.7, 1.8, 2.5, 6.0):
        assert t_two_sided(t, degrees) == pytest.approx(2 * stats.t.sf(t, degrees), rel=1e-10)
    for probability in (0.001, 0.2, 0.5, 0.8, 0.975, 0.9999):
        expected = stats.t.ppf(probability, degrees)
        assert t_quantile(probability, degrees) == pytest.approx(expected, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("n", [2, 5, 40, 3_000])
def test_paired_t_is_scipys(n: int) -> None:
    rng = np.random.default_rng(n)
    a, b = rng.random(n), rng.random(n)
    ours, theirs = paired_t_test(a, b), stats.ttest_rel(a, b)
    assert ours.statistic == pytest.approx(theirs.statistic, rel=1e-10)
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-10)


@pytest.mark.parametrize("n", [1, 4, 13, 50])
def test_exact_wilcoxon_without_ties_is_scipys(n: int) -> None:
    rng = np.random.default_rng(n)
    a, b = rng.random(n) + 0.1, rng.random(n)
    ours = wilcoxon_test(a, b)
    theirs = stats.wilcoxon(a, b, method="exact")
    assert ours.statistic == theirs.statistic
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-10)


@pytest.mark.parametrize("n", [70, 500, 2_000])
@pytest.mark.parametrize("steps", [8, 1 << 40], ids=["ties and zeros", "no ties"])
def test_normal_wilcoxon_is_scipys(n: int, steps: int) -> None:
    rng = np.random.default_rng(n)
    a, b = rng.integers(0, steps, size=(2, n)) / steps
    ours = wilcoxon_test(a, b)
    theirs = stats.wilcoxon(a, b, zero_method="wilcox", correction=False, method="asymptotic")
    assert ours.statistic == theirs.statistic
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-10)


def test_exact_wilcoxon_with_ties_is_scipys_over_all_permutations() -> None:
    differences = np.array([1.0, -1.0, 2.0, 2.0, 3.0, -2.0, 4.0, 1.0])
    everything = stats.PermutationMethod(n_resamples=np.inf)
    theirs = stats.wilcoxon(differences, method=everything)
    assert wilcoxon_test(differences, np.zeros(8)).p_value == pytest.approx(theirs.pvalue, rel=1e-10)


def _mean_difference(a: Any, b: Any, axis: int) -> Any:
    return np.mean(a - b, axis=axis)


def test_exact_randomisation_is_scipys() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 5, size=(2, 11)) / 4
    theirs = stats.permutation_test(
        (a, b), _mean_difference, permutation_type="samples", vectorized=True, n_resamples=np.inf
    )
    assert paired_randomisation_test(a, b).p_value == pytest.approx(theirs.pvalue, rel=1e-10)


def test_drawn_randomisation_comes_near_scipys() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.random(80) + 0.07, rng.random(80)
    theirs = stats.permutation_test(
        (a, b), _mean_difference, permutation_type="samples", vectorized=True, n_resamples=9_999, rng=0
    )
    # Each p near 0.1 has a standard error of 0.003.
    assert paired_randomisation_test(a, b).p_value == pytest.approx(theirs.pvalue, abs=0.015)


@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(5).lognormal(size=40),
        np.random.default_rng(6).lognormal(size=400),
        np.random.default_rng(7).integers(0, 6, size=400) / 5,
    ],
    ids=["drawn one by one", "drawn as Poisson counts", "drawn as a multinomial"],
)
def test_bootstrap_comes_near_one_of_scipys_resamples(values: Any) -> None:
    n, error = len(values), stats.sem(values)
    # scipy draws and keeps the resamples; its intervals of them are not studentised.
    drawn = stats.bootstrap(
        (values,),
        lambda x, axis: (x.mean(axis=axis) - values.mean()) / stats.sem(x, axis=axis),
        n_resamples=20_000,
        method="percentile",
        batch=1_000,
        rng=1,
    ).confidence_interval
    student = stats.t.ppf(0.975, n - 1)
    low, high = (
        values.mean() - max(drawn.high, student) * error,
        values.mean() - min(drawn.low, -student) * error,
    )
    ours = bootstrap_interval(values, resamples=20_000)
    # A quantile of 20,000 in a long tail of t has a standard error of about 0.04.
    assert (ours.low, ours.high) == pytest.approx((low, high), abs=0.2 * error)


@pytest.mark.parametrize(("successes", "n"), [(0, 7), (1, 7), (30, 90), (999, 1_000), (5, 5)])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_wilson_interval_is_scipys(successes: int, n: int, confidence: float) -> None:
    ours = wilson_interval(successes, n, confidence=confidence)
    theirs = stats.binomtest(successes, n).proportion_ci(confidence, method="wilson")
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_normal_interval_is_scipys() -> None:
    values = np.random.default_rng(8).random(30)
    ours = normal_interval(values, confidence=0.9)
    theirs = stats.norm.interval(0.9, loc=values.mean(), scale=stats.sem(values))
    assert (ours.low, ours.high) == pytest.approx(theirs, rel=1e-10)


@pytest.mark.parametrize("n", [20, 50, 500])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_smallest_detectable_difference_has_its_power_under_the_noncentral_t(n: int, alpha: float) -> None:
    difference = smallest_detectable_difference(0.3, n, power=0.8, alpha=alpha)
    critical, shift = stats.t.ppf(1 - alpha / 2, n - 1), difference / 0.3 * np.sqrt(n)
    assert stats.nct.sf(critical, n - 1, shift) == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize("level", ["nominal", "interval"])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_alpha_is_that_of_the_krippendorff_package(level: Any, missing: float) -> None:
    rng = np.random.default_rng(9)
    ratings = rng.integers(0, 6, size=40) + rng.integers(0, 3, size=(5, 40))
    table = np.where(rng.random(ratings.shape) < missing, np.nan, ratings)
    theirs = krippendorff.alpha(reliability_data=table, level_of_measurement=level)
    ours = krippendorff_alpha(
        [[None if np.isnan(x) else x for x in row] for row in table.tolist()], level=level
    )
    assert ours == pytest.approx(theirs, abs=1e-10)
