"""A conversation turn by turn: what was asked, expected and answered, and how it scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rag_evaluation_framework.records.responses import TURNS, expected_turns, told_answers
from rag_evaluation_framework.records.runs import SampleResult
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Blame
from rag_evaluation_framework.results.blame_summaries import is_fault

_CORRECTNESS = "turn_correctness"


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedTurn:
    """One of the user's turns; ``answer`` is ``None`` if there is none or it is unknown.

    ``scores`` are those of the metrics that score turn by turn.
    """

    number: int
    question: str
    expected: str | None
    expects_refusal: bool
    answer: str | None
    scores: Mapping[str, float] = field(default_factory=dict, hash=False)
    blame: Blame | None = None

    @property
    def value(self) -> float | None:
        """How much of what it should say the answer says."""
        return self.scores.get(_CORRECTNESS)

    @property
    def is_at_fault(self) -> bool:
        """Whether the turn has no answer, lacks something that was expected, or is blamed for something."""
        lacks_something = self.value is not None and self.value < 1
        return self.answer is None or lacks_something or is_fault(self.blame)

    def to_dict(self) -> dict[str, Any]:
        """Return the turn as results files store it."""
        return {
            "turn": self.number,
            "question": self.question,
            "expected": self.expected,
            "expects_refusal": self.expects_refusal,
            "answer": self.answer,
            "value": self.value,
            "scores": dict(self.scores),
            **({} if self.blame is None else {"blame": self.blame.to_dict()}),
        }


def evaluated_turns(
    sample: Sample, result: SampleResult, blames: Mapping[int, Blame] | None = None
) -> tuple[EvaluatedTurn, ...]:
    """Return the turns of a conversation with the outcome of each; none for a single question."""
    asked = [turn.content or "" for turn in sample.turns if turn.role == "user"]
    expected = expected_turns(sample)
    if len(asked) == 1 and not expected:
        return ()
    answers: dict[int, str] = {}
    told = told_answers(result.response)
    if len(told) == len(asked) or result.response.failure is not None:
        answers = {number: answer.text for number, answer in enumerate(told, start=1)}
    elif result.response.text is not None:
        answers = {len(asked): result.response.text}
    scores = _scores_by_turn(result)
    found = []
    for number, question in enumerate(asked, start=1):
        turn = expected.get(number)
        last = sample.reference if number == len(asked) else None
        found.append(
            EvaluatedTurn(
                number=number,
                question=question,
                expected=last if turn is None else turn.reference,
                expects_refusal=turn is not None and turn.expectation is not None,
                answer=answers.get(number),
                scores=scores.get(number, {}),
                blame=(blames or {}).get(number),
            )
        )
    return tuple(found)


def _scores_by_turn(result: SampleResult) -> dict[int, dict[str, float]]:
    found: dict[int, dict[str, float]] = {}
    for score in result.scores:
        turns = score.details.get(TURNS)
        for turn in turns if isinstance(turns, list) else ():
            found.setdefault(turn["turn"], {})[score.metric] = turn["value"]
    return found
