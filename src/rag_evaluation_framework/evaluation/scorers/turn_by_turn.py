"""A metric of single answers taken over a conversation: each of the assistant's turns is scored by itself."""

from __future__ import annotations

from typing import TypeAlias

from rag_evaluation_framework.evaluation.conversation_turns import (
    NOT_TOLD_BY_TURN,
    TURNS,
    answered_turns,
    is_conversation,
    no_answer_in_turn,
)
from rag_evaluation_framework.evaluation.scorers.found_once import LatestOf
from rag_evaluation_framework.evaluation.scorers.metric_scorer import MetricScorer, WrappedScorer
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Score
from rag_evaluation_framework.statistics.resampling import exact_mean

Turns: TypeAlias = list[tuple[int, Sample, Response]]
"""The turns of a conversation by their numbers, each as a sample and a response of its own."""


def turns_of(sample: Sample, response: Response) -> Turns | None:
    """Return the turns of a conversation; ``None`` if the target does not report them all."""
    answered = answered_turns(sample, response)
    if answered is None:
        return None
    return [(turn.number, turn.as_sample(sample), turn.as_response(response)) for turn in answered]


class TurnByTurn(WrappedScorer):
    """A scorer around another one: the mean over the turns that it scores.

    A sample that is not a conversation is scored as it is. A turn that fails, fails the conversation; the
    details still have the values of the others. Where no turn is scored, the first reason is reported.
    ``turns`` are shared by all metrics, so that what one finds out about a turn need not be found again.
    """

    def __init__(self, scorer: MetricScorer, turns: LatestOf[Turns | None]) -> None:
        super().__init__(scorer)
        self.scores_turns = True
        self._turns = turns

    def score(self, sample: Sample, response: Response) -> Score:
        """Score every turn that expects something; of a sample without such turns, its one answer."""
        if not is_conversation(sample):
            return self._scorer.score(sample, response)
        turns = self._turns.of(sample, response)
        if turns is None:
            return Score.skipped(self.name, NOT_TOLD_BY_TURN, method=self.method)
        scores = [(number, self._scorer.score(asked, answered)) for number, asked, answered in turns]
        values = [(number, score.value) for number, score in scores if score.value is not None]
        details = {TURNS: [{"turn": number, "value": value} for number, value in values]} if values else {}
        method = scores[0][1].method if scores else self.method
        if (reason := no_answer_in_turn(response)) is not None:
            return Score.failed(self.name, reason, method=method, details=details)
        for number, score in scores:
            if score.status == "failed":
                reason, told = f"turn {number}: {score.reason}", {**score.details, **details}
                return Score.failed(self.name, reason, method=method, details=told)
        if not values:
            reason = next((score.reason for _, score in scores if score.reason), "no turn expects anything")
            return Score.skipped(self.name, reason, method=self.method)
        return Score.scored(
            self.name, exact_mean([value for _, value in values]), method=method, details=details
        )
