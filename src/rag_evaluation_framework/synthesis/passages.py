"""The passages of a document from which questions are made: sentences, definitions and options.

A passage has its characters in the document, the same without the marks of Markdown, and the headings above
it. What states nothing by itself is left out: headings, rules, tables, code, comments, links, questions,
items of lists, and whatever is no whole sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from rag_evaluation_framework.records.documents import Document
from rag_evaluation_framework.retrieval.markdown_chunker import markdown_sections
from rag_evaluation_framework.synthesis.drafts import QuestionKind
from rag_evaluation_framework.synthesis.english_clauses import PARTS, THIRD_PERSON, VERBS, points, states
from rag_evaluation_framework.text.scripts import HAN, has_unspaced_script
from rag_evaluation_framework.text.sentences import sentence_spans
from rag_evaluation_framework.text.spans import Spanned
from rag_evaluation_framework.text.tokens import content_keys

_FENCE = re.compile(r"^[^\S\n]*(```|~~~)[^\n]*\n.*?(?:^[^\S\n]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(?:[^\n]*\n)*?---[ \t]*(?:\r?\n|\Z)")
_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_EXAMPLES = re.compile(r"^EXAMPLES?[ \t]*\n.*?(?=^[A-Z]|\Z)", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_ITEM = re.compile(
    r"\s*(?:(?P<bullet>[-*+•o·▪‣–]\s+)"
    r"|\(?(?:\d{1,3}(?:\.\d{1,3})*[.)]|[a-z][.)]|[ivx]{1,4}[.)])\s+|\d{1,3}、)"
)
_CAPITALS = re.compile(r"[^a-z\n]*[A-Z]{2}[^a-z\n]*\n?\Z")
_UNLIKE_PROSE = re.compile(
    r"\S[ \t]{4,}\S|\t\S|^\s*(?:\.\. |\[[^\]]*\]:|[<$|{}@]|>>>)|\.\.\.|…| [,;]|\A\d+ (?:the\b|[A-Z])"
    r"|\A\w+(?: \w+)? (?:An?|The|This|If|When) [a-z]",
    re.M,
)
# A sentence is whole: it begins as one, and ends as one.
_WHOLE = re.compile(r"[\"“‘'(《「]*(?:[A-Z0-9]|[^\W\da-zA-Z_]).*[.!。！][\"”’'）)」》]*\Z", re.S)
_WHOLE_END = re.compile(r"[.!。！][\"”’'）)」》]*\s*\Z")
_LEADS_IN = re.compile(r"[:：]\s*\Z")
_DEEPER = 3
# The name of a manual page stands under NAME, before a dash; a text may begin with its title in a line.
_MANUAL = re.compile(
    r"^NAME\s*\n\s+(?P<name>[\w.+:-]+(?: [\w.+:-]+){0,4}?)(?:,[^\n]*?)? +[-–—] ", re.MULTILINE
)
_FIRST_LINES = re.compile(
    r"\s*(?P<first>[^\s][^\n]{2,60}?)[ \t]*\n(?:[ \t]+[Vv]ersion[^\n]{1,40}\n)?[ \t]*\n"
)
_CENTRED = re.compile(r"^[ \t]{12,}([A-Z][a-z][^\n.;:,]{2,50})$", re.MULTILINE)
_NO_NAME = re.compile(r"[|=<>@\\{}\[\]]|\w/\w")
_NO_TITLE = re.compile(r"[.;:,=<>@|/\\(){}\[\]]|\d{4}|^[a-z]")
_OPTION = re.compile(
    r"^(?P<indent>[ \t]{2,})(?P<term>--?[A-Za-z0-9][^\n]*?)(?:\n(?P=indent)[ \t]{2,}|[ \t]{2,})"
    r"(?P<text>[A-Z][^\n]*(?:\n(?P=indent)[ \t]{2,}\S[^\n]*)*)",
    re.MULTILINE,
)
_ASKED = re.compile(
    r"(?:how|what|why|where|when|who)\b(?! (?:not|about|if|else)\b).|\w+ (?:I|you|we|my|your|our)\b"
    rf"|.*[{HAN}]",
    re.I,
)
_FEWEST_NEW_WORDS = 3
_FLAG = re.compile(r"(?<![\w-])--?[A-Za-z0-9][\w-]*")
_QUOTE = re.compile(r"\s*>+\s?")
_TABLE = re.compile(
    r"^[ \t]*\|?[^\n]*\|[^\n]*\n[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*\n"
    r"(?:[ \t]*\|?[^\n]*\|[^\n]*(?:\n|\Z))+",
    re.MULTILINE,
)
_DEFINITION = re.compile(
    r"\s*(?:\*\*|__)(?P<term>[^*_\n]{1,60}?)(?:\*\*|__)\s*(?:[–—]|-\s)\s*(?P<rest>\S.*)", re.S
)
_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\s]*(?:\s\"[^\"\n]*\")?\)")
_MARKS = re.compile(
    r"\*{1,3}(?=\S)(.+?)(?<=\S)\*{1,3}|(?<!\w)_{1,3}(?=\S)(.+?)(?<=\S)_{1,3}(?!\w)"
    r"|`+([^`\n<>]+?)(?: <[^`<>\n]+>)?`+(?:__?(?!\w))?"
)
_PICTURES = re.compile(r"[^\w\s.+#&'’()-]")
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
class Passages:
    """What a document offers to ask about.

    ``title`` is its first heading, the name of a manual page, or the line that a text begins with. A file
    name does not count, nor does what names a part of any document (README, Introduction).
    """

    title: str
    statements: tuple[Statement, ...]
    definitions: tuple[Definition, ...]
    options: tuple[Definition, ...]
    blocks: Mapping[tuple[str, ...], int]
    """How many blocks of text stand below each heading."""


def passages_of(document: Document) -> Passages:
    """Return the passages of a document in reading order."""
    statements: list[Statement] = []
    definitions: list[Definition] = []
    text = document.content
    led_in: int | None = None
    blocks: Counter[tuple[str, ...]] = Counter()
    for number, block in enumerate(_blocks(text)):
        blocks[block.headings] += 1
        item = _ITEM.match(text, block.start, block.end)
        # What a lead-in announces ("as follows:") says nothing without it, and a bullet is often no sentence.
        depth = _depth(text, block.start)
        is_led_in = led_in is not None and (item is not None or depth > led_in)
        if not is_led_in:
            led_in = depth if _LEADS_IN.search(block.of(text)) else None
        if is_led_in or (item is not None and item["bullet"]):
            continue
        defined = _DEFINITION.match(block.of(text))
        if defined is not None and _WHOLE_END.search(defined["rest"]):
            definitions.append(Definition(block, plain(defined["term"]), plain(defined["rest"])))
        statements.extend(_statements(text, block, number))
    options = tuple(_options(text)) if _MANUAL.search(text) is not None else ()
    return Passages(_title(document), tuple(statements), tuple(definitions), options, blocks)


def plain(text: str) -> str:
    """Return a text without the marks of Markdown, in one line.

    >>> plain("**Calf Rock** covers\\nat [half tide](tides.md)")
    'Calf Rock covers at half tide'
    """
    bare = _LINK.sub(r"\1", text)
    bare = _MARKS.sub(lambda match: match[1] or match[2] or match[3], bare)
    return " ".join(bare.split())


def _title(document: Document) -> str:
    paths = [section.headings for section in markdown_sections(document.content) if section.headings]
    if paths:
        # The first heading is a title if the others stand below it, and not beside it.
        first = paths[0][0]
        is_title = _NAME.search(first) and any(path[0] == first and path[1:] for path in paths)
        is_only = len({path[0] for path in paths}) == 1
        return title_of(first) if is_title or is_only else ""
    if document.title:
        return title_of(document.title)
    if (manual := _MANUAL.search(document.content)) is not None:
        return manual["name"]
    begun = _FIRST_LINES.match(document.content)
    if begun is None or _NO_TITLE.search(begun["first"]):
        return ""
    # A file of several texts has the titles of the others in it.
    others = () if _CENTRED.match(document.content.lstrip("\n")) else _CENTRED.findall(document.content)
    return "" if any(map(title_of, others)) else title_of(begun["first"])


def title_of(heading: str) -> str:
    """Return a heading without pictures around it; empty if it only says which part of a document it is."""
    title = plain(heading)
    words = re.findall(r"[^\W\d_]+", title.casefold())
    pictures = "".join(_PICTURES.findall(title))
    return (
        ""
        if PARTS.issuperset(words) or _NO_NAME.search(title)
        else title.strip(" #*_=~-–—:").lstrip(f"{pictures} ")
    )


def _blocks(text: str) -> Iterator[Place]:
    """Yield what blank lines, headings, tables, list marks and deeper lines set apart.

    Code, comments and headings are left out.
    """
    hidden = [match.span() for mark in (_FENCE, _COMMENT, _EXAMPLES) for match in mark.finditer(text)]
    if front := _FRONT_MATTER.match(text):
        hidden.append((0, front.end()))
    for section in markdown_sections(text):
        begin: int | None = None
        is_item, depth = False, 0
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
            is_break = is_break or table is not None or line.strip() == "." or _is_heading(line)
            deeper = _depth(text, position) - depth >= _DEEPER and not is_item
            if begin is not None and (is_break or deeper or _ITEM.match(line)):
                yield Place(begin, end, section.headings)
                begin = None
            if not is_break and begin is None:
                begin, is_item = position, _ITEM.match(line) is not None
            depth = _depth(text, position)
            position = end = line_end
        if begin is not None:
            yield Place(begin, end, section.headings)


def _is_underline(line: str) -> bool:
    return bool(line.strip()) and set(line.strip()) <= set("=-*_ ")


def _is_heading(line: str) -> bool:
    """Tell whether a line is a heading in capitals, as in manual pages and licences."""
    return _CAPITALS.match(line) is not None


def _depth(text: str, position: int) -> int:
    return len(text[position : position + 40]) - len(text[position : position + 40].lstrip(" \t"))


def _statements(text: str, block: Place, paragraph: int) -> Iterator[Statement]:
    lead = _ITEM.match(text, block.start, block.end) or _QUOTE.match(text, block.start, block.end)
    begin = lead.end() if lead is not None else block.start
    if plain(text[begin : block.end]) in map(plain, block.headings):
        return  # an underlined heading
    for start, end in sentence_spans(text[begin : block.end]):
        place = Place(begin + start, begin + end, block.headings)
        sentence = plain(place.of(text))
        if is_whole(place.of(text), sentence):
            yield Statement(place, sentence, paragraph)


def is_whole(written: str, sentence: str) -> bool:
    """Tell whether what is written is one whole sentence of prose that states something."""
    return (
        _WORD.search(sentence) is not None
        and _WHOLE.match(sentence) is not None
        and _UNLIKE_PROSE.search(written) is None
        and all(sentence.count(pair[0]) == sentence.count(pair[1]) for pair in ("()", "“”", "[]", "（）"))
        and sentence.count('"') % 2 == 0
        and "`" not in sentence
    )


def _options(text: str) -> Iterator[Definition]:
    """Yield the options of a command that are described once, each with its first sentence."""
    found = [(match, _FLAG.findall(match["term"])) for match in _OPTION.finditer(text)]
    times = Counter(name for _, names in found for name in set(names))
    for match, names in found:
        name = max(names, key=len)
        spans = sentence_spans(match["text"])
        start, end = (match.start("text") + place for place in spans[0]) if spans else (0, 0)
        sentence = plain(text[start:end])
        if times[name] == 1 and is_whole(text[start:end], sentence):
            yield Definition(Place(match.start("term"), end, ()), name, sentence)


# Questions about a passage, and those that the structure of a document asks by itself.

Form = Literal[
    "definition", "quantity", "time", "place", "cause", "manner", "person", "superlative", "object",
    "heading", "option",
]  # fmt: skip
"""What a question asks for; questions of a document are drawn from many forms before one comes twice."""

_ABBREVIATION = re.compile(r"[A-Z0-9][A-Z0-9.&/-]+\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeQuestion:
    """A question without its final mark, with the place that answers it.

    ``rank`` orders what is taken first: 0 reads as people ask. ``needs_topic`` says that the question would
    not be understood without what the document or section is about.
    """

    text: str
    place: Place
    answer: str
    form: Form
    kind: QuestionKind = "factual"
    rank: int = 0
    needs_topic: bool = False


def structure_questions(passages: Passages, text: str) -> Iterator[MadeQuestion]:
    """Yield what can be asked about a document's definitions, options and headings."""
    for definition in passages.definitions:
        yield from _about_definition(definition, text)
    for option in passages.options if passages.title else ():
        yield from _about_option(option, passages.title)
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


def _about_option(option: Definition, title: str) -> Iterator[MadeQuestion]:
    """Ask what an option does, if its description begins with what is done."""
    first, _, others = option.meaning.partition(" ")
    verb = first.casefold()
    # "--version: show the version" tells no more than its name does.
    new = set(content_keys(option.meaning)).difference(content_keys(option.term.replace("-", " ")))
    is_told = len(new) >= _FEWEST_NEW_WORDS and states(option.meaning) and not points(others)
    if (verb in VERBS or verb in THIRD_PERSON) and verb != "see" and is_told:
        text = f"what does the option {option.term} of {title} do"
        yield MadeQuestion(text=text, place=option.place, answer=option.meaning, form="option")


def _about_headings(passages: Passages) -> Iterator[MadeQuestion]:
    """Ask a heading that is a question itself, and that a single paragraph answers."""
    below: dict[tuple[str, ...], list[Statement]] = {}
    for statement in passages.statements:
        below.setdefault(statement.place.headings, []).append(statement)
    for headings, paragraph in below.items():
        heading = headings[-1] if headings else ""
        asked = is_question(heading) and _ASKED.match(heading)
        if asked and passages.blocks[headings] == 1 and not points(f"{heading} {paragraph[0].text}"):
            place = Place(paragraph[0].place.start, paragraph[-1].place.end, headings)
            answer = " ".join(each.text for each in paragraph)
            text = _lowered(heading.rstrip("?？ "))
            yield MadeQuestion(text=text, place=place, answer=answer, form="heading", needs_topic=True)


def _lowered(words: str) -> str:
    """Return a heading as it is written within a sentence, if its capital is only that of a beginning."""
    first, _, rest = words.partition(" ")
    is_name = rest[:1].isupper() and not rest.startswith(("I ", "I'", "I’"))
    is_plain = first[:1].isupper() and first[1:].islower() and len(first) > 1 and not is_name
    return f"{first.lower()} {rest}".strip() if is_plain and rest else words
