"""What every store of ours keeps of the chunks it was given: the chunks, their vectors, the order of ties.

A chunk is known by the number of its turn, never by its id: the same text in two places is two entries. A
store, however it searches, proposes numbers; which of them are the best k, and in which order, is decided
here by the exact cosine and then by (doc_id, start), so that stores that find the same chunks agree to the
last place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.retrieval.exact_search import Numbers, exact_scores, nearest, ranked
from rag_evaluation_framework.retrieval.vectors import Matrix, check_k, checked_vectors, unit_vectors


class StoredChunks:
    """Chunks with their unit vectors, numbered in the order in which they came."""

    def __init__(self) -> None:
        self.chunks: list[PositionAwareChunk] = []
        self._parts: list[Matrix] = []
        self._tie_order: Numbers | None = None

    def __len__(self) -> int:
        return len(self.chunks)

    @property
    def vectors(self) -> Matrix:
        """All vectors, a row a chunk."""
        if len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]
        return self._parts[0] if self._parts else np.zeros((0, 0), np.float32)

    def tie_order(self) -> Numbers:
        """Return the rank of each number among all by (doc_id, start, end, turn)."""
        if self._tie_order is None:
            self._tie_order = place_order(self.chunks)
        return self._tie_order

    def add(self, chunks: Sequence[PositionAwareChunk], embeddings: Any) -> Matrix:
        """Take in chunks with one vector each, all or none of them, and return the unit vectors."""
        dimensions = self._parts[0].shape[1] if self._parts else None
        vectors = checked_vectors(embeddings, "embeddings", rows=len(chunks), dimensions=dimensions)
        if len(chunks):
            vectors = unit_vectors(vectors)
            self.chunks.extend(chunks)
            self._parts.append(vectors)
            self._tie_order = None
        return vectors

    def queries(self, query_embeddings: Any, k: int) -> Matrix:
        """Return the queries' unit vectors; a size that differs from the chunks' is an error, and k of 0."""
        check_k(k)
        dimensions = self._parts[0].shape[1] if self._parts else None
        return unit_vectors(checked_vectors(query_embeddings, "query_embeddings", dimensions=dimensions))

    def best_numbers(self, query: Matrix, candidates: Sequence[int], k: int) -> list[int]:
        """Return the best k of one query's candidates, by their exact cosine and then by place."""
        numbers = np.array(candidates, np.intp)
        best: list[int] = ranked(query, self.vectors, numbers, k=k, tie_order=self.tie_order)[0].tolist()
        return best

    def nearest(self, queries: Matrix, k: int) -> list[list[PositionAwareChunk]]:
        """Return the k chunks nearest to each query among all of them."""
        if not self.chunks:
            return [[] for _ in queries]
        numbers, _ = nearest(queries, self.vectors, k, tie_order=self.tie_order)
        return [[self.chunks[number] for number in row] for row in numbers.tolist()]

    def recall(self, queries: Matrix, found: Sequence[Sequence[int]], k: int) -> float:
        """Return the share of the true k nearest that was found, over all queries.

        What is as near as the k-th counts as one of them, so a store is not blamed for a tie.
        """
        if not len(queries) or not self.chunks:
            raise UsageError("recall against exact search: expected at least one query and one chunk")
        _, scores = nearest(queries, self.vectors, k, tie_order=self.tie_order)
        owners = np.array([row for row, numbers in enumerate(found) for _ in numbers[:k]], np.intp)
        candidates = np.array([number for numbers in found for number in numbers[:k]], np.intp)
        reached = exact_scores(queries, self.vectors, owners, candidates) >= scores[owners, -1]
        return int(np.count_nonzero(reached)) / scores.size


def place_order(chunks: Sequence[PositionAwareChunk]) -> Numbers:
    """Return each chunk's rank by (doc_id, start, end); of equals, the one that came first is first."""
    by_place = sorted(
        range(len(chunks)),
        key=lambda number: (chunks[number].doc_id, chunks[number].start, chunks[number].end),
    )
    order = np.empty(len(chunks), np.intp)
    order[by_place] = np.arange(len(chunks))
    return order
