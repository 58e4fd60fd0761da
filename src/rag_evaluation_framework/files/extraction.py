"""The text of plain, HTML and PDF files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html.parser import HTMLParser
from io import BytesIO
from logging import NullHandler, getLogger
from pathlib import Path
from typing import Any

import msgspec

from rag_evaluation_framework.errors import InputError, Issue, MissingExtraError, counted, described
from rag_evaluation_framework.files.access import plain_name, read_bytes, read_text


class ExtractedText(msgspec.Struct, frozen=True):
    """A document's text, its title where the file states one, and what else is known of it.

    For HTML and PDF, ``metadata["format"]`` says so; for PDF, ``metadata["pages"]`` has the start and end of
    each page in the text.
    """

    text: str
    title: str | None = None
    metadata: Mapping[str, Any] = {}


# The text a reader sees of an HTML page, in paragraphs and lines.

_WHITE_SPACE = re.compile(r"\s+")
# What a browser does not show; the title goes with the page's name.
_HIDDEN = frozenset({"script", "style", "template", "title"})
_PARAGRAPHS = frozenset(
    {"address", "article", "aside", "blockquote", "dl", "fieldset", "figure", "footer", "form", "header"}
    | {"h1", "h2", "h3", "h4", "h5", "h6", "hr", "main", "nav", "ol", "p", "pre", "section", "table", "ul"}
)
_LINES = frozenset({"br", "caption", "dd", "div", "dt", "figcaption", "li", "option", "summary", "tr"})
_CELLS = frozenset({"td", "th"})


def read_html(source: str) -> ExtractedText:
    """Return the text of HTML: blocks on separate lines, tabs before cells, ``pre`` unchanged.

    >>> page = read_html("<title>T</title><h1>Head</h1><p>Fish &amp;\\n chips<br>x<script>y</script>")
    >>> page.text, page.title
    ('Head\\n\\nFish & chips\\nx', 'T')
    """
    collector = _Collector()
    collector.feed(source)
    collector.close()
    title = _WHITE_SPACE.sub(" ", "".join(collector.title)).strip()
    return ExtractedText("".join(collector.parts).strip(), title or None, {"format": "html"})


class _Collector(HTMLParser):
    """Collects shown text; breaks between blocks are remembered until text follows."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.title: list[str] = []
        self._titled = False  # pictures have titles too, later in the page
        self._hidden: list[str] = []
        self._preformatted = 0
        self._breaks = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self._hidden.append(tag)
        self._preformatted += tag == "pre"
        self._break(tag)
        if tag in _CELLS and self.parts and not self._breaks:
            self.parts.append("\t")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        self._titled = self._titled or tag == "title"
        if tag in self._hidden:
            del self._hidden[self._hidden.index(tag) :]
        self._preformatted = max(self._preformatted - (tag == "pre"), 0)
        self._break(tag)

    def handle_data(self, data: str) -> None:
        if self._hidden:
            if self._hidden == ["title"] and not self._titled:
                self.title.append(data)
            return
        if not self._preformatted:
            data = _WHITE_SPACE.sub(" ", data)
            if self._breaks or not self.parts or self.parts[-1][-1].isspace():
                data = data.lstrip()
        if not data:
            return
        if self._breaks and self.parts:
            self.parts[-1] = self.parts[-1].rstrip()
            self.parts.append("\n" * self._breaks)
        self._breaks = 0
        self.parts.append(data)

    def _break(self, tag: str) -> None:
        if tag in _PARAGRAPHS:
            self._breaks = 2
        elif tag in _LINES:
            self._breaks = max(self._breaks, 1)


# The text of a PDF file, and where each page stands in it. Needs the extra ``pdf``.

_BETWEEN_PAGES = "\n\n"
_UNHEARD = NullHandler()


def read_pdf(data: bytes, *, file: str | None = None) -> ExtractedText:
    """Take the text out of a PDF; one that is broken, locked or without any text is refused."""
    try:
        from pypdf import PdfReader
        from pypdf.errors import PyPdfError
    except ImportError as error:
        raise MissingExtraError("reading PDF files", "pdf") from error
    getLogger("pypdf").addHandler(_UNHEARD)  # else it prints what it mends in a file
    try:
        texts = [page.extract_text().strip() for page in PdfReader(BytesIO(data)).pages]
    # What pypdf lets through when a file breaks the rules of the format.
    except (PyPdfError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise _refused("a readable PDF file", described(error), file) from error
    if not any(texts):
        raise _refused(
            "a PDF file with text",
            f"{counted(len(texts), 'page')} without text (perhaps scanned images)",
            file,
        )
    pages = []
    start = 0
    for text in texts:
        pages.append([start, start + len(text)])
        start += len(text) + len(_BETWEEN_PAGES)
    return ExtractedText(_BETWEEN_PAGES.join(texts), metadata={"format": "pdf", "pages": pages})


def _refused(expected: str, found: str, file: str | None) -> InputError:
    return InputError([Issue("invalid-pdf", expected, found, file=file)])


_HTML = (".html", ".htm", ".xhtml")
READABLE = (".md", ".markdown", ".txt", ".rst", *_HTML, ".pdf")
"""File suffixes of documents, where the caller names no files."""


def extract_text(path: str | Path) -> ExtractedText:
    """Read a file, compressed or not, and return its text; anything but HTML and PDF must be UTF-8 text."""
    name = plain_name(path)
    if name.endswith(".pdf"):
        return read_pdf(read_bytes(path, max_line_bytes=None), file=str(path))
    text = read_text(path)
    return read_html(text) if name.endswith(_HTML) else ExtractedText(text)
