"""What callers give, turned into checked arrays: finite numbers, pairs, clusters.

Every error names the argument and the position: ``values[3]: expected a finite number, got nan``.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import UsageError, invalid, shown

Numbers = Sequence[float] | npt.NDArray[Any]
Labels = Sequence[Hashable] | npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

# Squares of larger numbers overflow, and variances are made of squares.
LARGEST = 1e150

# Two numbers closer than this, relative to their size, differ by rounding alone: 0.1 + 0.2 and 0.3.
ROUNDING = 1e-12

_NUMBER_TYPES = (int, float, np.integer, np.floating, np.bool_)


def finite_array(values: Numbers, name: str) -> Floats:
    """Return the values as a new array of floats; at least one, every one finite."""
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "biuf":
        array = values.astype(np.float64)
        if len(array) and bool((np.abs(array) <= LARGEST).all()):
            return array
    items: Sequence[Any] = values.tolist() if isinstance(values, np.ndarray) else values
    if isinstance(items, (str, bytes)) or not isinstance(items, Sequence):
        raise invalid(name, "a sequence of numbers", values)
    if not items:
        raise invalid(name, "at least one value", items, code="empty")
    for position, item in enumerate(items):
        # NaN is not below anything, so it fails too.
        if not (isinstance(item, _NUMBER_TYPES) and -LARGEST <= item <= LARGEST):
            raise invalid(f"{name}[{position}]", "a finite number", item)
    return np.array(items, dtype=np.float64)


def paired_differences(a: Numbers, b: Numbers) -> Floats:
    """Return ``a[i] - b[i]`` for each pair; a difference that is rounding alone is 0."""
    first, second = finite_array(a, "a"), finite_array(b, "b")
    require_equal_lengths(len(first), len(second))
    differences = first - second
    differences[np.abs(differences) <= ROUNDING * np.maximum(np.abs(first), np.abs(second))] = 0.0
    return differences


def require_equal_lengths(length_a: int, length_b: int) -> None:
    if length_a != length_b:
        raise invalid("b", f"as many values as a has ({length_a})", length_b, code="unequal-lengths")


def cluster_totals(values: Floats, clusters: Labels) -> tuple[Floats, Floats]:
    """Return each cluster's sum of values and number of values; sums do not depend on the order."""
    labels = clusters.tolist() if isinstance(clusters, np.ndarray) else list(clusters)
    if len(labels) != len(values):
        raise invalid("clusters", f"one label for each of the {len(values)} values", len(labels))
    members: dict[Hashable, list[float]] = {}
    for position, (label, value) in enumerate(zip(labels, values.tolist(), strict=True)):
        if label is None or not isinstance(label, Hashable):
            raise invalid(f"clusters[{position}]", "a label", label)
        members.setdefault(label, []).append(value)
    sums = np.array([math.fsum(group) for group in members.values()])
    sizes = np.array([len(group) for group in members.values()], dtype=np.float64)
    return sums, sizes


def require_share(value: float, name: str) -> float:
    """Return the value if it lies strictly between 0 and 1, as a confidence, a level or a power does."""
    if isinstance(value, (int, float)) and 0.0 < value < 1.0:
        return float(value)
    raise UsageError(f"{name}: expected a number between 0 and 1, got {shown(value)}")


def require_count(value: int, name: str, *, least: int = 1) -> int:
    """Return the value if it is a whole number of at least ``least``."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= least:
        return int(value)
    raise UsageError(f"{name}: expected a whole number of at least {least}, got {shown(value)}")
