"""The gate: do the measured figures meet the thresholds? Pure; nothing that was not measured ever passes.

- A threshold is held against the unrounded mean; equality passes. With ``by="bound"`` it is held against the
  near end of the interval instead: the lower one for ``>=``, the upper one for ``<=``.
- A metric that ran and scored nothing fails its threshold. A metric that did not run is *not evaluated*.
- More errors than allowed, missing samples, no sample at all, or no threshold that could be evaluated fail
  the gate whatever the figures.
- Against a baseline a metric fails when it is significantly worse, by more than the drop that is allowed, and
  when there are too few samples to test whether it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rag_evaluation_framework.evaluation.manifests.thresholds import Operator, Threshold
from rag_evaluation_framework.results.comparison import MetricComparison
from rag_evaluation_framework.results.summaries import MetricSummary

Status = Literal["passed", "failed", "not evaluated"]
JudgedBy = Literal["mean", "bound"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateInput:
    """What one dataset brings to the gate. ``errors`` are samples whose request or scoring failed."""

    dataset: str
    metrics: tuple[MetricSummary, ...]
    thresholds: tuple[Threshold, ...]
    total: int
    finished: int
    errors: int
    comparisons: tuple[MetricComparison, ...] = ()
    uncompared: tuple[str, ...] = ()
    """Metrics for which a comparison was asked and none could be made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRow:
    """One check: ``value operator bound``. ``dataset`` is ``None`` where the metric ran on none of them."""

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
class GateVerdict:
    """Every check, and the rules that were broken whatever the checks say."""

    enabled: bool
    rows: tuple[GateRow, ...]
    broken_rules: tuple[str, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the gate does not pass; nothing where it does."""
        return (*self.broken_rules, *(str(row) for row in self.rows if row.status == "failed"))

    @property
    def passed(self) -> bool:
        return not self.reasons

    @property
    def result(self) -> Literal["PASS", "FAIL", "N/A"]:
        """The verdict in a word; not applicable where the gate is off."""
        if not self.enabled:
            return "N/A"
        return "PASS" if self.passed else "FAIL"

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain values."""
        return {
            "result": self.result,
            "rows": [asdict(row) for row in self.rows],
            "reasons": list(self.reasons),
        }


def decide_gate(
    inputs: Sequence[GateInput],
    *,
    enabled: bool = True,
    by: JudgedBy = "mean",
    max_errors: int = 0,
    max_drop: float = 0.0,
) -> GateVerdict:
    """Hold every dataset's figures against its thresholds; the verdict is their conjunction."""
    rows = [row for each in inputs for row in _threshold_rows(each, by)]
    rows += _not_evaluated(inputs)
    rows += [row for each in inputs for row in _baseline_rows(each, max_drop)]
    broken = tuple(_broken_rules(inputs, rows, max_errors))
    return GateVerdict(enabled=enabled, rows=tuple(rows), broken_rules=broken)


def _threshold_rows(given: GateInput, by: JudgedBy) -> Iterator[GateRow]:
    summaries = {summary.metric: summary for summary in given.metrics}
    for threshold in given.thresholds:
        summary = summaries.get(threshold.metric)
        if summary is not None:
            yield _held(threshold, summary, given.dataset, by)


def _held(threshold: Threshold, summary: MetricSummary, dataset: str, by: JudgedBy) -> GateRow:
    value, held = summary.value, "mean"
    if by == "bound":
        low = threshold.operator == ">="
        held = "lower bound" if low else "upper bound"
        interval = summary.interval
        value = None if interval is None else interval.low if low else interval.high
    reason = None
    if value is None:
        counts = f"{summary.n_skipped} skipped, {summary.n_failed} failed"
        reason = (
            f"nothing was scored ({counts})" if summary.value is None else "too few samples for an interval"
        )
    return GateRow(
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


def _not_evaluated(inputs: Sequence[GateInput]) -> list[GateRow]:
    """Return a row for each threshold whose metric ran on none of the datasets."""
    run = {summary.metric for each in inputs for summary in each.metrics}
    idle = dict.fromkeys(
        threshold for each in inputs for threshold in each.thresholds if threshold.metric not in run
    )
    return [
        GateRow(
            dataset=None,
            metric=threshold.metric,
            operator=threshold.operator,
            bound=threshold.bound,
            value=None,
            status="not evaluated",
            held="mean",
            reason="the metric did not run",
            line=threshold.line,
        )
        for threshold in idle
    ]


def _baseline_rows(given: GateInput, max_drop: float) -> Iterator[GateRow]:
    for compared in given.comparisons:
        up = compared.higher_is_better
        drop = -compared.difference if up else compared.difference
        untested = compared.p_adjusted is None
        worse = compared.verdict == "worse" and drop > max_drop
        told = "too few to test" if untested else f"p = {compared.p_adjusted:.4g}: {compared.verdict}"
        yield GateRow(
            dataset=given.dataset,
            metric=compared.metric,
            operator=">=" if up else "<=",
            bound=compared.baseline_mean - max_drop if up else compared.baseline_mean + max_drop,
            value=compared.contender_mean,
            status="failed" if worse or untested else "passed",
            held="mean against the baseline",
            reason=f"{compared.difference:+.4g} over {compared.n} samples, {told}",
        )
    for metric in given.uncompared:
        yield GateRow(
            dataset=given.dataset,
            metric=metric,
            operator=">=",
            bound=None,
            value=None,
            status="failed",
            held="mean against the baseline",
            reason="no sample was scored in both runs",
        )


def _broken_rules(inputs: Sequence[GateInput], rows: Iterable[GateRow], max_errors: int) -> Iterator[str]:
    if not inputs:
        yield "no dataset was evaluated"
    for each in inputs:
        if not each.total:
            yield f"{each.dataset}: no samples"
        elif each.finished < each.total:
            yield f"{each.dataset}: {each.total - each.finished:,} of {each.total:,} samples are not finished"
    errors = sum(each.errors for each in inputs)
    if errors > max_errors:
        yield f"{errors:,} samples with errors, at most {max_errors:,} allowed"
    if all(row.status == "not evaluated" for row in rows):
        yield "no threshold could be evaluated: none is set for what was measured"
