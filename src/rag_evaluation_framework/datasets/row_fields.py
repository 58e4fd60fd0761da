"""The mapping of rows' fields to parts of a sample: guessed from common names, given, or changed by a map.

A row is a dictionary as JSON has it. ``RowReading.fields`` has for each part of a sample where it stands:
a column (``query``), a path (``result.answer``, ``chunks[*].content``) or numbered columns (``context_*``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from shlex import quote
from typing import Any

import msgspec

from rag_evaluation_framework.datasets.dialect import FieldMap
from rag_evaluation_framework.datasets.field_names import (
    NAME_ONLY,
    OF_USAGE,
    PARTS,
    are_names,
    as_number,
    cited_name,
    content_text,
    decoded,
    decoded_checks,
    flat,
    is_citation,
    is_of_names,
    message_of,
    normal,
    part_by_words,
    part_named,
    read_item,
    segments,
    table,
    usage_fields,
)
from rag_evaluation_framework.errors import UnknownNameError, UsageError, invalid, quoted, shown
from rag_evaluation_framework.files.strict_json import JsonPath, value_at

_TIMES = ("latency_ms", "latency_s")
_NUMBERS = (*OF_USAGE, *_TIMES)
_OF_TEXTS = ("contexts", "reference_contexts")
SHOWN = ("question", "answer", "contexts", "reference")

# Where the text of an answer stands in the reply of a model.
_MESSAGE = ("message.content", "choices[0].message.content", "choices[0].text", "messages[-1].content")
_DEPTH = 6
_DIGITS = 6
_NUMBERED = re.compile(r"(.*?)[ _.\-]?\[?([0-9]+)\]?")
_SIMPLE = re.compile(r"""[^\s.\[\]"']+""")
_LISTED = 12
_BY_WORDS = 200  # after every name that is known as a whole
_FEWEST_CHARACTERS = 20


class RowReading(msgspec.Struct, frozen=True):
    """The places of the parts in rows, and the numbers of rows of each kind, once known."""

    name: str
    fields: Mapping[str, str]
    rows: int | None = None
    answers: int | None = None
    references: int | None = None
    in_memory: bool = False
    unitless: str | None = None
    """The field that looks like a time and does not say in which unit, so that it is not read."""

    def to_dict(self) -> dict[str, Any]:
        """Return what a run records of it."""
        fields = msgspec.to_builtins(self).items()
        return {name: value for name, value in fields if value not in (None, False)}

    @property
    def unit_question(self) -> str | None:
        """The question in which unit a time is, where one is not read for want of it."""
        return self.unitless and _format_unit_question(self.unitless, in_memory=self.in_memory)

    @classmethod
    def from_dict(cls, recorded: Any) -> RowReading | None:
        """Read what a run records; ``None`` of one whose data were of a known format."""
        if not isinstance(recorded, Mapping) or not isinstance(recorded.get("fields"), Mapping):
            return None
        known = {name: recorded[name] for name in cls.__struct_fields__ if name in recorded}
        return cls(**{"name": "", **known})


class Place:
    """A place in rows: a column of this very name, numbered columns, or a path."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.container, star, inner = text.partition("[*]")
        self.item = inner.removeprefix(".") if star else ""
        self.is_each = bool(star)
        self._around = None if star or "*" not in text else text.split("*", 1)
        self._path = None if self._around else _path(self.container)
        self._inner = _path(self.item) if self.item else None

    def find(self, row: Mapping[str, Any]) -> Any:
        """Return what stands there: of a path through a list the list; ``None`` where there is nothing."""
        if self._around is not None:
            found = sorted((number, name) for name in row if (number := self._number(name)) is not None)
            several = [row[name] for _, name in found if row[name] not in (None, "")]
            return several if found else None
        if self.container in row:
            return row[self.container]
        return None if self._path is None else self._path.find(row)

    def _number(self, column: str) -> int | None:
        """Return the number in the name of a numbered column; ``None`` of another column."""
        before, after = self._around or ("", "")
        number = column.removeprefix(before).removesuffix(after)
        is_one = column == f"{before}{number}{after}" and number.isascii() and number.isdigit()
        return int(number) if is_one and len(number) < _DIGITS else None

    def within(self, item: Any) -> Any:
        """Return what stands in one item of the list."""
        return item if self._inner is None else self._inner.find(item)


def _path(text: str) -> JsonPath | None:
    """Return a path, or nothing where the text can only be the name of a column."""
    try:
        return JsonPath.parse(text)
    except ValueError:
        return None


# The guess.


def reading_of(
    rows: Sequence[Mapping[str, Any]],
    given: FieldMap | None,
    *,
    name: str,
    needs_answer: bool = True,
    in_memory: bool = False,
) -> RowReading:
    """Guess from the first rows where their parts stand; what is ``given`` for a part is not guessed.

    A part that is given as nothing is not read. Rows without a question, or without an answer where one is
    needed, are refused with what they have.
    """
    asked = _given(given or {}, rows, name, in_memory=in_memory)
    places = _places(rows)
    found = {part: place for part, place in asked.items() if place}
    for part in PARTS:
        if part not in asked and (place := _guessed(part, places, found)):
            found[part] = place
    _settle_answer(found, asked, places)
    if "answer" not in (*found, *asked) and _ends_with_answer(places.get(found.get("question", ""), ())):
        found["answer"] = f"{found['question']}[-1].content"
    found |= {part: _texts_at(found[part], rows) for part in _OF_TEXTS if part in found}
    if "contexts" in found:
        for part, ranks in (("sources", table().names), ("scores", table().scores)):
            if part not in asked and (inner := _item_field(found, rows, ranks, part)):
                found[part] = inner
    _settle_usage(found, asked, rows)
    needs_answer = needs_answer and "answer" not in asked and not _is_retrieval(found, rows)
    wanted = ["question", *(["answer"] if needs_answer else [])]
    if missing := [part for part in wanted if part not in found]:
        raise _which(missing, found, rows, name, in_memory=in_memory)
    fields = {part: found[part] for part in PARTS if part in found}
    is_timed = any(part in fields or part in asked for part in _TIMES)
    unitless = None if is_timed else next(filter(None, map(_time_without_unit, places.items())), None)
    return RowReading(name, fields, in_memory=in_memory, unitless=unitless)


def _given(
    given: FieldMap, rows: Sequence[Mapping[str, Any]], name: str, *, in_memory: bool
) -> dict[str, str | None]:
    """Return the map by the names of parts; a part and a field that are not there are refused."""
    asked: dict[str, str | None] = {}
    for written, place in given.items():
        part = written if written in PARTS else part_named(str(written))
        if part is None and normal(str(written)) in table().times:
            if not place:
                asked |= dict.fromkeys(_TIMES)
                continue
            part = part_named(segments(str(place))[-1])
            if part not in _TIMES:
                raise UsageError(f"{name}: {_format_unit_question(str(place), in_memory=in_memory)}")
        if part is None:
            raise UnknownNameError("part of a row", str(written), PARTS)
        if not isinstance(place, str | None):
            raise invalid(f"map.{written}", "the name of a field", place)
        place = (place or "").strip() or None
        if place is not None and rows and all(Place(place).find(row) is None for row in rows):
            fields = _fields_of(rows)
            nearest = get_close_matches(place, fields, n=1, cutoff=0.5)
            hint = f' Did you mean "{nearest[0]}"?' if nearest else ""
            has = _listed(fields)
            raise UsageError(f"{name}: unknown {part} field {quoted(place)}.{hint} The rows have {has}.")
        asked[part] = place
    return asked


def _places(rows: Iterable[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return every place outside of lists, up to a few levels deep, with the values that stand there."""
    found: dict[str, list[Any]] = {}
    for row in rows:
        for place, value in _walked(row, "", 0):
            if value is not None:
                found.setdefault(place, []).append(value)
    return found


def _walked(value: Mapping[str, Any], before: str, depth: int) -> Iterator[tuple[str, Any]]:
    for name, inner in value.items():
        if not isinstance(name, str) or not name:
            continue
        step = name if not before else f".{name}" if _SIMPLE.fullmatch(name) else f'["{name}"]'
        place = f"{before}{step}"
        yield place, inner
        # A name that no path can have stands for itself alone.
        if isinstance(inner, Mapping) and depth < _DEPTH and _path(place) is not None:
            yield from _walked(inner, place, depth + 1)


def _guessed(part: str, places: Mapping[str, list[Any]], taken: Mapping[str, str]) -> str | None:
    """Return the best place of a part: the least deep, and of these the surest name."""
    candidates = []
    for order, (place, values) in enumerate(places.items()):
        if place in taken.values():
            continue
        if (rank := _rank(part, place)) is None:
            continue
        if where := _readable(part, place, values):
            depth = len(segments(place)) + sum(each in table().aside for each in segments(place)[:-1])
            candidates.append((depth, rank, order, where))
    if part == "contexts":
        candidates += _numbered_columns(places)
    return min(candidates)[-1] if candidates else None


def _rank(part: str, place: str) -> int | None:
    """Return how sure the name of a place is for a part: that of its last step, within what it stands in."""
    *outer, last = [normal(place)] if "." not in place and "[" not in place else segments(place)
    roles = [table().part_of.get(each) for each in outer]
    if "reference" in roles:
        mine = {"reference": "answer", "reference_contexts": "contexts"}.get(part)
        if mine is None:
            return None
        ranks = table().ranks[mine]
        return ranks.get(last, 50 if mine == "answer" and last in table().inner else None)
    if part in ("answer", "question") and part in roles and last in table().inner:
        return table().ranks[part].get(last, 50)
    return table().ranks[part].get(last, _BY_WORDS if not outer and part_by_words(last) == part else None)


def _readable(part: str, place: str, values: list[Any]) -> str | None:
    """Return the place, or one within it, if what stands there can be this part."""
    if part in ("question", "answer", "reference"):
        return _readable_text(part, place, values)
    if part in _OF_TEXTS:
        fits = _are_contexts(place, values)
    elif part == "sources":
        return _readable_names(place, values)
    elif part == "scores":
        several = [value[0] for value in values if isinstance(value, list) and value]
        fits = any(not isinstance(first, dict | list) for first in several)
    elif part == "id":
        fits = all(isinstance(value, str | int) and not isinstance(value, bool) for value in values)
    elif part == "refusal":
        fits = all(truth_value(value) is not None for value in values)
    elif part in _NUMBERS:
        fits = _mostly(as_number(value) is not None for value in values)
    elif part == "checks":
        fits = any(isinstance(decoded_checks(value), dict | list) for value in values)
    elif part == "usage":
        fits = any(isinstance(value, dict) and usage_fields(value) for value in map(decoded, values))
    elif part == "citations":
        fits = _mostly(map(is_citation, flat(map(decoded, values))))
    else:
        fits = part != "category" or all(isinstance(value, str) for value in values)
    return place if fits else None


def _readable_names(place: str, values: list[Any]) -> str | None:
    """Return the place of names, or of those that objects without a text have."""
    items = flat(value for value in values if isinstance(value, list))
    if objects := [item for item in items if isinstance(item, dict)]:
        inner = None if _text_place(objects) else _inner_place(objects, table().names)
        return inner and _joined(place, inner)
    name = segments(place)[-1]
    are_sources = is_of_names(name)
    texts = flat(flat(value for value in values if are_sources or isinstance(value, list)))
    is_good = any(isinstance(each, str | int) for each in texts) if are_sources else are_names(texts, name)
    return place if is_good else None


def _mostly(told: Iterable[bool]) -> bool:
    """Return True if most of the values are of a kind; each of the others is reported."""
    known = list(told)
    return sum(known) * 2 > len(known)


def _readable_text(part: str, place: str, values: list[Any]) -> str | None:
    if any(isinstance(value, str) or _is_number(value) for value in values):
        return place
    first = next((value[0] for value in values if isinstance(value, list) and value), None)
    text = content_text([first]) if isinstance(first, dict) else None
    is_message = text is None and message_of(first) is not None
    if {"question": is_message, "answer": text is not None, "reference": isinstance(first, str)}[part]:
        return place
    if part == "answer":
        for path in _MESSAGE:
            if any(isinstance(value_at(value, path), str) for value in values):
                return f"{place}.{path}"
    return None


def _are_contexts(place: str, values: list[Any]) -> bool:
    """Tell texts, or objects that hold one, from the names of files and the ids of documents."""
    items = flat(flat(values))  # of several searches at once a list for each
    texts = [item for item in items if isinstance(item, str) and item.strip()]
    if any(isinstance(item, dict) and _text_place([item]) is not None for item in items):
        return True
    if texts:
        return not are_names(texts, segments(place)[-1])
    return not items and normal(place) != "sources"  # lists that are all empty: nothing was retrieved


def _numbered_columns(places: Mapping[str, list[Any]]) -> Iterator[tuple[int, int, int, str]]:
    """Yield ``context_*`` where there are columns of that name with a number each."""
    for order, place in enumerate(places):
        match = _NUMBERED.fullmatch(place)
        if match and normal(match[1]).rstrip("_") in table().numbered:
            start, end = match.span(2)
            yield 1, 90, order, f"{place[:start]}*{place[end:]}"
            return


def _settle_answer(found: dict[str, str], asked: FieldMap, places: Mapping[str, list[Any]]) -> None:
    """Take ``answer`` for the expected one where another column has what a system said.

    In datasets of questions and answers, to which somebody added a column of predictions, ``answer`` is what
    is expected.
    """
    if "answer" in asked or "reference" in asked or "reference" in found or "answer" not in found:
        return
    told = found["answer"]
    if segments(told)[-1] not in ("answer", "answers", "答案"):
        return
    others = {place: values for place, values in places.items() if place != told}
    if other := _guessed("answer", others, found):
        found["answer"], found["reference"] = other, told


def _ends_with_answer(values: Iterable[Any]) -> bool:
    """Return True if messages end with one of the assistant."""
    last = [value[-1] for value in values if isinstance(value, list) and value]
    return any(isinstance(each, dict) and each.get("role") in ("assistant", "ai") for each in last)


def _is_retrieval(found: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> bool:
    """Tell rows of what was retrieved, which need no answer: nothing else in them could be one."""
    is_judged = "relevant_documents" in found or "relevant_chunk_ids" in found
    if is_judged and "sources" in found and "reference" not in found:
        return True
    return "contexts" in found and not _likely(["answer"], found, rows)


def _settle_usage(found: dict[str, str], asked: FieldMap, rows: Sequence[Mapping[str, Any]]) -> None:
    """Leave out what was guessed and is said already, or cannot be understood without another field."""
    for part in OF_USAGE:
        if part not in asked and "usage" in found and found.get(part, "").startswith(f"{found['usage']}."):
            del found[part]
    if "latency_ms" in found and "latency_s" in found:
        del found["latency_s" if "latency_s" not in asked else "latency_ms"]
    if "citations" in found and "citations" not in asked and not {"contexts", "sources"} <= found.keys():
        cited = flat(decoded(Place(found["citations"]).find(row)) for row in rows)
        if any((name := cited_name(item)) is not None and not name.isdigit() for item in cited):
            del found["citations"]  # names of what is not here


def _time_without_unit(place_and_values: tuple[str, list[Any]]) -> str | None:
    """Return a place that is called like a time and holds numbers, without a unit in its name."""
    place, values = place_and_values
    is_time = segments(place)[-1] in table().times
    return place if is_time and _mostly(as_number(value) is not None for value in values) else None


# Texts, sources and scores in lists of objects.


def _text_place(items: Sequence[Mapping[str, Any]]) -> str | None:
    """Return where items have their text: under a name that is known, else in the one field of sentences."""
    if known := _inner_place(items, table().texts):
        return known
    lengths: dict[str, float] = {}
    for place, values in _places(items).items():
        texts = [value for value in values if isinstance(value, str)]
        length = sum(map(len, texts)) / len(values)
        if length >= _FEWEST_CHARACTERS and not all(map(NAME_ONLY.fullmatch, texts)):
            lengths[place] = length
    longest = max(lengths, key=lengths.__getitem__, default=None)
    others = [length for place, length in lengths.items() if place != longest]
    return longest if longest and lengths[longest] >= 2 * max(others, default=0) else None


def _inner_place(
    items: Sequence[Mapping[str, Any]], ranks: Mapping[str, int], labels: frozenset[str] = frozenset()
) -> str | None:
    """Return where items have one of these names, in themselves or within; of several what labels know."""
    found = []
    for order, (place, values) in enumerate(_places(items).items()):
        names_in = segments(place)
        rank = ranks.get(names_in[-1])
        if rank is not None and any(isinstance(value, str | int | float) for value in values):
            is_known = any(str(value) in labels for value in values)
            found.append((not is_known, len(names_in), rank, order, place))
    return min(found)[-1] if found else None


def _labels(found: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """Return the names by which rows refer to relevant or cited passages."""
    labels: set[str] = set()
    for part in ("relevant_documents", "relevant_chunk_ids", "citations"):
        values = [decoded(Place(found[part]).find(row)) for row in rows] if part in found else []
        for value in flat(values):
            if isinstance(value, Mapping):
                labels |= value.keys() | set(read_item(value).names.values())
            elif isinstance(value, str | int):
                labels.update(each.strip() for each in re.split(r"[\n;|,]", str(value)))
    return frozenset(labels)


def _items(place: str, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    where = Place(place)
    lists = (where.find(row) for row in rows)
    return [item for each in lists if isinstance(each, list) for item in each if isinstance(item, dict)]


def _texts_at(place: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the place of the texts in a list of contexts: ``chunks[*].content`` if they are objects."""
    if "[*]" in place or not (items := _items(place, rows)):
        return place
    inner = _text_place(items)
    return place if inner is None else _joined(place, inner)


def _item_field(
    found: Mapping[str, str], rows: Sequence[Mapping[str, Any]], ranks: Mapping[str, int], part: str
) -> str | None:
    """Return where the objects that hold the contexts name their source, or their score."""
    where = Place(found["contexts"])
    if not where.item:
        return None
    items = _items(where.container, rows)
    ranks = {name: rank for name, rank in ranks.items() if name != normal(where.item)}
    inner = _inner_place(items, ranks, _labels(found, rows))
    if inner is None or inner == where.item:
        return None
    first = next(value for item in items if (value := value_at(item, inner)) is not None)
    is_good = isinstance(first, str | int) if part == "sources" else _is_number(first)
    return _joined(where.container, inner) if is_good and not isinstance(first, bool) else None


def _joined(container: str, inner: str) -> str:
    return f"{container}[*]{inner}" if inner.startswith("[") else f"{container}[*].{inner}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_YES, _NO = ("true", "yes", "1", "y"), ("false", "no", "0", "n")


def truth_value(value: Any) -> bool | None:
    """Read a truth value as tables write it; ``None`` where it is none."""
    if isinstance(value, bool):
        return value
    said = str(value).strip().casefold() if isinstance(value, str | int) else ""
    return True if said in _YES else False if said in _NO else None


# What to say where a part was not found.


def _format_unit_question(place: str, *, in_memory: bool) -> str:
    if in_memory:
        ways = f'map={{"latency_s": "{place}"}} or map={{"latency_ms": "{place}"}}'
    else:
        ways = " or ".join(f"--map {_argument(part, place)}" for part in reversed(_TIMES))
    return f"the unit of {quoted(place)} is unknown. Use {ways}"


def nothing_to_score(reading: RowReading | None, dataset: str, *, is_asked: bool = False) -> UsageError:
    """Return the error that names the fields that every default metric needs, and the fix.

    ``is_asked``: a system gives the answers, so that only the expected values can be missing.
    """
    name = f"dataset {dataset}" if reading is None else reading.name
    in_memory = reading is not None and reading.in_memory
    metric = 'metrics=["{}"]' if in_memory else "-m {}"
    relevancy = metric.format("answer_relevancy") + (", judge=MODEL" if in_memory else " --judge-model MODEL")
    mapped = 'map={{"{}": FIELD}}' if in_memory else "--map {}=FIELD"
    if is_asked:
        where = "" if reading is None else f" Set its field with {mapped.format('reference')}."
        return UsageError(
            f"{name}: no row has an expected answer to compare with.{where}\n"
            f"  Without expected answers, use {metric.format('faithfulness')} (compares with the retrieved "
            f"contexts) or {relevancy} (compares with the question)"
        )
    if reading is not None and "answer" not in reading.fields:
        return UsageError(
            f"{name}: no row has an answer, so there is nothing to score.\n"
            f"  Set the answer field with {mapped.format('answer')}, or score only the retrieval with "
            f"{metric.format('METRIC')}"
        )
    where = "" if reading is None else f"Set the contexts field with {mapped.format('contexts')}. "
    return UsageError(
        f"{name}: no row has contexts or an expected answer to compare with.\n"
        f"  {where}Without them, use {relevancy} (compares with the question)"
    )


def _fields_of(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row if isinstance(name, str)))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_LISTED]) + (", …" if len(names) > _LISTED else "") if names else "no fields"


def _which(
    missing: Sequence[str],
    found: Mapping[str, str],
    rows: Sequence[Mapping[str, Any]],
    name: str,
    *,
    in_memory: bool,
) -> UsageError:
    """Build the question which field is meant, with the map that would answer it."""
    fields = _fields_of(rows)
    likely = _likely(missing, found, rows)
    proposed = {part: likely.get(part, "FIELD") for part in missing}
    proposed |= {part: place for part, place in found.items() if part in SHOWN and part not in proposed}
    proposed |= {part: place for part, place in likely.items() if part not in proposed}
    ordered = {part: proposed[part] for part in SHOWN if part in proposed}
    if in_memory:
        said = "map={" + ", ".join(f'"{part}": "{place}"' for part, place in ordered.items()) + "}"
    else:
        said = " ".join(f"--map {_argument(part, place)}" for part, place in ordered.items())
    absent = " and ".join(f"the {part} field" for part in missing)
    called = [each for each in fields if part_named(each) == missing[0]]
    problem, has = f"cannot find {absent}.", f"The rows have {_listed(fields)}."
    if called:
        held = next((shown(row[called[0]]) for row in rows if row.get(called[0]) is not None), "no value")
        problem = f"the {missing[0]} field {quoted(called[0])} must contain text, got {held}."
    return UsageError(f"{name}: {problem} {has}\n  Use {said}")


def _argument(part: str, place: str) -> str:
    return quote(f"{part}={place}") if place != "FIELD" else f"{part}=FIELD"


def _likely(
    missing: Sequence[str], found: Mapping[str, str], rows: Sequence[Mapping[str, Any]]
) -> dict[str, str]:
    """Propose for what is missing columns of text that nothing else is read from: sentences before names."""
    taken = {Place(place).container for place in found.values()}
    texts = {
        name: told
        for name in _fields_of(rows)
        if name not in taken
        and (told := [row[name] for row in rows if isinstance(row.get(name), str) and row[name].strip()])
    }
    near = {part: get_close_matches(part, texts, n=1, cutoff=0.6) for part in missing}
    likely = {part: names[0] for part, names in near.items() if names}
    left = [name for name in texts if name not in likely.values()]
    left.sort(key=lambda name: _mostly(map(bool, map(NAME_ONLY.fullmatch, texts[name]))))
    for part in missing:
        if part not in likely and left:
            likely[part] = left.pop(0)
    return likely
