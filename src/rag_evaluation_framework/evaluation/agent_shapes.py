"""What agents are sent, and where the answer and what came with it stand in their replies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any
from urllib.parse import quote

import msgspec

from rag_evaluation_framework.errors import InputError, TargetError, UnknownNameError, counted
from rag_evaluation_framework.files.json_scanner import ValuePath
from rag_evaluation_framework.files.strict_json import JsonPath, finite_number
from rag_evaluation_framework.records.citations import Citation, citations_in, given_field
from rag_evaluation_framework.records.documents import CharacterSpan, DocumentId
from rag_evaluation_framework.records.responses import TEXT_FIELDS, Hit
from rag_evaluation_framework.records.samples import Usage

# What common servers are sent and reply.


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """A protocol by its name: where it listens, what it is sent, and what is unusual about its replies."""

    name: str
    path: str
    body: Mapping[str, Any]
    model: str | None = None
    """What stands for ``{{model}}`` where no model is named."""
    names_model: bool = False
    """Whether the body has a place of its own for the model."""
    reply: Mapping[str, str] = {}
    """Where parts of the reply stand that are not found by their usual names."""
    ticket: str | None = None
    """The field of the reply that says behind which address the answer is to be fetched."""


_USER_TURNS = {"messages": "{{messages}}"}

SHAPES: Mapping[str, Shape] = {
    shape.name: shape
    for shape in (
        Shape(name="simple", path="/v1/chat", body={"message": "{{question}}"}),
        # Chat Completions; without a path it is the one of AgentSpec.
        Shape(name="openai-compatible", path="/v1/chat", body=_USER_TURNS),
        Shape(name="openai-responses", path="/v1/responses", body={"input": "{{messages}}"}),
        # A runnable behind add_routes: /invoke, and /stream with the same body.
        Shape(name="langserve", path="/invoke", body={"input": "{{question}}"}),
        # A run without a thread, which is sent the whole conversation: /runs/wait, /runs/stream.
        Shape(
            name="langgraph",
            path="/runs/wait",
            body={"assistant_id": "{{model}}", "input": _USER_TURNS},
            model="agent",
            names_model=True,
        ),
        # A call is answered with an event's id, and the event with a stream.
        Shape(
            name="gradio",
            path="/gradio_api/call/chat",
            body={"data": ["{{question}}"], "session_hash": "{{thread}}"},
            reply={"answer": "[0]"},
            ticket="event_id",
        ),
        Shape(
            name="dify",
            path="/v1/chat-messages",
            body={
                "query": "{{question}}",
                "inputs": {},
                "response_mode": "blocking",
                "user": "rag-eval",
                "conversation_id": "{{thread}}",
            },
            reply={"thread": "conversation_id"},
        ),
    )
}
DEFAULT_PATH = SHAPES["simple"].path
PROTOCOLS = tuple(SHAPES)
REPLY_PARTS = ("answer", "contexts", "citations", "usage", "thread")
METHODS = ("POST", "GET", "PUT")

# Templates: JSON values whose texts have places such as ``{{question}}``.

PLACEHOLDERS = ("question", "input", "history", "history_parts", "messages", "thread", "model")
"""``input`` is the question; ``history`` is the messages before it, ``messages`` those and the question.

``history_parts`` is the history with each text as a list of one part, as Gradio's chatbot has it."""
_QUESTION = frozenset({"question", "input", "messages"})
PLACE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_LEFT_OUT = object()


def placeholders_in(template: Any) -> frozenset[str]:
    """Return the names of the places that the texts of a template have."""
    return frozenset(name for _, text in texts_in(template) for name in PLACE.findall(text))


def has_question(template: Any) -> bool:
    """Tell whether the question has a place in a template."""
    return bool(placeholders_in(template) & _QUESTION)


def filled(template: Any, values: Mapping[str, Any]) -> Any:
    """Return a template with its places filled.

    A text that is nothing but a place becomes what stands for it, a list if that is one, and the field is
    left out where nothing does. What is filled in is never looked at for places.

    >>> filled({"q": "{{question}}", "top_k": 5, "in": "{{thread}}"}, {"question": "Why?", "thread": None})
    {'q': 'Why?', 'top_k': 5}
    """
    value = _filled(template, values)
    return None if value is _LEFT_OUT else value


def _filled(template: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(template, str):
        whole = PLACE.fullmatch(template.strip())
        if whole is None:
            return filled_text(template, values)
        value = values.get(whole[1])
        return _LEFT_OUT if value is None else value
    if isinstance(template, Mapping):
        fields = ((name, _filled(value, values)) for name, value in template.items())
        return {name: value for name, value in fields if value is not _LEFT_OUT}
    if isinstance(template, list | tuple):
        return [item for each in template if (item := _filled(each, values)) is not _LEFT_OUT]
    return template


def filled_text(template: str, values: Mapping[str, Any], *, in_address: bool = False) -> str:
    """Return a text with its places filled by texts; a conversation is written one message a line."""

    def text_of(match: re.Match[str]) -> str:
        value = values.get(match[1])
        if isinstance(value, list | tuple):
            value = "\n".join(f"{message['role']}: {message['content']}" for message in value)
        text = "" if value is None else str(value)
        return quote(text, safe="") if in_address else text

    return PLACE.sub(text_of, template)


def texts_in(value: Any, place: ValuePath = ()) -> Iterator[tuple[ValuePath, str]]:
    """Yield the texts of a JSON value, each with its place."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from texts_in(inner, (*place, name))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from texts_in(inner, (*place, number))


# Citations as systems return them beside an answer, and the positions that come with contexts.
#
# The forms and names of both are those of :mod:`rag_evaluation_framework.records.citations`. What cannot
# be read is counted, never guessed.


def read_citations(items: Iterable[Any]) -> tuple[tuple[Citation, ...], int]:
    """Return the citations that can be read, in order, and how many cannot."""
    citations: list[Citation] = []
    unread = 0
    for item in items:
        try:
            citations += citations_in(item)
        except InputError:
            unread += 1
    return tuple(citations), unread


def read_position(item: Mapping[str, Any]) -> CharacterSpan | None:
    """Return the characters of a file that a context says it is, if they count from the file's start.

    With a page they may count from the start of that page, so they are not read.
    """
    try:
        file, start, end, page = (given_field(item, field)[1] for field in ("file", "start", "end", "page"))
        return CharacterSpan(DocumentId(file), start, end) if page is None else None
    except InputError:
        return None


# Where an answer and what came with it stand in a system's reply.
#
# A reply is a JSON object, or just a string, which is then the answer. Looked for in this order:
#
# ==========  ============================================================================================
# answer      ``response``, ``message``, ``content``, ``choices[0].message.content``, ``choices[0].text``,
#             ``answer``, ``output``, ``output_text``, ``text``, ``result``, ``replies[0]``,
#             ``messages[-1].content``. Each
#             may be a text, an object with ``content`` or ``text``, or a list of such parts. The first that
#             is not empty counts. Then the same within ``output``, ``data`` and ``result``.
# contexts    ``contexts``, ``context``, ``retrieved_contexts``, ``retrieved_documents``,
#             ``source_documents``, ``source_nodes``, ``documents``, ``docs``, ``chunks``, ``passages``,
#             ``retriever_resources``, ``sources``: texts, or objects
#             with ``text``, ``content``, ``page_content``, ``snippet`` or the like. Plain strings under
#             ``sources`` are names, not contexts. An item without a text is counted; beside others that
#             have one it stays in its place as an empty context, so that ``[2]`` is still the second. A reply
#             with nothing but empty lists there says that nothing was retrieved; one without says nothing.
# hits        the ids (``id``, ``chunk_id``, ``document_id``, ``doc_id``, ``source``), ``score`` and position
#             (``file``, ``start``, ``end``: see above) of those objects or of their ``metadata``, where each
#             that has a text also has an id or a position
# citations   ``citations``, ``references``: see above
# usage       ``usage``, ``token_usage``, ``usage_metadata``: ``prompt_tokens`` or ``input_tokens``,
#             ``completion_tokens`` or ``output_tokens``, ``cost_usd``, ``cost`` or ``total_cost``; or
#             ``messages[*].usage_metadata``, those of all messages added up
# ==========  ============================================================================================
#
# All but the answer are also looked for within ``message``, ``choices[0].message``, ``metadata``,
# ``output``, ``response``, ``data`` and ``result``. Paths given by the user replace the search for what
# they name.
#
# Of a reply in events every part is looked for in each of them. The texts of the answer are joined; of all
# else the last counts.

_ANSWERS = (
    *("response", "message", "content", "choices[0].message.content", "choices[0].message.refusal"),
    *("choices[0].text", "answer", "output", "output_text", "text", "result", "replies[0]"),
    "messages[-1].content",
)
# What streams add to it: the whole at the end, or pieces.
_STREAMED_ANSWERS = (
    *("response.output", "choices[0].delta.content", "delta.content", "delta.text", "delta", "token.text"),
    "token",
)
CONTEXT_NAMES = (
    *("contexts", "context", "retrieved_contexts", "retrieved_documents", "source_documents"),
    *("source_nodes", "documents", "docs", "chunks", "passages", "retriever_resources", "sources"),
)
_CITATIONS = ("citations", "references")
_USAGES = ("usage", "token_usage", "usage_metadata", "messages[*].usage_metadata")
_WITHIN = ("output.", "data.", "result.")
_PLACES = ("", "message.", "choices[0].message.", "metadata.", "response.", *_WITHIN)

_ID_FIELDS = ("id", "chunk_id", "document_id", "doc_id", "source")
_INPUT_TOKENS = ("prompt_tokens", "input_tokens")
_OUTPUT_TOKENS = ("completion_tokens", "output_tokens")
_COSTS = ("cost_usd", "cost", "total_cost")
_NAMED_FIELDS = 8
_TOO_MANY = 1 << 53  # whole numbers that every JSON reader keeps exact


class Events:
    """The values of a reply that came in events, in order."""

    __slots__ = ("_by_field", "_found", "values")

    def __init__(self, values: Iterable[Any]) -> None:
        self.values = tuple(values)
        # A hundred paths are tried on thousands of pieces, most of which have none of their first names.
        self._by_field: dict[str, list[Any]] = {}
        self._found: dict[str, Any] = {}
        for event in self.values:
            for name in event if isinstance(event, dict) else ():
                self._by_field.setdefault(name, []).append(event)

    def find(self, path: JsonPath) -> Any:
        """Return what the last event that has something there has."""
        if path.text not in self._found:
            found = [value for event in self._with(path) if (value := path.find(event)) is not None]
            last = found[-1] if found else None
            self._found[path.text] = next((value for value in reversed(found) if value), last)
        return self._found[path.text]

    def _with(self, path: JsonPath) -> Sequence[Any]:
        first = path.steps[0]
        return self._by_field.get(first, ()) if isinstance(first, str) else self.values

    def text(self, path: JsonPath) -> str | None:
        """Return the texts at a path as one: pieces are joined, of texts as they grow the last counts."""
        texts = [text for event in self._with(path) if (text := _text_of(path.find(event))) is not None]
        said = [text for text in texts if text]
        if not said:
            return "" if texts else None
        # A place counted from the end, or all of a list, is what there is so far.
        if any(step in (-1, ...) for step in path.steps) or str(path).endswith("output"):
            return said[-1]
        is_piece = any(str(step) in ("delta", "token") for step in path.steps)
        return "".join(said) if is_piece else _joined(said)


def _joined(texts: list[str]) -> str:
    *pieces, last = texts
    grows = bool(pieces) and all(
        after != before and after.startswith(before) for before, after in pairwise(texts)
    )
    repeats = len(pieces) > 1 and last == "".join(pieces)
    return last if grows or repeats else "".join(texts)


class _Paths:
    """The paths to a part of a reply, in their order; those within one object are looked up together."""

    def __init__(self, names: Iterable[str], places: Iterable[str] = _PLACES, *, field: str = "") -> None:
        self.all = tuple(JsonPath.parse(place + name, field=field) for place in places for name in names)
        self._within: list[tuple[JsonPath, dict[Any, JsonPath]]] = []
        for path in self.all:
            *above, name = path.steps
            if not self._within or self._within[-1][0].steps != tuple(above):
                self._within.append((JsonPath("", tuple(above)), {}))
            self._within[-1][1][name] = path

    def found_in(self, value: Any) -> Iterator[tuple[str, Any]]:
        """Yield what a reply has at these paths, each with the path."""
        if isinstance(value, Events):
            found = ((path.text, value.find(path)) for path in self.all)
            yield from (each for each in found if each[1] is not None)
            return
        is_object = isinstance(value, dict)
        for place, names in self._within:
            if is_object and place.steps and place.steps[0] not in value:  # as most are not
                continue
            inner = place.find(value)
            if isinstance(inner, dict):
                for name in [name for name in names if name in inner]:
                    if inner[name] is not None:
                        yield names[name].text, inner[name]
            elif isinstance(inner, list):
                for path in names.values():
                    if (item := path.find(value)) is not None:
                        yield path.text, item


class ReadAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What was read from a reply; ``found`` maps each part to the path it was found at."""

    text: str
    contexts: tuple[str, ...] = ()
    unread_contexts: int = 0
    hits: tuple[Hit, ...] = ()
    retrieved_nothing: bool = False
    citations: tuple[Citation, ...] = ()
    unread_citations: int = 0
    usage: Usage | None = None
    thread: str | None = None
    found: Mapping[str, str] = {}


class AnswerReader:
    """Reads replies; ``paths`` says where parts stand, by name: ``{"answer": "result.text"}``."""

    def __init__(self, paths: Mapping[str, str] | None = None) -> None:
        given: dict[str, _Paths] = {}
        for part, text in (paths or {}).items():
            if part not in REPLY_PARTS:
                raise UnknownNameError("part of a reply", part, REPLY_PARTS)
            given[part] = _Paths([text], [""], field=f"responsePaths.{part}")
        self._answers = given.get("answer") or _Paths(_ANSWERS, ("", *_WITHIN))
        self._streamed = given.get("answer", _Paths(_STREAMED_ANSWERS, [""])).all + self._answers.all
        self._thread = given.get("thread", _Paths([]))
        self._contexts = given.get("contexts") or _Paths(CONTEXT_NAMES)
        self._citations = given.get("citations") or _Paths(_CITATIONS)
        self._usages = given.get("usage") or _Paths(_USAGES)
        self._names_are_contexts = "contexts" in given

    def read(self, value: Any) -> ReadAnswer:
        """Read one reply; a reply without an answer raises a :class:`TargetError`."""
        found: dict[str, str] = {}
        text = self._answer(value, found)
        if isinstance(value, str):
            return ReadAnswer(text=text, found=found)
        _, thread = next(self._thread.found_in(value), ("", None))
        told = list(self._contexts.found_in(value))
        contexts, hits, unread_contexts = self._contexts_of(told, found)
        citations, unread_citations = self._citations_of(value, found)
        return ReadAnswer(
            text=text,
            contexts=contexts,
            unread_contexts=unread_contexts,
            hits=hits,
            retrieved_nothing=_retrieved_nothing(told, found),
            citations=citations,
            unread_citations=unread_citations,
            usage=self._usage_of(value, found),
            thread=str(thread) if isinstance(thread, str | int) and str(thread) else None,
            found=found,
        )

    def _answer(self, value: Any, found: dict[str, str]) -> str:
        if isinstance(value, str):
            found["answer"] = "the whole reply"
            return value
        empty: str | None = None
        is_stream = isinstance(value, Events)
        if is_stream:
            texts: Iterator[tuple[str, str | None]] = ((p.text, value.text(p)) for p in self._streamed)
        else:
            texts = ((path, _text_of(told)) for path, told in self._answers.found_in(value))
        for path, text in texts:
            if text or (text is not None and empty is None):
                found["answer"] = path
                if text:
                    return text
                empty = text
        if empty is None and is_stream and any(isinstance(event, str) for event in value.values):
            found["answer"] = "the whole reply"
            return "".join(event for event in value.values if isinstance(event, str))
        if empty is None:
            raise TargetError("no-answer", f"expected {self.expected}, got {shape(value)}")
        return empty

    @property
    def expected(self) -> str:
        """What a reply must have, in words."""
        places = ", ".join(map(str, self._answers.all[:4]))
        return f"an answer at {places}" + (" …" if len(self._answers.all) > 4 else "")

    def _contexts_of(
        self, told: Iterable[tuple[str, Any]], found: dict[str, str]
    ) -> tuple[tuple[str, ...], tuple[Hit, ...], int]:
        """Return the texts, the hits, and how many items have no text, whether others have one or none."""
        unread = 0
        for path, items in told:
            if isinstance(items, str | dict):
                items = [items]
            if not isinstance(items, list) or not items:
                continue
            are_names = path.endswith("sources") and not self._names_are_contexts
            texts = ["" if are_names and isinstance(item, str) else _context_text(item) for item in items]
            if any(texts):
                found["contexts"] = path
                return tuple(texts), _hits(items, texts), texts.count("")
            unread = unread or sum(not isinstance(item, str | None) for item in items)
        return (), (), unread

    def _citations_of(self, value: Any, found: dict[str, str]) -> tuple[tuple[Citation, ...], int]:
        for path, items in self._citations.found_in(value):
            if isinstance(items, list) and items:
                found["citations"] = path
                return read_citations(items)
        return (), 0

    def _usage_of(self, value: Any, found: dict[str, str]) -> Usage | None:
        for path, told in self._usages.found_in(value):
            usage = Usage()
            for record in told if isinstance(told, list) else [told]:
                if isinstance(record, dict):
                    tokens = _count(record, _INPUT_TOKENS), _count(record, _OUTPUT_TOKENS)
                    cost = _amount(record, _COSTS)
                    usage = usage.plus(Usage(input_tokens=tokens[0], output_tokens=tokens[1], cost_usd=cost))
            if usage != Usage():
                found["usage"] = path
                return usage
        return None


def _retrieved_nothing(told: Sequence[tuple[str, Any]], found: dict[str, str]) -> bool:
    """Tell whether a reply has an empty list where contexts would be, and contexts nowhere else."""
    empty = [path for path, items in told if items == []]
    if "contexts" in found or not empty or any(items for _, items in told):
        return False
    found["contexts"] = empty[0]
    return True


def _text_of(value: Any) -> str | None:
    """Return the text of an answer: a string, an object that has one, or parts that each have one."""
    if isinstance(value, dict):
        value = next((value[name] for name in ("content", "text") if name in value), None)
    if isinstance(value, list):
        parts = [part if isinstance(part, str) else _text_of_part(part) for part in value]
        texts = [part for part in parts if isinstance(part, str)]
        return "".join(texts) if texts else None
    return value if isinstance(value, str) else None


def _text_of_part(part: Any) -> str | None:
    """Return the text of one part, or of the parts in it; what a model only thought is none of the answer."""
    if isinstance(part, list):
        return _text_of(part)
    if not isinstance(part, dict) or "reasoning" in str(part.get("type")):
        return None
    text = part.get("text")
    return text if isinstance(text, str) else _text_of(part.get("content")) if "type" in part else None


def _context_text(item: Any) -> str:
    if isinstance(item, dict):
        item = next((item[name] for name in TEXT_FIELDS if isinstance(item.get(name), str)), None)
    return item if isinstance(item, str) and item.strip() else ""


def hits_of(items: Iterable[Mapping[str, Any]]) -> tuple[Hit, ...]:
    """Return what a record says was retrieved, if each item says what it is."""
    hits = [_hit(item) for item in items]
    return () if None in hits else tuple(hit for hit in hits if hit is not None)


def _hits(items: Iterable[Any], texts: Iterable[str]) -> tuple[Hit, ...]:
    """Return what was retrieved, if every context with a text says what it is."""
    hits = []
    for item, text in zip(items, texts, strict=True):
        hit = _hit(item) if isinstance(item, dict) else None
        if hit is not None:
            hits.append(hit)
        elif text:
            return ()
    return tuple(hits)


def _hit(item: Mapping[str, Any]) -> Hit | None:
    span = read_position(item)
    named = _id_of(item) or (span and span.doc_id)
    return Hit(id=named, score=_amount(item, ("score",), negative=True), span=span) if named else None


def _id_of(item: Mapping[str, Any]) -> str | None:
    inner = item.get("metadata")
    places = (item, inner) if isinstance(inner, dict) else (item,)
    values = (place.get(name) for place in places for name in _ID_FIELDS)
    return next((str(value) for value in values if isinstance(value, str | int) and str(value)), None)


def _count(record: Mapping[str, Any], names: Iterable[str]) -> int | None:
    values = (record.get(name) for name in names)
    return next((value for value in values if type(value) is int and 0 <= value < _TOO_MANY), None)


def _amount(record: Mapping[str, Any], names: Iterable[str], *, negative: bool = False) -> float | None:
    for name in names:
        value = finite_number(record.get(name))
        if value is not None and (negative or value >= 0):
            return value
    return None


def shape(value: Any) -> str:
    """Say what a reply holds without quoting it."""
    if isinstance(value, dict):
        names = [str(name)[:40] for name in list(value)[:_NAMED_FIELDS]]
        return f"an object with {', '.join(names)}" if names else "an empty object"
    if isinstance(value, Events):
        last = shape(value.values[-1]) if value.values else "nothing"
        return f"a stream of {counted(len(value.values), 'event')}, the last {last}"
    return (
        "a list" if isinstance(value, list) else "a text" if isinstance(value, str) else type(value).__name__
    )
