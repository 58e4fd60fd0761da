"""The content of a span, in conventions of OpenInference, OpenTelemetry for generative AI, and older ones.

Which step it is, what was asked and answered, what a retriever found, what a tool was called with, tokens and
the conversation. A convention that is met in two ways is read in both; what is written in none of them is
not guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import msgspec

from rag_evaluation_framework.datasets.field_names import (
    Message,
    content_text,
    decoded,
    last_text,
    messages_in,
    read_item,
    role_of,
    table,
)
from rag_evaluation_framework.datasets.otlp import Span
from rag_evaluation_framework.errors import InputError
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.strict_json import finite_number
from rag_evaluation_framework.records.steps import StepKind

_KINDS: Mapping[str, StepKind] = {
    **dict.fromkeys(("llm", "chat", "completion", "text_completion", "generate_content"), "model"),
    **dict.fromkeys(("embedding", "embeddings"), "embedding"),
    **dict.fromkeys(("retriever", "retrieval"), "retrieval"),
    **dict.fromkeys(("reranker", "rerank"), "rerank"),
    **dict.fromkeys(("tool", "execute_tool"), "tool"),
}
_KIND_NAMES = ("openinference.span.kind", "gen_ai.operation.name", "traceloop.span.kind", "llm.request.type")
_TELLING = ("openinference.", "gen_ai.", "llm.", "traceloop.", "input.value", "output.value", "retrieval.")
_CONVERSATIONS = ("session.id", "gen_ai.conversation.id", "thread.id", "langfuse.session.id")
SAMPLE_ID = "rag_eval.sample_id"
"""The attribute by which a span says which sample of a dataset it answers."""

_INPUT_TOKENS = ("llm.token_count.prompt", "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens")
_OUTPUT_TOKENS = (
    *("llm.token_count.completion", "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
)
_NAMES: Mapping[StepKind | None, tuple[str, ...]] = {
    "tool": ("tool.name", "gen_ai.tool.name", "traceloop.entity.name"),
    "model": ("llm.model_name", "gen_ai.response.model", "gen_ai.request.model"),
    "embedding": ("embedding.model_name", "gen_ai.response.model", "gen_ai.request.model"),
    "rerank": ("reranker.model_name", "gen_ai.request.model"),
}
_QUERIES = ("reranker.query", "gen_ai.retrieval.query.text", "retrieval.query", "db.query.text")
_ARGUMENTS = (
    *("gen_ai.tool.call.arguments", "tool_arguments", "tool_call.function.arguments", "tool.parameters"),
    *("input.value", "traceloop.entity.input"),
)
_RESULTS = ("gen_ai.tool.call.result", "tool_response", "output.value", "traceloop.entity.output")
_INPUTS = ("input.value", "traceloop.entity.input")
_OUTPUTS = ("output.value", "final_result", "traceloop.entity.output")
_WRAPPERS = ("inputs", "outputs", "kwargs", "data", "generations", "choices")
_DOCUMENT = re.compile(r"(\d{1,6})\.document\.(\w+)")
_MESSAGE = re.compile(
    r"(\d{1,6})\.(?:message\.)?(role|content|contents\.\d+\.message_content\.text|tool_calls)(?:\.|$)"
)
_OLD_EVENT = re.compile(r"gen_ai\.(?:(user|system|assistant|tool)\.message|choice)")
_DEEPEST = 8


class Retrieved(NamedTuple):
    """A document that a span returned."""

    text: str | None
    names: tuple[str, ...]
    score: float | None
    start: int | None
    """Position of its text in the document of its first name."""


class Content(msgspec.Struct):
    """The content of a span; ``None`` for each value that it does not have."""

    kind: StepKind | None = None
    is_telling: bool = False
    """True if it was recorded by one of the conventions at all."""
    name: str = ""
    question: str | None = None
    answer: str | None = None
    query: str | None = None
    documents: list[Retrieved] | None = None
    arguments: Any = None
    result: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    conversation: str | None = None
    sample_id: str | None = None
    size: int = 0
    """About how many characters it holds."""


def content_of(span: Span) -> Content:
    """Return what a span says."""
    said = span.attributes
    kind = _kind_of(said)
    is_telling = kind is not None or any(name.startswith(_TELLING) for name in said)
    found = Content(kind=kind, is_telling=is_telling)
    if not found.is_telling:
        return found
    found.name = _first_text(said, _NAMES.get(kind, ())) or span.name
    found.conversation = _first_text(said, _CONVERSATIONS)
    found.sample_id = _first_text(said, (SAMPLE_ID,))
    if kind in ("retrieval", "rerank"):
        prefix = "retrieval.documents." if kind == "retrieval" else "reranker.output_documents."
        found.query = _first_text(said, _QUERIES) or _question(said)
        found.documents = _documents(said, prefix)
    elif kind == "tool":
        found.arguments = _decoded(_first(said, _ARGUMENTS))
        found.result = _plain(_first(said, _RESULTS))
    elif kind != "embedding":
        found.question, found.answer = _exchange(span, kind)
    if kind in ("model", "embedding"):
        found.input_tokens = _count(_first(said, _INPUT_TOKENS))
        found.output_tokens = _count(_first(said, _OUTPUT_TOKENS))
        cost = finite_number(said.get("llm.cost.total"))
        found.cost_usd = cost if cost is not None and cost >= 0 else None
    found.size = _size(found)
    return found


def _size(content: Content) -> int:
    texts = (content.question, content.answer, content.query, content.result)
    documents = sum(len(each.text or "") + 100 for each in content.documents or ())
    return 400 + sum(len(text) for text in texts if text) + documents + len(str(content.arguments or ""))


def _kind_of(said: Mapping[str, Any]) -> StepKind | None:
    for name in _KIND_NAMES:
        value = said.get(name)
        if isinstance(value, str):
            return _KINDS.get(value.lower())
    return "tool" if "gen_ai.tool.name" in said else None


def _first(said: Mapping[str, Any], names: Iterable[str]) -> Any:
    return next((said[name] for name in names if said.get(name) not in (None, "")), None)


def _first_text(said: Mapping[str, Any], names: Iterable[str]) -> str | None:
    return next((value for name in names if isinstance(value := said.get(name), str) and value), None)


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 1 << 53 else None


def _decoded(value: Any) -> Any:
    """Return the value of a text that is JSON; anything else as it is."""
    if not isinstance(value, str) or value[:1] not in ("{", "[", '"'):
        return value
    try:
        return strict_json.decode(value)
    except InputError:
        return value


def _plain(value: Any) -> str | None:
    """Return what a tool gave back as a text."""
    if value is None or isinstance(value, str):
        return value
    return strict_json.encode_unchecked(value).decode()


# What a retriever or a reranker returned.


def _documents(said: Mapping[str, Any], prefix: str) -> list[Retrieved] | None:
    """Return the documents in order; ``None`` if the span does not record them."""
    records: dict[int, dict[str, Any]] = {}
    for name, value in said.items():
        if name.startswith(prefix) and (match := _DOCUMENT.match(name, len(prefix))):
            records.setdefault(int(match[1]), {})[match[2]] = value
    listed = None
    if not records or any("id" not in record for record in records.values()):
        listed = _listed_documents(said)
    if not records:
        return None if listed is None else [_retrieved(each) for each in listed]
    found = [records[number] for number in sorted(records)]
    if listed is not None and len(listed) == len(found):  # LangChain's ids stand only there
        found = [{**other, **record} for other, record in zip(listed, found, strict=True)]
    return [_retrieved(each) for each in found]


def _listed_documents(said: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the documents of an output that is a list of them."""
    value = _decoded(_first(said, ("gen_ai.retrieval.documents", "output.value", "traceloop.entity.output")))
    for name in ("documents", "outputs", "docs", "nodes", "results"):
        if isinstance(value, dict) and isinstance(value.get(name), list | dict):
            value = value[name]
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        return None
    return value


def _retrieved(record: Mapping[str, Any]) -> Retrieved:
    read, metadata = read_item(record), decoded(record.get("metadata"))
    names = dict.fromkeys(filter(None, (read.source, read.names.get("id"))))
    start = metadata.get("start_index") if isinstance(metadata, dict) else None
    is_placed = type(start) is int and start >= 0 and read.text
    return Retrieved(read.text, tuple(names), read.score, start if is_placed else None)


# What was asked and answered.


def _exchange(span: Span, kind: StepKind | None) -> tuple[str | None, str | None]:
    """Return what a span was asked and what it answered: a model by its messages, others by their values."""
    said = span.attributes
    asked, answered = _messages(span, "input"), _messages(span, "output")
    last_asked = last_text(asked, "user")
    last_answered = last_text(answered, "assistant") or (answered[-1].text if answered else None)
    if kind == "model":
        return last_asked or _question(said), last_answered or _answer(said)
    return _question(said) or last_asked, _answer(said) or last_answered


def _question(said: Mapping[str, Any]) -> str | None:
    return _worded(_decoded(_first(said, _INPUTS)), _names("question"), "user")


def _answer(said: Mapping[str, Any]) -> str | None:
    return _worded(_decoded(_first(said, _OUTPUTS)), _names("answer"), "assistant")


def _worded(value: Any, names: tuple[str, ...], role: str, depth: int = 0) -> str | None:
    """Return the words in a value: under one of the names, of the last message of a role, or all there is."""
    if isinstance(value, str):
        return value if value.strip() else None
    if depth > _DEEPEST:
        return None
    if isinstance(value, list):
        if messages := list(messages_in(value)):
            return last_text(messages, role)
        are_parts = not any(isinstance(part, dict) and "type" not in part for part in value)
        if are_parts and (text := content_text(value)) is not None:
            return text
        return _worded(value[0], names, role, depth + 1) if len(value) == 1 else None
    if not isinstance(value, dict):
        return None
    for name in names:
        if name in value and (found := _worded(value[name], names, role, depth + 1)):
            return found
    (only,) = value.values() if len(value) == 1 else (None,)
    return _worded(only, names, role, depth + 1) if isinstance(only, str | dict) else None


@cache
def _names(part: str) -> tuple[str, ...]:
    """Return the names under which a span's value has what was asked or answered."""
    return (*table().ranks[part], "text", "content", "message", "messages", *_WRAPPERS)


def _messages(span: Span, side: str) -> list[Message]:
    """Return the messages that a span was given (``input``) or gave (``output``)."""
    said = span.attributes
    written = _decoded(said.get(f"gen_ai.{side}.messages"))
    if written is None and side == "input":
        written = _decoded(said.get("pydantic_ai.all_messages"))
    if isinstance(written, list):
        return list(messages_in(written))
    prefixes = (f"llm.{side}_messages.", "gen_ai.prompt." if side == "input" else "gen_ai.completion.")
    numbered: dict[int, dict[str, str]] = {}
    for name, value in said.items():
        prefix = next((each for each in prefixes if name.startswith(each)), None)
        if prefix and isinstance(value, str) and (match := _MESSAGE.match(name, len(prefix))):
            key = "role" if match[2] == "role" else "content"
            held = numbered.setdefault(int(match[1]), {})
            if match[2] != "tool_calls":
                held[key] = held.get(key, "") + value
    if numbered:
        usual = "user" if side == "input" else "assistant"
        return [
            Message(role_of(numbered[n].get("role", usual)), numbered[n].get("content", ""))
            for n in sorted(numbered)
        ]
    return list(_event_messages(span, side))


def _event_messages(span: Span, side: str) -> Iterator[Message]:
    """Yield messages that are written as events, as they were before 2025."""
    for name, said in span.events:
        if name == "gen_ai.client.inference.operation.details":
            written = _decoded(said.get(f"gen_ai.{side}.messages"))
            yield from messages_in(written if isinstance(written, list) else [])
        elif name in ("gen_ai.content.prompt", "gen_ai.content.completion"):
            is_input = name.endswith("prompt")
            if is_input == (side == "input"):
                written = _decoded(said.get("gen_ai.prompt" if is_input else "gen_ai.completion"))
                role = "user" if is_input else "assistant"
                names = _names("question" if is_input else "answer")
                if text := _worded(written, names, role):
                    yield Message(role, text)
        elif (match := _OLD_EVENT.fullmatch(name)) and (match[1] is None) == (side == "output"):
            body = _decoded(said.get("message")) if match[1] is None else said
            content = body.get("parts", body.get("content")) if isinstance(body, dict) else body
            yield Message(match[1] or "assistant", content_text(content) or "")
