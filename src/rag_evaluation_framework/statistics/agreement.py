"""Kappa and alpha, from ratings and from clustered totals.

Both are 1 for perfect agreement, 0 for what chance gives, and below 0 for less. A missing rating is ``None``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import UnknownNameError, invalid
from rag_evaluation_framework.statistics.intervals import Interval
from rag_evaluation_framework.statistics.resampling import (
    Floats,
    finite_array,
    generator,
    require_count,
    require_share,
    resampled_sums,
)

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


# Agreement from totals: kappa and alpha with an interval, when what was rated comes in clusters.
#
# Everything that kappa and alpha need of the ratings is a sum over what was rated, so each cluster (a
# query with all that was rated in it) is reduced to a row of totals once. Resampling clusters is then
# resampling rows, and units that nobody marked can be counted instead of listed. The figures are those of
# the functions above.

Parts = Callable[[Floats], tuple[Floats, Floats]]
"""Turns totals, a row each, into observed and expected disagreement."""

# Expected disagreement below this share of the squares it is the difference of is rounding alone.
_ROUNDING = 1e-12
# Beyond this, resamples differ by rounding alone, which depends on the machine.
_DECIMALS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampling:
    """How the interval is found: the bootstrap over clusters, the same for the same seed."""

    confidence: float = 0.95
    resamples: int = 10_000
    seed: int = 0

    def __post_init__(self) -> None:
        require_share(self.confidence, "confidence")
        require_count(self.resamples, "resamples")
        require_count(self.seed, "seed", least=0)

    def interval(self, drawn: Floats) -> Interval | None:
        """Return the percentile interval of the figures drawn; ``None`` if half of the resamples have none,
        or if all of them are alike."""
        if 2 * len(drawn) < self.resamples:
            return None
        tail = (1.0 - self.confidence) / 2.0
        low, high = np.round(np.quantile(drawn, [tail, 1.0 - tail]), _DECIMALS).tolist()
        method = f"bootstrap percentile, {self.resamples:,} resamples"
        return Interval(low, high, self.confidence, method) if low < high else None


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and its interval.

    The value is ``None`` where it is not defined, the interval where there are too few clusters, and where
    all resamples are alike: these do not tell how far off the figure may be.
    """

    value: float | None
    interval: Interval | None


def pair_table(pairs: Iterable[tuple[Hashable, Hashable]], labels: Sequence[Hashable]) -> Floats:
    """Count how often two raters gave each pair of labels: the totals that kappa needs."""
    places = {label: index for index, label in enumerate(labels)}
    table = np.zeros((len(labels), len(labels)))
    for first, second in pairs:
        table[places[first], places[second]] += 1.0
    return table


def coincidence_table(counts: Iterable[Mapping[Any, int]], labels: Sequence[Hashable]) -> Floats:
    """Add up the coincidences of units, given how often each label was given: the totals of nominal alpha.

    A unit with m ratings adds ``n_c (n_k - [c = k]) / (m - 1)`` to the pair of labels c and k; one with fewer
    than two ratings adds nothing.
    """
    places = {label: index for index, label in enumerate(labels)}
    table = np.zeros((len(labels), len(labels)))
    for unit in counts:
        given = np.zeros(len(labels))
        for label, count in unit.items():
            given[places[label]] += count
        if given.sum() >= 2:
            table += (np.outer(given, given) - np.diag(given)) / (given.sum() - 1.0)
    return table


def moments(units: Iterable[Sequence[float]], *, centre: float = 0.0) -> Floats:
    """Add up number, sum, sum of squares and disagreement of units of ratings: the totals of interval alpha.

    ``centre`` is taken from every rating, which changes nothing but the rounding; units with fewer than two
    ratings add nothing.
    """
    totals = np.zeros(4)
    for unit in units:
        ratings = np.asarray(unit, dtype=np.float64) - centre
        n = len(ratings)
        if n >= 2:
            square, total = float(ratings @ ratings), float(ratings.sum())
            totals += (n, total, square, 2.0 * max(n * square - total * total, 0.0) / (n - 1))
    return totals


def kappa_of_tables(tables: Sequence[Floats], resampling: Resampling) -> Estimate:
    """Return Cohen's kappa of the pair tables of all clusters, with a bootstrap interval over clusters."""
    size = len(tables[0]) if tables else 0

    def kappa(sums: Floats) -> tuple[Floats, Floats]:
        table = sums.reshape(-1, size, size)
        first, second = table.sum(axis=2), table.sum(axis=1)
        total = first.sum(axis=1)
        observed = total - np.trace(table, axis1=1, axis2=2)
        return total * observed, total * total - (first * second).sum(axis=1)

    return _estimate(np.array([table.ravel() for table in tables]), kappa, resampling)


def alpha_of_tables(tables: Sequence[Floats], resampling: Resampling) -> Estimate:
    """Return nominal alpha of the coincidence tables of all clusters, with an interval over clusters."""
    size = len(tables[0]) if tables else 0

    def alpha(sums: Floats) -> tuple[Floats, Floats]:
        table = sums.reshape(-1, size, size)
        given = table.sum(axis=2)
        total = given.sum(axis=1)
        observed = total - np.trace(table, axis1=1, axis2=2)
        return (total - 1.0) * observed, total * total - (given * given).sum(axis=1)

    return _estimate(np.array([table.ravel() for table in tables]), alpha, resampling)


def alpha_of_moments(totals: Sequence[Floats], resampling: Resampling) -> Estimate:
    """Return interval alpha of the moments of all clusters, with an interval over clusters."""

    def alpha(sums: Floats) -> tuple[Floats, Floats]:
        n, total, square, disagreement = sums.T
        return (n - 1.0) * disagreement, 2.0 * (n * square - total * total)

    return _estimate(np.array(totals), alpha, resampling)


def _estimate(totals: Floats, parts: Parts, resampling: Resampling) -> Estimate:
    """Return 1 less the ratio of the two parts, of all totals and of resampled ones."""
    rated = totals[totals.any(axis=1)] if len(totals) else totals
    if not len(rated):
        return Estimate(None, None)
    (value,), (defined,) = _agreements(rated.sum(axis=0, keepdims=True), parts)
    if not defined:
        return Estimate(None, None)
    if len(rated) < 2:
        return Estimate(float(value), None)
    rng = generator(resampling.seed)
    values, kept = _agreements(resampled_sums(rated, resamples=resampling.resamples, rng=rng), parts)
    # A resample in which chance could not disagree says nothing.
    return Estimate(float(value), resampling.interval(values[kept]))


def _agreements(sums: Floats, parts: Parts) -> tuple[Floats, Flags]:
    """Return each row's agreement, and whether it is defined: whether chance could have disagreed."""
    observed, expected = parts(sums)
    defined = expected > _ROUNDING * np.abs(sums).max(axis=1) ** 2
    return 1.0 - observed / np.where(defined, expected, 1.0), defined
