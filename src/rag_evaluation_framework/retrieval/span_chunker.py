"""What our chunkers have in common: they decide spans first and slice the document afterwards.

So ``document.content[start:end] == chunk.content`` cannot fail. Positions count code points: what a reader
sees as one character (an emoji with a skin tone, a letter with a combining accent) may be several, and a
chunk of a fixed size may end between them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from rag_evaluation_framework.errors import UsageError, shown
from rag_evaluation_framework.records.chunks import PositionAwareChunk, generate_pa_chunk_id
from rag_evaluation_framework.records.documents import Document
from rag_evaluation_framework.retrieval.recursive_spans import SpanList
from rag_evaluation_framework.retrieval.tokenizers import AnyTokenizer, Tokenizer, tokenizer_from
from rag_evaluation_framework.specifications import Specification

CHARACTERS = "characters"


class SpanChunker(ABC):
    """A chunker that tells which characters of a text each chunk has.

    Chunks come in the order of the text. Every character that is not white space is in at least one of them,
    and no chunk is white space alone. ``str()`` is the specification that results record, and that builds an
    equal chunker.
    """

    name: ClassVar[str]
    """What the chunker is called in a specification: ``recursive``."""

    @abstractmethod
    def spans(self, text: str) -> SpanList:
        """Return start and end of each chunk."""

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The arguments that build an equal chunker."""

    def chunk(self, text: str) -> list[str]:
        """Return the texts of the chunks."""
        return [text[start:end] for start, end in self.spans(text)]

    def chunk_with_positions(self, doc: Document) -> list[PositionAwareChunk]:
        """Return the chunks of a document, with the characters they have."""
        return sliced(doc, self.spans(doc.content))

    def __str__(self) -> str:
        return str(Specification(self.name, self.parameters))

    __repr__ = __str__


def sliced(doc: Document, spans: SpanList) -> list[PositionAwareChunk]:
    """Cut the spans out of a document."""
    chunks = []
    for start, end in spans:
        content = doc.content[start:end]
        chunks.append(PositionAwareChunk(generate_pa_chunk_id(content), content, doc.id, start, end))
    return chunks


def checked_sizes(name: str, size: object, overlap: object) -> tuple[int, int]:
    """Return a chunk's size and overlap; sizes that make no sense are refused under the size's name."""
    whole_size = checked_count(name, size, at_least=1)
    whole_overlap = checked_count("overlap", overlap, at_least=0)
    if whole_overlap >= whole_size:
        raise UsageError(f"overlap: expected less than {name}, which is {size}, got {overlap}")
    return whole_size, whole_overlap


def checked_count(name: str, value: object, *, at_least: int) -> int:
    """Return a whole number of at least so much; anything else is refused under its name."""
    if not isinstance(value, int) or isinstance(value, bool) or value < at_least:
        raise UsageError(f"{name}: expected a whole number of at least {at_least}, got {shown(value)}")
    return value


def length_unit(length: AnyTokenizer) -> Tokenizer | None:
    """Return the tokenizer whose tokens a size counts, or ``None`` for characters."""
    return None if length == CHARACTERS else tokenizer_from(length)
