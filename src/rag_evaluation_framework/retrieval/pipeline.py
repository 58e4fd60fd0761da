"""The retrieval pipeline: chunk, embed, index, search and rerank, for many queries at once."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from rag_evaluation_framework.errors import UsageError, shown
from rag_evaluation_framework.extensions import (
    Chunker,
    Embedder,
    PositionAwareChunker,
    Reranker,
    Retriever,
    VectorStore,
)
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.retrieval.chunking import Chunking, chunk_corpus
from rag_evaluation_framework.retrieval.components import VECTOR_STORES
from rag_evaluation_framework.retrieval.ordered_work import in_order
from rag_evaluation_framework.retrieval.retrievers import DenseRetriever
from rag_evaluation_framework.retrieval.vectors import check_k

FETCH_FACTOR = 4
"""A reranker sees so many times k candidates, unless ``fetch_k`` says otherwise."""


class RetrievalPipeline:
    """Finds the k best chunks of a corpus for each query.

    ``index`` cuts and indexes a corpus in place of the one before, ``retrieve`` searches it. Without a
    retriever, chunks are found by the embedder in the vector store: Chroma where it is installed, else the
    exact one. ``distinct`` indexes a text that stands in several places once.
    """

    def __init__(
        self,
        chunker: Chunker | PositionAwareChunker,
        embedder: Embedder | None = None,
        *,
        vector_store: VectorStore | None = None,
        retriever: Retriever | None = None,
        reranker: Reranker | None = None,
        fetch_k: int | None = None,
        distinct: bool = False,
        workers: int = 1,
    ) -> None:
        self.chunker, self.reranker = chunker, reranker
        self.retriever = _retriever(embedder, vector_store, retriever)
        self.fetch_k, self.distinct, self.workers = fetch_k, distinct, workers
        self.chunking: Chunking | None = None

    def index(self, corpus: Corpus) -> Chunking:
        """Cut the corpus into chunks, index them and return them."""
        chunking = chunk_corpus(corpus, self.chunker, distinct=self.distinct, workers=self.workers)
        self.retriever.index(chunking.chunks)
        self.chunking = chunking
        return chunking

    def retrieve(self, queries: Sequence[str], k: int = 5) -> list[list[PositionAwareChunk]]:
        """Return the k best chunks for each query, best first; fewer where there are fewer."""
        if self.chunking is None:
            raise UsageError("pipeline: expected index(corpus) before retrieve(queries)")
        depth = candidates_for(k, self.reranker, fetch_k=self.fetch_k)
        candidates = self.retriever.retrieve(queries, depth)
        if self.reranker is None:
            return candidates
        return reranked(self.reranker, queries, candidates, k=k, workers=self.workers)


def _retriever(
    embedder: Embedder | None, vector_store: VectorStore | None, retriever: Retriever | None
) -> Retriever:
    if retriever is not None and embedder is None and vector_store is None:
        return retriever
    if embedder is None or retriever is not None:
        raise UsageError("pipeline: expected an embedder, or a retriever and neither embedder nor store")
    return DenseRetriever(embedder, default_vector_store() if vector_store is None else vector_store)


def default_vector_store() -> VectorStore:
    """Return an empty store: Chroma's where Chroma is installed, else the exact one."""
    return VECTOR_STORES.get("chroma" if find_spec("chromadb") else "exact")()


def candidates_for(k: int, reranker: Reranker | None, *, fetch_k: int | None = None) -> int:
    """Return how many chunks to search for, so that k are left in the end."""
    check_k(k)
    if reranker is None:
        return k
    if fetch_k is None:
        return FETCH_FACTOR * k
    if not isinstance(fetch_k, int) or isinstance(fetch_k, bool) or fetch_k < k:
        raise UsageError(
            f"fetch_k: expected a whole number of at least k, which is {k}, got {shown(fetch_k)}"
        )
    return fetch_k


def reranked(
    reranker: Reranker,
    queries: Sequence[str],
    candidates: Sequence[Sequence[PositionAwareChunk]],
    *,
    k: int,
    workers: int = 1,
) -> list[list[PositionAwareChunk]]:
    """Let a reranker order each query's candidates and keep k of them.

    Only a reranker with a true ``concurrent`` is asked by several workers at once: one that waits for a
    server. A model in this process has threads of its own, and its tokenizer may not be shared.
    """

    def best(of_one: tuple[str, Sequence[PositionAwareChunk]]) -> list[PositionAwareChunk]:
        query, chunks = of_one
        return list(reranker.rerank(query, chunks, k))[:k] if chunks else []

    pairs = list(zip(queries, candidates, strict=True))
    return in_order(best, pairs, workers=workers if getattr(reranker, "concurrent", False) else 1)
