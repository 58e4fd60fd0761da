"""An index of the evidence units that have a key, to compare all units at once.

The units that have a key are the bytes of a number. The sum of such numbers has in each byte how many of the
keys that unit has.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress

_ENOUGH_PAIRED = 16
_IS_THERE = re.compile(b"\1")
_RARE = 128  # of so many units, one has a key that is rare
_MOST_SUMMED = 255  # how many keys a byte counts
_MOST_KEPT = 1 << 25  # bytes: what long texts need besides is made again each time


class KeyPlaces(dict[str, int]):
    """The places of keys in several texts, whose units are counted on; 0 for a key that stands nowhere.

    Of each text the keys of its units are given. Threads may ask for them at once.

    >>> places = KeyPlaces([[frozenset({"rome", "old"}), frozenset({"rome", "port"})]])
    >>> [places[key] for key in ("rome", "old", "port", "ship")]
    [257, 1, 256, 0]
    """

    def __init__(self, texts: Iterable[Sequence[frozenset[str]]]) -> None:
        self.firsts = [0]
        """The place of the first unit of each text, and how many there are."""
        self._index: dict[str, list[int]] = {}
        for units in texts:
            for place, unit in enumerate(units, self.firsts[-1]):
                for key in unit:
                    self._index.setdefault(key, []).append(place)
            self.firsts.append(self.firsts[-1] + len(units))
        self._most: dict[frozenset[str], tuple[int, int]] = {}

    def __missing__(self, key: str) -> int:
        if self._is_full(len(self)):
            self.clear()
        found = self[key] = _flags(self._index.get(key, ()), self.firsts[-1])
        return found

    def _is_full(self, kept: int) -> bool:
        return kept * self.firsts[-1] > _MOST_KEPT

    def with_most(self, keys: frozenset[str]) -> tuple[int, int]:
        """Return how many of the keys two units have together at most, and the units with most alone.

        What both units have counts once. There is no unit where no key stands anywhere. Claims of one shape
        have the same keys.
        """
        found = self._most.get(keys)
        if found is None:
            if self._is_full(len(self._most)):
                self._most.clear()
            is_rare = _RARE * sum(len(self._index.get(key, ())) for key in keys) < self.firsts[-1]
            found = self._most[keys] = self._with_most_of_few(keys) if is_rare else self._with_most(keys)
        return found

    def _with_most_of_few(self, keys: frozenset[str]) -> tuple[int, int]:
        """Compare the few units that have one of the keys, in a time that does not grow with all units."""
        few: dict[int, set[str]] = {}
        for key in keys:
            for place in self._index.get(key, ()):
                few.setdefault(place, set()).add(key)
        there = sorted(few)
        most, units = KeyPlaces([[frozenset(few[place]) for place in there]])._with_most(keys)
        flags = units.to_bytes(len(there), "little")
        return most, _flags(list(compress(there, flags)), self.firsts[-1])

    def _with_most(self, keys: frozenset[str]) -> tuple[int, int]:
        held = list(map(self.__getitem__, keys))
        counts = self.counts(held)
        count = _highest(counts, len(held))
        if not count:
            return 0, 0
        units = _places(counts, count)
        found = len(held) - held.count(0)
        if count == found:
            return count, units
        return self._most_of_two(held, counts, found), units

    def _most_of_two(self, held: Sequence[int], counts: Sequence[int], found: int) -> int:
        """Look for two units with most together: for the one with more, from the highest count down.

        Where very many units have different keys, those that are far behind are not looked at.
        """
        most = looked_at = 0
        for count in sorted(set(counts), reverse=True):
            most = max(most, count)
            # Of two units with more than was found, the one with more has this count or less.
            highest = min(found, 2 * count)
            if most >= highest or looked_at >= _ENOUGH_PAIRED:
                break
            for alike in _alike(_places(counts, count), held):
                looked_at += 1
                others = [each for each in held if not each & alike]
                most = max(most, count + _highest(self.counts(others), len(others)))
                if most >= highest:
                    break
        return most

    def counts(self, held: Sequence[int]) -> Sequence[int]:
        """Return how many of some keys every unit has, by the places of each."""
        size = self.firsts[-1]
        if len(held) <= _MOST_SUMMED:
            return sum(held).to_bytes(size, "little")
        parts = [held[first : first + _MOST_SUMMED] for first in range(0, len(held), _MOST_SUMMED)]
        return list(map(sum, zip(*map(self.counts, parts), strict=True)))

    def units(self, places: int) -> list[tuple[int, int]]:
        """Return the units at some places, each by the number of its text and its own in that."""
        flags = places.to_bytes(self.firsts[-1], "little")
        return [self.unit(found.start()) for found in _IS_THERE.finditer(flags)]

    def unit(self, place: int) -> tuple[int, int]:
        """Return the unit at a place."""
        text = bisect_right(self.firsts, place) - 1
        return text, place - self.firsts[text]


def _flags(places: Sequence[int], size: int) -> int:
    """Return the number that has a 1 in the byte of each place; few are faster added up."""
    if _RARE * len(places) < size:
        return sum([1 << 8 * place for place in places])
    there = bytearray(size)
    for place in places:
        there[place] = 1
    return int.from_bytes(there, "little")


def _highest(counts: Sequence[int], most: int) -> int:
    """Return the highest count; to look for each in bytes is faster than to read them one after another."""
    if isinstance(counts, bytes):
        return next((count for count in range(most, 0, -1) if count in counts), 0)
    return max(counts, default=0)


def _places(counts: Sequence[int], count: int) -> int:
    """Return the places of the units that have so many."""
    if isinstance(counts, bytes):
        return int.from_bytes(counts.translate(_ONLY[count]), "little")
    return int.from_bytes(bytes([each == count for each in counts]), "little")


# By a count: every byte that is this count becomes 1, and every other 0.
_ONLY = [bytes(count) + b"\1" + bytes(255 - count) for count in range(_MOST_SUMMED + 1)]


def _alike(units: int, held: Sequence[int]) -> Iterator[int]:
    """Yield the units in groups that have the same keys."""
    if not units & (units - 1):  # one alone, as most often
        yield units
        return
    while units:
        alike, first = units, units & -units
        for each in held:
            alike &= each if each & first else ~each
        yield alike
        units ^= alike
