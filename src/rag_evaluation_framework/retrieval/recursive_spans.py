"""Cutting a text at the coarsest separators that make the pieces small enough.

A text that is too long is cut at the first separator that occurs in it: paragraphs, then lines, then
sentences, then words. Neighbouring pieces go together while they fit; a piece that is too long alone is cut
at the next separator. With the same separators this gives the chunks of LangChain's
``RecursiveCharacterTextSplitter``, which a test holds; but where LangChain cuts out and counts every piece,
here a chunk's last separator is looked for backwards from the place where the chunk would be full.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from rag_evaluation_framework.retrieval.measures import Measure

SpanList: TypeAlias = list[tuple[int, int]]
Side: TypeAlias = Literal["start", "end"]


def recursive_spans(
    text: str, measure: Measure, *, size: int, overlap: int, separators: Sequence[str], side: Side
) -> SpanList:
    """Return chunks of at most ``size``; each repeats whole pieces of the one before, at most ``overlap``.

    A separator stays at the ``start`` of the piece after it or at the ``end`` of the piece before it; the
    separator ``""`` cuts anywhere. A piece that no separator cuts stays whole, however long.
    """
    cutter = _Cutter(text, measure, size, overlap, separators, side)
    cutter.cut(0, len(text), 0)
    return cutter.spans


def stripped(text: str, spans: SpanList) -> SpanList:
    """Return the spans without white space at their ends; what was only white space is left out."""
    kept: SpanList = []
    for start, end in spans:
        piece = text[start:end].rstrip()
        if piece:
            kept.append((start + len(piece) - len(piece.lstrip()), start + len(piece)))
    return kept


class _Cutter:
    """One text being cut; finished spans are appended in order."""

    def __init__(
        self, text: str, measure: Measure, size: int, overlap: int, separators: Sequence[str], side: Side
    ) -> None:
        self.text, self.measure, self.size, self.overlap = text, measure, size, overlap
        self.separators, self.side = separators, side
        self.spans: SpanList = []

    def cut(self, begin: int, end: int, level: int) -> None:
        """Cut ``[begin, end)`` at the first separator, from this level on, that occurs in it."""
        if self.measure.furthest(begin, self.size) < end:
            for number in range(level, len(self.separators)):
                separator = self.separators[number]
                if self.text.find(separator, begin, end) >= 0:
                    borders = _Borders(self.text, separator, end, self.side) if separator else _Anywhere()
                    self.merge(borders, begin, end, number)
                    return
        self.spans.append((begin, end))

    def merge(self, borders: _Anywhere | _Borders, begin: int, end: int, level: int) -> None:
        """Put the pieces of ``[begin, end)`` together into chunks that are as large as allowed."""
        furthest, earliest, size = self.measure.furthest, self.measure.earliest, self.size
        start = begin
        while start < end:
            full = furthest(start, size)
            if full >= end:
                self.spans.append((start, end))
                return
            border = borders.last(start, full)
            if border <= start:  # the piece that starts here is too long by itself
                border = borders.after(start)
                self.cut(start, border, level + 1)
                start = border
                continue
            self.spans.append((start, border))
            if self.overlap:
                # What is repeated must leave room for the piece that follows.
                repeated = max(earliest(border, self.overlap), earliest(borders.after(border), size))
                start = borders.first(start, repeated) if repeated < border else border
            else:
                start = border


class _Borders:
    """The places where pieces of a text meet: before each occurrence of a separator, or after it.

    Occurrences do not overlap and are found from left to right. For a separator that can overlap itself
    (``"\\n\\n"`` in three line ends), they must therefore be followed from a border that is known.
    """

    def __init__(self, text: str, separator: str, end: int, side: Side) -> None:
        self.text, self.separator, self.end = text, separator, end
        self.width = len(separator)
        self.shift = self.width if side == "end" else 0
        self.overlaps_itself = any(separator.startswith(separator[cut:]) for cut in range(1, self.width))

    def after(self, border: int) -> int:
        """Return the border after this one."""
        begin = border
        if not self.shift and self.text.startswith(self.separator, border):
            begin += self.width
        found = self.text.find(self.separator, begin, self.end)
        return self.end if found < 0 else found + self.shift

    def last(self, start: int, limit: int) -> int:
        """Return the last border after ``start``, itself a border, up to ``limit``; ``start`` if none."""
        if self.overlaps_itself:
            border = start
            while (following := self.after(border)) <= limit:
                border = following
            return border
        if self.shift:
            found = self.text.rfind(self.separator, start, limit)
        else:
            found = self.text.rfind(self.separator, start + 1, min(limit + self.width, self.end))
        return start if found < 0 else found + self.shift

    def first(self, start: int, position: int) -> int:
        """Return the first border from ``position`` on, which lies after the border ``start``."""
        if self.overlaps_itself:
            border = start
            while border < position:
                border = self.after(border)
            return border
        found = self.text.find(self.separator, max(position - self.shift, start), self.end)
        return self.end if found < 0 else found + self.shift


class _Anywhere:
    """Borders between all characters."""

    def after(self, border: int) -> int:
        return border + 1

    def last(self, start: int, limit: int) -> int:
        return max(start, limit)

    def first(self, start: int, position: int) -> int:
        return max(start, position)
