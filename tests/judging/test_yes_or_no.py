"""Whether a question asks for a yes or no, and which of them a text says."""

from __future__ import annotations

import pytest

from cases import tables_beside
from rag_evaluation_framework.judging.turn_matching import asks_yes_or_no, reply_in

TABLES = tables_beside(__file__)


@pytest.mark.parametrize(("question", "reference", "expected"), TABLES["a_question_asks_for_a_yes_or_no"])
def test_a_question_asks_for_a_yes_or_no(question: str, reference: str, expected: bool) -> None:
    assert asks_yes_or_no(question, reference) is expected


@pytest.mark.parametrize(
    "text", ["it works.", "no problem.", "no. 5 is.", "not only that.", "i'm not sure.", "未必"]
)
def test_what_is_less_plain_is_neither(text: str) -> None:
    assert reply_in(text) is None


YES = """
yes|yeah|yep|yup|indeed|of course|certainly|absolutely|definitely|right|that's true|it is correct|well, yes
i think so, sure|可以|能|会|行|需要|要|有|在|好的|当然可以|是的|对|没错|不错|正确|嗯|当然
"""
NO = """
no|nope|nah|never|wrong|incorrect|false|not yet|not really|not at all|not any more|of course not|sadly, no
certainly not|definitely not|i'm afraid not|不|不能|不可以|不会|不行|没有|不需要|不用|不必|无法|尚未|还没有
当然不|并不|从不|暂时没有|否|不对|错了|恐怕不行|很抱歉,没有|我想不会
"""


@pytest.mark.parametrize(("said", "replies"), [(True, YES), (False, NO)])
def test_a_word_by_itself_says_yes_or_no(said: bool, replies: str) -> None:
    for reply in replies.strip().replace("\n", "|").split("|"):
        found = reply_in(reply)
        assert (reply, found and found.is_yes) == (reply, said)
