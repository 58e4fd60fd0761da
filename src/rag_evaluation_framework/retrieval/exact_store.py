"""The exact store: every vector compared with every query, in memory, nothing to install or to tune."""

from __future__ import annotations

from collections.abc import Sequence

from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.retrieval.stored_chunks import StoredChunks
from rag_evaluation_framework.retrieval.vectors import check_k


class ExactVectorStore:
    """Fulfils ``extensions.BatchVectorStore``. Cosine; ties by (doc_id, start); every occurrence is kept."""

    def __init__(self) -> None:
        self._stored = StoredChunks()

    def __repr__(self) -> str:
        return "exact"

    def __len__(self) -> int:
        return len(self._stored)

    def add(self, chunks: Sequence[PositionAwareChunk], embeddings: Sequence[Sequence[float]]) -> None:
        """Add chunks with one vector each; a list of lists or an array."""
        self._stored.add(chunks, embeddings)

    def search(self, query_embedding: Sequence[float], k: int) -> list[PositionAwareChunk]:
        """Return the k nearest chunks, best first; fewer when there are fewer."""
        return self.search_many([query_embedding], k)[0]

    def search_many(
        self, query_embeddings: Sequence[Sequence[float]], k: int
    ) -> list[list[PositionAwareChunk]]:
        """Return for each query what :meth:`search` would, much faster than one by one."""
        return self._stored.nearest(self._stored.queries(query_embeddings, k), k)

    def recall_against_exact(self, query_embeddings: Sequence[Sequence[float]], k: int) -> float:
        """Return 1: this store is what others are measured against."""
        check_k(k)
        return 1.0

    def clear(self) -> None:
        """Forget everything."""
        self._stored = StoredChunks()
