"""Samples of rows whose fields are known: what stands in each field, as a sample has it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from rag_evaluation_framework.datasets.dialect import UNNAMED, MadeIds
from rag_evaluation_framework.datasets.field_names import (
    OF_USAGE,
    TOKENS,
    amount,
    as_number,
    cited,
    content_text,
    decoded,
    decoded_checks,
    item_names,
    message_of,
    turns_of,
    usage_fields,
    usage_of,
)
from rag_evaluation_framework.datasets.record_files import PlacedRecord
from rag_evaluation_framework.datasets.row_fields import Place, RowReading, truth_value
from rag_evaluation_framework.datasets.row_sources import Row
from rag_evaluation_framework.errors import FileProblems, InputError, Issue, invalid, shown
from rag_evaluation_framework.files.json_scanner import has_lone_surrogate
from rag_evaluation_framework.records.citations import Citation
from rag_evaluation_framework.records.samples import (
    ROWS,
    Origin,
    Recorded,
    Refusal,
    Sample,
    Turn,
    Usage,
    read_expected,
)

_LONGEST_LABEL = 200
_NUGGETS = "nuggets"
_PLACE = ("file", "start", "end")
_BETWEEN = re.compile(r"\n[ \t]*(?:-{3,}|\*{3,}|={3,})[ \t]*\n|\n[ \t]*\n")


def samples_of(
    placed: Iterable[PlacedRecord],
    reading: RowReading,
    problems: FileProblems,
    *,
    file: str | None,
    is_table: bool,
) -> Iterator[Sample]:
    reader = _RowReader(reading.fields, is_table=is_table)
    made_ids = MadeIds()
    seen: dict[str, int | None] = {}
    for each in placed:
        try:
            sample = reader.sample(each.value, Origin(ROWS, file, each.line, each.number))
        except InputError as error:
            problems.extend(error.issues, place=each.place)
            continue
        id_ = made_ids.name(sample) if sample.id == UNNAMED else sample.id
        if id_ in seen:
            first = "" if seen[id_] is None else f", first in line {seen[id_]}"
            issue = Issue(
                "duplicate-id", "unique ids", f"duplicate {id_!r}{first}", reading.fields.get("id", "")
            )
            problems.add(each.place(issue))
            continue
        seen[id_] = each.line
        yield sample if id_ == sample.id else replace(sample, id=id_)
    problems.raise_if_any()


class _RowReader:
    """Makes a sample of a row; everything that is wrong with the row is in one error."""

    def __init__(self, fields: Mapping[str, str], *, is_table: bool) -> None:
        self._places = {part: Place(text) for part, text in fields.items()}
        self.is_table = is_table
        self._columns = {place.container.partition(".")[0] for place in self._places.values()}

    def sample(self, row: Any, origin: Origin) -> Sample:
        if not isinstance(row, dict):
            raise InputError([Issue("wrong-type", "an object with named fields", shown(row))])
        issues: list[Issue] = []
        found: dict[str, Any] = {}
        for part, place in self._places.items():
            try:
                found[part] = _READERS[part](self, place, place.find(row))
            except InputError as error:
                issues.extend(error.issues)
        for part, read in (("citations", self._cited), ("usage", self._used)):
            try:
                found[part] = read(found)
            except InputError as error:
                issues.extend(error.issues)
        if issues:
            raise InputError(issues)
        return self._made(found, row, origin)

    def _cited(self, found: Mapping[str, Any]) -> tuple[Citation, ...]:
        """Return what the answer cites, among the contexts that have a source each."""
        if not found.get("citations"):
            return ()
        texts, _, items = found.get("contexts") or ((), False, ())
        names = _names_of(items, found.get("sources") or ())
        is_known = {"contexts", "sources"} <= self._places.keys() and len(names) == len(texts)
        return cited(self._places["citations"].text, found["citations"], names if is_known else None)

    def _used(self, found: Mapping[str, Any]) -> Usage | None:
        """Return what the answer took, of fields of their own before those of an object."""
        if self._places.keys().isdisjoint(("usage", *OF_USAGE)):
            return None
        told = {part: found[part] for part in OF_USAGE if found.get(part) is not None}
        where = next(
            (self._places[part].text for part in ("total_tokens", "usage") if part in self._places), ""
        )
        return usage_of({**(found.get("usage") or {}), **told}, where)

    def _made(self, found: Mapping[str, Any], row: Row, origin: Origin) -> Sample:
        turns, last = found["question"]
        answer = found.get("answer", last)
        texts, is_empty, items = found.get("contexts") or ((), False, ())
        sources, scores = found.get("sources") or (), found.get("scores") or ()
        if not items and sources and self._places["sources"].is_each:
            items = self._places["sources"].find(row)
        retrieved = _retrieved(items, sources, scores)
        first, *others = found.get("reference") or (None,)
        expected = read_expected(first)
        refusal = Refusal() if found.get("refusal") else expected.refusal
        is_told = answer is not None or texts or is_empty or retrieved
        return Sample(
            id=found.get("id") or UNNAMED,
            turns=turns,
            reference=expected.reference,
            references=tuple(others) if expected.reference is not None else (),
            recorded=Recorded(
                contexts=tuple(texts),
                sources=tuple(sources) if len(sources) == len(texts) and all(sources) else (),
                retrieved=retrieved,
                answer=answer,
                retrieved_nothing=is_empty and not retrieved,
                citations=found["citations"],
                usage=found["usage"],
                latency_ms=found.get("latency_ms", found.get("latency_s")),
            )
            if is_told
            else None,
            reference_contexts=tuple((found.get("reference_contexts") or ((), False, ()))[0]),
            relevant_documents=found.get("relevant_documents") or {},
            relevant_chunk_ids=tuple(found.get("relevant_chunk_ids") or ()),
            expectation=refusal,
            checks=found.get("checks") or (),
            category=found.get("category"),
            tags=tuple(found.get("tags") or ()),
            metadata=self._labels(row),
            extra={_NUGGETS: row[_NUGGETS]} if isinstance(row.get(_NUGGETS), list) else {},
            origin=origin,
        )

    def _labels(self, row: Row) -> dict[str, Any]:
        """Return the short values that no part is read from, by which answers may be grouped."""
        return {
            name: value
            for name, value in row.items()
            if name not in self._columns
            and isinstance(value, str | int | float)
            and not (isinstance(value, str) and (len(value) > _LONGEST_LABEL or has_lone_surrogate(value)))
            and not (isinstance(value, float) and not math.isfinite(value))
            and not (isinstance(value, int) and value.bit_length() > 64)
        }

    # One method a part: what stands at its place, as the sample has it.

    def _question(self, place: Place, value: Any) -> tuple[tuple[Turn, ...], str | None]:
        if isinstance(value, list) and value:
            return _conversation(place.text, value)
        text = _text(place.text, value)
        if text is None or not text.strip():
            raise invalid(place.text, "the question as text", value, code="missing-question")
        return (Turn(role="user", content=text),), None

    def _answer(self, place: Place, value: Any) -> str | None:
        text = content_text(value) if isinstance(value, list) else value
        if text is None and value is not None:
            raise invalid(place.text, "the answer as text", value, code="wrong-type")
        return _text(place.text, text)

    def _reference(self, place: Place, value: Any) -> list[str]:
        several = decoded(value)
        if not isinstance(several, list):
            several = [value]
        texts = [_text(place.text, each) for each in several]
        return [text for text in texts if text is not None and text.strip()]

    def _contexts(self, place: Place, value: Any) -> tuple[list[str], bool, list[Any]]:
        """Return the texts, whether an empty list says that there are none, and the items they are from."""
        if value is None or value == "":
            return [], False, []
        items = self._cell(value) if isinstance(value, str) else value
        items = items if isinstance(items, list) else [items]
        if len(items) == 1 and isinstance(items[0], list):
            items = items[0]
        if all(type(item) is str and (item.isascii() or not has_lone_surrogate(item)) for item in items):
            return list(items), not items, [{}] * len(items)
        texts: list[str] = []
        issues: list[Issue] = []
        for index, item in enumerate(items):
            where = f"{place.container}[{index}]{f'.{place.item}' if place.item else ''}"
            try:
                text = _text(where, place.within(item) if isinstance(item, dict) else item)
            except InputError as error:
                issues.extend(error.issues)
                continue
            if text is None:
                issues.append(Issue("missing-text", "the context as text", shown(item), where))
            else:
                texts.append(text)
        if issues:
            raise InputError(issues)
        return texts, not items, [item if isinstance(item, dict) else {} for item in items]

    def _cell(self, text: str) -> Any:
        """Return what a text holds: a list that is written in it, or contexts parted by lines in a table."""
        if (read := decoded(text)) is not text:
            return read
        if not self.is_table:
            return [text]
        parts = _BETWEEN.split(text) if _BETWEEN.search(text) else text.splitlines()
        return [part.strip() for part in parts if part.strip()]

    def _items(self, place: Place, value: Any) -> list[Any]:
        """Return what stands in each item of a list, of an object, or of a text that is parted by marks."""
        value = decoded(value)
        if isinstance(value, str):
            mark = next((mark for mark in ("\n", ";", "|", ",") if mark in value), "\n")
            value = [each.strip() for each in value.split(mark) if each.strip()]
        items = [] if value is None else value if isinstance(value, list) else [value]
        return [place.within(item) if isinstance(item, dict) else item for item in items]

    def _names(self, place: Place, value: Any) -> list[str]:
        items = self._items(place, value)
        return ["" if place.is_each and not each else _name(place.text, each) for each in items]

    def _grades(self, place: Place, value: Any) -> dict[str, int]:
        value = decoded(value)
        if isinstance(value, dict):
            grades = {_name(place.text, name): _number(place.text, grade) for name, grade in value.items()}
            return {name: int(grade) for name, grade in grades.items() if grade is not None}
        return dict.fromkeys(self._names(place, value), 1)

    def _refusal(self, place: Place, value: Any) -> bool:
        said = None if value is None or value == "" else truth_value(value)
        if said is None and value not in (None, ""):
            raise invalid(place.text, "yes or no, true or false", value, code="wrong-type")
        return bool(said)

    def _checks(self, place: Place, value: Any) -> Any:
        checks = decoded_checks(value)
        if checks is None or checks == "":
            return ()
        from rag_evaluation_framework.records.checks import read_checks  # few rows have any

        try:
            read_checks(checks)
        except InputError as error:
            raise error.located(within=place.text) from None
        return checks

    def _citations(self, place: Place, value: Any) -> list[Any]:
        read = decoded(value)
        # A text such as [1][2] is no list.
        is_form = isinstance(read, str) and read.lstrip().startswith(("[", "{"))
        return [read] if is_form else self._items(place, read)

    def _usage(self, place: Place, value: Any) -> dict[str, float | None]:
        told = decoded(value)
        if told is None or told == "":
            return {}
        if not isinstance(told, dict):
            raise invalid(place.text, "an object with tokens or cost", value, code="wrong-type")
        issues: list[Issue] = []
        found: dict[str, float | None] = {}
        for part, name in usage_fields(told).items():
            try:
                found[part] = amount(f"{place.text}.{name}", told[name], is_count=part in TOKENS)
            except InputError as error:
                issues.extend(error.issues)
        if issues:
            raise InputError(issues)
        return found

    def _seconds(self, place: Place, value: Any) -> float | None:
        seconds = amount(place.text, value)
        return None if seconds is None else round(seconds * 1000, 6)


_READERS: Mapping[str, Callable[[_RowReader, Place, Any], Any]] = {
    "question": _RowReader._question,
    "answer": _RowReader._answer,
    "contexts": _RowReader._contexts,
    "reference": _RowReader._reference,
    "id": lambda _, place, value: None if value in (None, "") else _name(place.text, value),
    "relevant_documents": _RowReader._grades,
    "relevant_chunk_ids": _RowReader._names,
    "reference_contexts": _RowReader._contexts,
    "sources": _RowReader._names,
    "scores": lambda self, place, value: [_number(place.text, each) for each in self._items(place, value)],
    "tags": _RowReader._names,
    "category": lambda _, place, value: _text(place.text, value) or None,
    "refusal": _RowReader._refusal,
    "checks": _RowReader._checks,
    "citations": _RowReader._citations,
    "usage": _RowReader._usage,
    **dict.fromkeys(TOKENS, lambda _, place, value: amount(place.text, value, is_count=True)),
    **dict.fromkeys(("cost", "latency_ms"), lambda _, place, value: amount(place.text, value)),
    "latency_s": _RowReader._seconds,
}


def _text(where: str, value: Any) -> str | None:
    """Return a text or a number as text; ``None`` where there is nothing."""
    if value is None or (type(value) is str and value.isascii()):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = _format_number(value)
    if not isinstance(value, str):
        raise invalid(where, "text", value, code="wrong-type")
    if has_lone_surrogate(value):
        raise invalid(where, "text without lone surrogates", value, code="lone-surrogate")
    return value


def _format_number(number: float) -> Any:
    """Write a number as people do: whole ones without a point."""
    try:
        return str(int(number)) if float(number).is_integer() else repr(number)
    except (OverflowError, ValueError):  # more digits than Python writes
        return number


def _name(where: str, value: Any) -> str:
    text = _text(where, value)
    if text is None or not text.strip():
        raise invalid(where, "a name", value, code="wrong-type")
    return text.strip()


def _number(where: str, value: Any) -> float | None:
    if value is None or value == "":
        return None
    number = as_number(value)
    if number is None:
        raise invalid(where, "a number", value, code="wrong-type")
    return number


def _conversation(where: str, messages: Sequence[Any]) -> tuple[tuple[Turn, ...], str | None]:
    """Return the turns of messages up to the last of the user, and what the assistant said to that."""
    found = []
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            raise invalid(f"{where}[{index}]", "a message with role and content", message, code="wrong-type")
        if (read := message_of(message)) is not None:
            _text(f"{where}[{index}].content", read.text)
            found.append(read)
    turns = turns_of(found)
    places = [place for place, turn in enumerate(turns) if turn.role == "user"]
    if not places:
        raise invalid(where, "at least one message of the user", json.dumps(messages, default=str)[:60])
    after = [turn.content for turn in turns[places[-1] :] if turn.role == "assistant"]
    before = (turn for turn in turns[: places[-1] + 1] if turn.role != "assistant")
    return tuple(before), after[-1] if after else None


def _names_of(items: Sequence[Row], sources: Sequence[str]) -> list[list[str]]:
    """Return the names of what was retrieved, that of its source first."""
    if len(items) != len(sources):
        return [[source] for source in sources]
    return [
        list(dict.fromkeys([source, *item_names(item)])) for source, item in zip(sources, items, strict=True)
    ]


def _retrieved(
    items: Sequence[Row], sources: Sequence[str], scores: Sequence[float | None]
) -> tuple[Row, ...]:
    """Return what was retrieved, in its order, as far as it says where it is from."""
    if not sources or not all(sources) or (items and len(items) != len(sources)):
        return ()
    made = []
    for index, names in enumerate(_names_of(items, sources)):
        item = items[index] if items else {}
        found: Row = {name: item[name] for name in _PLACE if isinstance(item.get(name), str | int)}
        found["id"] = names[0]
        if index < len(scores) and scores[index] is not None:
            found["score"] = scores[index]
        if len(names) > 1:
            found["names"] = names
        made.append(found)
    return tuple(made)
