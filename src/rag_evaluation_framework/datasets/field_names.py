"""The one table of the names that people give to the parts of an answer, and the readers that go by it.

Rows, replies, foreign formats, results of frameworks and traces are read by the same names, and so are the
messages and retrieved things in them. The names are in
``data/field_names.json``, compared without case, spaces and marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple, cast

from rag_evaluation_framework.datasets.csv_tables import python_value
from rag_evaluation_framework.errors import InputError, Issue, invalid, shown
from rag_evaluation_framework.files.strict_json import decode, finite_number
from rag_evaluation_framework.records.citations import Citation, ContextCitation, citations_in
from rag_evaluation_framework.records.samples import Role, Turn, Usage

PARTS = (
    *("question", "reference", "answer", "contexts", "id", "relevant_documents", "relevant_chunk_ids"),
    *("reference_contexts", "sources", "scores", "tags", "category", "refusal", "checks", "citations"),
    *("usage", "input_tokens", "output_tokens", "total_tokens", "cost", "latency_ms", "latency_s"),
)
"""Parts of a row, in the order in which they are looked for."""

TOKENS = ("input_tokens", "output_tokens", "total_tokens")
OF_USAGE = (*TOKENS, "cost")
NAME_ONLY = re.compile(r"[A-Za-z0-9_./:#@%+\-]{1,200}")
"""Pattern of a name or an id, as opposed to text."""
_TOO_MANY = 1 << 53
_CITATION = "the number of a context, the name of its source, or a citation such as [a.md:3:5-9]"
_MARKED = re.compile(r"[0-9_/.:#@]")
_OF_TEXTS = frozenset({"contexts", "context", "retrieval_context", "retrieved_contexts"})
_TITLE = re.compile(r"[^\n]{1,99}[^\n.!?。！？]")
_OF_NAMES = ("sources", "source", "ids", "files")
_FILE_NAME = re.compile(r"[^\n\[\]]{1,200}\.[A-Za-z0-9]{1,5}")
_ROLES: Mapping[str, str] = {
    **dict.fromkeys(("user", "human", "humanmessage"), "user"),
    **dict.fromkeys(("assistant", "ai", "bot", "model", "aimessage", "aimessagechunk"), "assistant"),
    **dict.fromkeys(("system", "developer", "systemmessage"), "system"),
    **dict.fromkeys(("tool", "function", "toolmessage"), "tool"),
}
_NOT_SAID = ("reasoning", "thinking", "tool")


@lru_cache(maxsize=4096)
def normal(name: str) -> str:
    """Return a name as it is compared.

    >>> normal("Actual Output"), normal("retrievedContexts"), normal("Latency (ms)")
    ('actual_output', 'retrieved_contexts', 'latency_ms')
    """
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\s\-/()（）]+", "_", parted).strip(":?：？").rstrip("_").casefold()


class _Table(NamedTuple):
    """The names that people use, as :func:`normal` writes them."""

    ranks: Mapping[str, Mapping[str, int]]
    """Names of each part, the surest with the lowest number."""
    part_of: Mapping[str, str]
    texts: Mapping[str, int]
    names: Mapping[str, int]
    scores: Mapping[str, int]
    chunks: frozenset[str]
    nested: frozenset[str]
    wrappers: Mapping[str, int]
    numbered: frozenset[str]
    inner: frozenset[str]
    aside: frozenset[str]
    times: frozenset[str]
    heads: Mapping[str, frozenset[str]]
    """Last words of names, by part."""
    expecting: frozenset[str]


def _words(lines: Sequence[str]) -> list[str]:
    return " ".join(lines).split()


def _ranks(lines: Sequence[str]) -> dict[str, int]:
    return {name: rank for rank, name in enumerate(_words(lines))}


@cache
def table() -> _Table:
    data = decode(files(__package__).joinpath("data", "field_names.json").read_bytes())
    times = _words(data["times"])
    parts = {part: _ranks(data["parts"][part]) for part in PARTS if part not in data["units"]}
    for part, units in data["units"].items():
        parts[part] = _ranks([f"{time}_{unit}" for time in times for unit in _words(units)])
    ranked = {name: _ranks(data[name]) for name in ("texts", "names", "scores", "wrappers")}
    sets = {
        name: frozenset(_words(data[name]))
        for name in ("chunks", "nested", "numbered", "inner", "aside", "times", "expecting")
    }
    return _Table(
        ranks=parts,
        part_of={name: part for part in reversed(PARTS) for name in parts[part]},
        heads={part: frozenset(_words(lines)) for part, lines in data["heads"].items()},
        **ranked,  # type: ignore[arg-type]  # each by its own name
        **sets,  # type: ignore[arg-type]
    )


def part_named(name: str) -> str | None:
    """Return the part of a row that people call so."""
    return table().part_of.get(normal(name))


def part_by_words(name: str) -> str | None:
    """Return the part that the last word of a name stands for, where it has several.

    >>> part_by_words("Customer Question"), part_by_words("Expected Reply"), part_by_words("question_type")
    ('question', 'reference', None)
    """
    *before, last = normal(name).split("_")
    part = next((part for part, words in table().heads.items() if last in words), None) if before else None
    is_expected = not table().expecting.isdisjoint(before)
    return (
        part if not is_expected else {"answer": "reference", "contexts": "reference_contexts"}.get(part or "")
    )


def segments(place: str) -> list[str]:
    """Return the names in a place, as they are compared."""
    return [normal(each) for each in re.findall(r"""[^.\[\]"']+""", place)] or [normal(place)]


def flat(values: Iterable[Any]) -> list[Any]:
    """Return the items of all lists among the values, and the values that are none."""
    return [item for value in values for item in (value if isinstance(value, list) else [value])]


def decoded(value: Any) -> Any:
    """Return the list or object that stands as text in a cell, in JSON or as Python writes it."""
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        try:
            return decode(value)
        except InputError:
            read = python_value(value)
            return value if read is None else read
    return value


# What was retrieved: texts, names of documents, or objects that have both.


class Item(NamedTuple):
    """One retrieved thing: its text, its names by the fields that have them, and its score."""

    text: str | None
    names: Mapping[str, str]
    score: float | None

    @property
    def source(self) -> str | None:
        """The name that most likely is a document's: the first that is no id, else the first."""
        chunks = table().chunks
        names = (name for field, name in self.names.items() if normal(field.rpartition(".")[2]) not in chunks)
        return next(names, next(iter(self.names.values()), None))


_ITEM_DEPTH = 6
_LONGEST_NAME = 500


@lru_cache(maxsize=4096)
def _item_fields(fields: tuple[Any, ...]) -> tuple[Sequence[str], ...]:
    """Return which of an item's fields may be its text, its names and its score, and which hold others."""
    known = table()
    named = {field: normal(field) for field in fields if isinstance(field, str)}

    def ordered(ranks: Mapping[str, int]) -> list[str]:
        found = [field for field, name in named.items() if name in ranks]
        return sorted(found, key=lambda field: ranks[named[field]])

    texts = ordered(known.texts)
    names = [field for field in ordered(known.names) if field not in texts[:1]]
    return texts, names, ordered(known.scores), ordered(dict.fromkeys(known.nested, 0))


def read_item(item: Mapping[str, Any], depth: int = 0) -> Item:
    """Return what an object says of one retrieved thing, itself or in the objects within it.

    >>> read_item({"node": {"text": "A ferry.", "metadata": {"file_name": "ferry.md"}}, "score": 0.5})
    Item(text='A ferry.', names={'node.metadata.file_name': 'ferry.md'}, score=0.5)
    """
    texts, named, scored, nested = _item_fields(tuple(item))
    place = next((field for field in texts if isinstance(item[field], str) and item[field].strip()), None)
    text = None if place is None else item[place]
    names: dict[str, str] = {}
    for field in named:
        value = item[field]
        if type(value) is int or (type(value) is str and 0 < len(value) <= _LONGEST_NAME):
            names[field] = str(value)
    score = next((number for field in scored if (number := finite_number(item[field])) is not None), None)
    for field in nested:
        inner = decoded(item[field])
        if isinstance(inner, Mapping) and depth < _ITEM_DEPTH:
            read = read_item(inner, depth + 1)
            text = read.text if text is None else text
            score = read.score if score is None else score
            names |= {f"{field}.{name}": value for name, value in read.names.items()}
    return Item(text, names, score)


def item_names(item: Mapping[str, Any]) -> list[str]:
    """Return the names that an object and those within it give a retrieved thing, in their order."""
    _, named, _, nested = _item_fields(tuple(item))
    names = [str(value) for field in named if (value := item[field]) and type(value) in (str, int)]
    for field in nested:
        inner = item[field] if type(item[field]) is dict else decoded(item[field])
        names += item_names(inner) if isinstance(inner, Mapping) else ()
    return names


def is_of_names(field: str) -> bool:
    """Tell by what a list is called that it holds names rather than texts."""
    return normal(field).endswith(_OF_NAMES)


def is_of_texts(field: str) -> bool:
    """Tell by what a list is called that it holds texts, even if they are single words."""
    return normal(field) in _OF_TEXTS


def are_names(values: Iterable[Any], field: str) -> bool:
    """Tell names of documents from texts, in a list that is called so; a bare word is a text of contexts."""
    texts = [value for value in values if isinstance(value, str) and value.strip()]
    if is_of_names(field):
        return bool(texts) and all(cited_name(text) or _TITLE.fullmatch(text) for text in texts)
    is_text = is_of_texts(field)
    return bool(texts) and all(
        NAME_ONLY.fullmatch(text) and not (is_text and _MARKED.search(text) is None) for text in texts
    )


def decoded_checks(value: Any) -> Any:
    """Return the checks that stand as text in the cell of a table: ``contains: 27 days``, or JSON."""
    if isinstance(value, str):
        from rag_evaluation_framework.files.yaml_documents import decode as decode_yaml  # slow to import

        with suppress(InputError):
            return decode_yaml(value)
    return value


# Messages and the texts of their contents, in the shapes of every API and log: a message has its ``role``
# (``type`` with LangChain, which may write it within ``kwargs`` or ``data``) and ``content`` or ``parts``.


class Message(NamedTuple):
    """A chat message; ``text`` is ``None`` where it has no text, as one that only calls a tool."""

    role: str
    text: str | None


def role_of(name: object) -> str:
    """Return ``user``, ``assistant``, ``system`` or ``tool`` for its names; another name as it is."""
    lower = str(getattr(name, "value", name)).casefold()  # an enumeration has a value
    return _ROLES.get(lower, lower)


def message_of(value: Any, between: str = "") -> Message | None:
    """Return a message; ``None`` of what is none. The texts of its parts are joined by ``between``.

    >>> message_of({"type": "human", "data": {"content": [{"type": "text", "text": "Why?"}]}})
    Message(role='user', text='Why?')
    """
    if isinstance(value, list | tuple) and len(value) == 2 and all(isinstance(each, str) for each in value):
        return Message(role_of(value[0]), value[1]) if str(value[0]).casefold() in _ROLES else None
    if not isinstance(value, Mapping):
        return None
    inner = next((each for name in ("kwargs", "data") if isinstance(each := value.get(name), Mapping)), value)
    inner = inner if "content" in inner else value
    ids = value.get("id")
    named = (
        inner.get("role"),
        inner.get("type"),
        value.get("type"),
        ids[-1] if isinstance(ids, list) and ids else None,
    )
    name = next((each for each in named if each), None)
    if not isinstance(getattr(name, "value", name), str) or not ("content" in inner or "parts" in inner):
        return None
    return Message(role_of(name), content_text(inner.get("parts", inner.get("content")), between))


def messages_in(value: Any, between: str = "") -> Iterator[Message]:
    """Yield the message that a value is, or those in a list, however deep."""
    if (found := message_of(value, between)) is not None:
        yield found
    elif isinstance(value, list):
        for each in value:
            if isinstance(each, Mapping | list):
                yield from messages_in(each, between)


def content_text(value: Any, between: str = "") -> str | None:
    """Return the text of a message's content: itself, that of an object, or those of its parts.

    What a model only thought, and what a tool is called with, is not said.
    """
    if isinstance(value, Mapping):
        value = value.get("content", value.get("text"))
    if not isinstance(value, list):
        return value if isinstance(value, str) else None
    texts = [text for part in value if (text := _part_text(part, between)) is not None]
    return between.join(texts) if texts else None


def _part_text(part: Any, between: str) -> str | None:
    if not isinstance(part, Mapping):
        return content_text(part, between)
    kind = str(part.get("type"))
    if any(name in kind for name in _NOT_SAID):
        return None
    text = part.get("text")
    return (
        text
        if isinstance(text, str)
        else content_text(part.get("content"), between)
        if "type" in part
        else None
    )


def turns_of(messages: Iterable[Message | None]) -> tuple[Turn, ...]:
    """Return messages as turns; what a tool says, and what has no text, is none."""
    return tuple(
        Turn(role=cast("Role", each.role), content=each.text)
        for each in messages
        if each is not None and each.role in ("user", "assistant", "system") and each.text is not None
    )


def last_text(messages: Iterable[Message | None], role: str) -> str | None:
    """Return the last text that is not blank of somebody."""
    texts = [each.text for each in messages if each and each.role == role and (each.text or "").strip()]
    return texts[-1] if texts else None


# What an answer took.


def as_number(value: Any) -> float | None:
    """Return a number, or one that is written in a text; ``None`` of anything else."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    return finite_number(value)


def usage_fields(value: Mapping[str, Any]) -> dict[str, str]:
    """Return under which names an object has tokens and cost, by their part: the surest name of each."""
    found: dict[str, tuple[int, str]] = {}
    for name, told in value.items():
        part = part_named(name) if told is not None and isinstance(name, str) else None
        if part in OF_USAGE:
            rank = table().ranks[part][normal(name)]
            found[part] = min(found.get(part, (rank, name)), (rank, name))
    return {part: name for part, (_, name) in found.items()}


def amount(where: str, value: Any, *, is_count: bool = False) -> float | None:
    """Return a number of at least 0, whole where it is a count; ``None`` where there is nothing."""
    if value is None or value == "":
        return None
    number = as_number(value)
    if number is None or number < 0 or (is_count and not (number.is_integer() and number < _TOO_MANY)):
        expected = "a whole number of at least 0" if is_count else "a number of at least 0"
        raise invalid(where, expected, value, code="wrong-type" if number is None else "out-of-range")
    return number


def usage_of(told: Mapping[str, float | None], where: str) -> Usage | None:
    """Return tokens and cost; two of the two counts and their sum give the third."""
    read, written, total = (told.get(part) for part in TOKENS)
    if total is not None and (read is None) != (written is None):
        known = read if written is None else written
        if known is not None and total < known:
            raise invalid(
                where,
                f"a total of at least {known:,.0f} tokens, which is one of its parts",
                int(total),
                code="out-of-range",
            )
        read, written = (total - (written or 0), written) if read is None else (read, total - read)
    usage = Usage(
        input_tokens=None if read is None else int(read),
        output_tokens=None if written is None else int(written),
        cost_usd=told.get("cost"),
    )
    return None if usage == Usage() else usage


# What an answer cites.


def cited_name(item: Any) -> str | None:
    """Return the name of a document or chunk that a citation is, or has in the place of characters."""
    if isinstance(item, Mapping):
        named = {normal(name): value for name, value in item.items() if isinstance(name, str)}
        is_number = any(isinstance(named.get(name), int) for name in ("context", "number", "context_number"))
        if is_number or not {"start", "end", "start_char", "end_char"}.isdisjoint(named):
            return None
        values = (named.get(name) for name in table().names)
        item = next((value for value in values if isinstance(value, str | int)), None)
    if isinstance(item, bool) or not isinstance(item, str | int):
        return None
    text = str(item).strip() if isinstance(item, str) or item.bit_length() <= 64 else ""
    return text if NAME_ONLY.fullmatch(text) or _FILE_NAME.fullmatch(text) else None


def is_citation(item: Any) -> bool:
    if isinstance(item, Mapping):
        names = {normal(name) for name in item if isinstance(name, str)}
        return cited_name(item) is not None or not {"start", "start_char", "number", "context"}.isdisjoint(
            names
        )
    is_form = isinstance(item, str) and ("[" in item or all(map(cited_name, re.split(r"[\n;|,]", item))))
    return is_form or cited_name(item) is not None or isinstance(item, float)


def cited(where: str, items: Sequence[Any], sources: Sequence[Sequence[str]] | None) -> tuple[Citation, ...]:
    """Return the citations of a row; ``sources`` are the names of its contexts, where they are known.

    A name means every context of that source. One that none of them has cites what was not shown: a context
    beyond the last.
    """
    found: list[Citation] = []
    unknown: dict[str, int] = {}
    issues: list[Issue] = []
    for index, item in enumerate(items):
        name = cited_name(item)
        places = [place for place, names in enumerate(sources or (), 1) if name in names]
        if name is not None and places:
            found += map(ContextCitation, places)
            continue
        is_number = name is not None and name.isascii() and name.isdigit()
        if isinstance(item, float) and item.is_integer():
            item, is_number = int(item), True
        try:
            found += citations_in(int(name) if is_number and name else item)
        except InputError as error:
            if isinstance(item, Mapping) and name is None:
                issues += error.located(within=f"{where}[{index}]").issues
            elif name is None or is_number or sources is None:
                issues.append(Issue("wrong-type", _CITATION, shown(item), f"{where}[{index}]"))
            else:
                unknown.setdefault(name, len(sources) + len(unknown) + 1)
                found.append(ContextCitation(unknown[name]))
    if issues:
        raise InputError(issues)
    return tuple(found)
