"""The text of a PDF file, and where each page stands in it. Needs the extra ``pdf``."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO

from rag_evaluation_framework.counts import counted
from rag_evaluation_framework.errors import InputError, Issue, MissingExtraError, described

_BETWEEN_PAGES = "\n\n"


@dataclass(frozen=True, slots=True)
class PdfText:
    """The text of all pages, and the characters ``[start, end)`` of each; a page may be empty."""

    text: str
    pages: tuple[tuple[int, int], ...]


def read_pdf(data: bytes, *, file: str | None = None) -> PdfText:
    """Take the text out of a PDF; one that is broken, locked or without any text is refused."""
    try:
        from pypdf import PdfReader
        from pypdf.errors import PyPdfError
    except ImportError as error:
        raise MissingExtraError("reading PDF files", "pdf") from error
    try:
        texts = [page.extract_text().strip() for page in PdfReader(BytesIO(data)).pages]
    # What pypdf lets through when a file breaks the rules of the format.
    except (PyPdfError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise _refused("a readable PDF file", described(error), file) from error
    if not any(texts):
        raise _refused("a PDF file with text", f"{counted(len(texts), 'page')} without any (scanned?)", file)
    pages = []
    start = 0
    for text in texts:
        pages.append((start, start + len(text)))
        start += len(text) + len(_BETWEEN_PAGES)
    return PdfText(_BETWEEN_PAGES.join(texts), tuple(pages))


def _refused(expected: str, found: str, file: str | None) -> InputError:
    return InputError([Issue("invalid-pdf", expected, found, file=file)])
