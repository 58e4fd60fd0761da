"""Chunks, their content-hash ids, and the registry that finds them again.

An id is a hash of the text alone, so the same text in two places shares one. Nothing may therefore use
an id as a place: a position-aware chunk is identified by (id, doc_id, start).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rag_evaluation_framework.records.documents import (
    CharacterSpan,
    ChunkId,
    Document,
    DocumentId,
    PositionAwareChunkId,
    check_range,
)
from rag_evaluation_framework.text.display import short_repr
from rag_evaluation_framework.text.spans import Spanned


def generate_chunk_id(content: str) -> ChunkId:
    """Return ``chunk_`` and the first 12 hexadecimal digits of the text's SHA-256.

    Args:
        content: Text of the chunk.

    Returns:
        The id; the same text has the same id.

    Example:
        >>> from rag_evaluation_framework import generate_chunk_id
        >>> generate_chunk_id("Hello, World!")
        'chunk_dffd6021bb2b'
    """
    return ChunkId(f"chunk_{_digest(content)}")


def generate_pa_chunk_id(content: str) -> PositionAwareChunkId:
    """Return ``pa_chunk_`` and the first 12 hexadecimal digits of the text's SHA-256.

    Args:
        content: Text of the chunk.

    Returns:
        The id; the same text has the same id.

    Example:
        >>> from rag_evaluation_framework import generate_pa_chunk_id
        >>> generate_pa_chunk_id("Hello, World!")
        'pa_chunk_dffd6021bb2b'
    """
    return PositionAwareChunkId(f"pa_chunk_{_digest(content)}")


def _digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document's text, without its position.

    Args:
        id: Id of the chunk.
        content: Its text.
        doc_id: Id of the document.
        metadata: Any values.

    Example:
        >>> from rag_evaluation_framework import Chunk, generate_chunk_id
        >>> Chunk(generate_chunk_id("Rome is old."), "Rome is old.", "rome.md").doc_id
        'rome.md'
    """

    id: ChunkId
    content: str
    doc_id: DocumentId
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    __repr__ = short_repr


@dataclass(frozen=True, slots=True)
class PositionAwareChunk(Spanned):
    """A piece of a document's text with its characters: ``document.content[start:end] == content``.

    Args:
        id: Id of the chunk.
        content: Its text.
        doc_id: Id of the document.
        start: Position of the first character.
        end: Position after the last character.
        metadata: Any values.

    Example:
        >>> from rag_evaluation_framework import PositionAwareChunk, generate_pa_chunk_id
        >>> chunk = PositionAwareChunk(generate_pa_chunk_id("Rome"), "Rome", "rome.md", 0, 4)
        >>> chunk.to_span().end
        4
    """

    id: PositionAwareChunkId
    content: str
    doc_id: DocumentId
    start: int
    end: int
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    __repr__ = short_repr

    def __post_init__(self) -> None:
        check_range(self.start, self.end)

    def to_span(self) -> CharacterSpan:
        """Return the characters this chunk covers."""
        return CharacterSpan(self.doc_id, self.start, self.end)

    def matches(self, document: Document) -> bool:
        """Return True if the chunk's text is at its position in the document."""
        return document.id == self.doc_id and document.content[self.start : self.end] == self.content


class ChunkRegistry:
    """A registry that finds chunks by id. A text that occurs in several places is stored with all of them.

    Example:
        >>> from rag_evaluation_framework import Chunk, ChunkRegistry, generate_chunk_id
        >>> registry, name = ChunkRegistry(), generate_chunk_id("Rome is old.")
        >>> registry.register(Chunk(name, "Rome is old.", "rome.md"))
        >>> registry.get(name).content
        'Rome is old.'
    """

    def __init__(self) -> None:
        self._chunks: dict[str, Chunk] = {}
        self._occurrences: dict[str, dict[tuple[str, int], PositionAwareChunk]] = {}

    def register(self, chunk: Chunk | PositionAwareChunk) -> None:
        """Register a chunk of either kind; registering it again changes nothing."""
        if isinstance(chunk, PositionAwareChunk):
            self.register_pa_chunk(chunk)
        else:
            self.register_chunk(chunk)

    def register_chunk(self, chunk: Chunk) -> None:
        """Register a chunk without position; of the same text, the first stays."""
        self._chunks.setdefault(chunk.id, chunk)

    def register_pa_chunk(self, chunk: PositionAwareChunk) -> None:
        """Register one occurrence of a position-aware chunk."""
        self._occurrences.setdefault(chunk.id, {}).setdefault((chunk.doc_id, chunk.start), chunk)

    def get(self, chunk_id: str) -> Chunk | PositionAwareChunk | None:
        """Look up a chunk of either kind; ``None`` when there is none."""
        return self._chunks.get(chunk_id) or self.get_pa_chunk(PositionAwareChunkId(chunk_id))

    def get_chunk(self, chunk_id: ChunkId) -> Chunk | None:
        """Look up a chunk without position."""
        return self._chunks.get(chunk_id)

    def get_pa_chunk(self, chunk_id: PositionAwareChunkId) -> PositionAwareChunk | None:
        """Look up the first registered occurrence of a position-aware chunk."""
        return next(iter(self._occurrences.get(chunk_id, {}).values()), None)

    def get_span(self, chunk_id: PositionAwareChunkId) -> CharacterSpan | None:
        """Return the characters of the first occurrence."""
        chunk = self.get_pa_chunk(chunk_id)
        return None if chunk is None else chunk.to_span()

    def get_spans(self, chunk_id: PositionAwareChunkId) -> list[CharacterSpan]:
        """Return the characters of every occurrence, in the order of registration."""
        return [chunk.to_span() for chunk in self._occurrences.get(chunk_id, {}).values()]
