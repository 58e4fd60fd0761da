"""The turns of a conversation with what the system answered in each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample, Turn


@dataclass(frozen=True, slots=True)
class AnsweredTurn:
    """One of the assistant's turns: what was asked before it, what it should say, what the system said.

    ``number`` counts the user's turns from 1; ``before`` are the questions and the expected answers of the
    turns before.
    """

    number: int
    question: str
    expected: Turn
    answer: str
    contexts: tuple[str, ...]
    before: tuple[str, ...]

    def as_sample(self, sample: Sample) -> Sample:
        """Return the turn as a sample of its own; its question has no conversation before it."""
        turns = (Turn(role="user", content=self.question),)
        return replace(
            sample, turns=turns, reference=self.expected.reference, expectation=self.expected.expectation
        )

    def as_response(self, response: Response) -> Response:
        """Return what the system said in this turn; hits and citations are known of the last turn only."""
        origin = response.context_origin if self.contexts else None
        return Response(text=self.answer, contexts=self.contexts, context_origin=origin)


def is_conversation(sample: Sample) -> bool:
    """Tell whether a sample says, in at least one turn, what the assistant should say in it."""
    return any(_is_expected(turn) for turn in sample.turns)


def answered_turns(sample: Sample, response: Response) -> list[AnsweredTurn] | None:
    """Return the assistant's turns that expect something; ``None`` where the answers of all are not known."""
    answers = list(_answers(response))
    asked = [turn.content or "" for turn in sample.turns if turn.role == "user"]
    if len(answers) != len(asked):
        return None
    found: list[AnsweredTurn] = []
    before: list[str] = []
    number = 0
    for turn in sample.turns:
        if turn.role == "user":
            before += asked[number - 1 : number] if number else ()
            number += 1
        elif number and _is_expected(turn):
            answer, contexts = answers[number - 1]
            found.append(AnsweredTurn(number, asked[number - 1], turn, answer, contexts, tuple(before)))
            before += [turn.reference] if turn.reference else ()
    return found


def _is_expected(turn: Turn) -> bool:
    return turn.role == "assistant" and bool(turn.expectation or (turn.reference or "").strip())


def _answers(response: Response) -> Iterator[tuple[str, tuple[str, ...]]]:
    turns: Any = response.metadata.get("turns")
    if not isinstance(turns, list):
        yield response.text or "", response.contexts
        return
    for turn in turns:
        if isinstance(turn, Mapping):
            yield str(turn.get("answer") or ""), tuple(turn.get("contexts") or ())
