"""The one record into which every dataset dialect is read, and which every scorer sees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from rag_evaluation_framework.counts import counted
from rag_evaluation_framework.errors import invalid
from rag_evaluation_framework.records.citations import Citation, SpanCitation

Role = Literal["user", "assistant", "system"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One turn of what is asked. An assistant's turn holds what it should have said as ``reference``."""

    role: Role
    content: str | None = None
    reference: str | None = None
    needs: tuple[str, ...] = ()
    """What the turn cannot be answered without, such as ``previous_turn_resolution``."""
    expectation: Refusal | None = None
    """Set where the assistant should decline instead of saying something."""
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if self.role not in ("user", "assistant", "system"):
            raise invalid("role", "'user', 'assistant' or 'system'", self.role)
        if self.role == "user" and self.content is None:
            raise invalid("content", "the words of the user", self.content)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The system should decline to answer."""

    reason: str | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entities:
    """The answer should name these."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """The answer should say that the subject stands in this relation to the object."""

    subject: str
    relation: str
    object: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Milestones:
    """The answer should tell these steps, in this order, drawn from so many places."""

    steps: tuple[str, ...]
    hops: int | None = None


Expectation: TypeAlias = Refusal | Entities | Relation | Milestones


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a system did when the dataset was made: the contexts it used, and what it said of them.

    ``answer`` is what it answered, if the file says so.
    """

    contexts: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    retrieved: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)
    citations: tuple[Citation, ...] = ()
    prompt: str | None = None
    answer: str | None = None

    def __post_init__(self) -> None:
        if self.sources and len(self.sources) != len(self.contexts):
            raise invalid(
                "sources", f"one for each of the {counted(len(self.contexts), 'context')}", len(self.sources)
            )


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a sample was read: its dialect, file and line, so that it can be written back and named."""

    dialect: str
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One thing to evaluate: what is asked, what is expected, and what is known about it.

    A field that a dialect does not have is empty here, never made up. ``relevant_documents`` maps a
    document to its grade, 1 where the dialect knows no grades. ``extra`` keeps the fields that have no
    place here, so that writing back in the same dialect loses nothing.
    """

    id: str
    turns: tuple[Turn, ...]
    reference: str | None = None
    recorded: Recorded | None = None
    reference_contexts: tuple[str, ...] = ()
    relevant_documents: Mapping[str, int] = field(default_factory=dict, hash=False)
    relevant_spans: tuple[SpanCitation, ...] = ()
    relevant_chunk_ids: tuple[str, ...] = ()
    expectation: Expectation | None = None
    category: str | None = None
    difficulty: str | None = None
    query_type: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    origin: Origin | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id:
            raise invalid("id", "a sample id", self.id)
        if not any(turn.role == "user" for turn in self.turns):
            raise invalid("turns", "at least one turn of the user", [turn.role for turn in self.turns])

    @property
    def question(self) -> str:
        """What the user says last: the whole question, or the end of a conversation."""
        return next(turn.content or "" for turn in reversed(self.turns) if turn.role == "user")
