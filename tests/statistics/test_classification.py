"""The four counts and what is made of them, against tables worked by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import InputError
from rag_evaluation_framework.statistics.agreement import cohens_kappa
from rag_evaluation_framework.statistics.classification import (
    Confusion,
    classification_figures,
    confusion,
    kappa,
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
