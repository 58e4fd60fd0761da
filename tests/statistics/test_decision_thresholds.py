"""Thresholds: chosen by the stated rule, judged on what they were not chosen by, refused for few labels."""

from __future__ import annotations

import numpy as np
import pytest

from rag_evaluation_framework import UsageError
from rag_evaluation_framework.statistics.classification import Confusion, suggested_threshold

# Ten negatives at 0.1 and 0.2, ten positives at 0.2 and 0.6.
SCORES = [0.1] * 8 + [0.2] * 2 + [0.2] * 1 + [0.6] * 9
TRUTHS = [0] * 10 + [1] * 10


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
    found = suggested_threshold(SCORES, TRUTHS, rule=rule)  # type: ignore[arg-type]
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
    assert suggested_threshold([0.1] * 9 + [0.2] + [0.9] * 10, TRUTHS).threshold == pytest.approx(0.55)


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
    with pytest.raises(UsageError, match="at least 10 labels of each class, got 9 of one"):
        suggested_threshold(SCORES, [0] * 11 + [1] * 9)
