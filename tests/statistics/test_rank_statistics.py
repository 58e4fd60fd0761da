"""AUROC and correlations: hand-worked tables, other tools' numbers, and intervals that cover."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.statistics.agreement import Resampling
from rag_evaluation_framework.statistics.classification import auroc, pearson, spearman

FEW = Resampling(resamples=200)

numbers = st.integers(-5, 5).map(float)


def test_auroc_counts_pairs_in_the_right_order_and_half_of_the_ties() -> None:
    # Positives 0.9, 0.5; negatives 0.5, 0.4, 0.1. Of 6 pairs 5 are right and (0.5, 0.5) is a tie: 5.5 / 6.
    assert auroc([0.9, 0.5, 0.5, 0.4, 0.1], [1, 1, 0, 0, 0], resampling=FEW).value == pytest.approx(5.5 / 6)


@pytest.mark.parametrize(("scores", "expected"), [([1, 2, 3, 4], 1.0), ([4, 3, 2, 1], 0.0), ([7] * 4, 0.5)])
def test_auroc_is_1_for_the_right_order_0_for_the_reverse_and_a_half_for_none(
    scores: list[int], expected: float
) -> None:
    assert auroc(scores, [0, 0, 1, 1], resampling=FEW).value == expected
    assert auroc(scores, [1, 1, 1, 1], resampling=FEW).value is None  # of one class it is not defined


def test_auroc_agrees_with_the_u_statistic() -> None:
    rng = np.random.default_rng(0)
    truths = rng.random(200) < 0.3
    scores = np.round(truths * 0.3 + rng.random(200), 1)
    u = scipy.stats.mannwhitneyu(scores[truths], scores[~truths]).statistic
    assert auroc(scores, truths, resampling=FEW).value == pytest.approx(
        u / truths.sum() / (~truths).sum(), abs=1e-12
    )


@given(st.lists(st.tuples(numbers, numbers), min_size=3, max_size=30))
def test_correlations_agree_with_scipy(pairs: list[tuple[float, float]]) -> None:
    x, y = map(list, zip(*pairs, strict=True))
    constant = len(set(x)) == 1 or len(set(y)) == 1
    for ours, theirs in ((pearson, scipy.stats.pearsonr), (spearman, scipy.stats.spearmanr)):
        found = ours(x, y, resampling=Resampling(resamples=10)).value
        assert found is None if constant else found == pytest.approx(theirs(x, y).statistic, abs=1e-9)


def test_spearman_takes_the_ranks_of_each_resample_anew() -> None:
    # In order but far from a line: every resample is in order too, all are alike, and tell no interval.
    x = list(range(10))
    found = spearman(x, [2.0**each for each in x], resampling=FEW)
    assert (found.value, found.interval) == (pytest.approx(1.0), None)
    assert pearson(x, [2.0**each for each in x], resampling=FEW).interval is not None


def test_the_order_of_items_changes_no_bit() -> None:
    rng = np.random.default_rng(4)
    x, y = rng.random(60), rng.random(60)
    truths = y > 0.5
    shuffled = rng.permutation(60)
    for figure in (spearman, pearson):
        assert figure(x, y, resampling=FEW) == figure(x[shuffled], y[shuffled], resampling=FEW)
    assert auroc(x, truths, resampling=FEW) == auroc(x[shuffled], truths[shuffled], resampling=FEW)


def test_the_interval_of_auroc_covers_the_truth() -> None:
    # Scores of positives are normal around 1, of negatives around 0: AUROC is Phi(1 / sqrt 2) = 0.7602.
    rng = np.random.default_rng(8)
    covered = 0
    for _ in range(200):
        truths = np.arange(80) < 30
        found = auroc(rng.normal(truths, 1.0), truths, resampling=Resampling(resamples=400)).interval
        assert found is not None
        covered += found.low <= 0.7602 <= found.high
    assert covered >= 180


def test_resamples_with_one_class_only_are_left_out() -> None:
    # Of three items one is positive: (2/3)^3 + (1/3)^3 = 1/3 of the resamples have one class only. In the
    # others it is drawn with the one above it, the one below it, or both.
    found = auroc([0.9, 0.5, 0.1], [0, 1, 0], resampling=FEW)
    assert found.interval is not None
    assert (found.value, found.interval.low, found.interval.high) == (0.5, 0.0, 1.0)
