"""The passages of a document from which questions are made: sentences, definitions and lists.

A passage has its characters in the document, the same without the marks of Markdown, and the headings above
it. What states nothing by itself is left out: headings, rules, tables, code, links and questions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rag_evaluation_framework.records.documents import Document
from rag_evaluation_framework.retrieval.markdown_chunker import markdown_sections
from rag_evaluation_framework.synthesis.drafts import QuestionKind
from rag_evaluation_framework.text.scripts import has_unspaced_script
from rag_evaluation_framework.text.sentences import sentence_spans
from rag_evaluation_framework.text.spans import Spanned

_FENCE = re.compile(r"^[^\S\n]*(```|~~~)[^\n]*\n.*?(?:^[^\S\n]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(?:[^\n]*\n)*?---[ \t]*(?:\r?\n|\Z)")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_ITEM = re.compile(r"\s*(?:[-*+•]\s+|\d{1,3}[.)]\s+|\d{1,3}、)")
_QUOTE = re.compile(r"\s*>+\s?")
_TABLE = re.compile(
    r"^[ \t]*\|?[^\n]*\|[^\n]*\n[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*\n"
    r"(?:[ \t]*\|?[^\n]*\|[^\n]*(?:\n|\Z))+",
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
class Listing:
    """Items that stand in a list, without their marks."""

    place: Place
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Passages:
    """What a document offers to ask about. ``title`` is its first heading; a file name does not count."""

    title: str
    statements: tuple[Statement, ...]
    definitions: tuple[Definition, ...]
    listings: tuple[Listing, ...]


def passages_of(document: Document) -> Passages:
    """Return the passages of a document in reading order."""
    statements: list[Statement] = []
    definitions: list[Definition] = []
    text = document.content
    for number, block in enumerate(_blocks(text)):
        if (defined := _DEFINITION.match(block.of(text))) is not None:
            definitions.append(Definition(block, plain(defined["term"]), plain(defined["rest"])))
        statements.extend(_statements(text, block, number))
    return Passages(_title(document), tuple(statements), tuple(definitions), tuple(_listings(text)))


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
            is_break = is_break or table is not None
            if begin is not None and (is_break or _ITEM.match(line)):
                yield Place(begin, end, section.headings)
                begin = None
            if not is_break and begin is None:
                begin = position
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


# Questions about a passage, and those that the structure of a document asks by itself.

Form = Literal[
    "definition", "quantity", "time", "place", "cause", "condition", "person", "superlative", "decision",
    "object", "listing", "heading", "topic",
]  # fmt: skip
"""What a question asks for; questions of a document are drawn from many forms before one comes twice."""

_ABBREVIATION = re.compile(r"[A-Z0-9][A-Z0-9.&/-]+\Z")
_FEWEST_ITEMS = 3
_LONGEST_LISTING = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeQuestion:
    """A question without its final mark, with the place that answers it.

    ``rank`` orders what is taken first: 0 reads as people ask, 2 is a last resort. ``needs_topic`` says that
    the question would not be understood without what the document or section is about.
    """

    text: str
    place: Place
    answer: str
    form: Form
    kind: QuestionKind = "factual"
    rank: int = 0
    needs_topic: bool = False


def structure_questions(passages: Passages, text: str) -> Iterator[MadeQuestion]:
    """Yield what can be asked about a document's definitions, lists and headings."""
    for definition in passages.definitions:
        yield from _about_definition(definition, text)
    for listing in passages.listings:
        yield from _about_listing(listing, passages.title)
    yield from _about_headings(passages)


def is_question(heading: str) -> bool:
    """Tell whether a heading is a question itself."""
    return heading.rstrip().endswith(("?", "？"))


def _about_definition(definition: Definition, text: str) -> Iterator[MadeQuestion]:
    term = definition.term.strip(" .:：")
    is_chinese = has_unspaced_script(term)
    if not term or len(term.split()) > 5 or (len(definition.meaning.split()) < 2 and not is_chinese):
        return
    if is_chinese:
        asked = f"“{term}”是什么意思"
    elif _ABBREVIATION.match(term):
        asked = f"what does {term} stand for"
    else:
        asked = f"what is meant by “{term}”"
    written = definition.place.of(text)
    start = definition.place.start + len(written) - len(written.lstrip())
    place = Place(start, start + len(written.strip()), definition.place.headings)
    yield MadeQuestion(text=asked, place=place, answer=definition.meaning, form="definition")


def _about_listing(listing: Listing, title: str) -> Iterator[MadeQuestion]:
    place = listing.place
    if len(listing.items) < _FEWEST_ITEMS or not place.headings or place.size > _LONGEST_LISTING:
        return
    heading = place.headings[-1]
    if is_question(heading):
        return
    is_chinese = has_unspaced_script(heading)
    yield MadeQuestion(
        text=f"{heading}包括哪些" if is_chinese else f"what is listed under {_lowered(heading)}",
        place=place,
        answer="; ".join(listing.items),
        form="listing",
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
        heading = headings[-1]
        if is_question(heading):
            text = _lowered(heading.rstrip("?？ "))
            yield MadeQuestion(text=text, place=place, answer=answer, form="heading")
        elif len(headings) > 1 and len(heading) > 2:
            is_chinese = has_unspaced_script(heading)
            asked = f"关于{heading}有什么规定" if is_chinese else f"what is said about {_lowered(heading)}"
            yield MadeQuestion(text=asked, place=place, answer=answer, form="topic", rank=2, needs_topic=True)


def _lowered(words: str) -> str:
    """Return a heading as it is written within a sentence, if its capital is only that of a beginning."""
    first, _, rest = words.partition(" ")
    is_plain = first[:1].isupper() and first[1:].islower() and len(first) > 1 and not rest[:1].isupper()
    return f"{first.lower()} {rest}".strip() if is_plain and rest else words
