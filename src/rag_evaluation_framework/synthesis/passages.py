"""The passages of a document from which questions are made: sentences, definitions and options.

A passage has its characters in the document, the same without the marks of Markdown, and the headings above
it. What states nothing by itself is left out: headings, rules, tables, code, comments, links, questions,
items of lists, and text that is no whole sentence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Literal

import msgspec

from rag_evaluation_framework.records.documents import Corpus, Document
from rag_evaluation_framework.retrieval.markdown_chunker import markdown_sections
from rag_evaluation_framework.synthesis.drafts import ABOUT_A_SECTION, Draft, Drafts, Excerpt, QuestionKind
from rag_evaluation_framework.synthesis.english_clauses import PARTS
from rag_evaluation_framework.text.scripts import has_unspaced_script
from rag_evaluation_framework.text.sentences import sentence_spans
from rag_evaluation_framework.text.spans import Spanned

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
# The name of a manual page stands under NAME, before a dash; a text may begin with its title in a line.
MANUAL = re.compile(
    r"^NAME\s*\n\s+(?P<name>[\w.+:-]+(?: [\w.+:-]+){0,4}?)(?P<more>,[^\n]*?)?"
    r" +[-–—] +(?P<what>[^\n]+(?:\n[ \t]+[^\n]+)*)",
    re.MULTILINE,
)
_FIRST_LINES = re.compile(
    r"\s*(?P<first>[^\s][^\n]{2,60}?)[ \t]*\n(?:[ \t]+[Vv]ersion[^\n]{1,40}\n)?[ \t]*\n"
)
_CENTRED = re.compile(r"^[ \t]{12,}([A-Z][a-z][^\n.;:,]{2,50})$", re.MULTILINE)
_NO_NAME = re.compile(r"[|=<>@\\{}\[\]]|\w/\w|\A[.$~]+/")
# "but modified significantly": a title has a capital, or is a name, as "setup.py".
_REMNANT = re.compile(r"[a-z]+ [a-z]")
_RIGHTS = re.compile(r"^Files:[^\n]*\nCopyright:", re.MULTILINE)
_TERM = re.compile(r"[-\w.+:%]*\w")
_NO_TITLE = re.compile(r"[.;:,=<>@|/\\(){}\[\]]|\d{4}|^[a-z]")
_OPTION = re.compile(
    r"^(?P<indent>[ \t]{2,})(?P<term>--?[A-Za-z0-9][^\n]*?)(?:\n(?P=indent)[ \t]{2,}|[ \t]{2,})"
    r"(?P<text>[A-Z][^\n]*(?:\n(?P=indent)[ \t]{2,}\S[^\n]*)*)",
    re.MULTILINE,
)
_FLAG = re.compile(r"(?<![\w-])--?[A-Za-z0-9][\w-]*")
_ARGUMENT = re.compile(r"[A-Za-z][\w-]*")
_QUOTE = re.compile(r"\s*>+\s?")
_TABLE = re.compile(
    r"^[ \t]*\|?[^\n]*\|[^\n]*\n[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*\n"
    r"(?:[ \t]*\|?[^\n]*\|[^\n]*(?:\n|\Z))+",
    re.MULTILINE,
)
_DEFINITION = re.compile(
    r"\s*(?:\*\*|__)(?P<term>[^*_\n]{1,60}?)(?:\*\*|__)\s*(?:[–—]|-\s)\s*(?P<rest>\S.*)", re.S
)
_ROLE = re.compile(r":[\w:-]+:(?=`)")
BROKEN_WORD = re.compile(r"\w[-‐‑]\s*\n")
_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\s]*(?:\s\"[^\"\n]*\")?\)")
_MARKS = re.compile(
    r"\*{1,3}(?=\S)(.+?)(?<=\S)\*{1,3}|(?<!\w)_{1,3}(?=\S)(.+?)(?<=\S)_{1,3}(?!\w)"
    r"|`+([^`\n<>]+?)(?: <[^`<>\n]+>)?`+(?:__?(?!\w))?"
)
_PICTURES = re.compile(r"[^\w\s.+#&'’()-]")
_NUMBERING = re.compile(
    r"\A(?:[\dIVX]+[.)]?)+\s+|\A第[一二三四五六七八九十]+[章节条]\s*|\A[一二三四五六七八九十]+、"
)
# A section that is a question, a version or a date names nothing; nor does one with notes of its own.
_NO_SECTION = re.compile(r"[?？()（）:：“”<>]|\d\.\d|\d{4}")
_DEEPER = 3
_DEEPEST_HEADING = 5
_LATEST_TITLE = 600
_LONGEST_NAME = 8
_LETTER_AND_NAME = 2
_WORD = re.compile(r"[^\W\d_]")
_NAME = re.compile(r"[^\W\d_]{2}")


class Place(msgspec.Struct, Spanned, frozen=True):
    """Characters of a document, and the headings above them, outermost first."""

    start: int
    end: int
    headings: tuple[str, ...]


class Statement(msgspec.Struct, frozen=True):
    """A sentence; ``paragraph`` numbers what belongs together, so that a pronoun finds its noun."""

    place: Place
    text: str
    paragraph: int


class Definition(msgspec.Struct, frozen=True):
    """A term in bold with what it means."""

    place: Place
    term: str
    meaning: str


class Passages(msgspec.Struct, frozen=True):
    """The passages of a document for which questions can be written.

    ``title`` is its first heading, the name of a manual page, or the line that a text begins with. A file
    name does not count, nor does what names a part of any document (README, Introduction).
    """

    title: str
    is_manual: bool
    statements: tuple[Statement, ...]
    definitions: tuple[Definition, ...]
    options: tuple[Definition, ...]
    blocks: Mapping[tuple[str, ...], int]
    """Number of blocks of text below each heading."""


def passages_of(document: Document) -> Passages:
    """Return the passages of a document in reading order."""
    statements: list[Statement] = []
    definitions: list[Definition] = []
    text = document.content
    title = _title(document)
    manual = MANUAL.search(text)
    is_manual = manual is not None and manual["name"] == title
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
        term = _term_above(text, block.start) if is_manual else ""
        statements.extend(each for each in _statements(text, block, number) if term in each.text)
    options = tuple(_options(text)) if is_manual else ()
    return Passages(title, is_manual, tuple(statements), tuple(definitions), options, blocks)


def plain(text: str) -> str:
    """Return a text without the marks of Markdown, in one line.

    >>> plain("**Calf Rock** covers\\nat [half tide](tides.md)")
    'Calf Rock covers at half tide'
    """
    bare = _ROLE.sub("", _LINK.sub(r"\1", text))
    bare = _MARKS.sub(lambda match: match[1] or match[2] or match[3], bare)
    return " ".join(bare.split())


def _title(document: Document) -> str:
    if _RIGHTS.search(document.content):
        return ""  # what looks like a heading is a comment
    sections = [section for section in markdown_sections(document.content) if section.headings]
    paths = [section.headings for section in sections]
    if paths and sections[0].start < _LATEST_TITLE and not paths[0][0].endswith("."):
        # The first heading is a title if the others stand below it, and not beside it.
        first = paths[0][0]
        is_title = _NAME.search(first) and any(path[0] == first and path[1:] for path in paths)
        is_only = len({path[0] for path in paths}) == 1
        return title_of(first) if is_title or is_only else ""
    if document.title:
        return title_of(document.title)
    if (manual := MANUAL.search(document.content)) is not None:
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
        if PARTS.issuperset(words) or _NO_NAME.search(title) or _REMNANT.match(title)
        else title.strip(" #*_=~-–—:").lstrip("".join(set(pictures) - set("《〈“"))).strip()
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
            is_underline = set(line.strip()) <= set("=-*_ ")  # or the line is blank
            is_break = is_hidden or is_underline or table is not None or line.strip() == "."
            is_break = is_break or bool(_HEADING.match(line) or _CAPITALS.match(line))
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


def _depth(text: str, position: int) -> int:
    return len(text[position : position + 40]) - len(text[position : position + 40].lstrip(" \t"))


def _term_above(text: str, position: int) -> str:
    """Return what a deeper block of a manual page describes, an option or a field; empty if it is prose.

    The term stands in the nearest line above that is less deep. What is said below it holds of it, so that a
    sentence that does not name it is not understood.
    """
    depth = _depth(text, position)
    end = position - 1
    while end > 0:
        begin = text.rfind("\n", 0, end) + 1
        line = text[begin:end]
        above = _depth(text, begin)
        if line.strip() and above < depth:
            term = _TERM.search(line)
            is_heading = above < _DEEPEST_HEADING or term is None or _WHOLE_END.search(line)
            return "" if is_heading or term is None else term[0]
        end = begin - 1
    return ""


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
    """Return True if a text is one whole sentence of prose that states something."""
    return (
        _WORD.search(sentence) is not None
        and _WHOLE.match(sentence) is not None
        and _UNLIKE_PROSE.search(written) is None
        and all(sentence.count(pair[0]) == sentence.count(pair[1]) for pair in ("()", "“”", "[]", "（）"))
        and sentence.count('"') % 2 == 0
        and "`" not in sentence
        and BROKEN_WORD.search(written) is None
    )


def _options(text: str) -> Iterator[Definition]:
    """Yield the options of a command that are described once, each with its first sentence.

    An option has one name, beside a letter: of ``--diagnose, --no-diagnose`` one does the opposite, also
    where each has its own line. Its argument is named with it if the sentence speaks of that.
    """
    found = [(match, _FLAG.findall(match["term"])) for match in _OPTION.finditer(text)]
    times = Counter(name for _, names in found for name in set(names))
    for match, names in found:
        name = max(names, key=len)
        above = text[: match.start()].rstrip("\n").rpartition("\n")[2].strip()
        is_stacked = text[: match.start()].endswith("\n") and not text[: match.start()].endswith("\n\n")
        if (is_stacked and above.startswith("-")) or name.lstrip("-").startswith("no"):
            continue
        if len(names) > _LETTER_AND_NAME or any(
            each != name and len(each) > _LETTER_AND_NAME for each in names
        ):
            continue
        spans = sentence_spans(match["text"])
        start, end = (match.start("text") + place for place in spans[0]) if spans else (0, 0)
        sentence = plain(text[start:end])
        arguments = _ARGUMENT.findall(match["term"].partition(name)[2])
        said = {word.casefold() for word in _ARGUMENT.findall(sentence)}
        spoken_of = [each for each in arguments if each.casefold() in said]
        if spoken_of and (len(arguments) > 1 or not arguments[0].isupper()):
            continue  # "Use a buffer of size to query"
        if times[name] == 1 and is_whole(text[start:end], sentence):
            term = f"{name} {spoken_of[0]}" if spoken_of else name
            yield Definition(Place(match.start("term"), end, ()), term, sentence)


# Questions about a passage.

Form = Literal[
    "definition", "quantity", "time", "place", "cause", "manner", "person", "superlative", "object",
    "purpose", "heading", "option",
]  # fmt: skip
"""Form of a question; questions of a document have many forms before one is repeated."""


class MadeQuestion(msgspec.Struct, frozen=True, kw_only=True):
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


def section_of(place: Place) -> str:
    """Return the name of the section of a place, below the title; empty if it has none."""
    heading = _NUMBERING.sub("", plain(place.headings[-1])) if place.headings[1:] else ""
    return "" if _NO_SECTION.search(heading) or not is_short(heading) else heading


def is_short(name: str) -> bool:
    """Return True if a title or heading is short enough to be part of a question."""
    return len(name.split()) <= _LONGEST_NAME and len(name) <= 60


def is_question(heading: str) -> bool:
    """Return True if a heading is a question itself."""
    return heading.rstrip().endswith(("?", "？"))


# Questions about whole sections, where the sentences of a corpus give next to none.
#
# Technical pages seldom say when, where or how much, which is what the rules ask for. Their headings still
# say what stands below them: enough to compare chunkers, too little to test facts.

_FEWEST_CHARACTERS, _MOST_CHARACTERS = 120, 1200


def filled_with_sections(
    drafts: Drafts, corpus: Corpus, queries_per_doc: int, kinds: Collection[QuestionKind]
) -> Drafts:
    """Add questions about sections if there are fewer questions than documents: as many as are missing."""
    if len(drafts.kept) >= len(corpus) or "analytical" not in kinds:
        return drafts
    made = Counter(draft.origin for draft in drafts.kept)
    added: list[Draft] = []
    for document in corpus:
        sections = list(_section_drafts(document))
        wanted = max(queries_per_doc - made[document.id], 0)
        # From all over the document: every n-th section.
        step = max(len(sections) / wanted, 1) if wanted else 1
        added += [sections[int(number * step)] for number in range(min(wanted, len(sections)))]
    filled = Counter(draft.origin for draft in added)
    rejected = []
    for rejection in drafts.rejected:
        if rejection.reason == "nothing-to-ask" and filled[rejection.origin]:
            filled[rejection.origin] -= 1
        else:
            rejected.append(rejection)
    return Drafts((*drafts.kept, *added), tuple(rejected))


def _section_drafts(document: Document) -> Iterator[Draft]:
    """Yield a question for each section that has a name of its own and says something."""
    sections: dict[tuple[str, ...], list[Place]] = {}
    for block in _blocks(document.content):
        sections.setdefault(block.headings, []).append(block)
    names = Counter(_heading_name(headings) for headings in sections)
    title = _heading_name(next(iter(sections), ())[:1]) or PurePosixPath(document.id).name
    for headings, blocks in sections.items():
        name = _heading_name(headings)
        start, end = blocks[0].start, blocks[0].end
        for block in blocks:
            end = block.end if block.end - start <= _MOST_CHARACTERS else end
        text = document.content[start:end].rstrip()
        is_of_size = len(plain(text)) >= _FEWEST_CHARACTERS and len(text) <= _MOST_CHARACTERS
        if not name or name == title or names[name] > 1 or not is_of_size:
            continue
        excerpt = Excerpt(document.id, start, start + len(text), text)
        asked = f"What does the section “{name}” of “{title}” say?"
        if has_unspaced_script(name):
            asked = f"《{title}》的“{name}”部分说了什么？"
        yield Draft(
            question=asked,
            excerpts=(excerpt,),
            kind="analytical",
            difficulty="medium",
            origin=document.id,
            flags=(ABOUT_A_SECTION,),
        )


def _heading_name(headings: tuple[str, ...]) -> str:
    """Return the innermost heading, if it has words and is short."""
    name = _NUMBERING.sub("", plain(headings[-1])).strip(" #*_=~:：") if headings else ""
    return name if is_short(name) and _NAME.search(name) else ""
