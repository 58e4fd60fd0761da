"""Queries with what a retriever should find for them, and the shapes these take in LangSmith."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from rag_evaluation_framework.errors import invalid
from rag_evaluation_framework.records.identifiers import ChunkId, PositionAwareChunkId, QueryId, QueryText


@dataclass(frozen=True, slots=True)
class Query:
    """A question put to the retriever."""

    id: QueryId
    text: QueryText
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id:
            raise invalid("id", "a query id", self.id)
        if not isinstance(self.text, str):
            raise invalid("text", "text", self.text)


@dataclass(frozen=True, slots=True)
class ChunkLevelGroundTruth:
    """The chunks that are relevant to a query."""

    query: Query
    relevant_chunk_ids: Sequence[ChunkId] = field(hash=False)


@dataclass(frozen=True, slots=True)
class TokenLevelGroundTruth:
    """The position-aware chunks whose characters are relevant to a query."""

    query: Query
    relevant_chunk_ids: Sequence[PositionAwareChunkId] = field(hash=False)


class ChunkLevelDatasetExample(TypedDict):
    """A chunk-level example as LangSmith stores it: ``{"inputs": {"query": …}, "outputs": {…}}``."""

    inputs: dict[str, QueryText]
    outputs: dict[str, list[ChunkId]]


class ChunkLevelRunOutput(TypedDict):
    """What a retriever returns for one query at chunk level."""

    retrieved_chunk_ids: list[ChunkId]


class TokenLevelDatasetExample(TypedDict):
    """A token-level example as LangSmith stores it; the ids resolve to characters in a registry."""

    inputs: dict[str, QueryText]
    outputs: dict[str, list[PositionAwareChunkId]]


class TokenLevelRunOutput(TypedDict):
    """What a retriever returns for one query at token level."""

    retrieved_chunk_ids: list[PositionAwareChunkId]
