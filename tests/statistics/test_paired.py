"""Paired tests, flips, effects, power and corrections: exact where they can be, honest about chance."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_evaluation_framework import InputError, UsageError
from rag_evaluation_framework.statistics.paired import (
    Outcomes,
    cohens_d,
    flips_p_value,
    holm,
    largest_drop,
    paired_randomisation_test,
    paired_t_test,
    repeated_flips_p_value,
    sample_size,
    smallest_detectable_difference,
    wilcoxon_test,
    wins_ties_losses,
)
from rag_evaluation_framework.statistics.resampling import exact_mean, standard_deviation, whole_multiples

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
    with pytest.raises(InputError, match=r"b: expected as many values as in a \(3\), got 2"):
        test([1, 2, 3], [1, 2])
    with pytest.raises(InputError, match="a: expected at least one value"):
        test([], [])
    with pytest.raises(InputError, match=r"b\[1\]: expected a finite number, got nan"):
        test([1, 2], [1, float("nan")])


def test_one_pair_is_too_few_for_t() -> None:
    with pytest.raises(UsageError, match="at least 2 pairs, got 1"):
        paired_t_test([1], [2])


@pytest.mark.parametrize(
    ("worse", "better", "expected"),
    [
        (0, 0, 1 / 2),
        (1, 0, 1 / 4),
        (3, 0, 1 / 16),
        (4, 0, 1 / 32),  # the first that is below 0.04
        (5, 1, (1 + 6 / 2) / 64),
        (9, 3, (66 + 12 + 1 + 220 / 2) / 4096),
        *[(260, 250, None), (500, 501, None), (100_500, 99_500, None)],  # computed directly
    ],
)
def test_the_chance_of_so_many_flips_for_the_worse(worse: int, better: int, expected: float | None) -> None:
    assert expected in (None, flips_p_value(worse, better))
    binomial = scipy.stats.binom(worse + better, 0.5)
    assert flips_p_value(worse, better) == pytest.approx(binomial.sf(worse) + binomial.pmf(worse) / 2)
    assert flips_p_value(worse, better) + flips_p_value(better, worse) == pytest.approx(1.0)


# Of 14,560 and 14,112, z is the root of 7, where the next term of the direct computation is 0.
@pytest.mark.parametrize(
    ("worse", "better", "same"), [(0, 0, 3), (4, 0, 14), (3, 2, 5), (7, 1, 0), (14_560, 14_112, 9)]
)
def test_samples_asked_once_are_flips(worse: int, better: int, same: int) -> None:
    answers = [*[(1, 1, 0, 1)] * worse, *[(0, 1, 1, 1)] * better, *[(1, 1, 1, 1)] * same]
    assert repeated_flips_p_value(answers) == pytest.approx(flips_p_value(worse, better))


def test_answers_are_exchanged_within_each_sample() -> None:
    # Passing answers: of the first sample 3 of 3 before and 1 of 3 now, of the second 1 of 2 and 0 of 2.
    samples = [([1, 1, 1], [1, 0, 0]), ([1, 0], [0, 0])]
    sums = [0]
    for before, now in samples:
        drawn = [sum(each) for each in combinations([*before, *now], len(now))]
        sums = [total + each for total in sums for each in drawn]
    below, equal = sum(each < 1 for each in sums), sum(each == 1 for each in sums)
    expected = (below + equal / 2) / len(sums)
    assert repeated_flips_p_value([(3, 3, 1, 3), (1, 2, 0, 2)]) == pytest.approx(expected)


def test_a_test_that_looks_down_counts_sums_as_low_or_lower() -> None:
    before = np.array([0.9, 0.8, 0.7, 0.9, 0.6, 0.5, 0.8])
    now = np.array([0.5, 0.7, 0.8, 0.4, 0.6, 0.1, 0.7])
    found = paired_randomisation_test(now, before, looks="down")
    theirs = scipy.stats.permutation_test(
        (now, before),
        lambda a, b, axis: np.mean(a - b, axis=axis),
        permutation_type="samples",
        alternative="less",
        vectorized=True,
        n_resamples=np.inf,
    )
    assert found.p_value == pytest.approx(theirs.pvalue)
    assert found.method == "paired randomisation, exact, one-sided"
    assert paired_randomisation_test(before, now, looks="down").p_value > 0.9
    many = np.random.default_rng(0).normal(-0.1, 1, 400)
    drawn = paired_randomisation_test(many, np.zeros(400), looks="down", seed=1)
    assert drawn.p_value == pytest.approx(
        scipy.stats.ttest_1samp(many, 0, alternative="less").pvalue, abs=0.01
    )


def test_the_largest_drop_solves_its_equation_and_covers() -> None:
    z = scipy.stats.norm.ppf(0.95)
    for n in (5, 13, 100):
        assert largest_drop(0, 0, n) == pytest.approx(z**2 / (n + z**2))  # Tango's interval without any flip
    assert largest_drop(6, 0, 13) > 6 / 13
    rng = np.random.default_rng(7)
    before, now = 0.95, 0.80
    covered = 0
    for _ in range(2_000):
        passed, passes = rng.random(60) < before, rng.random(60) < now
        worse, better = int((passed & ~passes).sum()), int((passes & ~passed).sum())
        covered += largest_drop(worse, better, 60) >= before - now
    assert 0.93 < covered / 2_000 < 0.98


p_values = st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20)


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=50), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_mean_and_deviation_do_not_depend_on_order(values: list[float], order: random.Random) -> None:
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
def test_holm_keeps_order_between_p_and_bonferroni(given_p: list[float], order: random.Random) -> None:
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
        (lambda: sample_size(0.0, 1.0), "difference: too small to detect"),
        (lambda: sample_size(1e-200, 1.0), "difference: too small to detect"),
        (lambda: standard_deviation([1.0]), "at least 2 values, got 1"),
    ],
)
def test_plans_that_make_no_sense_are_refused(plan: Callable[[], float], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plan()
