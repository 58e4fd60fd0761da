"""Opening citations: documents by name, pages, ranges, quotations, numbered contexts."""

from __future__ import annotations

import pytest

from cases import tables_beside
from rag_evaluation_framework import ContextCitation, Document, DocumentId, SpanCitation
from rag_evaluation_framework.judging.cited_texts import CitableTexts, cited_kinds, quotes
from rag_evaluation_framework.records.citations import Citation, TokenSpanCitation

TABLES = tables_beside(__file__)

BOATS = "The boat leaves at noon. It returns at six."
TEXTS = CitableTexts(
    [
        Document(
            DocumentId("doc_boats"),
            BOATS,
            {"file_name": "Fahrplan.txt"},
            extra={"file_path": "docs/boats.md"},
        ),
        Document(DocumentId("a/notes.md"), "Notes of a."),
        Document(DocumentId("b/notes.md"), "Notes of b."),
        Document(DocumentId("paged.pdf"), "Cover.\n\n船在六点回来。", {"pages": [[0, 6], [8, 15]]}),
    ]
)


def span(file: str, start: int, end: int, page: int | None = None, text: str | None = None) -> SpanCitation:
    return SpanCitation(file, start, end, page=page, text=text)


@pytest.mark.parametrize(
    "name",
    ["doc_boats", "docs/boats.md", "./docs/boats.md", "docs\\boats.md", "boats.md", "Fahrplan.txt", "boats",
     "boats.pdf", "corpus/doc_boats"],
)  # fmt: skip
def test_a_document_is_found_by_any_of_its_names(name: str) -> None:
    opened = TEXTS.opened(span(name, 0, 23))
    assert (opened.is_open, opened.text) == (True, "The boat leaves at noon")
    assert opened.to_dict()["document_id"] == "doc_boats"


OPENED = [
    (span("boats.md", 25, 43), "It returns at six."),
    (span("boats.md", 0, 43, text="the boat leaves … at SIX"), BOATS),
    (span("paged.pdf", 0, 7, page=2), "船在六点回来。"),
    (span("paged.pdf", 0, 7, page=2, text="六点回来"), "船在六点回来。"),
    (span("paged.pdf", 8, 15), "船在六点回来。"),
    (ContextCitation(2), "second"),
]


@pytest.mark.parametrize(("citation", "text"), OPENED)
def test_what_is_cited_is_opened(citation: Citation, text: str) -> None:
    opened = TEXTS.opened(citation, ["first", "second"])
    assert (opened.is_open, opened.text, opened.issue) == (True, text, None)


OUTSIDE, UNKNOWN = (
    "span-outside: expected an end of at most",
    "unknown-document: expected the name of a document",
)
NOT_OPENED = [
    (span("boats.md", 0, 44), f"{OUTSIDE} 43, the length of 'doc_boats', got 44"),
    (span("boats.md", 100, 200), f"{OUTSIDE} 43, the length of 'doc_boats', got 200"),
    (span("paged.pdf", 0, 7, page=1), f"{OUTSIDE} 6, the length of page 1 of 'paged.pdf', got 7"),
    (span("paged.pdf", 0, 7, page=9), "unknown-page: expected a page of 'paged.pdf', got page 9"),
    (span("ships.md", 0, 5), f"{UNKNOWN}, got 'ships.md'"),
    (
        span("ships.md", 100, 200),
        f"{UNKNOWN}, got 'ships.md' and an end of 200 beyond the longest document, which has 43",
    ),
    (
        span("notes.md", 0, 5),
        "ambiguous-document: expected a name of one document, got 'notes.md', which may be 'a/notes.md' and "
        "'b/notes.md'",
    ),
    (
        span("boats.md", 0, 8, text="The train"),
        "text-differs: expected words that stand there, 'The boat', got 'The train'",
    ),
    (ContextCitation(3), "unknown-context: expected a context's number up to 2, got [3]"),
    (TokenSpanCitation("boats.md", 0, 5, "cl100k"), "token-span: expected characters, got tokens of cl100k"),
]


@pytest.mark.parametrize(("citation", "problem"), NOT_OPENED)
def test_what_cannot_be_opened_says_why(citation: Citation, problem: str) -> None:
    opened = TEXTS.opened(citation, ["first", "second"])
    assert not opened.is_open
    assert opened.to_dict()["problem"] == problem
    assert opened.to_dict()["valid"] is False


def test_without_documents_no_length_is_told() -> None:
    opened = CitableTexts([]).opened(span("ships.md", 100, 200))
    assert opened.to_dict()["problem"] == f"{UNKNOWN}, got 'ships.md'"


def test_a_number_without_contexts_cites_nothing() -> None:
    assert str(TEXTS.opened(ContextCitation(1)).issue) == "expected a numbered context to cite, got [1]"


def test_an_absurd_position_is_told_like_any_other() -> None:
    problem = str(TEXTS.opened(span("boats.md", 0, 10**5000)).issue)
    assert problem.endswith("got a value of type int without a text form")


@pytest.mark.parametrize(
    ("quotation", "text", "expected"),
    TABLES["a_quotation_stands_in_a_text_up_to_case_width_and_what_is_left_out"],
)
def test_a_quotation_stands_in_a_text_up_to_case_width_and_what_is_left_out(
    quotation: str, text: str, expected: bool
) -> None:
    assert quotes(quotation, text) is expected


def test_a_span_is_placed_by_document_and_in_the_whole_document() -> None:
    on_page, in_document = span("paged.pdf", 0, 7, page=2), span("paged.pdf", 8, 15)
    assert TEXTS.placed(on_page) == TEXTS.placed(in_document)
    assert (TEXTS.placed(on_page).start, TEXTS.placed(on_page).end) == (8, 15)
    assert TEXTS.placed(span("boats", 0, 7)) == span("doc_boats", 0, 7)
    for unknown in (span("ships.md", 0, 7), span("paged.pdf", 0, 7, page=9)):
        assert TEXTS.placed(unknown) == unknown


def test_the_kinds_of_citations_are_told_apart() -> None:
    citations = [ContextCitation(1), ContextCitation(2), span("a.md", 0, 5)]
    assert cited_kinds(citations) == {"numbered contexts", "characters of files"}
    assert cited_kinds([]) == set()
