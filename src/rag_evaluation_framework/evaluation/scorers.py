"""From the names of metrics to what scores with them.

Every metric of the family ``texts`` scores an answer against the expected one; ``latency`` is the time of the
answer in milliseconds. Other metrics come in through :data:`SCORERS`: a component registered there under a
metric's name is called with the bound metric's text and returns a scorer that has the attributes of
:class:`MetricScorer`. Installed packages add theirs as ``rag_evaluation_framework.scorers``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

import rag_evaluation_framework.metrics.similarity  # noqa: F401  # declares answer_similarity
from rag_evaluation_framework.errors import Problems, UnknownNameError, UsageError
from rag_evaluation_framework.evaluation.known_metrics import KNOWN_METRICS, PASS_RATE
from rag_evaluation_framework.evaluation.result_fields import TIMING_METHOD
from rag_evaluation_framework.extensions import Registry
from rag_evaluation_framework.metrics.declaration import BoundMetric, all_metrics, parse_metric
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Score
from rag_evaluation_framework.specifications import parse_specification


class MetricScorer(Protocol):
    """A scorer that says what it is: an ``extensions.Scorer`` with what a summary and a preflight need."""

    name: str
    method: str
    version: int
    higher_is_better: bool
    needs: tuple[str, ...]
    """Which of ``expected``, ``context`` and ``reference_contexts`` a sample must have."""

    def score(self, sample: Sample, response: Response) -> Score: ...


SCORERS: Registry[Callable[[str], MetricScorer]] = Registry("scorer")


class TextScorer:
    """Scores an answer's words against the expected answer's."""

    def __init__(self, metric: BoundMetric) -> None:
        self.metric = metric
        self.name = str(metric)
        self.method = metric.metric.method
        self.version = metric.metric.version
        self.higher_is_better = metric.metric.higher_is_better
        self.needs: tuple[str, ...] = ("expected",)

    def score(self, sample: Sample, response: Response) -> Score:
        """Score the answer. A sample that expects no text is skipped; an empty answer has failed."""
        if sample.reference is None or not sample.reference.strip():
            expected = "a refusal" if sample.expectation else "no text"
            return Score.skipped(self.name, f"the sample expects {expected}", method=self.method)
        if response.text is None or not response.text.strip():
            return Score.failed(self.name, "the answer is empty", method=self.method)
        return Score.scored(self.name, self.metric(response.text, sample.reference), method=self.method)


class LatencyScorer:
    """The time that the successful attempt took, in milliseconds."""

    def __init__(self) -> None:
        self.name = "latency"
        self.method = TIMING_METHOD
        self.version = 1
        self.higher_is_better = False
        self.needs: tuple[str, ...] = ()

    def score(self, sample: Sample, response: Response) -> Score:
        """Return the latency of the response."""
        if response.latency_ms is None:
            return Score.skipped(self.name, "the target does not tell how long it took", method=self.method)
        return Score.scored(self.name, response.latency_ms, method=self.method)


def scorers_for(names: Iterable[str]) -> list[MetricScorer]:
    """Return a scorer for each name, each once; all the names that cannot be used are in one error."""
    found: dict[str, MetricScorer] = {}
    problems = Problems()
    for name in names:
        with problems.collected():
            scorer = scorer_for(name)
            found.setdefault(scorer.name, scorer)
    problems.raise_all()
    return list(found.values())


def scorer_for(text: str) -> MetricScorer:
    """Return the scorer of one metric: ``string_match``, ``rouge(variant=rouge1)``, ``latency``."""
    text = text.strip()
    name = parse_specification(text).name
    if name == "latency":
        return LatencyScorer()
    if name in SCORERS.names():
        return SCORERS.get(name)(text)
    if name in _text_metrics():
        return TextScorer(parse_metric(text))
    available = available_metrics()
    if name in KNOWN_METRICS and name != PASS_RATE:
        raise UsageError(f"metric {name} is not available; available: {', '.join(available)}")
    raise UnknownNameError("metric of answers", name, available)


def available_metrics() -> list[str]:
    """Return the names that :func:`scorer_for` accepts, without parameters."""
    return sorted({"latency", *_text_metrics(), *SCORERS.names()})


def _text_metrics() -> set[str]:
    return {metric.name for metric in all_metrics() if metric.family == "texts"}
