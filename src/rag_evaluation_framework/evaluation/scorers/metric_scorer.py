"""What the scorers of declared metrics have in common: who they are, and what has no score."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

from rag_evaluation_framework.errors import ModelError, ModelOutageError
from rag_evaluation_framework.evaluation.scorers.known_metrics import fields_needed
from rag_evaluation_framework.metrics.declaration import BoundMetric
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Refusal, Sample
from rag_evaluation_framework.records.scores import ENDPOINT_ERROR, Score


class DeclaredMetricScorer(ABC):
    """A scorer of one declared metric by one method.

    ``is_slow`` is true where scoring waits for a model, so that a run does it beside its other work.
    ``questions`` are those that a judge is asked about an answer; what two metrics ask alike is asked once.
    """

    def __init__(
        self,
        metric: BoundMetric,
        *,
        method: str,
        method_version: int = 1,
        is_slow: bool = False,
        questions: Iterable[str] = (),
    ) -> None:
        self.metric = metric
        self.name = str(metric)
        self.method = method
        # Figures change with the formula and with the method alike, and either makes them incomparable.
        self.version = metric.metric.version + method_version - 1
        self.higher_is_better = metric.metric.higher_is_better
        self.needs = fields_needed(metric.metric)
        self.is_slow = is_slow
        self.questions = frozenset(questions)

    def score(self, sample: Sample, response: Response) -> Score:
        """Score the answer. What does not apply is skipped; an empty answer or a silent judge has failed."""
        if response.text is None or not response.text.strip():
            return self.failed("the answer is empty")
        if reason := self._inapplicable(sample, response):
            return self.skipped(reason)
        try:
            return self.measured(sample, response)
        except ModelOutageError:
            raise  # nothing is wrong with this answer: it is scored when the model is back
        except ModelError as error:
            details = {ENDPOINT_ERROR: error.kind} if error.is_of_endpoint else None
            return self.failed(f"no verdict: {error}", details)

    @abstractmethod
    def measured(self, sample: Sample, response: Response) -> Score:
        """Score an answer that is not empty and has everything that the metric needs beside it."""

    def scored(self, value: float, details: Mapping[str, Any] | None = None) -> Score:
        """Return a value."""
        return Score.scored(self.name, value, method=self.method, details=details)

    def skipped(self, reason: str) -> Score:
        """Return the score of a sample to which the metric does not apply."""
        return Score.skipped(self.name, reason, method=self.method)

    def failed(self, reason: str, details: Mapping[str, Any] | None = None) -> Score:
        """Return the score of a sample on which the metric broke."""
        return Score.failed(self.name, reason, method=self.method, details=details)

    def _inapplicable(self, sample: Sample, response: Response) -> str | None:
        if isinstance(sample.expectation, Refusal):
            return "the sample expects a refusal"
        if "expected" in self.needs and not (sample.reference or "").strip():
            return "the sample expects no text"
        if "context" in self.needs and not any(text.strip() for text in response.contexts):
            return "no contexts: neither the system nor the dataset gave any"
        if "reference_contexts" in self.needs and not any(map(str.strip, sample.reference_contexts)):
            return "the sample has no reference contexts"
        return None


class NeedsJudge(DeclaredMetricScorer):
    """Stands in for a metric that only a judge can measure, where there is none."""

    def __init__(self, metric: BoundMetric) -> None:
        super().__init__(metric, method="not scored: needs a judge")

    def score(self, sample: Sample, response: Response) -> Score:
        """Skip the sample, and say what is missing."""
        return self.skipped("needs a judge")

    def measured(self, sample: Sample, response: Response) -> Score:
        """Skip the sample, and say what is missing."""
        return self.skipped("needs a judge")
