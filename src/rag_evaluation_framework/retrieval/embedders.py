"""The embedder that needs nothing: character n-grams hashed into a vector, no model and no download.

Text is folded and split into words. A word of a script with spaces, with a space on either side, counts
by its pieces of 3 to 5 characters (``rag`` gives `` ra``, ``rag``, ``ag ``, `` rag`` …); Chinese characters
and kana count one by one and in neighbouring pairs. Each piece is hashed to one place of the vector and a
sign (Weinberger et al., Feature Hashing, ICML 2009, section 2), with the weight 1 + ln(count) (Salton and
Buckley, 1988, logarithmic term frequency). Only integers are hashed, with arithmetic modulo 2^64, so the
vector is the same in every process and on every platform.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import UsageError, shown
from rag_evaluation_framework.metrics.tokens import has_unspaced_script, word_tokens
from rag_evaluation_framework.retrieval.embedding import check_texts
from rag_evaluation_framework.retrieval.vectors import Matrix, batches, unit_vectors
from rag_evaluation_framework.specifications import Specification

DIMENSIONS = 1024
MAX_DIMENSIONS = 1 << 20

_WORD_PIECES = (3, 4, 5)
_UNSPACED_PIECES = (1, 2)
_SPACE = 32
_BATCH = 64

# Constants of splitmix64 (Steele, Lea and Flood, OOPSLA 2014) and the prime of the 64-bit FNV hash.
_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_FIRST_FACTOR, _FIRST_SHIFT = np.uint64(0xBF58476D1CE4E5B9), np.uint64(30)
_SECOND_FACTOR, _SECOND_SHIFT = np.uint64(0x94D049BB133111EB), np.uint64(27)
_LAST_SHIFT = np.uint64(31)
_PRIME = np.uint64(0x100000001B3)
# A piece is known by the upper 40 bits of its hash, which leaves 24 to say whose it is.
_OWNER_BITS = np.uint64(24)
_SIGN_BIT = np.uint64(1)

Integers = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]


class HashingEmbedder:
    """Fulfils ``extensions.Embedder``: similar spelling, near vectors. Knows no synonyms."""

    def __init__(self, dimensions: int = DIMENSIONS) -> None:
        if not isinstance(dimensions, int) or not 1 <= dimensions <= MAX_DIMENSIONS:
            expected = f"a whole number from 1 to {MAX_DIMENSIONS}"
            raise UsageError(f"hashing: dimensions: expected {expected}, got {shown(dimensions)}")
        self.dimensions = dimensions

    def __repr__(self) -> str:
        return str(Specification("hashing", {"dimensions": self.dimensions}))

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return one vector of length one for each text."""
        check_texts(texts)
        parts = [_hashed(batch, self.dimensions) for batch in batches(texts, _BATCH)]
        return np.concatenate(parts) if parts else np.zeros((0, self.dimensions), np.float32)


def _hashed(texts: Sequence[str], dimensions: int) -> Matrix:
    """Hash a batch: all pieces of all texts at once, then each text's distinct pieces counted."""
    keys = np.concatenate(list(_pieces(texts)))
    distinct, counts = np.unique(keys, return_counts=True)
    owners = (distinct & np.uint64((1 << 24) - 1)).astype(np.int64)
    hashes = _mixed(distinct >> _OWNER_BITS)
    places = ((hashes >> _SIGN_BIT) % np.uint64(dimensions)).astype(np.int64)
    signs = 1.0 - 2.0 * (hashes & _SIGN_BIT).astype(np.float64)
    sums = np.bincount(
        owners * dimensions + places,
        weights=signs * (1.0 + np.log(counts)),
        minlength=len(texts) * dimensions,
    )
    return unit_vectors(sums.reshape(len(texts), dimensions).astype(np.float32))


def _pieces(texts: Sequence[str]) -> Iterator[Integers]:
    """Give the pieces of each size, as keys that hold the hash above and the text's number below."""
    padded = [f" {' '.join(word_tokens(text))} " for text in texts]
    joined = "".join(padded)
    characters = np.frombuffer(joined.encode("utf-32-le"), dtype="<u4").astype(np.uint64)
    owners = np.repeat(np.arange(len(texts), dtype=np.uint64), [len(text) for text in padded])
    spaces = characters == _SPACE
    unspaced = _unspaced(characters) if has_unspaced_script(joined) else np.zeros(len(characters), bool)
    yield from _word_pieces(characters, owners, spaces, unspaced)
    # word_tokens put a space between neighbours, which is left out here so that they are neighbours again.
    kept = unspaced | (spaces & ~np.roll(unspaced, 1))
    yield from _unspaced_pieces(characters[kept], owners[kept], unspaced[kept])


def _word_pieces(
    characters: Integers, owners: Integers, spaces: npt.NDArray[np.bool_], unspaced: npt.NDArray[np.bool_]
) -> Iterator[Integers]:
    """Give pieces that begin and end in one word or at its edge, of words of spaced scripts."""
    breaks = np.concatenate([[0], np.cumsum(spaces)])
    foreign = np.concatenate([[0], np.cumsum(unspaced)])
    for size, rolling in _rolling(characters, max(_WORD_PIECES)):
        if size in _WORD_PIECES:
            starts = np.arange(len(rolling))
            inner_breaks = breaks[starts + size - 1] - breaks[starts + 1]
            whole = (inner_breaks == 0) & (foreign[starts + size] == foreign[starts])
            yield _keys(rolling[whole], owners[starts[whole]], size)


def _unspaced_pieces(
    characters: Integers, owners: Integers, unspaced: npt.NDArray[np.bool_]
) -> Iterator[Integers]:
    """Give single characters and neighbouring pairs of scripts without spaces."""
    within = np.concatenate([[0], np.cumsum(unspaced)])
    for size, rolling in _rolling(characters, max(_UNSPACED_PIECES)):
        starts = np.arange(len(rolling))
        whole = within[starts + size] - within[starts] == size
        yield _keys(rolling[whole], owners[starts[whole]], size)


def _rolling(characters: Integers, longest: int) -> Iterator[tuple[int, Integers]]:
    """Give, for each size, the hash of the piece that begins at each character."""
    mixed = _mixed(characters)
    rolling = mixed
    for size in range(1, min(longest, len(characters)) + 1):
        if size > 1:
            count = len(characters) - size + 1
            rolling = rolling[:count] * _PRIME + mixed[size - 1 :]
        yield size, rolling


def _keys(rolling: Integers, owners: Integers, size: int) -> Integers:
    hashes = _mixed(rolling + np.uint64(size))
    return (hashes >> _OWNER_BITS << _OWNER_BITS) | owners


def _mixed(values: Integers) -> Integers:
    """Spread integers over 64 bits (the finaliser of splitmix64); arithmetic wraps around."""
    values = values + _GAMMA
    values = (values ^ (values >> _FIRST_SHIFT)) * _FIRST_FACTOR
    values = (values ^ (values >> _SECOND_SHIFT)) * _SECOND_FACTOR
    return values ^ (values >> _LAST_SHIFT)


def _unspaced(characters: Integers) -> npt.NDArray[np.bool_]:
    """Tell which characters are of a script without spaces, asking once for each distinct one."""
    distinct, places = np.unique(characters, return_inverse=True)
    known = np.array([has_unspaced_script(chr(int(code))) for code in distinct])
    return np.asarray(known[places])
