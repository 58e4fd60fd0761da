"""Chonkie's chunkers. Needs the extra ``chonkie``.

Chonkie tells where its chunks are, and that is used as long as the document's characters agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rag_evaluation_framework.adapters.extras import VendorChunker
from rag_evaluation_framework.errors import MissingExtraError, UnknownNameError, UsageError
from rag_evaluation_framework.extensions import extra_module
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.records.documents import Document
from rag_evaluation_framework.retrieval.chunkers import sliced


class ChonkieChunker(VendorChunker):
    """A chunker of ``chonkie``: its class name and arguments, or the object itself.

    ``ChonkieChunker("RecursiveChunker", tokenizer="character", chunk_size=200)``, or as a specification
    ``chonkie(chunker=RecursiveChunker, tokenizer=character, chunk_size=200)``. Chunks whose text is not where
    chonkie says it is make the whole document go through
    :class:`~rag_evaluation_framework.retrieval.positions.ChunkerPositionAdapter`.
    """

    name, part, method = "chonkie", "chunker", "chunk"

    def __init__(self, chunker: Any = "RecursiveChunker", **arguments: Any) -> None:
        super().__init__(chunker, arguments)

    def chunk(self, text: str) -> list[str]:
        return [piece.text for piece in self.wrapped.chunk(text)]

    def chunk_with_positions(self, doc: Document) -> list[PositionAwareChunk]:
        pieces = [piece for piece in self.wrapped.chunk(doc.content) if piece.text.strip()]
        if all(doc.content[piece.start_index : piece.end_index] == piece.text for piece in pieces):
            return sliced(doc, [(piece.start_index, piece.end_index) for piece in pieces])
        return super().chunk_with_positions(doc)

    def _built(self, name: str, arguments: Mapping[str, Any]) -> Any:
        chonkie = extra_module("chonkie", feature="chonkie's chunkers", extra="chonkie")
        known = [known for known in dir(chonkie) if known.endswith("Chunker") and known != "BaseChunker"]
        if name not in known:
            raise UnknownNameError("chonkie chunker", name, known)
        try:
            return getattr(chonkie, name)(**arguments)
        except ImportError as error:
            raise MissingExtraError(f"chonkie's {name}", "chonkie") from error
        except (TypeError, ValueError) as error:
            raise UsageError(f"{name}: {error}") from error
