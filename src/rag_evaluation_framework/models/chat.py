"""Messages in, completion out; noticing that an endpoint is gone."""

from __future__ import annotations

import json
import threading
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.errors import ModelError, ModelOutageError
from rag_evaluation_framework.records.samples import Usage

# What a language model is to this package: messages in, a completion out.
#
# Judges and generators ask through :class:`ChatModel`. A model may be asked by many threads at once.

HOW_TO_JUDGE = "use --judge-model MODEL, and --judge-url URL for your own endpoint"

Schema: TypeAlias = Mapping[str, Any]
"""The JSON Schema that a reply follows."""

SCHEMA_REQUEST = """\
Reply with one JSON value and nothing else. It follows this JSON Schema:
{schema}"""


class Message(msgspec.Struct, frozen=True):
    """One message of a conversation with a model.

    ``remembered_as`` takes the place of the content where replies are remembered: the same text without what
    is random in it, such as delimiters.
    """

    role: Literal["system", "user", "assistant"]
    content: str
    remembered_as: str | None = None

    def followed_by(self, text: str) -> Message:
        """Return the message with a paragraph added."""
        remembered = None if self.remembered_as is None else f"{self.remembered_as}\n\n{text}"
        return replace(self, content=f"{self.content}\n\n{text}", remembered_as=remembered)


class Completion(msgspec.Struct, frozen=True, kw_only=True):
    """The text of a model, its cost as far as known, and whether it is from the cache."""

    text: str
    usage: Usage | None = None
    finish_reason: str | None = None
    is_cached: bool = False


@runtime_checkable
class ChatModel(Protocol):
    """Completes a conversation, or raises :class:`ModelError`."""

    name: str
    """Name in results and caches, such as ``gpt-4o-mini``."""

    @abstractmethod
    def chat(self, messages: Sequence[Message], *, schema: Schema | None = None, draw: int = 0) -> Completion:
        """Complete the conversation.

        ``schema`` is the JSON Schema that the reply should follow, for endpoints that can be bound to one.
        ``draw`` numbers independent answers to the same messages: each is remembered separately.
        """


def endpoint_of(model: ChatModel) -> dict[str, Any]:
    """Return what is known of where and how a model is asked, by name: at least which ``model`` it is.

    It is the model's own ``endpoint`` if it has one; else its ``cache_key`` distinguishes it.
    """
    endpoint = getattr(model, "endpoint", None)
    if isinstance(endpoint, Mapping):
        return dict(endpoint)
    key = getattr(model, "cache_key", None)
    return {"model": model.name} | ({"key": str(key)} if key and key != model.name else {})


def endpoints_in_words(endpoints: Sequence[Any]) -> str:
    """Name endpoints as :func:`endpoint_of` returns them, each with its settings."""
    return ", ".join(map(_endpoint_in_words, endpoints))


def _endpoint_in_words(endpoint: Any) -> str:
    """Return ``m at http://localhost/v1/chat/completions (temperature 0, seed 7)``."""
    if not isinstance(endpoint, Mapping):
        return str(endpoint)
    where = f" at {endpoint['url']}" if "url" in endpoint else ""
    settings = [f"{name} {value}" for name, value in endpoint.items() if name not in ("model", "url")]
    return f"{endpoint.get('model')}{where}" + (f" ({', '.join(settings)})" if settings else "")


def with_schema(messages: Sequence[Message], schema: Schema) -> list[Message]:
    """Return the messages with the schema at their end, for a model that cannot be bound to it."""
    request = SCHEMA_REQUEST.format(schema=json.dumps(schema, ensure_ascii=False))
    return with_paragraph(messages, request)


def with_paragraph(messages: Sequence[Message], text: str) -> list[Message]:
    """Return the messages with another paragraph in the last one.

    It is not a message of its own, since many models accept only users and assistants in turn.
    """
    if not messages or messages[-1].role == "assistant":
        return [*messages, Message("user", text)]
    return [*messages[:-1], messages[-1].followed_by(text)]


# Notices that a model's endpoint is gone, so that a run stops instead of failing question by question.
#
# - An endpoint that has never answered and cannot be reached, or turns the caller away (401, 403, 404, 405,
#   407), has a wrong address or a wrong key: the first question that ends so is enough.
# - One that fails ten questions in a row, whatever the reason, is down.

IN_A_ROW = 10

_TURNED_AWAY = frozenset({"connection-failed", "http-401", "http-403", "http-404", "http-405", "http-407"})
# What is wrong with one question says nothing of the others.
_OF_ONE_QUESTION = frozenset({"http-400", "http-413", "http-414", "http-422"})


class EndpointWatch:
    """Listens to how the questions to one endpoint end; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answered = False
        self._failed = 0

    def answered(self) -> None:
        """Take note of a reply."""
        with self._lock:
            self._answered, self._failed = True, 0

    def failed(self, error: ModelError) -> ModelError:
        """Take note of a question that failed for good; return the error to raise: an outage if it is one."""
        if error.kind in _OF_ONE_QUESTION:
            return error
        with self._lock:
            self._failed += 1
            is_down = self._failed >= IN_A_ROW or (not self._answered and error.kind in _TURNED_AWAY)
        return ModelOutageError(error.kind, error.message) if is_down else error


FAILURES_OF_THE_ANSWER: ContextVar[dict[tuple[int, bytes], Exception] | None] = ContextVar(
    "failures", default=None
)
"""Failures during the scoring of one answer, by judge and question."""


@contextmanager
def scoring_one_answer() -> Iterator[None]:
    """Within it, what failed once has failed for all who ask: the metrics of an answer share their verdicts.

    An endpoint may answer a moment later, and then one metric would have a score and another none.
    """
    token = FAILURES_OF_THE_ANSWER.set({})
    try:
        yield
    finally:
        FAILURES_OF_THE_ANSWER.reset(token)
