"""Whether a text states something, denies it or leaves it open; when a question asks for what is denied."""

from __future__ import annotations

import pytest

from cases import tables_beside
from rag_evaluation_framework.judging.mentions import asks_for_denied, stance_at

TABLES = tables_beside(__file__)


@pytest.mark.parametrize(("text", "stance"), TABLES["a_text_states_denies_or_leaves_open"])
def test_a_text_states_denies_or_leaves_open(text: str, stance: str) -> None:
    assert stance_at(text, text.index("热情")) == stance


@pytest.mark.parametrize(("text", "stance"), TABLES["an_english_text_states_denies_or_leaves_open"])
def test_an_english_text_states_denies_or_leaves_open(text: str, stance: str) -> None:
    assert stance_at(text, text.index("kind")) == stance


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("它讨厌什么？", True),
        ("谁没有来？", True),
        ("what did he not see?", True),
        ("他没有赢吗？", False),  # a yes or no
        ("她有什么不同？", False),  # 不同, "different", is no denial
        ("怎么获得无限原石？", False),
        ("非常热情的是谁？", False),
    ],
)
def test_a_question_asks_for_the_denied_where_it_denies_and_asks_what(question: str, expected: bool) -> None:
    assert asks_for_denied(question) is expected
