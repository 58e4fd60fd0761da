"""Near-duplicates among many texts, and which texts may hold a text."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.text.normalisation import folded
from rag_evaluation_framework.text.search import code_points, without_spaces

THRESHOLD = 0.85
STRETCH = 3
_BANDS, _ROWS = 12, 6  # 1 - (1 - 0.85**6)**12 = 0.997
# The share of equal signatures estimates the index with a standard error of 0.04.
_WORTH_COMPARING = 0.75
_COMPARED = 3
_PAIRS_AT_ONCE = 1 << 13
_SEED = 20130816
# Texts are signed in blocks of about so many characters, which bounds the memory to some 100 MB.
_BLOCK = 1 << 20

Numbers = npt.NDArray[np.intp]

_NOT_WORDS = re.compile(r"[\W_]+")
_NUMBER = re.compile(r"\d+")


def normalised(text: str) -> str:
    """Return what remains of a text when writing style is taken away."""
    return _NOT_WORDS.sub(" ", folded(text)).strip()


def near_duplicates(texts: Sequence[str]) -> list[tuple[int, int, float]]:
    """Return (earlier, later, similarity) for each text that nearly repeats an earlier one, once per text.

    Equal texts have a similarity of 1. Texts without any letter or digit are left out.
    """
    plain = [normalised(text) for text in texts]
    first_of: dict[str, int] = {}
    found = []
    for index, text in enumerate(plain):
        if text and first_of.setdefault(text, index) != index:
            found.append((first_of[text], index, 1.0))
    # Only different texts go on, so that a thousand copies cost no more than two.
    different = [index for text, index in first_of.items() if len(text) > STRETCH]
    found.extend(_similar(different, plain))
    return sorted(found, key=lambda pair: (pair[1], pair[0]))


def similarity(one: str, other: str) -> float:
    """Return the Jaccard index of two normalised texts' stretches of three characters."""
    first, second = _stretches(one), _stretches(other)
    return len(first & second) / len(first | second)


def _similar(indices: Sequence[int], plain: Sequence[str]) -> Iterator[tuple[int, int, float]]:
    """Yield each text with the most similar earlier one that it met, if that is similar enough."""
    if len(indices) < 2:
        return
    signatures = _signatures([plain[index] for index in indices])
    numbers = cache(lambda row: _numbers(plain[indices[row]]))
    best: dict[int, tuple[float, int]] = {}
    for row, earlier in _promising(signatures, *_meetings(_band_keys(signatures))):
        if numbers(row) == numbers(earlier):
            alike = similarity(plain[indices[earlier]], plain[indices[row]])
            best[row] = max(best.get(row, (0.0, 0)), (alike, -earlier))
    for row, (alike, negated) in best.items():
        if alike >= THRESHOLD:
            yield indices[-negated], indices[row], alike


def _meetings(keys: npt.NDArray[np.uint64]) -> tuple[Numbers, Numbers]:
    """Return each row with the earlier ones that were among the first two in one of its buckets, as pairs.

    They are ordered by the row, and then by the earlier one.
    """
    rows = np.arange(len(keys))
    met = np.full((len(keys), 2 * _BANDS), -1, np.intp)
    for band in range(_BANDS):
        order = np.argsort(keys[:, band], kind="stable")
        is_first = np.diff(keys[order, band], prepend=~keys[order[:1], band]) != 0
        start = np.maximum.accumulate(np.where(is_first, rows, 0))
        for place in (0, 1):
            is_later = rows - start > place
            met[order[is_later], 2 * band + place] = order[start[is_later] + place]
    met.sort(axis=1)
    is_new = met >= 0
    is_new[:, 1:] &= met[:, 1:] != met[:, :-1]
    return np.nonzero(is_new)[0], met[is_new]


def _promising(
    signatures: npt.NDArray[np.uint32], rows: Numbers, earlier: Numbers
) -> Iterator[tuple[int, int]]:
    """Yield each row with the few whose signatures agree best, if well enough; sets cost more to compare."""
    agreement = np.empty(len(rows))
    for first in range(0, len(rows), _PAIRS_AT_ONCE):
        block = slice(first, first + _PAIRS_AT_ONCE)
        agreement[block] = (signatures[rows[block]] == signatures[earlier[block]]).mean(axis=1)
    worth = np.flatnonzero(agreement >= _WORTH_COMPARING)
    worth = worth[np.lexsort((-agreement[worth], rows[worth]))]
    is_first = np.diff(rows[worth], prepend=-1) != 0
    place = np.arange(len(worth))
    worth = worth[place - np.maximum.accumulate(np.where(is_first, place, 0)) < _COMPARED]
    yield from zip(rows[worth].tolist(), earlier[worth].tolist(), strict=True)


def _stretches(text: str) -> set[str]:
    return {text[start : start + STRETCH] for start in range(max(len(text) - STRETCH + 1, 1))}


def _numbers(text: str) -> list[str]:
    return sorted(_NUMBER.findall(text))


def _band_keys(signatures: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint64]:
    """Return a number for each text and band; equal numbers mean that the band's signatures agree."""
    mixing = np.random.default_rng(_SEED + 1).integers(0, 1 << 63, _ROWS, dtype=np.uint64) * 2 + 1
    # Unsigned numbers of 64 bits wrap around, which is just what a hash wants.
    keys = np.zeros((len(signatures), _BANDS), dtype=np.uint64)
    for row, factor in enumerate(mixing):
        keys += signatures[:, row::_ROWS] * factor
    return keys


def _signatures(texts: Sequence[str]) -> npt.NDArray[np.uint32]:
    """Return the least hash of each text's stretches under each of the hash functions."""
    generator = np.random.default_rng(_SEED)
    factors = generator.integers(0, 1 << 63, _BANDS * _ROWS, dtype=np.uint64) * 2 + 1
    return np.concatenate([_block_signatures(block, factors) for block in _blocks(texts)])


def _blocks(texts: Sequence[str]) -> Iterator[list[str]]:
    block: list[str] = []
    characters = 0
    for text in texts:
        block.append(text)
        characters += len(text)
        if characters >= _BLOCK:
            yield block
            block, characters = [], 0
    if block:
        yield block


def _block_signatures(texts: Sequence[str], factors: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint32]:
    characters = np.frombuffer("".join(texts).encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
    lengths = np.array([len(text) for text in texts])
    # Code points need 21 bits, so that three of them are one number.
    stretches = characters[:-2] | characters[1:-1] << np.uint64(21) | characters[2:] << np.uint64(42)
    inside = np.ones(len(stretches), dtype=bool)
    for offset in range(1, STRETCH):
        inside[np.cumsum(lengths)[:-1] - offset] = False  # these would reach into the next text
    starts = np.cumsum(np.concatenate(([0], lengths[:-1] - STRETCH + 1)))
    numbers = _mixed(stretches[inside])
    columns = [np.minimum.reduceat(numbers * factor, starts) >> np.uint64(32) for factor in factors]
    return np.stack(columns, axis=1).astype(np.uint32)


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Spread numbers over 64 bits (the finaliser of SplitMix64, Steele et al. 2014)."""
    numbers = (numbers ^ numbers >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ numbers >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    mixed: npt.NDArray[np.uint64] = numbers ^ numbers >> np.uint64(31)
    return mixed


# Tells which of many texts may hold a text, by the shingles that both have, without reading them again.
#
# A shingle is a run of eight characters, white space left out. Of every sixteen in a row the one with the
# least hash is kept (winnowing, Schleimer, Wilkerson and Aiken 2003). The rows of a part of a text are
# rows of the text, so that what is kept of the part is kept of the whole, and the rarest of it leaves few
# texts to search.
#
# Two shingles in seventeen are kept, in eight bytes each: about one byte for each character of the texts.

# Runs are doubled: each is joined to the one that begins so many characters later.
_TO_SHINGLES = (1, 2, 4)
_TO_ROWS = (1, 2, 4, 8)
ROW = 1 + sum(_TO_SHINGLES) + sum(_TO_ROWS)
"""The characters of a row of shingles; nothing is kept of a shorter text."""

_FACTOR = 0x9E3779B1  # the prime next to 2**32 divided by the golden ratio
_HALF, _LOWER_HALF = np.uint64(32), np.uint64(0xFFFFFFFF)


class ShingleIndex:
    """The kept shingles of texts, which are known by their numbers from 0."""

    def __init__(self, texts: Iterable[str]) -> None:
        entries = array("Q")  # the hash of a shingle in the upper half, the number of its text in the lower
        self._count = 0
        for text in texts:
            for block in _overlapping_blocks(without_spaces(text)):
                entries.frombytes((_select_shingles(block) | np.uint64(self._count)).tobytes())
            self._count += 1
        self._entries = np.asarray(entries)
        self._entries.sort()

    def may_hold(self, text: str) -> Sequence[int]:
        """Return the numbers of all texts that may contain a text, ignoring white space.

        They are in order, and few do not contain it. For a text shorter than a row of shingles, the result is
        all numbers.
        """
        kept = _select_shingles(without_spaces(text))
        if not len(kept):
            return range(self._count)
        first = np.searchsorted(self._entries, kept)
        last = np.searchsorted(self._entries, kept | _LOWER_HALF)
        rarest = np.argmin(last - first)
        numbers: list[int] = np.unique(self._entries[first[rarest] : last[rarest]] & _LOWER_HALF).tolist()
        return numbers


def _select_shingles(characters: str) -> npt.NDArray[np.uint64]:
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


def _overlapping_blocks(characters: str) -> Iterator[str]:
    """Yield a text in blocks, each with so much of the next that no row of shingles is torn apart."""
    for start in range(0, len(characters), _BLOCK):
        yield characters[start : start + _BLOCK + ROW - 1]
