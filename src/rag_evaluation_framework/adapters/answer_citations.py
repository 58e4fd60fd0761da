"""Citations as systems return them beside an answer, and the positions that come with contexts.

The forms and names of both are those of :mod:`rag_evaluation_framework.records.citations`. What cannot
be read is counted, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rag_evaluation_framework.errors import InputError
from rag_evaluation_framework.records.citations import Citation, citations_in, given_field
from rag_evaluation_framework.records.documents import CharacterSpan, DocumentId


def read_citations(items: Iterable[Any]) -> tuple[tuple[Citation, ...], int]:
    """Return the citations that can be read, in order, and how many cannot."""
    citations: list[Citation] = []
    unread = 0
    for item in items:
        try:
            citations += citations_in(item)
        except InputError:
            unread += 1
    return tuple(citations), unread


def read_position(item: Mapping[str, Any]) -> CharacterSpan | None:
    """Return the characters of a file that a context says it is, if they count from the file's start.

    With a page they may count from the start of that page, so they are not read.
    """
    try:
        file, start, end, page = (given_field(item, field)[1] for field in ("file", "start", "end", "page"))
        return CharacterSpan(DocumentId(file), start, end) if page is None else None
    except InputError:
        return None
