"""Fusion by reciprocal rank, and the retrievers that are built by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from cases import tables_beside
from rag_evaluation_framework import PositionAwareChunk, UsageError
from rag_evaluation_framework.components import RETRIEVERS, retriever_from
from rag_evaluation_framework.errors import UnknownNameError
from rag_evaluation_framework.extensions import Retriever
from rag_evaluation_framework.retrieval.bm25 import BM25Retriever
from rag_evaluation_framework.retrieval.embedders import HashingEmbedder
from rag_evaluation_framework.retrieval.retrievers import (
    DenseRetriever,
    FusedRetriever,
    LexicalReranker,
    reciprocal_rank_fusion,
)
from rag_evaluation_framework.retrieval.stores import ExactVectorStore
from stored_texts import TEXTS, chunk, chunks_of

TABLES = tables_beside(__file__)

A, B, C, D = (chunk(text, start=start) for text, start in [("a", 0), ("b", 10), ("c", 20), ("d", 30)])


def test_a_worked_fusion() -> None:
    # With constant 60: A = 1/61 + 1/63, B = 1/62 + 1/61, C = 1/63, D = 1/62.
    assert reciprocal_rank_fusion([[A, B, C], [B, D, A]], 4) == [B, A, D, C]
    assert reciprocal_rank_fusion([[A, B, C], [B, D, A]], 2) == [B, A]


def test_equal_scores_are_ordered_by_place() -> None:
    assert reciprocal_rank_fusion([[C, A], [A, C]], 2) == [A, C]


@pytest.mark.parametrize("name", RETRIEVERS.names())
def test_every_retriever_fulfils_the_protocol(name: str) -> None:
    texts = {
        "bm25": "bm25",
        "dense": "dense(embedder=hashing, store=exact)",
        "fused": "fused(lexical=bm25, dense=dense(embedder=hashing))",
    }
    retriever = retriever_from(texts[name])
    assert isinstance(retriever, Retriever)
    assert str(retriever_from(str(retriever))) == str(retriever)
    chunks = chunks_of(TEXTS)
    retriever.index(chunks)
    found = retriever.retrieve(["parental leave of an employee", "年假"], 3)
    assert [row[0].content for row in found] == [TEXTS[0], TEXTS[5]]
    assert all(len(row) <= 3 and len(set(row)) == len(row) and set(row) <= set(chunks) for row in found)
    assert found == retriever.retrieve(["parental leave of an employee", "年假"], 3)
    assert retriever.retrieve([], 3) == []
    retriever.index(chunks[3:])
    assert TEXTS[0] not in [it.content for it in retriever.retrieve(["parental leave"], 9)[0]]
    with pytest.raises(UsageError, match="k: expected a whole number of at least 1, got 0"):
        retriever.retrieve(["leave"], 0)


def test_fusion_asks_deeper_than_k() -> None:
    chunks = chunks_of(TEXTS)
    fused = FusedRetriever(lexical=BM25Retriever(), dense=DenseRetriever(HashingEmbedder()), depth=8)
    fused.index(chunks)
    assert len(fused.retrieve(["days"], 1)[0]) == 1
    lexical, dense = (it.retrieve(["days"], 8)[0] for it in fused.retrievers.values())
    assert fused.retrieve(["days"], 5)[0] == reciprocal_rank_fusion([lexical, dense], 5)


class SeedStore:
    """A store as a user writes it: lists of lists in, one query at a time, no batch and no clear."""

    def __init__(self) -> None:
        self.inner = ExactVectorStore()

    def add(self, chunks: Sequence[PositionAwareChunk], embeddings: Sequence[Sequence[float]]) -> None:
        assert isinstance(chunks, list)
        assert isinstance(embeddings, list)
        assert isinstance(embeddings[0][0], float)
        self.inner.add(chunks, embeddings)

    def search(self, query_embedding: Sequence[float], k: int) -> list[PositionAwareChunk]:
        assert isinstance(query_embedding, list)
        return self.inner.search(query_embedding, k)


def test_a_store_of_the_users_own_gets_lists_and_one_query_at_a_time() -> None:
    chunks = chunks_of(TEXTS)
    own, ours = DenseRetriever(HashingEmbedder(), SeedStore()), DenseRetriever(HashingEmbedder())
    own.index(chunks)
    ours.index(chunks)
    assert own.retrieve(TEXTS, 3) == ours.retrieve(TEXTS, 3)
    with pytest.raises(UsageError, match=r"a new store per index, or one with a method clear\(\)"):
        own.index(chunks)


class ClearingStore(SeedStore):
    """One that can be emptied."""

    cleared = 0

    def clear(self) -> None:
        self.cleared += 1
        self.inner.clear()


def test_a_store_that_can_be_emptied_is_used_again_and_holds_only_the_last_chunks() -> None:
    store = ClearingStore()
    for texts in (TEXTS, TEXTS[:2], TEXTS[2:4]):
        retriever = DenseRetriever(HashingEmbedder(), store)
        retriever.index(chunks_of(texts))
        assert {chunk.content for chunk in retriever.retrieve(["days"], 9)[0]} == set(texts)
    assert store.cleared == 2


@pytest.mark.parametrize("store", [ClearingStore(), ExactVectorStore()])
def test_what_somebody_else_put_into_a_store_is_never_cleared(store: Any) -> None:
    theirs = chunks_of(["not ours"])
    store.add(theirs, HashingEmbedder().embed(["not ours"]).tolist())
    with pytest.raises(UsageError, match=r"expected an empty store"):
        DenseRetriever(HashingEmbedder(), store).index(chunks_of(TEXTS))
    assert store.search(HashingEmbedder().embed(["not ours"])[0].tolist(), 5) == theirs


def test_what_was_put_beside_ours_is_not_cleared_either() -> None:
    store = ExactVectorStore()
    retriever = DenseRetriever(HashingEmbedder(), store)
    retriever.index(chunks_of(TEXTS))
    store.add(chunks_of(["not ours"]), HashingEmbedder().embed(["not ours"]))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=f"got one with {len(TEXTS) + 1} chunks from elsewhere"):
        retriever.index(chunks_of(TEXTS))
    assert len(store) == len(TEXTS) + 1


@pytest.mark.parametrize(("text", "message"), TABLES["what_cannot_be_built_says_why"])
def test_what_cannot_be_built_says_why(text: str, message: str) -> None:
    with pytest.raises((UsageError, UnknownNameError), match=message):
        retriever_from(text)


def test_a_worked_order() -> None:
    # By words: c, then a and b as they came (no shared word). Words count twice; with constant 10:
    # a = 2/12 + 1/11 = 0.2576, b = 2/13 + 1/12 = 0.2372, c = 2/11 + 1/13 = 0.2587.
    a, b, c = chunks_of(["red sky", "green sea", "blue lamp"])
    assert LexicalReranker().rerank("a lamp", [a, b, c], 3) == [c, a, b]
    assert LexicalReranker().rerank("a lamp", [a, b, c], 1) == [c]


def test_candidates_that_share_the_words_come_first() -> None:
    chunks = chunks_of(TEXTS)
    assert LexicalReranker().rerank("When are servers patched?", chunks[1:5], 1)[0].content == TEXTS[2]
    assert LexicalReranker().rerank("带薪年假", chunks[4:], 1)[0].content == TEXTS[5]


def test_without_a_shared_word_the_order_stays() -> None:
    chunks = chunks_of(TEXTS)
    assert LexicalReranker().rerank("zebra", chunks, 8) == chunks
