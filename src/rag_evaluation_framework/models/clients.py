"""Chat models out of what people have; the chat-completions protocol."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.errors import ModelError, UsageError, described, in_full, shown
from rag_evaluation_framework.extensions import LanguageModel
from rag_evaluation_framework.models.chat import ChatModel, Completion, Message, Schema, with_schema
from rag_evaluation_framework.models.spending import Prices
from rag_evaluation_framework.records.samples import Usage

# OpenAI's chat completions as its compatible servers take and give them: request bodies, and their replies.
#
# Endpoints differ in what they accept. What one refuses (status 400 or 422) is left out or sent in
# another way, a :data:`Concession`: a schema that is not enforced, or is in the prompt instead of
# ``response_format``; the limit under its newer name; no temperature; no seed. The sender remembers the
# concessions that worked.

REFUSED_STATUSES = frozenset({400, 422})

Concession = Literal[
    "loose-schema", "json-object", "plain-text", "default-temperature", "no-seed", "max-completion-tokens"
]
NO_CONCESSIONS: frozenset[Concession] = frozenset()

DRAW_TEMPERATURE = 0.7
"""The temperature at which further answers are drawn, since at 0 they would all repeat the first. It is
that of Wang et al., "Self-consistency improves chain of thought reasoning in language models", ICLR 2023."""

_ABOUT_FORMAT = ("response_format", "response format", "json_schema", "json_object", "structured output")


class ChatSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The settings that all requests to one model share.

    The first draw is asked for at ``temperature``; if that is 0, all others at ``draw_temperature``, which is
    a setting so that completions are remembered separately by it.
    """

    model: str
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    draw_temperature: float = DRAW_TEMPERATURE

    def __post_init__(self) -> None:
        # What an endpoint refuses is left out, so a mistake must be found before.
        if not isinstance(self.model, str) or not self.model.strip():
            raise UsageError(f"model: expected a name, got {shown(self.model)}")
        if self.temperature is not None and not (_is_number(self.temperature) and 0 <= self.temperature <= 2):
            raise UsageError(f"temperature: expected a number from 0 to 2, got {shown(self.temperature)}")
        if self.max_tokens is not None and not _count(self.max_tokens):
            raise UsageError(f"max_tokens: expected at least 1, got {shown(self.max_tokens)}")
        if self.seed is not None and _count(self.seed) is None:
            raise UsageError(f"seed: expected a whole number, got {shown(self.seed)}")

    def to_dict(self) -> dict[str, Any]:
        """Return the settings by name, without those left at their defaults."""
        return dict(msgspec.to_builtins(self))

    def body(
        self,
        messages: Sequence[Message],
        *,
        schema: Schema | None = None,
        draw: int = 0,
        conceded: frozenset[Concession] = NO_CONCESSIONS,
    ) -> dict[str, Any]:
        """Return the JSON of a request. Each draw has a seed of its own, where there is one."""
        body: dict[str, Any] = {"model": self.model}
        if schema is not None and conceded & {"json-object", "plain-text"}:
            messages = with_schema(messages, schema)
        body["messages"] = [{"role": message.role, "content": message.content} for message in messages]
        if schema is not None and "plain-text" not in conceded:
            body["response_format"] = _format(schema, conceded)
        if self.temperature is not None and "default-temperature" not in conceded:
            is_same_again = draw > 0 and self.temperature == 0
            body["temperature"] = self.draw_temperature if is_same_again else self.temperature
        if self.max_tokens is not None:
            renamed = "max-completion-tokens" in conceded
            body["max_completion_tokens" if renamed else "max_tokens"] = self.max_tokens
        if self.seed is not None and "no-seed" not in conceded:
            body["seed"] = self.seed + draw
        return body


def concession(body: Mapping[str, Any], complaint: str) -> Concession | None:
    """Return what to concede to an endpoint that refused this body with these words, if anything."""
    complaint = complaint.lower()
    if "response_format" in body and any(words in complaint for words in _ABOUT_FORMAT):
        return _other_format(body["response_format"], complaint)
    if "temperature" in body and "temperature" in complaint:
        return "default-temperature"
    if "max_tokens" in body and "max_completion_tokens" in complaint:
        return "max-completion-tokens"
    if "seed" in body and "seed" in complaint:
        return "no-seed"
    return None


def usage_of(reply: Any, prices: Prices | None = None) -> Usage | None:
    """Read the usage that a reply reports; ``None`` if it reports none."""
    told = reply.get("usage") if isinstance(reply, dict) else None
    if not isinstance(told, dict):
        return None
    usage = Usage(
        input_tokens=_count(told.get("prompt_tokens")), output_tokens=_count(told.get("completion_tokens"))
    )
    if prices is not None:
        return replace(usage, cost_usd=prices.cost(usage))
    cost: Any = told.get("cost")
    return replace(usage, cost_usd=cost) if _is_number(cost) and 0 <= cost < float("inf") else usage


def completion_of(reply: Any, prices: Prices | None = None) -> Completion:
    """Read a completion; anything else is a :class:`ModelError`.

    ``truncated`` where the limit of tokens ended it, ``refused`` where the model or a filter did,
    ``no-completion`` where there is none.
    """
    choices = reply.get("choices") if isinstance(reply, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise ModelError("no-completion", f"expected choices with a message, got {shown(reply)}")
    reason = choice.get("finish_reason")
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal.strip():
        raise ModelError("refused", f"the model refused: {shown(refusal)}")
    if reason == "content_filter":
        raise ModelError("refused", "a content filter stopped the reply")
    if reason == "length":
        raise ModelError("truncated", "the reply reached the token limit")
    return Completion(
        text=_text(message.get("content")),
        usage=usage_of(reply, prices),
        finish_reason=reason if isinstance(reason, str) else None,
    )


def _format(schema: Mapping[str, Any], conceded: frozenset[Concession]) -> dict[str, Any]:
    if "json-object" in conceded:
        return {"type": "json_object"}
    strict = "loose-schema" not in conceded and _is_strict(schema)
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": dict(schema), "strict": strict}}


def _other_format(refused: Mapping[str, Any], complaint: str) -> Concession:
    if refused["type"] != "json_schema":
        return "plain-text"
    # OpenAI holds a model to some keywords of JSON Schema only.
    is_strict = refused["json_schema"]["strict"]
    return "loose-schema" if is_strict and "invalid schema" in complaint else "json-object"


def _is_strict(schema: Any) -> bool:
    """Return True if OpenAI can enforce a schema: each object has exactly all its fields."""
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    fields = schema.get("properties")
    if schema.get("type") == "object" and not isinstance(fields, Mapping):
        return False
    if isinstance(fields, Mapping):
        is_closed = schema.get("additionalProperties") is False
        if not is_closed or set(schema.get("required", ())) != set(fields):
            return False
        return all(map(_is_strict, fields.values()))
    return all(map(_is_strict, schema.values()))


def _text(content: Any) -> str:
    """Return a message's text, which some servers send in parts."""
    if content is None or isinstance(content, str):
        return content or ""
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else None for part in parts]
    if not all(isinstance(text, str) for text in texts):
        raise ModelError("no-completion", f"expected text, got {shown(content)}")
    return "".join(map(str, texts))


def _count(number: Any) -> int | None:
    return number if isinstance(number, int) and not isinstance(number, bool) and number >= 0 else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# Makes a chat model out of what people have: an OpenAI client, something that completes prompts, a function.
#
# A client retries by its own rules and keeps its own key; whatever it raises is a :class:`ModelError`.

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
        raise UsageError(f"model: expected a client, got the class {client.__name__}; pass an instance")
    create = getattr(getattr(getattr(client, "chat", None), "completions", None), "create", None)
    if callable(create):
        return OpenAIClientModel(client, create, model=name or MODEL)
    if isinstance(client, ChatModel):
        if name is not None and name != client.name:
            raise UsageError(f"name: the chat model already has the name {client.name}, got {name!r}")
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
        self._settings = ChatSettings(model=model, temperature=0)
        self._conceded = NO_CONCESSIONS
        address = str(getattr(client, "base_url", ""))
        self.cache_key = f"{address} {self._settings}"
        """Key that identifies this endpoint and its settings."""
        self.endpoint = {"url": address, **self._settings.to_dict()}
        """Address and settings of the model."""

    def chat(self, messages: Sequence[Message], *, schema: Schema | None = None, draw: int = 0) -> Completion:
        """Ask once, and again without what the endpoint refuses in the request."""
        conceded = self._conceded
        while True:
            body = self._settings.body(messages, schema=schema, draw=draw, conceded=conceded)
            try:
                reply = self._create(**body)
            except Exception as error:  # noqa: BLE001 - anyone's client may raise anything
                status = getattr(error, "status_code", None)
                granted = concession(body, in_full(error)) if status in REFUSED_STATUSES else None
                if granted is None or granted in conceded:
                    kind = f"http-{status}" if isinstance(status, int) else "client-error"
                    raise ModelError(kind, f"{self.name}: {described(error, mask=self._mask)}") from None
                conceded |= {granted}
                continue
            self._conceded |= conceded
            dump = getattr(reply, "model_dump", None)  # a reply of the package openai
            return completion_of(dump() if callable(dump) else reply)

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

    def chat(self, messages: Sequence[Message], *, schema: Schema | None = None, draw: int = 0) -> Completion:
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


def _is_asynchronous(function: Callable[..., Any]) -> bool:
    # The package openai wraps its coroutines in plain functions.
    called = (inspect.unwrap(function), type(function).__call__)
    return any(map(inspect.iscoroutinefunction, called))
