"""Positions of a citation count from the page's start where pages are known, else from the document's."""

from __future__ import annotations

from typing import Any

import pytest

from cases import tables_beside
from rag_evaluation_framework import CharacterSpan, Document, DocumentId, Issue, SpanCitation
from rag_evaluation_framework.records.citations import place_in, range_counted_in

TABLES = tables_beside(__file__)

# Page 1 is characters 0 to 9, page 2 is empty, page 3 is characters 13 to 26.
TEXT = "Page one.\n\n\n\n船在六点回来 today."
PAGES = [[0, 9], [11, 11], [13, 26]]
GUIDE = Document(DocumentId("guide.pdf"), TEXT, {"format": "pdf", "pages": PAGES})


def cited(start: int, end: int, page: int | None) -> CharacterSpan | Issue:
    return place_in(GUIDE, SpanCitation("guide.pdf", start, end, page=page))


@pytest.mark.parametrize(("start", "end", "page", "text"), TABLES["positions_on_a_page_count_from_its_start"])
def test_positions_on_a_page_count_from_its_start(start: int, end: int, page: int | None, text: str) -> None:
    place = cited(start, end, page)
    assert isinstance(place, CharacterSpan)
    assert GUIDE.text_of(place) == text


@pytest.mark.parametrize(("start", "end", "page", "problem"), TABLES["what is not on the page is told"])
def test_what_is_not_on_the_page_is_told(start: int, end: int, page: int | None, problem: str) -> None:
    assert str(cited(start, end, page)) == problem


@pytest.mark.parametrize(
    "metadata", [{}, {"pages": 12}, {"pages": []}, {"pages": ["i", "ii"]}, {"pages": None}, None, "pages"]
)
def test_where_the_pages_are_not_known_the_document_is_counted(metadata: Any) -> None:
    assert range_counted_in(3, metadata, length=26) == (0, 26)


@pytest.mark.parametrize("wrong", [[5, 2], [0, 99], ["0", "9"], [1], [True, 5], None])
def test_a_page_that_stands_nowhere_is_no_page(wrong: Any) -> None:
    assert range_counted_in(2, {"pages": [[0, 9], wrong]}, length=26) is None
    assert range_counted_in(1, {"pages": [[0, 9], wrong]}, length=26) == (0, 9)
