"""Shapes of the requests to agents, and the places of the answer and its parts in their replies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.datasets.field_names import (
    Item,
    are_names,
    content_text,
    is_of_names,
    is_of_texts,
    normal,
    read_item,
    table,
    usage_fields,
    usage_of,
)
from rag_evaluation_framework.errors import InputError, TargetError, UnknownNameError, counted
from rag_evaluation_framework.files.json_scanner import ValuePath
from rag_evaluation_framework.files.strict_json import JsonPath, finite_number
from rag_evaluation_framework.records.citations import Citation, citations_in, given_field
from rag_evaluation_framework.records.documents import CharacterSpan, DocumentId
from rag_evaluation_framework.records.responses import Hit
from rag_evaluation_framework.records.samples import Usage

# What common servers are sent and reply.


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """A protocol by its name: where it listens, what it is sent, and what is unusual about its replies."""

    name: str
    path: str
    body: Mapping[str, Any]
    model: str | None = None
    """The value of ``{{model}}`` where no model is named."""
    names_model: bool = False
    """True if the body has a place of its own for the model."""
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
REPLY_PARTS = ("answer", "contexts", "retrieved", "citations", "usage", "thread")
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
    """Return True if the question has a place in a template."""
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
    if "start" not in item and "start_char" not in item:
        return None
    try:
        file, start, end, page = (given_field(item, field)[1] for field in ("file", "start", "end", "page"))
        return CharacterSpan(DocumentId(file), start, end) if page is None else None
    except InputError:
        return None


# Where an answer and what came with it stand in a system's reply.
#
# A reply is a JSON object, or just a string, which is then the answer. Its parts are looked for by the names
# of :mod:`rag_evaluation_framework.datasets.field_names`, in the reply itself and then in the objects that
# replies are wrapped in: ``message``, ``choices[0].message``, ``metadata``, ``response``, ``output``,
# ``data``, ``result``, ``rag``, ``retrieval_results``, at any depth.
#
# ==========  ============================================================================================
# answer      ``response``, ``message``, ``content``, ``choices[0].message.content``, ``choices[0].text``,
#             ``answer``, ``output``, ``output_text``, ``text``, ``result``, ``replies[0]``,
#             ``messages[-1].content``, then what else people call it. Each may be a text, an object with
#             ``content`` or ``text``, or a list of such parts. The first that is not empty counts.
# contexts    texts, or objects with one. Names of documents are no texts, but hits. An item without a text
#             is counted; beside others that have one it stays in its place as an empty context, so that
#             ``[2]`` is still the second. A reply with nothing but empty lists there says that nothing was
#             retrieved; one without says nothing.
# hits        the names, scores and positions (``file``, ``start``, ``end``: see above) of those objects, or
#             the list of names beside them, where each that has a text also has a name or a position
# citations   ``citations``, ``references``: see above
# usage       ``usage`` and its like: tokens and cost; or ``messages[*].usage_metadata``, those of all
#             messages added up
# ==========  ============================================================================================
#
# Paths given by the user replace the search for what they name.
#
# Of a reply in events every part is looked for in each of them. The texts of the answer are joined; of all
# else the last counts.

_ANSWERS = (
    *("response", "message", "content", "choices[0].message.content", "choices[0].message.refusal"),
    *("choices[0].text", "generated_answer", "answer", "output", "output_text", "text", "result"),
    *("replies[0]", "messages[-1].content"),
)
# What streams add to it: the whole at the end, or pieces.
_STREAMED_ANSWERS = (
    *("response.output", "choices[0].delta.content", "delta.content", "delta.text", "delta", "token.text"),
    "token",
)
_USAGES = ("usage", "token_usage", "usage_metadata", "messages[*].usage_metadata")
_CITATIONS = ("citations", "references")
_NAMED_FIELDS = 8
_WHOLE = "the whole reply"
_TOO_MANY = 1 << 53  # whole numbers that every JSON reader keeps exact
_DEEPEST = 6
_SIMPLE = re.compile(r"""[^\s.\[\]"']+""")


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
        texts = [text for event in self._with(path) if (text := content_text(path.find(event))) is not None]
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


class _Place(NamedTuple):
    """A value at a usual place of a reply; places sort in the order of the search, outer objects first."""

    depth: int
    around: tuple[int, ...]
    rank: int
    path: str
    value: Any


_Places = dict[str, list[_Place]]
"""Of each part of a reply where it may stand, the surest place first."""


@cache
def _reply_names() -> Mapping[str, Sequence[tuple[str, int, JsonPath | None]]]:
    """Return for a field, as :func:`normal` writes it, the parts of a reply that begin with it, by rank."""
    ranks = table().ranks
    paths: dict[str, Iterable[str]] = {
        "answer": (*_ANSWERS, *ranks["answer"]),
        "usage": _USAGES,
        "citations": (*_CITATIONS, *ranks["citations"]),
        "retrieved": (*ranks["contexts"], *ranks["sources"]),
        "scores": ranks["scores"],
    }
    names: dict[str, list[tuple[str, int, JsonPath | None]]] = {}
    for part, given in paths.items():
        for rank, text in enumerate(dict.fromkeys(given)):
            path = JsonPath.parse(text)
            first = (part, rank, path if len(path.steps) > 1 else None)
            names.setdefault(str(path.steps[0]), []).append(first)
    return names


@lru_cache(maxsize=4096)
def _known_field(field: str) -> tuple[str, Sequence[tuple[str, int, JsonPath | None]], int | None] | None:
    """Return a field as a step of a path, the parts that begin with it, and its rank as a wrapper."""
    name = normal(field)
    parts, wrapper = _reply_names().get(name, ()), table().wrappers.get(name)
    step = f".{field}" if _SIMPLE.fullmatch(field) else f'["{field}"]'
    return (step, parts, wrapper) if parts or wrapper is not None else None


def _walk(reply: Mapping[str, Any]) -> _Places:
    """Return what a reply has at the usual names, by part, in the order of the search."""
    found: _Places = {}
    waiting: list[tuple[tuple[int, ...], str, Mapping[str, Any]]] = [((), "", reply)]
    for around, before, value in waiting:
        depth = len(around)
        for field, inner in value.items():
            if inner is None or (known := _known_field(field)) is None:
                continue
            step, parts, wrapper = known
            path = before + step if before else step.removeprefix(".")
            for part, rank, steps in parts:
                told, place = inner, path
                if steps is not None:
                    told, place = steps.find(value), f"{before}.{steps.text}" if before else steps.text
                if told is not None and (part != "answer" or "metadata" not in before):
                    found.setdefault(part, []).append(_Place(depth, around, rank, place, told))
            if wrapper is not None and depth < _DEEPEST:
                if isinstance(inner, list) and step == ".choices" and inner and isinstance(inner[0], dict):
                    inner, path = inner[0].get("message"), f"{path}[0].message"
                if isinstance(inner, dict):
                    waiting.append(((*around, wrapper), path, inner))
    for places in found.values():
        if len(places) > 1:
            places.sort()
    return found


def _walk_events(events: Events) -> _Places:
    """Return what events have at the usual names: of each place what the last event has there."""
    found: dict[str, dict[str, _Place]] = {}
    for event in events.values:
        for part, places in _walk(event).items() if isinstance(event, dict) else ():
            known = found.setdefault(part, {})
            known.update({each.path: each for each in places if each.value or each.path not in known})
    return {part: sorted(places.values()) for part, places in found.items()}


class ReadAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The parts read from a reply; ``found`` maps each part to the path it was found at."""

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
        self._paths: dict[str, JsonPath] = {}
        for part, text in (paths or {}).items():
            if part not in REPLY_PARTS:
                raise UnknownNameError("part of a reply", part, REPLY_PARTS)
            self._paths[part] = JsonPath.parse(text, field=f"responsePaths.{part}")

    def read(self, value: Any) -> ReadAnswer:
        """Read one reply; a reply without an answer raises a :class:`TargetError`."""
        if isinstance(value, str):
            return ReadAnswer(text=value, found={"answer": _WHOLE})
        is_stream = isinstance(value, Events)
        places = _walk_events(value) if is_stream else _walk(value) if isinstance(value, dict) else {}
        walked = places.pop("retrieved", [])
        for part, path in self._paths.items():
            there = value.find(path) if is_stream else path.find(value)
            places[part] = [] if there is None else [_Place(0, (), 0, path.text, there)]
        found: dict[str, str] = {}
        text = self._answer(value, places.get("answer", ()), found)
        told = [*places.get("contexts", ()), *places.get("retrieved", ())]
        told += [] if "contexts" in self._paths else walked
        retrieved = self._retrieved(told, places, found) if told else _Retrieved()
        citations = _citations_of(places["citations"], found) if "citations" in places else ((), 0)
        thread = next((each.value for each in places.get("thread", ())), None)
        return ReadAnswer(
            text=text,
            contexts=retrieved.contexts,
            unread_contexts=retrieved.unread,
            hits=retrieved.hits,
            retrieved_nothing=retrieved.is_nothing,
            citations=citations[0],
            unread_citations=citations[1],
            usage=_usage_of(places["usage"], found) if "usage" in places else None,
            thread=str(thread) if isinstance(thread, str | int) and str(thread) else None,
            found=found,
        )

    def _answer(self, value: Any, places: Sequence[_Place], found: dict[str, str]) -> str:
        texts = [(each.path, content_text(each.value)) for each in places]
        if isinstance(value, Events):
            texts = self._streamed(value, places)
        texts = [each for each in texts if each[1] is not None]
        if not texts:
            raise TargetError("no-answer", f"expected {self.expected}, got {shape(value)}")
        found["answer"], text = next((each for each in texts if each[1]), texts[0])
        return text or ""

    def _streamed(self, events: Events, places: Sequence[_Place]) -> list[tuple[str, str | None]]:
        given = self._paths.get("answer")
        usual = map(JsonPath.parse, (*_STREAMED_ANSWERS, *(each.path for each in places)))
        texts = [(path.text, events.text(path)) for path in ([given] if given else usual)]
        pieces = [event for event in events.values if isinstance(event, str)]
        is_found = any(text is not None for _, text in texts)
        return texts if is_found or not pieces else [(_WHOLE, "".join(pieces))]

    @property
    def expected(self) -> str:
        """Return a description of the answer that a reply must have."""
        places = [self._paths["answer"].text] if "answer" in self._paths else [*_ANSWERS[:4]]
        return f"an answer at {', '.join(places)}" + (" …" if len(places) > 1 else "")

    def _retrieved(
        self, told: Sequence[_Place], places: Mapping[str, Sequence[_Place]], found: dict[str, str]
    ) -> _Retrieved:
        """Return what was retrieved: texts with their names, else names alone."""
        texts_path, names_path = (str(self._paths.get(part, "")) for part in ("contexts", "retrieved"))
        lists = {each.path: _items_of(each, is_text=each.path == texts_path) for each in told}
        with_texts = next(
            (path for path, items in lists.items() if any(each.text for _, each in items)), None
        )
        chosen = lists[with_texts] if with_texts is not None else []
        hits: tuple[Hit, ...] = ()
        for path in dict.fromkeys((names_path, with_texts, *lists)):
            items = lists.get(path or "", ())
            if not items or (chosen and len(items) != len(chosen)):
                continue
            lengths = (each.value for each in places.get("scores", ()) if isinstance(each.value, list))
            scores = next((each for each in lengths if len(each) == len(items)), ())
            if hits := _hits(items, chosen or items, scores):
                field = next((name for _, each in items for name in each.names), "")
                found["retrieved"] = f"{path}[*].{field}" if field else str(path)
                break
        if with_texts is not None:
            found["contexts"] = with_texts
            texts = tuple(each.text or "" for _, each in chosen)
            return _Retrieved(texts, hits, texts.count(""))
        empty = [each.path for each in told if each.value == []]
        is_nothing = bool(empty) and not any(lists.values())
        if is_nothing:
            found["contexts"] = empty[0]
        unread = (
            sum(not each.names and not isinstance(raw, str | None) for raw, each in items)
            for items in lists.values()
        )
        return _Retrieved((), hits, 0 if hits else next(filter(None, unread), 0), is_nothing)


class _Retrieved(NamedTuple):
    contexts: tuple[str, ...] = ()
    hits: tuple[Hit, ...] = ()
    unread: int = 0
    is_nothing: bool = False


def _items_of(found: _Place, *, is_text: bool) -> list[tuple[Any, Item]]:
    """Return what a list holds, each as it is and as read; ``is_text`` says that its strings are texts."""
    field = found.path.rpartition(".")[2]
    if not isinstance(found.value, list):
        return _lone_item(found.value, field, is_text=is_text)
    items = found.value
    if len(items) == 1 and isinstance(items[0], list):
        items = items[0]
    plain = [each for each in items if not isinstance(each, Mapping)]
    are_ids = not is_text and are_names(plain, field) and (len(plain) == len(items) or is_of_names(field))
    return [
        (each, read_item(each) if isinstance(each, Mapping) else _plain_item(each, are_ids)) for each in items
    ]


def _lone_item(value: Any, field: str, *, is_text: bool) -> list[tuple[Any, Item]]:
    """Return a text that stands alone, or an object that has one; of a count or a word nothing."""
    if isinstance(value, str) and value.strip():
        is_name = not is_text and is_of_names(field) and are_names([value], field)
        is_word = not (is_text or is_name or is_of_texts(field) or " " in value.strip())
        return [] if is_word else [(value, _plain_item(value, is_name))]
    read = read_item(value) if isinstance(value, Mapping) else None
    return [] if read is None else [(value, read if read.text else Item(None, {}, None))]


def _plain_item(value: Any, is_name: bool) -> Item:
    if is_name and isinstance(value, str | int) and str(value).strip():
        return Item(None, {"": str(value)}, None)
    return Item(value if isinstance(value, str) and value.strip() else None, {}, None)


def _hits(
    items: Sequence[tuple[Any, Item]], texts: Sequence[tuple[Any, Item]], scores: Sequence[Any]
) -> tuple[Hit, ...]:
    """Return the items as hits, if each that has a text, of its own or beside it, also says what it is."""
    hits: list[Hit] = []
    for number, ((raw, item), (_, beside)) in enumerate(zip(items, texts, strict=True)):
        score = finite_number(scores[number]) if scores else item.score
        span = read_position(raw) if isinstance(raw, Mapping) else None
        if (hit := _hit(tuple(item.names.values()), score, span)) is not None:
            hits.append(hit)
        elif beside.text or not isinstance(raw, str | None):
            return ()
    return tuple(hits)


def hits_of(items: Iterable[Mapping[str, Any]]) -> tuple[Hit, ...]:
    """Return what a record says was retrieved, if each item says what it is."""
    hits = [_recorded_hit(item) for item in items]
    return () if None in hits else tuple(hit for hit in hits if hit is not None)


def _recorded_hit(item: Mapping[str, Any]) -> Hit | None:
    read = read_item({name: value for name, value in item.items() if name != "names"})
    names = item.get("names") or tuple(read.names.values())
    hit = _hit(names, read.score, read_position(item))
    return hit and replace(hit, id=str(item.get("id") or hit.id))


def _hit(names: Sequence[str], score: float | None, span: CharacterSpan | None) -> Hit | None:
    several = tuple(dict.fromkeys(names))
    named = several[0] if several else span and span.doc_id
    return Hit(id=named, score=score, span=span, names=several if len(several) > 1 else ()) if named else None


def resolve_names(hits: tuple[Hit, ...], is_known: Callable[[str], object]) -> tuple[Hit, ...]:
    """Return hits under the first of their names that is known; the others under the name of that place."""
    places = [next((n for n, name in enumerate(hit.names) if is_known(name)), None) for hit in hits]
    usual = next((place for place in places if place is not None), None)
    if usual is None:
        return hits
    return tuple(
        replace(hit, id=hit.names[min(usual if place is None else place, len(hit.names) - 1)])
        if hit.names
        else hit
        for hit, place in zip(hits, places, strict=True)
    )


def _citations_of(places: Sequence[_Place], found: dict[str, str]) -> tuple[tuple[Citation, ...], int]:
    for place in places:
        if isinstance(place.value, list) and place.value:
            found["citations"] = place.path
            return read_citations(place.value)
    return (), 0


def _usage_of(places: Sequence[_Place], found: dict[str, str]) -> Usage | None:
    for place in places:
        usage = Usage()
        for record in place.value if isinstance(place.value, list) else [place.value]:
            if isinstance(record, dict):
                usage = usage.plus(_read_usage(record))
        if usage != Usage():
            found["usage"] = place.path
            return usage
    return None


def _read_usage(record: Mapping[str, Any]) -> Usage:
    told: dict[str, Any] = {}
    for part, name in usage_fields(record).items():
        number = finite_number(record[name])
        is_count = part != "cost" and (type(record[name]) is not int or record[name] >= _TOO_MANY)
        if number is not None and number >= 0 and not is_count:
            told[part] = number
    return usage_of(told, "") or Usage()


def shape(value: Any) -> str:
    """Return a description of the contents of a reply, without quoting it."""
    if isinstance(value, dict):
        names = [str(name)[:40] for name in list(value)[:_NAMED_FIELDS]]
        return f"an object with {', '.join(names)}" if names else "an empty object"
    if isinstance(value, Events):
        last = shape(value.values[-1]) if value.values else "nothing"
        return f"a stream of {counted(len(value.values), 'event')}, last event {last}"
    return "a list" if isinstance(value, list) else "text" if isinstance(value, str) else type(value).__name__
