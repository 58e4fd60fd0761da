"""Scores whether a system declines when it should, and only then."""

from __future__ import annotations

from typing import Any

from rag_evaluation_framework.evaluation.scorers.expected_answers import (
    class_by_patterns,
    expects_refusal,
    is_the_reference,
    is_the_refusal,
    may_be_declined,
)
from rag_evaluation_framework.evaluation.scorers.judged_scorers import asks, panel_fields
from rag_evaluation_framework.evaluation.scorers.metric_scorer import DeclaredMetricScorer
from rag_evaluation_framework.evaluation.scorers.scoring_methods import ScoringMethods, chosen_method
from rag_evaluation_framework.judging.judge import Judge
from rag_evaluation_framework.judging.judged_answers import answer_class_verdict
from rag_evaluation_framework.metrics.declaration import BoundMetric
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Score


class RefusalScorer(DeclaredMetricScorer):
    """Scores the class of an answer, by patterns, or by a judge if there is one.

    A sample may say how its refusal should sound (``pattern``). That text is taken literally, whatever its
    case, width and white space: an answer that holds it is a refusal, whatever else it looks like. Patterns
    tell whether the reference declines, and so no judge is asked about an answer that is the reference.
    Where it does, and the sample does not say that it should, no metric of refusals has a value: the
    reference may be a refusal, or a fact that sounds like one.
    """

    def __init__(self, metric: BoundMetric, *, judge: Judge | None = None) -> None:
        super().__init__(metric, **({} if judge is None else asks(judge, "answer_class")))
        self._judge = judge
        self._of_refusals = metric.metric.name == "refusal_recall"

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score by the class of the answer."""
        details = self._class_of(sample, response.text or "")
        return self.scored(self.metric(details["class"]), details)

    def _class_of(self, sample: Sample, answer: str) -> dict[str, Any]:
        if is_the_refusal(sample, answer):
            return {"class": "refused", "pattern": "the sample's own"}
        if self._judge is not None and not is_the_reference(sample, answer):
            verdict = answer_class_verdict(self._judge, sample.question, answer)
            said = {"class": verdict.values["label"], "reason": verdict.values["reason"]}
            return {**said, **panel_fields(verdict.agreement, verdict.details)}
        found = class_by_patterns(answer, sample.question)
        if found.pattern is None:
            return {"class": found.kind}
        place = {"start": found.start, "end": found.end, "text": answer[found.start : found.end]}
        return {"class": found.kind, "pattern": found.pattern, **place}

    def _inapplicable(self, sample: Sample, response: Response) -> str | None:
        if may_be_declined(sample):
            return "the reference sounds like a refusal, and the sample does not say that it expects one"
        to_decline = expects_refusal(sample)
        if to_decline == self._of_refusals:
            return None
        return f"the sample expects {'a refusal' if to_decline else 'an answer'}"


def refusal_scorer(metric: BoundMetric, methods: ScoringMethods) -> RefusalScorer:
    """Return the scorer of a metric of refusals, by the judge where that is its method."""
    by_judge = chosen_method(metric, methods) == "judge"
    return RefusalScorer(metric, judge=methods.judge if by_judge else None)
