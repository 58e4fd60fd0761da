"""Costs: the cells of a sweep add up to what was paid, and each says what it would cost by itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from swept_hits import CellHits, sweep

from rag_evaluation_framework import (
    Corpus,
    Document,
    DocumentId,
    PositionAwareChunk,
    SemanticChunker,
    UsageError,
)
from rag_evaluation_framework.components import chunker_from
from rag_evaluation_framework.retrieval.embedders import CachedEmbedder, HashingEmbedder
from rag_evaluation_framework.retrieval.stores import checked_price
from rag_evaluation_framework.retrieval.sweep import grid_of

TEXT = "The ferry leaves at eight. It returns at noon. Tickets are sold on board. Dogs travel free. "
CORPUS = Corpus([Document(DocumentId(f"{name}.md"), f"{name}: {TEXT * 3}") for name in "abc"])
QUERIES = ["When does the ferry leave?", "Do dogs pay?"]
CHUNKERS = ("recursive(chunk_size=60)", "recursive(chunk_size=120)")
DOLLAR_A_TOKEN = 1e6


class MeteredEmbedder:
    """Counts each character as a token."""

    def __init__(self, price: float | None = DOLLAR_A_TOKEN) -> None:
        self.price = price
        self.tokens_used: int | None = 0
        self.characters_used = 0

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        characters = sum(map(len, texts))
        self.characters_used += characters
        self.tokens_used = None if self.tokens_used is None else self.tokens_used + characters
        return HashingEmbedder(64).embed(texts)

    def __str__(self) -> str:
        return "metered"


class MeteredReranker:
    """Counts each query as a search, and leaves the candidates as they are."""

    def __init__(self, price: float | None = 100.0, *, pointwise: bool = False) -> None:
        self.price, self.pointwise = price, pointwise
        self.searches_used = 0

    def rerank(self, query: str, chunks: Sequence[PositionAwareChunk], k: int) -> list[PositionAwareChunk]:
        self.searches_used += 1
        return list(chunks[:k])

    def __str__(self) -> str:
        return "metered"


def swept(
    *,
    embedder: MeteredEmbedder | CachedEmbedder | HashingEmbedder,
    rerankers: Sequence[MeteredReranker | None] = (None,),
    chunkers: Sequence[str] = CHUNKERS,
    retrievers: Sequence[str] = ("dense",),
    k: Sequence[int] = (1, 3),
) -> list[CellHits]:
    grid = grid_of(
        chunkers=chunkers,
        embedders=[embedder],
        retrievers=retrievers,
        vector_stores=["exact"],
        rerankers=rerankers,
        k=k,
    )
    return list(sweep(CORPUS, QUERIES, grid))


@pytest.mark.parametrize("pointwise", [False, True])
def test_cells_add_up_to_what_was_paid_and_cost_alone_what_a_sweep_of_them_alone_costs(
    pointwise: bool,
) -> None:
    embedder, reranker = MeteredEmbedder(), MeteredReranker(pointwise=pointwise)
    cells = swept(embedder=embedder, rerankers=[None, reranker])
    paid = (embedder.tokens_used or 0) + 100.0 * reranker.searches_used
    # Two chunkings are reranked for each k, unless once serves both.
    assert reranker.searches_used == 2 * len(QUERIES) * (1 if pointwise else 2)
    assert math.fsum(cell.cost["spent"] for cell in cells) == pytest.approx(paid)
    for cell in cells:
        (alone,) = swept(
            embedder=MeteredEmbedder(),
            rerankers=[MeteredReranker() if cell.cell.reranker else None],
            chunkers=[cell.cell.chunker],
            k=[cell.cell.k],
        )
        assert cell.cost["alone"] == pytest.approx(alone.cost["spent"]), str(cell.cell)
        assert alone.cost["alone"] == pytest.approx(alone.cost["spent"])


def test_a_worked_example() -> None:
    # Two cells of one index: its chunks and 26 + 12 characters of queries are embedded for the first cell;
    # each reranks 2 queries at 100 dollars.
    cells = swept(embedder=MeteredEmbedder(), chunkers=CHUNKERS[:1], rerankers=[MeteredReranker()])
    texts = {chunk.content for chunk in cells[0].chunking.chunks}
    embedding = sum(map(len, texts)) + 38
    assert [cell.cost for cell in cells] == [
        {"spent": embedding + 200, "alone": embedding + 200},
        {"spent": 200, "alone": embedding + 200},
    ]
    assert [cell.embedding_tokens for cell in cells] == [embedding, embedding]


def test_what_is_read_from_the_cache_costs_nothing_and_what_it_would_cost_is_not_known(
    tmp_path: Path,
) -> None:
    first = swept(embedder=CachedEmbedder(MeteredEmbedder(), tmp_path))
    assert all(cell.cost["alone"] for cell in first)
    again = swept(embedder=CachedEmbedder(MeteredEmbedder(), tmp_path))
    assert [cell.cost for cell in again] == [{"spent": 0.0}] * 4


def test_a_cache_that_holds_a_part_lets_the_rest_tell_what_all_would_cost(tmp_path: Path) -> None:
    (alone,) = swept(embedder=CachedEmbedder(MeteredEmbedder(), tmp_path / "a"), chunkers=CHUNKERS[1:], k=[1])
    swept(embedder=CachedEmbedder(MeteredEmbedder(), tmp_path / "b"), chunkers=CHUNKERS[:1], k=[1])
    (later,) = swept(embedder=CachedEmbedder(MeteredEmbedder(), tmp_path / "b"), chunkers=CHUNKERS[1:], k=[1])
    assert later.cost["alone"] == pytest.approx(alone.cost["alone"])
    assert later.cost["spent"] < alone.cost["spent"]  # the queries were there already


@pytest.mark.parametrize(
    ("embedder", "reranker"),
    [
        (HashingEmbedder(64), None),  # nothing counts anything
        (MeteredEmbedder(price=None), None),
        (MeteredEmbedder(price=None), MeteredReranker()),
        (MeteredEmbedder(), MeteredReranker(price=None)),
    ],
)
def test_a_price_that_is_not_known_makes_the_cost_unknown(
    embedder: MeteredEmbedder | HashingEmbedder, reranker: MeteredReranker | None
) -> None:
    cells = swept(embedder=embedder, rerankers=[reranker])
    assert not any(cell.cost for cell in cells)


def test_a_server_that_does_not_count_makes_the_cost_unknown() -> None:
    embedder = MeteredEmbedder()
    embedder.tokens_used = None
    cells = swept(embedder=embedder)
    assert not any(cell.cost or cell.embedding_tokens for cell in cells)


def test_parts_of_this_machine_add_nothing_to_what_others_cost() -> None:
    cells = swept(embedder=HashingEmbedder(64), rerankers=[MeteredReranker()], retrievers=["dense", "bm25"])
    assert all(cell.cost == {"spent": 200.0, "alone": 200.0} for cell in cells)


def test_a_chunker_that_embeds_is_paid_once_and_counted_in_each_cell() -> None:
    embedder = MeteredEmbedder()
    grid = grid_of(
        chunkers=[SemanticChunker(embedder), chunker_from(CHUNKERS[0])], retrievers=["bm25"], k=[1, 3]
    )
    cells = list(sweep(CORPUS, QUERIES, grid))
    paid = embedder.tokens_used
    assert paid
    assert [cell.cost for cell in cells] == [
        {"spent": paid, "alone": paid},
        {"spent": 0.0, "alone": paid},
        {},
        {},
    ]


@pytest.mark.parametrize("price", [-0.01, math.nan, math.inf, "0.02", True])
def test_a_price_is_an_amount(price: float) -> None:
    with pytest.raises(UsageError, match="openai: price: expected US dollars of at least 0, got"):
        checked_price(price, "openai")
