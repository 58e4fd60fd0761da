"""Checked arrays, order-free sums, seeded resamples.

A resample of n units with replacement is a vector of counts: how often each unit was drawn. Counts times
values is a matrix product, so what costs is drawing the counts. Two ways, both exact in distribution:

* few distinct units: one multinomial draw over the distinct ones (so many values that neighbours are as good
  as equal are drawn in this way too, in groups);
* many: each count is first a Poisson variable with a mean a little below 1, from a single random byte. Given
  their total, such counts are spread as that many draws with replacement; the draws still missing to n are
  added one by one, and in the rare resample that has more than n, all n are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import UsageError, invalid, shown

# What callers give, turned into checked arrays: finite numbers, pairs, clusters.
#
# Every error names the argument and the position: ``values[3]: expected a finite number, got nan``.

Numbers = Sequence[float] | npt.NDArray[Any]
Labels = Sequence[Hashable] | npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

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
        raise invalid("b", f"as many values as in a ({length_a})", length_b, code="unequal-lengths")


def cluster_totals(values: Floats, clusters: Labels) -> tuple[Floats, Floats]:
    """Return each cluster's sum of values and number of values; sums do not depend on the order."""
    labels = clusters.tolist() if isinstance(clusters, np.ndarray) else list(clusters)
    if len(labels) != len(values):
        raise invalid("clusters", f"one label per value ({len(values)})", len(labels))
    members: dict[Hashable, list[float]] = {}
    for position, (label, value) in enumerate(zip(labels, values.tolist(), strict=True)):
        if label is None or label.__hash__ is None:
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


Bytes = npt.NDArray[np.uint8]

# Counts held at a time. 2 MB of floats stay in the processor's cache, and a product of this size is not
# split over threads, which would cost more than it gains.
_CELLS = 1 << 18

# Units whose counts are held at a time. A product of one row and all of 200,000 units was split over threads,
# and cost 50 times as much as by pieces.
_PIECE_OF_UNITS = 1 << 12

# Beyond so many values, neighbours are drawn as groups: so many, and so many values alone at each end.
_MOST_ALONE = 1 << 15
_GROUPS = 1 << 10
_ALONE_AT_ENDS = 1 << 8

# A multinomial draw costs about as much for a category as the other way for this many units.
_UNITS_PER_CATEGORY = 64

# Standard deviations between the Poisson total and n: 1 resample in 740 has more than n.
_TOTAL_BELOW = 3.0

# Below this many units the missing draws are most of the draws.
_FEWEST_FOR_POISSON = 64


def generator(seed: int) -> np.random.Generator:
    """Return a generator of random numbers that is the same for the same seed."""
    return np.random.Generator(np.random.SFC64(require_count(seed, "seed", least=0)))


def resampled_sums(
    tables: Sequence[Floats], *, resamples: int, seed: int, is_whole: bool = True
) -> list[Floats]:
    """Draw n of the n units (rows) of each table with replacement, ``resamples`` times; return their sums.

    A table's sums, a row for each draw, depend neither on the order of its units nor on the other tables: one
    draw of counts, by the seed, serves all tables of a length. If units are whole numbers with sums below
    2^53, they are exact, and neither the processor nor the number of threads can change a bit of them. Of
    more than 32,768 units, those that are alike in the first column are drawn as groups.
    """
    sums: dict[int, Floats] = {}
    by_length: dict[int, list[int]] = {}
    grouped = [_grouped(table, is_whole=is_whole) for table in tables]
    for place, (units, sizes) in enumerate(grouped):
        if sizes is not None:
            sums[place] = _multinomial_sums(units, sizes, resamples=resamples, rng=generator(seed))
        elif len(units) < _FEWEST_FOR_POISSON:
            sums[place] = _drawn_sums(units, resamples=resamples, rng=generator(seed))
        else:
            by_length.setdefault(len(units), []).append(place)
    for places in by_length.values():
        together = np.column_stack([grouped[place][0] for place in places])
        drawn = _poisson_sums(together, resamples=resamples, rng=generator(seed))
        widths = np.cumsum([tables[place].shape[1] for place in places])[:-1]
        sums.update(zip(places, np.split(drawn, widths, axis=1), strict=True))
    return [sums[place] for place in range(len(tables))]


def resampled_figures(
    units: Floats, figure: Callable[[Floats], Floats], *, resamples: int, seed: int
) -> Floats:
    """Return a figure of the sums of each resample; of many units, those that change it alike are one."""
    table = units
    if len(units) > _MOST_ALONE:
        steps = 1e-6 * np.maximum(np.abs(units).sum(axis=0), 1.0)
        changes = figure(units.sum(axis=0) + np.diag(steps)) - figure(units.sum(axis=0, keepdims=True))
        table = np.column_stack([units @ (changes / steps), units])
    (sums,) = resampled_sums([table], resamples=resamples, seed=seed, is_whole=False)
    return figure(sums[:, -units.shape[1] :])


def _grouped(units: Floats, *, is_whole: bool) -> tuple[Floats, npt.NDArray[np.int64] | None]:
    """Return the units in ascending order; where few differ, those that do and how many are like each.

    Neighbours among many units are so much alike that each may stand for its group: what the groups' means
    lose is below a thousandth of the variance, however long the tails. Those at either end are alone.
    """
    n, order = len(units), np.argsort(units[:, 0], kind="stable")
    is_equal = np.diff(units[order, 0]) == 0.0
    tied = np.flatnonzero(np.append(is_equal, False) | np.append(False, is_equal))
    order[tied] = order[tied][np.lexsort(units[order[tied]].T[::-1])]
    ordered = units[order]
    starts = np.flatnonzero(np.append(True, np.diff(ordered, axis=0).any(axis=1)))
    if n > _MOST_ALONE and len(starts) > _GROUPS + 2 * _ALONE_AT_ENDS:
        inner = np.linspace(_ALONE_AT_ENDS, n - _ALONE_AT_ENDS, _GROUPS, endpoint=False).astype(np.int64)
        starts = np.r_[:_ALONE_AT_ENDS, inner, n - _ALONE_AT_ENDS : n]
        sizes = np.diff(starts, append=n)
        means = np.add.reduceat(ordered, starts, axis=0) / sizes[:, None]
        return np.rint(means) if is_whole else means, sizes
    if n > _MOST_ALONE or len(starts) * _UNITS_PER_CATEGORY <= n:
        return ordered[starts], np.diff(starts, append=n)
    return ordered, None


def sign_flipped_sums(values: Floats, *, resamples: int, rng: np.random.Generator) -> Floats:
    """Give every value a random sign, ``resamples`` times; return the sums. One random bit a sign."""
    total = math.fsum(values)
    sums = np.zeros(resamples)
    for block in _blocks(sums, len(values)):
        for start in range(0, len(values), _PIECE_OF_UNITS):
            piece = values[start : start + _PIECE_OF_UNITS]
            size = len(block) * len(piece)
            bits = np.unpackbits(_random_bytes(-(-size // 8), rng))[:size]
            block += bits.reshape(len(block), len(piece)).astype(np.float64) @ piece
        block *= 2.0
        block -= total
    return sums


def all_sign_sums(values: Floats) -> Floats:
    """Return the sums under all ``2^n`` signs."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    return sums


class PoissonCounts:
    """Draws Poisson counts from random bytes, into the same memory each time.

    Of the 256 bytes, ``floor(256 p)`` stand for a count of probability p: the count is the number of steps
    that the byte reaches. The few bytes left over, from ``_open_from`` on, are drawn again, as fractions and
    with the steps in ``_rest``, from what is then missing of each probability.
    """

    def __init__(self, mean: float, *, size: int) -> None:
        # Counts above 20 have a probability below 1e-19.
        probabilities = np.array(
            [math.exp(-mean) * mean**count / math.factorial(count) for count in range(21)]
        )
        whole = np.floor(256 * probabilities)
        ends = np.cumsum(whole[whole > 0]).astype(np.uint8)
        rest = np.cumsum(256 * probabilities - whole)
        rest /= rest[-1]
        self._steps, self._open_from, self._rest = ends[:-1], ends[-1], rest[rest < 1.0]
        self._counts = np.empty(size, dtype=np.uint8)
        self._reached = np.empty(size, dtype=np.bool_)

    def draw(self, size: int, rng: np.random.Generator) -> Bytes:
        """Return ``size`` counts; the next draw overwrites them."""
        drawn = _random_bytes(size, rng)
        counts = self._steps_reached(drawn, self._steps, counts=self._counts[:size])
        still_open = np.flatnonzero(np.greater_equal(drawn, self._open_from, out=self._reached[:size]))
        again = np.empty(len(still_open), dtype=np.uint8)
        counts[still_open] = self._steps_reached(rng.random(len(still_open)), self._rest, counts=again)
        return counts

    def _steps_reached(self, drawn: Bytes | Floats, steps: Bytes | Floats, *, counts: Bytes) -> Bytes:
        """Count the steps that each number reaches: for so few, comparing all is faster than searching."""
        np.greater_equal(drawn, steps[0], out=counts.view(np.bool_))
        reached = self._reached[: len(drawn)]
        for step in steps[1:]:
            np.greater_equal(drawn, step, out=reached)
            counts += reached.view(np.uint8)
        return counts


def _poisson_sums(units: Floats, *, resamples: int, rng: np.random.Generator) -> Floats:
    n, columns = units.shape
    sums = np.zeros((resamples, columns))
    ordered, ones = np.ascontiguousarray(units.T), np.ones(_PIECE_OF_UNITS)
    factors = np.empty(_rows(n) * min(n, _PIECE_OF_UNITS))
    poisson = PoissonCounts(1.0 - _TOTAL_BELOW / math.sqrt(n), size=len(factors))
    for block in _blocks(sums, n):
        missing = np.full(len(block), n, dtype=np.int64)
        for start in range(0, n, _PIECE_OF_UNITS):
            pieces = ordered[:, start : start + _PIECE_OF_UNITS]
            shape = (len(block), pieces.shape[1])
            counts = factors[: shape[0] * shape[1]].reshape(shape)
            counts[:] = poisson.draw(counts.size, rng).reshape(shape)
            missing -= (counts @ ones[: shape[1]]).astype(np.int64)
            # One by one: a product of several columns would be split over threads, at a loss.
            for column, values in enumerate(pieces):
                block[:, column] += counts @ values
        too_many = missing < 0
        block[too_many] = 0.0
        missing[too_many] = n
        _add_draws(block, units, draws=missing, rng=rng)
    return sums


def _drawn_sums(units: Floats, *, resamples: int, rng: np.random.Generator) -> Floats:
    sums = np.zeros((resamples, units.shape[1]))
    for block in _blocks(sums, len(units)):
        _add_draws(block, units, draws=np.full(len(block), len(units)), rng=rng)
    return sums


def _multinomial_sums(
    distinct: Floats, multiplicity: npt.NDArray[np.int64], *, resamples: int, rng: np.random.Generator
) -> Floats:
    n = int(multiplicity.sum())
    sums = np.empty((resamples, distinct.shape[1]))
    for block in _blocks(sums, len(distinct)):
        counts = rng.multinomial(n, multiplicity / n, size=len(block)).astype(np.float64)
        for column, values in enumerate(np.ascontiguousarray(distinct.T)):
            block[:, column] = counts @ values
    return sums


def _add_draws(
    sums: Floats, units: Floats, *, draws: npt.NDArray[np.int64], rng: np.random.Generator
) -> None:
    """Add ``draws[i]`` units, drawn one by one, to row i of ``sums``, in place."""
    chosen = rng.integers(0, len(units), size=int(draws.sum()))
    some = np.flatnonzero(draws)
    starts = np.cumsum(draws[some]) - draws[some]
    for column, values in enumerate(units.T):
        sums[some, column] += np.add.reduceat(values[chosen], starts)


def _rows(counts: int) -> int:
    """Return how many resamples of so many counts are drawn at a time."""
    return _CELLS // min(counts, _PIECE_OF_UNITS)


def _blocks(sums: Floats, counts: int) -> Iterator[Floats]:
    """Cut the sums into views of as many resamples as are drawn at a time."""
    return (sums[start : start + _rows(counts)] for start in range(0, len(sums), _rows(counts)))


def _random_bytes(size: int, rng: np.random.Generator) -> Bytes:
    words: npt.NDArray[np.uint64] = rng.bit_generator.random_raw(-(-size // 8))
    return words.view(np.uint8)[:size]


# Sums that have the same bits in whatever order the values come.


def exact_mean(values: Numbers) -> float:
    """Return the mean, from the exactly rounded sum: shards that merge give the same last digit.

    Source: Shewchuk, Adaptive precision floating-point arithmetic, 1997 (``math.fsum``).
    """
    array = finite_array(values, "values")
    return math.fsum(array.tolist()) / len(array)


def standard_deviation(values: Numbers) -> float:
    """Return the sample standard deviation, ``sqrt(sum((x - mean)^2) / (n - 1))``, of two or more values."""
    array = finite_array(values, "values")
    if len(array) < 2:
        raise UsageError(f"a standard deviation needs at least 2 values, got {len(array)}")
    mean = math.fsum(array.tolist()) / len(array)
    return math.sqrt(math.fsum(((array - mean) ** 2).tolist()) / (len(array) - 1))


def whole_multiples(values: Floats) -> tuple[Floats, int]:
    """Return whole numbers, and the shift by which ``whole * 2^-shift`` is the values.

    The values are rounded to multiples of a power of two so small that it does not matter (2^-38 of the
    largest for 10,000 values) and so large that any n of them, again and again the same if need be, add
    up exactly in any order.
    """
    bits = 52 - math.ceil(math.log2(len(values)))
    shift = bits - math.frexp(float(np.abs(values).max()))[1]
    return np.rint(np.ldexp(values, shift)), shift


# A sum of many floats that is rounded once: the same bits as ``math.fsum``, at the speed of arrays.

# Bits taken off every value at a time: a piece of 2**13 such numbers adds up within 53.
_BITS = 40
# As many values as stay in the processor's cache.
_PIECE = 2**13


def exact_sum(values: Floats) -> float:
    """Return the sum of values from 0 to 1, correctly rounded, so that their order does not matter.

    Each round takes the next 40 binary digits of every value as a whole number and adds these without loss.
    """
    rounds: list[int] = []
    for start in range(0, len(values), _PIECE):
        rest = values[start : start + _PIECE]
        digits = 0
        while rest.any():
            shifted = rest * 2.0**_BITS
            whole = np.floor(shifted)
            if digits == len(rounds):
                rounds.append(0)
            rounds[digits] += int(whole.sum())
            rest = shifted - whole
            digits += 1
    total = 0
    for each in rounds:
        total = (total << _BITS) + each
    return total / (1 << _BITS * len(rounds))
