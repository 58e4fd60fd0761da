"""Texts that say nearly the same, found among many in time that grows with their number.

A text is normalised (compatibility forms, case, punctuation and white space) and seen as the set of its
stretches of three characters, which works in any language. Two texts are near duplicates when their sets
overlap by a Jaccard index of at least 0.85 (a typing error or a changed ending, not another word) and the
numbers in them are the same, since "revenue in 2023" and "revenue in 2024" are two questions.

Comparing every pair would take days for a million texts. MinHash (Broder 1997) gives each set a short
signature; texts that agree in a whole band of it (locality-sensitive hashing, Indyk and Motwani 1998) meet in
a bucket with the first two that came there, and the most promising are compared exactly. A pair at the
threshold is found with a probability of 0.99.

Chinese questions are short, so that one changed character in ten already makes another question.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

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
    return _NOT_WORDS.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


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
