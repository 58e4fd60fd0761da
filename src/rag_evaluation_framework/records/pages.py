"""Where the pages of a document are in its text, and where the positions of a citation count from.

A citation with a page, of a document whose pages are known, counts from the page's start; every other one
counts from the document's. Pages are numbered from 1. They are in a document's ``metadata["pages"]``, as the
start and end of each in the text; reading a PDF puts them there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rag_evaluation_framework.errors import Issue, shown
from rag_evaluation_framework.records.citations import SpanCitation
from rag_evaluation_framework.records.documents import Document
from rag_evaluation_framework.records.spans import CharacterSpan


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
    """Tell whether it is known where the pages of a document are."""
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
