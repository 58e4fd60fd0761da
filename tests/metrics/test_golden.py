"""Metrics of golden sets on what was read in answers: worked tables and what always holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import InputError
from rag_evaluation_framework.metrics.golden import (
    context_turn_correctness,
    entity_coverage,
    hop_coverage,
    milestone_order,
    milestone_recall,
    relation_match,
    turn_correctness,
)

TABLES = tables_beside(__file__)

PLACES = st.lists(st.none() | st.integers(0, 1000), min_size=1, max_size=20)


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ([True, True, True], 1.0),  # 3 / 3
        ([True, False, True], 2 / 3),
        ([False, False], 0.0),
    ],
)
def test_entity_coverage_is_the_share_of_names_that_the_answer_has(
    named: list[bool], expected: float
) -> None:
    assert entity_coverage(named) == expected


@pytest.mark.parametrize(
    ("ends", "relation", "direction", "expected"), TABLES["relation_match_needs_ends_relation_and_direction"]
)
def test_relation_match_needs_ends_relation_and_direction(
    ends: tuple[bool, bool], relation: bool, direction: float, expected: float
) -> None:
    assert relation_match(ends, relation, direction) == expected


@pytest.mark.parametrize(
    ("places", "recall", "order"),
    [
        ([3, 8, 18, 27], 1.0, 1.0),
        ([3, None, 18, None], 2 / 4, 1.0),  # what is not told has no order
        ([27, 8, 18, 30], 1.0, 3 / 4),  # 8, 18, 30 are in order
        ([40, 30, 20, 10], 1.0, 1 / 4),  # backwards: any one alone
        ([5, 5, 5], 1.0, 1.0),  # told in the same breath is not out of order
        ([10, 2, 3, 12, 4], 1.0, 3 / 5),  # 2, 3, 12 (or 2, 3, 4)
        ([7], 1.0, 1.0),
    ],
)
def test_milestones_are_told_and_their_order_is_a_longest_increasing_subsequence(
    places: list[int | None], recall: float, order: float
) -> None:
    assert milestone_recall(places) == recall
    assert milestone_order(places) == order


@pytest.mark.parametrize(
    ("places", "hops", "expected"), [(3, 3, 1.0), (2, 3, 2 / 3), (0, 3, 0.0), (5, 3, 1.0), (1, 1, 1.0)]
)
def test_hop_coverage_counts_no_more_places_than_hops(places: int, hops: int, expected: float) -> None:
    assert hop_coverage(places, hops) == expected


def test_turn_correctness_is_the_mean_over_turns() -> None:
    assert turn_correctness([1.0, 0.5, 0.0]) == 0.5  # 1.5 / 3
    assert context_turn_correctness([0.5]) == 0.5


@pytest.mark.parametrize(
    "computed",
    [
        lambda: entity_coverage([]),
        lambda: milestone_recall([]),
        lambda: milestone_order([None, None]),
        lambda: turn_correctness([]),
        lambda: hop_coverage(1, 0),
        lambda: relation_match((True,), True, 1.0),
        lambda: relation_match((True, True), True, 2.0),
    ],
)
def test_nothing_to_measure_is_an_error_and_never_a_number(computed: object) -> None:
    assert callable(computed)
    with pytest.raises(InputError):
        computed()


@given(PLACES)
def test_milestone_figures_are_shares_and_order_is_full_exactly_when_sorted(places: list[int | None]) -> None:
    told = [place for place in places if place is not None]
    assert milestone_recall(places) == len(told) / len(places)
    if told:
        order = milestone_order(places)
        assert 1 / len(told) <= order <= 1
        assert (order == 1) == (told == sorted(told))


@given(PLACES)
def test_milestone_order_equals_the_longest_subsequence_found_by_trying_all(places: list[int | None]) -> None:
    told = [place for place in places if place is not None][:10]
    if told:
        longest = max(bits.bit_count() for bits in range(1, 1 << len(told)) if _is_sorted(told, bits))
        assert milestone_order(told) == longest / len(told)


def _is_sorted(told: list[int], bits: int) -> bool:
    chosen = [place for index, place in enumerate(told) if bits >> index & 1]
    return chosen == sorted(chosen)
