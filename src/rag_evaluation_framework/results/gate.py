"""The gate: do the figures meet the thresholds, and does a sample pass? What was not measured never does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.metrics.declaration import PASS_RATE
from rag_evaluation_framework.records.responses import Response, told_answers
from rag_evaluation_framework.records.runs import SampleResult
from rag_evaluation_framework.records.scores import Score
from rag_evaluation_framework.results.comparison import MetricComparison
from rag_evaluation_framework.results.evaluations import (
    Check,
    CheckStatus,
    Evaluation,
    Row,
    Threshold,
    Verdict,
)
from rag_evaluation_framework.results.summaries import Figure
from rag_evaluation_framework.statistics.intervals import wilson_interval

Confidence = Literal["mean", "lower-bound"]

_AGAINST_BASELINE = "mean against the baseline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What is demanded of an evaluation. A gate that is off shows its checks and fails nothing."""

    thresholds: tuple[Threshold, ...] = ()
    max_errors: int = 0
    max_drop: float = 0.0
    confidence: Confidence = "mean"
    enabled: bool = True

    def decide(self, evaluation: Evaluation) -> Verdict:
        """Hold every part of an evaluation against its thresholds; all of them must be met."""
        parts = [
            part if part.thresholds else replace(part, thresholds=self._thresholds(part.name))
            for part in evaluation.parts.values() or (evaluation,)
        ]
        stopped: Literal["incomplete", "interrupted"] | None = None
        if any(part.outcome.interrupted for part in parts):
            stopped = "interrupted"
        elif not all(part.outcome.completed for part in parts):
            stopped = "incomplete"
        checks = [check for part in parts for check in self._threshold_checks(part)]
        checks += _not_evaluated(parts)
        checks += [check for part in parts for check in _baseline_checks(part, self.max_drop)]
        broken = tuple(_broken_rules(parts, checks, self.max_errors))
        return Verdict(enabled=self.enabled, checks=tuple(checks), broken_rules=broken, stopped=stopped)

    def _thresholds(self, name: str) -> tuple[Threshold, ...]:
        return tuple(each for each in self.thresholds if each.dataset in (None, name))

    def _threshold_checks(self, part: Evaluation) -> Iterator[Check]:
        for threshold in part.thresholds:
            if (figure := part.metrics.get(threshold.metric)) is not None:
                yield _held(threshold, figure, part.name, self.confidence)


def _held(threshold: Threshold, summary: Figure, dataset: str, by: Confidence) -> Check:
    value, held = summary.value, "mean"
    if by == "lower-bound":
        low = threshold.operator == ">="
        held = "lower bound" if low else "upper bound"
        interval = summary.interval
        value = None if interval is None else interval.low if low else interval.high
    reason = None
    if value is None:
        counts = f"{summary.n_skipped} skipped, {summary.n_failed} failed"
        no_interval = "no interval: too few samples, or all values equal"
        reason = f"nothing was scored ({counts})" if summary.value is None else no_interval
    return Check(
        dataset=dataset,
        metric=threshold.metric,
        operator=threshold.operator,
        bound=threshold.bound,
        value=value,
        status="passed" if value is not None and threshold.is_met_by(value) else "failed",
        held=held,
        method=summary.method,
        reason=reason,
        line=threshold.line,
    )


def _not_evaluated(parts: Sequence[Evaluation]) -> Iterator[Check]:
    """Yield a check for each threshold that applied nowhere, and where a part cannot measure its metric.

    A threshold for any dataset applies only to those that are scored by its metric.
    """
    told: set[Threshold] = set()
    for part in parts:
        for threshold in part.thresholds:
            why = part.unmeasured.get(threshold.metric)
            if threshold.metric not in part.metrics and (why is not None or threshold.dataset is not None):
                told.add(threshold)
                yield _idle(threshold, part.name, why)
    run_anywhere = {metric for part in parts for metric in part.metrics}
    for threshold in dict.fromkeys(threshold for part in parts for threshold in part.thresholds):
        if threshold.metric not in run_anywhere and threshold not in told:
            yield _idle(threshold, None, None)


def _idle(threshold: Threshold, dataset: str | None, why: str | None) -> Check:
    return Check(
        dataset=dataset,
        metric=threshold.metric,
        operator=threshold.operator,
        bound=threshold.bound,
        value=None,
        status="not evaluated",
        held="mean",
        reason=why or "the metric did not run",
        line=threshold.line,
    )


def _baseline_checks(part: Evaluation, max_drop: float) -> Iterator[Check]:
    if part.comparison is None:
        return
    methods = {name: figure.method for name, figure in part.metrics.items()}
    for compared in part.comparison.metrics:
        up = compared.higher_is_better
        told = "too few to test"
        if compared.p_adjusted is not None:
            told = f"p = {compared.p_adjusted:.4g}: {compared.verdict}"
        samples = counted(compared.n, "sample")
        yield Check(
            dataset=part.name,
            metric=compared.metric,
            operator=">=" if up else "<=",
            bound=compared.baseline_mean - max_drop if up else compared.baseline_mean + max_drop,
            value=compared.contender_mean,
            status=_against_baseline(compared, max_drop),
            held=_AGAINST_BASELINE,
            method=methods.get(compared.metric),
            reason=f"{compared.difference:+.4g} over {samples}, {told}",
        )
    for missed in part.comparison.uncompared:
        reason = "no sample was scored in both runs"
        yield Check(
            dataset=part.name,
            metric=missed.metric,
            operator=">=",
            bound=None,
            value=None,
            status="failed" if missed.in_baseline else "not evaluated",
            held=_AGAINST_BASELINE,
            method=methods.get(missed.metric),
            reason=reason if missed.in_baseline else "the baseline has no score of it",
        )


def _against_baseline(compared: MetricComparison, max_drop: float) -> CheckStatus:
    drop = -compared.difference if compared.higher_is_better else compared.difference
    if drop <= max_drop:
        return "passed"
    if compared.p_adjusted is None:
        return "not evaluated"
    return "failed" if compared.verdict == "worse" else "passed"


def _broken_rules(parts: Sequence[Evaluation], checks: Iterable[Check], max_errors: int) -> Iterator[str]:
    for part in parts:
        counts = part.counts
        if not counts.total:
            yield f"{part.name}: no samples"
        elif counts.unfinished:
            of_all = counted(counts.total, "sample is", "samples are")
            yield f"{part.name}: {counts.unfinished:,} of {of_all} not finished"
    errors = sum(part.counts.errors for part in parts)
    if errors > max_errors:
        yield f"{counted(errors, 'sample')} with errors, at most {max_errors:,} allowed"
    if all(check.status == "not evaluated" for check in checks):
        yield "nothing could be evaluated: no threshold is set, or drop can be tested, for what was measured"


# Whether one sample passes, and the share of those that do.
#
# A sample passes when it was answered and each of its scores meets the threshold of its metric. Where no
# metric of the run has a threshold, ``string_match`` and ``exact_match`` must be 1. It fails if the
# request failed, if an answer that has no score is empty, or if a score misses its bound, whatever
# happened to the others. If no bound is missed but a score that counts failed on an answer, because a
# judge gave no verdict for example, it is unknown whether the sample passes; if nothing that counts was
# scored, it neither passes nor fails. Both are left out of ``pass_rate``, and counted as failed and as
# skipped.

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

    def counted(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield the rows, each as soon as it is counted."""
        for row in rows:
            self.add(row.result)
            yield row

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

    def rate(self, *, confidence: float = 0.95) -> Figure:
        """Return ``pass_rate``; a failed request counts against it, a missing verdict does not."""
        decided = self.passed + self.failed
        return Figure(
            metric=PASS_RATE,
            value=self.passed / decided if decided else None,
            interval=wilson_interval(self.passed, decided, confidence=confidence) if decided else None,
            n_scored=decided,
            n_skipped=self.undecided,
            n_failed=self.unmeasured,
            higher_is_better=True,
            method=PASS_METHOD,
        )


def with_pass_rate(evaluation: Evaluation, passes: PassCounter) -> Evaluation:
    """Add what was counted while a run was summed up: the share that passes, and errors."""
    return replace(
        evaluation,
        metrics={**evaluation.metrics, PASS_RATE: passes.rate()},
        counts=replace(evaluation.counts, errors=passes.errors),
    )


def _counted(result: SampleResult, bounds: Sequence[Threshold]) -> list[tuple[Score, Threshold]]:
    scores = {score.metric: score for score in result.scores}
    return [(scores[bound.metric], bound) for bound in bounds if bound.metric in scores]


def _values(result: SampleResult, bounds: Sequence[Threshold]) -> list[tuple[float, Threshold]]:
    return [(score.value, bound) for score, bound in _counted(result, bounds) if score.value is not None]


def _lacks_a_score(result: SampleResult, bounds: Sequence[Threshold]) -> bool:
    """Tell whether a score that counts failed, or was skipped only because the answer is empty."""
    return any(
        score.status == "failed" or score.reason == "the answer is empty"
        for score, _ in _counted(result, bounds)
    )


def _is_empty(response: Response) -> bool:
    """Tell whether the answer, or one of the answers of a conversation, has nothing to score."""
    return not all(told.text.strip() for told in told_answers(response))
