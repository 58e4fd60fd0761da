"""Retrievers by name, and the dense one: an embedder and a store.

``retriever_from("fused(lexical=bm25, dense=dense(embedder=hashing, store=exact))")`` builds one from the
text that ``str()`` gives back. Installed packages add names through the entry points
``rag_evaluation_framework.retrievers``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence

from rag_evaluation_framework.errors import UsageError, shown
from rag_evaluation_framework.extensions import (
    BatchVectorStore,
    Embedder,
    Registry,
    Retriever,
    VectorStore,
)
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.retrieval.components import EMBEDDERS, VECTOR_STORES, component_from
from rag_evaluation_framework.retrieval.embedding import embedded
from rag_evaluation_framework.retrieval.exact_store import ExactVectorStore
from rag_evaluation_framework.retrieval.vectors import Matrix, check_k
from rag_evaluation_framework.specifications import Specification, built, parse_specification

_ROOM = "rag_evaluation_framework.retrieval."

RETRIEVERS: Registry[Callable[..., Retriever]] = Registry("retriever")
RETRIEVERS.register("bm25", f"{_ROOM}bm25:BM25Retriever")
RETRIEVERS.register("dense", f"{_ROOM}retrievers:DenseRetriever")
RETRIEVERS.register("fused", f"{_ROOM}fusion:FusedRetriever")


class DenseRetriever:
    """Fulfils ``extensions.Retriever``: the nearest vectors' chunks. Without a store, the exact one."""

    def __init__(self, embedder: Embedder, store: VectorStore | None = None) -> None:
        self.embedder = embedder
        self.store: VectorStore = ExactVectorStore() if store is None else store
        self._dimensions: int | None = None

    def __repr__(self) -> str:
        return f"dense(embedder={self.embedder}, store={self.store})"

    def index(self, chunks: Sequence[PositionAwareChunk]) -> None:
        """Embed these chunks and store them in place of those before."""
        embeddings = embedded(self.embedder, [chunk.content for chunk in chunks])
        if isinstance(self.store, BatchVectorStore):
            self.store.clear()
            self.store.add(chunks, embeddings)  # type: ignore[arg-type]  # an array is a list of lists to ours
        elif self._dimensions is not None:
            raise UsageError(f"store {self.store}: expected a new store for each index, or one with clear()")
        else:
            self.store.add(list(chunks), embeddings.tolist())
        self._dimensions = embeddings.shape[1] if len(chunks) else None

    def retrieve(self, queries: Sequence[str], k: int) -> list[list[PositionAwareChunk]]:
        """Return for each query the k nearest chunks."""
        check_k(k)
        return search_all(self.store, embedded(self.embedder, queries, dimensions=self._dimensions), k)


def search_all(store: VectorStore, query_embeddings: Matrix, k: int) -> list[list[PositionAwareChunk]]:
    """Search for many queries: at once where the store can, else one by one."""
    if isinstance(store, BatchVectorStore):
        return store.search_many(query_embeddings, k)  # type: ignore[arg-type]
    return [list(store.search(query, k))[:k] for query in query_embeddings.tolist()]


def retriever_from(text: str | Specification) -> Retriever:
    """Return the retriever that a specification stands for, with the components among its arguments."""
    specification = parse_specification(text) if isinstance(text, str) else text
    build = RETRIEVERS.get(specification.name)
    named = set(inspect.signature(build).parameters)
    arguments = {
        name: _argument(name, value, is_option=name in named)
        for name, value in specification.arguments.items()
    }
    return built(build, arguments, of=f"retriever {shown(str(specification))}")


def _argument(name: str, value: object, *, is_option: bool) -> object:
    """Build what an argument names: an embedder, a store, or under any other name one of the retrievers."""
    if not isinstance(value, str | Specification):
        return value
    if name == "embedder":
        return component_from(EMBEDDERS, value)
    if name == "store":
        return component_from(VECTOR_STORES, value)
    return value if is_option else retriever_from(value)
