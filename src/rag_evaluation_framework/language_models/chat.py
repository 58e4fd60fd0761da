"""What a language model is to this package: messages in, a completion out.

Judges and generators ask through :class:`ChatModel`. A model may be asked by many threads at once.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, runtime_checkable

from rag_evaluation_framework.records.responses import Usage

SCHEMA_REQUEST = """\
Reply with one JSON value and nothing else. It follows this JSON Schema:
{schema}"""


@dataclass(frozen=True, slots=True)
class Message:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What a model wrote, what it cost as far as that is known, and whether it was remembered."""

    text: str
    usage: Usage | None = None
    finish_reason: str | None = None
    is_cached: bool = False


@runtime_checkable
class ChatModel(Protocol):
    """Completes a conversation, or raises :class:`ModelError`."""

    name: str
    """What results and caches call it, such as ``gpt-4o-mini``."""

    @abstractmethod
    def chat(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, draw: int = 0
    ) -> Completion:
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


def with_schema(messages: Sequence[Message], schema: Mapping[str, Any]) -> list[Message]:
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
