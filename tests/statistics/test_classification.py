"""Counts, thresholds, reliability and ranks: hand-worked tables, and other tools' numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import InputError, UsageError
from rag_evaluation_framework.statistics.agreement import Resampling, cohens_kappa
from rag_evaluation_framework.statistics.classification import (
    Confusion,
    auroc,
    classification_figures,
    confusion,
    kappa,
    pearson,
    reliability,
    spearman,
    suggested_threshold,
)
from rag_evaluation_framework.statistics.intervals import wilson_interval

FLAGS = [1, 1, 1, 0, 0, 0, 0, 1, 0, 0]
TRUTHS = [1, 1, 0, 1, 0, 0, 0, 1, 0, 0]


def test_the_figures_of_a_table() -> None:
    # Flagged: positions 0, 1, 2, 7; true: 0, 1, 3, 7. Both: 0, 1, 7.
    assert confusion(FLAGS, TRUTHS) == Confusion(3, 1, 1, 5)
    figures = classification_figures(Confusion(3, 1, 1, 5))
    assert figures.precision.value == 3 / 4
    assert figures.recall.value == 3 / 4
    assert figures.specificity.value == 5 / 6
    assert figures.f1.value == pytest.approx(2 * 3 / (2 * 3 + 1 + 1), abs=1e-15)
    assert figures.accuracy.value == 8 / 10
    assert figures.balanced_accuracy.value == pytest.approx((3 / 4 + 5 / 6) / 2, abs=1e-15)


def test_shares_have_wilsons_interval_and_f1_that_of_its_jaccard() -> None:
    figures = classification_figures(Confusion(3, 1, 1, 5))
    assert figures.precision.interval == wilson_interval(3, 4)
    # TP / (TP + FP + FN) = 3 / 5, and F1 = 2 J / (1 + J).
    of_jaccard = wilson_interval(3, 5)
    assert figures.f1.interval is not None
    assert figures.f1.interval.low == pytest.approx(2 * of_jaccard.low / (1 + of_jaccard.low), abs=1e-15)
    assert figures.f1.interval.high == pytest.approx(2 * of_jaccard.high / (1 + of_jaccard.high), abs=1e-15)


def test_balanced_accuracy_joins_the_two_intervals_by_their_squares() -> None:
    figures = classification_figures(Confusion(3, 1, 1, 5))
    recall, specificity = wilson_interval(3, 4), wilson_interval(5, 6)
    down = math.sqrt((3 / 4 - recall.low) ** 2 + (5 / 6 - specificity.low) ** 2) / 2
    assert figures.balanced_accuracy.interval is not None
    assert figures.balanced_accuracy.interval.low == pytest.approx((3 / 4 + 5 / 6) / 2 - down, abs=1e-15)


def test_what_was_never_flagged_has_no_precision_and_what_never_is_no_recall() -> None:
    figures = classification_figures(Confusion(0, 0, 4, 6))
    assert figures.precision.value is None
    assert figures.recall.value == 0.0
    figures = classification_figures(Confusion(0, 3, 0, 6))
    assert (figures.recall.value, figures.balanced_accuracy.value) == (None, None)
    assert classification_figures(Confusion(0, 0, 0, 5)).f1.value is None


def test_kappa_of_the_counts_is_cohens_kappa_with_an_interval_around_it() -> None:
    # Observed agreement 0.8; by chance 0.4 x 0.4 + 0.6 x 0.6 = 0.52: (0.8 - 0.52) / 0.48 = 7/12.
    found = kappa(Confusion(3, 1, 1, 5))
    assert found.value == pytest.approx(7 / 12, abs=1e-12)
    assert found.value == pytest.approx(cohens_kappa(FLAGS, TRUTHS), abs=1e-12)
    assert found.interval is not None
    assert found.interval.low < 7 / 12 < found.interval.high


def test_anything_but_0_and_1_is_refused_by_its_place() -> None:
    with pytest.raises(InputError, match=r"flags\[1\]: expected 0 or 1, got 0.5"):
        confusion([1, 0.5], [1, 0])


@given(st.tuples(*[st.integers(0, 40)] * 4).filter(any))
def test_figures_lie_in_their_intervals_and_between_0_and_1(counts: tuple[int, int, int, int]) -> None:
    figures = classification_figures(Confusion(*counts))
    for name in ("precision", "recall", "specificity", "f1", "accuracy", "balanced_accuracy"):
        estimate = getattr(figures, name)
        if estimate.value is not None:
            assert -1e-12 <= estimate.interval.low <= estimate.value + 1e-12
            assert estimate.value - 1e-12 <= estimate.interval.high <= 1 + 1e-12


# Ten negatives at 0.1 and 0.2, ten positives at 0.2 and 0.6.
SCORES = [0.1] * 8 + [0.2] * 2 + [0.2] * 1 + [0.6] * 9
SCORE_TRUTHS = [0] * 10 + [1] * 10


@pytest.mark.parametrize(
    ("rule", "threshold", "counts"),
    [
        # Cut at 0.15: recall 10/10, specificity 8/10: 1.8. Cut at 0.4: 9/10 and 10/10: 1.9.
        ("youden", 0.4, Confusion(9, 0, 1, 10)),
        # Cut at 0.15: F1 = 20 / (20 + 2) = 0.909. Cut at 0.4: 18 / (18 + 1) = 0.947.
        ("f1", 0.4, Confusion(9, 0, 1, 10)),
    ],
)
def test_the_threshold_makes_the_rule_largest(rule: str, threshold: float, counts: Confusion) -> None:
    found = suggested_threshold(SCORES, SCORE_TRUTHS, rule=rule)  # type: ignore[arg-type]
    assert found.threshold == pytest.approx(threshold)
    assert found.counts == counts


def test_f1_and_youden_differ_where_positives_are_rare() -> None:
    # 10 positives: 5 at 3, 5 at 2. 100 negatives: 15 at 2, 85 at 1.
    scores, truths = [3] * 5 + [2] * 5 + [2] * 15 + [1] * 85, [1] * 10 + [0] * 100
    # Youden: cut at 2.5: 0.5; at 1.5: 1 + 0.85 - 1 = 0.85.
    assert suggested_threshold(scores, truths, rule="youden").threshold == 1.5
    # F1: cut at 2.5: 10 / 15 = 0.667; at 1.5: 20 / 35 = 0.571.
    assert suggested_threshold(scores, truths, rule="f1").threshold == 2.5


def test_of_equally_good_cuts_the_one_in_the_widest_gap_is_taken() -> None:
    # Perfect at any cut above 0.2 and up to 0.9; there is one gap only.
    assert suggested_threshold([0.1] * 9 + [0.2] + [0.9] * 10, SCORE_TRUTHS).threshold == pytest.approx(0.55)


def youden(counts: Confusion) -> float:
    recall = counts.true_positives / counts.positives
    return recall + counts.true_negatives / counts.negatives - 1


def test_scores_without_information_are_found_out_by_cross_validation() -> None:
    rng = np.random.default_rng(2)
    found = [suggested_threshold(rng.random(60), rng.random(60) < 0.5) for _ in range(40)]
    assert np.mean([youden(each.counts) for each in found]) > 0.15
    assert abs(np.mean([youden(each.cross_validated) for each in found])) < 0.06
    assert {each.cross_validated.n for each in found} == {60}


def test_cross_validation_is_the_same_for_the_same_seed_in_any_order() -> None:
    rng = np.random.default_rng(5)
    scores, truths = rng.random(50), rng.random(50) < 0.4
    order = rng.permutation(50)
    assert suggested_threshold(scores, truths, seed=3) == suggested_threshold(
        scores[order], truths[order], seed=3
    )


def test_fewer_than_ten_of_a_class_are_refused() -> None:
    with pytest.raises(UsageError, match="at least 10 labels per class, got 9"):
        suggested_threshold(SCORES, [0] * 11 + [1] * 9)


def test_the_error_is_the_mean_distance_of_said_and_true_share_weighted_by_items() -> None:
    # [0, 0.5): 0.2 and 0.4, one of them true: said 0.3, true 0.5. [0.5, 1]: 0.9, 1.0 and 0.8, all true:
    # said 0.9, true 1.
    found = reliability([0.2, 0.4, 0.9, 1.0, 0.8], [0, 1, 1, 1, 1], bins=2)
    low, high = found.bins
    assert (low.n, low.mean_score, low.positive_share) == (2, pytest.approx(0.3), 0.5)
    assert (high.n, high.mean_score, high.positive_share) == (3, pytest.approx(0.9), 1.0)
    assert high.interval == wilson_interval(3, 3)
    assert found.expected_calibration_error == pytest.approx(2 / 5 * 0.2 + 3 / 5 * 0.1)


def test_empty_bins_are_left_out_and_1_belongs_to_the_last() -> None:
    found = reliability([0.05, 1.0], [0, 1])
    assert [(each.low, each.high) for each in found.bins] == [(0.0, 0.1), (0.9, 1.0)]


def test_well_calibrated_scores_have_a_small_error() -> None:
    rng = np.random.default_rng(1)
    scores = rng.random(20_000)
    assert reliability(scores, rng.random(20_000) < scores).expected_calibration_error < 0.02


def test_a_score_above_1_is_refused() -> None:
    with pytest.raises(InputError, match=r"scores\[1\]: expected a number from 0 to 1, got 1.2"):
        reliability([0.9, 1.2, 0.3], [0, 1, 1])


FEW = Resampling(resamples=200)

numbers = st.integers(-5, 5).map(float)


def test_auroc_counts_pairs_in_the_right_order_and_half_of_the_ties() -> None:
    # Positives 0.9, 0.5; negatives 0.5, 0.4, 0.1. Of 6 pairs 5 are right and (0.5, 0.5) is a tie: 5.5 / 6.
    assert auroc([0.9, 0.5, 0.5, 0.4, 0.1], [1, 1, 0, 0, 0], resampling=FEW).value == pytest.approx(5.5 / 6)


@pytest.mark.parametrize(("scores", "expected"), [([1, 2, 3, 4], 1.0), ([4, 3, 2, 1], 0.0), ([7] * 4, 0.5)])
def test_auroc_is_1_for_the_right_order_0_for_the_reverse_else_half(
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
