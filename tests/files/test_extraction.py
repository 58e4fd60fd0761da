"""Text taken out of HTML and PDF files."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import Corpus, InputError
from rag_evaluation_framework.errors import MissingExtraError
from rag_evaluation_framework.files.extraction import extract_text, read_html, read_pdf

TABLES = tables_beside(__file__)


@pytest.mark.parametrize(("source", "text"), TABLES["html"])
def test_the_text_of_html_is_what_a_reader_sees(source: str, text: str) -> None:
    assert read_html(source).text == text


def test_the_title_of_a_page_is_kept_apart() -> None:
    page = read_html("<html><head><title>The\n title</title></head><body>Text</body></html>")
    assert (page.title, page.text) == ("The title", "Text")
    assert read_html("<title>Page</title><svg><title>Icon</title></svg>x").title == "Page"
    assert read_html("<p>Text").title is None


@given(st.text(alphabet="<>/pbr&;\"' ax\n!-", max_size=60))
def test_any_html_has_some_text(source: str) -> None:
    text = read_html(source).text
    assert text == text.strip()


def pdf(*pages: str) -> bytes:
    """Write a PDF of these lines of text, one to a page."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        content = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>",
            f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        ]
    body, places = "%PDF-1.4\n", []
    for number, entry in enumerate(objects, start=1):
        places.append(len(body))
        body += f"{number} 0 obj\n{entry}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    count = len(objects) + 1
    trailer = f"trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    return f"{body}xref\n0 {count}\n0000000000 65535 f \n{table}{trailer}".encode()


def test_the_pages_of_a_pdf_are_places_in_its_text() -> None:
    pytest.importorskip("pypdf", reason="the extra pdf is not installed")
    read = read_pdf(pdf("First page.", "", "Third page."))
    assert [read.text[start:end] for start, end in read.metadata["pages"]] == [
        "First page.",
        "",
        "Third page.",
    ]
    assert read.text == "First page.\n\n\n\nThird page."


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"no pdf", "a.pdf: expected a readable PDF file"),
        (b"%PDF-1.4\nrubbish", "a.pdf: expected a readable PDF file"),
        (pdf("Text.")[:150], "a.pdf: expected a readable PDF file"),
        (
            pdf(""),
            r"a.pdf: expected a PDF file with text, got 1 page without text \(perhaps scanned images\)",
        ),
    ],
    ids=["text", "rubbish", "cut short", "scanned"],
)
def test_a_pdf_that_cannot_be_read_is_named(data: bytes, message: str) -> None:
    pytest.importorskip("pypdf", reason="the extra pdf is not installed")
    with pytest.raises(InputError, match=message):
        read_pdf(data, file="a.pdf")


def test_without_the_extra_a_pdf_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(MissingExtraError, match=r"rag-evaluation-framework\[pdf\]"):
        read_pdf(b"")


def test_a_folder_of_several_formats_is_one_corpus(tmp_path: Path) -> None:
    pytest.importorskip("pypdf", reason="the extra pdf is not installed")
    (tmp_path / "a.md").write_text("# Head\n\nText & more <b>.", encoding="utf-8")
    (tmp_path / "b.HTML").write_text("<title>Page</title><p>Fish &amp; chips", encoding="utf-8")
    (tmp_path / "c.html.gz").write_bytes(gzip.compress(b"<p>packed"))
    (tmp_path / "d.pdf").write_bytes(pdf("Page one.", "Page two."))
    corpus = Corpus.from_folder(tmp_path, "*")
    assert [(document.id, document.content) for document in corpus] == [
        ("a.md", "# Head\n\nText & more <b>."),
        ("b.HTML", "Fish & chips"),
        ("c.html.gz", "packed"),
        ("d.pdf", "Page one.\n\nPage two."),
    ]
    assert corpus["b.HTML"].title == "Page"
    assert corpus["d.pdf"].metadata == {"format": "pdf", "pages": [[0, 9], [11, 20]]}


def test_plain_text_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("\ufeff<p>\r\n\r\n 分".encode())
    assert extract_text(tmp_path / "a.txt").text == "<p>\r\n\r\n 分"
