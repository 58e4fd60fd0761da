"""How questions move between two runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework.judging.verdict import STATES, AnswerVerdict, State
from rag_evaluation_framework.results.movements import ask_again, movement_between

TABLES = tables_beside(__file__)


def verdicts(*states: State) -> list[AnswerVerdict]:
    return [AnswerVerdict(state) for state in states]


@pytest.mark.parametrize(("before", "now", "movement"), TABLES["movement_follows_the_grades"])
def test_movement_follows_the_grades(before: list[State], now: list[State], movement: str) -> None:
    assert movement_between(verdicts(*before), verdicts(*now)) == movement


@given(st.lists(st.sampled_from(STATES), min_size=1), st.lists(st.sampled_from(STATES), min_size=1))
def test_same_text_is_unchanged_whatever_its_verdict(before: list[State], now: list[State]) -> None:
    assert movement_between(verdicts(*before), verdicts(*now), is_same_text=True) == "unchanged"


@pytest.mark.parametrize(
    ("partly_before", "again", "kind"), TABLES["a_question_as_good_as_before_when_asked_again_is_unstable"]
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
