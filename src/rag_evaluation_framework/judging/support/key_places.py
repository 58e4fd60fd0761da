"""Which units of the evidence have a key: the bits of a number, so that units are compared all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rag_evaluation_framework.judging.words.content_tokens import Words

# Units of one block have their bits in one number. Of a long text there are several blocks, for the numbers
# of all its keys together would grow with the square of its length.
_BLOCK = 256

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

    def with_most(self, keys: Iterable[str]) -> tuple[int, list[tuple[int, int]]]:
        """Return the most of the keys that a unit has, and the units that have as many, unless it is none.

        A unit is told by the number of its text, and by its own number in that.
        """
        digits: list[int] = []  # of the count of keys of every unit, written in binary, the lowest first
        for places in map(self.__getitem__, keys):
            for power, digit in enumerate(digits):
                if not places:
                    break
                digits[power], places = digit ^ places, digit & places  # what is carried
            if places:
                digits.append(places)
        most, units = 0, -1 if digits else 0
        for power in reversed(range(len(digits))):
            if units & digits[power]:
                units &= digits[power]
                most += 1 << power
        return most, [self._unit(place) for place in _bits(units)]

    def has(self, unit: tuple[int, int], key: str) -> bool:
        """Tell whether a unit has a key."""
        text, number = unit
        return bool(self[key] >> self._firsts[text] + number & 1)

    def _unit(self, place: int) -> tuple[int, int]:
        text = bisect_right(self._firsts, place) - 1
        return text, place - self._firsts[text]


def _bits(number: int) -> Iterator[int]:
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest
