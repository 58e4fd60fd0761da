"""The grid, its cells, and the work that cells share done once.

A corpus is cut once for each chunker, each text is embedded once for each embedder, and each index is built
once and searched once, as deep as its deepest cell needs. The hits of a cell are those that a pipeline of the
same parts finds by itself, as long as the store finds the same nearest chunks whatever their number.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

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
from rag_evaluation_framework.retrieval.costs import SEARCHES, TOKENS, CellCost, Meter, summed
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

_BYTES_A_NUMBER = 4


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


@dataclass(frozen=True, slots=True)
class IndexSize:
    """How large an index is; ``vector_bytes`` is ``None`` where there are no vectors."""

    chunks: int
    characters: int
    vector_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFigures:
    """What a cell took.

    ``store_recall`` is the share of the true nearest chunks that the store found, ``embedding_tokens`` what
    the embedder read for this index and no cell before; each ``None`` where it is not told.
    """

    index: IndexSize
    store_recall: float | None
    embedding_tokens: int | None
    cost: CellCost
    seconds: StageSeconds


def swept_cells(
    corpus: Corpus,
    queries: Sequence[str],
    grid: Grid,
    *,
    distinct: bool = False,
    workers: int = 1,
    on_chunking: OnChunking | None = None,
    on_step: OnStep | None = None,
) -> tuple[CellPipeline, ...]:
    """Return each cell as a pipeline, chunker by chunker; ``distinct`` is for the chunk level.

    ``queries`` are those of the whole sweep; a cell may be asked for them in any portions. Cells are asked
    one after another: an index is built when its first cell is, and makes room for the next one.
    """
    check_workers(workers)
    sweep = _Sweep(corpus, queries, grid, distinct, workers, on_chunking, on_step or (lambda step: None))
    cells: list[CellPipeline] = []
    for chunker in grid.chunkers:
        cut = _Cut(chunker, sweep)
        for retriever in grid.retrievers:
            index = _Index(cut, retriever, sweep)
            for reranker in grid.rerankers:
                ranking = None if reranker is None else _Reranking(reranker, index, sweep)
                cells += [CellPipeline(index, ranking, k, sweep) for k in grid.ks]
    return tuple(cells)


@dataclass(slots=True)
class _Sweep:
    """What all cells have in common, and which index is in the retrievers and stores they share."""

    corpus: Corpus
    queries: Sequence[str]
    grid: Grid
    distinct: bool
    workers: int
    on_chunking: OnChunking | None
    tell: OnStep
    current: _Index | None = None


class CellPipeline:
    """One cell: finds the best chunks for queries, as a pipeline of its parts would."""

    def __init__(self, index: _Index, ranking: _Reranking | None, k: int, sweep: _Sweep) -> None:
        self._index, self._ranking, self._sweep = index, ranking, sweep
        self._rerank_seconds = 0.0
        self.distinct = sweep.distinct
        reranker = None if ranking is None else ranking.reranker
        self.cell = Cell(
            chunker=component_text(index.cut.chunker),
            retriever=index.text,
            reranker=None if ranking is None else ranking.text,
            k=k,
            fetch_k=candidates_for(k, reranker, fetch_k=sweep.grid.fetch_k),
        )

    @property
    def chunking(self) -> Chunking:
        return self._index.cut.chunking

    def prepare(self) -> None:
        """Cut and index, unless a cell before has; what is wrong with the parts is raised here."""
        self._index.build()
        if self._ranking is not None:
            self._ranking.begin(self.cell)

    def retrieve(self, queries: Sequence[str], k: int) -> Hits:
        """Return at most k chunks for each query, best first; k is the cell's."""
        self._index.build()
        candidates = self._index.candidates(queries, self.cell.fetch_k)
        if self._ranking is None:
            return candidates
        begun = time.perf_counter()
        hits = self._ranking.ranked(queries, candidates, self.cell)
        self._rerank_seconds += time.perf_counter() - begun
        return hits

    def figures(self) -> CellFigures:
        """Return what the cell took; to be asked once, when its queries have been searched for."""
        index = self._index
        costs = [*index.costs(), *([] if self._ranking is None else self._ranking.costs())]
        return CellFigures(
            index=index.size,
            store_recall=index.store_recall,
            embedding_tokens=index.meter.units,
            cost=CellCost(
                spent=summed(cost.spent for cost in costs), alone=summed(cost.alone for cost in costs)
            ),
            seconds=StageSeconds(
                chunk=self.chunking.seconds,
                embed=index.embed_seconds,
                index=index.index_seconds,
                search=index.search_seconds,
                rerank=self._rerank_seconds,
            ),
        )


class _Cut:
    """The chunks of one chunker, cut when first asked for."""

    def __init__(self, chunker: Chunker | PositionAwareChunker, sweep: _Sweep) -> None:
        self.chunker, self._sweep = chunker, sweep

    @cached_property
    def chunking(self) -> Chunking:
        sweep = self._sweep
        sweep.tell(f"cutting by {component_text(self.chunker)}")
        meter = Meter(self.chunker, TOKENS)  # some chunkers embed
        chunking = chunk_corpus(sweep.corpus, self.chunker, distinct=sweep.distinct, workers=sweep.workers)
        self._cost = CellCost(spent=meter.cost, alone=meter.cost) if meter.is_metered else None
        if sweep.on_chunking is not None:
            sweep.on_chunking(chunking)
        return chunking

    def cost(self) -> CellCost | None:
        """Return what cutting costs the next cell, where it is known to cost: the first has paid for it."""
        cost = self._cost
        if cost is not None and cost.spent is not None:
            self._cost = CellCost(spent=0.0, alone=cost.alone)
        return cost


class _Index:
    """One chunking in one retriever, and what was found in it, for every cell that uses it."""

    def __init__(self, cut: _Cut, retriever: Retriever, sweep: _Sweep) -> None:
        self.cut, self.text = cut, retriever_text(retriever)
        self._retriever, self._sweep = retriever, sweep
        self._dense = dense_part(retriever)
        embedder = self._dense.embedder if self._dense else None
        self._embedder = embedder if isinstance(embedder, RememberingEmbedder) else None
        # Where a shorter list is the beginning of a longer one, the deepest serves all.
        self._is_stable = has_stable_prefixes(retriever, sweep.grid.depths[-1])
        self._found: dict[int, dict[str, list[PositionAwareChunk]]] = {}
        self.rankings: list[_Reranking] = []
        self.embed_seconds = self.index_seconds = self.search_seconds = 0.0

    def build(self) -> None:
        """Index the chunks, unless that was done and no other index has taken the place since."""
        sweep, chunking = self._sweep, self.cut.chunking
        if sweep.current is self:
            return
        if sweep.current is not None:
            sweep.current.forget()
        sweep.current = None
        embedded_before = self._embedder.seconds if self._embedder else 0.0
        self.meter = Meter(self._dense.embedder if self._dense else None, TOKENS)
        begun = time.perf_counter()
        chunks = counted(len(chunking.chunks), "chunk")
        sweep.tell(f"indexing {chunks} of {chunking.chunker} in {self.text}")
        self._retriever.index(chunking.chunks)
        self._places = {_place(chunk) for chunk in chunking.chunks}
        self.embed_seconds = self._embedder.seconds - embedded_before if self._embedder else 0.0
        self.index_seconds = time.perf_counter() - begun - self.embed_seconds
        sweep.current = self
        queries = counted(len(sweep.queries), "query", "queries")
        sweep.tell(f"searching {chunking.chunker} with {self.text} for {queries}")

    def forget(self) -> None:
        """Let go of what was found."""
        self._found = {}
        for ranking in self.rankings:
            ranking.forget()

    def candidates(self, queries: Sequence[str], depth: int) -> Hits:
        """Return the first ``depth`` chunks for each query; each query is searched for once."""
        searched = self._sweep.grid.depths[-1] if self._is_stable else depth
        found = self._found.setdefault(searched, {})
        new = [query for query in dict.fromkeys(queries) if query not in found]
        if new:
            begun = time.perf_counter()
            found.update(zip(new, self._retrieved(new, searched), strict=True))
            self.search_seconds += time.perf_counter() - begun
        return [found[query][:depth] for query in queries]

    def _retrieved(self, queries: Sequence[str], depth: int) -> Hits:
        hits = [list(of_one) for of_one in self._retriever.retrieve(queries, depth)]
        for of_one in hits:
            places = [_place(chunk) for chunk in of_one]
            if len(set(places)) < len(places) or not self._places.issuperset(places):
                expected = "a store that holds the chunks of this run alone, each once"
                raise InputError([Issue("foreign-chunks", expected, "others or repeated ones", self.text)])
        return hits

    @property
    def size(self) -> IndexSize:
        chunks = self.cut.chunking.chunks
        dimensions = self._embedder.dimensions if self._embedder else None
        return IndexSize(
            chunks=len(chunks),
            characters=sum(len(chunk.content) for chunk in chunks),
            vector_bytes=None if dimensions is None else len(chunks) * dimensions * _BYTES_A_NUMBER,
        )

    @cached_property
    def store_recall(self) -> float | None:
        dense = self._dense
        measure = getattr(dense.store, "recall_against_exact", None) if dense else None
        if dense is None or measure is None or not self._sweep.queries:
            return None
        return float(measure(dense.embedder.embed(self._sweep.queries), self._sweep.grid.depths[-1]))

    def costs(self) -> list[CellCost]:
        """Return what cutting and embedding cost a cell: each of them needs it, and the first pays for it."""
        cutting = self.cut.cost()
        costs = [] if cutting is None else [cutting]
        if self.meter.is_metered:
            texts = [*(chunk.content for chunk in self.cut.chunking.chunks), *self._sweep.queries]
            costs.append(CellCost(spent=self.meter.charge(), alone=self.meter.cost_of_embedding(texts)))
        return costs


class _Reranking:
    """One reranker over one index.

    A reranker with a true ``pointwise`` scores each candidate by itself, so it is asked once, for as many
    candidates as the largest k has, and the others' are found in its order.
    """

    def __init__(self, reranker: Reranker, index: _Index, sweep: _Sweep) -> None:
        self.reranker, self.text = reranker, component_text(reranker)
        self._index, self._sweep = index, sweep
        index.rankings.append(self)
        self._is_pointwise = getattr(reranker, "pointwise", False)
        self._whole: dict[str, list[PositionAwareChunk]] = {}
        self._meter = self._all_along = Meter(reranker, SEARCHES)
        self._has_begun = False

    def forget(self) -> None:
        """Let go of the order that was found."""
        self._whole = {}

    def begin(self, cell: Cell) -> None:
        """Say that a cell begins: what is used from now on is its own."""
        self._sweep.tell(f"reranking {cell.chunker} with {self.text} for k = {cell.k}")
        self._meter = Meter(self.reranker, SEARCHES)
        if not self._has_begun:
            self._has_begun, self._all_along = True, self._meter

    def ranked(self, queries: Sequence[str], candidates: Hits, cell: Cell) -> Hits:
        if not self._is_pointwise:
            return reranked(self.reranker, queries, candidates, k=cell.k, workers=self._sweep.workers)
        new = [query for query in dict.fromkeys(queries) if query not in self._whole]
        if new:
            self._whole.update(zip(new, self._wholly_ranked(new), strict=True))
        return [
            _among(self._whole[query], few)[: cell.k] for query, few in zip(queries, candidates, strict=True)
        ]

    def _wholly_ranked(self, queries: Sequence[str]) -> Hits:
        grid = self._sweep.grid
        depth = candidates_for(max(grid.ks), self.reranker, fetch_k=grid.fetch_k)
        candidates = self._index.candidates(queries, depth)
        return reranked(self.reranker, queries, candidates, k=depth, workers=self._sweep.workers)

    def costs(self) -> list[CellCost]:
        if not self._meter.is_metered:
            return []
        whole = self._all_along if self._is_pointwise else self._meter
        return [CellCost(spent=self._meter.cost, alone=whole.cost)]


def _among(
    ordered: Sequence[PositionAwareChunk], few: Sequence[PositionAwareChunk]
) -> list[PositionAwareChunk]:
    """Return those of the ordered chunks that are among a few."""
    wanted = {_place(chunk) for chunk in few}
    return [chunk for chunk in ordered if _place(chunk) in wanted]


def _place(chunk: PositionAwareChunk) -> tuple[str, int, int]:
    return chunk.doc_id, chunk.start, chunk.end
