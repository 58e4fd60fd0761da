"""Agreement from totals: kappa and alpha with an interval, when what was rated comes in clusters.

Everything that kappa and alpha need of the ratings is a sum over what was rated, so each cluster (a query
with all that was rated in it) is reduced to a row of totals once. Resampling clusters is then resampling
rows, and units that nobody marked can be counted instead of listed. The figures are those of
:mod:`.agreement`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rag_evaluation_framework.statistics.agreement import Flags
from rag_evaluation_framework.statistics.arrays import Floats, require_count, require_share
from rag_evaluation_framework.statistics.intervals import Interval
from rag_evaluation_framework.statistics.resampling import generator, resampled_sums

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
