"""Spans of characters: their start and end, and their methods.

A class with a ``start`` and an ``end`` takes the methods of :class:`Spanned`; a place without more is a
:class:`Span`. Positions count characters from 0; the end is not part of the span.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol, TypeAlias


class Placed(Protocol):
    """An object with a start and an end."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


class Spanned:
    """The methods of a span, for records that have a start and an end; it has no fields of its own."""

    __slots__ = ()

    @property
    def size(self: Placed) -> int:
        """Return the number of characters."""
        return self.end - self.start

    @property
    def span(self: Placed) -> Span:
        """The place alone."""
        return Span(self.start, self.end)

    def of(self: Placed, text: str) -> str:
        """Return its characters of a text.

        >>> Span(4, 7).of("the cat")
        'cat'
        """
        return text[self.start : self.end]

    def meets(self: Placed, other: Placed) -> bool:
        """Return True if both have a character in common.

        >>> Span(0, 3).meets(Span(2, 4)), Span(0, 3).meets(Span(3, 4))
        (True, False)
        """
        return self.start < other.end and other.start < self.end

    def holds(self: Placed, other: Placed) -> bool:
        """Return True if every character of another is one of its own."""
        return self.start <= other.start and other.end <= self.end

    def gap(self: Placed, other: Placed) -> int:
        """Return how many characters lie between both, and one more; 0 where they overlap."""
        return max(0, self.start - other.end + 1, other.start - self.end + 1)


class Span(NamedTuple("Span", [("start", int), ("end", int)]), Spanned):
    """The characters ``[start, end)`` of a text."""

    __slots__ = ()


SpanList: TypeAlias = list[tuple[int, int]]
"""Spans as the pairs that chunkers give."""


def joined(spans: Iterable[tuple[int, int]], *, touching: bool = True) -> list[Span]:
    """Return spans in order, those that overlap as one; by default also those that touch.

    >>> joined([(5, 9), (0, 3), (3, 4)]), joined([(0, 3), (3, 4)], touching=False)
    ([Span(start=0, end=4), Span(start=5, end=9)], [Span(start=0, end=3), Span(start=3, end=4)])
    """
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and (start < found[-1].end or (touching and start == found[-1].end)):
            found[-1] = Span(found[-1].start, max(found[-1].end, end))
        else:
            found.append(Span(start, end))
    return found
