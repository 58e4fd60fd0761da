"""How much of what its reference adds to the question an answer says: what is said / what is new."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework.files import yaml_documents
from rag_evaluation_framework.judging.turn_matching import match_reference

CASES = tables_beside(__file__)

HELPED, HELPED_ASKED = "阿尤协助基尼奇击败了深渊魔物...", "在这个任务中“它”做了什么？"
TABLES = yaml_documents.decode(Path(__file__).with_name("turns.yaml").read_text(encoding="utf-8"))
TEXTS = st.text(alphabet="沈栖小萤不没是的友师爱ab not.,，。/ '", max_size=60)


def said(answer: str, reference: str, question: str, before: Sequence[str] = ()) -> float:
    match = match_reference(answer, reference, question, before=before)
    assert match is not None
    return match.value


@pytest.mark.parametrize(
    ("answer", "reference", "question", "share"),
    [pytest.param(*row, id=f"{rule}: {row[0]}") for rule, rows in TABLES.items() for row in rows],
)
def test_a_turn_says_the_share_that_the_table_tells(
    answer: str, reference: str, question: str, share: str | int
) -> None:
    assert said(answer, reference, question) == float(Fraction(share))


@pytest.mark.parametrize(("answer", "characters"), CASES["chinese_counts_by_characters_that_stand_together"])
def test_chinese_counts_by_characters_that_stand_together(answer: str, characters: int) -> None:
    assert said(answer, HELPED, HELPED_ASKED) == characters / 13


def test_what_the_turns_before_have_said_is_no_news() -> None:
    before = ["沈栖的伙伴叫什么？", "她的伙伴叫小萤。"]
    # Of 小萤爱吃海葡萄 the question gives 爱吃 and the turn before 小萤: 海葡萄 is left.
    for answer, value in (
        ("海葡萄", 1.0),
        ("小萤爱吃海葡萄。", 1.0),
        ("她的伙伴叫小萤。", 0.0),
        ("葡萄", 2 / 3),
    ):
        assert said(answer, "小萤爱吃海葡萄。", "它爱吃什么？", before) == value
    # Where nothing would be left, what the question does not give counts.
    assert said("小萤", "是小萤。", "谁会发光？", before) == 1.0


def test_where_the_question_gives_everything_all_of_the_reference_counts() -> None:
    assert said("小萤", "小萤", "小萤还是小红？") == 1.0
    assert match_reference("是的", "是的。", "是吗？") is not None
    assert match_reference("x", "。。。", "?") is None


@pytest.mark.parametrize("question", ["Is a visa required?", "Do I need a visa?"])
@pytest.mark.parametrize(("answer", "value"), CASES["what_is_needed_is_required"])
def test_what_is_needed_is_required(answer: str, value: float, question: str) -> None:
    assert said(answer, "Yes, a visa is required.", question) == value


def test_a_reference_that_leaves_it_open_is_met_by_an_answer_that_does() -> None:
    reference, question = "可能是周六或者周日。", "哪天？"
    assert said("可能是周六或者周日", reference, question) == 1.0
    assert said("不是周六", reference, question) == 0.0


def test_either_alternative_of_a_reference_will_do() -> None:
    for answer in ("九十九级", "99级"):
        assert said(answer, "九十九级/99级", "一共有多少台阶？") == 1.0


@given(answer=TEXTS, reference=TEXTS, question=TEXTS)
def test_whatever_the_texts_a_share_is_from_0_to_1(answer: str, reference: str, question: str) -> None:
    match = match_reference(answer, reference, question)
    assert match is None or 0 <= match.value <= 1


@given(TEXTS)
def test_an_answer_that_repeats_its_reference_says_all_of_it(reference: str) -> None:
    match = match_reference(reference, reference, "")
    assert match is None or match.value == 1.0 or "/" in reference


YES = """
yes|yeah|yep|yup|indeed|of course|certainly|absolutely|definitely|right|that's true|it is correct|well, yes
i think so, sure|可以|能|会|行|需要|要|有|在|好的|当然可以|是的|对|没错|不错|正确|嗯|当然
"""
NO = """
no|nope|nah|never|wrong|incorrect|false|not yet|not really|not at all|not any more|of course not|sadly, no
certainly not|definitely not|i'm afraid not|不|不能|不可以|不会|不行|没有|不需要|不用|不必|无法|尚未|还没有
当然不|并不|从不|暂时没有|否|不对|错了|恐怕不行|很抱歉,没有|我想不会
"""


@pytest.mark.parametrize(("reference", "replies"), [("Yes.", YES), ("No.", NO)])
def test_a_word_by_itself_says_yes_or_no(reference: str, replies: str) -> None:
    for reply in replies.strip().replace("\n", "|").split("|"):
        assert (reply, said(reply, reference, "Is it open?")) == (reply, 1.0)


@pytest.mark.parametrize("text", ["it works.", "no problem.", "no. 5 is.", "not only that.", "未必"])
def test_what_is_less_plain_is_neither_a_yes_nor_a_no(text: str) -> None:
    assert {said(text, reference, "Is it open?") for reference in ("Yes.", "No.")} == {0.0}


def test_words_do_not_tell_what_is_right_in_other_words() -> None:
    """What the pages say of it, so that they are changed when it is no longer so."""
    rows = yaml_documents.decode(Path(__file__).with_name("other_words.yaml").read_text(encoding="utf-8"))
    right = [said(answer, reference, question) for question, reference, answer, _ in rows]
    wrong = [said(answer, reference, question) for question, reference, _, answer in rows]
    assert len(rows) == 40
    assert fmean(right) == pytest.approx(0.24, abs=0.03)
    assert fmean(wrong) == pytest.approx(0.40, abs=0.03)
