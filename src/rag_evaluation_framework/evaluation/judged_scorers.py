"""Scores that a judge gives to the answer as a whole: whether it is relevant, and its grades in a rubric."""

from __future__ import annotations

from rag_evaluation_framework.evaluation.metric_scorer import DeclaredMetricScorer
from rag_evaluation_framework.judging.judge import Judge
from rag_evaluation_framework.judging.judged_answers import judge_context_relevance, judge_relevancy
from rag_evaluation_framework.judging.rubrics import DEFAULT_RUBRIC, Rubric, judge_rubric
from rag_evaluation_framework.metrics.declaration import BoundMetric
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Score


class JudgedRelevancy(DeclaredMetricScorer):
    """A judge says how far the answer addresses the question."""

    def __init__(self, metric: BoundMetric, judge: Judge) -> None:
        super().__init__(metric, method=judge.name, is_slow=True)
        self._judge = judge

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score by the judge's rating."""
        rating = judge_relevancy(self._judge, sample.question, response.text or "")
        value = self.metric(rating.value, is_noncommittal=False)
        return self.scored(value, {"label": rating.label, "reason": rating.reason})


class JudgedContexts(DeclaredMetricScorer):
    """A judge says which contexts help to answer the question."""

    def __init__(self, metric: BoundMetric, judge: Judge) -> None:
        super().__init__(metric, method=judge.name, is_slow=True)
        self._judge = judge

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score by which of the contexts the judge finds useful."""
        useful = judge_context_relevance(
            self._judge, sample.question, response.contexts, reference=sample.reference
        )
        return self.scored(self.metric(useful), {"useful": useful})


class RubricScorer(DeclaredMetricScorer):
    """A judge grades the answer on each criterion; the sum and the pass are computed here."""

    def __init__(self, metric: BoundMetric, judge: Judge, rubric: Rubric | None) -> None:
        self._rubric = rubric or DEFAULT_RUBRIC
        super().__init__(metric, method=f"{judge.name}, rubric {self._rubric.name}", is_slow=True)
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
        return self.scored(self.metric(verdict.scores, weights, **bounds), {"grades": dict(verdict.scores)})
