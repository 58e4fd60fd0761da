"""Effect sizes, power, Holm's correction and exact sums."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_evaluation_framework import InputError, UsageError
from rag_evaluation_framework.statistics.paired import (
    Outcomes,
    cohens_d,
    holm,
    paired_randomisation_test,
    sample_size,
    smallest_detectable_difference,
    wins_ties_losses,
)
from rag_evaluation_framework.statistics.resampling import exact_mean, standard_deviation, whole_multiples

p_values = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20)


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=50), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_mean_and_deviation_have_the_same_bits_in_any_order(
    values: list[float], order: random.Random
) -> None:
    shuffled = order.sample(values, len(values))
    assert exact_mean(values) == exact_mean(shuffled)
    assert standard_deviation(values) == standard_deviation(shuffled)


def test_mean_keeps_what_a_plain_sum_loses() -> None:
    # 1e16 + 1 is 1e16 in floats, so a plain sum loses both ones.
    assert exact_mean([1e16, 1.0, 1.0, -1e16]) == 0.5


@given(st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=50))
@settings(max_examples=100, deadline=None)
def test_whole_multiples_are_near_the_values_and_n_of_them_fit_a_float(values: list[float]) -> None:
    array = np.array(values)
    whole, shift = whole_multiples(array)
    assert (whole == np.rint(whole)).all()
    assert len(values) * np.abs(whole).max() <= 2**53
    assert np.ldexp(whole, -shift) == pytest.approx(array, rel=0, abs=1e-12 * np.abs(array).max())


def test_cohens_d_of_worked_cases() -> None:
    # Differences 1, 2, 3: mean 2 over s = 1.
    assert cohens_d([2, 4, 6], [1, 2, 3]) == 2.0
    assert cohens_d([1, 2, 3], [2, 4, 6]) == -2.0
    assert cohens_d([1, 2], [1, 2]) == 0.0


def test_cohens_d_is_not_defined_without_spread() -> None:
    assert cohens_d([0.3, 0.5, 0.7], [0.1, 0.3, 0.5]) is None
    assert cohens_d([1], [2]) is None


def test_wins_ties_losses_follow_the_direction() -> None:
    a, b = [0.9, 0.5, 0.3, 0.1 + 0.2, 0.8], [0.1, 0.5, 0.4, 0.3, 0.7]
    assert wins_ties_losses(a, b) == Outcomes(wins=2, ties=2, losses=1)
    assert wins_ties_losses(a, b, higher_is_better=False) == Outcomes(wins=1, ties=2, losses=2)


def test_holm_of_a_worked_case() -> None:
    # Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1 is 0.02, 0.03, 0.06, 0.04; the last is raised to 0.06.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.7, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(p_values, st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_holm_keeps_the_order_and_lies_between_p_and_bonferroni(
    given_p: list[float], order: random.Random
) -> None:
    adjusted = holm(given_p)
    for p, q in zip(given_p, adjusted, strict=True):
        assert p <= q <= min(1.0, p * len(given_p))
    ranked = sorted(zip(given_p, adjusted, strict=True))
    assert [q for _, q in ranked] == sorted(adjusted)
    positions = order.sample(range(len(given_p)), len(given_p))
    assert holm([given_p[i] for i in positions]) == [adjusted[i] for i in positions]


def test_holm_names_the_number_that_is_no_probability() -> None:
    with pytest.raises(InputError, match=r"p_values\[1\]: expected a number from 0 to 1, got 1.5"):
        holm([0.5, 1.5])


def test_smallest_detectable_difference_of_a_worked_case() -> None:
    # 24 degrees of freedom: t(0.975) = 2.0639, t(0.8) = 0.8569; times 0.5 / 5.
    assert smallest_detectable_difference(0.5, 25) == pytest.approx(0.29208, abs=1e-5)
    assert smallest_detectable_difference(0.0, 25) == 0.0


@given(st.integers(2, 400), st.floats(0.01, 10.0), st.sampled_from([0.5, 0.8, 0.95]))
@settings(max_examples=30, deadline=None)
def test_sample_size_undoes_the_smallest_detectable_difference(n: int, sd: float, power: float) -> None:
    difference = smallest_detectable_difference(sd, n, power=power)
    assert sample_size(difference, sd, power=power) == n
    assert sample_size(-difference, sd, power=power) == n
    assert sample_size(difference * 0.999, sd, power=power) > n


def test_the_randomisation_test_has_the_power_that_was_planned() -> None:
    difference = smallest_detectable_difference(1.0, 40, power=0.8)
    rng = np.random.default_rng(31)
    found = [
        paired_randomisation_test(row, np.zeros(40), resamples=999).p_value <= 0.05
        for row in rng.normal(difference, 1.0, size=(500, 40))
    ]
    # Three standard errors of 500 trials at 0.8 are 0.054.
    assert np.mean(found) == pytest.approx(0.8, abs=0.054)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (lambda: smallest_detectable_difference(1.0, 1), "n: expected a whole number of at least 2, got 1"),
        (lambda: smallest_detectable_difference(float("nan"), 10), "sd: expected a finite number"),
        (lambda: sample_size(0.1, 1.0, power=80), "power: expected a number between 0 and 1, got 80"),
        (lambda: sample_size(0.0, 1.0), "difference: expected one that a number of pairs can show"),
        (lambda: sample_size(1e-200, 1.0), "difference: expected one that a number of pairs can show"),
        (lambda: standard_deviation([1.0]), "at least 2 values, got 1"),
    ],
)
def test_plans_that_make_no_sense_are_refused(plan: Callable[[], float], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plan()
