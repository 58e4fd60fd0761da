"""Every combination of a grid, with the work that combinations share done once.

A corpus is cut once for each chunker, each text is embedded once for each embedder, and each index is built
once and searched once, as deep as its deepest cell needs. The hits of a cell are those that a pipeline of the
same parts finds by itself, as long as the store finds the same nearest chunks whatever their number.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rag_evaluation_framework.counts import counted
from rag_evaluation_framework.errors import InputError, Issue
from rag_evaluation_framework.extensions import Reranker, Retriever
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.retrieval.chunking import Chunking, chunk_corpus, component_text
from rag_evaluation_framework.retrieval.costs import SEARCHES, TOKENS, CellCost, Meter, SharedCosts
from rag_evaluation_framework.retrieval.grid import (
    Cell,
    Grid,
    dense_part,
    has_stable_prefixes,
    retriever_text,
)
from rag_evaluation_framework.retrieval.ordered_work import check_workers
from rag_evaluation_framework.retrieval.pipeline import candidates_for, reranked
from rag_evaluation_framework.retrieval.remembering_embedder import RememberingEmbedder

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
