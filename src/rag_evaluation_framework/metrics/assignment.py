"""Pairing one to one so that the total weight is as large as it can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush


def heaviest_pairs(weights: Sequence[Mapping[int, int]]) -> dict[int, int]:
    """Return row → column, each used at most once, with the largest total weight.

    ``weights[row]`` has the columns a row may go to, with weights above 0. Of several best answers the
    same one is always returned.

    Rows are added one at a time along the cheapest alternating path (Jonker and Volgenant, Computing 38,
    1987), found with Dijkstra's algorithm on costs that the columns' prices keep above 0. A search stays
    within what the row can reach, so many small groups cost no more than each by itself.
    """
    pairing = _Pairing(weights)
    for row in range(len(weights)):
        pairing.add(row)
    return {row: column for row, column in sorted(pairing.column_of.items()) if column >= 0}


class _Pairing:
    """The best pairing of the rows added so far. A row left alone sits in a column of its own, ``~row``."""

    def __init__(self, weights: Sequence[Mapping[int, int]]) -> None:
        self.weights = weights
        self.column_of: dict[int, int] = {}
        self.row_of: dict[int, int] = {}
        self.price: dict[int, int] = {}

    def add(self, root: int) -> None:
        """Find a place for one more row, moving earlier ones where that gains."""
        settled, reached_from = self.search(root)
        column, cost = next(reversed(settled.items()))
        for visited, distance in settled.items():
            self.price[visited] = self.price.get(visited, 0) + distance - cost
        row = reached_from[column]
        while row != root:
            left = self.column_of[row]
            self.column_of[row], self.row_of[column] = column, row
            column, row = left, reached_from[left]
        self.column_of[root], self.row_of[column] = column, root

    def search(self, root: int) -> tuple[dict[int, int], dict[int, int]]:
        """Visit columns, nearest first, up to a free one: their distances, and the rows that led there."""
        settled: dict[int, int] = {}
        nearest: dict[int, int] = {}
        reached_from: dict[int, int] = {}
        queue: list[tuple[int, int]] = []
        row, travelled = root, 0
        while True:
            for column, weight in (*self.weights[row].items(), (~row, 0)):
                distance = travelled - weight - self.price.get(column, 0)
                if column not in settled and (column not in nearest or distance < nearest[column]):
                    nearest[column], reached_from[column] = distance, row
                    heappush(queue, (distance, column))
            distance, column = heappop(queue)
            while column in settled:
                distance, column = heappop(queue)
            settled[column] = distance
            if column not in self.row_of:
                return settled, reached_from
            row = self.row_of[column]
            travelled = distance + self.weights[row].get(column, 0) + self.price[column]
