"""Windows: documents cut into what a model is shown at once, each with its characters in the document.

A document that fits is one window. A longer one is cut before headings, so that sections stay whole as far as
they can; a section that does not fit is cut between paragraphs, then sentences, then anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rag_evaluation_framework.errors import UsageError, shown
from rag_evaluation_framework.records.documents import Document
from rag_evaluation_framework.retrieval.markdown_chunker import Section, markdown_sections
from rag_evaluation_framework.retrieval.recursive_chunker import RecursiveCharacterChunker

MAX_CHARACTERS = 12_000
"""About 3,000 tokens of English: fits models with small contexts, and keeps large ones to the point."""

_LEAST_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Window:
    """The characters ``[start, end)`` of a document, and the headings above their beginning."""

    doc_id: str
    start: int
    end: int
    headings: tuple[str, ...] = ()

    @property
    def length(self) -> int:
        return self.end - self.start

    def __str__(self) -> str:
        return f"{self.doc_id}:{self.start}-{self.end}"


def windows_of(document: Document, *, max_characters: int = MAX_CHARACTERS) -> list[Window]:
    """Return the windows of a document in order; a document without text has none.

    >>> [str(window) for window in windows_of(Document("a.md", "# Ferries\\nFour a day."))]
    ['a.md:0-21']
    """
    check_size(max_characters)
    text = document.content
    if not text.strip():
        return []
    windows: list[Window] = []
    for section in _pieces(text, max_characters):
        last = windows[-1] if windows else None
        if last is not None and section.end - last.start <= max_characters:
            windows[-1] = Window(document.id, last.start, section.end, last.headings)
        else:
            windows.append(Window(document.id, section.start, section.end, section.headings))
    return windows


def check_size(max_characters: object) -> None:
    """Refuse a size that no question could be asked about."""
    is_number = isinstance(max_characters, int) and not isinstance(max_characters, bool)
    if not is_number or max_characters < _LEAST_CHARACTERS:  # type: ignore[operator]
        expected = f"a whole number of at least {_LEAST_CHARACTERS}"
        raise UsageError(f"max_characters: expected {expected}, got {shown(max_characters)}")


def shared_out(total: int, lengths: Sequence[int]) -> list[int]:
    """Share ``total`` questions out by length: the largest remainders are rounded up, the earlier first.

    >>> shared_out(5, [6000, 3000, 1000])
    [3, 2, 0]
    """
    whole = sum(lengths)
    if not whole:
        return [0] * len(lengths)
    shares = [total * length // whole for length in lengths]
    remainders = [total * length % whole for length in lengths]
    by_remainder = sorted(range(len(lengths)), key=lambda place: (-remainders[place], place))
    for place in by_remainder[: total - sum(shares)]:
        shares[place] += 1
    return shares


def _pieces(text: str, max_characters: int) -> list[Section]:
    """Return the sections of a text, those that are too long cut again."""
    cutter = RecursiveCharacterChunker(max_characters)
    pieces: list[Section] = []
    for section in markdown_sections(text):
        if section.end - section.start <= max_characters:
            pieces.append(section)
            continue
        for start, end in cutter.spans(text[section.start : section.end]):
            pieces.append(Section(section.start + start, section.start + end, section.headings))
    return pieces
