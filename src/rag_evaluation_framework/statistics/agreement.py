"""Kappa and alpha, from ratings and from clustered totals.

Both are 1 for perfect agreement, 0 for what chance gives, and below 0 for less. A missing rating is ``None``.

Everything that kappa and alpha need of the ratings is a sum over what was rated, so each cluster (a query
with all that was rated in it) is reduced to a row of totals once. Resampling clusters is then resampling
rows, and units that nobody marked can be counted instead of listed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import UnknownNameError, invalid
from rag_evaluation_framework.statistics.intervals import Interval
from rag_evaluation_framework.statistics.resampling import (
    Floats,
    finite_array,
    require_count,
    require_share,
    resampled_figures,
)

Level = Literal["nominal", "interval"]
Ratings = Sequence[Hashable] | npt.NDArray[Any]
Flags = npt.NDArray[np.bool_]

_LEVELS = ("nominal", "interval")


def cohens_kappa(a: Ratings, b: Ratings) -> float | None:
    """Return the agreement of two raters over the items that both rated.

    Formula: ``1 - n sum(n[i, j], i != j) / sum(n[i, +] n[+, j], i != j)``. If chance cannot disagree (both
    always say the same one thing), or no item has both ratings, kappa is not defined: ``None``.

    Source: Cohen, A coefficient of agreement for nominal scales, 1960.
    """
    pairs = [pair for pair in _units([a, b]) if len(pair) == 2]
    labels = list(dict.fromkeys(label for pair in pairs for label in pair))
    return kappa_of_tables([pair_table(((x, y) for x, y in pairs), labels)], Resampling()).value


def krippendorff_alpha(ratings: Sequence[Ratings], *, level: Level = "nominal") -> float | None:
    """Return the agreement of any number of raters; ``ratings[r][u]`` is rater r's rating of unit u.

    Formula: ``1 - observed / expected`` disagreement, over the units with two ratings or more. The
    disagreement of c and k is, by level: nominal, 1 unless equal; interval, ``(c - k)^2``. If only one value
    was ever given, or no unit has two ratings, alpha is not defined: ``None``.

    Source: Krippendorff, Computing Krippendorff's alpha-reliability, 2011.
    """
    if level not in _LEVELS:
        raise UnknownNameError("level of measurement", str(level), _LEVELS)
    units = _units(ratings)
    given = list(dict.fromkeys(rating for unit in units for rating in unit))
    if level == "nominal":
        return alpha_of_tables([coincidence_table(map(Counter, units), given)], Resampling()).value
    centre = float(finite_array(given, "ratings").mean()) if given else 0.0
    return alpha_of_moments([moments(units, centre=centre)], Resampling()).value


def _units(ratings: Sequence[Ratings]) -> list[list[Any]]:
    """Return the ratings that each unit was given."""
    rows = [list(row) for row in ratings]
    if not rows or not rows[0]:
        raise invalid("ratings", "at least one rating per rater", rows, code="empty")
    for rater, row in enumerate(rows):
        if len(row) != len(rows[0]):
            expected = f"{len(rows[0])} ratings, as for the first rater"
            raise invalid(f"ratings[{rater}]", expected, len(row), code="unequal-lengths")
    return [[rating for rating in unit if rating is not None] for unit in zip(*rows, strict=True)]


Parts = Callable[[Floats], tuple[Floats, Floats]]
"""Turns totals, a row each, into observed and expected disagreement."""

# Expected disagreement below this share of the squares it is the difference of is rounding alone.
_ROUNDING = 1e-12
# Beyond this, resamples differ by rounding alone, which depends on the machine.
_DECIMALS = 10


class Resampling(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of the interval: the bootstrap over clusters, the same for the same seed."""

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


class Estimate(msgspec.Struct, frozen=True):
    """A figure and its interval.

    The value is ``None`` where it is not defined, the interval where there are too few clusters, and where
    all resamples are alike: these do not tell how far off the figure may be.
    """

    value: float | None
    interval: Interval | None


def pair_table(pairs: Iterable[tuple[Hashable, Hashable]], labels: Sequence[Hashable]) -> Floats:
    """Count how often two raters gave each pair of labels: the totals that kappa needs."""
    counts = Counter(pairs)
    return np.array([[float(counts[first, second]) for second in labels] for first in labels])


def coincidence_table(counts: Iterable[Mapping[Any, int]], labels: Sequence[Hashable]) -> Floats:
    """Add up the coincidences of units, given how often each label was given: the totals of nominal alpha.

    A unit with m ratings adds ``n_c (n_k - [c = k]) / (m - 1)`` to the pair of labels c and k; one with fewer
    than two ratings adds nothing.
    """
    table = np.zeros((len(labels), len(labels)))
    added: dict[frozenset[tuple[Any, int]], Floats] = {}
    for unit in counts:
        alike = frozenset(unit.items())
        if alike not in added:
            given = np.array([float(unit.get(label, 0)) for label in labels])
            added[alike] = (np.outer(given, given) - np.diag(given)) / max(given.sum() - 1.0, 1.0)
        table += added[alike]
    return table


def moments(units: Iterable[Sequence[float]], *, centre: float = 0.0) -> Floats:
    """Add up number, sum, sum of squares and disagreement of units of ratings: the totals of interval alpha.

    ``centre`` is taken from every rating, which changes nothing but the rounding; units with fewer than two
    ratings add nothing.
    """
    count, sums, squares, apart = 0.0, 0.0, 0.0, 0.0
    for unit in units:
        ratings = np.asarray(unit, dtype=np.float64) - centre
        n = len(ratings)
        if n >= 2:
            square, total = float(ratings @ ratings), float(ratings.sum())
            count, sums, squares = count + n, sums + total, squares + square
            apart += 2.0 * max(n * square - total * total, 0.0) / (n - 1)
    return np.array([count, sums, squares, apart])


def kappa_of_tables(tables: Sequence[Floats], resampling: Resampling) -> Estimate:
    """Return Cohen's kappa of the pair tables of all clusters, with a bootstrap interval over clusters."""
    return _of_tables(tables, 0.0, resampling)


def alpha_of_tables(tables: Sequence[Floats], resampling: Resampling) -> Estimate:
    """Return nominal alpha of the coincidence tables of all clusters, with an interval over clusters."""
    return _of_tables(tables, 1.0, resampling)


def _of_tables(tables: Sequence[Floats], without: float, resampling: Resampling) -> Estimate:
    """Return the agreement of tables. Kappa draws both ratings of a chance pair from all there are, alpha
    the second one ``without`` the first.
    """
    size = len(tables[0]) if tables else 0

    def parts(sums: Floats) -> tuple[Floats, Floats]:
        table = sums.reshape(-1, size, size)
        first, second = table.sum(axis=2), table.sum(axis=1)
        total = first.sum(axis=1)
        observed = total - np.trace(table, axis1=1, axis2=2)
        return (total - without) * observed, total * total - (first * second).sum(axis=1)

    return _estimate(np.array(tables).reshape(len(tables), size * size), parts, resampling)


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

    def agreement(sums: Floats) -> Floats:
        observed, expected = parts(sums)
        # Where chance could not disagree it is not defined: NaN, which stays here.
        defined = expected > _ROUNDING * np.abs(sums).max(axis=1) ** 2
        return np.where(defined, 1.0 - observed / np.where(defined, expected, 1.0), np.nan)

    value = float(agreement(rated.sum(axis=0, keepdims=True))[0])
    if np.isnan(value) or len(rated) < 2:
        return Estimate(None if np.isnan(value) else value, None)
    drawn = resampled_figures(rated, agreement, resamples=resampling.resamples, seed=resampling.seed)
    return Estimate(value, resampling.interval(drawn[~np.isnan(drawn)]))
