"""What all scorers share: what a scorer says about itself, and when a declared metric has no score."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from rag_evaluation_framework.errors import ModelError, ModelOutageError
from rag_evaluation_framework.metrics.declaration import BoundMetric
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Refusal, Sample
from rag_evaluation_framework.records.scores import ENDPOINT_ERROR, Score

NOTHING_RETRIEVED = "nothing was retrieved"

# What there is nothing of where the answer is empty.
_OF_THE_ANSWER = frozenset({"answer", "citations"})


class MetricScorer(Protocol):
    """A scorer that says what it is: an ``extensions.Scorer`` with what a summary and a preflight need."""

    name: str
    method: str
    version: int
    higher_is_better: bool
    needs: tuple[str, ...]
    """What it scores by, in the words of a metric's declaration: ``reference``, ``contexts`` …"""

    is_slow: bool = False
    """Whether scoring waits for a model, so that a run does it beside its other work."""

    questions: frozenset[str] = frozenset()
    """What a judge is asked about an answer; a question that two metrics share is asked once."""

    scores_turns: bool = False
    """Whether each turn of a conversation is scored by itself."""

    needs_judge: bool = False
    """Whether it only stands in for a metric that needs a judge, where there is none."""

    @abstractmethod
    def score(self, sample: Sample, response: Response) -> Score: ...


class DeclaredMetricScorer(MetricScorer):
    """A scorer of one declared metric by one method; by default, the method that the metric declares."""

    counts_nothing_retrieved = False
    """Whether a system that says it retrieved nothing has a score, as where the share found is then 0."""

    def __init__(
        self,
        metric: BoundMetric,
        *,
        method: str | None = None,
        method_version: int = 1,
        is_slow: bool = False,
        questions: Iterable[str] = (),
    ) -> None:
        declared = metric.metric
        self.metric = metric
        self.name = str(metric)
        self.method = method or declared.method
        # Figures change with the formula and with the method alike, and either makes them incomparable.
        self.version = declared.version + method_version - 1
        self.higher_is_better = declared.higher_is_better
        self.needs = declared.needs
        self.questions = frozenset(questions)
        self.is_slow = is_slow or bool(self.questions)

    def score(self, sample: Sample, response: Response) -> Score:
        """Score the answer. What does not apply is skipped; an empty answer or a silent judge has failed.

        A metric that needs no answer scores an empty one like any other.
        """
        if reason := self._inapplicable(sample, response):
            return self.skipped(reason)
        if not _OF_THE_ANSWER.isdisjoint(self.needs) and response.is_empty:
            return self.failed("the answer is empty")
        try:
            return self.measured(sample, response)
        except ModelOutageError:
            raise  # nothing is wrong with this answer: it is scored when the model is back
        except ModelError as error:
            details = {ENDPOINT_ERROR: error.kind} if error.is_of_endpoint else None
            return self.failed(f"no verdict: {error}", details)

    @abstractmethod
    def measured(self, sample: Sample, response: Response) -> Score:
        """Score an answer that has all that the metric needs; where it needs an answer, it is not empty."""

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
        if "reference" in self.needs and not (sample.reference or "").strip():
            return "the sample expects no text"
        if "contexts" in self.needs and not any(text.strip() for text in response.contexts):
            if not response.retrieved_nothing:
                return "no contexts: neither the system nor the dataset gave any"
            if not self.counts_nothing_retrieved:
                return NOTHING_RETRIEVED
        if "reference_contexts" in self.needs and not any(map(str.strip, sample.reference_contexts)):
            return "the sample has no reference contexts"
        return None


class NeedsJudge(DeclaredMetricScorer):
    """Stands in for a metric that only a judge can measure, where there is none."""

    needs_judge = True

    def __init__(self, metric: BoundMetric) -> None:
        super().__init__(metric, method="not scored: needs a judge")

    def score(self, sample: Sample, response: Response) -> Score:
        """Skip the sample, and say what is missing."""
        return self.measured(sample, response)

    def measured(self, sample: Sample, response: Response) -> Score:
        """Skip the sample, and say what is missing."""
        return self.skipped("needs a judge")


class WrappedScorer(MetricScorer):
    """A scorer around another one, with its name, method and needs.

    Another package's scorer need not have the attributes that have a default.
    """

    def __init__(self, scorer: MetricScorer) -> None:
        self.name = scorer.name
        self.method = scorer.method
        self.version = scorer.version
        self.higher_is_better = scorer.higher_is_better
        self.needs = scorer.needs
        self.is_slow = getattr(scorer, "is_slow", False)
        self.questions = getattr(scorer, "questions", frozenset())
        self.scores_turns = getattr(scorer, "scores_turns", False)
        self.needs_judge = getattr(scorer, "needs_judge", False)
        self._scorer = scorer

    def score(self, sample: Sample, response: Response) -> Score:
        """Score as the scorer inside does."""
        return self._scorer.score(sample, response)
