"""Agreement beyond chance: kappa for two raters, alpha for any number, missing ratings left out."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_evaluation_framework.errors import InputError, UnknownNameError
from rag_evaluation_framework.statistics.agreement import cohens_kappa, krippendorff_alpha

two_raters = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=30)

DISTANCES = {
    None: lambda x, y: int(x != y),
    "linear": lambda x, y: abs(x - y),
    "quadratic": lambda x, y: (x - y) ** 2,
}


def test_kappa_of_a_worked_table() -> None:
    # Yes-yes 20, yes-no 5, no-yes 10, no-no 15: they agree in 0.7, by chance in 0.5 * 0.6 + 0.5 * 0.4 = 0.5;
    # (0.7 - 0.5) / (1 - 0.5) = 0.4.
    a = ["yes"] * 25 + ["no"] * 25
    b = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert cohens_kappa(a, b) == pytest.approx(0.4)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
@given(pairs=two_raters)
@settings(max_examples=60, deadline=None)
def test_kappa_is_the_exact_fraction_over_all_pairs(weights: Any, pairs: list[tuple[int, int]]) -> None:
    distance = DISTANCES[weights]
    observed = Fraction(sum(distance(x, y) for x, y in pairs), len(pairs))
    expected = Fraction(sum(distance(x, y) for x, _ in pairs for _, y in pairs), len(pairs) ** 2)
    kappa = cohens_kappa(*zip(*pairs, strict=True), weights=weights)
    if expected == 0:
        assert kappa is None
    else:
        assert kappa == pytest.approx(float(1 - observed / expected), abs=1e-12)


def test_weighted_kappa_uses_the_distance_of_the_ratings_not_of_their_ranks() -> None:
    # Observed 2 / 3; over all 9 pairs 2 + 2 + 8 + 0 + 0 + 6 + 6 + 6 + 0 = 30: 1 - (2 / 3) / (30 / 9) = 0.8.
    assert cohens_kappa([1, 3, 9], [3, 3, 9], weights="linear") == pytest.approx(0.8)


def test_kappa_leaves_out_items_that_one_rater_did_not_rate() -> None:
    assert cohens_kappa(["x", "y", None, "y"], ["x", "y", "x", None]) == 1.0
    assert cohens_kappa(["x", None], [None, "y"]) is None


def test_agreement_on_one_single_label_is_not_defined() -> None:
    assert cohens_kappa(["yes", "yes"], ["yes", "yes"]) is None
    assert krippendorff_alpha([[1, 1, 1], [1, 1, 1]], level="interval") is None


def test_alpha_of_krippendorffs_worked_example() -> None:
    # Four observers, twelve units, from Krippendorff 2011: 0.743, 0.815, 0.849, 0.797.
    ratings = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    assert krippendorff_alpha(ratings, level="nominal") == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(ratings, level="ordinal") == pytest.approx(0.815, abs=5e-4)
    assert krippendorff_alpha(ratings, level="interval") == pytest.approx(0.849, abs=5e-4)
    assert krippendorff_alpha(ratings, level="ratio") == pytest.approx(0.797, abs=5e-4)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_alpha_does_not_depend_on_the_order_of_raters_or_units(level: Any) -> None:
    rng = np.random.default_rng(1)
    table = rng.integers(0, 4, size=(4, 25)).astype(object)
    table[rng.random(table.shape) < 0.3] = None
    shuffled = table[rng.permutation(4)][:, rng.permutation(25)]
    assert krippendorff_alpha(table, level=level) == pytest.approx(krippendorff_alpha(shuffled, level=level))


def test_ordinal_alpha_depends_on_the_order_of_the_values_alone() -> None:
    ratings = [[1, 2, 3, 3, 1], [1, 2, 2, 3, 2]]
    stretched = [[value**5 for value in row] for row in ratings]
    assert krippendorff_alpha(ratings, level="ordinal") == krippendorff_alpha(stretched, level="ordinal")
    assert krippendorff_alpha(ratings, level="interval") != krippendorff_alpha(stretched, level="interval")


def test_a_unit_with_one_rating_does_not_count() -> None:
    ratings = [["a", "b", "a", "a"], ["a", "b", "b", None]]
    assert krippendorff_alpha(ratings) == krippendorff_alpha([row[:3] for row in ratings])
    assert krippendorff_alpha([["a", None], [None, "b"]]) is None
    assert krippendorff_alpha([["a", "b"]]) is None


def test_ratio_counts_two_zeros_as_agreement() -> None:
    assert krippendorff_alpha([[0, 1, 2], [0, 1, 2]], level="ratio") == 1.0


def test_ratings_that_do_not_fit_are_named() -> None:
    with pytest.raises(InputError, match="b: expected 2 ratings, as many as before, got 1"):
        cohens_kappa(["x", "y"], ["x"])
    with pytest.raises(InputError, match="a: expected at least one rating, got 0"):
        cohens_kappa([], [])
    with pytest.raises(InputError, match=r"b\[1\]: expected a label, or None where there is none, got nan"):
        cohens_kappa([1, 2], [1, float("nan")])
    with pytest.raises(
        InputError, match=r"a\[0\]: expected a label, or None where there is none, got \['x'\]"
    ):
        cohens_kappa([["x"]], [["x"]])  # type: ignore[list-item]
    with pytest.raises(InputError, match=r"a\[0\]: expected a finite number, got 'good'"):
        cohens_kappa(["good", "bad"], ["good", "good"], weights="linear")
    with pytest.raises(InputError, match=r"ratings\[1\]: expected 2 ratings, as many as before, got 3"):
        krippendorff_alpha([[1, 2], [1, 2, 3]])
    with pytest.raises(InputError, match=r"ratings\[1\]\[0\]: expected a number of at least 0, got -1"):
        krippendorff_alpha([[1, 2], [-1, 2]], level="ratio")
    with pytest.raises(InputError, match="ratings: expected the ratings of at least one rater"):
        krippendorff_alpha([])
    with pytest.raises(UnknownNameError, match="did you mean ordinal"):
        krippendorff_alpha([[1], [1]], level="ordnal")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="unknown weighting 'cubic'"):
        cohens_kappa([1], [1], weights="cubic")  # type: ignore[arg-type]
