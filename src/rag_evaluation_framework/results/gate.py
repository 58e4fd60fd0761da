"""The gate: do the measured figures meet the thresholds, and does a sample pass? Pure; nothing that
was not measured ever passes..
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.metrics.declaration import PASS_RATE
from rag_evaluation_framework.records.responses import Response, told_answers
from rag_evaluation_framework.records.runs import SampleResult
from rag_evaluation_framework.records.scores import Score
from rag_evaluation_framework.results.comparison import Comparison, MetricComparison, Uncompared
from rag_evaluation_framework.results.summaries import Figure, MetricSummary
from rag_evaluation_framework.statistics.intervals import wilson_interval

Status = Literal["passed", "failed", "not evaluated"]
Word = Literal["passed", "failed", "undecided", "not evaluated", "incomplete"]
JudgedBy = Literal["mean", "bound"]
Confidence = Literal["mean", "lower-bound"]

_FAILED, _INCOMPLETE, _INTERRUPTED = 1, 3, 130

_AGAINST_BASELINE = "mean against the baseline"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateInput:
    """What one dataset brings to the gate. ``errors`` are samples whose request or scoring failed."""

    dataset: str
    metrics: tuple[Figure, ...]
    thresholds: tuple[Threshold, ...]
    total: int
    finished: int
    errors: int
    comparisons: tuple[MetricComparison, ...] = ()
    uncompared: tuple[Uncompared, ...] = ()
    """Metrics for which a comparison was asked and none could be made."""
    unmeasured: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Metrics that were asked for and could not be measured on this dataset, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check: ``value operator bound``. ``dataset`` is ``None`` if the metric ran on none of them."""

    dataset: str | None
    metric: str
    operator: Operator
    bound: float | None
    value: float | None
    status: Status
    held: str
    """What was held against the bound: the mean, an end of the interval, the mean against a baseline."""
    method: str | None = None
    reason: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        value = "no value" if self.value is None else f"{self.value:.6g}"
        bound = "" if self.bound is None else f", not {self.operator} {self.bound:g}"
        why = f" ({self.reason})" if self.reason else ""
        return f"{self.dataset}: {self.metric} {self.held} {value}{bound}{why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Every check, and the rules that were broken whatever the checks say.

    A gate that is off decides nothing: its checks are there to be read. The exit code is 0 for passed or off,
    1 for failed, 3 for a run that is not complete, 130 for one that was interrupted.
    """

    enabled: bool = True
    checks: tuple[Check, ...] = ()
    broken_rules: tuple[str, ...] = ()
    stopped: Literal["incomplete", "interrupted"] | None = None
    """Why a run is not complete, where it is not."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the gate does not pass; empty if it does."""
        return (*self.broken_rules, *(str(check) for check in self.checks if check.status == "failed"))

    @property
    def passed(self) -> bool:
        return not self.reasons

    @property
    def word(self) -> Word:
        """The verdict in a word."""
        if self.stopped is not None:
            return "incomplete"
        if not self.enabled:
            return "not evaluated"
        return "passed" if self.passed else "failed"

    @property
    def result(self) -> Literal["PASS", "FAIL", "N/A"]:
        """What the gate alone says; not applicable if it is off."""
        if not self.enabled:
            return "N/A"
        return "PASS" if self.passed else "FAIL"

    @property
    def exit_code(self) -> int:
        """What a command that ran the evaluation ends with."""
        if self.stopped is not None:
            return _INTERRUPTED if self.stopped == "interrupted" else _INCOMPLETE
        return _FAILED if self.result == "FAIL" else 0

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values."""
        return {
            "result": self.result,
            "rows": [asdict(check) for check in self.checks],
            "reasons": list(self.reasons),
        }


class _Counts(Protocol):
    @property
    def total(self) -> int: ...
    @property
    def finished(self) -> int: ...
    @property
    def errors(self) -> int: ...


class _Outcome(Protocol):
    @property
    def completed(self) -> bool: ...
    @property
    def interrupted(self) -> bool: ...


class Measured(Protocol):
    """What the gate looks at of an ``Evaluation``."""

    @property
    def name(self) -> str: ...
    @property
    def metrics(self) -> Mapping[str, Figure]: ...
    @property
    def counts(self) -> _Counts: ...
    @property
    def outcome(self) -> _Outcome: ...
    @property
    def comparison(self) -> Comparison | None: ...
    @property
    def thresholds(self) -> tuple[Threshold, ...]: ...
    @property
    def unmeasured(self) -> Mapping[str, str]: ...
    @property
    def parts(self) -> Mapping[str, Measured]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What is demanded of an evaluation. A gate that is off shows its checks and fails nothing."""

    thresholds: tuple[Threshold, ...] = ()
    max_errors: int = 0
    max_drop: float = 0.0
    confidence: Confidence = "mean"
    enabled: bool = True

    def decide(self, evaluation: Measured) -> Verdict:
        """Hold every part of an evaluation against its thresholds; all of them must be met."""
        parts = tuple(evaluation.parts.values()) or (evaluation,)
        stopped: Literal["incomplete", "interrupted"] | None = None
        if any(part.outcome.interrupted for part in parts):
            stopped = "interrupted"
        elif not all(part.outcome.completed for part in parts):
            stopped = "incomplete"
        return decide_gate(
            [self._input(part) for part in parts],
            enabled=self.enabled,
            by="bound" if self.confidence == "lower-bound" else "mean",
            max_errors=self.max_errors,
            max_drop=self.max_drop,
            stopped=stopped,
        )

    def _input(self, part: Measured) -> GateInput:
        own = tuple(each for each in self.thresholds if each.dataset in (None, part.name))
        compared = part.comparison
        return GateInput(
            dataset=part.name,
            metrics=tuple(part.metrics.values()),
            thresholds=part.thresholds or own,
            total=part.counts.total,
            finished=part.counts.finished,
            errors=part.counts.errors,
            comparisons=() if compared is None else compared.metrics,
            uncompared=() if compared is None else compared.uncompared,
            unmeasured=part.unmeasured,
        )


def decide_gate(
    inputs: Sequence[GateInput],
    *,
    enabled: bool = True,
    by: JudgedBy = "mean",
    max_errors: int = 0,
    max_drop: float = 0.0,
    stopped: Literal["incomplete", "interrupted"] | None = None,
) -> Verdict:
    """Compare every dataset's figures with its thresholds; all of them must be met."""
    rows = [row for each in inputs for row in _threshold_rows(each, by)]
    rows += _not_evaluated(inputs)
    rows += [row for each in inputs for row in _baseline_rows(each, max_drop)]
    broken = tuple(_broken_rules(inputs, rows, max_errors))
    return Verdict(enabled=enabled, checks=tuple(rows), broken_rules=broken, stopped=stopped)


def _threshold_rows(given: GateInput, by: JudgedBy) -> Iterator[Check]:
    summaries = {summary.metric: summary for summary in given.metrics}
    for threshold in given.thresholds:
        summary = summaries.get(threshold.metric)
        if summary is not None:
            yield _held(threshold, summary, given.dataset, by)


def _held(threshold: Threshold, summary: Figure, dataset: str, by: JudgedBy) -> Check:
    value, held = summary.value, "mean"
    if by == "bound":
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


def _not_evaluated(inputs: Sequence[GateInput]) -> Iterator[Check]:
    """Yield a row for each threshold that applied nowhere, and where a dataset cannot measure its metric.

    A threshold for any dataset applies only to those that are scored by its metric.
    """
    told: set[Threshold] = set()
    for each in inputs:
        run = {summary.metric for summary in each.metrics}
        for threshold in each.thresholds:
            why = each.unmeasured.get(threshold.metric)
            if threshold.metric not in run and (why is not None or threshold.dataset is not None):
                told.add(threshold)
                yield _idle(threshold, each.dataset, why)
    run_anywhere = {summary.metric for each in inputs for summary in each.metrics}
    for threshold in dict.fromkeys(threshold for each in inputs for threshold in each.thresholds):
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


def _baseline_rows(given: GateInput, max_drop: float) -> Iterator[Check]:
    methods = {summary.metric: summary.method for summary in given.metrics}
    for compared in given.comparisons:
        up = compared.higher_is_better
        told = "too few to test"
        if compared.p_adjusted is not None:
            told = f"p = {compared.p_adjusted:.4g}: {compared.verdict}"
        samples = counted(compared.n, "sample")
        yield Check(
            dataset=given.dataset,
            metric=compared.metric,
            operator=">=" if up else "<=",
            bound=compared.baseline_mean - max_drop if up else compared.baseline_mean + max_drop,
            value=compared.contender_mean,
            status=_against_baseline(compared, max_drop),
            held=_AGAINST_BASELINE,
            method=methods.get(compared.metric),
            reason=f"{compared.difference:+.4g} over {samples}, {told}",
        )
    for missed in given.uncompared:
        reason = "no sample was scored in both runs"
        yield Check(
            dataset=given.dataset,
            metric=missed.metric,
            operator=">=",
            bound=None,
            value=None,
            status="failed" if missed.in_baseline else "not evaluated",
            held=_AGAINST_BASELINE,
            method=methods.get(missed.metric),
            reason=reason if missed.in_baseline else "the baseline has no score of it",
        )


def _against_baseline(compared: MetricComparison, max_drop: float) -> Status:
    drop = -compared.difference if compared.higher_is_better else compared.difference
    if drop <= max_drop:
        return "passed"
    if compared.p_adjusted is None:
        return "not evaluated"
    return "failed" if compared.verdict == "worse" else "passed"


def _broken_rules(inputs: Sequence[GateInput], rows: Iterable[Check], max_errors: int) -> Iterator[str]:
    if not inputs:
        yield "no dataset was evaluated"
    for each in inputs:
        if not each.total:
            yield f"{each.dataset}: no samples"
        elif each.finished < each.total:
            of_all = counted(each.total, "sample is", "samples are")
            yield f"{each.dataset}: {each.total - each.finished:,} of {of_all} not finished"
    errors = sum(each.errors for each in inputs)
    if errors > max_errors:
        yield f"{counted(errors, 'sample')} with errors, at most {max_errors:,} allowed"
    if all(row.status == "not evaluated" for row in rows):
        yield "nothing could be evaluated: no threshold is set, or drop can be tested, for what was measured"


Operator = Literal[">=", "<="]


@dataclass(frozen=True, slots=True)
class Threshold:
    """A bound for the mean of one metric, by its name; equality passes. ``line`` is where it is written.

    ``dataset`` is the one that it holds for; ``None`` stands for every one that has the metric.
    """

    metric: str
    operator: Operator
    bound: float
    line: int | None = None
    warning: str | None = None
    dataset: str | None = None

    def is_met_by(self, value: float) -> bool:
        return value >= self.bound if self.operator == ">=" else value <= self.bound

    def __str__(self) -> str:
        of = "" if self.dataset is None else f"{self.dataset}:"
        return f"{of}{self.metric} {self.operator} {self.bound:g}"


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
