"""The one table of our own components by kind and name: a line each, strings only."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from rag_evaluation_framework.errors import UsageError, shown
from rag_evaluation_framework.extensions import (
    Chunker,
    Embedder,
    PositionAwareChunker,
    Registry,
    Reranker,
    Retriever,
    Specification,
    Target,
    VectorStore,
    built,
    parse_specification,
    without_passwords,
)

# The parts of a retrieval pipeline by name, and how a specification becomes one.
#
# ``chunker_from("recursive(chunk_size=200, overlap=50)")`` is ``RecursiveCharacterChunker(chunk_size=200,
# overlap=50)``; ``str()`` of it is that text again. Installed packages add names through the entry points
# ``rag_evaluation_framework.chunkers``, ``.embedders``, ``.vector_stores``, ``.retrievers``, ``.rerankers``.

Component = TypeVar("Component")

_ROOM = "rag_evaluation_framework.retrieval."
_ADAPTERS = "rag_evaluation_framework.adapters."

CHUNKERS: Registry[Callable[..., Chunker | PositionAwareChunker]] = Registry("chunker")
CHUNKERS.register("fixed", f"{_ROOM}chunkers:FixedTokenChunker")
CHUNKERS.register("markdown", f"{_ROOM}markdown_chunker:MarkdownHeadingChunker")
CHUNKERS.register("recursive", f"{_ROOM}chunkers:RecursiveCharacterChunker")
CHUNKERS.register("semantic", f"{_ROOM}chunkers:SemanticChunker")
CHUNKERS.register("sentence", f"{_ROOM}chunkers:SentenceChunker")
CHUNKERS.register("chonkie", f"{_ADAPTERS}vendor_chunkers:ChonkieChunker", extra="chonkie")
CHUNKERS.register("langchain", f"{_ADAPTERS}vendor_chunkers:LangChainChunker", extra="langchain")

EMBEDDERS: Registry[Callable[..., Embedder]] = Registry("embedder")
EMBEDDERS.register("hashing", f"{_ROOM}embedders:HashingEmbedder")
EMBEDDERS.register("cohere", f"{_ADAPTERS}cohere:CohereEmbedder")
EMBEDDERS.register("onnx", f"{_ADAPTERS}onnx_embedder:OnnxEmbedder")
EMBEDDERS.register("openai", f"{_ADAPTERS}openai:OpenAIEmbedder")
EMBEDDERS.register("sentence_transformers", f"{_ADAPTERS}sentence_transformers:SentenceTransformerEmbedder")

VECTOR_STORES: Registry[Callable[..., VectorStore]] = Registry("vector_store")
VECTOR_STORES.register("chroma", f"{_ADAPTERS}chroma_store:ChromaVectorStore")
VECTOR_STORES.register("exact", f"{_ROOM}stores:ExactVectorStore")
VECTOR_STORES.register("faiss", f"{_ADAPTERS}embedded_stores:FaissStore")
VECTOR_STORES.register("lancedb", f"{_ADAPTERS}embedded_stores:LanceDBStore")
VECTOR_STORES.register("pgvector", f"{_ADAPTERS}pgvector_store:PgvectorStore")
VECTOR_STORES.register("qdrant", f"{_ADAPTERS}qdrant_store:QdrantVectorStore")

RETRIEVERS: Registry[Callable[..., Retriever]] = Registry("retriever")
RETRIEVERS.register("bm25", f"{_ROOM}bm25:BM25Retriever")
RETRIEVERS.register("dense", f"{_ROOM}retrievers:DenseRetriever")
RETRIEVERS.register("fused", f"{_ROOM}retrievers:FusedRetriever")

INDEXES: Registry[Callable[..., Any]] = Registry("index")
"""Indexes that exist already, by name; they are searched and not built."""
INDEXES.register("chroma", f"{_ADAPTERS}chroma_store:existing_collection", extra="chroma")
INDEXES.register("pgvector", f"{_ADAPTERS}pgvector_store:existing_table", extra="pgvector")
INDEXES.register("qdrant", f"{_ADAPTERS}qdrant_store:existing_collection", extra="qdrant")

RERANKERS: Registry[Callable[..., Reranker]] = Registry("reranker")
RERANKERS.register("cohere", f"{_ADAPTERS}cohere:CohereReranker")
RERANKERS.register("cross_encoder", f"{_ADAPTERS}sentence_transformers:CrossEncoderReranker")
RERANKERS.register("lexical", f"{_ROOM}retrievers:LexicalReranker")

# An argument of this name is itself a component: ``semantic(embedder=hashing)``.
_PARTS: Mapping[str, Registry[Callable[..., Any]]] = {"embedder": EMBEDDERS, "store": VECTOR_STORES}


def chunker_from(text: str | Specification) -> Chunker | PositionAwareChunker:
    """Return the chunker that a specification stands for."""
    return component_from(CHUNKERS, text)


def retriever_from(text: str | Specification) -> Retriever:
    """Return the retriever of a specification: ``fused(lexical=bm25, dense=dense(embedder=hashing))``."""
    return component_from(RETRIEVERS, text)


def component_from(registry: Registry[Callable[..., Component]], text: str | Specification) -> Component:
    """Build the component that a specification stands for, and the components among its arguments."""
    specification = parse_specification(text) if isinstance(text, str) else text
    build = registry.get(specification.name)
    settings = inspect.signature(build).parameters
    arguments: dict[str, object] = {}
    for name, value in specification.arguments.items():
        # Retrievers are fused under names of their own.
        others = RETRIEVERS if registry is RETRIEVERS and name not in settings else None
        kind = _PARTS.get(name) or others
        if kind is not None and isinstance(value, str | Specification):
            arguments[name] = component_from(kind, value)
        elif isinstance(value, Specification):
            raise UsageError(f"{name}: expected a value, got the component {shown(str(value))}")
        else:
            arguments[name] = value
    return built(build, arguments, of=f"{registry.kind} {shown(without_passwords(str(specification)))}")


# The system under test from one text: a URL, a function, a file, or a specification.
#
# ===================================================  ==========================================
# ``http://localhost:4000``                            an agent
# ``package.module:function``                          a Python function
# ``answers.jsonl``                                    recorded answers
# ``openai(model="m", base_url="http://host/v1")``     a model; ``http``, ``python`` and ``recorded`` too
# ===================================================  ==========================================
#
# Installed packages add names through the entry points ``rag_evaluation_framework.targets``.

TARGETS: Registry[Callable[..., Target]] = Registry("target")
TARGETS.register("http", "rag_evaluation_framework.adapters.http_agent:HttpAgent")
TARGETS.register("openai", "rag_evaluation_framework.adapters.openai:OpenAIModel")
TARGETS.register("python", "rag_evaluation_framework.evaluation.targets:PythonCallable")
TARGETS.register("recorded", "rag_evaluation_framework.evaluation.targets:RecordedAnswers")

JUDGES: Registry[Callable[..., Any]] = Registry("judge")
"""Judges by name: ``openai`` for any model behind such an endpoint, or the client of another package."""
JUDGES.register("openai", "rag_evaluation_framework.adapters.openai:OpenAIChatModel")

METHODS: Registry[Callable[..., Any]] = Registry("method")
"""Support methods by name; ``judge`` and ``cascade(…)`` are built from the other arguments."""
METHODS.register("lexical", "rag_evaluation_framework.judging.lexical_support:LexicalSupport")
METHODS.register("entailment", f"{_ADAPTERS}pair_models:entailment")

_FUNCTION = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*\Z")
_RECORDED_SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".ndjson")


def target_from(text: str) -> Target:
    """Return the target a text stands for."""
    text = text.strip()
    if text.startswith(("http://", "https://")):
        return TARGETS.get("http")(text)
    if text.lower().endswith(_RECORDED_SUFFIXES) or ("(" not in text and Path(text).is_file()):
        return TARGETS.get("recorded")(text)
    if _FUNCTION.match(text):
        return TARGETS.get("python")(text)
    specification = parse_specification(text)
    build = TARGETS.get(specification.name)
    return built(build, specification.arguments, of=f"target {shown(text)}")
