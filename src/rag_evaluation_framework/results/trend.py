"""Has a metric left the range it used to be in? The latest run against those before it.

The range is the mean of the last 7 runs' values ± 2 of their standard deviations. Only runs over the same
data, scored by the same method on at least 10 samples, count. A value beyond the range on the bad side is a
regression. Two deviations are no test: of a steady metric about one run in ten is beyond them when there are
seven runs to go by, more when there are fewer, so a regression is a reason to look and to compare the runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from rag_evaluation_framework.errors import UsageError, counted, invalid
from rag_evaluation_framework.results.comparison import evaluated_dataset, metric_sections
from rag_evaluation_framework.results.summaries import is_higher_better
from rag_evaluation_framework.statistics.resampling import ROUNDING, exact_mean, standard_deviation

TrendVerdict = Literal["regression", "improvement", "steady", "not enough"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricPoint:
    """One metric of one run."""

    evaluation_id: str
    timestamp: str
    metric: str
    value: float
    n_scored: int
    method: str | None
    higher_is_better: bool
    data: tuple[str | None, str | None]
    """The id and, where it is known, the content hash of the dataset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricTrend:
    """A metric's latest value against the runs before it. ``low`` and ``high`` are the range it was in.

    ``n_excluded`` counts earlier runs over other data, by other methods or on too few samples.
    """

    metric: str
    current: MetricPoint
    history: tuple[MetricPoint, ...]
    n_excluded: int
    baseline_mean: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: TrendVerdict = "not enough"
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the trend as plain values."""
        return asdict(self)


def metric_trends(
    documents: Sequence[Mapping[str, Any]],
    *,
    window: int = 7,
    deviations: float = 2.0,
    least_samples: int = 10,
) -> list[MetricTrend]:
    """Return the trend of every metric of the latest document; the order of the documents does not matter.

    The last ``window`` runs make the range, which is so many ``deviations`` wide on each side; a run needs
    ``least_samples``.
    """
    if not documents:
        raise UsageError("a trend needs at least one run, got none")
    points = [list(_points(document)) for document in sorted(documents, key=_when)]
    trends = []
    for current in points[-1]:
        earlier = [each for run in points[:-1] for each in run if each.metric == current.metric]
        usable = [each for each in earlier if _is_comparable(each, current, least_samples)]
        trend = MetricTrend(
            metric=current.metric,
            current=current,
            history=tuple(usable[-window:]),
            n_excluded=len(earlier) - len(usable),
        )
        trends.append(_judged(trend, deviations=deviations, least_samples=least_samples))
    return trends


def _judged(trend: MetricTrend, *, deviations: float, least_samples: int) -> MetricTrend:
    """Judge the latest value by those before it."""
    current, history = trend.current, trend.history
    if current.n_scored < least_samples:
        reason = f"{counted(current.n_scored, 'sample')}, at least {least_samples} are needed"
        return replace(trend, reason=reason)
    if len(history) < 2:
        reason = f"{counted(len(history), 'comparable run')} before it, at least 2 are needed"
        return replace(trend, reason=reason)
    values = [point.value for point in history]
    mean, half = exact_mean(values), deviations * standard_deviation(values)
    low, high = mean - half, mean + half
    return replace(
        trend, baseline_mean=mean, low=low, high=high, verdict=_verdict(current, low=low, high=high)
    )


def _is_comparable(point: MetricPoint, current: MetricPoint, least_samples: int) -> bool:
    same_data = point.data[0] == current.data[0] and (
        None in (point.data[1], current.data[1]) or point.data[1] == current.data[1]
    )
    return same_data and point.method == current.method and point.n_scored >= least_samples


def _verdict(current: MetricPoint, *, low: float, high: float) -> TrendVerdict:
    # Of equal values the range is a point, which rounding must not be beyond.
    slack = ROUNDING * max(abs(low), abs(high))
    if low - slack <= current.value <= high + slack:
        return "steady"
    return "improvement" if (current.value > high) == current.higher_is_better else "regression"


def _points(document: Mapping[str, Any]) -> Iterator[MetricPoint]:
    metadata = document.get("metadata")
    digest = metadata.get("dataset_hash") if isinstance(metadata, Mapping) else None
    for _, section in metric_sections(document):
        for metric, figure in section.items():
            facts = figure if isinstance(figure, Mapping) else {"value": figure}
            value = facts.get("value")
            if not isinstance(value, int | float) or isinstance(value, bool):
                continue
            method, n_scored = facts.get("method"), facts.get("n_scored")
            yield MetricPoint(
                evaluation_id=str(document.get("evaluation_id")),
                timestamp=str(document.get("timestamp")),
                metric=metric,
                value=float(value),
                n_scored=n_scored if isinstance(n_scored, int) else _answered(document),
                method=method,
                higher_is_better=is_higher_better(metric, str(method), facts.get("higher_is_better")),
                data=(evaluated_dataset(document), digest),
            )


def _answered(document: Mapping[str, Any]) -> int:
    """Return how many queries were answered, which is what a metric without counts was made from."""
    summary = document.get("summary")
    answered = summary.get("successful_queries") if isinstance(summary, Mapping) else None
    return answered if isinstance(answered, int) else 0


def _when(document: Mapping[str, Any]) -> tuple[datetime, str]:
    written = document.get("timestamp")
    try:
        when = datetime.fromisoformat(str(written))
    except ValueError:
        raise invalid("timestamp", "a date-time such as 2025-08-30T12:00:00Z", written) from None
    # A time without a zone is taken for UTC, which is what this package writes.
    return when if when.tzinfo else when.replace(tzinfo=UTC), str(document.get("evaluation_id"))
