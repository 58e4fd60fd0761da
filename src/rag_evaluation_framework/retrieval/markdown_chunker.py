"""The Markdown chunker: a section is a chunk, and knows the headings it stands under."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from rag_evaluation_framework.errors import checked_count
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.records.documents import Document
from rag_evaluation_framework.retrieval.chunkers import (
    CHARACTERS,
    RecursiveCharacterChunker,
    SpanChunker,
    sliced,
)
from rag_evaluation_framework.retrieval.tokenizers import AnyTokenizer
from rag_evaluation_framework.structs import replace
from rag_evaluation_framework.text.spans import SpanList, Spanned

# A fence (three or more ` or ~), a heading with #, or a line of text underlined with = or -.
_MARK = re.compile(
    r"^ {0,3}(?P<fence>`{3,}|~{3,})"
    r"|^ {0,3}(?P<hashes>#{1,6})(?:[ \t]++(?P<title>[^\r\n]*+))?\r?$"
    r"|^ {0,3}(?P<underlined>[^\s#>|`~*+-][^\r\n]*+)\r?\n {0,3}(?P<line>=+|-{2,})[ \t]*\r?$",
    re.MULTILINE,
)
# Metadata in YAML before the text, whose last line would read as an underline.
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(?:[^\n]*\n)*?---[ \t]*(?:\r?\n|\Z)")


class Section(msgspec.Struct, Spanned, frozen=True):
    """The characters from a heading to the next one, and the headings above it, outermost first."""

    start: int
    end: int
    headings: tuple[str, ...]


class MarkdownHeadingChunker(SpanChunker):
    """Cuts a Markdown text before each heading of level 1 to ``max_level``; long sections are cut again.

    A heading without text of its own goes with the section below it. A section longer than ``chunk_size`` is
    cut as :class:`RecursiveCharacterChunker` does, with ``overlap`` and ``length`` as there. A chunk's
    metadata has its ``headings``, outermost first. What stands between fences is code, not headings.
    """

    name = "markdown"

    def __init__(
        self,
        chunk_size: int = 1000,
        overlap: int = 0,
        *,
        max_level: int = 6,
        length: AnyTokenizer = CHARACTERS,
    ) -> None:
        self._within = RecursiveCharacterChunker(chunk_size, overlap, length=length)
        self.chunk_size, self.overlap = chunk_size, overlap
        self.max_level = checked_count("max_level", max_level, at_least=1)

    def spans(self, text: str) -> SpanList:
        return [span for span, _ in self._placed(text)]

    def chunk_with_positions(self, doc: Document) -> list[PositionAwareChunk]:
        placed = self._placed(doc.content)
        chunks = sliced(doc, [span for span, _ in placed])
        return [
            replace(chunk, metadata={"headings": list(headings)}) if headings else chunk
            for chunk, (_, headings) in zip(chunks, placed, strict=True)
        ]

    @property
    def parameters(self) -> dict[str, Any]:
        parameters = self._within.parameters
        if self.max_level != 6:
            parameters["max_level"] = self.max_level
        return parameters

    def _placed(self, text: str) -> list[tuple[tuple[int, int], tuple[str, ...]]]:
        placed = []
        for section in markdown_sections(text, max_level=self.max_level):
            for start, end in self._within.spans(section.of(text)):
                placed.append(((section.start + start, section.start + end), section.headings))
        return placed


def markdown_sections(text: str, *, max_level: int = 6) -> list[Section]:
    """Return the sections of a Markdown text; together they are the whole text."""
    sections: list[Section] = []
    path: list[tuple[int, str]] = []
    begin, body = 0, 0
    for heading in _headings(text, max_level):
        if text[body : heading.start].strip():
            sections.append(Section(begin, heading.start, tuple(title for _, title in path)))
            begin = heading.start
        path = [*(above for above in path if above[0] < heading.level), (heading.level, heading.title)]
        body = heading.end
    if text[begin:].strip():
        sections.append(Section(begin, len(text), tuple(title for _, title in path)))
    return sections


class _Heading(msgspec.Struct, Spanned, frozen=True):
    start: int
    end: int
    level: int
    title: str


def _headings(text: str, max_level: int) -> list[_Heading]:
    """Return the headings up to a level, in order; those inside fenced code are none."""
    headings: list[_Heading] = []
    fence = ""
    front_matter = _FRONT_MATTER.match(text)
    for match in _MARK.finditer(text, front_matter.end() if front_matter else 0):
        if match["fence"]:
            if not fence:
                fence = match["fence"]
            elif match["fence"].startswith(fence):
                fence = ""
            continue
        if fence:
            continue
        if match["hashes"]:
            level, title = len(match["hashes"]), _title(match["title"] or "")
        else:
            level, title = (1 if match["line"][0] == "=" else 2), match["underlined"].strip()
        if level <= max_level:
            headings.append(_Heading(match.start(), match.end(), level, title))
    return headings


def _title(text: str) -> str:
    """Return a heading's text without the hashes that may close it."""
    text = text.strip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else text
