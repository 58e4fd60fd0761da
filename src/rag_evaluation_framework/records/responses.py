"""What the system under test is asked for one sample, and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Literal, TypeAlias

from rag_evaluation_framework.errors import invalid
from rag_evaluation_framework.records.citations import Citation
from rag_evaluation_framework.records.documents import CharacterSpan
from rag_evaluation_framework.records.samples import Sample

History: TypeAlias = Literal["own", "reference"]
"""What the next turn of a conversation follows: the system's own answers, or those it should have given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One sample put to the system under test.

    ``key`` is the same for every attempt at the same sample of the same run, so that a system can tell a
    retry from a new question; ``thread_id`` is fresh for each sample and shared by the turns of one
    conversation; ``timeout`` is what this attempt may take, in seconds.
    """

    sample: Sample
    key: str
    thread_id: str
    timeout: float
    history: History = "own"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One thing a retriever found: a document, or a chunk with its characters."""

    id: str
    score: float | None = None
    span: CharacterSpan | None = None
    text: str | None = None

    def __post_init__(self) -> None:
        if self.score is not None and not isfinite(self.score):
            raise invalid("score", "a finite number", self.score)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What an answer cost, as far as the system reports it."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why there is no answer: a stable kind for machines and a message for people."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """An answer with everything that came with it, or the failure that stands in its place.

    ``hits`` are in rank order, best first. ``context_origin`` says whether the contexts are the system's
    own or the dataset's. Without hits it is not known what the system retrieved, unless it says that it
    ``retrieved_nothing``.
    """

    text: str | None = None
    hits: tuple[Hit, ...] = ()
    retrieved_nothing: bool = False
    contexts: tuple[str, ...] = ()
    context_origin: Literal["system", "dataset"] | None = None
    citations: tuple[Citation, ...] = ()
    usage: Usage | None = None
    latency_ms: float | None = None
    failure: Failure | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.failure is not None and self.text is not None:
            raise invalid("failure", "no failure beside an answer", self.failure.kind)
        if self.retrieved_nothing and self.hits:
            raise invalid("retrieved_nothing", "no hits beside it", len(self.hits))
        if self.latency_ms is not None and not (isfinite(self.latency_ms) and self.latency_ms >= 0):
            raise invalid("latency_ms", "a number of at least 0", self.latency_ms)

    @property
    def is_empty(self) -> bool:
        """Whether there is no text, or nothing but white space in it."""
        return not (self.text or "").strip()
