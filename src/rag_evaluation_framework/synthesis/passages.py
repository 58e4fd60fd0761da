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
from rag_evaluation_framework.synthesis.english_clauses import (
    BE,
    DETERMINERS,
    MONTH,
    NOUNS_TOO,
    PARTS,
    POSSESSIVES,
    PREPOSITIONS,
    SAYING_NOTHING,
    THIRD_PERSON,
    VERBS,
    points,
    states,
)
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
_LATEST_TITLE = 600
# The name of a manual page stands under NAME, before a dash; a text may begin with its title in a line.
_MANUAL = re.compile(
    r"^NAME\s*\n\s+(?P<name>[\w.+:-]+(?: [\w.+:-]+){0,4}?)(?P<more>,[^\n]*?)?"
    r" +[-–—] +(?P<what>[^\n]+(?:\n[ \t]+[^\n]+)*)",
    re.MULTILINE,
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
_LONGEST_NAME = 8
_FEWEST_NEW_WORDS = 3
_FLAG = re.compile(r"(?<![\w-])--?[A-Za-z0-9][\w-]*")
_ARGUMENT = re.compile(r"[A-Za-z][\w-]*")
_LETTER_AND_NAME = 2
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
_BROKEN_WORD = re.compile(r"\w[-‐‑]\s*\n")
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
    is_manual: bool
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
    title = _title(document)
    manual = _MANUAL.search(text)
    is_manual = manual is not None and manual["name"] == title
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
        and _BROKEN_WORD.search(written) is None
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


# Questions about a passage, and those that the structure of a document asks by itself.

Form = Literal[
    "definition", "quantity", "time", "place", "cause", "manner", "person", "superlative", "object",
    "purpose", "heading", "option",
]  # fmt: skip
"""What a question asks for; questions of a document are drawn from many forms before one comes twice."""

_GLUED = re.compile(r"-[A-Z][a-z]+\Z")  # "-Dname": an argument without a space
_PLACEHOLDER = re.compile(r"<[^>]*>|\b[A-Z]+_[A-Z_]+\b|\[[^\]]*\]")
_LONGEST_ENTRY = 1200
_FEWEST_VERSIONS = 3
_DEBIAN_ENTRY = re.compile(
    r"^(?P<name>[a-z0-9][a-z0-9+.-]+) \((?P<version>[^()\s]+)\) (?!UNRELEASED)[^\n;]+; urgency=\w+\n"
    r"(?P<body>(?:(?! --|\S)[^\n]*\n)+) -- (?P<who>[^<\n]+?) <[^>\n]*>  "
    r"(?P<date>\w{3}, +\d{1,2} \w{3} \d{4})\b",
    re.MULTILINE,
)
_ONLY_ITEM = re.compile(r"\s*\n {2}\* (?P<item>[^\n]+\n(?: {4}(?![-+*])[^\n]+\n)*)\s*")
_ENTRY_SENTENCE = re.compile(r"[A-Z](?:[^\n:;\[\].]|\.(?=\S))*[a-z0-9)]\.?")
_ORDINAL = r"\d{1,2}(?:st|nd|rd|th)?"
_DAY = rf"\d{{4}}-\d\d-\d\d|{_ORDINAL} {MONTH} \d{{4}}|{MONTH} {_ORDINAL},? \d{{4}}"
_VERSION = r"(?:v|[Vv]ersion |[Rr]elease |[Rr]evision )?(?P<version>\d+(?:\.\d+)+(?:[\w.+-]*\w)?)"
_RELEASE = re.compile(
    rf"^(?P<line>[#*= ]{{0,5}}\[?{_VERSION}\]?(?:\([^()\s]*\))?[ ,:–—-]*"
    rf"\(?(?:released )?(?:on )?(?P<date>{_DAY})\)?)[ \t:.]*$",
    re.MULTILINE,
)
_DATED_RELEASE = re.compile(rf"^(?P<line>#{{1,4}} (?P<date>{_DAY}), {_VERSION}\b[^\n]*)", re.MULTILINE)
_UPSTREAM = re.compile(r"^Upstream-Name:[ \t]*(?P<name>\S[^\n]*)", re.MULTILINE)
_FILES = re.compile(
    r"^Files:[ \t]*(?P<files>\S[^\n]*)\nCopyright:[ \t]*(?P<holder>\S[^\n]*(?:\n[ \t]+[^\n]+)*)\n"
    r"License:[ \t]*(?P<license>\S[^\n]*)",
    re.MULTILINE,
)
_NO_HOLDER = re.compile(r"[<>:/]|HOLDER|rights reserved", re.I)
_EMAIL = re.compile(r"\s*<[^<>]*>")
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
    if passages.is_manual:
        yield from _about_command(passages.title, text)
    yield from _about_releases(text)
    yield from _about_copyright(text)


_NUMBERING = re.compile(
    r"\A(?:[\dIVX]+[.)]?)+\s+|\A第[一二三四五六七八九十]+[章节条]\s*|\A[一二三四五六七八九十]+、"
)
# A section that is a question, a version or a date names nothing; nor does one with notes of its own.
_NO_SECTION = re.compile(r"[?？()（）:：“”<>]|\d\.\d|\d{4}")


def section_of(place: Place) -> str:
    """Return the name of the section of a place, below the title; empty if it has none."""
    heading = _NUMBERING.sub("", plain(place.headings[-1])) if place.headings[1:] else ""
    return "" if _NO_SECTION.search(heading) or not is_short(heading) else heading


def is_short(name: str) -> bool:
    """Tell whether a title or heading is short enough to be part of a question."""
    return len(name.split()) <= _LONGEST_NAME and len(name) <= 60


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
    if _is_deed(option.meaning, f"{option.term} {title}") and _GLUED.match(option.term) is None:
        text = f"what does the option {option.term} of {title} do"
        yield MadeQuestion(text=text, place=option.place, answer=option.meaning, form="option")


def _about_command(title: str, text: str) -> Iterator[MadeQuestion]:
    """Ask what a manual page is about, by the line under NAME, if it has one name only."""
    manual = _MANUAL.search(text)
    if manual is None or manual["more"] or _BROKEN_WORD.search(manual["what"]):
        return
    what = plain(manual["what"]).rstrip(".")
    if re.search(r"\bman(?:ual)? page", what):
        return
    if _is_deed(what, title, fewest=2):
        asked = f"what does {title} do"
    elif re.match(r"(?:an?|the) ", what, re.I) and len(_new_words(what, title)) >= _FEWEST_NEW_WORDS:
        asked = f"what is {title}"
    else:
        return
    place = Place(manual.start("name"), manual.end("what"), ())
    yield MadeQuestion(text=asked, place=place, answer=what, form="definition")


def _is_deed(text: str, name: str, *, fewest: int = _FEWEST_NEW_WORDS) -> bool:
    """Tell whether a description begins with what is done, and tells more than a name does.

    ``Name of the file`` and ``process viewer`` begin with nouns; ``Print the version`` tells nothing.
    """
    first, _, others = text.partition(" ")
    verb, following = first.casefold(), others.partition(" ")[0]
    return (
        (verb in VERBS or THIRD_PERSON.get(verb) in VERBS)
        and verb not in ("see", "be", "note")
        and (verb not in NOUNS_TOO or following in DETERMINERS | POSSESSIVES | {"or", "and"})
        and following not in PREPOSITIONS | BE
        and len(_new_words(others, name)) >= fewest
        and states(text)
        and not points(others)
        and _PLACEHOLDER.search(others) is None
        and re.search(r"[:;]\s", others) is None
    )


def _new_words(text: str, name: str) -> set[str]:
    """Return the words of a description that its name does not say, without those of every description."""
    said = content_keys(re.sub(r"[-_.]", " ", name))
    return {key for key in content_keys(text) if key not in said} - set(
        content_keys(" ".join(SAYING_NOTHING))
    )


def _about_releases(text: str) -> Iterator[MadeQuestion]:
    """Ask when a version came out, by whom, and for what, as the entries of changelogs tell."""
    for entry in _DEBIAN_ENTRY.finditer(text):
        package = f"version {entry['version']} of the Debian package {entry['name']}"
        place = Place(entry.start(), entry.end(), ())
        if entry.end() - entry.start() > _LONGEST_ENTRY:
            continue
        only = _ONLY_ITEM.fullmatch(entry["body"])
        item = plain(only["item"]) if only is not None else ""
        if _ENTRY_SENTENCE.fullmatch(item) and _is_deed(item, entry["name"]):
            yield MadeQuestion(
                text=f"what changed in {package}", place=place, answer=item, form="object", rank=1
            )
        yield MadeQuestion(
            text=f"when was {package} released",
            place=place,
            answer=entry["date"],
            form="time",
            kind="temporal",
            rank=1,
        )
        yield MadeQuestion(
            text=f"who released {package}", place=place, answer=entry["who"], form="person", rank=1
        )
    dated = [*_RELEASE.finditer(text), *_DATED_RELEASE.finditer(text)]
    times = Counter(each["version"] for each in dated)
    for each in dated if len(times) >= _FEWEST_VERSIONS else ():
        if times[each["version"]] == 1:
            place = Place(each.start("line"), each.end("line"), ())
            asked = f"when was version {each['version']} released"
            yield MadeQuestion(
                text=asked,
                place=place,
                answer=each["date"],
                form="time",
                kind="temporal",
                rank=1,
                needs_topic=True,
            )


def _about_copyright(text: str) -> Iterator[MadeQuestion]:
    """Ask whose files are, and under which licence, as machine-readable copyright files of Debian tell."""
    named = _UPSTREAM.search(text)
    if named is None:
        return
    for stanza in _FILES.finditer(text):
        files = " ".join(stanza["files"].split())
        lines = (" ".join(line.split()) for line in stanza["holder"].splitlines())
        holder = _EMAIL.sub("", "; ".join(lines)).rstrip(" ,;")
        if files == "*" or " " in files or _NO_HOLDER.search(holder):
            continue  # what holds for all has its exceptions
        is_one = "*" not in files and "?" not in files
        of = f"the file{'' if is_one else 's'} {files} of {named['name'].strip()}"
        place = Place(stanza.start(), stanza.end("license"), ())
        yield MadeQuestion(
            text=f"who holds the copyright of {of}", place=place, answer=holder, form="person", rank=1
        )
        licence = stanza["license"].strip()
        yield MadeQuestion(
            text=f"under which licence {'is' if is_one else 'are'} {of} distributed",
            place=place,
            answer=licence,
            form="object",
            rank=1,
        )


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
