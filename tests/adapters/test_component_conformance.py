"""Every registered embedder, store and reranker keeps the same promises; a new one needs a line here."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from component_server import running_components

from cases import tables_beside
from rag_evaluation_framework import (
    Embedder,
    InputError,
    PositionAwareChunk,
    Reranker,
    UsageError,
    VectorStore,
)
from rag_evaluation_framework.components import (
    EMBEDDERS,
    RERANKERS,
    RETRIEVERS,
    VECTOR_STORES,
    component_from,
    retriever_from,
)
from rag_evaluation_framework.errors import MissingExtraError
from rag_evaluation_framework.extensions import BatchVectorStore
from rag_evaluation_framework.retrieval.embedders import CachedEmbedder
from rag_evaluation_framework.retrieval.stores import ExactVectorStore
from stored_texts import chunk
from tiny_models import write_cross_encoder, write_sentence_model

TABLES = tables_beside(__file__)

TEXTS = [
    "parental leave of thirty days",
    "the server is patched",
    "an expense report after the journey",
    "lunch at noon",
    "员工的年假",
    "emoji 😀 and\r\nlines",
    "parental leave of thirty days",
    "a long text " * 400,
]
# The packages that a component is built with here.
NEEDED = TABLES["needed"]


# Approximate indexes, told to look everywhere, so that they find what there is.
STORES = TABLES["stores"]


def names_of(registry: Any) -> list[Any]:
    """Return the names registered, those of vendors marked with the packages that they need."""
    marks = {name: pytest.mark.vendors(*packages) for name, packages in NEEDED.items()}
    texts = STORES if registry is VECTOR_STORES else {}
    return [
        pytest.param(text, marks=marks.get(name, ()))
        for name in registry.names()
        for text in texts.get(name, [name])
    ]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    write_sentence_model(folder / "sentences")
    write_cross_encoder(folder / "pairs")
    return folder


@pytest.fixture(scope="module")
def server_url() -> Iterator[str]:
    with running_components() as server:
        yield server.url


@pytest.fixture
def text_of(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Return the specification with which a component is built here."""

    def text(name: str) -> str:
        if name in ("onnx", "sentence_transformers", "cross_encoder"):
            folder = request.getfixturevalue("models") / ("pairs" if name == "cross_encoder" else "sentences")
            return f'{name}({"path" if name == "onnx" else "model_name_or_path"}="{folder}")'
        if name in ("openai", "cohere"):
            monkeypatch.setenv("CO_API_KEY", "key-of-the-test")
            url = request.getfixturevalue("server_url")
            return f'{name}(model=m, base_url="{url}{"/v1" if name == "openai" else ""}")'
        if name.startswith("pgvector"):
            monkeypatch.setenv("PGVECTOR_DSN", request.getfixturevalue("postgres"))
        monkeypatch.chdir(request.getfixturevalue("tmp_path"))
        return name

    return text


def chunks_of(texts: list[str]) -> list[PositionAwareChunk]:
    return [chunk(text, f"d{number % 2}", 9000 * number) for number, text in enumerate(texts)]


def built(registry: Any, name: str, text_of: Callable[[str], str]) -> Any:
    component = component_from(registry, text_of(name))
    assert str(component_from(registry, str(component))) == str(component), "its text builds it again"
    return component


@pytest.mark.parametrize("name", names_of(EMBEDDERS))
def test_every_embedder_gives_each_text_one_finite_vector_of_length_one(
    name: str, text_of: Callable[[str], str]
) -> None:
    embedder: Embedder = built(EMBEDDERS, name, text_of)
    assert isinstance(embedder, Embedder)
    vectors = embedder.embed(TEXTS)
    assert vectors.shape[0] == len(TEXTS)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.allclose(vectors[0], vectors[6], atol=1e-6)
    assert np.allclose(vectors, np.concatenate([embedder.embed([text]) for text in TEXTS]), atol=1e-5)
    assert np.isfinite(embedder.embed(["", " "])).all()
    assert len(embedder.embed([])) == 0
    with pytest.raises(InputError, match="texts: expected a list of texts, got 'bare'"):
        embedder.embed("bare")


@pytest.mark.parametrize("name", names_of(EMBEDDERS))
def test_every_embedder_goes_to_another_process_and_into_the_cache(
    name: str, text_of: Callable[[str], str], tmp_path: Path
) -> None:
    embedder: Embedder = built(EMBEDDERS, name, text_of)
    first = embedder.embed(TEXTS)
    copy = pickle.loads(pickle.dumps(embedder))
    assert np.allclose(copy.embed(TEXTS), first, atol=1e-6)
    cached = CachedEmbedder(copy, tmp_path)
    assert (cached.embed(TEXTS) == cached.embed(TEXTS)).all()
    assert cached.embedded_texts == len(set(TEXTS))


def elsewhere(call: Callable[..., Any], *given: Any) -> Any:
    """Return what a method returns in a process that knows nothing of this one but what it is sent."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(call, *given).result()


@pytest.mark.parametrize("name", names_of(VECTOR_STORES))
def test_every_store_and_its_copies_find_what_the_exact_store_finds(
    name: str, text_of: Callable[[str], str]
) -> None:
    store: VectorStore = built(VECTOR_STORES, name, text_of)
    exact = ExactVectorStore()
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(400, 24)).astype(np.float32)
    chunks = chunks_of([f"text {number}" for number in range(400)])
    for it in (store, exact):
        it.add(chunks[:150], vectors[:150].tolist())
        it.add(chunks[150:], vectors[150:].tolist())
    queries = rng.normal(size=(30, 24))
    for query in queries.tolist()[:5]:
        assert store.search(query, 10) == exact.search(query, 10)
    assert isinstance(store, BatchVectorStore)
    found = exact.search_many(queries.tolist(), 10)
    assert store.search_many(queries.tolist(), 10) == found
    assert elsewhere(store.search_many, queries.tolist(), 10) == found
    copy: VectorStore = pickle.loads(pickle.dumps(store))
    assert copy.search(queries[0].tolist(), 10) == found[0]
    copy.add(chunks[:1], queries[:1].tolist())  # to a collection of its own
    assert copy.search(queries[0].tolist(), 1) == chunks[:1]
    del copy
    assert len(store.search(queries[0].tolist(), 1000)) == 400
    assert store.recall_against_exact(queries, 10) == 1.0  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", names_of(VECTOR_STORES))
def test_every_store_keeps_each_place_of_a_repeated_text_and_orders_ties_by_place(
    name: str, text_of: Callable[[str], str]
) -> None:
    store: BatchVectorStore = built(VECTOR_STORES, name, text_of)
    chunks = chunks_of(["same text"] * 50)
    store.add(chunks[::-1], [[3.0, 4.0, 0.0]] * 50)
    by_place = sorted(chunks, key=lambda it: (it.doc_id, it.start))
    assert store.search([1.0, 1.0, 0.0], 12) == by_place[:12]
    assert store.search([0.0, 0.0, 0.0], 50) == by_place
    store.clear()
    assert store.search([1.0, 1.0], 3) == []
    store.add(chunks[:2], [[1.0, 0.0], [0.0, 1.0]])
    assert store.search([0.0, 2.0], 1) == [chunks[1]]


@pytest.mark.parametrize("name", names_of(VECTOR_STORES))
def test_every_store_refuses_what_makes_no_sense(name: str, text_of: Callable[[str], str]) -> None:
    store: VectorStore = built(VECTOR_STORES, name, text_of)
    chunks = chunks_of(TEXTS[:2])
    with pytest.raises(InputError, match="expected 2 vectors, got 1"):
        store.add(chunks, [[1.0, 2.0]])
    with pytest.raises(InputError, match="expected a finite number, got nan"):
        store.add(chunks, [[1.0, 2.0], [float("nan"), 1.0]])
    store.add([], [])
    store.add(chunks, [[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(UsageError, match="k: expected a whole number of at least 1, got 0"):
        store.search([1.0, 2.0], 0)
    with pytest.raises(InputError, match="expected vectors of 2 numbers, got 3"):
        store.search([1.0, 2.0, 3.0], 1)


@pytest.mark.parametrize("name", RETRIEVERS.names())
def test_every_retriever_finds_the_same_in_another_process(name: str) -> None:
    dense = "dense(embedder=hashing)"
    retriever = retriever_from(
        {"dense": dense, "fused": f"fused(lexical=bm25, dense={dense})"}.get(name, name)
    )
    retriever.index(chunks_of(TEXTS))
    before = retriever.retrieve(["parental leave", "lunch"], 3)
    assert before[0][0].content == TEXTS[0]
    assert elsewhere(retriever.retrieve, ["parental leave", "lunch"], 3) == before


@pytest.mark.parametrize("name", names_of(RERANKERS))
def test_every_reranker_returns_the_best_k_candidates_each_once(
    name: str, text_of: Callable[[str], str]
) -> None:
    reranker: Reranker = built(RERANKERS, name, text_of)
    assert isinstance(reranker, Reranker)
    chunks = chunks_of(TEXTS[:7])
    whole = reranker.rerank("parental leave", chunks, 20)
    assert sorted(whole, key=lambda it: it.start) == chunks
    assert reranker.rerank("parental leave", chunks, 3) == whole[:3]
    assert whole.index(chunks[0]) < whole.index(chunks[6]), "equal texts keep their order"
    assert reranker.rerank("parental leave", [], 3) == []
    assert pickle.loads(pickle.dumps(reranker)).rerank("parental leave", chunks, 20) == whole
    with pytest.raises(UsageError, match="k: expected a whole number of at least 1, got 0"):
        reranker.rerank("parental leave", chunks, 0)


@pytest.mark.parametrize(
    ("registry", "text", "package", "extra"),
    [
        (EMBEDDERS, "sentence_transformers", "sentence_transformers", "sentence-transformers"),
        (EMBEDDERS, "onnx(path=x)", "onnxruntime", "onnx"),
        (VECTOR_STORES, "chroma", "chromadb", "chroma"),
        (VECTOR_STORES, "faiss", "faiss", "faiss"),
        (VECTOR_STORES, "lancedb", "lancedb", "lancedb"),
        (VECTOR_STORES, "pgvector", "psycopg", "pgvector"),
        (VECTOR_STORES, "qdrant", "qdrant_client", "qdrant"),
        (RERANKERS, "cohere", "cohere", "cohere"),
        (RERANKERS, "cross_encoder", "sentence_transformers", "sentence-transformers"),
    ],
)
def test_a_missing_package_names_the_extra(
    registry: Any, text: str, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = lambda name: None if name == package else find_spec(name)  # noqa: E731
    monkeypatch.setattr("rag_evaluation_framework.adapters.extras.find_spec", absent)
    with pytest.raises(MissingExtraError, match=rf"rag-evaluation-framework\[{extra}\]"):
        component_from(registry, text)
