"""How questions move between two runs, and what asking again settles."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

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


class Agent:
    """Answers each question by its list of states, the last of them again and again."""

    def __init__(self, **states: Sequence[State]) -> None:
        self.states = {name: list(each) for name, each in states.items()}
        self.rounds: list[tuple[list[str], int]] = []

    def ask(self, names: Collection[str], times: int) -> Mapping[str, Sequence[AnswerVerdict]]:
        self.rounds.append((sorted(names), times))
        return {name: verdicts(*(self._next(name) for _ in range(times))) for name in names}

    def _next(self, name: str) -> State:
        states = self.states[name]
        return states.pop(0) if len(states) > 1 else states[0]


WRONG = AnswerVerdict("wrong")


def test_steady_agent_with_three_wrong_answers_fails_after_15_calls() -> None:
    agent = Agent(a=["wrong"], b=["wrong"], c=["wrong_refusal"])
    found = ask_again(dict.fromkeys("abc", WRONG), agent.ask)
    assert found.became_wrong == ("a", "b", "c")
    assert found.calls == 15
    assert agent.rounds == [(["a", "b", "c"], 2), (["a", "b", "c"], 3)]


def test_question_that_is_correct_once_is_unstable_and_not_asked_more() -> None:
    agent = Agent(a=["wrong", "correct"], b=["wrong", "wrong", "wrong", "correct"])
    found = ask_again(dict.fromkeys("ab", WRONG), agent.ask)
    assert (found.unstable, found.became_wrong) == (("a", "b"), ())
    assert agent.rounds == [(["a", "b"], 2), (["b"], 3)]


def test_question_that_is_never_correct_nor_always_wrong_stays_open() -> None:
    agent = Agent(a=["wrong", "not_judged", "wrong"])
    assert ask_again({"a": WRONG}, agent.ask).unconfirmed == ("a",)
    assert ask_again({"a": AnswerVerdict("not_judged")}, Agent(a=["wrong"]).ask).unconfirmed == ("a",)


def test_asking_again_can_be_switched_off() -> None:
    agent = Agent(a=["correct"])
    found = ask_again({"a": WRONG}, agent.ask, times=0)
    assert (found.became_wrong, found.calls, agent.rounds) == (("a",), 0, [])
