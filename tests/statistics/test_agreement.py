"""Agreement beyond chance: kappa for two raters, alpha for any number, intervals that resample clusters."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_evaluation_framework import InputError, UsageError
from rag_evaluation_framework.errors import UnknownNameError
from rag_evaluation_framework.statistics.agreement import (
    Resampling,
    alpha_of_moments,
    alpha_of_tables,
    cohens_kappa,
    coincidence_table,
    kappa_of_tables,
    krippendorff_alpha,
    moments,
    pair_table,
)

FEW = Resampling(resamples=100)
LABELS = ("a", "b", "c")
two_raters = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=30)


def test_kappa_of_a_worked_table() -> None:
    # Yes-yes 20, yes-no 5, no-yes 10, no-no 15: they agree in 0.7, by chance in 0.5 * 0.6 + 0.5 * 0.4 = 0.5;
    # (0.7 - 0.5) / (1 - 0.5) = 0.4.
    a = ["yes"] * 25 + ["no"] * 25
    b = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert cohens_kappa(a, b) == pytest.approx(0.4)


@given(pairs=two_raters)
@settings(max_examples=60, deadline=None)
def test_kappa_is_the_exact_fraction_over_all_pairs(pairs: list[tuple[int, int]]) -> None:
    observed = Fraction(sum(x != y for x, y in pairs), len(pairs))
    expected = Fraction(sum(x != y for x, _ in pairs for _, y in pairs), len(pairs) ** 2)
    kappa = cohens_kappa(*zip(*pairs, strict=True))
    if expected == 0:
        assert kappa is None
    else:
        assert kappa == pytest.approx(float(1 - observed / expected), abs=1e-12)


def test_kappa_leaves_out_items_that_one_rater_did_not_rate() -> None:
    assert cohens_kappa(["x", "y", None, "y"], ["x", "y", "x", None]) == 1.0
    assert cohens_kappa(["x", None], [None, "y"]) is None


def test_alpha_of_krippendorffs_worked_example() -> None:
    # Four observers, twelve units, from Krippendorff 2011: 0.743 and 0.849.
    ratings = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    assert krippendorff_alpha(ratings, level="nominal") == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(ratings, level="interval") == pytest.approx(0.849, abs=5e-4)


@pytest.mark.parametrize("level", ["nominal", "interval"])
def test_alpha_does_not_depend_on_the_order_of_raters_or_units(level: Any) -> None:
    rng = np.random.default_rng(1)
    table = rng.integers(0, 4, size=(4, 25)).astype(object)
    table[rng.random(table.shape) < 0.3] = None
    shuffled = table[rng.permutation(4)][:, rng.permutation(25)]
    assert krippendorff_alpha(table, level=level) == pytest.approx(krippendorff_alpha(shuffled, level=level))


def test_a_unit_with_one_rating_does_not_count() -> None:
    ratings = [["a", "b", "a", "a"], ["a", "b", "b", None]]
    assert krippendorff_alpha(ratings) == krippendorff_alpha([row[:3] for row in ratings])
    assert krippendorff_alpha([["a", None], [None, "b"]]) is None
    assert krippendorff_alpha([["a", "b"]]) is None


def test_ratings_that_do_not_fit_are_named() -> None:
    with pytest.raises(InputError, match=r"ratings\[1\]: expected 2 ratings, as for the first rater, got 1"):
        cohens_kappa(["x", "y"], ["x"])
    with pytest.raises(InputError, match="ratings: expected at least one rating per rater"):
        krippendorff_alpha([])
    with pytest.raises(UnknownNameError, match='Did you mean "interval'):
        krippendorff_alpha([[1], [1]], level="intervall")  # type: ignore[arg-type]


def test_how_units_are_grouped_changes_the_interval_and_not_the_figure() -> None:
    units = [["a", "a"], ["b", "b"], ["a", "b"], ["c", "c"], ["c", "a"], ["b", "b"]] * 5
    counts = [Counter(unit) for unit in units]
    apart = alpha_of_tables([coincidence_table([count], LABELS) for count in counts], Resampling())
    grouped = alpha_of_tables(
        [coincidence_table(counts[index::3], LABELS) for index in range(3)], Resampling()
    )
    assert grouped.value == pytest.approx(apart.value, abs=1e-9)
    assert None not in (apart.interval, grouped.interval)
    assert apart.interval != grouped.interval


def test_the_interval_is_that_of_a_plain_bootstrap() -> None:
    rng = np.random.default_rng(1)
    first = rng.integers(0, 2, 80)
    second = np.where(rng.random(80) < 0.8, first, 1 - first)
    tables = [pair_table([pair], (0, 1)) for pair in zip(first.tolist(), second.tolist(), strict=True)]
    estimate = kappa_of_tables(tables, Resampling(resamples=4000))
    drawn = []
    for _ in range(2000):
        chosen = rng.integers(0, 80, 80)
        drawn.append(cohens_kappa(first[chosen].tolist(), second[chosen].tolist()))
    low, high = np.quantile(np.array(drawn, dtype=float), [0.025, 0.975])
    assert estimate.interval is not None
    # Both ends are themselves estimates, here with a standard error of about 0.006.
    assert (estimate.interval.low, estimate.interval.high) == pytest.approx((low, high), abs=0.03)


def test_the_same_seed_gives_the_same_interval() -> None:
    pairs = [("a", "a"), ("a", "b"), ("b", "b"), ("c", "b"), ("c", "c")] * 7
    tables = [pair_table([pair], LABELS) for pair in pairs]
    other = Resampling(resamples=100, seed=9)
    assert kappa_of_tables(tables, FEW) == kappa_of_tables(tables[::-1], FEW)
    assert kappa_of_tables(tables, FEW).interval != kappa_of_tables(tables, other).interval


def test_what_chance_could_not_disagree_on_is_not_defined() -> None:
    assert cohens_kappa(["yes", "yes"], ["yes", "yes"]) is None
    assert krippendorff_alpha([[1, 1, 1], [1, 1, 1]], level="interval") is None
    assert kappa_of_tables([pair_table([("a", "a")] * 5, LABELS)] * 3, FEW).value is None
    assert alpha_of_tables([coincidence_table([{"a": 3}], LABELS)] * 3, FEW).value is None
    assert alpha_of_moments([moments([[0.8, 0.8]], centre=0.8)] * 3, FEW).value is None
    assert alpha_of_tables([], FEW).value is None
    assert alpha_of_moments([moments([[0.8]])], FEW).value is None


def test_one_cluster_has_a_figure_and_no_interval() -> None:
    estimate = kappa_of_tables([pair_table([("a", "a"), ("b", "b"), ("a", "b")], LABELS)], FEW)
    assert estimate.value is not None
    assert estimate.interval is None


def test_a_confidence_beyond_one_is_refused() -> None:
    with pytest.raises(UsageError, match="confidence"):
        Resampling(confidence=1.5)
