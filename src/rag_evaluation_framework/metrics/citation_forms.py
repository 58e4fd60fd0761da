"""Citations that come beside an answer or in a file, in any of the forms in which systems write them.

=========================================================  =============================
``2``, ``{"context": 2}``, ``{"number": 2}``               the second context
``{"file_name": "a.md", "start_char": 5, "end_char": 9}``  characters of a file
``"[a.md:3:5-9]"``, ``"[2]"``                              the forms used inside answers
=========================================================  =============================

Other names are known for the same things: ``file``, ``source``, ``document``, ``document_id``, ``doc_id``;
``start``, ``end``; ``page``, ``page_number``, which may be ``"?"``; ``text``, ``quote``, ``excerpt``;
``confidence``, ``confidence_score``. What has a start or an end is characters of a file, whatever number it
has beside them. What cannot be read is an error, never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

from rag_evaluation_framework.errors import InputError, invalid
from rag_evaluation_framework.metrics.inline_citations import parse_citations
from rag_evaluation_framework.records.citations import (
    Citation,
    ContextCitation,
    SpanCitation,
    TokenSpanCitation,
)
from rag_evaluation_framework.records.spans import CharacterSpan

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
        return _written(item)
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


def _written(text: str) -> tuple[Citation, ...]:
    found = parse_citations(text) if len(text) <= _LONGEST_WRITTEN else None
    if found is None or found.malformed or not found.citations:
        raise invalid("", "a citation", text)
    return tuple(inline.citation for inline in found.citations)
