"""The turns of a conversation with what the system answered in each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample, Turn

TURNS = "turns"
"""The key of the turns in a response's metadata, and of each turn's value in the details of a score."""

NOT_TOLD_BY_TURN = "the target does not tell its answers turn by turn"


class ToldAnswer(NamedTuple):
    """What a target tells of one turn: the answer, its contexts, and whether it says there were none."""

    text: str
    contexts: tuple[str, ...] = ()
    retrieved_nothing: bool = False


@dataclass(frozen=True, slots=True)
class AnsweredTurn:
    """One of the assistant's turns: what was asked before it, what it should say, what the system said.

    ``number`` counts the user's turns from 1; ``before`` are the questions and the expected answers of the
    turns before.
    """

    number: int
    question: str
    expected: Turn
    told: ToldAnswer
    before: tuple[str, ...]

    @property
    def answer(self) -> str:
        return self.told.text

    def as_sample(self, sample: Sample) -> Sample:
        """Return the turn as a sample of its own; its question has no conversation before it."""
        turns = (Turn(role="user", content=self.question),)
        return replace(
            sample, turns=turns, reference=self.expected.reference, expectation=self.expected.expectation
        )

    def as_response(self, response: Response) -> Response:
        """Return what the system said in this turn; hits and citations are known for the last turn only.

        Where the response has the dataset's contexts, a turn without contexts of its own has those.
        """
        given = response.contexts if response.context_origin == "dataset" else ()
        contexts = self.told.contexts or given
        return Response(
            text=self.answer,
            retrieved_nothing=self.told.retrieved_nothing,
            contexts=contexts,
            context_origin=response.context_origin if contexts else None,
        )


def is_conversation(sample: Sample) -> bool:
    """Tell whether a sample says for at least one turn what the assistant should say in it."""
    return any(_is_expected(turn) for turn in sample.turns)


def expected_turns(sample: Sample) -> dict[int, Turn]:
    """Return the assistant's turns that expect something, by the number of the user's turn before."""
    found: dict[int, Turn] = {}
    number = 0
    for turn in sample.turns:
        number += turn.role == "user"
        if number and _is_expected(turn):
            found[number] = turn
    return found


def answered_turns(sample: Sample, response: Response) -> list[AnsweredTurn] | None:
    """Return the assistant's turns that expect something, up to the one that failed, if one did.

    ``None`` if some answers are not known although no turn failed.
    """
    answers = told_answers(response)
    asked = [turn.content or "" for turn in sample.turns if turn.role == "user"]
    if len(answers) != len(asked) and response.failure is None:
        return None
    expected = expected_turns(sample)
    found: list[AnsweredTurn] = []
    before: list[str] = []
    for number, (question, told) in enumerate(zip(asked, answers, strict=False), start=1):
        turn = expected.get(number)
        if turn is not None:
            found.append(AnsweredTurn(number, question, turn, told, tuple(before)))
        before.append(question)
        before += [turn.reference] if turn is not None and turn.reference else ()
    return found


def told_answers(response: Response) -> list[ToldAnswer]:
    """Return the answer of each turn, in order; a turn that failed has none."""
    turns: Any = response.metadata.get(TURNS)
    if isinstance(turns, list):
        return [
            ToldAnswer(
                str(turn.get("answer") or ""),
                tuple(turn.get("contexts") or ()),
                turn.get("retrieved_nothing") is True,
            )
            for turn in turns
            if isinstance(turn, Mapping)
        ]
    if response.failure is not None:
        return []
    return [ToldAnswer(response.text or "", response.contexts, response.retrieved_nothing)]


def no_answer_in_turn(response: Response) -> str | None:
    """Say in which turn a conversation failed, and how; ``None`` if it did not fail."""
    if response.failure is None:
        return None
    return f"no answer in turn {len(told_answers(response)) + 1}: {response.failure.kind}"


def _is_expected(turn: Turn) -> bool:
    return turn.role == "assistant" and bool(turn.expectation or (turn.reference or "").strip())
