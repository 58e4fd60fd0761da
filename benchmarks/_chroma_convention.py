"""The rules of Chroma's chunking report, to reproduce what it has published.

They differ from ours, which are exact: its recursive chunker counts the tokens of every piece apart;
positions are found again by searching for the chunk's text, less one full stop at its end, from the start of
the document, so that repeated text lands on its first copy; and a chunk that only touches a reference counts
as containing it (``touching=True`` of :func:`~rag_evaluation_framework.metrics.spans.precision_omega`).

Source: Smith and Troynikov, "Evaluating Chunking Strategies for Retrieval", Chroma, 2024, and its code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from rag_evaluation_framework.records.documents import CharacterSpan, Document
from rag_evaluation_framework.retrieval.chunkers import SEPARATORS, stripped
from rag_evaluation_framework.text.search import SqueezedText
from rag_evaluation_framework.text.spans import SpanList


def found_again(content: str, chunk: str) -> tuple[int, int] | None:
    """Return where the first copy of a chunk, less one full stop, starts and ends; ``None`` without one.

    White space may differ.
    """
    wanted = chunk.removesuffix(".")
    start = content.find(wanted)
    if start >= 0:
        return start, start + len(wanted)
    return SqueezedText(content).find(wanted)


def chroma_spans(doc: Document, chunks: Sequence[str]) -> list[CharacterSpan]:
    """Return the positions Chroma's report gives to chunks; what it finds nowhere, or empty, is left out."""
    places = (found_again(doc.content, chunk) for chunk in chunks)
    return [CharacterSpan(doc.id, *place) for place in places if place is not None and place[0] < place[1]]


def piecewise_spans(text: str, count: Callable[[str], int], *, size: int, overlap: int) -> SpanList:
    """Return the chunks of Chroma's recursive chunker, which counts the tokens of each piece by itself.

    The counts of pieces add up to more than the count of the whole, so its chunks are somewhat smaller than
    those of ``RecursiveCharacterChunker(size, overlap, length=…, separators="chroma")``.
    """
    pieces = _PieceCounts(text, count, size, overlap)
    pieces.cut(0, len(text), 0)
    return stripped(text, pieces.spans)


class _PieceCounts:
    """One text being cut, piece by piece."""

    def __init__(self, text: str, count: Callable[[str], int], size: int, overlap: int) -> None:
        self.text, self.count, self.size, self.overlap = text, count, size, overlap
        self.separators, _ = SEPARATORS["chroma"]
        self.spans: SpanList = []

    def cut(self, begin: int, end: int, level: int) -> None:
        while self.separators[level] and self.text.find(self.separators[level], begin, end) < 0:
            level += 1
        fitting: list[tuple[int, int, int]] = []
        for start, finish in self.pieces(begin, end, self.separators[level]):
            tokens = self.count(self.text[start:finish])
            if tokens < self.size:
                fitting.append((start, finish, tokens))
                continue
            self.merge(fitting)
            fitting = []
            if self.separators[level]:
                self.cut(start, finish, level + 1)
            else:
                self.spans.append((start, finish))
        self.merge(fitting)

    def pieces(self, begin: int, end: int, separator: str) -> SpanList:
        """Return the pieces of ``[begin, end)``, each with the separator before it."""
        if not separator:
            return [(position, position + 1) for position in range(begin, end)]
        found = re.compile(re.escape(separator)).finditer(self.text, begin, end)
        borders = [begin, *(match.start() for match in found), end]
        return [(start, finish) for start, finish in pairwise(borders) if start < finish]

    def merge(self, pieces: Sequence[tuple[int, int, int]]) -> None:
        """Join neighbouring pieces while the sum of their counts fits."""
        first, total = 0, 0
        for number, (_, _, tokens) in enumerate(pieces):
            if number > first and total + tokens > self.size:
                self.spans.append((pieces[first][0], pieces[number - 1][1]))
                while total > self.overlap or (total + tokens > self.size and total > 0):
                    total -= pieces[first][2]
                    first += 1
            total += tokens
        if first < len(pieces):
            self.spans.append((pieces[first][0], pieces[-1][1]))
