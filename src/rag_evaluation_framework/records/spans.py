"""A stretch of characters in a document."""

from __future__ import annotations

from dataclasses import dataclass

from rag_evaluation_framework.errors import invalid
from rag_evaluation_framework.records.identifiers import DocumentId


def check_range(start: object, end: object) -> None:
    """Refuse anything but whole numbers with ``0 <= start < end``."""
    if not isinstance(start, int) or isinstance(start, bool) or start < 0:
        raise invalid("start", "a whole number of at least 0", start)
    if not isinstance(end, int) or isinstance(end, bool) or end <= start:
        raise invalid("end", f"a whole number above {start}", end)


@dataclass(frozen=True, slots=True, order=True)
class CharacterSpan:
    """The characters ``[start, end)`` of a document.

    Positions count code points from 0 in the text as it is stored. ``CharacterSpan("doc1", 0, 5)`` of
    "Hello, World!" is "Hello". A span without a document, empty or inverted is refused.
    """

    doc_id: DocumentId
    start: int
    end: int

    def __post_init__(self) -> None:
        if not isinstance(self.doc_id, str) or not self.doc_id:
            raise invalid("doc_id", "a document id", self.doc_id)
        check_range(self.start, self.end)

    def overlaps(self, other: CharacterSpan) -> bool:
        """Tell whether the two share at least one character of the same document."""
        return self.doc_id == other.doc_id and self.start < other.end and other.start < self.end

    def overlap_chars(self, other: CharacterSpan) -> int:
        """Count the characters the two share."""
        if not self.overlaps(other):
            return 0
        return min(self.end, other.end) - max(self.start, other.start)

    def length(self) -> int:
        """Count the characters of this span."""
        return self.end - self.start
