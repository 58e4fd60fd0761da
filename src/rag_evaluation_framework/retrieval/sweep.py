"""The grid, its cells, and the work that cells share done once.

A corpus is cut once for each chunker, each text is embedded once for each embedder, and each index is built
once and searched once, as deep as its deepest cell needs. The hits of a cell are those that a pipeline of the
same parts finds by itself, as long as the store finds the same nearest chunks whatever their number.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rag_evaluation_framework.components import (
    EMBEDDERS,
    RERANKERS,
    VECTOR_STORES,
    chunker_from,
    component_from,
)
from rag_evaluation_framework.errors import InputError, Issue, UsageError, counted
from rag_evaluation_framework.extensions import (
    BatchVectorStore,
    Chunker,
    Embedder,
    PositionAwareChunker,
    Reranker,
    Retriever,
    VectorStore,
    component_text,
)
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.retrieval.bm25 import BM25Retriever
from rag_evaluation_framework.retrieval.costs import SEARCHES, TOKENS, CellCost, Meter, SharedCosts
from rag_evaluation_framework.retrieval.embedders import OnTexts, RememberingEmbedder
from rag_evaluation_framework.retrieval.pipeline import (
    Chunking,
    candidates_for,
    check_workers,
    chunk_corpus,
    default_vector_store,
    reranked,
)
from rag_evaluation_framework.retrieval.retrievers import DenseRetriever, FusedRetriever, retriever_from

# What a sweep combines: chunkers, retrievers, rerankers and values of k, and what each cell is
# called.

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


Hits = list[list[PositionAwareChunk]]
"""The chunks found for each query, best first."""

OnChunking = Callable[[Chunking], None]
"""Told of a chunking before anything is embedded; it may refuse it."""

OnStep = Callable[[str], None]
"""Told what is done next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSeconds:
    """The time of each stage. All but ``rerank`` were spent once for several cells.

    ``embed`` is that of texts which no cell before had; ``search`` includes the embedding of the queries.
    """

    chunk: float
    embed: float
    index: float
    search: float
    rerank: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CellHits:
    """What a cell found for each query, in the order of the queries."""

    cell: Cell
    chunking: Chunking
    hits: Hits = field(hash=False)
    dimensions: int | None
    store_recall: float | None
    """The share of the true nearest chunks that the store found; ``None`` where it does not tell."""
    embedding_tokens: int | None
    """What the embedder read for this index and no cell before; ``None`` where it does not tell."""
    cost: CellCost
    seconds: StageSeconds


def sweep(
    corpus: Corpus,
    queries: Sequence[str],
    grid: Grid,
    *,
    distinct: bool = False,
    workers: int = 1,
    on_chunking: OnChunking | None = None,
    on_step: OnStep | None = None,
) -> Iterator[CellHits]:
    """Yield what each cell finds, chunker by chunker; ``distinct`` is for the chunk level."""
    check_workers(workers)
    tell = on_step or (lambda step: None)
    for chunker in grid.chunkers:
        tell(f"cutting by {component_text(chunker)}")
        meter = Meter(chunker, TOKENS)  # some chunkers embed
        chunking = chunk_corpus(corpus, chunker, distinct=distinct, workers=workers)
        cutting = CellCost(spent=meter.cost, alone=meter.cost) if meter.is_metered else None
        if on_chunking is not None:
            on_chunking(chunking)
        for retriever in grid.retrievers:
            yield from _Search(chunking, retriever, queries, grid, workers, tell).cells(cutting)
            cutting = cutting and cutting.paid


class _Search:
    """One index of one chunking, searched for every cell that uses it."""

    def __init__(
        self,
        chunking: Chunking,
        retriever: Retriever,
        queries: Sequence[str],
        grid: Grid,
        workers: int,
        tell: OnStep,
    ) -> None:
        self.chunking, self.retriever, self.queries = chunking, retriever, queries
        self.grid, self.workers, self.tell = grid, workers, tell
        self.text = retriever_text(retriever)

    def cells(self, cutting: CellCost | None) -> Iterator[CellHits]:
        """Yield each cell with its hits; ``cutting`` is what the chunking cost, if that is known to cost."""
        dense = dense_part(self.retriever)
        embedder = dense.embedder if dense and isinstance(dense.embedder, RememberingEmbedder) else None
        embedded_before = embedder.seconds if embedder else 0.0
        meter = Meter(dense.embedder if dense else None, TOKENS)
        begun = time.perf_counter()
        chunks = counted(len(self.chunking.chunks), "chunk")
        self.tell(f"indexing {chunks} of {self.chunking.chunker} in {self.text}")
        self.retriever.index(self.chunking.chunks)
        embed = embedder.seconds - embedded_before if embedder else 0.0
        index = time.perf_counter() - begun - embed
        candidates = self._candidates()
        search = time.perf_counter() - begun - embed - index
        recall = self._store_recall()
        tokens, costs = meter.units, SharedCosts(cutting, self._embedding_cost(meter))
        for reranker in self.grid.rerankers:
            for cell, hits, rerank, reranking in self._ranked(reranker, candidates):
                yield CellHits(
                    cell=cell,
                    chunking=self.chunking,
                    hits=hits,
                    dimensions=embedder.dimensions if embedder else None,
                    store_recall=recall,
                    embedding_tokens=tokens,
                    cost=costs.charged(reranking),
                    seconds=StageSeconds(
                        chunk=self.chunking.seconds, embed=embed, index=index, search=search, rerank=rerank
                    ),
                )

    def _embedding_cost(self, meter: Meter) -> CellCost | None:
        if not meter.is_metered:
            return None
        texts = [*(chunk.content for chunk in self.chunking.chunks), *self.queries]
        return CellCost(spent=meter.cost, alone=meter.cost_of_embedding(texts))

    def _candidates(self) -> Mapping[int, Hits]:
        """Return the hits by depth: found once where a shorter list is the beginning of a longer one."""
        queries = counted(len(self.queries), "query", "queries")
        self.tell(f"searching {self.chunking.chunker} with {self.text} for {queries}")
        depths = self.grid.depths
        if has_stable_prefixes(self.retriever, depths[-1]):
            deepest = self._retrieved(depths[-1])
            return {depth: [of_one[:depth] for of_one in deepest] for depth in depths}
        return {depth: self._retrieved(depth) for depth in depths}

    def _retrieved(self, depth: int) -> Hits:
        hits = [list(of_one) for of_one in self.retriever.retrieve(self.queries, depth)]
        known = {_place(chunk) for chunk in self.chunking.chunks}
        for of_one in hits:
            places = [_place(chunk) for chunk in of_one]
            if len(set(places)) < len(places) or not known.issuperset(places):
                expected = "a store that holds the chunks of this run alone, each once"
                raise InputError([Issue("foreign-chunks", expected, "others or repeated ones", self.text)])
        return hits

    def _ranked(
        self, reranker: Reranker | None, candidates: Mapping[int, Hits]
    ) -> Iterator[tuple[Cell, Hits, float, CellCost | None]]:
        """Yield each cell with its hits, and the time and the cost of reranking.

        A reranker with a true ``pointwise`` scores each candidate by itself, so it is asked once, for as many
        candidates as the largest k has, and the others' are found in its order.
        """
        whole: Hits | None = None
        is_pointwise, all_along = getattr(reranker, "pointwise", False), Meter(reranker, SEARCHES)
        for k in self.grid.ks:
            fetch_k = candidates_for(k, reranker, fetch_k=self.grid.fetch_k)
            name = None if reranker is None else component_text(reranker)
            cell = Cell(
                chunker=self.chunking.chunker, retriever=self.text, reranker=name, k=k, fetch_k=fetch_k
            )
            if reranker is None:
                yield cell, candidates[fetch_k], 0.0, None
                continue
            self.tell(f"reranking {self.chunking.chunker} with {name} for k = {k}")
            begun, meter = time.perf_counter(), Meter(reranker, SEARCHES)
            if not is_pointwise:
                hits = reranked(reranker, self.queries, candidates[fetch_k], k=k, workers=self.workers)
            else:
                if whole is None:
                    whole = self._wholly_reranked(reranker, candidates)
                hits = [_among(order, few)[:k] for order, few in zip(whole, candidates[fetch_k], strict=True)]
            cost = CellCost(spent=meter.cost, alone=(all_along if is_pointwise else meter).cost)
            yield cell, hits, time.perf_counter() - begun, cost if meter.is_metered else None

    def _wholly_reranked(self, reranker: Reranker, candidates: Mapping[int, Hits]) -> Hits:
        depth = candidates_for(max(self.grid.ks), reranker, fetch_k=self.grid.fetch_k)
        return reranked(reranker, self.queries, candidates[depth], k=depth, workers=self.workers)

    def _store_recall(self) -> float | None:
        dense = dense_part(self.retriever)
        measure = getattr(dense.store, "recall_against_exact", None) if dense else None
        if dense is None or measure is None or not self.queries:
            return None
        return float(measure(dense.embedder.embed(self.queries), self.grid.depths[-1]))


def _among(
    ordered: Sequence[PositionAwareChunk], few: Sequence[PositionAwareChunk]
) -> list[PositionAwareChunk]:
    """Return those of the ordered chunks that are among a few."""
    wanted = {_place(chunk) for chunk in few}
    return [chunk for chunk in ordered if _place(chunk) in wanted]


def _place(chunk: PositionAwareChunk) -> tuple[str, int, int]:
    return chunk.doc_id, chunk.start, chunk.end
