"""Chunks and vectors that the tests of search share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cases import tables_beside
from rag_evaluation_framework import DocumentId, PositionAwareChunk, generate_pa_chunk_id

TABLES = tables_beside(__file__)

TEXTS = TABLES["texts"]


def chunk(text: str, doc_id: str = "doc", start: int = 0) -> PositionAwareChunk:
    return PositionAwareChunk(
        id=generate_pa_chunk_id(text),
        content=text,
        doc_id=DocumentId(doc_id),
        start=start,
        end=start + len(text),
    )


def chunks_of(texts: list[str], doc_id: str = "doc") -> list[PositionAwareChunk]:
    """Return the texts as chunks of one document, one after the other."""
    starts = np.cumsum([0, *(len(text) + 1 for text in texts)]).tolist()
    return [chunk(text, doc_id, start) for text, start in zip(texts, starts[:-1], strict=True)]


def numbered_chunks(count: int) -> list[PositionAwareChunk]:
    return [chunk(f"text {number}", f"doc{number % 7}", number * 100) for number in range(count)]


def random_vectors(count: int, dimensions: int, seed: int = 0) -> npt.NDArray[np.float32]:
    return np.random.default_rng(seed).normal(size=(count, dimensions)).astype(np.float32)


def places(chunks: list[PositionAwareChunk]) -> list[tuple[str, int]]:
    return [(it.doc_id, it.start) for it in chunks]
