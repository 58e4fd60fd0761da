"""The three kinds of citation and every form in which they are written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import msgspec

from rag_evaluation_framework.errors import InputError, Issue, invalid, shown
from rag_evaluation_framework.records.documents import CharacterSpan, Document, check_range
from rag_evaluation_framework.startup import late_pattern
from rag_evaluation_framework.structs import replace
from rag_evaluation_framework.text.display import short_repr
from rag_evaluation_framework.text.scripts import ONE_TO_TEN
from rag_evaluation_framework.text.spans import Spanned


class SpanCitation(msgspec.Struct, Spanned, frozen=True):
    """The characters ``[start, end)`` of a file, or of one page of it.

    Args:
        file: Name of the file.
        start: Position of the first character.
        end: Position after the last character.
        page: Number of the page, if positions count from its beginning.
        text: The cited text.
        confidence: Confidence of its source.
        extra: Other values of its file, which are written back.

    Example:
        >>> from rag_evaluation_framework import SpanCitation
        >>> SpanCitation("guide.pdf", 10, 42, page=3).page
        3
    """

    file: str
    start: int
    end: int
    page: int | None = None
    text: str | None = None
    confidence: float | None = None
    extra: Mapping[str, Any] = {}

    def __hash__(self) -> int:
        return hash((self.file, self.start, self.end, self.page))

    __repr__ = short_repr

    def __post_init__(self) -> None:
        _check_file(self.file)
        check_range(self.start, self.end)
        if self.page is not None and (not isinstance(self.page, int) or isinstance(self.page, bool)):
            raise invalid("page", "a whole number", self.page)
        confidence = self.confidence
        if confidence is not None and not (isinstance(confidence, int | float) and 0 <= confidence <= 1):
            raise invalid("confidence", "a number from 0 to 1", confidence)


class TokenSpanCitation(msgspec.Struct, Spanned, frozen=True):
    """The tokens ``[start, end)`` of a file, counted by the named tokenizer."""

    file: str
    start: int
    end: int
    tokenizer: str

    def __post_init__(self) -> None:
        _check_file(self.file)
        check_range(self.start, self.end)


class ContextCitation(msgspec.Struct, frozen=True):
    """A numbered context shown to the model: ``[2]`` is the second one.

    Args:
        number: Number of the context, from 1.

    Example:
        >>> from rag_evaluation_framework import ContextCitation
        >>> ContextCitation(2).number
        2
    """

    number: int

    def __post_init__(self) -> None:
        if not isinstance(self.number, int) or isinstance(self.number, bool) or self.number < 1:
            raise invalid("number", "a whole number of at least 1", self.number)


Citation: TypeAlias = SpanCitation | TokenSpanCitation | ContextCitation


def _check_file(file: object) -> None:
    if not isinstance(file, str) or not file:
        raise invalid("file", "a file name", file)


# Where the pages of a document are in its text, and where the positions of a citation count from.
#
# A citation with a page, of a document whose pages are known, counts from the page's start; every other
# one counts from the document's. Pages are numbered from 1. They are in a document's
# ``metadata["pages"]``, as the start and end of each in the text; reading a PDF puts them there.


def place_in(document: Document, citation: SpanCitation) -> CharacterSpan | Issue:
    """Return the characters of a document that a citation of it means, or why there are none."""
    counted = range_counted_in(citation.page, document.metadata, length=len(document.content))
    if counted is None:
        return Issue("unknown-page", f"a page of {document.id!r}", f"page {shown(citation.page)}")
    first, last = counted
    if citation.end > last - first:
        whole = counted == (0, len(document.content))
        what = repr(document.id) if whole else f"page {citation.page} of {document.id!r}"
        expected = f"an end of at most {last - first}, the length of {what}"
        return Issue("span-outside", expected, shown(citation.end))
    return CharacterSpan(document.id, first + citation.start, first + citation.end)


def range_counted_in(page: int | None, metadata: object, *, length: int) -> tuple[int, int] | None:
    """Return the characters ``[start, end)`` that a citation counts in, of a text of this length.

    ``None`` stands for a page that the document does not have.

    >>> paged = {"pages": [[0, 40], [42, 90]]}
    >>> range_counted_in(2, paged, length=90), range_counted_in(None, paged, length=90)
    ((42, 90), (0, 90))
    >>> range_counted_in(2, {}, length=90), range_counted_in(3, paged, length=90)
    ((0, 90), None)
    """
    pages = _known_pages(metadata)
    if page is None or not pages:
        return 0, length
    if not 1 <= page <= len(pages):
        return None
    given = pages[page - 1]
    return (given[0], given[1]) if _is_range(given, length) else None


def has_pages(metadata: object) -> bool:
    """Return True if the pages of a document are known."""
    return bool(_known_pages(metadata))


def _known_pages(metadata: object) -> Sequence[Any]:
    """Return the pages if they are places; metadata of other origin may have their number instead."""
    pages = metadata.get("pages") if isinstance(metadata, Mapping) else None
    known = isinstance(pages, list | tuple) and bool(pages) and isinstance(pages[0], list | tuple)
    return pages if known and pages is not None else ()


def _is_range(given: object, length: int) -> bool:
    if not isinstance(given, list | tuple) or len(given) != 2:
        return False
    start, end = given
    return type(start) is int and type(end) is int and 0 <= start <= end <= length


# Citations written into an answer, read with their places: ``[file:page:start-end]`` and ``[n]``.
#
# ===================================================  ==================================================
# ``[guide.pdf:3:100-200]``                            characters 100 to 200 of page 3
# ``[guide.pdf:?:100-200]``                            the page is not known
# ``[guide.pdf:3:100-200, 250-300]``                   two spans of the same page
# ``[guide.pdf:3:100-200, 4:0-50, notes.md:1:5-9]``    another page, another file
# ``[guide.pdf:3:100-200 | excerpt: "the words"]``     with the words that stand there
# ``[2]``  ``[1, 3]``  ``[1 and 3]``  ``[1-3]``        numbered contexts; a range means each of its numbers
# ``[citation:2]``                                     the same, as some models write it
# ===================================================  ==================================================
#
# Full-width characters are read like half-width ones: ``【a.pdf：？：5-9】``, ``［２］``. Any dash makes
# a range, and so does ``~``: ``[1–3]``, ``【1～3】``. A file name may have spaces, colons and any script.
# What is meant as a citation and cannot be read is reported, never guessed; any other bracket is text.
# What is left of an answer without its citations, and without marks such as ``[Doc 1]``, ``[^1]``,
# ``(guide.pdf, p. 3)`` and ``（来源：文档1）``, is told by :func:`without_citations`.

# Every expression below is for text in these half-width characters, which stand at the same places. Round
# brackets keep their width: "【1】（港口关闭）" is no link.
_HALF_WIDTH = str.maketrans(
    "【】［］：？｜，；－‐‑–—−～〜０１２３４５６７８９", "[][]:?|,;------~~0123456789"
)
# A file name may hold one level of brackets itself: ``report [final].pdf``.
_BRACKET = late_pattern(
    r"""\[(?P<targets>(?:[^\[\]|"]|\[[^\[\]|"]{0,200}\]){1,2000})
        (?:\|\s*excerpt\s*:\s*(?:"(?P<straight>.{0,5000}?)"|“(?P<curly>.{0,5000}?)”)\s*)?\]""",
    re.DOTALL | re.VERBOSE,
)
_SEPARATOR = "[,、;]"
_TO = r"\s*[-~]\s*"
_RANGE = rf"(?P<start>[0-9]{{1,15}}){_TO}(?P<end>[0-9]{{1,15}})"
_TARGET = late_pattern(
    rf"""\s*(?:(?:(?P<file>[^\n]+?)\s*:\s*)??(?P<page>[0-9]{{1,9}}|\?)\s*:\s*)?{_RANGE}
         \s*(?:{_SEPARATOR}(?!\s*\Z)|\Z)""",
    re.VERBOSE,
)
# "a:3:", "a.pdf:3" or "…:…:10-20" is meant as a citation; "at 12:30:05" and "Monday: 9:00-17:00" are not.
_TIME = rf"[0-9]{{1,2}}:[0-5][0-9](?![0-9]|{_TO}[0-9]+\s*(?:{_SEPARATOR}|\Z))"
_MEANT_AS_SPAN = late_pattern(
    rf"""[^\s\d:,][^:]*:\s*(?:(?!{_TIME})[0-9]+|\?)\s*:
        |\.\w{{1,8}}\s*:\s*[0-9?]
        |:[^:\n]*:\s*[0-9]+{_TO}[0-9]+\s*(?:{_SEPARATOR}|\Z)""",
    re.VERBOSE,
)
_NUMBER_OR_RANGE = rf"-?[0-9]+(?:{_TO}[0-9]+)?"
_AND_NUMBER = rf"(?:{_SEPARATOR}?\s*+(?:and|&|和)(?=\s*+[0-9])|{_SEPARATOR})"
_ALL_NUMBERS = rf"\s*+{_NUMBER_OR_RANGE}\s*+(?>(?:{_AND_NUMBER}\s*+(?:{_NUMBER_OR_RANGE}\s*+)?)*)"
_NUMBERS = late_pattern(rf"(?:\s*+citation\s*+:)?(?P<numbers>{_ALL_NUMBERS})", re.IGNORECASE)
_NUMBER = late_pattern(rf"\s*(?P<first>[0-9]{{1,9}})(?:{_TO}(?P<last>[0-9]{{1,9}}))?\s*")
_WIDEST_RANGE = 100
# Without one of these in the text, only numbers can be citations, and they are found faster.
_FILE_CUE = late_pattern(r":\s*+[0-9?]|\|\s*+excerpt")
_NUMBERED = late_pattern(rf"\[{_ALL_NUMBERS}\]")
# What cites in a form that nothing can open, and is not said either.
FILE_SUFFIX = "(?:pdf|md|markdown|html?|docx?|txt|rtf|csv|tsv|xlsx?|pptx?|jsonl?|xml|epub)"
SOURCE_HEADING = (
    "(?:sources?|references?|(?:[资資]料|信息|[数數][据據]|引用|[参參]考)?[来來]源"
    "|[参參]考(?:[资資]料|文[献獻])?|出[处處])"
)
_SEE = r"(?:see\s|cf\.\s|[参參详詳]?[见見])?"
_SOURCE = (
    "(?:doc(?:ument)?|source|ref(?:erence)?|context|passage|chunk"
    "|文[档檔件献獻]|[来來]源|[资資]料|[参參]考(?:[资資]料|文[献獻])?|上下文|出[处處]|引用|片段|段落)s?"
)
_NUMBERED_SOURCE = rf"{_SEE}{_SOURCE}[\s:#_-]{{0,2}}[0-9]{{1,3}}"
# A name of several words has no figure but in the last: "(12 euros in fees.txt, p. 3)" says something.
_IN_NAME = r"[^\s()（）\[\],;:|?\"“”]"
_FILE = rf"(?:(?:(?!\d){_IN_NAME}){{1,40}}\s){{0,3}}{_IN_NAME}{{1,80}}?\.{FILE_SUFFIX}(?![a-z0-9_.])"
_TITLE = rf"{_SEE}《[^《》\n]{{1,80}}》"
_HAN_NUMBER = rf"[0-9{ONE_TO_TEN}百]{{1,9}}"
_PAGE = (
    r"(?:(?:pp?\.?|pages?|lines?|sections?|chapters?|§)\s?[0-9]{1,5}(?:[-~.][0-9]{1,5})?(?!\w)"
    rf"|第\s?{_HAN_NUMBER}(?:[-~至到]第?{_HAN_NUMBER})?\s?[页頁章节節段行]|(?<=[a-z]:)[0-9?][0-9:?~-]{{0,20}})"
)
_PAGES = rf"(?:[\s,、:]{{0,3}}{_PAGE}){{1,9}}"
_NAMED = f"(?:{_FILE}|{_TITLE}|{_NUMBERED_SOURCE})"
_AND = rf"(?:\s?(?:{_SEPARATOR}|&|和)\s?|\sand\s)"
_NOT_CLOSED = r"[^()（）\[\]\n]"
_LINK = r"\[[^\[\]\n]{1,200}\]\([^\s()]{1,500}\)"
_MARK = late_pattern(
    rf"""\[[0-9]{{1,3}}(?::[0-9]{{1,3}})?†[^\[\]\n]{{0,40}}\]  # [1†source], [4:0†source]
    |\[\^[^\s\[\]]{{1,40}}\]  # [^1]
    # [Doc 1], [来源1、2], [fees.txt], [1, p. 3]
    |\[(?:{_NAMED}(?:{_PAGES})?|[0-9]{{1,3}}{_PAGES})
      (?:{_AND}(?:{_NAMED}|[0-9]{{1,3}})(?:{_PAGES})?){{0,20}}\](?!\()
    |[（(]{_NAMED}{_PAGES}(?:{_AND}{_NAMED}(?:{_PAGES})?){{0,20}}[)）]  # (fees.txt, p. 3)
    |\[{{1,2}}[0-9]{{1,3}}\]{{1,2}}\([^\s()]{{1,500}}\)  # [1](https://…)
    |[（(]\s?{_LINK}(?:[\s,;]{{1,3}}{_LINK}){{0,20}}\s?[)）]  # ([fees.pdf](https://…))
    # （来源：文档1）; several only with a number, a file or a title among them: (sources: fish, eggs)
    |[（(\[]\s?{SOURCE_HEADING}\s?:(?:(?:(?![,、]){_NOT_CLOSED}){{1,60}}
      |(?={_NOT_CLOSED}{{0,80}}(?:[0-9《]|\.[a-z]{{2,5}}\b)){_NOT_CLOSED}{{1,120}})[)）\]]""",
    re.IGNORECASE | re.VERBOSE,
)
_FOOTNOTE = late_pattern(r"^[^\S\n]*+\[\^[^\s\[\]]{1,40}\]:[^\n]*+", re.MULTILINE)
# No mark is without one of these: a bracket with more than numbers, a round one with a source, title or file.
_MARK_CUE = late_pattern(
    rf"""\[(?![0-9][0-9,;\s-]*+\](?!\())|（|\(\s?(?:see\s|cf\.\s)?(?:[^\x00-\x7f]|doc|source|ref|context|passage|chunk)
    |\([^()\[\],;:|?\"]{{1,210}}\.{FILE_SUFFIX}""",
    re.IGNORECASE | re.VERBOSE,
)

_SPAN_FORM = "file:page:start-end"
_NUMBER_FORM = "a context's number from 1"


class InlineCitation(msgspec.Struct, Spanned, frozen=True):
    """One citation and the bracket ``answer[start:end]`` that holds it; a bracket may hold several.

    ``excerpt`` is what the bracket quotes. It is also the ``text`` of the citation where the bracket has
    one span only; with several there is no telling which it belongs to.
    """

    citation: SpanCitation | ContextCitation
    start: int
    end: int
    excerpt: str | None = None


class MalformedCitation(msgspec.Struct, Spanned, frozen=True):
    """A bracket ``answer[start:end]`` that is meant as a citation and cannot be read."""

    text: str
    start: int
    end: int
    expected: str


class InlineCitations(msgspec.Struct, frozen=True):
    """The citations of an answer in reading order, and the brackets that could not be read."""

    citations: tuple[InlineCitation, ...]
    malformed: tuple[MalformedCitation, ...]


class _NotReadableError(ValueError):
    """Names the expected content of the bracket."""


def parse_citations(text: str) -> InlineCitations:
    """Read the citations of an answer.

    >>> found = parse_citations("Paris [1] is old [a.pdf:?:5-9].")
    >>> found.citations[0].citation
    ContextCitation(number=1)
    >>> found.citations[1].citation.file, found.citations[1].start
    ('a.pdf', 17)
    """
    citations: list[InlineCitation] = []
    malformed: list[MalformedCitation] = []
    half = _half_width(text)
    position = half.find("[")
    while position >= 0:
        bracket = _BRACKET.match(half, position)
        after = position + 1  # a bracket that is text may hold a citation inside
        if bracket:
            try:
                inside = list(_read(bracket, text))
            except _NotReadableError as error:
                if "[" not in bracket["targets"]:
                    after = bracket.end()
                    malformed.append(MalformedCitation(text[position:after], position, after, str(error)))
            else:
                citations += inside
                after = bracket.end() if inside else after
        position = half.find("[", after)
    return InlineCitations(tuple(citations), tuple(malformed))


def without_citations(text: str) -> str:
    """Put spaces in the place of citations, readable or not, so that every other character stays.

    >>> without_citations("Paris [1] is old [a.pdf:?:5-9].")
    'Paris     is old              .'
    """
    if text.isascii() and "[" not in text and "(" not in text:  # as most are: nothing cites
        return text
    said, half = without_marks(text), _half_width(text)
    if "[" not in half:
        return said
    if _FILE_CUE.search(half) is None:
        return blanked(said, _places(_NUMBERED, _half_width(said)))
    found = parse_citations(text)
    places = [(each.start, each.end) for each in found.citations]
    return blanked(said, places + [(each.start, each.end) for each in found.malformed])


def without_marks(text: str) -> str:
    """Put spaces in the place of what cites in a form that nothing can open, and of Markdown footnotes.

    >>> without_marks("Paris is old [Doc 1]. It is big（来源：指南）.")
    'Paris is old        . It is big       .'
    """
    half = _half_width(text)
    if _MARK_CUE.search(half) is None:
        return text
    if "[^" in half:
        text = blanked(text, _places(_FOOTNOTE, half))
    return blanked(text, _places(_MARK, _half_width(text)))


def blanked(text: str, places: Iterable[tuple[int, int]]) -> str:
    """Put spaces in the place of the characters ``[start, end)`` of each place; places do not overlap."""
    parts, position = [], 0
    for start, end in sorted(set(places)):
        parts += [text[position:start], " " * (end - start)]
        position = end
    return "".join([*parts, text[position:]])


def _half_width(text: str) -> str:
    return text if text.isascii() else text.translate(_HALF_WIDTH)


def _places(pattern: re.Pattern[str], text: str) -> list[tuple[int, int]]:
    return [match.span() for match in pattern.finditer(text)]


def _read(bracket: re.Match[str], text: str) -> Iterator[InlineCitation]:
    """Yield the citations of one bracket of a text: none where it is ordinary text."""
    targets = bracket["targets"]
    quoted = "curly" if bracket["straight"] is None else "straight"
    excerpt = None if bracket[quoted] is None else text[slice(*bracket.span(quoted))]
    found: list[SpanCitation] | list[ContextCitation]
    if numbered := _NUMBERS.fullmatch(targets):
        found = [ContextCitation(number) for number in _context_numbers(numbered["numbers"])]
    elif _MEANT_AS_SPAN.search(targets) or excerpt is not None:
        found = _spans(targets, text[slice(*bracket.span("targets"))], excerpt=excerpt)
    else:
        return
    for citation in found:
        yield InlineCitation(citation, bracket.start(), bracket.end(), excerpt)


def _context_numbers(targets: str) -> list[int]:
    numbers: list[int] = []
    for item in re.split(_AND_NUMBER, targets):
        match = _NUMBER.fullmatch(item)
        if match is None or int(match["first"]) < 1:
            raise _NotReadableError(_NUMBER_FORM)
        first, last = int(match["first"]), int(match["last"] or match["first"])
        if not first <= last < first + _WIDEST_RANGE:
            raise _NotReadableError(f"an ascending range of at most {_WIDEST_RANGE} numbers")
        numbers.extend(range(first, last + 1))
    return numbers


def _spans(targets: str, written: str, *, excerpt: str | None) -> list[SpanCitation]:
    """Read ``file:page:start-end`` and what follows after commas; file and page carry over.

    A file is called as it is ``written``, before it was made half-width.
    """
    read: list[tuple[str, int | None, int, int]] = []
    file: str | None = None
    page: int | None = None
    position = 0
    while position < len(targets):
        match = _TARGET.match(targets, position)
        if match is None:
            raise _NotReadableError(_SPAN_FORM)
        file = written[slice(*match.span("file"))] if match["file"] else file
        if file is None:
            raise _NotReadableError(f"a file name in {_SPAN_FORM}")
        if match["page"]:
            page = None if match["page"] == "?" else int(match["page"])
        start, end = int(match["start"]), int(match["end"])
        if end <= start:
            raise _NotReadableError(f"an end greater than {start} in {_SPAN_FORM}")
        read.append((file, page, start, end))
        position = match.end()
    only = excerpt if len(read) == 1 else None
    return [SpanCitation(file, start, end, page=page, text=only) for file, page, start, end in read]


# Citations that come beside an answer or in a file, in any of the forms in which systems write them.
#
# =========================================================  =============================
# ``2``, ``{"context": 2}``, ``{"number": 2}``               the second context
# ``{"file_name": "a.md", "start_char": 5, "end_char": 9}``  characters of a file
# ``"[a.md:3:5-9]"``, ``"[2]"``                              the forms used inside answers
# =========================================================  =============================
#
# Other names are known for the same things: ``file``, ``source``, ``document``, ``document_id``,
# ``doc_id``; ``start``, ``end``; ``page``, ``page_number``, which may be ``"?"``; ``text``, ``quote``,
# ``excerpt``; ``confidence``, ``confidence_score``. What has a start or an end is characters of a file,
# whatever number it has beside them. What cannot be read is an error, never guessed.

CitationLike: TypeAlias = SpanCitation | CharacterSpan | Mapping[str, Any]
_Record = TypeVar("_Record", SpanCitation, ContextCitation)
_Field: TypeAlias = tuple[str, Any]

# The first name of each is that of evaluation files.
_NAMES: Mapping[str, tuple[str, ...]] = {
    "file": ("file_name", "file", "source", "document", "document_id", "doc_id"),
    "start": ("start_char", "start"),
    "end": ("end_char", "end"),
    "page": ("page_number", "page"),
    "text": ("text", "quote", "excerpt"),
    "confidence": ("confidence_score", "confidence"),
}
_NUMBER_NAMES = ("context", "number", "context_number")
_UNKNOWN_PAGE = "?"
# A written citation is short; a text of megabytes is none.
_LONGEST_WRITTEN = 10_000
# Any JSON reader keeps whole numbers up to here.
_LARGEST = 1 << 53


def citations_in(item: Any) -> tuple[Citation, ...]:
    """Read what one item cites; a text may hold several citations.

    >>> citations_in({"context": 2}), citations_in("[1][3]")
    ((ContextCitation(number=2),), (ContextCitation(number=1), ContextCitation(number=3)))
    """
    if isinstance(item, SpanCitation | TokenSpanCitation | ContextCitation):
        return (item,)
    if isinstance(item, str):
        return _parse_inline(item)
    if isinstance(item, int):
        item = {"number": item}
    if isinstance(item, Mapping) and (number := _number(item)):
        return (_built(ContextCitation, {"number": number}),)
    return (span_citation(item),)


def span_citation(citation: CitationLike) -> SpanCitation:
    """Read characters of a file; an error names the field as it was given."""
    if isinstance(citation, SpanCitation):
        return citation
    if isinstance(citation, CharacterSpan):
        return SpanCitation(citation.doc_id, citation.start, citation.end)
    if not isinstance(citation, Mapping):
        raise invalid("", "a span citation", citation)
    fields = {field: given_field(citation, field) for field in _NAMES}
    if fields["page"][1] == _UNKNOWN_PAGE:
        del fields["page"]
    if not isinstance(fields["text"][1], str):
        del fields["text"]
    return _built(SpanCitation, fields)


def span_citations(citations: Sequence[CitationLike], side: str) -> list[SpanCitation]:
    """Read citations of any accepted form; the first wrong one is named as ``side[3].end_char``."""
    if isinstance(citations, str | Mapping) or not isinstance(citations, Sequence):
        raise invalid(side, "a list of citations", citations)
    read = []
    for number, citation in enumerate(citations):
        try:
            read.append(span_citation(citation))
        except InputError as error:
            raise error.located(within=f"{side}[{number}]") from None
    return read


def given_field(item: Mapping[str, Any], field: str) -> _Field:
    """Return the name under which an item has a field, and its value; ``None`` where it has none."""
    name, value = _given(item, _NAMES[field])
    is_numbered_file = field == "file" and type(value) is int
    return name, str(value) if is_numbered_file else value


def _given(item: Mapping[str, Any], names: Sequence[str]) -> _Field:
    name = next((name for name in names if item.get(name) is not None), names[0])
    value = item.get(name)
    if isinstance(value, int) and value > _LARGEST:
        raise invalid(name, f"a number up to {_LARGEST}", value)
    return name, value


def _number(item: Mapping[str, Any]) -> _Field | None:
    """Return the number of a context, where an item has one and no characters."""
    name, number = _given(item, _NUMBER_NAMES)
    has_characters = any(given_field(item, field)[1] is not None for field in ("start", "end"))
    return None if number is None or has_characters else (name, number)


def _built(record: type[_Record], fields: Mapping[str, _Field]) -> _Record:
    """Build a record; what is wrong with a field is said under its given name."""
    try:
        return record(**{field: value for field, (_, value) in fields.items()})
    except InputError as error:
        named = [replace(issue, path=fields[issue.path][0]) for issue in error.issues]
        raise InputError(named) from None


def _parse_inline(text: str) -> tuple[Citation, ...]:
    found = parse_citations(text) if len(text) <= _LONGEST_WRITTEN else None
    if found is None or found.malformed or not found.citations:
        raise invalid("", "a citation", text)
    return tuple(inline.citation for inline in found.citations)
