"""Where an answer and what came with it stand in a reply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rag_evaluation_framework.errors import InputError, TargetError, UnknownNameError
from rag_evaluation_framework.evaluation.manifest import REPLY_PARTS
from rag_evaluation_framework.files.strict_json import JsonPath, finite_number
from rag_evaluation_framework.records.citations import Citation, citations_in, given_field
from rag_evaluation_framework.records.documents import CharacterSpan, DocumentId
from rag_evaluation_framework.records.responses import TEXT_FIELDS, Hit, Usage

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
#             ``answer``, ``output``, ``output_text``, ``text``. Each may be a text, an object with
#             ``content`` or ``text``, or a list of such parts. The first that is not empty counts.
# contexts    ``contexts``, ``context``, ``retrieved_contexts``, ``retrieved_documents``,
#             ``source_documents``, ``documents``, ``chunks``, ``passages``, ``sources``: texts, or objects
#             with ``text``, ``content``, ``page_content``, ``snippet`` or ``chunk``. Plain strings under
#             ``sources`` are names, not contexts. An item without a text is counted; beside others that
#             have one it stays in its place as an empty context, so that ``[2]`` is still the second. A reply
#             with nothing but empty lists there says that nothing was retrieved; one without says nothing.
# hits        the ids (``id``, ``chunk_id``, ``document_id``, ``doc_id``, ``source``), ``score`` and position
#             (``file``, ``start``, ``end``: see above) of those objects, where each that
#             has a text also has an id or a position
# citations   ``citations``, ``references``: see above
# usage       ``usage``, ``token_usage``: ``prompt_tokens`` or ``input_tokens``, ``completion_tokens`` or
#             ``output_tokens``, ``cost_usd``, ``cost`` or ``total_cost``
# ==========  ============================================================================================
#
# All but the answer are also looked for within ``message``, ``choices[0].message`` and ``metadata``.
# Paths given by the user replace the search for what they name.

_ANSWERS = (
    "response",
    "message",
    "content",
    "choices[0].message.content",
    "choices[0].message.refusal",
    "choices[0].text",
    "answer",
    "output",
    "output_text",
    "text",
)
_CONTEXTS = (
    "contexts",
    "context",
    "retrieved_contexts",
    "retrieved_documents",
    "source_documents",
    "documents",
    "chunks",
    "passages",
    "sources",
)
_CITATIONS = ("citations", "references")
_USAGES = ("usage", "token_usage")
_PLACES = ("", "message.", "choices[0].message.", "metadata.")

_ID_FIELDS = ("id", "chunk_id", "document_id", "doc_id", "source")
_INPUT_TOKENS = ("prompt_tokens", "input_tokens")
_OUTPUT_TOKENS = ("completion_tokens", "output_tokens")
_COSTS = ("cost_usd", "cost", "total_cost")
_NAMED_FIELDS = 8
_TOO_MANY = 1 << 53  # whole numbers that every JSON reader keeps exact


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAnswer:
    """What was read from a reply; ``found`` maps each part to the path it was found at."""

    text: str
    contexts: tuple[str, ...] = ()
    unread_contexts: int = 0
    hits: tuple[Hit, ...] = ()
    retrieved_nothing: bool = False
    citations: tuple[Citation, ...] = ()
    unread_citations: int = 0
    usage: Usage | None = None
    found: Mapping[str, str] = field(default_factory=dict, hash=False)


class AnswerReader:
    """Reads replies; ``paths`` says where parts stand, by name: ``{"answer": "result.text"}``."""

    def __init__(self, paths: Mapping[str, str] | None = None) -> None:
        given: dict[str, tuple[JsonPath, ...]] = {}
        for part, text in (paths or {}).items():
            if part not in REPLY_PARTS:
                raise UnknownNameError("part of a reply", part, REPLY_PARTS)
            given[part] = (JsonPath.parse(text, field=f"responsePaths.{part}"),)
        self._answers = given.get("answer") or _parsed(_ANSWERS, places=("",))
        self._contexts = given.get("contexts") or _parsed(_CONTEXTS)
        self._citations = given.get("citations") or _parsed(_CITATIONS)
        self._usages = given.get("usage") or _parsed(_USAGES)
        self._names_are_contexts = "contexts" in given

    def read(self, value: Any) -> ReadAnswer:
        """Read one reply; a reply without an answer raises a :class:`TargetError`."""
        found: dict[str, str] = {}
        text = self._answer(value, found)
        if not isinstance(value, dict):
            return ReadAnswer(text=text, found=found)
        contexts, hits, unread_contexts = self._contexts_of(value, found)
        citations, unread_citations = self._citations_of(value, found)
        return ReadAnswer(
            text=text,
            contexts=contexts,
            unread_contexts=unread_contexts,
            hits=hits,
            retrieved_nothing=self._retrieved_nothing(value, found),
            citations=citations,
            unread_citations=unread_citations,
            usage=self._usage_of(value, found),
            found=found,
        )

    def _answer(self, value: Any, found: dict[str, str]) -> str:
        if isinstance(value, str):
            found["answer"] = "the whole reply"
            return value
        empty: str | None = None
        for path in self._answers:
            text = _text_of(path.find(value))
            if text or (text is not None and empty is None):
                found["answer"] = str(path)
                if text:
                    return text
                empty = text
        if empty is None:
            raise TargetError("no-answer", f"expected {self.expected}, got {shape(value)}")
        return empty

    @property
    def expected(self) -> str:
        """What a reply must have, in words."""
        places = ", ".join(map(str, self._answers[:4]))
        return f"an answer at {places}" + (" …" if len(self._answers) > 4 else "")

    def _contexts_of(self, value: Any, found: dict[str, str]) -> tuple[tuple[str, ...], tuple[Hit, ...], int]:
        """Return the texts, the hits, and how many items have no text, whether others have one or none."""
        unread = 0
        for path in self._contexts:
            items = path.find(value)
            if isinstance(items, str | dict):
                items = [items]
            if not isinstance(items, list) or not items:
                continue
            are_names = str(path).endswith("sources") and not self._names_are_contexts
            texts = ["" if are_names and isinstance(item, str) else _context_text(item) for item in items]
            if any(texts):
                found["contexts"] = str(path)
                return tuple(texts), _hits(items, texts), texts.count("")
            unread = unread or sum(not isinstance(item, str | None) for item in items)
        return (), (), unread

    def _retrieved_nothing(self, value: Any, found: dict[str, str]) -> bool:
        """Tell whether the reply has an empty list where contexts would be, and contexts nowhere else."""
        told = [(str(path), path.find(value)) for path in self._contexts]
        empty = [path for path, items in told if items == []]
        if not empty or any(items for _, items in told):
            return False
        found["contexts"] = empty[0]
        return True

    def _citations_of(self, value: Any, found: dict[str, str]) -> tuple[tuple[Citation, ...], int]:
        for path in self._citations:
            items = path.find(value)
            if isinstance(items, list) and items:
                found["citations"] = str(path)
                return read_citations(items)
        return (), 0

    def _usage_of(self, value: Any, found: dict[str, str]) -> Usage | None:
        for path in self._usages:
            record = path.find(value)
            if isinstance(record, dict):
                usage = Usage(
                    input_tokens=_count(record, _INPUT_TOKENS),
                    output_tokens=_count(record, _OUTPUT_TOKENS),
                    cost_usd=_amount(record, _COSTS),
                )
                if usage != Usage():
                    found["usage"] = str(path)
                    return usage
        return None


def _parsed(names: Iterable[str], places: Iterable[str] = _PLACES) -> tuple[JsonPath, ...]:
    return tuple(JsonPath.parse(place + name) for place in places for name in names)


def _text_of(value: Any) -> str | None:
    """Return the text of an answer: a string, an object that has one, or parts that each have one."""
    if isinstance(value, dict):
        value = next((value[name] for name in ("content", "text") if name in value), None)
    if isinstance(value, list):
        parts = [part.get("text") if isinstance(part, dict) else part for part in value]
        texts = [part for part in parts if isinstance(part, str)]
        return "".join(texts) if texts else None
    return value if isinstance(value, str) else None


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
    values = (item.get(name) for name in _ID_FIELDS)
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
    return "a list" if isinstance(value, list) else type(value).__name__
