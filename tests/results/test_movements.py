"""How questions move between two runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.judging.verdict import STATES, AnswerVerdict, State
from rag_evaluation_framework.results.movements import ask_again, movement_between


def verdicts(*states: State) -> list[AnswerVerdict]:
    return [AnswerVerdict(state) for state in states]


@pytest.mark.parametrize(
    ("before", "now", "movement"),
    [
        (["correct"], ["wrong"], "became wrong"),
        (["correct"], ["no_answer"], "became wrong"),
        (["correct_refusal"], ["missed_refusal"], "became wrong"),
        (["correct"], ["partly_correct"], "became partly correct"),
        (["partly_correct"], ["wrong"], "became wrong"),
        (["correct"], ["not_judged"], "no longer confirmed"),
        (["correct"], ["correct"], "unchanged"),
        (["correct"], ["correct_refusal"], "unchanged"),
        (["wrong"], ["correct"], "became correct"),
        (["not_judged"], ["correct"], "became correct"),
        (["partly_correct"], ["correct"], "became correct"),
        (["not_judged"], ["wrong"], "unchanged"),
        (["wrong"], ["not_judged"], "unchanged"),
        (["correct", "correct"], ["wrong", "unsupported"], "became wrong"),
        (["correct", "correct"], ["wrong", "correct"], "unstable"),
        (["correct", "wrong"], ["wrong", "wrong"], "unchanged"),
        (["correct"], ["wrong", "not_judged"], "no longer confirmed"),
        (["correct"], ["wrong", "partly_correct"], "no longer confirmed"),
    ],
)
def test_movement_follows_the_grades(before: list[State], now: list[State], movement: str) -> None:
    assert movement_between(verdicts(*before), verdicts(*now)) == movement


@given(st.lists(st.sampled_from(STATES), min_size=1), st.lists(st.sampled_from(STATES), min_size=1))
def test_same_text_is_unchanged_whatever_its_verdict(before: list[State], now: list[State]) -> None:
    assert movement_between(verdicts(*before), verdicts(*now), is_same_text=True) == "unchanged"


@pytest.mark.parametrize(
    ("partly_before", "again", "kind"),
    [
        ((), "correct", "unstable"),
        ((), "partly_correct", "unconfirmed"),
        ((), "wrong", "became_wrong"),
        (("q",), "partly_correct", "unstable"),
        (("q",), "wrong", "became_wrong"),
    ],
)
def test_a_question_as_good_as_before_when_asked_again_is_unstable(
    partly_before: tuple[str, ...], again: State, kind: str
) -> None:
    found = ask_again(
        {"q": AnswerVerdict("wrong")},
        lambda keys, times: {key: verdicts(*[again] * times) for key in keys},
        partly_before=partly_before,
    )
    assert getattr(found, kind) == ("q",)
    assert found.were_judged == (kind == "unconfirmed")
