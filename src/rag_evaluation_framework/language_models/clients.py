"""Makes a chat model out of what people have: an OpenAI client, something that completes prompts, a function.

A client retries by its own rules and keeps its own key; whatever it raises is a :class:`ModelError`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rag_evaluation_framework.errors import ModelError, UsageError, described, in_full, shown
from rag_evaluation_framework.extensions import LanguageModel
from rag_evaluation_framework.language_models.chat import ChatModel, Completion, Message, with_schema
from rag_evaluation_framework.language_models.openai_protocol import (
    NO_CONCESSIONS,
    REFUSED_STATUSES,
    ChatSettings,
    Concession,
    completion_of,
    concession,
)

MODEL = "gpt-4o-mini"
"""The model that an OpenAI client is asked for if none is named."""

_HIDDEN = "***"


def as_chat_model(client: object, *, name: str | None = None) -> ChatModel:
    """Return a chat model that asks ``client``.

    A client is a chat model, an OpenAI client, an object with ``complete(prompt)``, or a function from a
    prompt to a text. For an OpenAI client ``name`` is the model to ask for, :data:`MODEL` without it; for
    the others it is what results and caches call the model.
    """
    if isinstance(client, type):
        raise UsageError(f"model: expected a client, got the class {client.__name__}; give an instance of it")
    create = _create_of(client)
    if create is not None:
        return OpenAIClientModel(client, create, model=name or MODEL)
    if isinstance(client, ChatModel):
        if name is not None and name != client.name:
            raise UsageError(f"model: expected no other name for the chat model {client.name}, got {name!r}")
        return client
    if isinstance(client, LanguageModel):
        own_name = getattr(client, "name", None)
        return PromptModel(client.complete, name=name or own_name, kind=type(client).__name__)
    if callable(client):
        return PromptModel(client, name=name or getattr(client, "__qualname__", None))
    expected = "a chat model, an OpenAI client, an object with complete(prompt), or a function"
    raise UsageError(f"model: expected {expected}, got {shown(client)}")


class OpenAIClientModel:
    """Fulfils ``ChatModel`` through the synchronous client of the package ``openai``, or one like it."""

    def __init__(self, client: object, create: Callable[..., Any], *, model: str) -> None:
        if _is_asynchronous(create):
            raise UsageError("model: expected a synchronous client such as OpenAI(), got an asynchronous one")
        self.name = model
        self._create = create
        self._key = getattr(client, "api_key", None)
        self._address = str(getattr(client, "base_url", ""))
        self._settings = ChatSettings(model=model, temperature=0)
        self._conceded = NO_CONCESSIONS

    @property
    def cache_key(self) -> str:
        """What distinguishes this endpoint and its settings from others."""
        return f"{self._address} {self._settings}"

    @property
    def endpoint(self) -> dict[str, Any]:
        """Where the model is asked, and with which settings."""
        return {"url": self._address, **self._settings.to_dict()}

    def chat(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, draw: int = 0
    ) -> Completion:
        """Ask once, and again without what the endpoint refuses in the request."""
        conceded = self._conceded
        while True:
            body = self._settings.body(messages, schema=schema, draw=draw, conceded=conceded)
            try:
                reply = self._create(**body)
            except Exception as error:  # noqa: BLE001 - anyone's client may raise anything
                granted = _granted(body, error)
                if granted is None or granted in conceded:
                    raise self._failure(error) from None
                conceded |= {granted}
                continue
            self._conceded |= conceded
            return completion_of(_plain(reply))

    def _failure(self, error: Exception) -> ModelError:
        status = getattr(error, "status_code", None)
        kind = f"http-{status}" if isinstance(status, int) else "client-error"
        return ModelError(kind, f"{self.name}: {described(error, mask=self._mask)}")

    def _mask(self, text: str) -> str:
        return text.replace(self._key, _HIDDEN) if isinstance(self._key, str) and self._key else text


class PromptModel:
    """Fulfils ``ChatModel`` through a function from a prompt to a text.

    One that has only the name of its ``kind`` is not remembered: its replies could be mistaken for another's.
    """

    def __init__(
        self, complete: Callable[[str], str], *, name: str | None = None, kind: str = "function"
    ) -> None:
        has_name = isinstance(name, str) and name != "" and not name.endswith("<lambda>")
        self.name = str(name) if has_name else kind
        self.cache_key = self.name if has_name else None
        self._complete = complete
        if _is_asynchronous(complete):
            raise UsageError(f"model: expected a synchronous function, got the asynchronous {self.name}")

    def chat(
        self, messages: Sequence[Message], *, schema: Mapping[str, Any] | None = None, draw: int = 0
    ) -> Completion:
        """Ask the conversation as one prompt, with the schema at its end."""
        prompt = prompt_of(messages if schema is None else with_schema(messages, schema))
        try:
            text = self._complete(prompt)
        except ModelError:
            raise
        except (Exception, SystemExit) as error:  # anyone's function may raise anything
            raise ModelError("client-error", f"{self.name}: {described(error)}") from error
        if not isinstance(text, str):
            raise ModelError("no-completion", f"{self.name}: expected text, got {shown(text)}")
        return Completion(text=text)


def prompt_of(messages: Sequence[Message]) -> str:
    """Write a conversation as one prompt; roles are named only where an assistant has spoken.

    >>> prompt_of([Message("system", "Be brief."), Message("user", "Why?")])
    'Be brief.\\n\\nWhy?'
    """
    if all(message.role != "assistant" for message in messages):
        return "\n\n".join(message.content for message in messages)
    return "\n\n".join(f"{message.role.capitalize()}: {message.content}" for message in messages)


def _create_of(client: object) -> Callable[..., Any] | None:
    """Return ``client.chat.completions.create``, if there is such a thing."""
    completions = getattr(getattr(client, "chat", None), "completions", None)
    create = getattr(completions, "create", None)
    return create if callable(create) else None


def _is_asynchronous(function: Callable[..., Any]) -> bool:
    # The package openai wraps its coroutines in plain functions.
    called = (inspect.unwrap(function), type(function).__call__)
    return any(map(inspect.iscoroutinefunction, called))


def _granted(body: Mapping[str, Any], error: Exception) -> Concession | None:
    is_refusal = getattr(error, "status_code", None) in REFUSED_STATUSES
    return concession(body, in_full(error)) if is_refusal else None


def _plain(reply: Any) -> Any:
    """Return a client's reply as plain dictionaries."""
    dump = getattr(reply, "model_dump", None)
    return dump() if callable(dump) else reply
