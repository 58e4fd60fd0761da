"""Chunk, embed, index, search, rerank, for many queries at once."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import chain
from typing import Any

import msgspec

from rag_evaluation_framework.components import VECTOR_STORES
from rag_evaluation_framework.errors import InputError, Issue, UsageError, shown
from rag_evaluation_framework.extensions import (
    Chunker,
    Embedder,
    PositionAwareChunker,
    Reranker,
    Retriever,
    VectorStore,
    component_text,
)
from rag_evaluation_framework.records.chunks import PositionAwareChunk, generate_pa_chunk_id
from rag_evaluation_framework.records.documents import Corpus, Document
from rag_evaluation_framework.retrieval.embedders import embedding_roles
from rag_evaluation_framework.retrieval.positions import ChunkerPositionAdapter
from rag_evaluation_framework.retrieval.retrievers import DenseRetriever, dense_part, searched
from rag_evaluation_framework.retrieval.stores import check_k
from rag_evaluation_framework.workers import Workforce, counted_workers, crew_for, crew_of, in_order

_MOST_AT_ONCE = 16
"""A reranker that waits for a server is asked by so many threads at most."""

# A corpus cut into chunks: once for each chunker, checked, and in one order whatever the chunker's.

EXISTING = "existing"
"""The chunker of an index that exists already: how it was cut is not known."""

UNPLACED = "unplaced"
"""In the metadata of a chunk that has no place in its document: it was made without positions."""


class Chunking(msgspec.Struct, frozen=True):
    """The chunks of a corpus by one chunker, sorted by document and start."""

    chunker: str
    chunks: tuple[PositionAwareChunk, ...]
    seconds: float


class WholeDocuments:
    """Fulfils ``extensions.PositionAwareChunker``: what an existing index is given to find its texts in."""

    def __str__(self) -> str:
        return EXISTING

    def chunk_with_positions(self, doc: Document) -> list[PositionAwareChunk]:
        """Return the document as it is, if there is anything in it."""
        if not doc.content:
            return []
        place = (doc.id, 0, len(doc.content), doc.metadata)
        return [PositionAwareChunk(generate_pa_chunk_id(doc.content), doc.content, *place)]


def chunk_corpus(
    corpus: Corpus, chunker: Chunker | PositionAwareChunker, *, distinct: bool = False, workers: Workforce = 1
) -> Chunking:
    """Cut every document. ``distinct`` is for the chunk level: there, a text is one chunk wherever it stands.

    At chunk level a chunker without positions is taken at its word: its texts are the chunks, even those that
    are not in the document as they are.
    """
    begun = time.perf_counter()
    if not isinstance(chunker, Chunker | PositionAwareChunker):
        raise UsageError(f"chunker: expected an object with chunk(text), got {shown(chunker)}")
    if not len(corpus):
        raise UsageError("corpus contains no documents")
    if distinct and isinstance(chunker, Chunker) and not isinstance(chunker, PositionAwareChunker):
        cutting = _Cutting(chunker, are_texts=True)
    else:
        aware = chunker if isinstance(chunker, PositionAwareChunker) else ChunkerPositionAdapter(chunker)
        cutting = _Cutting(aware)
    chunks = sorted(
        chain.from_iterable(in_order(cutting, corpus, workers=workers, total=len(corpus))),
        key=lambda chunk: (chunk.doc_id, chunk.start, chunk.end),
    )
    if distinct:
        chunks = list({chunk.content: chunk for chunk in reversed(chunks)}.values())[::-1]
    if not chunks:
        raise UsageError(f"corpus: {component_text(chunker)} makes no chunks of this text")
    return Chunking(component_text(chunker), tuple(chunks), time.perf_counter() - begun)


class _Cutting(msgspec.Struct, frozen=True):
    """Cuts a document, by a chunker with positions or, where ``are_texts``, by one that gives texts."""

    chunker: Any
    are_texts: bool = False

    def __call__(self, document: Document) -> list[PositionAwareChunk]:
        return (_texts if self.are_texts else _checked)(document, self.chunker)

    def name_of(self, document: Document) -> str:
        """Return the name of a document in messages."""
        return f"document {document.id}"


def _checked(document: Document, chunker: PositionAwareChunker) -> list[PositionAwareChunk]:
    chunks = chunker.chunk_with_positions(document)
    for chunk in chunks:
        if not chunk.matches(document):
            found = f"{shown(chunk.content)} at {chunk.start}-{chunk.end} of {chunk.doc_id!r}"
            expected = f"chunks of {component_text(chunker)} at their positions in {document.id!r}"
            raise InputError([Issue("misplaced-chunk", expected, found)])
    return chunks


def _texts(document: Document, chunker: Chunker) -> list[PositionAwareChunk]:
    """Return texts as chunks that follow one another, which keeps their order and is no place."""
    chunks: list[PositionAwareChunk] = []
    end = 0
    for text in chunker.chunk(document.content):
        if text:
            start, end = end, end + len(text)
            place = (document.id, start, end, {UNPLACED: True})
            chunks.append(PositionAwareChunk(generate_pa_chunk_id(text), text, *place))
    return chunks


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
        workers: Workforce = 1,
    ) -> None:
        self.chunker, self.reranker = chunker, reranker
        self.retriever = _retriever(embedder, vector_store, retriever)
        self.fetch_k, self.distinct, self.workers = fetch_k, distinct, workers
        self.chunking: Chunking | None = None

    @property
    def embedding_roles(self) -> dict[str, str]:
        """Return the prefixes that are added before embedding; empty if there are none."""
        dense = dense_part(self.retriever)
        return embedding_roles(dense.embedder) if dense else {}

    def index(self, corpus: Corpus) -> Chunking:
        """Cut the corpus into chunks, index them and return them."""
        chunking = chunk_corpus(corpus, self.chunker, distinct=self.distinct, workers=self.workers)
        self.retriever.index(chunking.chunks)
        self.chunking = chunking
        return chunking

    def retrieve(self, queries: Sequence[str], k: int = 5) -> list[list[PositionAwareChunk]]:
        """Return the k best chunks for each query, best first; fewer where there are fewer."""
        if self.chunking is None:
            raise UsageError("pipeline: the index is empty. Call index(corpus) before retrieve(queries)")
        depth = candidates_for(k, self.reranker, fetch_k=self.fetch_k)
        candidates = searched(self.retriever, queries, depth, workers=self.workers)
        if self.reranker is None:
            return candidates
        return reranked(self.reranker, queries, candidates, k=k, workers=self.workers)

    def scores(self, query: str, chunks: Sequence[PositionAwareChunk]) -> list[float] | None:
        """Return by what number each of the retrieved chunks was ranked, if its retriever tells."""
        score = getattr(self.retriever, "score", None)
        if score is None or self.reranker is not None or not chunks:
            return None
        return list(score(query, chunks))


def _retriever(
    embedder: Embedder | None, vector_store: VectorStore | None, retriever: Retriever | None
) -> Retriever:
    if retriever is not None and embedder is None and vector_store is None:
        return retriever
    if embedder is None or retriever is not None:
        raise UsageError("pipeline: expected either a retriever, or an embedder with an optional store")
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
        raise UsageError(f"fetch_k: expected a whole number of at least k ({k}), got {shown(fetch_k)}")
    return fetch_k


def reranked(
    reranker: Reranker,
    queries: Sequence[str],
    candidates: Sequence[Sequence[PositionAwareChunk]],
    *,
    k: int,
    workers: Workforce = 1,
) -> list[list[PositionAwareChunk]]:
    """Let a reranker order each query's candidates and keep k of them.

    A reranker with a true ``concurrent``, which waits for a server, is asked by several threads at once. One
    that names the workers' engine among its ``engines`` is sent to them. Any other is asked one by one: a
    model in this process has threads of its own, and its tokenizer may not be shared.
    """
    ordering, pairs = _Ordering(reranker, k), list(zip(queries, candidates, strict=True))
    crew = crew_for(reranker, workers)
    if not crew.is_alone:
        found = in_order(ordering, pairs, workers=crew, total=len(pairs))
        return [[chunks[place] for place in best] for chunks, best in zip(candidates, found, strict=True)]
    threads = min(counted_workers(crew_of(workers).count), _MOST_AT_ONCE)
    if threads == 1 or not getattr(reranker, "concurrent", False):
        return [ordering.best(pair) for pair in pairs]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(ordering.best, pairs))


class _Ordering(msgspec.Struct, frozen=True):
    """Orders a query's candidates. Where it is sent to, they are copies, so it tells their places."""

    reranker: Reranker
    k: int

    def best(self, of_one: tuple[str, Sequence[PositionAwareChunk]]) -> list[PositionAwareChunk]:
        query, chunks = of_one
        return list(self.reranker.rerank(query, chunks, self.k))[: self.k] if chunks else []

    def __call__(self, of_one: tuple[str, Sequence[PositionAwareChunk]]) -> list[int]:
        return [of_one[1].index(chunk) for chunk in self.best(of_one)]


# What pipelines, and so the cells of a sweep, cost in US dollars, as far as their parts tell what they use
# and at what price.
#
# ``spent`` was paid for a cell and for none before it, so that the cells of a sweep add up to what was paid
# in all. ``alone`` is what the cell costs by itself, with nothing shared and nothing cached: every chunk and
# every query embedded, every query reranked.
#
# A part is metered when it counts its use: an embedder by ``tokens_used`` and ``characters_used``, a reranker
# by ``searches_used``. Its ``price`` is for a million tokens, or for one search. A part that counts nothing
# runs on this machine, as far as anybody can tell, and adds nothing. A metered part without a price, or one
# whose server does not say what it read (its count is then ``None``), makes the cost unknown, which is never
# shown as 0.

TOKENS = "tokens_used"
SEARCHES = "searches_used"

_UNITS_A_PRICE = {TOKENS: 1_000_000, SEARCHES: 1}


class Meter:
    """The usage of one part from now on; ``part`` is the object that counts it, ``None`` if nothing does."""

    def __init__(self, part: object, counter: str) -> None:
        self.part, self._counter = metered(part, counter), counter
        self._before = self._count()

    @property
    def units(self) -> int | None:
        """Return the number of units used since; ``None`` if the part does not report it."""
        now = self._count()
        return None if now is None or self._before is None else now - self._before

    @property
    def cost(self) -> float | None:
        """Return the cost of these units, if a price is known."""
        units, price = self.units, self.price
        return None if units is None or price is None else units * price

    @property
    def price(self) -> float | None:
        """US dollars for one unit."""
        price: float | None = getattr(self.part, "price", None)
        return None if price is None else price / _UNITS_A_PRICE[self._counter]

    def cost_of_embedding(self, texts: Iterable[str]) -> float | None:
        """Estimate what it costs to embed texts, each once, by the tokens a character had so far."""
        tokens, price = self._count(), self.price
        characters: int | None = getattr(self.part, "characters_used", None)
        if tokens is None or price is None or not characters:
            return None
        return sum(map(len, set(texts))) * tokens / characters * price

    def _count(self) -> int | None:
        count = getattr(self.part, self._counter, None)
        return count if isinstance(count, int) else None


def metered(part: object, counter: str) -> object | None:
    """Return the part that tells this of itself: this one, or what it wraps as its ``embedder``."""
    while not hasattr(part, counter):
        if not hasattr(part, "embedder"):
            return None
        part = part.embedder
    return part


def summed(values: Iterable[float | None]) -> float | None:
    """Return the sum of what is known, unless there is nothing or something is not known."""
    every = list(values)
    known = [value for value in every if value is not None]
    return math.fsum(known) if known and len(known) == len(every) else None
