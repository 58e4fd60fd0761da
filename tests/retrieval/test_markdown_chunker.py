"""Sections of Markdown as chunks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import Document, DocumentId
from rag_evaluation_framework.retrieval.markdown_chunker import MarkdownHeadingChunker, markdown_sections

TABLES = tables_beside(__file__)

GUIDE = TABLES["guide"]


def test_a_section_is_a_chunk_and_knows_its_headings() -> None:
    chunks = MarkdownHeadingChunker().chunk_with_positions(Document(DocumentId("guide"), GUIDE))
    assert [(chunk.content.splitlines()[0], chunk.metadata) for chunk in chunks] == [
        ("---", {}),
        ("# Guide", {"headings": ["Guide", "Install"]}),  # a heading without text goes with what is below
        ("## Use ##", {"headings": ["Guide", "Use"]}),
        ("### Details", {"headings": ["Guide", "Use", "Details"]}),
        ("Appendix", {"headings": ["Appendix"]}),
    ]
    assert chunks[1].content.endswith("# not a heading\n```")


def test_headings_below_the_level_do_not_cut() -> None:
    first_lines = [chunk.splitlines()[0] for chunk in MarkdownHeadingChunker(max_level=1).chunk(GUIDE)]
    assert first_lines == ["---", "# Guide", "Appendix"]


def test_a_long_section_is_cut_again() -> None:
    text = "# One\n\n" + "A sentence of words. " * 20 + "\n\n# Two\n\nShort."
    chunks = MarkdownHeadingChunker(chunk_size=100).chunk_with_positions(Document(DocumentId("d"), text))
    assert max(len(chunk.content) for chunk in chunks) <= 100
    assert {tuple(chunk.metadata["headings"]) for chunk in chunks} == {("One",), ("Two",)}
    assert chunks[-1].content == "# Two\n\nShort."


@pytest.mark.parametrize("text", ["#hashtag", "    # code", "a\n\n---\nb", "- item\n---", "####### seven"])
def test_what_only_looks_like_a_heading_is_none(text: str) -> None:
    assert [section.headings for section in markdown_sections(text)] == [()]


def test_line_ends_of_windows_are_line_ends() -> None:
    assert [section.headings for section in markdown_sections("# A\r\n\r\ntext\r\n\r\nB\r\n---\r\nend")] == [
        ("A",),
        ("A", "B"),
    ]


@given(st.text(alphabet="# a=-`~\n\r|", max_size=80))
def test_sections_are_the_whole_text(text: str) -> None:
    position = 0
    for section in markdown_sections(text):
        assert not text[position : section.start].strip()
        assert section.start < section.end
        position = section.end
    assert not text[position:].strip()
