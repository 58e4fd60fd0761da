"""Sums that have the same bits in whatever order the values come."""

from __future__ import annotations

import math

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.statistics.arrays import Numbers, finite_array


def exact_mean(values: Numbers) -> float:
    """Return the mean, from the exactly rounded sum: shards that merge give the same last digit.

    Source: Shewchuk, Adaptive precision floating-point arithmetic, 1997 (``math.fsum``).
    """
    array = finite_array(values, "values")
    return math.fsum(array) / len(array)


def standard_deviation(values: Numbers) -> float:
    """Return the sample standard deviation, ``sqrt(sum((x - mean)^2) / (n - 1))``, of two or more values."""
    array = finite_array(values, "values")
    if len(array) < 2:
        raise UsageError(f"a standard deviation needs at least 2 values, got {len(array)}")
    mean = math.fsum(array) / len(array)
    return math.sqrt(math.fsum((array - mean) ** 2) / (len(array) - 1))
