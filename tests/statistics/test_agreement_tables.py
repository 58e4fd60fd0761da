"""Agreement from totals: the figures are those of the ratings, the intervals resample clusters."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.errors import UsageError
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
ratings = st.lists(
    st.lists(st.sampled_from([*LABELS, None]), min_size=3, max_size=3), min_size=1, max_size=12
)
scores = st.lists(
    st.lists(st.none() | st.floats(0, 1).map(lambda x: round(x, 3)), min_size=3, max_size=3),
    min_size=1,
    max_size=12,
)


def same(ours: float | None, theirs: float | None) -> bool:
    return (ours is None and theirs is None) or ours == pytest.approx(theirs, abs=1e-9)


@given(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=20))
def test_kappa_of_tables_is_cohens(pairs: list[tuple[str, str]]) -> None:
    ours = kappa_of_tables([pair_table([pair], LABELS) for pair in pairs], FEW).value
    assert same(ours, cohens_kappa([a for a, _ in pairs], [b for _, b in pairs]))


@given(ratings)
def test_alpha_of_tables_is_krippendorffs(units: list[list[str | None]]) -> None:
    counts = [Counter(label for label in unit if label is not None) for unit in units]
    ours = alpha_of_tables([coincidence_table([count], LABELS) for count in counts], FEW).value
    assert same(ours, krippendorff_alpha(list(zip(*units, strict=True))))


@given(scores)
def test_alpha_of_moments_is_krippendorffs(units: list[list[float | None]]) -> None:
    given_ = [[score for score in unit if score is not None] for unit in units]
    ours = alpha_of_moments([moments([unit], centre=0.5) for unit in given_], FEW).value
    assert same(ours, krippendorff_alpha(list(zip(*units, strict=True)), level="interval"))


def test_how_units_are_grouped_changes_the_interval_and_not_the_figure() -> None:
    units = [["a", "a"], ["b", "b"], ["a", "b"], ["c", "c"], ["c", "a"], ["b", "b"]] * 5
    counts = [Counter(unit) for unit in units]
    apart = alpha_of_tables([coincidence_table([count], LABELS) for count in counts], Resampling())
    grouped = alpha_of_tables(
        [coincidence_table(counts[index::3], LABELS) for index in range(3)], Resampling()
    )
    assert same(grouped.value, apart.value)
    assert apart.interval is not None
    assert grouped.interval is not None
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
