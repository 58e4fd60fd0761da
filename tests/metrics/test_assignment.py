"""Pairing one to one: the heaviest total, also where earlier rows have to move for it."""

from __future__ import annotations

from rag_evaluation_framework.metrics.citations import heaviest_pairs


def test_earlier_rows_move_where_that_gains() -> None:
    # Each row would take column 0 first; 9 + 8 is more than 9 + 1 or 8 + 2.
    assert heaviest_pairs([{0: 9, 1: 8}, {0: 9, 1: 2}]) == {0: 1, 1: 0}


def test_five_rows_over_three_columns_leave_the_two_that_gain_least() -> None:
    # One row a column: 2 + 3 + 3 = 8 of rows 0, 1 and 4; no weight is above 3, and column 0 has none above 2.
    weights = [{0: 2, 1: 3, 2: 2}, {0: 1, 1: 3, 2: 3}, {1: 1, 2: 1}, {0: 1, 1: 2}, {0: 1, 2: 3}]
    assert heaviest_pairs(weights) == {0: 0, 1: 1, 4: 2}


def test_rows_without_a_column_and_no_rows_pair_with_nothing() -> None:
    assert heaviest_pairs([{}, {3: 1}, {3: 2}]) == {2: 3}
    assert heaviest_pairs([]) == {}
