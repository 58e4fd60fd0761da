"""Intervals of a mean: repeatable, independent of order, and right as often as they say."""

from __future__ import annotations

import math
import random
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_evaluation_framework import InputError, RagEvalError, UsageError
from rag_evaluation_framework.statistics.intervals import (
    Interval,
    bootstrap_interval,
    mean_interval,
    normal_interval,
    wilson_interval,
)

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
def test_wilson_interval_holds_the_proportion_and_stays_within_0_and_1(
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


def test_bootstrap_interval_of_two_values_reaches_both_and_of_equal_ones_is_the_value() -> None:
    # A quarter of the resamples has only 0, a quarter only 1.
    assert bootstrap_interval([0.0, 1.0]) == Interval(
        0.0, 1.0, 0.95, "bootstrap percentile, 10,000 resamples"
    )
    interval = bootstrap_interval([0.1] * 7)
    assert (interval.low, interval.high) == (0.1, 0.1)


def test_bootstrap_interval_of_round_values_has_round_ends() -> None:
    values = np.random.default_rng(0).integers(0, 5, size=1_000) / 4
    interval = bootstrap_interval(values)
    # Means of 1,000 quarters have few decimals; what adding and rounding leave behind is cut off.
    assert (interval.low, interval.high) == (round(interval.low, 9), round(interval.high, 9))


@given(scores, st.integers(0, 2**32), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_bootstrap_interval_has_the_same_bits_in_any_order(
    values: list[float], seed: int, order: random.Random
) -> None:
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


@given(scores)
@settings(max_examples=60, deadline=None)
def test_bootstrap_interval_lies_between_the_least_and_the_greatest_value(values: list[float]) -> None:
    interval = bootstrap_interval(values, resamples=50)
    assert min(values) <= interval.low <= interval.high <= max(values)


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
        interval = bootstrap_interval([0.0, scale, 3 * scale], resamples=500)
        assert 0.0 <= interval.low < interval.high <= 3 * scale


@pytest.mark.parametrize("n", [30, 100], ids=["drawn one by one", "drawn as Poisson counts"])
def test_bootstrap_interval_covers_the_mean_about_as_often_as_it_says(n: int) -> None:
    rng = np.random.default_rng(11)
    samples = rng.beta(2.0, 1.0, size=(500, n))
    intervals = [bootstrap_interval(sample, resamples=500, seed=i) for i, sample in enumerate(samples)]
    covered = np.mean([interval.low <= 2 / 3 <= interval.high for interval in intervals])
    # The percentile interval is known to cover a little less than it says at small n (about 0.935 here);
    # three standard errors of 500 trials are 0.03.
    assert 0.905 <= covered <= 0.98


def test_clustered_interval_is_wider_where_the_values_of_a_cluster_are_alike() -> None:
    rng = np.random.default_rng(4)
    clusters = np.repeat(np.arange(40), 10)
    values = rng.random(40)[clusters] + 0.01 * rng.random(400)
    naive, clustered = bootstrap_interval(values), bootstrap_interval(values, clusters=clusters)
    # Ten equal values count as one, so the interval is about sqrt(10) = 3.16 times as wide.
    assert (clustered.high - clustered.low) / (naive.high - naive.low) == pytest.approx(3.16, abs=0.25)


def test_clustered_mean_weighs_clusters_by_their_size() -> None:
    # Resamples of {0, 0, 0} and {4}: means 0, (0 + 4) / 4 = 1, and 4.
    values, clusters = [0.0, 0.0, 0.0, 4.0], ["x", "x", "x", "y"]
    interval = bootstrap_interval(values, clusters=clusters, confidence=0.4)
    assert (interval.low, interval.high) == (1.0, 1.0)


def test_bootstrap_of_ten_thousand_values_stays_within_a_few_megabytes() -> None:
    values = np.random.default_rng(5).random(10_000)
    tracemalloc.start()
    bootstrap_interval(values, resamples=1_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


def test_mean_interval_is_wilsons_for_proportions_and_the_bootstrap_for_all_else() -> None:
    assert mean_interval([0, 1, 1, True]) == wilson_interval(3, 4)
    assert mean_interval([0.0, 0.5, 1.0]) == bootstrap_interval([0.0, 0.5, 1.0])
    assert mean_interval([0, 1, 1], method="bootstrap", seed=3) == bootstrap_interval([0, 1, 1], seed=3)
    assert mean_interval([0, 1, 1], method="normal") == normal_interval([0, 1, 1])


def test_mean_interval_is_none_where_it_cannot_be_told() -> None:
    assert mean_interval([0.7]) is None
    assert mean_interval([0.7], method="normal") is None
    # One success in one is a proportion, and Wilson's interval can tell: from 1 / (1 + z^2) = 0.2065 to 1.
    assert mean_interval([1]) == wilson_interval(1, 1)


def test_values_that_are_all_equal_get_no_interval_of_no_width() -> None:
    # Wilson's interval at p = 0.925 with n = 4, z^2 / n = 0.960365: middle (0.925 + 0.480182) / 1.960365 =
    # 0.716796, half 1.959964 * sqrt(0.925 * 0.075 / 4 + 0.960365 / 16) / 1.960365 = 0.278092.
    rubric = mean_interval([0.925] * 4)
    assert rubric is not None
    assert (rubric.low, rubric.high) == pytest.approx((0.438705, 0.994888), abs=1e-6)
    assert rubric.method == "Wilson score at the widest spread, resamples all alike"
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
        (
            bootstrap_interval,
            {"clusters": ["a"]},
            "clusters: expected one label for each of the 2 values, got 1",
        ),
        (bootstrap_interval, {"clusters": ["a", None]}, r"clusters\[1\]: expected a label, got None"),
        (bootstrap_interval, {"confidence": 95}, "confidence: expected a number between 0 and 1, got 95"),
        (bootstrap_interval, {"resamples": 0}, "resamples: expected a whole number of at least 1, got 0"),
        (bootstrap_interval, {"seed": -1}, "seed: expected a whole number of at least 0, got -1"),
        (mean_interval, {"method": "wilson"}, "all 0 or 1"),
        (mean_interval, {"method": "bootsrap"}, "unknown interval method 'bootsrap'; did you mean bootstrap"),
    ],
)
def test_what_makes_no_sense_is_refused(interval: Any, given_: dict[str, Any], message: str) -> None:
    with pytest.raises(RagEvalError, match=message):
        interval(**{"values": [0.5, 0.6], **given_})


def test_more_successes_than_trials_are_refused() -> None:
    with pytest.raises(UsageError, match=r"successes: expected at most n \(3\), got 4"):
        wilson_interval(4, 3)


def test_the_end_of_a_bootstrap_interval_is_never_a_negative_zero() -> None:
    interval = bootstrap_interval([0.0] * 11 + [1 / 3], seed=0)
    assert interval.low == 0
    assert math.copysign(1, interval.low) == 1
