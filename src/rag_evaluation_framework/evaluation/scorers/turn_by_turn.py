"""A metric of single answers taken over a conversation: each of the assistant's turns is scored by itself."""

from __future__ import annotations

import threading

from rag_evaluation_framework.evaluation.scorers.conversation_turns import (
    NOT_TOLD_BY_TURN,
    TURNS,
    answered_turns,
    is_conversation,
    no_answer_in_turn,
)
from rag_evaluation_framework.evaluation.scorers.wrapped_scorer import WrappedScorer
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Score
from rag_evaluation_framework.statistics.sums import exact_mean


class _LatestTurns(threading.local):
    """The turns of the conversation that a thread has looked at last, as samples and responses.

    All metrics are given the same objects, so what one has found out about a turn, the next need not.
    """

    def __init__(self) -> None:
        self._of: tuple[Sample, Response] | None = None
        self._turns: list[tuple[int, Sample, Response]] | None = None

    def of(self, sample: Sample, response: Response) -> list[tuple[int, Sample, Response]] | None:
        if self._of is None or self._of[0] is not sample or self._of[1] is not response:
            answered = answered_turns(sample, response)
            turns = [
                (turn.number, turn.as_sample(sample), turn.as_response(response)) for turn in answered or ()
            ]
            self._turns = None if answered is None else turns
            self._of = sample, response
        return self._turns


_LATEST = _LatestTurns()


class TurnByTurn(WrappedScorer):
    """Fulfils ``MetricScorer`` with another scorer's name: the mean over the turns that it scores.

    What is no conversation is scored as it is. A turn that fails, fails the conversation; the details have
    the values of the others all the same. Where no turn is scored, the first reason why not is told.
    """

    scores_turns = True

    def score(self, sample: Sample, response: Response) -> Score:
        """Score every turn that expects something; of a sample without such turns, its one answer."""
        if not is_conversation(sample):
            return self._scorer.score(sample, response)
        turns = _LATEST.of(sample, response)
        if turns is None:
            return Score.skipped(self.name, NOT_TOLD_BY_TURN, method=self.method)
        scores = [(number, self._scorer.score(asked, answered)) for number, asked, answered in turns]
        values = [(number, score.value) for number, score in scores if score.value is not None]
        details = {TURNS: [{"turn": number, "value": value} for number, value in values]} if values else {}
        method = scores[0][1].method if scores else self.method
        if response.failure is not None:
            return Score.failed(self.name, no_answer_in_turn(response), method=method, details=details)
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
