"""Which units of the evidence have a key: the bits of a number, so that units are compared all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rag_evaluation_framework.judging.words.content_tokens import Words

# Units of one block have their bits in one number. Of a long text there are several blocks, for the numbers
# of all its keys together would grow with the square of its length.
_BLOCK = 256
_ENOUGH_PAIRED = 16

Block = Mapping[str, int]


def key_blocks(units: Iterable[Iterable[Words]]) -> tuple[Block, ...]:
    """Return the places of the keys of a text from the words of its units, in reading order.

    >>> from rag_evaluation_framework.judging.words.content_tokens import words_in
    >>> key_blocks([words_in("Rome is old."), words_in("Rome has a port.")])
    ({'rome': 3, 'old': 1, 'port': 2},)
    """
    blocks: list[dict[str, int]] = []
    for number, words in enumerate(units):
        place = number % _BLOCK
        if place == 0:
            block: dict[str, int] = {}
            blocks.append(block)
        bit = 1 << place
        for word in words:
            for key in word.keys:
                if key in block:
                    block[key] |= bit
                else:
                    block[key] = bit
    return tuple(blocks)


class KeyPlaces(dict[str, int]):
    """The places of keys in several texts, whose units are counted on; 0 for a key that stands nowhere.

    Of each text the number of its units is given, and its blocks. They are put together for a key when it is
    first asked for.
    """

    def __init__(self, texts: Iterable[tuple[int, Sequence[Block]]]) -> None:
        self._firsts = [0]
        self._blocks: list[tuple[int, Block]] = []
        for count, blocks in texts:
            first = self._firsts[-1]
            self._blocks += [(first + number * _BLOCK, block) for number, block in enumerate(blocks)]
            self._firsts.append(first + count)

    def __missing__(self, key: str) -> int:
        places = 0
        for first, block in self._blocks:
            if key in block:
                places |= block[key] << first
        self[key] = places
        return places

    def with_most(self, powers: Mapping[str, int]) -> tuple[int, int, list[tuple[int, int]]]:
        """Return the most that keys of one unit weigh, of two units together, and the units with most.

        A key weighs 2 to the power given; what both units have counts once. A unit is told by the number of
        its text, and by its own in that; there is none where no key stands anywhere.
        """
        digits = self._weights(powers)
        weight, units = _heaviest(digits)
        closest = [self._unit(place) for place in _bits(units)]
        return weight, self._most_of_two(powers, digits, weight, units), closest

    def _most_of_two(self, powers: Mapping[str, int], digits: Sequence[int], weight: int, units: int) -> int:
        """Look for two units with most together: for the heavier one, from the heaviest units down.

        Where very many units have different keys, those that are far behind are not looked at.
        """
        found = sum([1 << power for key, power in powers.items() if self[key]])
        most, left, looked_at = weight, -1, 0
        # Of two units with more than was found, the heavier has this weight or less.
        while most < min(found, 2 * weight) and looked_at < _ENOUGH_PAIRED:
            left &= ~units
            for alike in self._alike(units, powers):
                looked_at += 1
                others = {key: power for key, power in powers.items() if not self[key] & alike}
                most = max(most, weight + _heaviest(self._weights(others))[0])
            weight, units = _heaviest(digits, left)
        return most

    def _alike(self, units: int, keys: Iterable[str]) -> Iterator[int]:
        """Yield the units in groups that have the same of the keys."""
        while units:
            alike, first = units, units & -units
            for key in keys:
                alike &= self[key] if self[key] & first else ~self[key]
            yield alike
            units ^= alike

    def _weights(self, powers: Mapping[str, int]) -> list[int]:
        """Return what every unit weighs, in binary: the lowest digits of all of them first."""
        digits = [0] * (max(powers.values(), default=0) + 1)
        for key, power in powers.items():
            carried = self[key]
            while carried:
                if power == len(digits):
                    digits.append(0)
                digits[power], carried = digits[power] ^ carried, digits[power] & carried
                power += 1
        return digits

    def count(self, unit: tuple[int, int], keys: Iterable[str]) -> int:
        """Return how many of the keys a unit has."""
        text, number = unit
        place = self._firsts[text] + number
        return sum([self[key] >> place & 1 for key in keys])

    def _unit(self, place: int) -> tuple[int, int]:
        text = bisect_right(self._firsts, place) - 1
        return text, place - self._firsts[text]


def _bits(number: int) -> Iterator[int]:
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest


def _heaviest(digits: Sequence[int], units: int = -1) -> tuple[int, int]:
    """Return the highest weight that any of the units has, and those that have it, unless it is 0."""
    weight = 0
    for power in reversed(range(len(digits))):
        if units & digits[power]:
            units &= digits[power]
            weight += 1 << power
    return weight, units if weight else 0
