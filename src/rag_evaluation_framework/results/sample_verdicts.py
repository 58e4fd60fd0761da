"""Whether one sample passes, and the share of those that do.

A sample passes when it was answered and each of its scores meets the threshold of its metric. Where no metric
of the run has a threshold, ``string_match`` and ``exact_match`` must be 1. It fails if the request failed, if
an answer that has no score is empty, or if a score misses its bound, whatever happened to the others. If no
bound is missed but a score that counts failed on an answer, because a judge gave no verdict for example, it
is unknown whether the sample passes; if nothing that counts was scored, it neither passes nor fails. Both are
left out of ``pass_rate``, and counted as failed and as skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rag_evaluation_framework.metrics.declaration import PASS_RATE
from rag_evaluation_framework.records.responses import Response, told_answers
from rag_evaluation_framework.records.runs import SampleResult
from rag_evaluation_framework.records.scores import Score
from rag_evaluation_framework.results.gate import Threshold
from rag_evaluation_framework.results.summaries import MetricSummary
from rag_evaluation_framework.statistics.intervals import wilson_interval

PASS_METHOD = "thresholds"  # noqa: S105  # no password

_MATCHES = ("string_match", "exact_match")


def sample_bounds(thresholds: Sequence[Threshold], metrics: Iterable[str]) -> tuple[Threshold, ...]:
    """Return the bounds that each sample of a run with these metrics must meet."""
    run = tuple(metrics)
    declared = tuple(threshold for threshold in thresholds if threshold.metric in run)
    return declared or tuple(Threshold(metric, ">=", 1.0) for metric in _MATCHES if metric in run)


def sample_passes(result: SampleResult, bounds: Sequence[Threshold]) -> bool | None:
    """Tell whether a sample passes; ``None`` where no bound is missed and a score that counts failed, or
    nothing that counts was scored.
    """
    if result.response.failure is not None:
        return False
    if missed_bounds(result, bounds):
        return False
    if _lacks_a_score(result, bounds):
        return False if _is_empty(result.response) else None
    return True if _values(result, bounds) else None


def missed_bounds(result: SampleResult, bounds: Sequence[Threshold]) -> tuple[str, ...]:
    """Say which scores miss their bounds: ``over_refusal 1, not <= 0.2``."""
    return tuple(
        f"{bound.metric} {value:.6g}, not {bound.operator} {bound.bound:g}"
        for value, bound in _values(result, bounds)
        if not bound.is_met_by(value)
    )


def has_error(result: SampleResult) -> bool:
    """Tell whether the request, or any of the scores, failed."""
    return result.response.failure is not None or any(score.status == "failed" for score in result.scores)


@dataclass(slots=True)
class PassCounter:
    """Counts the samples of a run that pass, that fail, of which it is not known, that do neither, and those
    with an error.
    """

    bounds: tuple[Threshold, ...] = ()
    passed: int = 0
    failed: int = 0
    unmeasured: int = 0
    undecided: int = 0
    errors: int = 0

    def __add__(self, other: PassCounter) -> PassCounter:
        """Return the counts of two runs together, each by its own bounds."""
        return PassCounter(
            passed=self.passed + other.passed,
            failed=self.failed + other.failed,
            unmeasured=self.unmeasured + other.unmeasured,
            undecided=self.undecided + other.undecided,
            errors=self.errors + other.errors,
        )

    def add(self, result: SampleResult) -> None:
        """Add one result."""
        self.errors += has_error(result)
        verdict = sample_passes(result, self.bounds)
        if verdict is None and _lacks_a_score(result, self.bounds):
            self.unmeasured += 1
        elif verdict is None:
            self.undecided += 1
        elif verdict:
            self.passed += 1
        else:
            self.failed += 1

    def summary(self, *, confidence: float = 0.95) -> MetricSummary:
        """Return ``pass_rate``; a failed request counts against it, a missing verdict does not."""
        decided = self.passed + self.failed
        return MetricSummary(
            metric=PASS_RATE,
            value=self.passed / decided if decided else None,
            interval=wilson_interval(self.passed, decided, confidence=confidence) if decided else None,
            n_scored=decided,
            n_skipped=self.undecided,
            n_failed=self.unmeasured,
            higher_is_better=True,
            method=PASS_METHOD,
        )


def _counted(result: SampleResult, bounds: Sequence[Threshold]) -> list[tuple[Score, Threshold]]:
    scores = {score.metric: score for score in result.scores}
    return [(scores[bound.metric], bound) for bound in bounds if bound.metric in scores]


def _values(result: SampleResult, bounds: Sequence[Threshold]) -> list[tuple[float, Threshold]]:
    return [(score.value, bound) for score, bound in _counted(result, bounds) if score.value is not None]


def _lacks_a_score(result: SampleResult, bounds: Sequence[Threshold]) -> bool:
    return any(score.status == "failed" for score, _ in _counted(result, bounds))


def _is_empty(response: Response) -> bool:
    """Tell whether the answer, or one of the answers of a conversation, has nothing to score."""
    return not all(told.text.strip() for told in told_answers(response))
