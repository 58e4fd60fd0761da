"""Long documents are shown in parts that keep their places."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import Document
from rag_evaluation_framework.synthesis.question_plan import shared_out, windows_of

SECTION = "## Part {0}\n\n" + "A sentence of the part, which is number {0}. " * 10 + "\n\n"
LONG = "# Title\n\n" + "".join(SECTION.format(number) for number in range(10))


def test_a_longer_document_is_cut_before_headings_and_sections_stay_together_while_they_fit() -> None:
    windows = windows_of(Document("a.md", LONG), max_characters=1100)
    texts = [LONG[window.start : window.end] for window in windows]
    # A section has about 465 characters: two of them fit, and the title goes with the first.
    assert [text.count("## Part") for text in texts] == [2, 2, 2, 2, 2]
    assert texts[0].startswith("# Title")
    assert all(text.startswith("## Part") for text in texts[1:])
    assert windows[1].headings == ("Title", "Part 2")


def test_a_section_that_does_not_fit_is_cut_between_paragraphs_and_keeps_its_headings() -> None:
    paragraphs = [f"Paragraph {number}: " + "word " * 30 for number in range(8)]
    text = "# Only\n\n" + "\n\n".join(paragraphs)
    windows = windows_of(Document("a.md", text), max_characters=400)
    assert len(windows) > 2
    assert all(window.headings == ("Only",) for window in windows)
    assert all(text[window.start :].startswith("Paragraph") for window in windows[1:])


@pytest.mark.parametrize("text", ["", " \n\t\r\n"])
def test_a_document_without_text_has_no_window(text: str) -> None:
    assert windows_of(Document("a.md", text)) == []


@given(
    text=st.lists(
        st.sampled_from(
            ["# One\n", "## Two\r\n", "word ", "。", "中文字符", "\n\n", "\r\n\r\n", "🐧", "x" * 90]
        ),
        max_size=60,
    ).map("".join)
)
def test_windows_are_in_order_fit_and_hold_every_character_that_is_not_white_space(text: str) -> None:
    windows = windows_of(Document("a.md", text), max_characters=200)
    assert all(window.size <= 200 for window in windows)
    assert all(before.end <= after.start for before, after in pairwise(windows))
    covered = "".join(text[window.start : window.end] for window in windows)
    assert "".join(covered.split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("total", "lengths", "shares"),
    [
        (5, [6000, 3000, 1000], [3, 2, 0]),  # 3, 1.5 and 0.5: one half is rounded up, the earlier one
        (2, [10, 10, 10], [1, 1, 0]),
        (0, [5, 5], [0, 0]),
        (7, [1], [7]),
        (3, [], []),
    ],
)
def test_questions_are_shared_out_by_length(total: int, lengths: list[int], shares: list[int]) -> None:
    assert shared_out(total, lengths) == shares
