"""The passages of a document from which questions are made: sentences, definitions, tables and lists.

A passage has its characters in the document, the same without the marks of Markdown, and the headings above
it. What states nothing by itself is left out: headings, rules, code, links and questions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag_evaluation_framework.records.documents import Document
from rag_evaluation_framework.retrieval.markdown_chunker import markdown_sections
from rag_evaluation_framework.text.sentences import sentence_spans
from rag_evaluation_framework.text.spans import Spanned

_FENCE = re.compile(r"^[^\S\n]*(```|~~~)[^\n]*\n.*?(?:^[^\S\n]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(?:[^\n]*\n)*?---[ \t]*(?:\r?\n|\Z)")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_ITEM = re.compile(r"\s*(?:[-*+•]\s+|\d{1,3}[.)]\s+|\d{1,3}、)")
_QUOTE = re.compile(r"\s*>+\s?")
_TABLE = re.compile(
    r"^[ \t]*\|?(?P<head>[^\n]*\|[^\n]*)\n[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*\n"
    r"(?P<rows>(?:[ \t]*\|?[^\n]*\|[^\n]*(?:\n|\Z))+)",
    re.MULTILINE,
)
_DEFINITION = re.compile(
    r"\s*(?:\*\*|__)(?P<term>[^*_\n]{1,60}?)[:：]?(?:\*\*|__)\s*(?:[–—:：]|-\s)\s*(?P<rest>\S.*)", re.S
)
_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\s]*(?:\s\"[^\"\n]*\")?\)")
_MARKS = re.compile(
    r"\*{1,3}(?=\S)(.+?)(?<=\S)\*{1,3}|(?<!\w)_{1,3}(?=\S)(.+?)(?<=\S)_{1,3}(?!\w)|`+([^`\n]+)`+"
)
_ENDS_AS_QUESTION = re.compile(r"[?？][\s\"'”’»)\]）】」』》*]*\Z")
_WORD = re.compile(r"[^\W\d_]")
_NAME = re.compile(r"[^\W\d_]{2}")


@dataclass(frozen=True, slots=True)
class Place(Spanned):
    """Characters of a document, and the headings above them, outermost first."""

    start: int
    end: int
    headings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence; ``paragraph`` numbers what belongs together, so that a pronoun finds its noun."""

    place: Place
    text: str
    paragraph: int


@dataclass(frozen=True, slots=True)
class Definition:
    """A term in bold with what it means."""

    place: Place
    term: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table."""

    place: Place
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its header; rows have as many cells as the header."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """Items that stand in a list, without their marks."""

    place: Place
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Passages:
    """What a document offers to ask about. ``title`` is its first heading; a file name does not count."""

    doc_id: str
    title: str
    statements: tuple[Statement, ...]
    definitions: tuple[Definition, ...]
    tables: tuple[Table, ...]
    listings: tuple[Listing, ...]


def passages_of(document: Document) -> Passages:
    """Return the passages of a document in reading order."""
    statements: list[Statement] = []
    definitions: list[Definition] = []
    tables: list[Table] = []
    listings: list[Listing] = []
    paragraphs = 0
    text = document.content
    for block in _blocks(text):
        if (match := _TABLE.match(text, block.start, block.end)) is not None:
            tables.append(_table(text, match, block.headings))
            continue
        written = block.of(text)
        paragraphs += 1
        if (defined := _DEFINITION.match(written)) is not None:
            definitions.append(Definition(block, plain(defined["term"]), plain(defined["rest"])))
        statements.extend(_statements(text, block, paragraphs))
    listings.extend(_listings(text))
    return Passages(
        document.id, _title(document), tuple(statements), tuple(definitions), tuple(tables), tuple(listings)
    )


def plain(text: str) -> str:
    """Return a text without the marks of Markdown, in one line.

    >>> plain("**Calf Rock** covers\\nat [half tide](tides.md)")
    'Calf Rock covers at half tide'
    """
    bare = _LINK.sub(r"\1", text)
    bare = _MARKS.sub(lambda match: match[1] or match[2] or match[3], bare)
    return " ".join(bare.split())


def _title(document: Document) -> str:
    for section in markdown_sections(document.content):
        if section.headings and _NAME.search(section.headings[0]):
            return plain(section.headings[0])
    return document.title or ""


def _blocks(text: str) -> Iterator[Place]:
    """Yield what blank lines, headings, tables and list marks set apart; code and headings are left out."""
    hidden = [(match.start(), match.end()) for match in _FENCE.finditer(text)]
    if front := _FRONT_MATTER.match(text):
        hidden.append((0, front.end()))
    for section in markdown_sections(text):
        begin: int | None = None
        end = section.start
        position = section.start
        while position < section.end:
            line_end = text.find("\n", position, section.end)
            line_end = section.end if line_end < 0 else line_end + 1
            table = _TABLE.match(text, position, section.end)
            if table is not None:
                line_end = table.end()
            line = text[position:line_end]
            is_hidden = any(first <= position < last for first, last in hidden)
            is_break = is_hidden or not line.strip() or _HEADING.match(line) or _is_underline(line)
            if is_break or table is not None or _ITEM.match(line):
                if begin is not None:
                    yield Place(begin, end, section.headings)
                begin = None
            if table is not None and not is_hidden:
                yield Place(position, table.end(), section.headings)
            elif not is_break:
                begin = position if begin is None else begin
            position = end = line_end
        if begin is not None:
            yield Place(begin, end, section.headings)


def _is_underline(line: str) -> bool:
    return bool(line.strip()) and set(line.strip()) <= set("=-*_ ")


def _statements(text: str, block: Place, paragraph: int) -> Iterator[Statement]:
    lead = _ITEM.match(text, block.start, block.end) or _QUOTE.match(text, block.start, block.end)
    begin = lead.end() if lead is not None else block.start
    if plain(text[begin : block.end]) in map(plain, block.headings):
        return  # an underlined heading
    for start, end in sentence_spans(text[begin : block.end]):
        place = Place(begin + start, begin + end, block.headings)
        sentence = plain(place.of(text))
        if _WORD.search(sentence) and not _ENDS_AS_QUESTION.search(sentence):
            yield Statement(place, sentence, paragraph)


def _table(text: str, match: re.Match[str], headings: tuple[str, ...]) -> Table:
    columns = _cells(match["head"])
    rows: list[Row] = []
    position = match.start("rows")
    for line in match["rows"].splitlines(keepends=True):
        cells = _cells(line)
        start = position + len(line) - len(line.lstrip())
        position += len(line)
        if len(cells) == len(columns) and any(cells):
            rows.append(Row(Place(start, start + len(line.strip()), headings), cells))
    return Table(columns, tuple(rows))


def _cells(line: str) -> tuple[str, ...]:
    return tuple(plain(cell.replace("\\|", "|")) for cell in re.split(r"(?<!\\)\|", line.strip().strip("|")))


def _listings(text: str) -> Iterator[Listing]:
    """Yield runs of at least two items that follow one another."""
    run: list[Place] = []
    for block in _blocks(text):
        is_item = _ITEM.match(text, block.start, block.end) is not None
        follows = run and block.headings == run[-1].headings and not text[run[-1].end : block.start].strip()
        if run and not (is_item and follows):
            yield from _listing(text, run)
            run = []
        if is_item:
            run.append(block)
    yield from _listing(text, run)


def _listing(text: str, run: Sequence[Place]) -> Iterator[Listing]:
    if len(run) > 1:
        end = run[0].start + len(text[run[0].start : run[-1].end].rstrip())
        items = tuple(plain(_ITEM.sub("", item.of(text), count=1)) for item in run)
        yield Listing(Place(run[0].start, end, run[0].headings), items)
