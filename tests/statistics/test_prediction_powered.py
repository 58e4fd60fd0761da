"""Corrected estimates: they cover the truth, beat labels only, and agree with arithmetic by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import UsageError
from rag_evaluation_framework.statistics.intervals import wilson_interval
from rag_evaluation_framework.statistics.prediction_powered import corrected_mean, rogan_gladen_rate

DRAWS = 2_000

# Sensitivity and false alarms of flags. The biased one says 49 % where the truth is 19 %:
# 0.19 x 0.9 + 0.81 x 0.39383 = 0.171 + 0.319 = 0.49.
BIASED = (0.9, 0.319 / 0.81)
GOOD = (0.95, 0.05)
BAD = (0.7, 0.4)
USELESS = (0.5, 0.5)
CONTRARY = (0.3, 0.7)


def simulated(
    rate: float, flag: tuple[float, float], *, labels: int, unlabelled: int, seed: int
) -> tuple[float, float, float]:
    """Return how often the interval covers the rate, its mean width and that of labels only."""
    rng = np.random.default_rng(seed)
    covered, width, width_alone = 0, 0.0, 0.0
    for _ in range(DRAWS):
        truth = rng.random(labels + unlabelled) < rate
        flagged = rng.random(labels + unlabelled) < np.where(truth, *flag)
        found = corrected_mean(truth[:labels], flagged[:labels], flagged[labels:])
        alone = wilson_interval(int(truth[:labels].sum()), labels)
        assert found.interval is not None
        covered += found.interval.low <= rate <= found.interval.high
        width += found.interval.high - found.interval.low
        width_alone += alone.high - alone.low
    return covered / DRAWS, width / DRAWS, width_alone / DRAWS


@pytest.mark.parametrize(
    ("rate", "flag", "labels", "unlabelled", "narrowed_to"),
    [
        (0.19, BIASED, 100, 5_000, 0.95),
        (0.05, GOOD, 100, 1_000, 0.80),
        (0.05, BAD, 100, 1_000, 1.005),
        (0.05, USELESS, 100, 1_000, 1.005),
        (0.19, GOOD, 100, 1_000, 0.66),
        (0.19, USELESS, 100, 1_000, 1.005),
        (0.50, GOOD, 100, 1_000, 0.58),
        (0.50, BAD, 100, 1_000, 0.99),
        (0.50, CONTRARY, 100, 1_000, 1.005),
        (0.05, GOOD, 40, 500, 1.005),
        (0.19, BIASED, 40, 500, 1.005),
        (0.19, GOOD, 40, 500, 1.005),
    ],
)
def test_intervals_cover_the_truth_and_are_never_much_wider_than_labels_alone(
    rate: float, flag: tuple[float, float], labels: int, unlabelled: int, narrowed_to: float
) -> None:
    coverage, width, alone = simulated(rate, flag, labels=labels, unlabelled=unlabelled, seed=labels)
    assert coverage >= 0.93
    assert width <= narrowed_to * alone


def test_means_of_graded_labels_are_covered_and_narrower_than_labels_alone() -> None:
    rng = np.random.default_rng(3)
    covered, width, alone = 0, 0.0, 0.0
    for _ in range(DRAWS):
        truth = rng.beta(8.0, 2.0, 560)  # mean 8 / 10
        said = 0.5 * truth + rng.normal(0.0, 0.05, 560)
        found = corrected_mean(truth[:60], said[:60], said[60:])
        assert found.interval is not None
        assert found.labels_interval is not None
        covered += found.interval.low <= 0.8 <= found.interval.high
        width += found.interval.high - found.interval.low
        alone += found.labels_interval.high - found.labels_interval.low
    assert covered / DRAWS >= 0.93
    assert width < 0.85 * alone


def test_the_weight_and_the_estimate_are_those_of_the_arithmetic() -> None:
    # Labels 1 1 0 0 0 0, flags 1 1 1 0 0 0; four labels more, one in each corner: 10 pairs, of which
    # (1, 1) three, (1, 0) one, (0, 1) two, (0, 0) four. Means 0.4 and 0.5.
    # Covariance 3/10 - 0.4 x 0.5 = 0.1; variance of the flags 0.25; 6 labels beside 60 others: x 1.1.
    # Weight 0.1 / 0.275 = 4/11. Estimate 2/6 + 4/11 x (42/60 - 3/6) = 1/3 + 4/11 x 0.2.
    found = corrected_mean([1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0], [1] * 42 + [0] * 18)
    assert found.weight == pytest.approx(4 / 11, abs=1e-15)
    assert found.value == pytest.approx(1 / 3 + 0.8 / 11, abs=1e-15)
    # Variance left: (0.24 - 2 x 4/11 x 0.1 + (4/11)^2 x 0.275) / 0.24.
    left = (0.24 - 0.8 / 11 + 16 / 121 * 0.275) / 0.24
    assert found.effective_labels == pytest.approx(6 / left, abs=1e-12)
    assert (found.n_labels, found.n_unlabelled, found.labels_value) == (6, 60, 2 / 6)


def test_the_weight_and_the_interval_of_graded_labels_are_those_of_the_arithmetic() -> None:
    # In tenths from the means of 0.5: labels -3 -1 1 3, predictions -3 1 -1 3. Both variances are
    # (9 + 1 + 1 + 9) / 4 = 5, and stay so with four labels more at one standard deviation from both means;
    # covariance (9 - 1 - 1 + 9 + 5 - 5 - 5 + 5) / 8 = 2; 4 labels beside 16 others: 5 x (1 + 4/16) = 6.25.
    # Weight 2 / 6.25 = 0.32. Estimate 0.5 + 0.32 x (0.7 - 0.5).
    found = corrected_mean([0.2, 0.4, 0.6, 0.8], [0.2, 0.6, 0.4, 0.8], [0.6, 0.8] * 8)
    assert found.weight == pytest.approx(0.32, abs=1e-12)
    assert found.value == pytest.approx(0.564, abs=1e-12)
    # Variance left: (5 - 2 x 0.32 x 2 + 0.32^2 x 6.25) / 5 = 4.36 / 5.
    assert found.effective_labels == pytest.approx(4 / 0.872, abs=1e-12)
    # Variance of the labels (0.09 + 0.01 + 0.01 + 0.09) / 3; t with 4 - 2 degrees of freedom, alone 4 - 1.
    half = 4.302652729911275 * math.sqrt(0.2 / 3 * 0.872 / 4)
    half_alone = 3.182446305284263 * math.sqrt(0.2 / 3 / 4)
    assert found.interval is not None
    assert found.labels_interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((0.564 - half, 0.564 + half), abs=1e-9)
    alone = found.labels_interval
    assert (alone.low, alone.high) == pytest.approx((0.5 - half_alone, 0.5 + half_alone), abs=1e-9)


@pytest.mark.parametrize(
    ("labels", "unlabelled", "degrees"),
    [
        ([0.2], [], 0),
        ([0.2, 0.4], [], 1),  # 2 - 1 without a weight
        ([0.2, 0.4], [0.1, 0.9], 0),  # 2 - 2 with one
        ([0.2, 0.4, 0.7], [0.1, 0.9], 1),
    ],
)
def test_graded_labels_need_a_degree_of_freedom(
    labels: list[float], unlabelled: list[float], degrees: int
) -> None:
    found = corrected_mean(labels, labels, unlabelled)
    assert (found.weight > 0) == bool(unlabelled)
    assert (found.interval is not None) == (degrees > 0)


@pytest.mark.parametrize(
    ("labels", "predictions", "unlabelled", "value"),
    [
        ([1], [0.9], [0.2, 0.8], 1.0),  # a single label does not tell how good the predictions are
        ([1, 0, 1], [0.9, 0.2, 0.8], [], 2 / 3),
        ([1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1, 0] * 50, 0.5),  # they run against the labels
        ([0.25, 0.5, 0.75], [0.5, 0.5, 0.5], [0.4, 0.6], 0.5),  # they are the same for all that is labelled
    ],
)
def test_predictions_that_tell_nothing_leave_the_labels_alone(
    labels: list[float], predictions: list[float], unlabelled: list[float], value: float
) -> None:
    found = corrected_mean(labels, predictions, unlabelled)
    assert (found.weight, found.value, found.effective_labels) == (0.0, value, len(labels))
    assert found.interval is not None
    assert found.labels_interval is not None
    alone = found.labels_interval
    assert (found.interval.low, found.interval.high) == pytest.approx((alone.low, alone.high), abs=1e-15)


def test_labels_that_are_all_the_same_number_tell_no_interval() -> None:
    found = corrected_mean([0.7, 0.7, 0.7], [0.1, 0.2, 0.3], [0.5, 0.6])
    assert found.interval is None
    assert found.value == pytest.approx(0.7)


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.floats(0, 1)), min_size=2, max_size=30),
    st.lists(st.floats(0, 1), max_size=30),
)
def test_order_changes_no_bit_and_shares_stay_in_0_to_1(
    pairs: list[tuple[float, float]], others: list[float]
) -> None:
    first = corrected_mean(*map(list, zip(*pairs, strict=True)), others)
    shuffled = sorted(pairs, key=lambda pair: (-pair[1], pair[0]))
    again = corrected_mean(*map(list, zip(*shuffled, strict=True)), sorted(others))
    assert again == first
    assert first.interval is not None
    assert 0.0 <= first.interval.low <= first.value <= first.interval.high <= 1.0
    assert 0.0 <= first.weight <= 1.0
    assert first.effective_labels >= first.n_labels * (1 - 1e-9)


def test_rogan_gladen_is_the_arithmetic_of_the_paper() -> None:
    # 49 of 100 flagged, sensitivity 18/20 = 0.9, specificity 48/80 = 0.6:
    # (0.49 + 0.6 - 1) / (0.9 + 0.6 - 1) = 0.09 / 0.5 = 0.18.
    found = rogan_gladen_rate(49, 100, true_positives=18, positives=20, true_negatives=48, negatives=80)
    assert found is not None
    assert found.value == pytest.approx(0.18, abs=1e-12)
    assert (found.flagged_rate, found.sensitivity, found.specificity) == (0.49, 0.9, 0.6)
    # The interval, step by step: z^2 = 3.8415; p = 50.9207 / 103.8415; se = 19/22; sp = 49/82.
    z2 = 1.959963984540054**2
    p, se, sp = (49 + z2 / 2) / (100 + z2), 19 / 22, 49 / 82
    middle = (p + sp - 1) / (se + sp - 1)
    of_se, of_sp = se * (1 - se) / 22, sp * (1 - sp) / 82
    shift = 2 * z2 * (middle * of_se - (1 - middle) * of_sp)
    variance = p * (1 - p) / (100 + z2) + middle**2 * of_se + (1 - middle) ** 2 * of_sp
    half = math.sqrt(z2 * variance) / (se + sp - 1)
    assert found.interval.low == pytest.approx(max(middle + shift - half, 0.0), abs=1e-12)
    assert found.interval.high == pytest.approx(middle + shift + half, abs=1e-12)


@pytest.mark.parametrize("rate", [0.05, 0.19, 0.5])
def test_rogan_gladen_intervals_carry_the_uncertainty_of_sensitivity_and_specificity(rate: float) -> None:
    rng = np.random.default_rng(11)
    # The labelled items are others than the flagged ones, half of them positive: a rate of their own.
    found = rng.binomial(60, 0.85, DRAWS), rng.binomial(60, 0.8, DRAWS)
    flagged = rng.binomial(1_000, rate * 0.85 + (1 - rate) * 0.2, DRAWS)
    covered = 0
    for hits, passes, raised in zip(*found, flagged, strict=True):
        estimate = rogan_gladen_rate(
            int(raised),
            1_000,
            true_positives=int(hits),
            positives=60,
            true_negatives=int(passes),
            negatives=60,
        )
        assert estimate is not None
        covered += estimate.interval.low <= rate <= estimate.interval.high
    assert covered / DRAWS >= 0.93


def test_a_flag_no_better_than_chance_tells_no_rate() -> None:
    assert rogan_gladen_rate(50, 100, true_positives=5, positives=10, true_negatives=5, negatives=10) is None
    # 1/1 + 1/10 is above 1, but with one of each kind added, as the interval has it, 2/3 + 2/12 is not.
    assert rogan_gladen_rate(50, 100, true_positives=1, positives=1, true_negatives=1, negatives=10) is None


@pytest.mark.parametrize("name", ["flagged", "true_positives", "true_negatives"])
def test_more_than_there_are_is_refused(name: str) -> None:
    counts = {"flagged": 4, "true_positives": 9, "true_negatives": 9} | {name: 11}
    with pytest.raises(UsageError, match=f"{name}: expected at most 10, got 11"):
        rogan_gladen_rate(n=10, positives=10, negatives=10, **counts)
