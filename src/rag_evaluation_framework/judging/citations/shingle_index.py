"""Tells which of many texts may hold a text, by the shingles that both have, without reading them again.

A shingle is a run of eight characters, white space left out. Of every sixteen in a row the one with the least
hash is kept (winnowing, Schleimer, Wilkerson and Aiken 2003). The rows of a part of a text are rows of the
text, so that what is kept of the part is kept of the whole, and the rarest of it leaves few texts to search.

Two shingles in seventeen are kept, in eight bytes each: about one byte for each character of the texts.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.text.search import code_points, without_spaces

# Runs are doubled: each is joined to the one that begins so many characters later.
_TO_SHINGLES = (1, 2, 4)
_TO_ROWS = (1, 2, 4, 8)
ROW = 1 + sum(_TO_SHINGLES) + sum(_TO_ROWS)
"""The characters of a row of shingles; nothing is kept of a shorter text."""

_FACTOR = 0x9E3779B1  # the prime next to 2**32 divided by the golden ratio
_HALF, _LOWER_HALF = np.uint64(32), np.uint64(0xFFFFFFFF)
# Texts are read in blocks of so many characters, which bounds what reading takes to some 20 MB.
_BLOCK = 1 << 20


class ShingleIndex:
    """The kept shingles of texts, which are known by their numbers from 0."""

    def __init__(self, texts: Iterable[str]) -> None:
        entries = array("Q")  # the hash of a shingle in the upper half, the number of its text in the lower
        self._count = 0
        for text in texts:
            for block in _blocks(without_spaces(text)):
                entries.frombytes((_kept(block) | np.uint64(self._count)).tobytes())
            self._count += 1
        self._entries = np.asarray(entries)
        self._entries.sort()

    def may_hold(self, text: str) -> Sequence[int]:
        """Return the numbers of all texts that hold a text, whatever its white space, and of few others.

        They are in order. Of a text that is shorter than a row of shingles, these are all numbers.
        """
        kept = _kept(without_spaces(text))
        if not len(kept):
            return range(self._count)
        first = np.searchsorted(self._entries, kept)
        last = np.searchsorted(self._entries, kept | _LOWER_HALF)
        rarest = np.argmin(last - first)
        numbers: list[int] = np.unique(self._entries[first[rarest] : last[rarest]] & _LOWER_HALF).tolist()
        return numbers


def _kept(characters: str) -> npt.NDArray[np.uint64]:
    """Return the hashes of the shingles that are kept, in the upper halves of numbers."""
    if len(characters) < ROW:
        return np.empty(0, np.uint64)
    # Unsigned numbers wrap around: these are polynomials of the characters, modulo 2**32.
    hashes = code_points(characters) * np.uint32(_FACTOR)
    for step in _TO_SHINGLES:
        hashes = hashes[:-step] * np.uint32(pow(_FACTOR, step, 1 << 32)) + hashes[step:]
    for step in _TO_ROWS:
        hashes = np.minimum(hashes[:-step], hashes[step:])
    is_last = np.append(hashes[1:] != hashes[:-1], True)  # neighbouring rows mostly keep the same shingle
    kept: npt.NDArray[np.uint64] = hashes[is_last].astype(np.uint64) << _HALF
    return kept


def _blocks(characters: str) -> Iterator[str]:
    """Yield a text in blocks, each with so much of the next that no row of shingles is torn apart."""
    for start in range(0, len(characters), _BLOCK):
        yield characters[start : start + _BLOCK + ROW - 1]
