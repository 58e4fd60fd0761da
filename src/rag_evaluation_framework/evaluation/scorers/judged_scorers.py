"""Scores that a judge gives to the answer as a whole: whether it is relevant, and its grades in a rubric."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from rag_evaluation_framework.evaluation.scorers.answer_verdicts import AnswerVerdicts
from rag_evaluation_framework.evaluation.scorers.found_once import LatestOf
from rag_evaluation_framework.evaluation.scorers.metric_scorer import DeclaredMetricScorer
from rag_evaluation_framework.judging.judge import Judge, failed_votes
from rag_evaluation_framework.judging.judged_answers import (
    Rating,
    judge_context_relevance,
    judge_relevancy,
)
from rag_evaluation_framework.judging.rubrics import DEFAULT_RUBRIC, Rubric, judge_rubric
from rag_evaluation_framework.metrics.declaration import BoundMetric
from rag_evaluation_framework.models.prompts import load_prompt
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Score


def asks(judge: Judge, prompt: str) -> dict[str, Any]:
    """Return how a scorer is set up whose metric is one question to a judge."""
    version = load_prompt(prompt).version
    return {"method": judge.name, "method_version": version, "questions": [prompt]}


class JudgedRelevancy(DeclaredMetricScorer):
    """A judge says how far the answer addresses the question, unless it said already that it is none."""

    def __init__(self, metric: BoundMetric, judge: Judge, answers: LatestOf[AnswerVerdicts]) -> None:
        super().__init__(metric, **asks(judge, "relevancy"))
        self._judge, self._answers = judge, answers

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score by the judge's rating; an answer that does not answer is not relevant."""
        kind = self._answers.of(sample, response).answer_class.kind
        if kind != "answered":
            return self.scored(self.metric(0.0, is_noncommittal=True), {"answer_class": kind})
        rating = judge_relevancy(self._judge, sample.question, response.text or "")
        return self.scored(self.metric(rating.value, is_noncommittal=False), rating_fields(rating))


def rating_fields(rating: Rating) -> dict[str, Any]:
    """Return a rating as plain values: the label, why, what a panel said, and where in the answer."""
    found: dict[str, Any] = {"label": rating.label, "reason": rating.reason}
    if rating.quote is not None:
        quote = rating.quote
        found["quote"] = {"text": quote.text, "start": quote.start, "end": quote.end}
    return {**found, **panel_fields(rating.agreement, rating.details)}


def panel_fields(agreement: float | None, details: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the votes were and how far they agreed; nothing where there was only one."""
    if agreement is None:
        return {}
    failed = failed_votes(details)
    told = {"failed_votes": failed} if failed else {}
    return {"agreement": round(agreement, 4), **told, "votes": details["votes"]}


class JudgedContexts(DeclaredMetricScorer):
    """A judge says which contexts help to answer the question."""

    def __init__(self, metric: BoundMetric, judge: Judge) -> None:
        super().__init__(metric, **asks(judge, "context_relevance"))
        self._judge = judge

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score by which of the contexts the judge finds useful."""
        ratings = judge_context_relevance(
            self._judge, sample.question, response.contexts, reference=sample.reference
        )
        details = {"useful": ratings.useful, **panel_fields(ratings.agreement, ratings.details)}
        return self.scored(self.metric(ratings.useful), details)


class RubricScorer(DeclaredMetricScorer):
    """A judge grades the answer on each criterion; the sum and the pass are computed here."""

    def __init__(self, metric: BoundMetric, judge: Judge, rubric: Rubric | None) -> None:
        self._rubric = rubric or DEFAULT_RUBRIC
        method = f"{judge.name}, rubric {_known_as(self._rubric)}"
        super().__init__(metric, **{**asks(judge, "rubric"), "method": method})
        self._judge = judge

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score by the judge's grades."""
        rubric = self._rubric
        verdict = judge_rubric(
            self._judge,
            rubric,
            question=sample.question,
            answer=response.text or "",
            reference=sample.reference,
            contexts=response.contexts,
        )
        weights = {criterion.name: criterion.weight for criterion in rubric.criteria}
        bounds = {"pass_at": rubric.pass_at, "floor": rubric.floor} if self.name == "rubric_pass" else {}
        details = {
            "grades": dict(verdict.scores),
            "reasons": dict(verdict.reasons),
            **panel_fields(verdict.agreement, verdict.details),
        }
        return self.scored(self.metric(verdict.scores, weights, **bounds), details)


def _known_as(rubric: Rubric) -> str:
    """Return a rubric's name; one of a user's own is told apart from others of that name by what it says."""
    if rubric == DEFAULT_RUBRIC:
        return rubric.name
    return f"{rubric.name} ({blake2b(repr(rubric).encode(), digest_size=3).hexdigest()})"
