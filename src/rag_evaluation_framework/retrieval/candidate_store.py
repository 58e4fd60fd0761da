"""What stores of vendors share: the vendor proposes candidates by number, we order and check them.

A vendor's store is asked for a few more than k. Where the last of them is as near as the k-th, the answer
ends within a tie, and more of that query is asked for, so that ties are cut by (doc_id, start) and not by
the vendor's chance.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.retrieval.stored_chunks import StoredChunks
from rag_evaluation_framework.retrieval.vectors import Matrix

# For each query the numbers that a vendor proposes, nearest first, and how near each is: more is nearer.
Proposals = Sequence[tuple[Sequence[int], Sequence[float]]]

_QUERIES_AT_ONCE = 128
_SPARE = 16
_GROWTH = 4
# Closer than this, float32 does not tell two cosines apart.
_TIE = 1e-6


class CandidateStore(ABC):
    """Fulfils ``extensions.BatchVectorStore`` for a vendor that keeps vectors under numbers."""

    def __init__(self) -> None:
        self._stored = StoredChunks()

    def __len__(self) -> int:
        return len(self._stored)

    def add(self, chunks: Sequence[PositionAwareChunk], embeddings: Sequence[Sequence[float]]) -> None:
        """Add chunks with one vector each; a list of lists or an array."""
        first = len(self._stored)
        vectors = self._stored.add(chunks, embeddings)
        if len(chunks):
            self._insert(first, chunks, vectors)

    def search(self, query_embedding: Sequence[float], k: int) -> list[PositionAwareChunk]:
        """Return the k nearest chunks, best first, as far as the vendor finds them."""
        return self.search_many([query_embedding], k)[0]

    def search_many(
        self, query_embeddings: Sequence[Sequence[float]], k: int
    ) -> list[list[PositionAwareChunk]]:
        """Return for each query what :meth:`search` would."""
        queries = self._stored.queries(query_embeddings, k)
        return [[self._stored.chunks[number] for number in row] for row in self._numbers(queries, k)]

    def recall_against_exact(self, query_embeddings: Sequence[Sequence[float]], k: int) -> float:
        """Return the share of the true k nearest that is found for these queries; ties count as found."""
        queries = self._stored.queries(query_embeddings, k)
        return self._stored.recall(queries, self._numbers(queries, k), k)

    def clear(self) -> None:
        """Forget everything; the next chunks go into a fresh collection."""
        self._drop()
        self._stored = StoredChunks()

    @abstractmethod
    def _insert(self, first: int, chunks: Sequence[PositionAwareChunk], vectors: Matrix) -> None:
        """Store chunks with their unit vectors under the numbers from ``first`` on."""

    @abstractmethod
    def _propose(self, queries: Matrix, count: int) -> Proposals:
        """Return the nearest ``count`` numbers for each query."""

    @abstractmethod
    def _drop(self) -> None:
        """Drop the collection, if there is one."""

    def _numbers(self, queries: Matrix, k: int) -> list[list[int]]:
        """Return the best k numbers for each query, ordered as every store of ours orders them."""
        if not len(self._stored):
            return [[] for _ in queries]
        found: list[list[int]] = []
        for start in range(0, len(queries), _QUERIES_AT_ONCE):
            block = queries[start : start + _QUERIES_AT_ONCE]
            for query, numbers in zip(block, self._candidates(block, k, k + _SPARE), strict=True):
                found.append(self._stored.best_numbers(query, numbers, k))
        return found

    def _candidates(self, queries: Matrix, k: int, count: int) -> list[Sequence[int]]:
        count = min(count, len(self._stored))
        candidates: list[Sequence[int]] = []
        for number, (numbers, nearness) in enumerate(self._propose(queries, count)):
            if len(numbers) >= k and count < len(self._stored) and nearness[k - 1] - nearness[-1] <= _TIE:
                candidates += self._candidates(queries[number : number + 1], k, _GROWTH * count)
            else:
                candidates.append(numbers)
        return candidates
