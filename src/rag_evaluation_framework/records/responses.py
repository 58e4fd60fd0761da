"""The request to the system under test for one sample, and its response, turn by turn."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.errors import invalid
from rag_evaluation_framework.records.citations import Citation
from rag_evaluation_framework.records.documents import CharacterSpan
from rag_evaluation_framework.records.samples import Sample, Turn, Usage
from rag_evaluation_framework.text.display import short_repr

History: TypeAlias = Literal["own", "reference"]
"""Answers that the next turn of a conversation follows: the system's own, or the expected ones."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One sample for the system under test.

    Args:
        sample: The sample.
        key: Key that all attempts at the same sample of a run share, to distinguish a retry from a new
            question.
        thread_id: Id of the conversation, which its turns share; each sample has a new one.
        timeout: Time limit of this attempt, in seconds.
        history: Earlier answers of the conversation: the system's ``own``, or the ``reference``.
    """

    sample: Sample
    key: str
    thread_id: str
    timeout: float
    history: History = "own"

    __repr__ = short_repr


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """One result of a retriever: a document, or a chunk with its characters.

    Args:
        id: Id of the document or chunk.
        score: Score of the retriever.
        span: Its characters.
        text: Its text.
        names: All of its names, if it has several, such as those of the chunk and of its document.

    Example:
        >>> from rag_evaluation_framework import Hit
        >>> Hit(id="rome.md", score=0.8).id
        'rome.md'
    """

    id: str
    score: float | None = None
    span: CharacterSpan | None = None
    text: str | None = None
    names: tuple[str, ...] = ()

    __repr__ = short_repr

    def __post_init__(self) -> None:
        if self.score is not None and not isfinite(self.score):
            raise invalid("score", "a finite number", self.score)


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """The reason for a missing answer: a stable kind for machines and a message for people."""

    kind: str
    message: str


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """An answer with its retrieved passages and cost, or the failure in its place.

    Args:
        text: The answer.
        hits: Retrieved documents or chunks, best first.
        retrieved_nothing: True if the system reports that it retrieved nothing. Without hits and this, the
            retrieval is unknown.
        contexts: Retrieved passages.
        context_origin: ``system`` or ``dataset``: the source of the contexts.
        citations: Citations of the answer.
        usage: Tokens and cost.
        latency_ms: Time of the answer in milliseconds.
        failure: The failure, if there is no answer.
        metadata: Any values.

    Example:
        >>> from rag_evaluation_framework import Response
        >>> Response(text="It is 4.", contexts=("2 + 2 is 4.",)).is_empty
        False
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
    metadata: Mapping[str, Any] = {}

    __repr__ = short_repr

    def __post_init__(self) -> None:
        if self.failure is not None and self.text is not None:
            raise invalid("failure", "no failure when there is an answer", self.failure.kind)
        if self.retrieved_nothing and self.hits:
            raise invalid("retrieved_nothing", "no hits when it is true", len(self.hits))
        if self.latency_ms is not None and not (isfinite(self.latency_ms) and self.latency_ms >= 0):
            raise invalid("latency_ms", "a number of at least 0", self.latency_ms)

    @property
    def is_empty(self) -> bool:
        """Return True if there is no text, or only white space."""
        return not (self.text or "").strip()


RECORDED, RETRIEVAL = "recorded", "retrieval"
"""In a response's metadata: what was recorded is what a system retrieved, and no answer."""


# The turns of a conversation with what the system answered in each.

TURNS = "turns"
"""The key of the turns in a response's metadata, and of each turn's value in the details of a score."""

NOT_TOLD_BY_TURN = "the agent does not report its answers turn by turn"


class ToldAnswer(NamedTuple):
    """The answer of a target to one turn, its contexts, and whether it reports that there were none."""

    text: str
    contexts: tuple[str, ...] = ()
    retrieved_nothing: bool = False


class AnsweredTurn(msgspec.Struct, frozen=True):
    """One of the assistant's turns: what was asked before it, what it should say, what the system said.

    ``number`` counts the user's turns from 1; ``before`` are the questions and the expected answers of the
    turns before.
    """

    number: int
    question: str
    expected: Turn
    told: ToldAnswer
    before: tuple[str, ...]

    @property
    def answer(self) -> str:
        return self.told.text

    def as_sample(self, sample: Sample) -> Sample:
        """Return the turn as a sample of its own; its question has no conversation before it."""
        turns = (Turn(role="user", content=self.question),)
        expected = self.expected
        return replace(
            sample,
            turns=turns,
            reference=expected.reference,
            references=(),
            expectation=expected.expectation,
            checks=expected.checks,
        )

    def as_response(self, response: Response) -> Response:
        """Return what the system said in this turn; hits and citations are known for the last turn only.

        Where the response has the dataset's contexts, a turn without contexts of its own has those.
        """
        given = response.contexts if response.context_origin == "dataset" else ()
        contexts = self.told.contexts or given
        return Response(
            text=self.answer,
            retrieved_nothing=self.told.retrieved_nothing,
            contexts=contexts,
            context_origin=response.context_origin if contexts else None,
        )


def is_conversation(sample: Sample) -> bool:
    """Return True if a sample has the expected answer of at least one turn."""
    return any(_is_expected(turn) for turn in sample.turns)


def expected_turns(sample: Sample) -> dict[int, Turn]:
    """Return the assistant's turns that expect something, by the number of the user's turn before."""
    found: dict[int, Turn] = {}
    number = 0
    for turn in sample.turns:
        number += turn.role == "user"
        if number and _is_expected(turn):
            found[number] = turn
    return found


def answered_turns(sample: Sample, response: Response) -> list[AnsweredTurn] | None:
    """Return the assistant's turns that expect something, up to the one that failed, if one did.

    ``None`` if some answers are not known although no turn failed.
    """
    answers = told_answers(response)
    asked = [turn.content or "" for turn in sample.turns if turn.role == "user"]
    if len(answers) != len(asked) and response.failure is None:
        return None
    expected = expected_turns(sample)
    found: list[AnsweredTurn] = []
    before: list[str] = []
    for number, (question, told) in enumerate(zip(asked, answers, strict=False), start=1):
        turn = expected.get(number)
        if turn is not None:
            found.append(AnsweredTurn(number, question, turn, told, tuple(before)))
        before.append(question)
        before += [turn.reference] if turn is not None and turn.reference else ()
    return found


def told_answers(response: Response) -> list[ToldAnswer]:
    """Return the answer of each turn, in order; a turn that failed has none."""
    turns: Any = response.metadata.get(TURNS)
    if isinstance(turns, list):
        return [
            ToldAnswer(
                str(turn.get("answer") or ""),
                tuple(turn.get("contexts") or ()),
                turn.get("retrieved_nothing") is True,
            )
            for turn in turns
            if isinstance(turn, Mapping)
        ]
    if response.failure is not None:
        return []
    return [ToldAnswer(response.text or "", response.contexts, response.retrieved_nothing)]


def no_answer_in_turn(response: Response) -> str | None:
    """Return the turn in which a conversation failed and the error; ``None`` if none."""
    if response.failure is None:
        return None
    return f"no answer in turn {len(told_answers(response)) + 1}: {response.failure.kind}"


def _is_expected(turn: Turn) -> bool:
    return turn.role == "assistant" and bool(
        turn.expectation or turn.checks or (turn.reference or "").strip()
    )


# What comes with answers in a shape that cannot be read: counted in the metadata of each response.

UnreadPart = Literal["contexts", "citations"]

TEXT_FIELDS = ("text", "content", "page_content", "snippet", "chunk", "passage", "body", "excerpt")
"""Fields in which the text of a context is looked for, if the context is an object."""

EXPECTED: Mapping[UnreadPart, str] = {
    "contexts": f"texts, or objects with {', '.join(TEXT_FIELDS[:-1])} or {TEXT_FIELDS[-1]}",
    "citations": "context numbers, objects with file, start and end, or texts such as [a.md:3:5-9]",
}
"""The shapes that are read."""


class Unread(msgspec.Struct, frozen=True):
    """The number of contexts or citations that could not be read, and of their samples."""

    part: UnreadPart
    count: int
    samples: int

    def to_dict(self) -> dict[str, Any]:
        """Return the shape in which results files store it."""
        return {"count": self.count, "samples": self.samples, "expected": EXPECTED[self.part]}


class UnreadTotals:
    """Adds up what could not be read, response by response."""

    def __init__(self) -> None:
        self._counts: dict[UnreadPart, int] = dict.fromkeys(EXPECTED, 0)
        self._samples: dict[UnreadPart, int] = dict.fromkeys(EXPECTED, 0)

    def add(self, response: Response) -> None:
        for part in EXPECTED:
            count = response.metadata.get(unread_field(part))
            if type(count) is int and count > 0:  # a plug-in's metadata may be anything
                self._counts[part] += count
                self._samples[part] += 1

    def totals(self) -> tuple[Unread, ...]:
        """Return what there was of it."""
        return tuple(Unread(part, n, self._samples[part]) for part, n in self._counts.items() if n)


def unread_field(part: UnreadPart) -> str:
    """Return the name under which metadata, and results, have the count."""
    return f"unread_{part}"


NOT_REACHED = frozenset({"connection-failed", "connect-timeout"})
"""The kinds of failure of a target that could not be reached at all."""

TURNED_AWAY = frozenset(f"http-{status}" for status in (401, 403, 404, 405, 407, 429, 502, 503, 504))
"""The kinds of failure that say something about the target or the caller, not about the sample."""


def may_be_mended(failure_kind: str) -> bool:
    """Return True if a failure is not the sample's fault, so that a resume retries it."""
    return failure_kind in TURNED_AWAY or failure_kind in NOT_REACHED
