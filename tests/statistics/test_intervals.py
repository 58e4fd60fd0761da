"""Intervals of a mean: repeatable, independent of order, and right as often as they say."""

from __future__ import annotations

import math
import random
import time
import tracemalloc
from typing import Any

import numpy as np
import pytest
from benchmarks.statistics import SHAPES, coverage
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_evaluation_framework import InputError, RagEvalError, UsageError
from rag_evaluation_framework.statistics import intervals
from rag_evaluation_framework.statistics.intervals import (
    Interval,
    bootstrap_interval,
    mean_interval,
    newcombe_interval,
    normal_interval,
    welch_difference,
    wilson_ends,
    wilson_interval,
)

# Two samples of 15 values; what Welch's test finds is that of scipy.stats.ttest_ind(equal_var=False).
FIRST = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4]
SECOND = [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.5, 24.4]


def test_newcombe_interval_of_the_published_example() -> None:
    interval = newcombe_interval(56, 70, 48, 80)  # Newcombe 1998, table II (a), method 10
    assert (interval.low, interval.high) == (pytest.approx(0.0524, abs=5e-5), pytest.approx(0.3339, abs=5e-5))
    other = newcombe_interval(48, 80, 56, 70)
    assert (other.low, other.high) == pytest.approx((-interval.high, -interval.low))
    none = newcombe_interval(0, 10, 0, 10)
    assert none.low == pytest.approx(-none.high)
    assert none.low < 0.0


def test_welch_difference_of_two_samples() -> None:
    found = welch_difference(FIRST, SECOND)
    assert found is not None
    interval, p_value = found
    assert (interval.low, interval.high, p_value) == pytest.approx(
        (-4.8680227, -0.7986439, 0.008071938), rel=1e-6
    )
    assert welch_difference([1.0], SECOND) is None
    assert welch_difference([1.0, 1.0], [0.0, 0.0]) is None


scores = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=150)


def test_wilson_interval_of_worked_cases() -> None:
    # p = 0.5, n = 10, z = 1.959964: z^2 / n = 0.384146; middle (0.5 + 0.192073) / 1.384146 = 0.5;
    # half 1.959964 * sqrt(0.025 + 0.384146 / 40) / 1.384146 = 0.263410.
    half_of_ten = wilson_interval(5, 10)
    assert half_of_ten.low == pytest.approx(0.236593, abs=1e-6)
    assert half_of_ten.high == pytest.approx(0.763407, abs=1e-6)
    # None of ten: from 0 to z^2 / (n + z^2) = 3.841459 / 13.841459 = 0.277533.
    none_of_ten = wilson_interval(0, 10)
    assert (none_of_ten.low, none_of_ten.method) == (0.0, "Wilson score")
    assert none_of_ten.high == pytest.approx(0.277533, abs=1e-6)
    assert wilson_interval(1, 1).high == 1.0


@given(
    st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0.01, 0.999)
)
@settings(max_examples=100, deadline=None)
def test_wilson_interval_holds_the_proportion_within_0_and_1(
    counts: tuple[int, int], confidence: float
) -> None:
    successes, n = counts
    interval = wilson_interval(successes, n, confidence=confidence)
    assert 0.0 <= interval.low <= successes / n <= interval.high <= 1.0


def test_normal_interval_of_a_worked_case() -> None:
    # Mean 2.5, s = sqrt(5/3) = 1.290994, half 1.959964 * 1.290994 / 2 = 1.265151.
    interval = normal_interval([1, 2, 3, 4])
    assert (interval.low, interval.high) == pytest.approx((1.234849, 3.765151), abs=1e-6)
    assert interval.method == "normal approximation"


def test_fewer_than_five_different_values_have_students_interval_and_equal_ones_have_no_width() -> None:
    # Mean 0.5, s = 0.707107, s / sqrt(2) = 0.5, t of one degree 12.706205: 0.5 ± 6.353102.
    interval = bootstrap_interval([0.0, 1.0])
    assert (interval.low, interval.high) == pytest.approx((-5.853102, 6.853102), abs=1e-6)
    assert interval.method == "Student's t"
    interval = bootstrap_interval([0.1] * 7)
    assert (interval.low, interval.high) == (0.1, 0.1)


@pytest.mark.parametrize("clustered", [False, True])
def test_the_studentised_bootstrap_is_what_its_formula_says(clustered: bool) -> None:
    rng = np.random.default_rng(12)
    values = rng.exponential(size=(15, 2) if clustered else (15, 1))
    clusters = [number for number in range(15) for _ in range(values.shape[1])] if clustered else None
    ours = bootstrap_interval(values.ravel(), resamples=20_000, clusters=clusters)
    # The same by hand: means of clusters of one size are drawn like values.
    means = values.mean(axis=1)
    drawn = means[rng.integers(0, 15, size=(20_000, 15))]
    t = (drawn.mean(axis=1) - means.mean()) / (drawn.std(axis=1, ddof=1) / math.sqrt(15))
    error = means.std(ddof=1) / math.sqrt(15)
    # The lower end is never nearer than Student's, with t of 14 degrees.
    low = means.mean() - max(np.quantile(t, 0.975), 2.144787) * error
    high = means.mean() - np.quantile(t, 0.025) * error
    assert ours.method.endswith("studentised bootstrap, 20,000 resamples")
    # A tail of 20,000 draws of t has a standard error of about 0.03.
    assert (ours.low, ours.high) == pytest.approx((low, high), abs=0.15 * error)


@given(scores, st.integers(0, 2**32), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_bootstrap_interval_ignores_the_order(values: list[float], seed: int, order: random.Random) -> None:
    shuffled = order.sample(values, len(values))
    assert bootstrap_interval(values, resamples=50, seed=seed) == bootstrap_interval(
        shuffled, resamples=50, seed=seed
    )


@pytest.mark.parametrize("decimals", [1, 9], ids=["few distinct values", "many distinct values"])
def test_clustered_interval_has_the_same_bits_in_any_order_and_under_any_labels(decimals: int) -> None:
    rng = np.random.default_rng(7)
    values = np.round(rng.random(900), decimals)
    clusters = rng.integers(0, 300, size=900)
    order = rng.permutation(900)
    expected = bootstrap_interval(values, clusters=clusters, resamples=200)
    assert bootstrap_interval(values[order], clusters=clusters[order], resamples=200) == expected
    renamed = [f"conversation {299 - label}" for label in clusters]
    assert bootstrap_interval(values, clusters=renamed, resamples=200) == expected


@given(scores, st.sampled_from([0.25, 2.0, 1024.0]))
@settings(max_examples=40, deadline=None)
def test_bootstrap_interval_scales_with_the_values(values: list[float], factor: float) -> None:
    once = bootstrap_interval(values, resamples=50)
    scaled = bootstrap_interval([value * factor for value in values], resamples=50)
    tolerance = 1e-9 * factor * max(map(abs, values))
    assert scaled.low == pytest.approx(once.low * factor, abs=tolerance)
    assert scaled.high == pytest.approx(once.high * factor, abs=tolerance)


def test_another_seed_gives_another_but_near_interval_and_more_confidence_a_wider_one() -> None:
    values = np.random.default_rng(1).random(500)
    first, second = bootstrap_interval(values, seed=1), bootstrap_interval(values, seed=2)
    assert first != second
    assert first.low == pytest.approx(second.low, abs=0.002)
    narrow, wide = bootstrap_interval(values, confidence=0.8), bootstrap_interval(values, confidence=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_very_small_and_very_large_values_are_resampled_too() -> None:
    for scale in (1e-300, 1e149):
        values = [0.0, scale, 3 * scale, 4 * scale, 5 * scale, 6 * scale, 7 * scale]
        interval = bootstrap_interval(values, resamples=500)
        assert "bootstrap" in interval.method
        assert 0.0 < interval.low < interval.high <= 7 * scale


@pytest.mark.parametrize("n", [8, 20, 70])
@pytest.mark.parametrize("name", SHAPES)
def test_intervals_cover_the_mean_as_often_as_the_page_says(name: str, n: int) -> None:
    covered, told = coverage(SHAPES[name], n, samples=300, resamples=300)
    # Three standard errors of 300 samples that cover in .93 are .044.
    assert covered >= 0.93 - 0.044
    assert told >= 0.9


def test_clustered_interval_is_wider_where_the_values_of_a_cluster_are_alike() -> None:
    rng = np.random.default_rng(4)
    clusters = np.repeat(np.arange(40), 10)
    values = rng.random(40)[clusters] + 0.01 * rng.random(400)
    naive, clustered = bootstrap_interval(values), bootstrap_interval(values, clusters=clusters)
    # Ten equal values count as one, so the interval is about sqrt(10) = 3.16 times as wide.
    assert (clustered.high - clustered.low) / (naive.high - naive.low) == pytest.approx(3.16, abs=0.25)


def test_clustered_mean_weighs_clusters_by_their_size() -> None:
    # Clusters {0, 0, 0} and {4}: mean 1, deviations -3 and 3, error sqrt(2 / 1 * 18) / 4 = 1.5; t 12.706205.
    values, clusters = [0.0, 0.0, 0.0, 4.0], ["x", "x", "x", "y"]
    interval = bootstrap_interval(values, clusters=clusters)
    assert (interval.low, interval.high) == pytest.approx((1 - 19.059307, 1 + 19.059307), abs=1e-6)
    assert interval.method == "Student's t over clusters"


def test_clusters_of_scores_count_as_the_values_that_would_tell_as_much() -> None:
    # Four clusters of two equal scores are four values: design effect 2 (of n - 1 = 7 and 3 degrees, 7 / 3),
    # and t of three degrees is 3.182446 against 1.959964: 8 / (7 / 3) * 0.379297 = 1.300447 values.
    values, clusters = [1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0], [1, 1, 2, 2, 3, 3, 4, 4]
    interval = mean_interval(values, clusters=clusters)
    assert interval is not None
    assert interval.method == "Wilson score of the mean, clustered"
    assert (interval.low, interval.high) == pytest.approx(wilson_ends(0.75, 1.300447, 0.95), abs=1e-5)
    alone = mean_interval(values)
    assert alone is not None
    assert interval.low < alone.low
    assert mean_interval(values, clusters=["one"] * 8) is None
    equal = mean_interval([1.0] * 8, clusters=clusters)
    assert equal is not None
    # Nothing is known of the spread: each cluster counts once, less what t asks.
    assert equal.low == pytest.approx(wilson_ends(1.0, 4 * 0.379297, 0.95)[0], abs=1e-5)


def test_an_interval_of_very_many_values_is_theirs_and_takes_seconds() -> None:
    rng = np.random.default_rng(13)
    for values in (rng.random(300_000), rng.lognormal(sigma=2.0, size=300_000)):
        started = time.process_time()
        drawn, normal = bootstrap_interval(values, resamples=4_000), normal_interval(values)
        assert time.process_time() - started < 10
        assert (drawn.low, drawn.high) == pytest.approx(
            (normal.low, normal.high), abs=0.1 * (normal.high - normal.low)
        )
        assert drawn.high - drawn.low == pytest.approx(normal.high - normal.low, rel=0.05)


def test_bootstrap_of_ten_thousand_values_stays_within_a_few_megabytes() -> None:
    values = np.random.default_rng(5).random(10_000)
    tracemalloc.start()
    bootstrap_interval(values, resamples=1_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


def test_intervals_of_many_values_are_the_limit_of_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(5).exponential(size=6_000)
    closed, outlier = bootstrap_interval(values), bootstrap_interval([*values, 1e4], resamples=100)
    assert closed.method == "studentised bootstrap, closed form"
    assert outlier.method == "studentised bootstrap, 100 resamples"
    monkeypatch.setattr(intervals, "_FEWEST_FOR_EXPANSION", 10_000)
    drawn = bootstrap_interval(values, resamples=20_000)
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    # 20,000 resamples tell these quantiles to about 0.02.
    assert (drawn.low, drawn.high) == pytest.approx((closed.low, closed.high), abs=0.05 * error)
    # The right tail is the longer one: by about 2 (2 z^2 + 1) / 6 / sqrt(n) = 0.037 errors.
    assert closed.high - values.mean() - 1.96 * error == pytest.approx(0.037 * error, rel=0.2)


def test_a_thousand_skewed_values_are_enough_for_the_closed_form(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(5).beta(8, 1, size=1_000)
    closed, error = bootstrap_interval(values), float(values.std(ddof=1)) / math.sqrt(1_000)
    assert closed.method == "studentised bootstrap, closed form"
    monkeypatch.setattr(intervals, "_FEWEST_FOR_EXPANSION", 10_000)
    drawn = bootstrap_interval(values, resamples=40_000)
    assert (drawn.low, drawn.high) == pytest.approx((closed.low, closed.high), abs=0.05 * error)


def test_mean_interval_is_wilsons_for_scores_that_are_few_or_coarse_and_the_bootstrap_for_all_else() -> None:
    assert mean_interval([0, 1, 1, True]) == wilson_interval(3, 4)
    few = mean_interval([0.0, 0.5, 1.0])
    assert few == Interval(*wilson_ends(0.5, 3, 0.95), 0.95, "Wilson score of the mean")
    coarse = mean_interval([0.0, 0.25, 0.5, 1.0] * 25)
    assert coarse == Interval(*wilson_ends(0.4375, 100, 0.95), 0.95, "Wilson score of the mean")
    many = np.arange(1, 31) / 100
    assert mean_interval(many) == bootstrap_interval(many)
    latencies = np.arange(1, 9) ** 2 * 10.0
    assert mean_interval(latencies) == bootstrap_interval(latencies)
    assert mean_interval(many, method="bootstrap", seed=3) == bootstrap_interval(many, seed=3)
    assert mean_interval([0, 1, 1], method="normal") == normal_interval([0, 1, 1])


def test_the_bootstrap_of_scores_stays_within_wilsons_interval() -> None:
    values = [1.0] * 12 + [0.99, 0.98, 0.97, 0.96, 0.95, 0.94, 0.93, 0.0]
    drawn, interval, mean = bootstrap_interval(values), mean_interval(values), sum(values) / 20
    assert interval is not None
    assert interval.method == "Wilson score of the mean"
    assert (interval.low, interval.high) == pytest.approx(wilson_ends(mean, 20, 0.95))
    assert drawn.low < interval.low < interval.high < drawn.high
    values[-1] = 0.7
    drawn, interval = bootstrap_interval(values), mean_interval(values)
    assert interval is not None
    assert interval.method == "studentised bootstrap, 10,000 resamples, within Wilson's"
    assert interval.low == drawn.low
    assert interval.high < 1.0 < drawn.high


def test_no_end_is_nearer_than_students_nor_three_times_as_far() -> None:
    values = [0.0] * 14 + [0.01, 0.02, 0.03, 0.04, 0.05, 1.0]
    mean, error = np.mean(values), np.std(values, ddof=1) / math.sqrt(20)
    interval = bootstrap_interval(values)
    # t of 19 degrees is 2.093024.
    assert interval.low == pytest.approx(mean - 2.093024 * error, abs=1e-6)
    assert interval.high == pytest.approx(mean + 3 * 2.093024 * error, abs=1e-6)


def test_mean_interval_is_none_where_it_cannot_be_told() -> None:
    assert mean_interval([7.0]) is None
    assert mean_interval([0.7], method="normal") is None
    assert mean_interval([0.7], method="bootstrap") is None
    # One success in one is a proportion, and Wilson's interval can tell: from 1 / (1 + z^2) = 0.2065 to 1.
    assert mean_interval([1]) == wilson_interval(1, 1)


def test_values_that_are_all_equal_get_no_interval_of_no_width() -> None:
    # Wilson's interval at p = 0.925 with n = 4, z^2 / n = 0.960365: middle (0.925 + 0.480182) / 1.960365 =
    # 0.716796, half 1.959964 * sqrt(0.925 * 0.075 / 4 + 0.960365 / 16) / 1.960365 = 0.278092.
    rubric = mean_interval([0.925] * 4)
    assert rubric is not None
    assert (rubric.low, rubric.high) == pytest.approx((0.438705, 0.994888), abs=1e-6)
    # Between all right and all but right there is no leap.
    ones, nearly = mean_interval([1.0] * 4), mean_interval([1.0 - 1e-9] * 4)
    assert ones is not None
    assert nearly is not None
    assert nearly.low == pytest.approx(ones.low, abs=1e-6)


def test_equal_values_of_which_no_bounds_are_known_have_no_interval() -> None:
    assert mean_interval([100.0] * 5) is None
    assert mean_interval([-0.5] * 5) is None
    assert mean_interval([0.5] * 5, method="normal") is None
    assert mean_interval([0.0] * 5, method="bootstrap") is None  # differences of two systems


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], r"values: expected at least one value, got \[\]"),
        ([0.5, float("nan")], r"values\[1\]: expected a finite number, got nan"),
        ([float("inf"), 1.0], r"values\[0\]: expected a finite number, got inf"),
        ([1, 2, None], r"values\[2\]: expected a finite number, got None"),
        (["0.5", 1], r"values\[0\]: expected a finite number, got '0.5'"),
        ([1, 10**400], r"values\[1\]: expected a finite number, got 1000"),
        ([[1, 2], [3, 4]], r"values\[0\]: expected a finite number, got \[1, 2\]"),
        (np.array([0.5, np.nan]), r"values\[1\]: expected a finite number, got nan"),
        ("0.5", r"values: expected a sequence of numbers, got '0.5'"),
        ({0.5: 1}, r"values: expected a sequence of numbers, got \{0.5: 1\}"),
    ],
)
def test_values_that_are_not_finite_numbers_are_named_with_their_position(values: Any, message: str) -> None:
    for interval in (bootstrap_interval, normal_interval, mean_interval):
        with pytest.raises(InputError, match=message):
            interval(values)


@pytest.mark.parametrize(
    ("interval", "given_", "message"),
    [
        (bootstrap_interval, {"values": [0.5]}, "at least 2 values, got 1"),
        (normal_interval, {"values": [0.5]}, "at least 2 values, got 1"),
        (bootstrap_interval, {"clusters": ["a", "a"]}, "at least 2 clusters, got 1"),
        (bootstrap_interval, {"clusters": ["a"]}, "clusters: expected one label per value \\(2\\), got 1"),
        (bootstrap_interval, {"clusters": ["a", None]}, r"clusters\[1\]: expected a label, got None"),
        (bootstrap_interval, {"confidence": 95}, "confidence: expected a number between 0 and 1, got 95"),
        (bootstrap_interval, {"resamples": 0}, "resamples: expected a whole number of at least 1, got 0"),
        (bootstrap_interval, {"seed": -1}, "seed: expected a whole number of at least 0, got -1"),
        (mean_interval, {"values": [0.5, 1.5], "method": "wilson"}, "needs values from 0 to 1"),
        (mean_interval, {"method": "normal", "clusters": [1, 2]}, "cannot use clusters"),
        (
            mean_interval,
            {"method": "bootsrap"},
            'unknown interval method "bootsrap". Did you mean "bootstrap',
        ),
    ],
)
def test_what_makes_no_sense_is_refused(interval: Any, given_: dict[str, Any], message: str) -> None:
    with pytest.raises(RagEvalError, match=message):
        interval(**{"values": [0.5, 0.6], **given_})


def test_more_successes_than_trials_are_refused() -> None:
    with pytest.raises(UsageError, match=r"successes: expected at most n \(3\), got 4"):
        wilson_interval(4, 3)


def test_the_end_of_an_interval_is_never_a_negative_zero() -> None:
    interval = bootstrap_interval([-0.0] * 7)
    assert interval.low == 0
    assert math.copysign(1, interval.low) == 1
