"""Correcting for many tests at once."""

from __future__ import annotations

from itertools import accumulate

from rag_evaluation_framework.errors import invalid
from rag_evaluation_framework.statistics.arrays import Numbers, finite_array


def holm(p_values: Numbers) -> list[float]:
    """Return the p-values adjusted so that the chance of any false alarm among them stays at the level.

    Formula: the i-th smallest of m (from 0) becomes ``min(1, (m - i) p)``, but no less than the one before
    it. The result has the order given; no p-values give none.

    Source: Holm, A simple sequentially rejective multiple test procedure, 1979.
    """
    if len(p_values) == 0:
        return []
    given = finite_array(p_values, "p_values").tolist()
    for position, p_value in enumerate(given):
        if not 0.0 <= p_value <= 1.0:
            raise invalid(f"p_values[{position}]", "a number from 0 to 1", p_value)
    order = sorted(range(len(given)), key=given.__getitem__)
    scaled = (min(1.0, (len(given) - i) * given[position]) for i, position in enumerate(order))
    adjusted = dict(zip(order, accumulate(scaled, max), strict=True))
    return [adjusted[position] for position in range(len(given))]
