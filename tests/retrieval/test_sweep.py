"""A sweep finds what each of its pipelines finds alone, and does the work they share once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from swept_hits import CellHits, sweep

from rag_evaluation_framework import (
    Corpus,
    Document,
    DocumentId,
    InputError,
    PositionAwareChunk,
    Reranker,
    UsageError,
)
from rag_evaluation_framework.components import chunker_from
from rag_evaluation_framework.extensions import Retriever
from rag_evaluation_framework.retrieval.bm25 import BM25Retriever
from rag_evaluation_framework.retrieval.embedders import HashingEmbedder
from rag_evaluation_framework.retrieval.pipeline import RetrievalPipeline, chunk_corpus
from rag_evaluation_framework.retrieval.retrievers import DenseRetriever, FusedRetriever, LexicalReranker
from rag_evaluation_framework.retrieval.stores import ExactVectorStore
from rag_evaluation_framework.retrieval.sweep import Cell, grid_of, swept_cells

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook" / "documents"
CHUNKERS = ("recursive(chunk_size=200, overlap=50)", "recursive(chunk_size=400)", "sentence(chunk_size=300)")
QUERIES = [
    "When does the last ferry leave on Sundays?",
    "How much is a return ticket for a bicycle?",
    "灯塔博物馆几点开门？",
    "zzzz",
]


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus(Corpus.from_folder(HANDBOOK).documents[:8])


def retriever_of(name: str) -> Retriever:
    dense = DenseRetriever(HashingEmbedder(256), ExactVectorStore())
    if name == "dense":
        return dense
    if name == "bm25":
        return BM25Retriever()
    # A depth below the deepest cell's, where a longer list does not begin with a shorter one.
    return FusedRetriever(depth=10, lexical=BM25Retriever(), dense=dense)


class Reversing:
    """Turns the candidates around: what it returns depends on how many there are."""

    def rerank(self, query: str, chunks: Sequence[PositionAwareChunk], k: int) -> list[PositionAwareChunk]:
        return list(reversed(chunks))[:k]

    def __str__(self) -> str:
        return "reversing"


class ByLength:
    """Scores each candidate by itself, as a cross-encoder does, and counts how often it is asked."""

    pointwise = True
    concurrent = True

    def __init__(self) -> None:
        self.candidates = 0

    def rerank(self, query: str, chunks: Sequence[PositionAwareChunk], k: int) -> list[PositionAwareChunk]:
        self.candidates += len(chunks)
        return sorted(chunks, key=lambda chunk: len(chunk.content))[:k]

    def __str__(self) -> str:
        return "by_length"


@pytest.mark.parametrize("name", ["dense", "bm25", "fused"])
def test_each_cell_finds_what_its_pipeline_finds_alone(corpus: Corpus, name: str) -> None:
    rerankers: list[Reranker | None] = [None, LexicalReranker(), Reversing(), ByLength()]
    grid = grid_of(
        chunkers=[chunker_from(CHUNKERS[0])],
        retrievers=[retriever_of(name)],
        rerankers=rerankers,
        k=(1, 3, 7),
    )
    found = list(sweep(corpus, QUERIES, grid))
    assert len(found) == len(grid) == 12
    alone = {None: None, **{str(each): each for each in rerankers if each is not None}}
    for cell in found:
        pipeline = RetrievalPipeline(
            chunker_from(CHUNKERS[0]), retriever=retriever_of(name), reranker=alone[cell.cell.reranker]
        )
        pipeline.index(corpus)
        assert cell.hits == pipeline.retrieve(QUERIES, cell.cell.k), str(cell.cell)


def test_a_reranker_sees_four_times_k_candidates_or_as_many_as_asked_for(corpus: Corpus) -> None:
    def depths(fetch_k: int | None) -> list[int]:
        grid = grid_of(
            chunkers=CHUNKERS[:1],
            retrievers=["bm25"],
            rerankers=[None, LexicalReranker()],
            k=(2, 5),
            fetch_k=fetch_k,
        )
        return [each.cell.fetch_k for each in sweep(corpus, QUERIES, grid)]

    assert depths(None) == [2, 5, 8, 20]
    assert depths(9) == [2, 5, 9, 9]
    with pytest.raises(UsageError, match=r"fetch_k: expected a whole number of at least k \(5\), got 4"):
        depths(4)


def test_a_pointwise_reranker_is_asked_once_for_all_values_of_k(corpus: Corpus) -> None:
    reranker = ByLength()
    grid = grid_of(chunkers=CHUNKERS[:1], retrievers=["bm25"], rerankers=[reranker], k=(1, 2, 3))
    list(sweep(corpus, QUERIES[:1], grid))
    assert reranker.candidates == 12


class Counting:
    """Counts how often each text is embedded."""

    def __init__(self) -> None:
        self.inner = HashingEmbedder(64)
        self.times: Counter[str] = Counter()

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.times.update(texts)
        return self.inner.embed(texts)


class CountingChunker:
    def __init__(self) -> None:
        self.inner = chunker_from(CHUNKERS[0])
        self.times: Counter[str] = Counter()

    def chunk_with_positions(self, doc: Document) -> list[PositionAwareChunk]:
        self.times[doc.id] += 1
        return self.inner.chunk_with_positions(doc)  # type: ignore[union-attr]

    def __str__(self) -> str:
        return "counting"


def test_each_text_is_embedded_once_and_each_document_cut_once(corpus: Corpus) -> None:
    embedder, chunker = Counting(), CountingChunker()
    grid = grid_of(
        chunkers=[chunker, *CHUNKERS],
        embedders=[embedder],
        retrievers=["dense", "fused"],
        vector_stores=["exact"],
        rerankers=[None, LexicalReranker()],
        k=(3, 5, 10),
    )
    assert len(list(sweep(corpus, QUERIES, grid))) == len(grid) == 4 * 2 * 2 * 3
    assert set(embedder.times.values()) == {1}
    assert set(chunker.times.values()) == {1}


@pytest.mark.parametrize("workers", [2, 4])
def test_the_number_of_workers_changes_nothing(corpus: Corpus, workers: int) -> None:
    def found(workers: int) -> list[tuple[Cell, Any]]:
        grid = grid_of(
            chunkers=CHUNKERS,
            retrievers=["dense", "bm25"],
            vector_stores=["exact"],
            rerankers=[None, LexicalReranker(), ByLength()],
            k=(3, 5),
        )
        return [(each.cell, each.hits) for each in sweep(corpus, QUERIES, grid, workers=workers)]

    assert found(workers) == found(1)


def test_a_question_that_cannot_be_searched_for_fails_alone_though_workers_search_ahead(
    corpus: Corpus,
) -> None:
    def found(workers: int) -> list[Any]:
        grid = grid_of(chunkers=CHUNKERS[:1], retrievers=["fused"], vector_stores=["exact"])
        no_text: Any = 7
        (cell,) = swept_cells(corpus, [*QUERIES, no_text], grid, workers=workers)
        cell.prepare()
        hits = [cell.retrieve(QUERIES[:2], 5), cell.retrieve(QUERIES[2:], 5)]
        with pytest.raises(InputError, match="expected text, got 7"):
            cell.retrieve([no_text], 5)
        return hits

    assert found(2) == found(1)


class Keeping:
    """A store without ``clear``: what was added stays."""

    def __init__(self) -> None:
        self.inner = ExactVectorStore()

    def add(self, chunks: Sequence[PositionAwareChunk], embeddings: Sequence[Sequence[float]]) -> None:
        self.inner.add(chunks, embeddings)

    def search(self, query_embedding: Sequence[float], k: int) -> list[PositionAwareChunk]:
        return self.inner.search(query_embedding, k)


def test_a_store_that_holds_the_chunks_of_another_run_is_refused(corpus: Corpus) -> None:
    def searched(store: Any, *chunkers: str) -> list[CellHits]:
        return list(sweep(corpus, QUERIES, grid_of(chunkers=chunkers, vector_stores=[store])))

    store = Keeping()
    searched(store, CHUNKERS[0])
    for used, chunkers in ((store, CHUNKERS[1:2]), (Keeping(), CHUNKERS[:2])):
        with pytest.raises(UsageError, match=r"a new store per index, or one with a method clear\(\)"):
            searched(used, *chunkers)
    with pytest.raises(UsageError, match=r"store Keeping: expected a store with clear\(\), to reuse it"):
        grid_of(chunkers=CHUNKERS[:1], vector_stores=[Keeping()], retrievers=["dense", "fused"])


class Misplacing:
    def chunk_with_positions(self, doc: Document) -> list[PositionAwareChunk]:
        return [PositionAwareChunk("pa_chunk_x", "not there", doc.id, 0, 9)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chunkers": []}, "chunkers is empty"),
        ({"k": ()}, "ks is empty"),
        ({"k": (5, 5)}, "ks: expected unique values, got duplicate 5"),
        ({"k": 0}, "k: expected a whole number of at least 1, got 0"),
        ({"chunkers": [CHUNKERS[0], CHUNKERS[0]]}, "chunkers: expected unique values"),
        ({"chunkers": ["recursiv"]}, 'unknown chunker "recursiv". Did you mean "recursive'),
        ({"retrievers": ["dense"], "embedders": []}, "needs an embedder"),
    ],
)
def test_a_grid_that_makes_no_sense_is_one_clear_message(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        grid_of(**{"chunkers": CHUNKERS, **options})


def test_chunks_must_stand_where_they_say_and_there_must_be_some(corpus: Corpus) -> None:
    with pytest.raises(InputError, match="chunks of Misplacing at their positions in"):
        chunk_corpus(corpus, Misplacing())
    blank = Corpus([Document(DocumentId("blank.md"), " \n ")])
    with pytest.raises(
        UsageError, match=r"recursive\(chunk_size=400, overlap=0\) makes no chunks of this text"
    ):
        chunk_corpus(blank, chunker_from(CHUNKERS[1]))
    with pytest.raises(UsageError, match="corpus contains no documents"):
        chunk_corpus(Corpus([]), chunker_from(CHUNKERS[1]))
    with pytest.raises(UsageError, match=r"chunker: expected an object with chunk\(text\)"):
        chunk_corpus(corpus, "recursive")  # type: ignore[arg-type]


def test_a_pipeline_needs_one_way_to_search_and_an_index() -> None:
    with pytest.raises(UsageError, match="expected either a retriever, or an embedder"):
        RetrievalPipeline(chunker_from(CHUNKERS[0]))
    with pytest.raises(UsageError, match=r"Call index\(corpus\) before"):
        RetrievalPipeline(chunker_from(CHUNKERS[0]), retriever=BM25Retriever()).retrieve(["a"], 1)
