"""The forms in which citations come beside an answer or in a file."""

from __future__ import annotations

from typing import Any

import pytest

from rag_evaluation_framework import ContextCitation, InputError, SpanCitation
from rag_evaluation_framework.records.citations import (
    Citation,
    TokenSpanCitation,
    citations_in,
    span_citations,
)

PLACE = {"file_name": "a.md", "start_char": 5, "end_char": 9}
SPAN = SpanCitation("a.md", 5, 9)
READ: list[tuple[Any, list[Citation]]] = [
    (SPAN, [SPAN]),
    (TokenSpanCitation("a.md", 5, 9, "cl100k"), [TokenSpanCitation("a.md", 5, 9, "cl100k")]),
    (2, [ContextCitation(2)]),
    ({"context": 2}, [ContextCitation(2)]),
    ({"number": 2, "start": None}, [ContextCitation(2)]),
    ({"context_number": 2}, [ContextCitation(2)]),
    ("[1-2]", [ContextCitation(1), ContextCitation(2)]),
    ("[a.md:?:5-9]", [SPAN]),
    (PLACE, [SPAN]),
    ({"file": "a.md", "start": 5, "end": 9}, [SPAN]),
    ({"source": "a.md", "start": 5, "end": 9, "page": 3}, [SpanCitation("a.md", 5, 9, page=3)]),
    ({**PLACE, "page_number": "?"}, [SPAN]),
    ({**PLACE, "page_number": None, "page": 3}, [SpanCitation("a.md", 5, 9, page=3)]),
    ({**PLACE, "quote": "word", "confidence": 0.5}, [SpanCitation("a.md", 5, 9, None, "word", 0.5)]),
    ({**PLACE, "text": ["no", "text"]}, [SPAN]),
    ({"document_id": 7, "start": 5, "end": 9}, [SpanCitation("7", 5, 9)]),
    # Characters tell more than the number that the source has in the answer.
    ({**PLACE, "number": 2}, [SPAN]),
]


@pytest.mark.parametrize(("item", "expected"), READ)
def test_forms_that_are_read(item: Any, expected: list[Citation]) -> None:
    assert list(citations_in(item)) == expected


UNREADABLE = [
    ({"file_name": "a.md"}, "start_char: expected a whole number of at least 0, got None"),
    ({"file": "a.md", "start": 9, "end": 5}, "end: expected a whole number above 9, got 5"),
    ({"start": 5, "end": 9}, "file_name: expected a file name, got None"),
    ({**PLACE, "page": "3"}, "page: expected a whole number, got '3'"),
    ({**PLACE, "confidence": 87}, "confidence: expected a number from 0 to 1, got 87"),
    ({**PLACE, "end_char": 1 << 54}, "end_char: expected a number up to 9007199254740992"),
    ({"context": "one"}, "context: expected a whole number of at least 1, got 'one'"),
    (10**30, "number: expected a number up to 9007199254740992"),
    (0, "number: expected a whole number of at least 1, got 0"),
    ("a.md", "expected a citation, got 'a.md'"),
    ("[1][0]", "expected a citation, got"),
    ("[1]" * 5000, "expected a citation, got"),
    (None, "expected a span citation, got None"),
]


@pytest.mark.parametrize(("item", "message"), UNREADABLE)
def test_what_cannot_be_read_is_said_under_its_own_name(item: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        citations_in(item)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("given", [None, "[a.md:?:5-9]", PLACE, 7])
def test_citations_come_as_a_list(given: Any) -> None:
    with pytest.raises(InputError, match="true: expected a list of citations, got"):
        span_citations(given, "true")
