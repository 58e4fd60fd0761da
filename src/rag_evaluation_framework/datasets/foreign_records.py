"""Records of other tools: the place and the form of each field of a sample.

Most of these formats are rows with other names, so that a table of paths makes a dialect. A path leads to a
value (``metadata.contexts``) or, with a star, to a value there under one of the names that people use
(``inputs.*``: ``question``, ``query``, ``input`` …; an object with a single text needs no name at all). A
question is text or chat messages, of any of the usual shapes; an expected answer is text, several, or the
assertions of a test; contexts are texts or objects that have one.

Where a value was found, and in which of its forms, is remembered with the sample, so that a record is written
back as it was. What the table does not know is kept beside it, as in every dialect.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import msgspec

from rag_evaluation_framework.datasets.dialect import (
    PLACES,
    UNNAMED,
    Record,
    own_contexts,
    own_id,
    recorded_of,
)
from rag_evaluation_framework.datasets.field_names import (
    content_text,
    last_text,
    message_of,
    normal,
    read_item,
    table,
    turns_of,
)
from rag_evaluation_framework.errors import InputError, Issue, invalid, shown
from rag_evaluation_framework.files.strict_json import drop_nulls, value_at
from rag_evaluation_framework.records.samples import (
    REFUSAL,
    Recorded,
    Refusal,
    Sample,
    Turn,
    marked_metadata,
    read_expected,
)

_SAID = ("text", "content", "message", "messages")
# Assertions whose value is a right answer, not a rule about it.
_ASSERTED = (
    "equals icontains contains contains-any icontains-any similar factuality model-graded-factuality "
    "context-recall rouge-n bleu meteor levenshtein f-score"
)
_DECLINING = "is-refusal"


class Fields(msgspec.Struct, frozen=True, kw_only=True):
    """The paths of each sample field in the records of a tool, in the order they are tried.

    The first is where the field is written.
    """

    paths: Mapping[str, str]
    """Paths parted by spaces, by field: ``id question answer contexts reference`` and so on."""
    as_messages: bool = False
    """A question is written as chat messages."""
    asserted: str = ""
    """An expected answer is written as an assertion of this type."""
    joined: str = ""
    """Separator of the contexts that stand in one text."""
    source_mark: re.Pattern[str] | None = None
    """Pattern of a source's name in the text of a context: groups ``source`` and ``text``."""

    def decode(self, record: Any) -> Sample:
        """Return the sample of a record; every problem of it is in one error, with its path."""
        if not isinstance(record, Mapping):
            raise InputError([Issue("wrong-type", "an object", shown(record))])
        found: dict[str, _Read] = {}
        issues: list[Issue] = []
        for name in self.paths:
            try:
                if (read := self._read(name, record)) is not None:
                    found[name] = read
            except InputError as error:
                issues += error.issues
        if "question" not in found and not issues:
            issues.append(self._no_question(record))
        if issues:
            raise InputError(issues)
        return self._sample(found)

    def _read(self, name: str, record: Mapping[str, Any]) -> _Read | None:
        """Return a field's value, the path where it stands and its form."""
        for path in self.paths[name].split():
            for place, value in _values(record, path, name):
                if (read := _READERS[name](value, place, self)) is not None:
                    return read
        return None

    def _no_question(self, record: Mapping[str, Any]) -> Issue:
        first = self.paths["question"].split()[0]
        there = list(record)
        for path in self.paths["question"].split():
            inner = value_at(record, path.removesuffix(".*"))
            if isinstance(inner, Mapping):
                there = [f"{path.removesuffix('.*')}.{name}" for name in inner]
        named = ", ".join(_names_of("question")[:5])
        expected = f"a question in this field, or in one of {named}" if "." in first else "a question"
        return Issue(
            "missing-field",
            expected,
            f"the fields {', '.join(there[:8])}" if there else "an empty object",
            first,
        )

    def _sample(self, found: Mapping[str, _Read]) -> Sample:
        def value(name: str, empty: Any) -> Any:
            return found[name].value if name in found else empty

        told = value("reference", ())
        metadata = dict(value("metadata", {}))
        for name, read in found.items():  # what was read as something else is no metadata any more
            head, _, rest = read.path.partition(".")
            if name != "metadata" and "metadata" in found and head == found["metadata"].path and rest:
                metadata.pop(rest, None)
        expected = read_expected(told[0] if told else None, metadata)
        texts, sources = value("contexts", (None, ()))
        return Sample(
            id=value("id", UNNAMED),
            turns=value("question", ()),
            reference=expected.reference,
            references=() if expected.reference is None else tuple(told[1:]),
            recorded=recorded_of(texts, value("answer", None), sources=sources),
            reference_contexts=value("reference_contexts", ((), ()))[0],
            expectation=expected.refusal,
            tags=value("tags", ()),
            metadata=expected.metadata,
            extra=self._places(found),
        )

    def _places(self, found: Mapping[str, _Read]) -> Record:
        """Return the place and form of fields that differ from the usual ones."""
        marks: dict[str, Any] = {
            name: {read.path: {read.form: {}} if read.form else {}}
            for name, read in found.items()
            if read.form or read.path != self.paths[name].split()[0]
        }
        return {PLACES: marks} if marks else {}

    def encode(self, sample: Sample) -> Record:
        """Return the record of a sample, each field where its own file had it, else where it belongs."""
        marks = sample.extra.get(PLACES, {})
        record: Record = {}
        for name, value in self._read_sample(sample).items():
            path, form = self.paths[name].split()[0], ""
            if isinstance(marks, Mapping) and name in marks:
                ((path, inner),) = marks[name].items()
                form = next(iter(inner), "")
            _put(record, path.split("."), self._formed(name, value, form))
        return record

    def _read_sample(self, sample: Sample) -> Record:
        """Return what a sample says, by the names of the table; metadata first, others may stand within."""
        told = [REFUSAL] if isinstance(sample.expectation, Refusal) else None
        recorded = sample.recorded or Recorded()
        fields = {
            "metadata": marked_metadata(sample, is_told=sample.reference is None) or None,
            "id": own_id(sample),
            "question": sample.turns,
            "answer": recorded.answer,
            "contexts": None if own_contexts(sample) is None else (recorded.contexts, recorded.sources),
            "reference": told if sample.reference is None else [sample.reference, *sample.references],
            "reference_contexts": (sample.reference_contexts, ()) if sample.reference_contexts else None,
            "tags": list(sample.tags) or None,
        }
        return {name: value for name, value in drop_nulls(fields).items() if name in self.paths}

    def _formed(self, name: str, value: Any, form: str) -> Any:
        if name == "id":
            return int(value) if form == "number" and value.isdecimal() else value
        if name == "question":
            return _written_turns(value, as_messages=self.as_messages != (form == "other"))
        if name == "reference":
            return self._formed_reference(value, form)
        if name in ("contexts", "reference_contexts"):
            texts, sources = value
            if self.source_mark is not None and sources:
                pairs = zip(sources, texts, strict=True)
                texts = [f"deepeval_source={source},deepeval_context={text}" for source, text in pairs]
            if form == "text":
                return (self.joined or "\n").join(texts)
            return list(texts)
        return value

    def _formed_reference(self, texts: list[str], form: str) -> Any:
        if self.asserted or form in _ASSERTED.split() or form == _DECLINING:
            if texts == [REFUSAL]:
                return [{"type": _DECLINING}]
            kind = form if form in _ASSERTED.split() else self.asserted
            if len(texts) > 1 or kind in ("contains-any", "icontains-any"):
                return [{"type": kind if kind.endswith("-any") else "contains-any", "value": texts}]
            return [{"type": kind, "value": texts[0]}]
        return texts if len(texts) > 1 or form == "list" else texts[0]


class _Read(NamedTuple):
    """A value of a sample, the path where a record has it, and its form if it is not the usual one."""

    value: Any
    path: str
    form: str = ""


# Finding a value.


def _put(record: Record, parts: list[str], value: Any) -> None:
    for part in parts[:-1]:
        inner = record.get(part, {})
        if not isinstance(inner, Mapping):
            return  # the tool has a text there, and no place for this
        inner = dict(inner)
        record[part] = inner
        record = inner
    record[parts[-1]] = value


def _values(record: Mapping[str, Any], path: str, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the places where a path may lead, with what stands there."""
    if not path.endswith(".*"):
        if (value := value_at(record, path)) is not None:
            yield path, value
        return
    parent = path.removesuffix(".*")
    inner = value_at(record, parent)
    if isinstance(inner, Mapping) and not _is_message(inner):
        yield from ((f"{parent}.{key}", value) for key, value in _named(inner, name))


def _named(inner: Mapping[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    keys = {normal(key): key for key in inner}
    yield from ((keys[known], inner[keys[known]]) for known in _names_of(name) if known in keys)
    if name == "contexts":
        return
    others = [key for plain, key in keys.items() if plain not in table().ranks["contexts"]]
    texts = [key for key in others if isinstance(inner[key], str)]
    if len(texts) == 1 and "." not in texts[0]:
        yield texts[0], inner[texts[0]]


@cache
def _names_of(part: str) -> tuple[str, ...]:
    """Return the names of a part within an object that is known to have it."""
    ranks = table().ranks
    said = {"question": ("question",), "answer": ("answer",), "reference": ("reference", "answer")}.get(part)
    if said is None:
        return tuple(ranks[part])
    return (*(name for each in said for name in ranks[each]), *_SAID)


# Reading what was found; ``None`` where it says nothing.


def _question(value: Any, path: str, fields: Fields) -> _Read | None:
    if isinstance(value, str):
        if not value.strip():
            return None
        return _Read((Turn(role="user", content=value),), path, "other" if fields.as_messages else "")
    messages = [message_of(each, "\n") for each in (value if isinstance(value, list) else [value])]
    if not messages or None in messages:
        if isinstance(value, Mapping):
            return None  # an object of its own kind: the next path may know it
        raise invalid(path, "text, or a list of messages with role and content", value)
    turns = turns_of(messages)
    if not any(turn.role == "user" for turn in turns):
        raise invalid(path, "at least one message of the user with its content as text", value)
    is_plain = len(turns) > 1 or fields.as_messages
    return _Read(turns, path, "" if is_plain else "other")


def _is_message(value: Any) -> bool:
    return message_of(value) is not None


def _written_turns(turns: tuple[Turn, ...], *, as_messages: bool) -> Any:
    if len(turns) == 1 and not as_messages:
        return turns[0].content
    return [
        {"role": turn.role, "content": (turn.reference or "") if turn.content is None else turn.content}
        for turn in turns
    ]


def _answer(value: Any, path: str, fields: Fields) -> _Read | None:
    text = _said_last(value)
    if text is None and isinstance(value, Mapping):
        for key, inner in _named(value, "answer"):
            if (text := _said_last(inner)) is not None:
                path = f"{path}.{key}"
                break
    return None if text is None else _Read(text, path)


def _said_last(value: Any) -> str | None:
    """Return a text, or what the assistant says last in messages."""
    if isinstance(value, bool | int | float):
        return str(value).lower() if isinstance(value, bool) else str(value)
    messages = [message_of(each, "\n") for each in (value if isinstance(value, list) else [value])]
    if messages and None not in messages:
        return last_text(messages, "assistant")
    return content_text(value, "\n") if isinstance(value, str | list) else None


def _reference(value: Any, path: str, fields: Fields) -> _Read | None:
    if isinstance(value, list) and value and all(map(_is_assertion, value)):
        return _asserted(value, path)
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        texts = [text for text in value if text]
        return _Read(texts, path, "list" if len(value) == 1 else "") if texts else None
    read = _answer(value, path, fields)
    return _Read([read.value], read.path) if read is not None and read.value.strip() else None


def _is_assertion(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("type"), str) and not _is_message(value)


def _asserted(assertions: list[Mapping[str, Any]], path: str) -> _Read | None:
    """Return the right answers among the assertions of a test."""
    for assertion in assertions:
        kind, value = assertion["type"], assertion.get("value")
        if kind == _DECLINING:
            return _Read([REFUSAL], path, kind)
        texts = value if isinstance(value, list) else [value]
        if kind in _ASSERTED.split() and texts and all(isinstance(text, str | int | float) for text in texts):
            return _Read([str(text) for text in texts], path, kind)
    return None


def _contexts(value: Any, path: str, fields: Fields) -> _Read | None:
    form = "text" if isinstance(value, str) else ""
    if isinstance(value, str):
        value = value.split(fields.joined) if fields.joined else [value]
    if not isinstance(value, list):
        raise invalid(path, "a list of texts", value)
    pairs = [_context(item, f"{path}[{index}]", fields) for index, item in enumerate(value)]
    sources = tuple(source for _, source in pairs if source is not None)
    texts = tuple(text for text, _ in pairs)
    return _Read((texts, sources if len(sources) == len(texts) else ()), path, form)


def _context(item: Any, path: str, fields: Fields) -> tuple[str, str | None]:
    """Return the text of a context and, if it says so, where it comes from."""
    if isinstance(item, str):
        marked = fields.source_mark.fullmatch(item) if fields.source_mark else None
        return (marked["text"], marked["source"]) if marked else (item, None)
    if isinstance(item, Mapping) and (read := read_item(item)).text is not None:
        return read.text, read.source
    raise invalid(path, f"text, or an object with one of {', '.join(list(table().texts)[:6])}", item)


def _id(value: Any, path: str, fields: Fields) -> _Read | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return _Read(str(value), path, "number")
    return _Read(value, path) if isinstance(value, str) and value else None


def _metadata(value: Any, path: str, fields: Fields) -> _Read | None:
    return _Read(value, path) if isinstance(value, Mapping) and value else None


def _tags(value: Any, path: str, fields: Fields) -> _Read | None:
    is_texts = isinstance(value, list) and value and all(isinstance(item, str) for item in value)
    return _Read(tuple(value), path) if is_texts else None


_READERS: Mapping[str, Callable[[Any, str, Fields], _Read | None]] = {
    "id": _id,
    "question": _question,
    "answer": _answer,
    "contexts": _contexts,
    "reference": _reference,
    "reference_contexts": _contexts,
    "metadata": _metadata,
    "tags": _tags,
}
