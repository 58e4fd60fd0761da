"""Has a metric left the range it used to be in? The latest run against those before it.

The range is the mean of the last 7 runs' values ± 2 of their standard deviations. Only runs over the same
data, scored by the same method on at least 10 samples, count. A value beyond the range on the bad side is a
regression. Two deviations are no test: of a steady metric about one run in ten is beyond them when there are
seven runs to go by, more when there are fewer, so a regression is a reason to look and to compare the runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from rag_evaluation_framework.errors import UsageError, counted, invalid
from rag_evaluation_framework.results.comparison import metric_sections
from rag_evaluation_framework.results.summaries import is_higher_better
from rag_evaluation_framework.statistics.resampling import ROUNDING, exact_mean, standard_deviation

TrendVerdict = Literal["regression", "improvement", "steady", "not enough"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendSettings:
    """How many runs make the range, how many deviations wide it is, how many samples a run needs."""

    window: int = 7
    deviations: float = 2.0
    least_samples: int = 10


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
    baseline_mean: float | None
    low: float | None
    high: float | None
    verdict: TrendVerdict
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the trend as plain values."""
        return asdict(self)


def metric_trends(
    documents: Sequence[Mapping[str, Any]], settings: TrendSettings | None = None
) -> list[MetricTrend]:
    """Return the trend of every metric of the latest document; the order of the documents does not matter."""
    if not documents:
        raise UsageError("a trend needs at least one run, got none")
    ordered = sorted(documents, key=_when)
    points = [list(_points(document)) for document in ordered]
    earlier: dict[str, list[MetricPoint]] = {}
    for point in (point for run in points[:-1] for point in run):
        earlier.setdefault(point.metric, []).append(point)
    return [metric_trend(point, earlier.get(point.metric, []), settings) for point in points[-1]]


def metric_trend(
    current: MetricPoint, earlier: Sequence[MetricPoint], settings: TrendSettings | None = None
) -> MetricTrend:
    """Judge one value by those before it, oldest first."""
    settings = settings or TrendSettings()
    usable = [point for point in earlier if _is_comparable(point, current, settings)]
    history = tuple(usable[-settings.window :])
    mean = low = high = None
    verdict: TrendVerdict = "not enough"
    reason = None
    if current.n_scored < settings.least_samples:
        reason = f"{counted(current.n_scored, 'sample')}, at least {settings.least_samples} are needed"
    elif len(history) < 2:
        reason = f"{counted(len(history), 'comparable run')} before it, at least 2 are needed"
    else:
        values = [point.value for point in history]
        mean = exact_mean(values)
        half = settings.deviations * standard_deviation(values)
        low, high = mean - half, mean + half
        verdict = _verdict(current, low, high)
    return MetricTrend(
        metric=current.metric,
        current=current,
        history=history,
        n_excluded=len(earlier) - len(usable),
        baseline_mean=mean,
        low=low,
        high=high,
        verdict=verdict,
        reason=reason,
    )


def _is_comparable(point: MetricPoint, current: MetricPoint, settings: TrendSettings) -> bool:
    same_data = point.data[0] == current.data[0] and (
        None in (point.data[1], current.data[1]) or point.data[1] == current.data[1]
    )
    return same_data and point.method == current.method and point.n_scored >= settings.least_samples


def _verdict(current: MetricPoint, low: float, high: float) -> TrendVerdict:
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
                data=(document.get("dataset_id"), digest),
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
