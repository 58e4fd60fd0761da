"""The parts of a retrieval pipeline by name, and how a specification becomes one.

``chunker_from("recursive(chunk_size=200, overlap=50)")`` is ``RecursiveCharacterChunker(chunk_size=200,
overlap=50)``; ``str()`` of it is that text again. Installed packages add names through the entry points
``rag_evaluation_framework.chunkers``, ``.embedders``, ``.vector_stores`` and ``.rerankers``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from rag_evaluation_framework.errors import UsageError, shown
from rag_evaluation_framework.extensions import (
    Chunker,
    Embedder,
    PositionAwareChunker,
    Registry,
    Reranker,
    VectorStore,
)
from rag_evaluation_framework.specifications import Specification, built, parse_specification

Component = TypeVar("Component")

_ROOM = "rag_evaluation_framework.retrieval."
_ADAPTERS = "rag_evaluation_framework.adapters."

CHUNKERS: Registry[Callable[..., Chunker | PositionAwareChunker]] = Registry("chunker")
CHUNKERS.register("fixed", f"{_ROOM}token_chunker:FixedTokenChunker")
CHUNKERS.register("markdown", f"{_ROOM}markdown_chunker:MarkdownHeadingChunker")
CHUNKERS.register("recursive", f"{_ROOM}recursive_chunker:RecursiveCharacterChunker")
CHUNKERS.register("semantic", f"{_ROOM}semantic_chunker:SemanticChunker")
CHUNKERS.register("sentence", f"{_ROOM}sentence_chunker:SentenceChunker")
CHUNKERS.register("chonkie", f"{_ADAPTERS}chonkie_chunkers:ChonkieChunker", extra="chonkie")
CHUNKERS.register("langchain", f"{_ADAPTERS}langchain_splitters:LangChainChunker", extra="langchain")

EMBEDDERS: Registry[Callable[..., Embedder]] = Registry("embedder")
EMBEDDERS.register("hashing", f"{_ROOM}embedders:HashingEmbedder")
EMBEDDERS.register("onnx", f"{_ADAPTERS}onnx_embedder:OnnxEmbedder")
EMBEDDERS.register("openai", f"{_ADAPTERS}openai_embeddings:OpenAIEmbedder")
EMBEDDERS.register(
    "sentence_transformers", f"{_ADAPTERS}sentence_transformers_embedder:SentenceTransformerEmbedder"
)

VECTOR_STORES: Registry[Callable[..., VectorStore]] = Registry("vector_store")
VECTOR_STORES.register("chroma", f"{_ADAPTERS}chroma_store:ChromaVectorStore")
VECTOR_STORES.register("exact", f"{_ROOM}exact_store:ExactVectorStore")
VECTOR_STORES.register("qdrant", f"{_ADAPTERS}qdrant_store:QdrantVectorStore")

RERANKERS: Registry[Callable[..., Reranker]] = Registry("reranker")
RERANKERS.register("cohere", f"{_ADAPTERS}cohere_reranker:CohereReranker")
RERANKERS.register("cross_encoder", f"{_ADAPTERS}cross_encoder_reranker:CrossEncoderReranker")
RERANKERS.register("lexical", f"{_ROOM}rerankers:LexicalReranker")

# An argument of this name is itself a component: ``semantic(embedder=hashing)``.
_PARTS: Mapping[str, Registry[Callable[..., Any]]] = {"embedder": EMBEDDERS}


def chunker_from(text: str | Specification) -> Chunker | PositionAwareChunker:
    """Return the chunker that a specification stands for."""
    return component_from(CHUNKERS, text)


def component_from(registry: Registry[Callable[..., Component]], text: str | Specification) -> Component:
    """Build the component that a specification stands for, and the components among its arguments."""
    specification = parse_specification(text) if isinstance(text, str) else text
    build = registry.get(specification.name)
    arguments = {name: _argument(name, value) for name, value in specification.arguments.items()}
    return built(build, arguments, of=f"{registry.kind} {shown(str(specification))}")


def _argument(name: str, value: object) -> object:
    if name in _PARTS and isinstance(value, str | Specification):
        return component_from(_PARTS[name], value)
    if isinstance(value, Specification):
        raise UsageError(f"{name}: expected a value, got the component {shown(str(value))}")
    return value
