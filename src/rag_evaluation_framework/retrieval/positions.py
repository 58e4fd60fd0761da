"""Positions for chunkers that only return texts.

A text may stand in several places, and chunks may overlap. Chunks that have one possible place are set there
first, and each of the others must start between its neighbours. It is looked for in this order: directly
after the previous chunk, overlapping it, anywhere later, and last with other white space. Nothing is looked
for before the start of the previous chunk.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence

import msgspec

from rag_evaluation_framework.errors import UsageError, counted, shown
from rag_evaluation_framework.extensions import Chunker
from rag_evaluation_framework.records.chunks import PositionAwareChunk, generate_pa_chunk_id
from rag_evaluation_framework.records.documents import Document
from rag_evaluation_framework.text.search import SqueezedText
from rag_evaluation_framework.text.spans import Spanned

_PREVIEW_CHARACTERS = 50
_WHITE_SPACE = re.compile(r"\s*")


class UnplacedChunkWarning(UserWarning):
    """Some chunks are not in their document, because the chunker changed the text, and were left out."""


class ChunkerPositionAdapter:
    """A chunker that finds the positions of another chunker's chunks in the document.

    A chunk whose text is in several possible places has ``ambiguous`` in its metadata: its position is the
    most likely one. A chunk that is found only with other white space has the document's characters as its
    content. A chunk that is not found is left out, with a warning per document, and counted in ``unplaced``.

    Args:
        chunker: A chunker without positions.

    Example:
        >>> from rag_evaluation_framework import ChunkerPositionAdapter, Document, FixedTokenChunker
        >>> chunker = ChunkerPositionAdapter(FixedTokenChunker(3, tokenizer="words"))
        >>> [chunk.start for chunk in chunker.chunk_with_positions(Document("a.md", "One two three four"))]
        [0, 13]
    """

    def __init__(self, chunker: Chunker) -> None:
        if not isinstance(chunker, Chunker):
            raise UsageError(f"chunker: expected an object with chunk(text), got {shown(chunker)}")
        self.chunker = chunker
        self.unplaced: dict[str, int] = {}
        """Number of chunks left out of each document; documents without any are not listed."""

    def chunk(self, text: str) -> list[str]:
        """Return the chunks as the chunker gives them."""
        return self.chunker.chunk(text)

    def chunk_with_positions(self, doc: Document) -> list[PositionAwareChunk]:
        """Return the chunks that are in the document, with their characters."""
        chunks, unplaced = placed_chunks(doc, self.chunker.chunk(doc.content))
        if unplaced:
            self.unplaced[doc.id] = len(unplaced)
            preview = shown(unplaced[0][:_PREVIEW_CHARACTERS])
            of_all = counted(len(unplaced) + len(chunks), "chunk")
            warnings.warn(
                f"{doc.id}: skipped {len(unplaced):,} of {of_all}, whose text is not in the document "
                f"because {self.chunker} changed it; the first is {preview}",
                UnplacedChunkWarning,
                stacklevel=2,
            )
        else:
            self.unplaced.pop(doc.id, None)
        return chunks

    def __str__(self) -> str:
        return str(self.chunker)


def placed_chunks(doc: Document, texts: Sequence[str]) -> tuple[list[PositionAwareChunk], list[str]]:
    """Find texts that follow one another in a document; return the chunks, and the texts not found.

    Texts that are only white space are neither.
    """
    texts = [text for text in texts if text.strip()]
    chunks: list[PositionAwareChunk] = []
    unplaced: list[str] = []
    spaceless: SqueezedText | None = None
    previous = _Place(-1, 0)
    for text, bound in zip(texts, _bounds(doc.content, texts), strict=True):
        place = _exact_place(doc.content, text, previous, bound)
        if place is None:
            spaceless = spaceless or SqueezedText(doc.content)
            place = _tolerant_place(doc.content, spaceless, text, previous, bound)
        if place is None:
            unplaced.append(text)
            continue
        content = place.of(doc.content)
        chunk_id = generate_pa_chunk_id(content)
        metadata = {"ambiguous": True} if place.ambiguous else {}
        chunks.append(PositionAwareChunk(chunk_id, content, doc.id, place.start, place.end, metadata))
        previous = place
    return chunks, unplaced


class _Place(msgspec.Struct, Spanned, frozen=True):
    """The position of a chunk, and whether others are possible."""

    start: int
    end: int
    ambiguous: bool = False


def _bounds(content: str, texts: Sequence[str]) -> list[int]:
    """Return for each chunk the position before which it must start, to leave room for those that follow.

    From left to right, chunks with one possible place are set there; from right to left, each of the others
    must start before the last place that the next one can have.
    """
    only_places: list[int | None] = []
    behind: list[int] = []
    last = -1
    for text in texts:
        behind.append(last)
        start = content.find(text, last + 1)
        only = start >= 0 and content.find(text, start + 1) < 0
        only_places.append(start if only else None)
        last = start if only else last
    bounds: list[int] = []
    bound = len(content)
    for text, place, start in zip(texts[::-1], only_places[::-1], behind[::-1], strict=True):
        latest = content.rfind(text, start + 1, bound - 1 + len(text)) if place is None else place
        bound = bound if latest < 0 else latest
        bounds.append(bound if latest < 0 else latest + 1)
    return bounds[::-1]


def _exact_place(content: str, text: str, previous: _Place, bound: int) -> _Place | None:
    """Find a text that starts after the previous chunk does, and before ``bound``."""
    first = content.find(text, previous.start + 1, bound - 1 + len(text))
    if first < 0:
        return None
    ambiguous = content.find(text, first + 1, bound - 1 + len(text)) >= 0
    start = first
    if ambiguous:
        # Directly after the previous chunk, with or without the white space between; else beyond its end.
        for after in (previous.end, _after_white_space(content, previous.end)):
            if after < bound and content.startswith(text, after):
                return _Place(after, after + len(text), ambiguous)
        beyond = content.find(text, max(previous.start, previous.end - len(text)) + 1, bound - 1 + len(text))
        start = first if beyond < 0 else beyond
    return _Place(start, start + len(text), ambiguous)


def _tolerant_place(
    content: str, spaceless: SqueezedText, text: str, previous: _Place, bound: int
) -> _Place | None:
    """Find a text whose white space is not the document's; the end comes from the match."""
    first = spaceless.find(text, previous.start + 1)
    if first is None or first[0] >= bound:
        return None
    other = spaceless.find(text, first[0] + 1)
    after = spaceless.find(text, previous.end)
    if after is not None and after[0] == _after_white_space(content, previous.end) < bound:
        first = after
    return _Place(*first, ambiguous=other is not None and other[0] < bound)


def _after_white_space(content: str, position: int) -> int:
    match = _WHITE_SPACE.match(content, position)
    return position if match is None else match.end()
