"""What a whole run amounts to: means with intervals and counts, failures by kind, performance.

One pass over the rows, in a few bytes a score.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.records.responses import Unread, UnreadTotals
from rag_evaluation_framework.records.scores import Score, Status
from rag_evaluation_framework.results.metric_details import DetailTotals
from rag_evaluation_framework.results.metric_sections import is_higher_better
from rag_evaluation_framework.results.performance import PerformanceTotals
from rag_evaluation_framework.results.run_rows import RunRow
from rag_evaluation_framework.results.summaries import Figure, MetricSummary, Unscored
from rag_evaluation_framework.statistics.intervals import Interval, IntervalMethod, mean_intervals
from rag_evaluation_framework.statistics.resampling import exact_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalSettings:
    """How the interval of a mean is made."""

    method: IntervalMethod = "auto"
    confidence: float = 0.95
    resamples: int = 10_000
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSummary:
    """A run in figures. ``total`` counts the samples to ask, ``finished`` those asked, failures included.

    ``unscored`` has the reasons why samples have no score for a metric, the most frequent first.
    """

    total: int
    finished: int
    failed: int
    failures: Mapping[str, int] = field(hash=False)
    context_origins: Mapping[str, int] = field(hash=False)
    metrics: tuple[MetricSummary, ...]
    performance: Mapping[str, Any] = field(hash=False)
    intervals: IntervalSettings
    unscored: Mapping[str, tuple[Unscored, ...]] = field(default_factory=dict, hash=False)
    unread: tuple[Unread, ...] = ()
    """Contexts and citations that the target returned in a shape that could not be read."""
    details: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)
    """What there is of a metric beside its mean."""

    @property
    def unfinished(self) -> int:
        return self.total - self.finished

    @property
    def unmeasured(self) -> tuple[MetricSummary, ...]:
        """The metrics that have no score at all, and not only because they do not apply: some failed."""
        return tuple(each for each in self.metrics if each.n_failed and not each.n_scored)

    def metric(self, name: str) -> MetricSummary | None:
        """Return one metric's summary, or ``None`` if the run does not have it."""
        return next((summary for summary in self.metrics if summary.metric == name), None)


def summarise_run(
    rows: Iterable[RunRow],
    *,
    total: int | None = None,
    intervals: IntervalSettings | None = None,
    directions: Mapping[str, bool] | None = None,
) -> RunSummary:
    """Sum up the rows of a run; the figures do not depend on their order.

    ``total`` is how many samples were to be asked, where that is more than there are rows. ``directions``
    says for metrics that are not declared here whether higher is better.
    """
    intervals = intervals or IntervalSettings()
    columns: dict[str, _Column] = {}
    failures: Counter[str] = Counter()
    origins: Counter[str] = Counter()
    performance = PerformanceTotals()
    unread = UnreadTotals()
    finished = 0
    for row in rows:
        finished += 1
        response = row.result.response
        performance.add(row.result, row.timing)
        unread.add(response)
        if response.failure is not None:
            failures[response.failure.kind] += 1
        if response.context_origin is not None:
            origins[response.context_origin] += 1
        for score in row.result.scores:
            column = columns.get(score.metric)
            if column is None:
                column = columns[score.metric] = _Column(score.metric)
            column.add(score)
    return RunSummary(
        total=finished if total is None else total,
        finished=finished,
        failed=failures.total(),
        failures=dict(sorted(failures.items())),
        context_origins=dict(sorted(origins.items())),
        metrics=tuple(_figures(columns, intervals, directions or {})),
        performance=performance.figures(),
        intervals=intervals,
        unscored={name: column.unscored() for name, column in columns.items() if column.unscored()},
        unread=unread.totals(),
        details={name: figures for name, column in columns.items() if (figures := column.details.figures())},
    )


def _figures(
    columns: Mapping[str, _Column], intervals: IntervalSettings, directions: Mapping[str, bool]
) -> Iterator[Figure]:
    values = {name: column.values() for name, column in columns.items()}
    scored = [name for name, found in values.items() if len(found)]
    made = mean_intervals(
        [values[name] for name in scored],
        method=intervals.method,
        confidence=intervals.confidence,
        resamples=intervals.resamples,
        seed=intervals.seed,
    )
    interval_of = dict(zip(scored, made, strict=True))
    for name, column in columns.items():
        yield column.summary(values[name], interval_of.get(name), directions.get(name))


class _Column:
    """One metric's scores of all samples."""

    def __init__(self, metric: str) -> None:
        self.details = DetailTotals(metric)
        self._metric = metric
        self._values = array("d")
        self._counts: Counter[str] = Counter()
        self._methods: set[tuple[str, bool]] = set()
        self._reasons: Counter[tuple[Status, str]] = Counter()

    def add(self, score: Score) -> None:
        self.details.add(score)
        self._counts[score.status] += 1
        self._methods.add((score.method, score.status == "scored"))
        if score.value is not None:
            self._values.append(score.value)
        else:
            self._reasons[score.status, _in_few_words(score.reason or "no reason told")] += 1

    def unscored(self) -> tuple[Unscored, ...]:
        """Return why samples have no score, the most frequent reason first."""
        return tuple(Unscored(*told, count) for told, count in self._reasons.most_common())

    def values(self) -> npt.NDArray[np.float64]:
        return np.array(self._values)

    def summary(
        self, values: npt.NDArray[np.float64], interval: Interval | None, told: bool | None
    ) -> Figure:
        # A score that failed before its scorer was asked may not know the method.
        scored = {method for method, is_scored in self._methods if is_scored}
        method = " + ".join(sorted(scored or {method for method, _ in self._methods}))
        return Figure(
            metric=self._metric,
            value=exact_mean(values) if len(values) else None,
            interval=interval,
            n_scored=self._counts["scored"],
            n_skipped=self._counts["skipped"],
            n_failed=self._counts["failed"],
            higher_is_better=is_higher_better(self._metric, method, told),
            method=method,
            reasons=self.unscored(),
            details=self.details.figures(),
        )


def _in_few_words(reason: str) -> str:
    """Return a reason without what is particular to a sample, such as the reply that could not be read."""
    return ": ".join(reason.split(": ", 2)[:2])
