"""Citations as systems return them beside an answer, and the positions that come with contexts.

===============================================================  =======================================
``2``, ``{"number": 2}``, ``{"context": 2}``                     the second context
``{"file": "a.md", "start": 5, "end": 9}``                       characters of a file
``"[a.md:3:5-9]"``, ``"[2]"``                                    the forms used inside answers
===============================================================  =======================================

Other names are known for the same things: ``file_name``, ``source``, ``document``, ``document_id``,
``doc_id``; ``start_char``, ``end_char``; ``page``, ``page_number``; ``text``, ``quote``, ``excerpt``;
``confidence``, ``confidence_score``. What cannot be read is counted, never guessed. A position with a
context has the same names for its file, start and end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rag_evaluation_framework.errors import InputError
from rag_evaluation_framework.metrics.inline_citations import parse_citations
from rag_evaluation_framework.records.citations import Citation, ContextCitation, SpanCitation
from rag_evaluation_framework.records.identifiers import DocumentId
from rag_evaluation_framework.records.spans import CharacterSpan

_NUMBERS = ("number", "context", "context_number")
_FILES = ("file", "file_name", "source", "document", "document_id", "doc_id")
_STARTS = ("start", "start_char")
_ENDS = ("end", "end_char")
_PAGES = ("page", "page_number")
_TEXTS = ("text", "quote", "excerpt")
_CONFIDENCES = ("confidence", "confidence_score")

# A written citation is short; a text of megabytes is none.
_LONGEST = 2_000
_LARGEST = 1 << 53


def read_citations(items: Iterable[Any]) -> tuple[tuple[Citation, ...], int]:
    """Return the citations that can be read, in order, and how many cannot."""
    citations: list[Citation] = []
    unread = 0
    for item in items:
        found = _read(item)
        citations.extend(found)
        unread += not found
    return tuple(citations), unread


def read_position(item: Mapping[str, Any]) -> CharacterSpan | None:
    """Return the characters of a file that a context says it is, if they count from the file's start.

    With a page they may count from the start of that page, so they are not read.
    """
    if _first(item, _PAGES) is not None:
        return None
    file = _first(item, _FILES)
    try:
        return CharacterSpan(
            DocumentId(str(file) if type(file) is int else file), _first(item, _STARTS), _first(item, _ENDS)
        )
    except InputError:
        return None


def _read(item: Any) -> tuple[Citation, ...]:
    try:
        if isinstance(item, str):
            if len(item) > _LONGEST:
                return ()
            return tuple(inline.citation for inline in parse_citations(item).citations)
        if isinstance(item, int):
            return (_read_object({"number": item}),)
        return (_read_object(item),) if isinstance(item, dict) else ()
    except (InputError, TypeError):  # a TypeError is a comparison with a value of the wrong type
        return ()


def _read_object(item: Mapping[str, Any]) -> Citation:
    start, end = _first(item, _STARTS), _first(item, _ENDS)
    if start is None and end is None:
        return ContextCitation(_first(item, _NUMBERS))
    text, page = _first(item, _TEXTS), _first(item, _PAGES)
    return SpanCitation(
        _first(item, _FILES),
        start,
        end,
        page=page if type(page) is int else None,
        text=text if isinstance(text, str) else None,
        confidence=_first(item, _CONFIDENCES),
    )


def _first(item: Mapping[str, Any], names: Iterable[str]) -> Any:
    value = next((item[name] for name in names if item.get(name) is not None), None)
    return None if isinstance(value, int) and value > _LARGEST else value
