"""Sums that have the same bits in whatever order the values come."""

from __future__ import annotations

import math

import numpy as np

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.statistics.arrays import Floats, Numbers, finite_array


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


def whole_multiples(values: Floats) -> tuple[Floats, int]:
    """Return whole numbers, and the shift by which ``whole * 2^-shift`` is the values.

    The values are rounded to multiples of a power of two so small that it does not matter (2^-38 of the
    largest for 10,000 values) and so large that any n of them, again and again the same if need be, add
    up exactly in whatever order.
    """
    bits = 52 - math.ceil(math.log2(len(values)))
    shift = bits - math.frexp(float(np.abs(values).max()))[1]
    return np.rint(np.ldexp(values, shift)), shift
