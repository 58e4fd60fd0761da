"""Whether a text states something, denies it or leaves it open; when a question asks for what is denied."""

from __future__ import annotations

import pytest

from rag_evaluation_framework.judging.mentions import asks_for_denied, stance_at


@pytest.mark.parametrize(
    ("text", "stance"),
    [
        ("很热情", "stated"),
        ("缺乏热情", "denied"),
        ("不是不热情", "stated"),
        ("没有人不知道她热情", "stated"),
        ("没有证据表明她不热情", "open"),  # no evidence against is none for
        ("她是否热情还不清楚", "open"),
        ("她热情的说法没有错", "stated"),
        ("她热情的说法没有根据", "open"),
        ("她热情的说法无法证实", "open"),
        ("她热情的说法是假的", "open"),
        ("她热情的说法有误", "open"),
        ("她毫无耐心或热情", "denied"),  # the lack goes on
        ("她没有耐心、热情", "denied"),
        ("不能断定她热情", "open"),
        ("不太确定她热情", "open"),
        ("她未承认自己热情", "open"),
        ("不能不说她热情", "stated"),
    ],
)
def test_a_text_states_denies_or_leaves_open(text: str, stance: str) -> None:
    assert stance_at(text, text.index("热情")) == stance


@pytest.mark.parametrize(
    ("text", "stance"),
    [
        ("she is kind", "stated"),
        ("she is hardly kind", "denied"),
        ("nobody is kind", "denied"),
        ("she is shy rather than kind", "denied"),
        ("is she kind? no.", "denied"),
        ("is she kind? yes.", "stated"),
        ("no doubt she is kind", "stated"),
        ("i doubt she is kind", "open"),
        ("nothing suggests that she is kind", "open"),
        ("it is hard to say she is kind", "open"),
        ("it is unclear how kind", "open"),
        ("that does not mean that she is kind", "open"),
        ("i don't know if she is kind", "open"),
        ("i do not really think she is kind", "open"),
        ("they are not sure, she may be kind", "open"),  # a guess by one who is not sure
        ("i am not sure. i think she is kind", "open"),
        ("i am not sure, but i think she is kind", "stated"),
        ("maybe she is kind. i do not know.", "open"),
        ("maybe she is kind, perhaps she is shy", "open"),  # one of two
        ("she is kind or something else", "open"),
    ],
)
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
