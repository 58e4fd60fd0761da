"""Several rankings made one, by reciprocal rank: what stands high in several lists comes first.

score(d) = Σ over rankings of 1 / (constant + rank of d); Cormack, Clarke and Büttcher, "Reciprocal Rank
Fusion outperforms Condorcet and individual Rank Learning Methods" (SIGIR 2009), whose constant is 60.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

from rag_evaluation_framework.errors import UsageError, shown
from rag_evaluation_framework.extensions import Retriever
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.retrieval.vectors import check_k

CONSTANT = 60
DEPTH = 100

Place = tuple[str, int, int]


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[PositionAwareChunk]], k: int, *, constant: float = CONSTANT
) -> list[PositionAwareChunk]:
    """Return the best k of all rankings, ties by (doc_id, start); a chunk is its place, not its id."""
    check_k(k)
    shares: dict[Place, list[float]] = {}
    chunks: dict[Place, PositionAwareChunk] = {}
    for ranking in rankings:
        places = dict.fromkeys((chunk.doc_id, chunk.start, chunk.end) for chunk in ranking)
        chunks.update(zip(((it.doc_id, it.start, it.end) for it in ranking), ranking, strict=True))
        for rank, place in enumerate(places, start=1):
            shares.setdefault(place, []).append(1.0 / (constant + rank))
    best = sorted(shares, key=lambda place: (-fsum(shares[place]), place))
    return [chunks[place] for place in best[:k]]


class FusedRetriever:
    """Fulfils ``extensions.Retriever``: asks several, each by a name of its own, and fuses their rankings.

    ``FusedRetriever(lexical=BM25Retriever(), dense=DenseRetriever(embedder))``. Each is asked for ``depth``
    chunks, or for k where that is more.
    """

    def __init__(self, *, constant: float = CONSTANT, depth: int = DEPTH, **retrievers: Retriever) -> None:
        if len(retrievers) < 2:
            raise UsageError(f"fused: expected at least two retrievers, got {len(retrievers)}")
        if not 0 <= constant < float("inf"):
            raise UsageError(f"fused: constant: expected a number of at least 0, got {shown(constant)}")
        check_k(depth)
        self.constant, self.depth = constant, depth
        self.retrievers = retrievers

    def __repr__(self) -> str:
        given = {name: repr(retriever) for name, retriever in self.retrievers.items()}
        inside = ", ".join(f"{name}={text}" for name, text in given.items())
        return f"fused(constant={self.constant!r}, depth={self.depth}, {inside})"

    def index(self, chunks: Sequence[PositionAwareChunk]) -> None:
        """Let each retriever index these chunks."""
        for retriever in self.retrievers.values():
            retriever.index(chunks)

    def retrieve(self, queries: Sequence[str], k: int) -> list[list[PositionAwareChunk]]:
        """Return for each query the best k of all rankings."""
        check_k(k)
        rankings = [it.retrieve(queries, max(k, self.depth)) for it in self.retrievers.values()]
        return [
            reciprocal_rank_fusion(of_query, k, constant=self.constant)
            for of_query in zip(*rankings, strict=True)
        ]
