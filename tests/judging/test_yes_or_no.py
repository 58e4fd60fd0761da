"""Whether a question asks for a yes or no, and which of them a text says."""

from __future__ import annotations

import pytest

from rag_evaluation_framework.judging.golden.yes_or_no import asks_yes_or_no, reply_to


@pytest.mark.parametrize(
    ("question", "reference", "expected"),
    [
        ("is the lift working?", "it is.", True),
        ("and does it work?", "it does.", True),
        ("the lift works, right?", "it does.", True),
        ("电梯能用吗?", "能用。", True),
        ("他是不是镇长?", "是。", True),
        ("是否开放?", "开放。", True),
        ("有任何问题吗?", "有。", True),
        ("and the stairs?", "yes, they are open.", True),  # the reference tells
        ("is it a or b?", "yes.", True),
        ("is it a or b?", "a.", False),
        ("where is it?", "here.", False),
        ("do you know who came?", "ben.", False),
        ("could you describe it?", "it is red.", False),
        ("你知道谁来了吗?", "知道。", False),
        ("", "yes.", False),
    ],
)
def test_a_question_asks_for_a_yes_or_no(question: str, reference: str, expected: bool) -> None:
    assert asks_yes_or_no(question, reference) is expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("yes.", "yes"),
        ("well, of course.", "yes"),
        ("no problem.", "yes"),
        ("it is.", "yes"),
        ("it works.", "yes"),
        ("according to the notice, the lift is working.", "yes"),
        ("the lift is working fine.", "yes"),
        ("no, it is not.", "no"),
        ("unfortunately not.", "no"),
        ("it isn't.", "no"),
        ("the lift is not currently working.", "no"),
        ("the lift has stopped working.", "no"),
        ("no lift is working.", "no"),
        ("the lift.", None),
        ("the stairs are.", None),
        ("the lift is broken.", None),
        ("i'm not sure.", None),
        ("i don't know if the lift is working.", None),
        ("not only that.", None),
    ],
)
def test_a_text_says_yes_or_no_by_a_word_a_verb_or_what_was_asked(text: str, said: str | None) -> None:
    reply = reply_to("is the lift working?", text)
    assert (reply and reply.polarity) == said


@pytest.mark.parametrize(
    ("question", "text", "said"),
    [
        ("电梯能用吗?", "能", "yes"),
        ("电梯能用吗?", "可以用", "yes"),
        ("电梯能用吗?", "可能能用", "yes"),
        ("电梯能用吗?", "没问题", "yes"),
        ("电梯能用吗?", "不好意思,不能", "no"),
        ("电梯能用吗?", "电梯用不了", "no"),
        ("电梯能用吗?", "不一定", None),
        ("电梯能用吗?", "电梯坏了", None),
        ("他会不会游泳?", "他会", "yes"),
        ("他是不是镇长?", "他不是镇长", "no"),
        # To agree with a question that denies is to deny.
        ("他没有来吗?", "是的", "no"),
        ("他没有来吗?", "没有", "no"),
        ("他没有来吗?", "不,他来了", "yes"),
        ("他不是镇长吗?", "是的", "yes"),
    ],
)
def test_a_chinese_text_says_yes_or_no(question: str, text: str, said: str | None) -> None:
    reply = reply_to(question, text)
    assert (reply and reply.polarity) == said
