"""Whether a question asks for a yes or no, and which of them a text says."""

from __future__ import annotations

import pytest

from rag_evaluation_framework.judging.turn_matching import asks_yes_or_no, reply_to


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
        ("which one is right?", "a.", False),
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
        ("yes it was repaired.", "yes"),
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
        ("no problem.", None),  # which is no answer by itself
        ("no problem, it works.", "yes"),
        ("no. 5 is.", None),
        ("no lift was.", "no"),
        ("not without a key.", None),
        ("the lift works only at night.", None),
        ("it was not working at first.", None),
        ("it works, but the stairs are closed.", "yes"),
        ("it works by day. at night it does not work.", None),  # of both
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
        ("电梯能用吗?", "没问题", None),
        ("电梯能用吗?", "没关系,能用", "yes"),
        ("电梯能用吗?", "楼梯不能用,电梯能用", "yes"),
        ("电梯能用吗?", "白天能用,晚上不能用", None),
        ("还有票吗?", "票卖完了", None),
        ("还有票吗?", "没有票了", "no"),
        ("电梯能用吗?", "不好意思,不能", "no"),
        ("电梯能用吗?", "电梯用不了", "no"),
        ("电梯能用吗?", "不一定", None),
        ("电梯能用吗?", "未必", None),
        ("能不能用?", "不知道能不能用", None),
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


@pytest.mark.parametrize(
    ("question", "text", "said"),
    [
        ("is there a pool?", "the pool was closed in 2020.", None),
        ("is there a pool?", "there is a heated pool.", "yes"),
        ("is tom coming?", "tom is ill.", None),
        ("is tom coming?", "he is coming tomorrow.", "yes"),
        ("does he like cats?", "he hates cats.", None),
        ("does he like cats?", "he likes cats, but he doesn't like dogs.", "yes"),
        ("does she have a car?", "she sold her car and has a bike.", None),
        ("does she have a car?", "she sold her car and she has a bike.", None),
        ("does she have a car?", "she has sold her car.", None),
        ("does she have a car?", "she has no car.", "no"),
        ("do i need a visa?", "no visa is required.", "no"),
        ("do i need a visa?", "no visa is necessary.", "no"),
        ("do i need a visa?", "a visa is required.", "yes"),
        ("is a visa required?", "a visa is required.", "yes"),
        ("is a visa required?", "you need a visa.", "yes"),
        ("is a visa required?", "a passport is required.", None),
        ("are dogs allowed?", "dogs are not permitted.", "no"),
        ("do i need tickets?", "tickets are only needed on weekends.", None),
        ("do i need a visa?", "not for short stays, but you do need a visa for longer ones.", "yes"),
        ("do i need a visa?", "you do not need a visa for short stays, but you do for longer ones.", None),
        ("is the museum open on sundays?", "on sundays, it is closed.", None),
        ("is the museum open on sundays?", "it is open.", "yes"),
        ("有停车场吗?", "停车场去年关闭了", None),
        ("有没有停车场?", "后面有停车场", "yes"),
        ("可以退款吗?", "退款已经过期", None),
        ("可以退款吗?", "只可以退款一次", None),  # these say less
        ("可以退款吗?", "七天后才可以退款", None),
        ("可以退款吗?", "除特价品外可以退款", None),
        ("can he swim?", "he can't.", "no"),
        ("can he swim?", "he cannot.", "no"),
        ("can he swim?", "he stopped swimming.", "no"),
    ],
)
def test_what_was_asked_is_said_again_with_its_verb(question: str, text: str, said: str | None) -> None:
    reply = reply_to(question, text)
    assert (reply and reply.polarity) == said


YES = """
yes|yeah|yep|yup|indeed|of course|certainly|absolutely|definitely|right|that's true|it is correct|well, yes
i think so, sure|可以|能|会|行|需要|要|有|在|好的|当然可以|是的|对|没错|不错|正确|嗯|当然
"""
NO = """
no|nope|nah|never|wrong|incorrect|false|not yet|not really|not at all|not any more|of course not|sadly, no
certainly not|definitely not|i'm afraid not|不|不能|不可以|不会|不行|没有|不需要|不用|不必|无法|尚未|还没有
当然不|并不|从不|暂时没有|否|不对|错了|恐怕不行|很抱歉,没有|我想不会
"""


@pytest.mark.parametrize(("said", "replies"), [("yes", YES), ("no", NO)])
def test_a_word_by_itself_says_yes_or_no(said: str, replies: str) -> None:
    for reply in replies.strip().replace("\n", "|").split("|"):
        found = reply_to("is it open, 开门了吗?", reply)
        assert (reply, found and found.polarity) == (reply, said)
