"""A corpus cut into chunks: once for each chunker, checked, and in one order whatever the chunker's."""

from __future__ import annotations

import time
from dataclasses import dataclass

from rag_evaluation_framework.errors import InputError, Issue, UsageError, shown
from rag_evaluation_framework.extensions import Chunker, PositionAwareChunker
from rag_evaluation_framework.records.chunks import PositionAwareChunk, generate_pa_chunk_id
from rag_evaluation_framework.records.documents import Corpus, Document
from rag_evaluation_framework.retrieval.ordered_work import in_order
from rag_evaluation_framework.retrieval.positions import position_aware

UNPLACED = "unplaced"
"""In the metadata of a chunk that has no place in its document: it was made without positions."""


@dataclass(frozen=True, slots=True)
class Chunking:
    """The chunks of a corpus by one chunker, sorted by document and start."""

    chunker: str
    chunks: tuple[PositionAwareChunk, ...]
    seconds: float


def chunk_corpus(
    corpus: Corpus, chunker: Chunker | PositionAwareChunker, *, distinct: bool = False, workers: int = 1
) -> Chunking:
    """Cut every document. ``distinct`` is for the chunk level: there, a text is one chunk wherever it stands.

    At chunk level a chunker without positions is taken at its word: its texts are the chunks, even those that
    are not in the document as they are.
    """
    begun = time.perf_counter()
    if not isinstance(chunker, Chunker | PositionAwareChunker):
        raise UsageError(f"chunker: expected an object with chunk(text), got {shown(chunker)}")
    if not len(corpus):
        raise UsageError("corpus: expected at least one document, got none")
    if distinct and isinstance(chunker, Chunker) and not isinstance(chunker, PositionAwareChunker):
        cut = in_order(lambda document: _texts(document, chunker), corpus, workers=workers)
    else:
        aware = position_aware(chunker)
        cut = in_order(lambda document: _checked(document, aware), corpus, workers=workers)
    chunks = sorted(
        (chunk for of_document in cut for chunk in of_document),
        key=lambda chunk: (chunk.doc_id, chunk.start, chunk.end),
    )
    if distinct:
        chunks = list({chunk.content: chunk for chunk in reversed(chunks)}.values())[::-1]
    if not chunks:
        raise UsageError(f"corpus: expected text to cut, but {component_text(chunker)} makes no chunk of it")
    return Chunking(component_text(chunker), tuple(chunks), time.perf_counter() - begun)


def component_text(component: object) -> str:
    """Return what results record of a component: its specification, or its class where it has none."""
    kind = type(component)
    if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:
        return kind.__qualname__
    return str(component)


def _checked(document: Document, chunker: PositionAwareChunker) -> list[PositionAwareChunk]:
    chunks = chunker.chunk_with_positions(document)
    for chunk in chunks:
        if not chunk.matches(document):
            found = f"{shown(chunk.content)} at {chunk.start}-{chunk.end} of {chunk.doc_id!r}"
            expected = f"chunks of {component_text(chunker)} that stand in {document.id!r} where they say"
            raise InputError([Issue("misplaced-chunk", expected, found)])
    return chunks


def _texts(document: Document, chunker: Chunker) -> list[PositionAwareChunk]:
    """Return texts as chunks that follow one another, which keeps their order and is no place."""
    chunks: list[PositionAwareChunk] = []
    end = 0
    for text in chunker.chunk(document.content):
        if text:
            start, end = end, end + len(text)
            place = (document.id, start, end, {UNPLACED: True})
            chunks.append(PositionAwareChunk(generate_pa_chunk_id(text), text, *place))
    return chunks
