"""A figure with its demand, and a metric before and now: one row of every table, whichever report has it."""

from __future__ import annotations

import msgspec

from rag_evaluation_framework.metrics.declaration import PASS_RATE
from rag_evaluation_framework.reports.blocks import (
    STYLES,
    Piece,
    Styled,
    by,
    difference,
    interval_text,
    measure,
)
from rag_evaluation_framework.reports.verdict_lines import verdict_of
from rag_evaluation_framework.results.comparison import Comparison, MetricComparison
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.summaries import Figure
from rag_evaluation_framework.results.verdicts import Check, GatedMetric


class Demand(msgspec.Struct, frozen=True):
    """What the gate needs of a metric, and what came of that; nothing where it needs nothing."""

    check: Check | None

    @property
    def needs(self) -> str:
        check = self.check
        return "" if check is None or check.bound is None else f"{check.operator} {check.bound:g}"

    @property
    def status(self) -> str:
        if self.check is None or not self.needs:
            return ""
        held = "" if self.check.held == "mean" else f" ({self.check.held.replace('bound', 'end')})"
        excuse = "" if self.check.excuse is None else f" ({self.check.excuse})"
        return f"{self.check.status}{held}{excuse}"

    @property
    def result(self) -> Piece:
        """The status in its color."""
        return Styled(self.status, STYLES[self.check.status]) if self.check and self.status else ""

    @property
    def is_missed(self) -> bool:
        return self.status.startswith(("missed", "not evaluated"))

    def __str__(self) -> str:
        return f"{self.needs}, {self.status}" if self.needs else ""


def demand_of(evaluation: Evaluation, part: Evaluation, metric: str) -> Demand:
    """Return what the gate needs of a metric of one dataset."""
    checks = (each for each in verdict_of(evaluation).checks if each.metric == metric)
    return Demand(next((each for each in checks if each.dataset in (None, part.name)), None))


class FigureRow(msgspec.Struct, frozen=True):
    """A figure of one part of an evaluation."""

    part: str
    run: Evaluation
    figure: Figure
    demand: Demand

    @property
    def metric(self) -> str:
        return self.figure.metric

    @property
    def answers(self) -> str:
        return self.figure.answers

    @property
    def bound(self) -> float | None:
        return None if self.demand.check is None else self.demand.check.bound

    @property
    def value(self) -> str:
        """The value, as exactly as it takes to show whether it meets what is needed."""
        return measure(self.metric, self.figure.value, self.figure.interval, bound=self.bound)

    @property
    def by(self) -> str:
        return by(self.figure.method)

    @property
    def interval(self) -> str:
        return interval_text(self.figure.interval, self.figure.value)

    @property
    def is_share(self) -> bool:
        value, interval = self.figure.value, self.figure.interval
        return value is not None and 0 <= value <= 1 and (interval is None or interval.high <= 1 + 1e-9)


def list_figures(evaluation: Evaluation) -> list[FigureRow]:
    """Return the figures that say something: the share that passes only where something is demanded of it."""
    return [
        FigureRow(name, part, each, demand_of(evaluation, part, each.metric))
        for name, part in evaluation.named_runs.items()
        for each in part.metrics.values()
        if each.metric != PASS_RATE or PASS_RATE in {one.metric for one in part.thresholds}
    ]


class MovedRow(msgspec.Struct, frozen=True):
    """A metric before and now, ``of`` a dataset or a contender."""

    of: str
    moved: GatedMetric | MetricComparison
    before: str
    now: str
    by: str
    counts: tuple[int, int, int] = (0, 0, 0)
    """How many answers are better, the same and worse, of contenders."""
    demand: Demand = Demand(None)

    @property
    def metric(self) -> str:
        return self.moved.metric

    @property
    def difference(self) -> str:
        return difference(self.moved.difference, self.moved.interval)

    @property
    def finding(self) -> Styled:
        return Styled(self.moved.finding, STYLES.get(self.moved.finding, ""))

    def __str__(self) -> str:
        return f"{self.metric} {self.before} → {self.now}, {self.moved.finding}"


def gated_rows(evaluation: Evaluation) -> list[MovedRow]:
    """Return the gated metrics of an evaluation beside those of its baseline."""
    moved, runs = evaluation.regressions, {part.name: part for part in evaluation.runs}
    rows = []
    for each in () if moved is None else moved.metrics:
        part = runs.get(each.dataset, evaluation)
        made, demand = part.metrics.get(each.metric), demand_of(evaluation, part, each.metric)
        before, now = (measure(each.metric, mean) for mean in (each.before, each.now))
        method = "" if made is None else by(made.method)
        rows.append(MovedRow(each.dataset, each, before, now, method, demand=demand))
    return rows


def compared_rows(comparison: Comparison) -> list[MovedRow]:
    """Return the metrics of a comparison."""
    rows = []
    for each in comparison.metrics:
        method, counts = comparison.methods.get(each.metric), (each.wins, each.ties, each.losses)
        before, now = (measure(each.metric, mean) for mean in (each.baseline_mean, each.contender_mean))
        rows.append(MovedRow(each.contender, each, before, now, "" if method is None else by(method), counts))
    return rows
