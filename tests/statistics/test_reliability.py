"""Scores read as probabilities, against bins filled by hand."""

from __future__ import annotations

import numpy as np
import pytest

from rag_evaluation_framework import InputError
from rag_evaluation_framework.statistics.classification import reliability
from rag_evaluation_framework.statistics.intervals import wilson_interval


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
