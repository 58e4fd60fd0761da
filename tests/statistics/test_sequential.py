"""A test that may be looked at every day errs as rarely as it says, and finds what it was planned for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.comparing import peeking

from rag_evaluation_framework import UsageError
from rag_evaluation_framework.statistics.sequential import (
    always_valid_p,
    always_valid_reach,
    guarded_variance,
    sequential_size,
)
from sizes import size


def test_p_is_the_inverse_of_the_mixture_likelihood_ratio() -> None:
    # v = s^2 = 1, d = 3: L = sqrt(1/2) exp(9 / 4) = 6.7088
    assert always_valid_p(3.0, 1.0, scale=1.0) == pytest.approx(1 / (math.sqrt(0.5) * math.exp(2.25)))
    assert always_valid_p(0.0, 1.0, scale=1.0) == 1.0
    assert always_valid_p(-3.0, 1.0, scale=1.0) == always_valid_p(3.0, 1.0, scale=1.0)


@pytest.mark.parametrize(
    ("variance", "scale", "alpha"), [(1.0, 1.0, 0.05), (1e-4, 0.05, 0.01), (0.3, 2.0, 0.2)]
)
def test_the_reach_is_where_p_is_alpha(variance: float, scale: float, alpha: float) -> None:
    reach = always_valid_reach(variance, scale=scale, alpha=alpha)
    assert always_valid_p(reach, variance, scale=scale) == pytest.approx(alpha)


def test_the_size_planned_is_the_least_that_is_enough() -> None:
    n = sequential_size(0.05, 0.5)
    for each, is_enough in ((n, True), (n - 1, False)):
        variance = 0.25 * 4 / each
        needed = always_valid_reach(variance, scale=0.05) + 0.8416212 * math.sqrt(variance)
        assert (needed <= 0.05) == is_enough
    assert sequential_size(0.05, 0.5, share=0.1) > n
    assert sequential_size(0.05, 0.5, power=0.9) > n


def test_equal_shares_are_not_certain_and_equal_latencies_tell_nothing() -> None:
    assert guarded_variance([1.0] * 8, is_share=True) == pytest.approx(0.1)  # nine ones and a zero
    assert guarded_variance([7.0] * 8, is_share=False) is None
    assert guarded_variance([1.0, 3.0], is_share=False) == 2.0
    assert guarded_variance([3.0], is_share=False) is None


def test_what_no_number_can_show_is_refused() -> None:
    with pytest.raises(UsageError, match="expected a number above 0"):
        sequential_size(0.0, 0.5)
    with pytest.raises(UsageError, match="too small to detect"):
        sequential_size(1e-9, 0.5)


@pytest.mark.parametrize("rate", [0.5, 0.9])
def test_looking_every_day_does_not_raise_the_error_rate(rate: float) -> None:
    rng = np.random.default_rng(1)
    found = [peeking(rng, rate, 0.0, scale=0.1, days=30, a_day=40) for _ in range(size(200, 1_000))]
    assert np.mean(found) <= 0.05  # always valid, so less than that
    naive = [peeking(rng, rate, 0.0, scale=0.1, days=30, a_day=40, naive=True) for _ in range(100)]
    assert np.mean(naive) > 0.15  # what testing anew each day would do


def test_a_difference_as_large_as_planned_is_found_as_often_as_planned() -> None:
    rng = np.random.default_rng(2)
    a_day = sequential_size(0.1, 0.5) // 20 + 1
    found = [peeking(rng, 0.5, 0.1, scale=0.1, days=20, a_day=a_day) for _ in range(400)]
    assert np.mean(found) >= 0.78
