"""A metric of single answers taken over a conversation: each of the assistant's turns is scored by itself."""

from __future__ import annotations

from rag_evaluation_framework.evaluation.scorers.conversation_turns import (
    NOT_TOLD_BY_TURN,
    TURNS,
    answered_turns,
    no_answer_in_turn,
)
from rag_evaluation_framework.evaluation.scorers.named_scorers import MetricScorer
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Score
from rag_evaluation_framework.statistics.sums import exact_mean


class TurnByTurn:
    """Fulfils ``MetricScorer`` with another scorer's name: the mean over the turns that it scores.

    A turn that fails, fails the conversation; the details have the values of the others all the same. Where
    no turn is scored, the first reason why not is told.
    """

    scores_turns = True

    def __init__(self, scorer: MetricScorer) -> None:
        self.name = scorer.name
        self.method = scorer.method
        self.version = scorer.version
        self.higher_is_better = scorer.higher_is_better
        self.needs = scorer.needs
        self.is_slow = getattr(scorer, "is_slow", False)
        self.questions: frozenset[str] = getattr(scorer, "questions", frozenset())
        self._scorer = scorer

    def score(self, sample: Sample, response: Response) -> Score:
        """Score every turn that expects something."""
        turns = answered_turns(sample, response)
        if turns is None:
            return Score.skipped(self.name, NOT_TOLD_BY_TURN, method=self.method)
        scores = [
            (turn.number, self._scorer.score(turn.as_sample(sample), turn.as_response(response)))
            for turn in turns
        ]
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
