"""What stores of vendors share: the vendor proposes candidates by number, we order and check them.

Equal vectors are one entry with the vendor, and all their occurrences are kept here: the graph of an
approximate index falls apart into islands when hundreds of its vectors are equal. A vendor's store is asked
for a few more than k. Where the last of them is as near as the k-th, the answer ends within a tie, and more
of that query is asked for, so that ties are cut by (doc_id, start) and not by the vendor's chance.
"""

from __future__ import annotations

import hashlib
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
        self._forget()

    def __len__(self) -> int:
        return len(self._stored)

    def add(self, chunks: Sequence[PositionAwareChunk], embeddings: Sequence[Sequence[float]]) -> None:
        """Add chunks with one vector each; a list of lists or an array."""
        first, first_entry = len(self._stored), len(self._occurrences)
        vectors = self._stored.add(chunks, embeddings)
        new: list[int] = []
        for offset, vector in enumerate(vectors):
            key = hashlib.blake2b(vector.tobytes(), digest_size=16).digest()
            entry = self._entries.setdefault(key, len(self._occurrences))
            if entry == len(self._occurrences):
                self._occurrences.append([])
                new.append(offset)
            self._occurrences[entry].append(first + offset)
        if new:
            self._insert(first_entry, [chunks[offset] for offset in new], vectors[new])

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
        self._forget()

    @abstractmethod
    def _insert(self, first: int, chunks: Sequence[PositionAwareChunk], vectors: Matrix) -> None:
        """Store chunks with their unit vectors, no two equal, under the numbers from ``first`` on."""

    @abstractmethod
    def _propose(self, queries: Matrix, count: int) -> Proposals:
        """Return the nearest ``count`` numbers for each query."""

    @abstractmethod
    def _drop(self) -> None:
        """Drop the collection, if there is one."""

    def _forget(self) -> None:
        self._stored = StoredChunks()
        self._entries: dict[bytes, int] = {}
        self._occurrences: list[list[int]] = []

    def _numbers(self, queries: Matrix, k: int) -> list[list[int]]:
        """Return the best k numbers for each query, ordered as every store of ours orders them."""
        if not len(self._stored):
            return [[] for _ in queries]
        found: list[list[int]] = []
        for start in range(0, len(queries), _QUERIES_AT_ONCE):
            block = queries[start : start + _QUERIES_AT_ONCE]
            for query, entries in zip(block, self._candidates(block, k, k + _SPARE), strict=True):
                numbers = [number for entry in entries for number in self._occurrences[entry]]
                found.append(self._stored.best_numbers(query, numbers, k))
        return found

    def _candidates(self, queries: Matrix, k: int, count: int) -> list[Sequence[int]]:
        """Return the entries that may be among each query's best k, with all that tie with the k-th."""
        count = min(count, len(self._occurrences))
        candidates: list[Sequence[int]] = []
        for row, (entries, nearness) in enumerate(self._propose(queries, count)):
            ends_in_a_tie = len(entries) >= k and nearness[k - 1] - nearness[-1] <= _TIE
            if ends_in_a_tie and count < len(self._occurrences):
                candidates += self._candidates(queries[row : row + 1], k, _GROWTH * count)
            else:
                candidates.append(entries)
        return candidates
