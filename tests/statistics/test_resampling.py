"""Resamples have the distribution of draws with replacement; sums are rounded once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rag_evaluation_framework.statistics.agreement import Resampling, alpha_of_moments
from rag_evaluation_framework.statistics.classification import auroc, pearson, spearman
from rag_evaluation_framework.statistics.intervals import bootstrap_interval
from rag_evaluation_framework.statistics.resampling import (
    PoissonCounts,
    all_sign_sums,
    exact_sum,
    generator,
    resampled_sums,
    sign_flipped_sums,
)

RESAMPLES = 20_000
FEW = Resampling(resamples=1_000)

# 20 units are drawn one by one, 400 as Poisson counts, 5,000 so by pieces.
SIZES = pytest.mark.parametrize("n", [20, 400, 5_000])


def indexed(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Put the units' numbers beside the column, so that all the units are distinct."""
    return np.column_stack([column, np.arange(len(column), dtype=np.float64)])


@pytest.mark.parametrize("mean", [0.6, 0.85, 0.97])
def test_counts_from_bytes_are_poisson(mean: float) -> None:
    size = 2_000_000
    drawn = PoissonCounts(mean, size=size).draw(size, generator(7))
    observed = np.bincount(drawn, minlength=12)[:12] / size
    expected = np.array([math.exp(-mean) * mean**count / math.factorial(count) for count in range(12)])
    # Five standard errors of a share.
    assert (np.abs(observed - expected) <= 5 * np.sqrt(expected / size) + 1e-6).all()


@SIZES
def test_every_resample_has_exactly_n_units(n: int) -> None:
    sums = resampled_sums([indexed(np.ones(n))], resamples=RESAMPLES, seed=1)[0]
    assert (sums[:, 0] == n).all()


@SIZES
@pytest.mark.parametrize("position", [0, -1])
def test_how_often_a_unit_is_drawn_is_binomial(n: int, position: int) -> None:
    only = np.zeros(n)
    only[position] = 1.0
    times = resampled_sums([indexed(only)], resamples=RESAMPLES, seed=2)[0][:, 0].astype(int)
    observed = np.bincount(times, minlength=7)[:6] / RESAMPLES
    # Five standard errors of a share are at most 5 * 0.5 / sqrt(20,000) = 0.018.
    assert observed == pytest.approx(scipy.stats.binom.pmf(range(6), n, 1 / n), abs=0.018)


@SIZES
def test_how_often_one_half_of_the_units_is_drawn_is_binomial(n: int) -> None:
    half = np.tile([0.0, 1.0], n // 2)
    times = resampled_sums([indexed(half)], resamples=RESAMPLES, seed=3)[0][:, 0].astype(int)
    share_at_most = np.cumsum(np.bincount(times, minlength=n + 1)) / RESAMPLES
    expected = scipy.stats.binom.cdf(range(n + 1), n, 0.5)
    # Kolmogorov's distance is above 1.95 / sqrt(resamples) once in a thousand.
    assert np.abs(share_at_most - expected).max() < 1.95 / math.sqrt(RESAMPLES)


@pytest.mark.parametrize("n", [20, 400, 2_000])
def test_the_sum_has_the_moments_of_n_independent_draws(n: int) -> None:
    # 2,000 units of four kinds are drawn as a multinomial.
    few, many = np.tile([0.0, 0.25, 0.5, 4.0], n // 4), np.random.default_rng(4).exponential(size=n)
    values = few if n == 2_000 else many
    sums = resampled_sums([values[:, None]], resamples=RESAMPLES, seed=5)[0][:, 0]
    centred = values - values.mean()
    # The sum of n independent draws has n times the variance and n times the third moment of one.
    variance, third = n * np.mean(centred**2), n * np.mean(centred**3)
    around = sums - n * values.mean()
    assert abs(around.mean()) < 5 * math.sqrt(variance / RESAMPLES)
    assert np.mean(around**2) == pytest.approx(variance, rel=0.05)
    # The standard error of a third moment is about sqrt(15) sd^3 / sqrt(resamples).
    assert np.mean(around**3) == pytest.approx(third, abs=5 * math.sqrt(15 / RESAMPLES) * variance**1.5)


def test_random_signs_are_fair_and_independent() -> None:
    values = np.array([1.0, 2.0, 4.0, 8.0])
    sums = sign_flipped_sums(values, resamples=RESAMPLES, rng=generator(6))
    # Each of the 16 sums has a different value and the probability 1/16.
    shares = np.unique(sums, return_counts=True)[1] / RESAMPLES
    assert len(shares) == 16
    assert shares == pytest.approx(np.full(16, 1 / 16), abs=5 * math.sqrt(1 / 16 / RESAMPLES))


@pytest.mark.parametrize("n", [300, 9_000], ids=["at once", "by pieces"])
def test_sums_of_random_signs_have_the_variance_of_the_squares(n: int) -> None:
    values = np.random.default_rng(8).exponential(size=n)
    sums = sign_flipped_sums(values, resamples=RESAMPLES, rng=generator(9))
    squares = float((values**2).sum())
    assert abs(sums.mean()) < 5 * math.sqrt(squares / RESAMPLES)
    assert sums.var() == pytest.approx(squares, rel=0.05)


def test_all_signs_are_all_the_sums() -> None:
    # ±1 ±2 is -3, -1, 1, 3.
    assert sorted(all_sign_sums(np.array([1.0, 2.0])).tolist()) == [-3.0, -1.0, 1.0, 3.0]


@pytest.mark.parametrize(
    ("n", "interval"),
    [
        (2_000, lambda x, y: auroc(x, y > 2.5, resampling=FEW).interval),
        (2_000, lambda x, y: pearson(np.exp(x), y, resampling=FEW).interval),
        (2_000, lambda x, y: spearman(x, y, resampling=FEW).interval),
        (40_000, lambda x, y: alpha_of_moments([*np.array([x**0 * 2, x, x * x, y * y]).T], FEW).interval),
        (40_000, lambda x, y: bootstrap_interval(y, clusters=np.arange(40_000) // 1.2, resamples=1_000)),
    ],
)
def test_many_drawn_as_sums_have_the_interval_of_each_alone(
    n: int, interval: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = np.random.default_rng(11).normal(size=(2, n))
    found = interval(x, x + y)
    monkeypatch.setattr("rag_evaluation_framework.statistics.classification._FEWEST_FOR_SUMS", 10**6)
    monkeypatch.setattr("rag_evaluation_framework.statistics.resampling._MOST_ALONE", 10**6)
    alone = interval(x, x + y)
    # 1,000 resamples tell an end to about 0.09 standard errors: the ends of both may differ by 0.25.
    off = max(abs(found.low - alone.low), abs(found.high - alone.high))
    assert 0 < off < 0.25 * (alone.high - alone.low) / 3.92


@given(st.lists(st.floats(0, 1)))
def test_exact_sum_has_the_bits_of_fsum(values: list[float]) -> None:
    assert exact_sum(np.array(values)) == math.fsum(values)


def test_exact_sum_does_not_depend_on_the_order() -> None:
    values = 1 / np.random.default_rng(3).integers(1, 1000, size=10_000)
    sums = {exact_sum(np.random.default_rng(seed).permutation(values)) for seed in range(20)}
    assert sums == {math.fsum(values)}
