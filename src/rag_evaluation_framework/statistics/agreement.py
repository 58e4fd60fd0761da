"""How far people, or judges, agree beyond chance: Cohen's kappa for two, Krippendorff's alpha for any number.

Both are 1 for perfect agreement, 0 for what chance gives, and below 0 for less. A missing rating is ``None``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from itertools import combinations
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import UnknownNameError, invalid
from rag_evaluation_framework.statistics.arrays import Floats, finite_array

Weights = Literal["linear", "quadratic"]
Level = Literal["nominal", "ordinal", "interval", "ratio"]
Ratings = Sequence[Hashable] | npt.NDArray[Any]
Flags = npt.NDArray[np.bool_]
Distance = Callable[[Floats | float, Floats], Floats]

_LEVELS = ("nominal", "ordinal", "interval", "ratio")


def cohens_kappa(a: Ratings, b: Ratings, *, weights: Weights | None = None) -> float | None:
    """Return the agreement of two raters over the items that both rated.

    Formula: ``1 - n sum(w[i, j] n[i, j]) / sum(w[i, j] n[i, +] n[+, j])``. The weight of a disagreement is 1;
    with ``linear`` weights it is the distance of the two ratings, with ``quadratic`` the distance squared,
    and ratings must be numbers. If chance cannot disagree (both always say the same one thing), or no item
    has both ratings, kappa is not defined: ``None``.

    Source: Cohen, A coefficient of agreement for nominal scales, 1960; Weighted kappa, 1968.
    """
    if weights not in (None, "linear", "quadratic"):
        raise UnknownNameError("weighting", str(weights), ("linear", "quadratic"))
    values, present = _rating_table({"a": a, "b": b}, numbers=weights is not None)
    both = present.all(axis=0)
    first, second = values[:, both]
    distance = {None: _unequal, "linear": _apart, "quadratic": _apart_squared}[weights]
    observed = float(distance(first, second).sum())
    expected = _expected(
        np.unique(first, return_counts=True), np.unique(second, return_counts=True), distance
    )
    return 1.0 - len(first) * observed / expected if expected > 0.0 else None


def krippendorff_alpha(ratings: Sequence[Ratings], *, level: Level = "nominal") -> float | None:
    """Return the agreement of any number of raters; ``ratings[r][u]`` is rater r's rating of unit u.

    Formula: ``1 - observed / expected`` disagreement, over the units with two ratings or more. The
    disagreement of c and k is, by level: nominal, 1 unless equal; ordinal, the square of the number of
    ratings from the middle of those at c to the middle of those at k; interval, ``(c - k)^2``; ratio,
    ``((c - k) / (c + k))^2``. If only one value was ever given, or no unit has two ratings, alpha is not
    defined: ``None``.

    Source: Krippendorff, Computing Krippendorff's alpha-reliability, 2011.
    """
    if level not in _LEVELS:
        raise UnknownNameError("level of measurement", str(level), _LEVELS)
    named = {f"ratings[{rater}]": given for rater, given in enumerate(ratings)}
    values, present = _rating_table(
        named, numbers=level != "nominal", least=0.0 if level == "ratio" else None
    )
    raters = present.sum(axis=0)
    values, present, raters = values[:, raters >= 2], present[:, raters >= 2], raters[raters >= 2]
    if level == "ordinal":
        values = _middle_places(values, present)
    distance = {"nominal": _unequal, "ratio": _apart_relative_squared}.get(level, _apart_squared)
    observed = 0.0
    for one, other in combinations(range(len(values)), 2):
        shared = present[one] & present[other]
        disagreement = distance(values[one, shared], values[other, shared]) / (raters[shared] - 1)
        observed += 2.0 * float(disagreement.sum())
    scale = np.unique(values[present], return_counts=True)
    expected = _expected(scale, scale, distance)
    return 1.0 - (int(present.sum()) - 1) * observed / expected if expected > 0.0 else None


def _rating_table(
    ratings: dict[str, Ratings], *, numbers: bool, least: float | None = None
) -> tuple[Floats, Flags]:
    """Return a row of numbers for each rater, and where a rating is present; labels become numbers."""
    if not ratings:
        raise invalid("ratings", "the ratings of at least one rater", [], code="empty")
    codes: dict[Hashable, float] = {}
    rows: list[Floats] = []
    present: list[list[bool]] = []
    for name, given in ratings.items():
        row = list(given)
        if not row or (rows and len(row) != len(rows[0])):
            expected = f"{len(rows[0])} ratings, as many as before" if rows else "at least one rating"
            raise invalid(name, expected, len(row), code="unequal-lengths" if rows else "empty")
        present.append([rating is not None for rating in row])
        if numbers:
            rows.append(_numbers(row, name, least=least))
        else:
            rows.append(np.array([_code(rating, f"{name}[{i}]", codes) for i, rating in enumerate(row)]))
    return np.stack(rows), np.array(present)


def _numbers(row: list[Any], name: str, *, least: float | None) -> Floats:
    """Return the ratings as numbers, 0 in the place of a missing one."""
    array = finite_array([0.0 if rating is None else rating for rating in row], name)
    if least is not None and array.min() < least:
        position = int(np.flatnonzero(array < least)[0])
        raise invalid(f"{name}[{position}]", f"a number of at least {least:g}", row[position])
    return array


def _code(rating: Any, path: str, codes: dict[Hashable, float]) -> float:
    # NaN is the only label that does not equal itself; it would disagree with itself too.
    if not isinstance(rating, Hashable) or rating != rating:
        raise invalid(path, "a label, or None where there is none", rating)
    return codes.setdefault(rating, float(len(codes)))


def _middle_places(values: Floats, present: Flags) -> Floats:
    """Replace each value by the middle of its places in the order of all: what makes ordinal an interval."""
    scale, counts = np.unique(values[present], return_counts=True)
    places = np.zeros_like(values)
    places[present] = (np.cumsum(counts) - counts / 2.0)[np.searchsorted(scale, values[present])]
    return places


def _expected(
    first: tuple[Floats, npt.NDArray[np.int64]],
    second: tuple[Floats, npt.NDArray[np.int64]],
    distance: Distance,
) -> float:
    """Sum the distances of all pairs; value by value, since a matrix of continuous ratings may not fit."""
    values, counts = second
    return sum(float(n * (distance(value, values) @ counts)) for value, n in zip(*first, strict=True))


def _unequal(c: Floats | float, k: Floats) -> Floats:
    return np.not_equal(c, k).astype(np.float64)


def _apart(c: Floats | float, k: Floats) -> Floats:
    return np.abs(c - k)


def _apart_squared(c: Floats | float, k: Floats) -> Floats:
    return (c - k) ** 2


def _apart_relative_squared(c: Floats | float, k: Floats) -> Floats:
    total = c + k
    return ((c - k) / np.where(total == 0.0, 1.0, total)) ** 2
