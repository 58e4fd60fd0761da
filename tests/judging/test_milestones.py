"""Steps of a story: which of them an answer tells, and where it first does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.judging.milestones import first_tellings

STEPS = ["初入纳塔", "报名竞技场", "赢得胜利", "授予古名"]
TEXTS = st.text(alphabet="沈栖小萤不没是的友师爱ab not.,，。/ '", max_size=60)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("旅行者初入纳塔，报名竞技场，赢得胜利，被授予古名。", [True, True, True, True]),
        ("旅行者初到纳塔，报名参加竞技场试炼，取得了胜利，最后被授予古名。", [True, True, True, True]),
        ("旅行者進入納塔後報名參加競技場，贏得勝利，獲授予古名。", [True, True, True, True]),
        ("旅行者离开了纳塔，也离开了竞技场。", [False, False, False, False]),
        ("旅行者没有赢得胜利。", [False, False, False, False]),
        ("旅行者报名了厨艺赛。他去看竞技场。", [False, False, False, False]),  # not in one sentence
        ("纳塔授予旅行者古名", [False, False, False, True]),
        ("没有证据表明旅行者赢得胜利。", [False, False, False, False]),
        ("旅行者初入纳塔，但很难说他赢得胜利。", [True, False, False, False]),
        ("我不知道。", [False, False, False, False]),
    ],
)
def test_a_step_is_told_in_the_words_of_a_sentence_or_most_of_them(answer: str, expected: list[bool]) -> None:
    assert [place is not None for place in first_tellings(answer, STEPS)] == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("He dropped the small lens.", True),
        ("The lens was dropped by him.", False),  # the units in another order
        ("He drops the lens.", True),  # stems
        ("He did not drop the lens.", False),
        ("He dropped a cup. The lens was whole.", False),
    ],
)
def test_an_english_step_is_told_by_its_words_in_order(answer: str, expected: bool) -> None:
    (place,) = first_tellings(answer, ["dropped the lens"])
    assert (place is not None) == expected


@pytest.mark.parametrize(
    ("answer", "steps", "expected"),
    [
        ("three", ["three"], [True]),
        ("It was 3.", ["three"], [True]),
        ("two and three", ["two", "three"], [True, True]),
        ("twenty-three", ["three"], [False]),
        ("not three", ["three"], [False]),
        ("In 1998 came stage two.", ["1998", "stage two"], [True, True]),
        ("First one, then the other.", ["one", "the other"], [True, True]),  # nothing but grammar
        ("他去了三次", ["3次"], [True]),
        ("他去了三次", ["两次"], [False]),
    ],
)
def test_a_step_may_be_a_number(answer: str, steps: list[str], expected: list[bool]) -> None:
    assert [place is not None for place in first_tellings(answer, steps)] == expected


@pytest.mark.parametrize(
    ("step", "answer", "expected"),
    [
        ("item shipped", "The item was shipped.", True),
        ("item shipped", "The item was not shipped.", False),
        ("item shipped", "The item was never shipped.", False),
        ("item shipped", "The item could not be shipped.", False),
        ("item shipped", "The item has not yet been shipped.", False),
        ("item shipped", "The item failed to ship.", False),
        ("item shipped", "None of the items were shipped.", False),
        ("item shipped", "The item, which was not cheap, was shipped.", True),
        ("item shipped", "The item was not only packed but shipped.", True),
        ("item shipped", "The item was not shipped until Monday.", True),
        ("item shipped", "The item was no doubt shipped.", True),
        ("register online", "Nobody registered online.", False),
        ("register online", "She refused to register online.", False),
        ("register online", "She registered online, not by phone.", True),
        ("customer payment for order confirmed", "Payment for the customer order was not confirmed.", False),
        ("物品发货", "物品尚未发货。", False),
        ("物品发货", "物品已经发货。", True),
        ("付款确认", "付款不久就确认了。", True),
        ("提交申请", "他拒绝提交申请。", False),
        ("赢得决赛", "他赢得了这场不容易的决赛。", True),
        ("contract signed in May", "The contract was signed in May.", True),
    ],
)
def test_a_step_that_is_denied_is_not_told(step: str, answer: str, expected: bool) -> None:
    (place,) = first_tellings(answer, [step])
    assert (place is not None) == expected


@pytest.mark.parametrize(
    ("step", "answer", "expected"),
    [
        ("passed the exam in April", "In April he passed the exam.", True),
        ("in April passed the exam", "He passed the exam in April.", True),
        ("march to the capital", "The capital was built in March.", False),
        ("passed the exam in April", "In April he passed no exam.", False),
        ("passed the exam in April", "In June he passed the exam.", False),
        ("passed the exam in April", "In April he left, and in June he passed the exam.", False),
    ],
)
def test_the_month_of_a_step_may_stand_before_it_or_after_it(step: str, answer: str, expected: bool) -> None:
    (place,) = first_tellings(answer, [step])
    assert (place is not None) == expected


def test_the_place_of_a_step_is_where_it_is_first_told() -> None:
    # 授予古名 begins at 0, 初入纳塔 at 8 and again later.
    assert first_tellings("授予古名之前他曾初入纳塔。他初入纳塔。", ["初入纳塔", "授予古名"]) == [8, 0]


@given(answer=TEXTS, step=TEXTS)
def test_whatever_the_texts_a_step_is_told_or_not(answer: str, step: str) -> None:
    assert len(first_tellings(answer, [step])) == 1
