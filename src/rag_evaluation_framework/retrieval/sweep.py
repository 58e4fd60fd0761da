"""The grid, its cells, and the work that cells share done once.

A corpus is cut once for each chunker, each text is embedded once for each embedder, and each index is built
once and searched once, as deep as its deepest cell needs. The hits of a cell are those that a pipeline of the
same parts finds by itself, as long as the store finds the same nearest chunks for any number of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import msgspec

from rag_evaluation_framework.components import (
    CHUNKERS,
    EMBEDDERS,
    RERANKERS,
    RETRIEVERS,
    VECTOR_STORES,
    component_from,
)
from rag_evaluation_framework.errors import InputError, Issue, TargetError, UsageError, counted
from rag_evaluation_framework.extensions import (
    Chunker,
    Embedder,
    PositionAwareChunker,
    Registry,
    Reranker,
    Retriever,
    VectorStore,
    component_text,
)
from rag_evaluation_framework.files.strict_json import drop_nulls
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.retrieval.bm25 import BM25Retriever
from rag_evaluation_framework.retrieval.embedders import (
    OnTexts,
    RememberingEmbedder,
    embedded,
    embedding_roles,
)
from rag_evaluation_framework.retrieval.pipeline import (
    SEARCHES,
    TOKENS,
    Chunking,
    Meter,
    WholeDocuments,
    candidates_for,
    chunk_corpus,
    default_vector_store,
    metered,
    reranked,
    summed,
)
from rag_evaluation_framework.retrieval.retrievers import (
    DenseRetriever,
    FusedRetriever,
    dense_part,
    is_shared,
    searched,
)
from rag_evaluation_framework.workers import Workforce, crew_of

DENSE = "dense"
FUSED = "fused"


OnStep = Callable[[str], None]
"""Callback with the name of the next step."""


class Grid(msgspec.Struct, frozen=True, kw_only=True):
    """The parts to combine; ``None`` among the rerankers stands for none.

    ``indexes`` exist already: they are combined with rerankers and ks alone, searched, and never written to.
    ``arguments`` are the words of a command line that asks for the same again.
    """

    chunkers: Sequence[Chunker | PositionAwareChunker]
    retrievers: Sequence[Retriever]
    indexes: Sequence[Retriever] = ()
    rerankers: Sequence[Reranker | None] = (None,)
    ks: Sequence[int] = (5,)
    fetch_k: int | None = None
    on_step: OnStep | None = None
    arguments: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in ("chunkers", "retrievers", "indexes", "rerankers", "ks"):
            texts = [component_text(each) for each in getattr(self, name)]
            if not texts and name != "indexes" and not (self.indexes and name in ("chunkers", "retrievers")):
                raise UsageError(f"{name} is empty")
            if twice := next((text for text in texts if texts.count(text) > 1), None):
                raise UsageError(f"{name}: expected unique values, got duplicate {twice}")
        for k in self.ks:
            for reranker in self.rerankers:
                candidates_for(k, reranker, fetch_k=self.fetch_k)

    def __len__(self) -> int:
        pipelines = len(self.chunkers) * len(self.retrievers) + len(self.indexes)
        return pipelines * len(self.rerankers) * len(self.ks)

    @property
    def depths(self) -> list[int]:
        """Return the numbers of candidates that the cells need, each once, in ascending order."""
        needed = {candidates_for(k, each, fetch_k=self.fetch_k) for k in self.ks for each in self.rerankers}
        return sorted(needed)


class Cell(msgspec.Struct, frozen=True, kw_only=True):
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
    indexes: Sequence[Retriever] = (),
    rerankers: Sequence[str | Reranker | None] = (None,),
    k: int | Sequence[int] = 5,
    fetch_k: int | None = None,
    on_texts: OnTexts | None = None,
    on_step: OnStep | None = None,
    arguments: Sequence[str] = (),
) -> Grid:
    """Return the grid of parts, each given as an object or as its specification.

    The retrievers ``dense`` and ``fused`` stand for one with each embedder and store; ``fused`` alone is BM25
    with the dense one. They use a store in turn and share what an embedder embeds. ``None`` among the stores
    stands for the default one, among the rerankers for none.
    """
    remembering = [
        RememberingEmbedder(embedder, on_texts=on_texts) for embedder in _built(EMBEDDERS, embedders)
    ]
    by_name = [name for name in retrievers if name in (DENSE, FUSED)]
    if by_name and not embedders:
        raise UsageError(f"retriever {by_name[0]} needs an embedder. Set embedders")
    stores = [
        default_vector_store() if store is None else store
        for store in _built(VECTOR_STORES, vector_stores)
        if by_name
    ]
    for store in stores:
        if len(by_name) * len(embedders) > 1 and not callable(getattr(store, "clear", None)):
            raise UsageError(f"store {component_text(store)}: expected a store with clear(), to reuse it")
    expanded: list[Retriever] = []
    for name in retrievers:
        if name in (DENSE, FUSED):
            dense = [DenseRetriever(embedder, store) for embedder in remembering for store in stores]
            if name == FUSED:
                expanded += [FusedRetriever(lexical=BM25Retriever(), dense=each) for each in dense]
            else:
                expanded += dense
        else:
            expanded += _built(RETRIEVERS, [name])
    return Grid(
        chunkers=_built(CHUNKERS, chunkers),
        retrievers=expanded,
        indexes=indexes,
        rerankers=_built(RERANKERS, rerankers),
        ks=[k] if isinstance(k, int) else list(k),
        fetch_k=fetch_k,
        on_step=on_step,
        arguments=arguments,
    )


def _built(registry: Registry[Callable[..., Any]], parts: Iterable[Any]) -> list[Any]:
    return [component_from(registry, each) if isinstance(each, str) else each for each in parts]


def has_stable_prefixes(retriever: Retriever, depth: int) -> bool:
    """Return True if the first k of ``depth`` results are the same as a search for k gives."""
    if isinstance(retriever, FusedRetriever):
        return depth <= retriever.depth
    return isinstance(retriever, DenseRetriever | BM25Retriever)


Hits = list[list[PositionAwareChunk]]
"""The chunks found for each query, best first."""

OnChunking = Callable[[Chunking], None]
"""Callback with a chunking before anything is embedded; it may refuse it."""

_BYTES_A_NUMBER = 4
# Of a search that workers share, so many queries at a time, each time with the index; and no more than they
# find in so many seconds, since whoever has asked for the first of them waits, and not for ever.
_SEARCHED_AHEAD = 1 << 14
_AHEAD_SECONDS = 20.0
# Of an index that exists, and may be large, every vector is compared with so many questions.
_MEASURED = 50


def swept_cells(
    corpus: Corpus,
    queries: Sequence[str],
    grid: Grid,
    *,
    distinct: bool = False,
    workers: Workforce = 1,
    on_chunking: OnChunking | None = None,
) -> tuple[CellPipeline, ...]:
    """Return each cell as a pipeline, chunker by chunker; ``distinct`` is for the chunk level.

    ``queries`` are those of the whole sweep; a cell may be asked for them in any portions. Cells are asked
    one after another: an index is built when its first cell is, and makes room for the next one.
    """
    sweep = _Sweep(corpus, queries, grid, distinct, crew_of(workers), on_chunking)
    cuts = [(_Cut(chunker, sweep), grid.retrievers) for chunker in grid.chunkers]
    cuts += [(_Cut(WholeDocuments(), sweep), grid.indexes)] if grid.indexes else []
    cells: list[CellPipeline] = []
    for cut, retrievers in cuts:
        for retriever in retrievers:
            index = _Index(cut, retriever, sweep)
            for reranker in grid.rerankers:
                ranking = None if reranker is None else _Reranking(reranker, index, sweep)
                cells += [
                    CellPipeline(index, ranking, k, sweep, len(cells) + n) for n, k in enumerate(grid.ks, 1)
                ]
    return tuple(cells)


@dataclass(slots=True)
class _Sweep:
    """The common parts of all cells, and the index now in the retrievers and stores they share."""

    corpus: Corpus
    queries: Sequence[str]
    grid: Grid
    distinct: bool
    workers: Workforce
    on_chunking: OnChunking | None
    current: _Index | None = None
    number: int = 1
    """Cell in progress."""

    def tell(self, step: str) -> None:
        if self.grid.on_step is not None:
            self.grid.on_step(f"setup {self.number:,} of {len(self.grid):,}: {step}")


class CellPipeline:
    """One cell: finds the best chunks for queries, as a pipeline of its parts would."""

    def __init__(self, index: _Index, ranking: _Reranking | None, k: int, sweep: _Sweep, number: int) -> None:
        self._index, self._ranking, self._sweep, self._number = index, ranking, sweep, number
        self._rerank_seconds = 0.0
        self.distinct = sweep.distinct
        self._reranker = None if ranking is None else ranking.reranker
        self.cell = Cell(
            chunker=component_text(index.cut.chunker),
            retriever=index.text,
            reranker=None if ranking is None else ranking.text,
            k=k,
            fetch_k=candidates_for(k, self._reranker, fetch_k=sweep.grid.fetch_k),
        )

    @property
    def chunking(self) -> Chunking:
        return self._index.cut.chunking

    @property
    def chunks(self) -> int | None:
        """Return the number of chunks; ``None`` for an index that exists already."""
        return self._index.size["chunks"]

    @property
    def doubts(self) -> Sequence[str]:
        """Return the deviations of an existing index from the settings, and its unknown figures."""
        return [*getattr(self._index.retriever, "doubts", ()), *self._index.unmeasured]

    @property
    def prices(self) -> dict[str, Any]:
        """Return the prices of the parts that have one, in US dollars."""
        embedder = getattr(self._index.embedder, "embedder", self._index.embedder)
        embedder = getattr(embedder, "embedder", embedder)  # behind memory and cache
        said = {
            "embedder_usd_per_million_tokens": getattr(embedder, "price", None),
            "reranker_usd_per_search": getattr(self._reranker, "price", None),
        }
        return drop_nulls({"prices": drop_nulls(said) or None})

    @property
    def embedding_roles(self) -> dict[str, str]:
        """Return the prefixes that are added before embedding; empty if there are none."""
        return embedding_roles(self._index.embedder)

    def prepare(self) -> None:
        """Cut and index, unless a cell before has; what is wrong with the parts is raised here."""
        # What is used from here on is paid for this cell; a part with two tasks counts once.
        meters = [Meter(part, TOKENS) for part in (self._index.cut.chunker, self._index.embedder)]
        meters.append(Meter(self._reranker, SEARCHES))
        self._meters = list({id(meter.part): meter for meter in meters if meter.part is not None}.values())
        self._sweep.number = self._number
        self._index.build()
        queries = counted(len(self._sweep.queries), "query", "queries")
        self._sweep.tell(f"retrieving from {self.cell.chunker} with {self.cell.retriever} for {queries}")
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

    def figures(self) -> dict[str, Any]:
        """Return the cost figures of the cell once its queries were searched; unknown ones are left out.

        All stages but ``rerank`` were done once for several cells: ``embed`` is that of texts which no cell
        before had, ``search`` includes the embedding of the queries. ``store_recall`` is the share of the
        true nearest chunks that the store found and, for an approximate index, ``store_effort`` its
        search setting; ``embedding_tokens`` is what the embedder read for this index.
        """
        index = self._index
        seconds = {
            "chunk": self.chunking.seconds,
            "embed": index.embed_seconds,
            "index": index.index_seconds,
            "search": index.search_seconds,
            "rerank": self._rerank_seconds,
        }
        reranking = [] if self._ranking is None else self._ranking.costs()
        cost = {
            "spent": summed(meter.cost for meter in self._meters),
            "alone": summed([*index.costs(), *reranking]),
        }
        figures = {
            "index": index.size,
            "stage_seconds": {name: round(value, 6) for name, value in seconds.items()},
            "store_recall": index.store_recall,
            "store_effort": index.store_effort,
            "embedding_tokens": index.meter.units,
            "devices": self._devices() or None,
            "cost_usd": drop_nulls(cost) or None,
        }
        return drop_nulls(figures)

    def _devices(self) -> dict[str, str]:
        """Return where the models of the cell work, as far as they say."""
        parts = {"embedder": self._index.embedder, "reranker": self._reranker}
        found = {name: getattr(metered(part, "device"), "device", None) for name, part in parts.items()}
        return {name: str(device) for name, device in found.items() if device}


class _Cut:
    """The chunks of one chunker, cut when first asked for."""

    def __init__(self, chunker: Chunker | PositionAwareChunker, sweep: _Sweep) -> None:
        self.chunker, self._sweep = chunker, sweep
        self.costs: list[float | None] = []
        """Costs of chunking, where they are known."""

    @cached_property
    def chunking(self) -> Chunking:
        sweep = self._sweep
        sweep.tell(f"chunking with {component_text(self.chunker)}")
        meter = Meter(self.chunker, TOKENS)  # some chunkers embed
        chunking = chunk_corpus(sweep.corpus, self.chunker, distinct=sweep.distinct, workers=sweep.workers)
        self.costs = [] if meter.part is None else [meter.cost]
        if sweep.on_chunking is not None:
            sweep.on_chunking(chunking)
        return chunking


class _Index:
    """One chunking in one retriever, and what was found in it, for every cell that uses it."""

    def __init__(self, cut: _Cut, retriever: Retriever, sweep: _Sweep) -> None:
        self.cut, self.text = cut, component_text(retriever)
        self.retriever, self._sweep = retriever, sweep
        self._is_existing = isinstance(cut.chunker, WholeDocuments)
        self._dense = dense_part(retriever)
        self._searched = retriever if self._is_existing else self._dense and self._dense.store
        self.embedder = self._dense.embedder if self._dense else None
        self._memory = self.embedder if isinstance(self.embedder, RememberingEmbedder) else None
        if self._memory is not None:
            self._memory.workers = sweep.workers
        # Where a shorter list is the beginning of a longer one, the deepest serves all.
        self._is_stable = has_stable_prefixes(retriever, sweep.grid.depths[-1])
        self._found: dict[int, dict[str, list[PositionAwareChunk]]] = {}
        self.rankings: list[_Reranking] = []
        self.embed_seconds = self.index_seconds = self.search_seconds = 0.0
        self._pace = 0.0
        """Number of queries searched per second, as last measured."""
        self.unmeasured: list[str] = []

    def build(self) -> None:
        """Index the chunks, unless that was done and no other index has taken the place since."""
        sweep, chunking = self._sweep, self.cut.chunking
        if sweep.current is self:
            return
        if sweep.current is not None:
            sweep.current.forget()
        sweep.current = None
        embedded_before = self._memory.seconds if self._memory else 0.0
        self.meter = Meter(self.embedder, TOKENS)
        begun = time.perf_counter()
        if not self._is_existing:
            chunks = counted(len(chunking.chunks), "chunk")
            sweep.tell(f"indexing {chunks} of {chunking.chunker} in {self.text}")
        self.retriever.index(chunking.chunks)
        self._places = {_place(chunk) for chunk in chunking.chunks}
        self.embed_seconds = self._memory.seconds - embedded_before if self._memory else 0.0
        self.index_seconds = time.perf_counter() - begun - self.embed_seconds
        if self._memory is not None and self.meter.part is None:
            # All of them now, so that a model's batches are the same whoever searches for how many at a time.
            begun = time.perf_counter()
            with suppress(Exception):  # what fails is told to whoever asks for it
                embedded(self._memory, sweep.queries, role="query")
            self.search_seconds += time.perf_counter() - begun
        sweep.current = self

    def forget(self) -> None:
        """Let go of what was found."""
        self._found = {}
        for ranking in self.rankings:
            ranking.forget()

    def candidates(self, queries: Sequence[str], depth: int) -> Hits:
        """Return the first ``depth`` chunks for each query; each query is searched for once."""
        needed = self._sweep.grid.depths[-1] if self._is_stable else depth
        found = self._found.setdefault(needed, {})
        new = [query for query in dict.fromkeys(queries) if query not in found]
        if new:
            begun, before = time.perf_counter(), len(found)
            # With the next ones of the sweep, so that there is something for workers to share.
            if len(new) > 1 and (ahead := self._ahead(found.keys() | new)):
                with suppress(Exception):  # of one that nobody has asked for yet: told when somebody does
                    found.update(self._retrieved([*new, *ahead], needed))
            if new[0] not in found:
                found.update(self._retrieved(new, needed))
            seconds = time.perf_counter() - begun
            self._pace = (len(found) - before) / max(seconds, 1e-6)
            self.search_seconds += seconds
        return [found[query][:depth] for query in queries]

    def _ahead(self, known: Collection[str]) -> list[str]:
        """Return the next queries of the sweep, if workers share a search for them."""
        if not is_shared(self.retriever, self._sweep.workers):
            return []
        left = dict.fromkeys(query for query in self._sweep.queries if query not in known)
        return list(islice(left, min(_SEARCHED_AHEAD, int(self._pace * _AHEAD_SECONDS))))

    def _retrieved(self, queries: Sequence[str], depth: int) -> dict[str, list[PositionAwareChunk]]:
        hits = searched(self.retriever, queries, depth, workers=self._sweep.workers)
        for of_one in () if self._is_existing else hits:
            places = [_place(chunk) for chunk in of_one]
            if len(set(places)) < len(places) or not self._places.issuperset(places):
                expected = "only chunks of this run, without duplicates"
                raise InputError([Issue("foreign-chunks", expected, "other or duplicate chunks", self.text)])
        return dict(zip(queries, hits, strict=True))

    @property
    def size(self) -> dict[str, int | None]:
        """Return the size of the index in chunks, characters and bytes of vectors, if it has any."""
        chunks = self.cut.chunking.chunks
        if self._is_existing:
            return {"chunks": None, "characters": None, "vector_bytes": None}
        dimensions = self._memory.dimensions if self._memory else None
        return {
            "chunks": len(chunks),
            "characters": sum(len(chunk.content) for chunk in chunks),
            "vector_bytes": None if dimensions is None else len(chunks) * dimensions * _BYTES_A_NUMBER,
        }

    @cached_property
    def store_recall(self) -> float | None:
        """The share of the true nearest that is found; of an index that exists, for the first questions."""
        measure, queries = getattr(self._searched, "recall_against_exact", None), self._sweep.queries
        if measure is None or not queries:
            return None
        asked = embedded(self._dense.embedder, queries, role="query") if self._dense else queries[:_MEASURED]
        try:
            recall: float | None = measure(asked, self._sweep.grid.depths[-1])
        except TargetError as error:
            self.unmeasured = [f"{self.text}: recall against exact search is unknown: {error.message}"]
            return None
        return recall

    @property
    def store_effort(self) -> str | None:
        """Return the search setting of an approximate index, as ``ef_search=40``."""
        return None if self.store_recall is None else getattr(self._searched, "effort", None)

    def costs(self) -> list[float | None]:
        """Return what cutting, and embedding every chunk and query, cost a cell by itself."""
        if self.meter.part is None:
            return self.cut.costs
        texts = [*(chunk.content for chunk in self.cut.chunking.chunks), *self._sweep.queries]
        return [*self.cut.costs, self.meter.cost_of_embedding(texts)]


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
        self._meter: Meter | None = None

    def forget(self) -> None:
        """Let go of the order that was found."""
        self._whole = {}

    def begin(self, cell: Cell) -> None:
        """Begin a cell; questions that all cells share are counted from the first on."""
        self._sweep.tell(f"reranking {cell.chunker} with {self.text} for k = {cell.k}")
        if self._meter is None or not self._is_pointwise:
            self._meter = Meter(self.reranker, SEARCHES)

    def ranked(self, queries: Sequence[str], candidates: Hits, cell: Cell) -> Hits:
        if not self._is_pointwise:
            return reranked(self.reranker, queries, candidates, k=cell.k, workers=self._sweep.workers)
        new = [query for query in dict.fromkeys(queries) if query not in self._whole]
        if new:
            self._whole.update(zip(new, self._wholly_ranked(new), strict=True))
        places = [set(map(_place, few)) for few in candidates]
        return [
            [chunk for chunk in self._whole[query] if _place(chunk) in wanted][: cell.k]
            for query, wanted in zip(queries, places, strict=True)
        ]

    def _wholly_ranked(self, queries: Sequence[str]) -> Hits:
        grid = self._sweep.grid
        depth = candidates_for(max(grid.ks), self.reranker, fetch_k=grid.fetch_k)
        candidates = self._index.candidates(queries, depth)
        return reranked(self.reranker, queries, candidates, k=depth, workers=self._sweep.workers)

    def costs(self) -> list[float | None]:
        """Return what reranking costs a cell by itself."""
        return [] if self._meter is None or self._meter.part is None else [self._meter.cost]


def _place(chunk: PositionAwareChunk) -> tuple[str, int, int]:
    return chunk.doc_id, chunk.start, chunk.end
