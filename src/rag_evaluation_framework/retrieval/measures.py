"""How long a stretch of text is: in characters, or in the tokens of a tokenizer.

A measure adds up: the length of ``[a, c)`` is that of ``[a, b)`` and ``[b, c)`` together, because the text is
tokenised once, as a whole. A chunker can therefore ask where a chunk of so many tokens would end, and need
not count the tokens of every piece it tries.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Protocol

import numpy as np

from rag_evaluation_framework.retrieval.tokenizers import Tokenizer


class Measure(Protocol):
    """The length of stretches of one text."""

    def length(self, start: int, end: int) -> int:
        """Return the length of the characters ``[start, end)``."""

    def furthest(self, start: int, amount: int) -> int:
        """Return the last position up to which the text from ``start`` has at most this length."""

    def earliest(self, end: int, amount: int) -> int:
        """Return the first position from which the text up to ``end`` has at most this length."""


class CharacterMeasure:
    """A character is one long."""

    def __init__(self, text: str) -> None:
        self._last = len(text)

    def length(self, start: int, end: int) -> int:
        return end - start

    def furthest(self, start: int, amount: int) -> int:
        return min(start + amount, self._last)

    def earliest(self, end: int, amount: int) -> int:
        return max(end - amount, 0)


class TokenMeasure:
    """A token is one long, and belongs to the stretch in which it starts.

    The space before a word, which many tokenizers make part of the word, counts for nothing: a stretch that
    ends with it has not begun the word.
    """

    def __init__(self, text: str, tokenizer: Tokenizer) -> None:
        offsets = tokenizer.offsets(text)
        characters = np.frombuffer((text + " ").encode("utf-32-le", "surrogatepass"), np.uint32)
        spaced = (characters[offsets[:-1]] == ord(" ")) & (np.diff(offsets) > 1)
        self._offsets: list[int] = [*(offsets[:-1] + spaced).tolist(), len(text)]

    def length(self, start: int, end: int) -> int:
        return bisect_left(self._offsets, end) - bisect_left(self._offsets, start)

    def furthest(self, start: int, amount: int) -> int:
        token = bisect_left(self._offsets, start) + amount
        return self._offsets[min(token, len(self._offsets) - 1)]

    def earliest(self, end: int, amount: int) -> int:
        token = bisect_left(self._offsets, end) - amount
        return self._offsets[token - 1] + 1 if token > 0 else 0


def measure_of(text: str, tokenizer: Tokenizer | None) -> Measure:
    """Return the measure of a text in a tokenizer's tokens, or in characters."""
    return CharacterMeasure(text) if tokenizer is None else TokenMeasure(text, tokenizer)
