"""Questions about what is not in sentences: definitions, tables, lists and headings."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

from rag_evaluation_framework.synthesis.drafts import MadeQuestion
from rag_evaluation_framework.synthesis.english_clauses import word_set
from rag_evaluation_framework.synthesis.passages import Definition, Listing, Passages, Place, Row, Table
from rag_evaluation_framework.text.scripts import has_unspaced_script

_MEASURED = re.compile(
    r"(?P<sign>[£$€¥])?\s?(?P<number>\d[\d,]*(?:\.\d+)?)(?P<unit>\s?[^\W\d]{0,12}|\s?%|\s?°C)"
)
_NOTHING = re.compile(r"[\s–—\-/.]*\Z|n/?a\Z", re.I)
_GENERAL_COLUMNS = word_set(
    "value values item items description details what number amount 值 数值 内容 说明"
)
_QUESTION_WORDS = ("what", "who", "when", "where", "how", "which", "why")
_ABBREVIATION = re.compile(r"[A-Z0-9][A-Z0-9.&/-]+\Z")
_EVENTS = frozenset({"event", "events", "change", "changes", "what happened", "milestone"})
_MOMENT = re.compile(r"(?:(?P<clock>\d{1,2}:\d\d)|[12]\d{3})\Z")
_PARTICIPLES = frozenset(
    {"done", "closed", "opened", "checked", "approved", "paid", "sent", "updated", "created"}
)
_MOST_CELL_WORDS = 14
_FEWEST_ITEMS = 3
_LONGEST_LISTING = 900
_PAIRS_OF_ROWS = 3


def structure_questions(passages: Passages, text: str) -> Iterator[MadeQuestion]:
    """Yield what can be asked about a document's definitions, tables, lists and headings."""
    for definition in passages.definitions:
        yield from _about_definition(definition, text)
    for table in passages.tables:
        yield from _about_cells(table, passages.title)
        yield from _about_pairs(table)
    for listing in passages.listings:
        yield from _about_listing(listing, passages.title)
    yield from _about_headings(passages)


def _about_definition(definition: Definition, text: str) -> Iterator[MadeQuestion]:
    term = definition.term.strip(" .:：")
    place = _trimmed(definition.place, text)
    is_chinese = has_unspaced_script(term)
    if not term or len(term.split()) > 5 or (len(definition.meaning.split()) < 2 and not is_chinese):
        return
    if is_chinese:
        asked = f"“{term}”是什么意思"
    elif _ABBREVIATION.match(term):
        asked = f"what does {term} stand for"
    else:
        asked = f"what is meant by “{term}”"
    yield MadeQuestion(
        text=asked, places=(place,), answer=definition.meaning, form="definition", kind="factual"
    )


def _about_cells(table: Table, title: str) -> Iterator[MadeQuestion]:
    """Ask for a cell by its row and column; a table of values lists properties of what the title names."""
    for row in table.rows:
        label = row.cells[0]
        if _NOTHING.match(label):
            continue
        for column, cell in zip(table.columns[1:], row.cells[1:], strict=True):
            if _NOTHING.match(cell) or len(cell.split()) > _MOST_CELL_WORDS:
                continue
            asked = _asked_cell(column, label, title)
            if column.casefold() not in _PARTICIPLES and (title or column.casefold() not in _GENERAL_COLUMNS):
                yield MadeQuestion(
                    text=asked,
                    places=(row.place,),
                    answer=cell,
                    form="cell",
                    kind="factual",
                    rank=1,
                    needs_topic=column.casefold() not in _GENERAL_COLUMNS,
                )


def _asked_cell(column: str, label: str, title: str) -> str:
    is_general = not column or column.casefold() in _GENERAL_COLUMNS
    if has_unspaced_script(label + column):
        return f"{title}的{label}是什么" if is_general else f"{label}的{column}是什么"
    if is_general:
        return f"what is the {_lowered(label)} of {title}"
    if column.casefold() in _EVENTS and (match := _MOMENT.match(label)) is not None:
        return f"what happened {'at' if match['clock'] else 'in'} {label}"
    if column.casefold().startswith(_QUESTION_WORDS):
        return f"{_lowered(column)} with {_lowered(label)}"
    return f"what is the {_lowered(column)} for {_lowered(label)}"


def _about_pairs(table: Table) -> Iterator[MadeQuestion]:
    """Ask which of two rows has more, in columns of numbers."""
    for number, column in enumerate(table.columns):
        if number == 0 or column.casefold() in _GENERAL_COLUMNS:
            continue
        measured = [(row, value) for row in table.rows if (value := _value(row.cells[number])) is not None]
        if len(measured) < 2 or len(measured) * 2 < len(table.rows):
            continue
        pairs = [
            (one, other)
            for one, other in combinations(measured, 2)
            if _differ(one[1], other[1]) and one[0].cells[0] != other[0].cells[0]
        ]
        for (first, one), (second, other) in pairs[:: max(1, len(pairs) // _PAIRS_OF_ROWS)][:_PAIRS_OF_ROWS]:
            higher = first if one[1] > other[1] else second
            yield MadeQuestion(
                text=_compared(column, first.cells[0], second.cells[0]),
                places=_joined(first, second),
                answer=f"{higher.cells[0]} ({first.cells[number]}, {second.cells[number]})",
                form="comparison",
                kind="comparative",
                rank=1,
                needs_topic=True,
            )


def _compared(column: str, first: str, second: str) -> str:
    if has_unspaced_script(column + first + second):
        return f"{first}和{second}相比，哪个{column}更高"
    return f"which has the higher {_lowered(column)}, {_lowered(first)} or {_lowered(second)}"


def _about_listing(listing: Listing, title: str) -> Iterator[MadeQuestion]:
    place = listing.place
    if len(listing.items) < _FEWEST_ITEMS or not place.headings or place.size > _LONGEST_LISTING:
        return
    heading = place.headings[-1]
    if _is_question(heading):
        return
    asked = (
        f"{heading}包括哪些" if has_unspaced_script(heading) else f"what is listed under {_lowered(heading)}"
    )
    yield MadeQuestion(
        text=asked,
        places=(place,),
        answer="; ".join(listing.items),
        form="listing",
        kind="factual",
        rank=1,
        needs_topic=heading != title,
    )


def _about_headings(passages: Passages) -> Iterator[MadeQuestion]:
    """Ask a heading that is a question itself; of others, what stands first below them."""
    seen: set[tuple[str, ...]] = set()
    for statement in passages.statements:
        headings = statement.place.headings
        if not headings or headings in seen:
            continue
        seen.add(headings)
        paragraph = [each for each in passages.statements if each.paragraph == statement.paragraph]
        place = Place(statement.place.start, paragraph[-1].place.end, headings)
        answer = " ".join(each.text for each in paragraph)
        if _is_question(headings[-1]):
            text = _lowered(headings[-1].rstrip("?？ "))
            yield MadeQuestion(text=text, places=(place,), answer=answer, form="heading", kind="factual")
        elif len(headings) > 1 and len(headings[-1]) > 2:
            heading = headings[-1]
            asked = (
                f"关于{heading}有什么规定"
                if has_unspaced_script(heading)
                else f"what is said about {_lowered(heading)}"
            )
            yield MadeQuestion(
                text=asked,
                places=(place,),
                answer=answer,
                form="topic",
                kind="factual",
                rank=2,
                needs_topic=True,
            )


def _is_question(heading: str) -> bool:
    return heading.rstrip().endswith(("?", "？"))


def _joined(first: Row, second: Row) -> tuple[Place, ...]:
    one, other = sorted((first.place, second.place), key=lambda place: place.start)
    if other.start - one.end <= 2:
        return (Place(one.start, other.end, one.headings),)
    return one, other


def _value(cell: str) -> tuple[str, float] | None:
    """Return the unit and the number of a cell that holds one number and nothing else."""
    match = _MEASURED.fullmatch(cell.strip())
    if match is None:
        return None
    return f"{match['sign'] or ''}{match['unit'].strip()}", float(match["number"].replace(",", ""))


def _differ(one: tuple[str, float] | None, other: tuple[str, float] | None) -> bool:
    """Tell whether two values are different numbers of the same unit."""
    return one is not None and other is not None and one[0] == other[0] and one[1] != other[1]


def _lowered(words: str) -> str:
    """Return a label as it is written within a sentence, if its capital is only that of a beginning."""
    first, _, rest = words.partition(" ")
    is_plain = first[:1].isupper() and first[1:].islower() and len(first) > 1 and not rest[:1].isupper()
    return f"{first.lower()} {rest}".strip() if is_plain and rest else words


def _trimmed(place: Place, text: str) -> Place:
    """Return a place without white space at its ends."""
    written = place.of(text)
    start = place.start + len(written) - len(written.lstrip())
    return Place(start, start + len(written.strip()), place.headings)


@dataclass(frozen=True, slots=True)
class Property:
    """A row of a table that lists properties of what its document is about."""

    doc_id: str
    title: str
    row: Row


@dataclass(frozen=True, slots=True)
class PairAcross:
    """A property that the tables of two documents have, with other values."""

    text: str
    answer: str
    doc_ids: tuple[str, str]
    places: tuple[Place, Place]


def properties_of(passages: Passages) -> Iterator[Property]:
    """Yield the properties with a number that a document lists in tables of two columns."""
    for table in passages.tables if passages.title else ():
        if len(table.columns) == 2 and table.columns[1].casefold() in _GENERAL_COLUMNS:
            for row in table.rows:
                if _value(row.cells[1]) is not None:
                    yield Property(passages.doc_id, passages.title, row)


def pairs_across(properties: Iterable[Property], rng: random.Random) -> Iterator[PairAcross]:
    """Yield questions that compare two documents by a property that both list, each property in turn."""
    listed: dict[str, list[Property]] = {}
    for each in properties:
        listed.setdefault(each.row.cells[0], []).append(each)
    for group in listed.values():
        rng.shuffle(group)
    for turn in range(max(map(len, listed.values()), default=1) - 1):
        for label, group in listed.items():
            if turn + 1 < len(group):
                yield from _pair(label, group[turn], group[turn + 1])


def _pair(label: str, one: Property, other: Property) -> Iterator[PairAcross]:
    values = _value(one.row.cells[1]), _value(other.row.cells[1])
    if one.title == other.title or not _differ(*values):
        return
    yield PairAcross(
        text=_compared(label, one.title, other.title),
        answer=f"{one.title}: {one.row.cells[1]}; {other.title}: {other.row.cells[1]}",
        doc_ids=(one.doc_id, other.doc_id),
        places=(one.row.place, other.row.place),
    )
