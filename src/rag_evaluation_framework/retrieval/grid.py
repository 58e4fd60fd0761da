"""What a sweep combines: chunkers, retrievers, rerankers and values of k, and what each cell is called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.extensions import (
    BatchVectorStore,
    Chunker,
    Embedder,
    PositionAwareChunker,
    Reranker,
    Retriever,
    VectorStore,
)
from rag_evaluation_framework.retrieval.bm25 import BM25Retriever
from rag_evaluation_framework.retrieval.chunking import component_text
from rag_evaluation_framework.retrieval.components import (
    EMBEDDERS,
    RERANKERS,
    VECTOR_STORES,
    chunker_from,
    component_from,
)
from rag_evaluation_framework.retrieval.fusion import FusedRetriever
from rag_evaluation_framework.retrieval.pipeline import candidates_for, default_vector_store
from rag_evaluation_framework.retrieval.remembering_embedder import OnTexts, RememberingEmbedder
from rag_evaluation_framework.retrieval.retrievers import DenseRetriever, retriever_from

DENSE = "dense"
FUSED = "fused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The parts to combine; ``None`` among the rerankers stands for none."""

    chunkers: Sequence[Chunker | PositionAwareChunker]
    retrievers: Sequence[Retriever]
    rerankers: Sequence[Reranker | None] = (None,)
    ks: Sequence[int] = (5,)
    fetch_k: int | None = None

    def __post_init__(self) -> None:
        for name in ("chunkers", "retrievers", "rerankers", "ks"):
            texts = [component_text(each) for each in getattr(self, name)]
            if not texts:
                raise UsageError(f"{name}: expected at least one, got none")
            if twice := next((text for text in texts if texts.count(text) > 1), None):
                raise UsageError(f"{name}: expected each once, got {twice} again")
        for k in self.ks:
            for reranker in self.rerankers:
                candidates_for(k, reranker, fetch_k=self.fetch_k)

    def __len__(self) -> int:
        return len(self.chunkers) * len(self.retrievers) * len(self.rerankers) * len(self.ks)

    @property
    def depths(self) -> list[int]:
        """How many candidates the cells need, each number once, in ascending order."""
        needed = {candidates_for(k, each, fetch_k=self.fetch_k) for k in self.ks for each in self.rerankers}
        return sorted(needed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One combination, in the words that results record."""

    chunker: str
    retriever: str
    reranker: str | None
    k: int
    fetch_k: int

    def __str__(self) -> str:
        parts = [self.chunker, self.retriever, *([self.reranker] if self.reranker else []), f"k={self.k}"]
        return " · ".join(parts)


def grid_of(
    *,
    chunkers: Sequence[str | Chunker | PositionAwareChunker],
    embedders: Sequence[str | Embedder] = ("hashing",),
    retrievers: Sequence[str | Retriever] = (DENSE,),
    vector_stores: Sequence[str | VectorStore | None] = (None,),
    rerankers: Sequence[str | Reranker | None] = (None,),
    k: int | Sequence[int] = 5,
    fetch_k: int | None = None,
    on_texts: OnTexts | None = None,
) -> Grid:
    """Return the grid of parts, each given as an object or as its specification."""
    return Grid(
        chunkers=[chunker_from(each) if isinstance(each, str) else each for each in chunkers],
        retrievers=expanded_retrievers(
            retrievers,
            [component_from(EMBEDDERS, each) if isinstance(each, str) else each for each in embedders],
            vector_stores=[
                component_from(VECTOR_STORES, each) if isinstance(each, str) else each
                for each in vector_stores
            ],
            on_texts=on_texts,
        ),
        rerankers=[component_from(RERANKERS, each) if isinstance(each, str) else each for each in rerankers],
        ks=[k] if isinstance(k, int) else list(k),
        fetch_k=fetch_k,
    )


def expanded_retrievers(
    retrievers: Sequence[str | Retriever],
    embedders: Sequence[Embedder],
    *,
    vector_stores: Sequence[VectorStore | None] = (None,),
    on_texts: OnTexts | None = None,
) -> list[Retriever]:
    """Return the retrievers that names stand for: ``dense`` and ``fused`` once for each embedder and store.

    ``fused`` alone is BM25 with the dense one. Any other text is a whole specification, and an object stands
    for itself. Those that are made here use a store in turn and share what an embedder embeds; ``None`` among
    the stores stands for the default one.
    """
    remembering = [RememberingEmbedder(embedder, on_texts=on_texts) for embedder in embedders]
    by_name = [name for name in retrievers if name in (DENSE, FUSED)]
    if by_name and not embedders:
        raise UsageError(f"retriever {by_name[0]}: expected at least one embedder, got none")
    stores = [default_vector_store() if store is None else store for store in vector_stores if by_name]
    for store in stores:
        if len(by_name) * len(embedders) > 1 and not isinstance(store, BatchVectorStore):
            raise UsageError(f"store {component_text(store)}: expected one with clear(), to use it again")
    expanded: list[Retriever] = []
    for name in retrievers:
        if name in (DENSE, FUSED):
            dense = [DenseRetriever(embedder, store) for embedder in remembering for store in stores]
            expanded += dense if name == DENSE else [_fused(retriever) for retriever in dense]
        else:
            expanded.append(retriever_from(name) if isinstance(name, str) else name)
    return expanded


def dense_part(retriever: Retriever) -> DenseRetriever | None:
    """Return the retriever itself or the one among those it fuses that searches by vectors."""
    if isinstance(retriever, FusedRetriever):
        return next((part for each in retriever.retrievers.values() if (part := dense_part(each))), None)
    return retriever if isinstance(retriever, DenseRetriever) else None


def retriever_text(retriever: Retriever) -> str:
    """Return what results record of a retriever, whatever its embedder and store say of themselves."""
    if isinstance(retriever, DenseRetriever):
        return (
            f"dense(embedder={component_text(retriever.embedder)}, store={component_text(retriever.store)})"
        )
    if isinstance(retriever, FusedRetriever):
        parts = [f"{name}={retriever_text(each)}" for name, each in retriever.retrievers.items()]
        return f"fused(constant={retriever.constant!r}, depth={retriever.depth}, {', '.join(parts)})"
    return component_text(retriever)


def has_stable_prefixes(retriever: Retriever, depth: int) -> bool:
    """Tell whether the first k of ``depth`` results are what would be found if only k were asked for."""
    if isinstance(retriever, FusedRetriever):
        return depth <= retriever.depth
    return isinstance(retriever, DenseRetriever | BM25Retriever)


def _fused(dense: DenseRetriever) -> FusedRetriever:
    return FusedRetriever(lexical=BM25Retriever(), dense=dense)
