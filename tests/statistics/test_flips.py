"""Samples that flipped between two runs: exact tests that look one way, and how large a drop may be."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.stats

from rag_evaluation_framework.statistics.paired import (
    flips_p_value,
    largest_drop,
    paired_randomisation_test,
    repeated_flips_p_value,
)


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
