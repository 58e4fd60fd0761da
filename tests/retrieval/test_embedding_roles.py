"""Queries and documents are embedded as the model was trained to see them, and the run says how."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from component_server import ComponentServer, running_components

from cases import tables_beside
from rag_evaluation_framework import (
    Corpus,
    Document,
    DocumentId,
    OpenAIEmbedder,
    RecursiveCharacterChunker,
    TokenLevelEvaluation,
    evaluate,
)
from rag_evaluation_framework.adapters.onnx_embedder import OnnxEmbedder
from rag_evaluation_framework.adapters.sentence_transformers import SentenceTransformerEmbedder
from rag_evaluation_framework.components import EMBEDDERS, component_from
from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.evaluation.pipeline_targets import PipelineTarget
from rag_evaluation_framework.retrieval.embedders import (
    CachedEmbedder,
    HashingEmbedder,
    RememberingEmbedder,
    embedding_roles,
    prompts_for,
)
from rag_evaluation_framework.retrieval.pipeline import RetrievalPipeline
from rag_evaluation_framework.retrieval.stores import ExactVectorStore, Matrix

TABLES = tables_beside(__file__)

ENGLISH = "Represent this sentence for searching relevant passages: "
INSTRUCTION = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
CORPUS = Corpus(
    [Document(DocumentId("a.md"), "Leave is thirty days."), Document(DocumentId("b.md"), "Lunch.")]
)


class TellsApart:
    """Remembers what it was asked for, in which role."""

    def __init__(self) -> None:
        self.documents: list[str] = []
        self.queries: list[str] = []

    def __repr__(self) -> str:
        return "tells_apart"

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.documents += texts
        return HashingEmbedder(32).embed(texts)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        self.queries += texts
        return HashingEmbedder(32).embed([f"asked {text}" for text in texts])


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    path = tmp_path / "leave.jsonl"
    spans = [{"doc_id": "a.md", "start": 0, "end": 21}]
    row = {
        "id": "q",
        "inputs": {"query": "How long is leave?"},
        "outputs": {"relevant_chunk_ids": [], "spans": spans},
    }
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ComponentServer]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("CO_API_KEY", "co-test")
    with running_components() as running:
        yield running


def configuration(dataset: Path, embedder: Any) -> Any:
    evaluation = TokenLevelEvaluation(CORPUS, dataset)
    chunker = RecursiveCharacterChunker(chunk_size=100, overlap=0)
    result = evaluation.run(chunker, embedder, k=1, vector_store=ExactVectorStore())
    return result.raw_results.head.configuration


def test_questions_go_to_embed_queries_and_the_run_says_so(dataset: Path) -> None:
    embedder = TellsApart()
    recorded = configuration(dataset, embedder)
    assert embedder.queries == ["How long is leave?"]
    assert sorted(embedder.documents) == ["Leave is thirty days.", "Lunch."]
    assert recorded["embedding_roles"] == {"query": "embed_queries", "document": "embed"}
    assert "embedding_roles" not in configuration(dataset, HashingEmbedder())


def test_a_pipeline_as_target_records_the_roles_too(dataset: Path) -> None:
    pipeline = RetrievalPipeline(RecursiveCharacterChunker(), TellsApart(), vector_store=ExactVectorStore())
    pipeline.index(CORPUS)
    found = evaluate(dataset, target=PipelineTarget(pipeline, 1), metrics=["span_recall"], documents=CORPUS)
    part = next(iter(found.parts.values()), found)
    assert part.head.configuration["embedding_roles"] == {"query": "embed_queries", "document": "embed"}


def test_memory_and_cache_keep_a_text_by_its_role(tmp_path: Path) -> None:
    for wrapped in (
        CachedEmbedder(inner := TellsApart(), tmp_path),
        RememberingEmbedder(other := TellsApart()),
    ):
        assert (wrapped.embed(["leave"]) != wrapped.embed_queries(["leave"])).any()
        again = wrapped.embed_queries(["leave", "leave"])
        assert (again[0] == wrapped.embedder.embed_queries(["leave"])).all()
        assert embedding_roles(wrapped) == {"query": "embed_queries", "document": "embed"}
    assert inner.documents == other.documents == ["leave"]
    assert (CachedEmbedder(TellsApart(), tmp_path).embed(["leave"]) == inner.embed(["leave"])).all()


def test_who_does_not_tell_them_apart_is_asked_once_for_both(tmp_path: Path) -> None:
    cached = CachedEmbedder(HashingEmbedder(), tmp_path)
    remembering = RememberingEmbedder(cached)
    assert (remembering.embed(["leave"]) == remembering.embed_queries(["leave"])).all()
    assert (cached.embed_queries(["leave"]) == cached.embed(["leave"])).all()
    assert cached.embedded_texts == 1
    assert embedding_roles(remembering) == {}


@pytest.mark.parametrize(
    ("model", "query", "document"),
    [
        *TABLES["prefixes_follow_from_the_name_of_a_model"],
        ("intfloat/multilingual-e5-large-instruct", INSTRUCTION + " ", ""),
        ("e5-mistral-7b-instruct", INSTRUCTION + " ", ""),
        ("BAAI/bge-small-en-v1.5", ENGLISH, ""),
        ("bge-large:latest", ENGLISH, ""),
        ("mixedbread-ai/mxbai-embed-large-v1", ENGLISH, ""),
        ("Snowflake/snowflake-arctic-embed-m-v1.5", ENGLISH, ""),
        ("Alibaba-NLP/gte-Qwen2-7B-instruct", INSTRUCTION + " ", ""),
        ("Qwen/Qwen3-Embedding-0.6B", INSTRUCTION, ""),
    ],
)
def test_prefixes_follow_from_the_name_of_a_model(model: str, query: str, document: str) -> None:
    found = prompts_for(model)
    assert (found.query, found.document) == (query, document)


def test_an_endpoint_gets_each_text_with_its_prefix(server: ComponentServer, dataset: Path) -> None:
    recorded = configuration(dataset, OpenAIEmbedder("e5-base-v2", f"{server.url}/v1"))
    assert recorded["embedding_roles"] == {"query": "query: ", "document": "passage: "}
    sent = sorted(text for asked in server.requests for text in asked["input"])
    assert sent == ["passage: Leave is thirty days.", "passage: Lunch.", "query: How long is leave?"]


def test_prefixes_may_be_given_and_are_part_of_the_name(server: ComponentServer) -> None:
    given = f'model=nomic-embed-text, base_url="{server.url}/v1", query_prefix="ask: ", document_prefix=""'
    embedder: Any = component_from(EMBEDDERS, f"openai({given})")
    embedder.embed_queries(["leave"])
    embedder.embed(["leave"])
    assert [asked["input"] for asked in server.requests] == [["ask: leave"], ["leave"]]
    assert str(component_from(EMBEDDERS, str(embedder))) == str(embedder)
    assert "ask: " in str(embedder)
    bare = OpenAIEmbedder("nomic-embed-text", query_prefix="", document_prefix="")
    assert embedding_roles(bare) == {}


def test_cohere_is_told_the_input_type(server: ComponentServer, dataset: Path) -> None:
    pytest.importorskip("cohere", reason="the extra 'cohere' is not installed")
    embedder: Any = component_from(EMBEDDERS, f'cohere(model=embed-v4.0, base_url="{server.url}")')
    recorded = configuration(dataset, embedder)
    types = {"query": "input_type search_query", "document": "input_type search_document"}
    assert recorded["embedding_roles"] == types
    asked = {it["input_type"]: it["texts"] for it in server.requests}
    assert asked["search_query"] == ["How long is leave?"]
    assert sorted(asked["search_document"]) == ["Leave is thirty days.", "Lunch."]
    # Four and one and four words, which the server bills as tokens.
    assert embedder.tokens_used == 4 + 1 + 4
    assert len(embedder.embed([f"text {number}" for number in range(97)])) == 97
    assert [len(it["texts"]) for it in server.requests[-2:]] == [96, 1]
    server.answers["/v2/embed"] = lambda _: {"id": "1", "embeddings": {"float": []}, "texts": []}
    with pytest.raises(TargetError, match="expected 1 embedding, one per text, got 0"):
        embedder.embed(["leave"])


class Encoder:
    """Stands for sentence-transformers' class, which is not installed everywhere."""

    def __init__(self, place: str, device: str | None = None) -> None:
        self.prompts = {
            "own": {"query": "q> ", "passage": "p> "},
            "empty": {"query": "", "document": ""},
        }.get(place, {})

    def encode(self, texts: list[str], *, prompt: str | None = None, **_: Any) -> Any:
        return HashingEmbedder(32).embed([(prompt or "") + text for text in texts])


@pytest.mark.parametrize(
    ("model", "given", "roles"), TABLES["sentence_transformers_uses_the_prompts_of_the_model_or_of_its_name"]
)
def test_sentence_transformers_uses_the_prompts_of_the_model_or_of_its_name(
    model: str, given: dict[str, str], roles: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("sentence_transformers")
    module.SentenceTransformer = Encoder  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    place = "rag_evaluation_framework.adapters.sentence_transformers."
    monkeypatch.setattr(f"{place}require_extra", lambda *_, **__: None)
    monkeypatch.setattr(f"{place}model_folder", lambda _: None)
    monkeypatch.setattr(f"{place}loaded_quietly", lambda _: nullcontext())
    embedder = SentenceTransformerEmbedder(model, **given)  # type: ignore[arg-type]
    assert embedding_roles(embedder) == roles
    plain = HashingEmbedder(32)
    assert np.allclose(embedder.embed(["leave"]), plain.embed([roles.get("document", "") + "leave"]))
    assert np.allclose(embedder.embed_queries(["leave"]), plain.embed([roles.get("query", "") + "leave"]))


@pytest.mark.parametrize(("files", "roles"), TABLES["onnx_reads_the_prompts_beside_the_model"])
def test_onnx_reads_the_prompts_beside_the_model(
    files: dict[str, Any], roles: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "rag_evaluation_framework.adapters.onnx_embedder.require_extra", lambda *_, **__: None
    )
    for name in ("model.onnx", "tokenizer.json"):
        (tmp_path / name).write_bytes(b"{}")
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    assert embedding_roles(OnnxEmbedder(tmp_path)) == roles
