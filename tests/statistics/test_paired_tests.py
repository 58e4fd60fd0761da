"""Paired tests: exact where they can be, honest about chance, independent of the order of the pairs."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_evaluation_framework import InputError, UsageError
from rag_evaluation_framework.statistics.paired import paired_randomisation_test, paired_t_test, wilcoxon_test

TESTS = pytest.mark.parametrize("test", [paired_randomisation_test, paired_t_test, wilcoxon_test])

pairs = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=2, max_size=40)


def test_randomisation_of_a_worked_case_counts_all_signs() -> None:
    # Differences 1, 2, 3: of the 8 sums ±1 ±2 ±3 only 6 and -6 are as far from 0 as 6: p = 2/8.
    result = paired_randomisation_test([2, 4, 6], [1, 2, 3])
    assert (result.mean_difference, result.p_value, result.pairs) == (2.0, 0.25, 3)
    assert result.method == "paired randomisation, exact"


def test_randomisation_counts_a_swap_that_gives_the_same_sum_whatever_its_rounding() -> None:
    # 0.1 + 0.2 - 0.3 is 0 but for rounding, so all 8 signs are as far from 0: p = 1.
    assert paired_randomisation_test([0.1, 0.2, 0.0], [0.0, 0.0, 0.3]).p_value == 1.0
    # Observed 0.1 + 0.2 + 0.3 - 0.6 + 0.6 = 0.6; |sum| >= 0.6 counted in whole tenths beside it.
    tenths = [1, 2, 3, -6, 6]
    swaps = [
        sum(sign * d for sign, d in zip(signs, tenths, strict=True)) for signs in product((1, -1), repeat=5)
    ]
    expected = sum(abs(swap) >= 6 for swap in swaps) / 32
    result = paired_randomisation_test([d / 10 for d in tenths], [0.0] * 5)
    assert result.p_value == expected


@TESTS
def test_systems_that_never_differ_have_p_1(test: Any) -> None:
    result = test([0.1 + 0.2, 0.5, 0.7], [0.3, 0.5, 0.7])
    assert (result.mean_difference, result.statistic, result.p_value) == (0.0, 0.0, 1.0)


@TESTS
@given(pairs=pairs, order=st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_the_result_has_the_same_bits_in_any_order(
    test: Any, pairs: list[tuple[float, float]], order: random.Random
) -> None:
    shuffled = order.sample(pairs, len(pairs))
    assert test(*zip(*pairs, strict=True)) == test(*zip(*shuffled, strict=True))


@TESTS
@given(pairs=pairs)
@settings(max_examples=30, deadline=None)
def test_exchanging_the_systems_changes_the_sign_alone(test: Any, pairs: list[tuple[float, float]]) -> None:
    a, b = zip(*pairs, strict=True)
    forth, back = test(a, b), test(b, a)
    assert (forth.p_value, forth.mean_difference) == (back.p_value, -back.mean_difference)
    assert 0.0 <= forth.p_value <= 1.0


def test_drawn_signs_come_near_all_signs() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random(16) + 0.15, rng.random(16)
    counted = paired_randomisation_test(a, b, resamples=2**16)
    drawn = paired_randomisation_test(a, b, resamples=20_000)
    assert counted.method == "paired randomisation, exact"
    assert drawn.method == "paired randomisation, 20,000 resamples"
    assert drawn.p_value == pytest.approx(counted.p_value, abs=0.01)


def test_of_very_many_pairs_the_limit_is_what_student_says() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random(300_000) + 0.002, rng.random(300_000)
    limit = paired_randomisation_test(a, b)
    assert limit.method == "paired randomisation, normal limit"
    assert limit.p_value == pytest.approx(paired_t_test(a, b).p_value, abs=1e-4)
    better, worse = (paired_randomisation_test(*each, looks="down").p_value for each in ((a, b), (b, a)))
    assert (better, worse) == pytest.approx((1 - limit.p_value / 2, limit.p_value / 2))
    assert paired_randomisation_test(a + 1, b).p_value == 1 / 10_001
    # One difference that outweighs all others decides the sum: its sign has to be drawn.
    outlier = paired_randomisation_test(np.append(a, 1e6), np.append(b, 0))
    assert "resamples" in outlier.method
    assert outlier.p_value == pytest.approx(worse, abs=0.018)


def test_drawn_p_is_never_below_one_in_resamples_plus_one() -> None:
    a = np.linspace(1.0, 2.0, 30)
    assert paired_randomisation_test(a, np.zeros(30), resamples=999).p_value == 1 / 1000


@pytest.mark.parametrize("n", [12, 40], ids=["all signs counted", "signs drawn"])
def test_randomisation_raises_a_false_alarm_about_as_often_as_it_says(n: int) -> None:
    rng = np.random.default_rng(21)
    alarms = [
        paired_randomisation_test(rng.exponential(size=n), rng.exponential(size=n), resamples=999).p_value
        <= 0.05
        for _ in range(600)
    ]
    # Three standard errors of 600 trials at 0.05 are 0.027.
    assert np.mean(alarms) == pytest.approx(0.05, abs=0.027)


def test_t_of_a_worked_case() -> None:
    # Differences 1, 2, 3: mean 2, s = 1, t = 2 / (1 / sqrt(3)) = 3.4641; with 2 degrees of freedom
    # p = 1 - t / sqrt(2 + t^2) = 1 - 3.4641 / 3.7417 = 0.0742.
    result = paired_t_test([2, 4, 6], [1, 2, 3])
    assert result.statistic == pytest.approx(3.4641, abs=1e-4)
    assert result.p_value == pytest.approx(0.0742, abs=1e-4)


def test_t_of_differences_that_are_all_the_same_is_infinite() -> None:
    result = paired_t_test([0.3, 0.5, 0.7], [0.1, 0.3, 0.5])
    assert (result.statistic, result.p_value) == (None, 0.0)


def test_wilcoxon_of_a_worked_case() -> None:
    # Ranks of 1, -2, 3, 4: negative sum 2; sums of at most 2 among the 16: {}, {1}, {2}: p = 2 * 3/16.
    result = wilcoxon_test([1, 0, 3, 4], [0, 2, 0, 0])
    assert (result.statistic, result.p_value) == (2.0, 0.375)
    assert result.method == "Wilcoxon signed-rank, exact"


def test_wilcoxon_with_ties_counts_the_middle_ranks() -> None:
    # Sizes 1, 1, 2 have ranks 1.5, 1.5, 3 and the negative sum is 1.5; {}, {1.5}, {1.5} are at most that:
    # p = 2 * 3/8.
    result = wilcoxon_test([1, 0, 2, 5], [0, 1, 0, 5])
    assert (result.statistic, result.p_value) == (1.5, 0.75)


def test_rounding_does_not_break_a_tie_of_ranks() -> None:
    # 0.4 - 0.2 and 0.6 - 0.4 are both 0.2, though not to the last bit.
    tied = wilcoxon_test([0.4, 0.4, 1.0], [0.2, 0.6, 0.0])
    assert tied.statistic == wilcoxon_test([2, 2, 5], [1, 3, 0]).statistic == 1.5


def test_wilcoxon_is_exact_up_to_fifty_differences() -> None:
    a = np.arange(1.0, 61.0)
    assert wilcoxon_test(a[:50], np.zeros(50)).p_value == 2 / 2**50
    assert wilcoxon_test(a, np.zeros(60)).method == "Wilcoxon signed-rank, normal approximation"


@TESTS
def test_pairs_that_do_not_fit_are_refused(test: Any) -> None:
    with pytest.raises(InputError, match=r"b: expected as many values as a has \(3\), got 2"):
        test([1, 2, 3], [1, 2])
    with pytest.raises(InputError, match="a: expected at least one value"):
        test([], [])
    with pytest.raises(InputError, match=r"b\[1\]: expected a finite number, got nan"):
        test([1, 2], [1, float("nan")])


def test_one_pair_is_too_few_for_t() -> None:
    with pytest.raises(UsageError, match="at least 2 pairs, got 1"):
        paired_t_test([1], [2])
