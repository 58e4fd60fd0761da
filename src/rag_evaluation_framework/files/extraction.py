"""The text of a document's file: as it is stored, or taken out of HTML or PDF, by the end of the name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag_evaluation_framework.files.compression import DEFAULT_LIMITS, Limits, plain_name, read_bytes
from rag_evaluation_framework.files.html_text import read_html
from rag_evaluation_framework.files.pdf_text import read_pdf
from rag_evaluation_framework.files.text import decode_text

_HTML = (".html", ".htm", ".xhtml")
_PDF = (".pdf",)


@dataclass(frozen=True, slots=True)
class ExtractedText:
    """A document's text, its title where the file states one, and what else is known of it.

    For HTML and PDF, ``metadata["format"]`` says so; for PDF, ``metadata["pages"]`` has the start and end of
    each page in the text.
    """

    text: str
    title: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)


def extract_text(path: str | Path, *, limits: Limits = DEFAULT_LIMITS) -> ExtractedText:
    """Read a file, compressed or not, and return its text; anything but HTML and PDF must be UTF-8 text."""
    data = read_bytes(path, limits=limits)
    name = plain_name(path)
    if name.endswith(_PDF):
        pdf = read_pdf(data, file=str(path))
        return ExtractedText(
            pdf.text, metadata={"format": "pdf", "pages": [list(page) for page in pdf.pages]}
        )
    text = decode_text(data, file=str(path))
    if name.endswith(_HTML):
        page = read_html(text)
        return ExtractedText(page.text, page.title, {"format": "html"})
    return ExtractedText(text)
