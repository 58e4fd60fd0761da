"""Has a metric got worse over many runs? The latest run against what those before it lead to expect.

What is expected is the 95 % prediction interval (t) of the earlier runs of the same dataset, over the same
questions or others, scored by the same method on at least 10 samples: a value below its lower end, which a
steady metric has in one run of forty, is a regression (where lower is better, one above its upper end). Fewer
than 8 such runs are too few.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.errors import RagEvalError, UnknownNameError, UsageError, counted, invalid
from rag_evaluation_framework.files.access import read_bytes
from rag_evaluation_framework.judging.verdict import CORRECT, GRADES, NOT_JUDGED, WRONG
from rag_evaluation_framework.metrics.declaration import known_metric
from rag_evaluation_framework.results.comparison import as_mapping, evaluated_dataset, metric_sections
from rag_evaluation_framework.results.stored_runs import stored_answers
from rag_evaluation_framework.results.summaries import is_higher_better
from rag_evaluation_framework.statistics.intervals import t_quantile
from rag_evaluation_framework.statistics.resampling import ROUNDING, exact_mean, standard_deviation

TrendVerdict = Literal["regression", "improvement", "steady", "too few"]


class MetricPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one run."""

    evaluation_id: str
    timestamp: str
    metric: str
    value: float
    n_scored: int
    method: str | None
    higher_is_better: bool
    data: str | None
    """The id of the dataset."""
    version: int | None = None
    """The version of the metric, where it is known."""


class MetricTrend(msgspec.Struct, frozen=True, kw_only=True):
    """A metric's latest value against the runs before it, which lead to expect one from ``low`` to ``high``.

    ``n_excluded`` counts earlier runs of other datasets, by other methods or on too few samples.
    """

    metric: str
    current: MetricPoint
    history: tuple[MetricPoint, ...]
    n_excluded: int
    baseline_mean: float | None = None
    low: float | None = None
    high: float | None = None
    verdict: TrendVerdict = "too few"
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the trend as plain values."""
        return dict(msgspec.to_builtins(self))


LEAST_RUNS, MOST_RUNS, LEAST_SAMPLES = 8, 30, 10
_CONFIDENCE = 0.975
"""The one-sided confidence of each end of the expected range."""


def metric_trends(documents: Sequence[Mapping[str, Any]]) -> list[MetricTrend]:
    """Return the trend of every metric of the latest document; the order of the documents does not matter.

    Of the earlier runs the last 30 count.
    """
    if not documents:
        raise UsageError("no runs: a trend needs at least one")
    points = [list(_points(document)) for document in sorted(documents, key=_when)]
    trends = []
    for current in points[-1]:
        earlier = [each for run in points[:-1] for each in run if each.metric == current.metric]
        usable = [each for each in earlier if _is_comparable(each, current)]
        trend = MetricTrend(
            metric=current.metric,
            current=current,
            history=tuple(usable[-MOST_RUNS:]),
            n_excluded=len(earlier) - len(usable),
        )
        trends.append(_judged(trend))
    return trends


def _judged(trend: MetricTrend) -> MetricTrend:
    """Judge the latest value by those before it."""
    current, n = trend.current, len(trend.history)
    if current.n_scored < LEAST_SAMPLES:
        reason = f"not enough samples: {current.n_scored:,} scored, {LEAST_SAMPLES} required"
        return replace(trend, reason=reason)
    if n < LEAST_RUNS:
        reason = f"not enough history: {counted(n, 'comparable earlier run')}, {LEAST_RUNS} required"
        return replace(trend, reason=reason)
    values = [point.value for point in trend.history]
    mean, spread = exact_mean(values), standard_deviation(values)
    half = t_quantile(_CONFIDENCE, n - 1) * spread * math.sqrt(1 + 1 / n)
    low, high = mean - half, mean + half
    known = known_metric(trend.metric)
    if trend.metric in GRADES or (known is not None and known.is_share):
        low, high = max(low, 0.0), min(high, 1.0)
    return replace(
        trend, baseline_mean=mean, low=low, high=high, verdict=_verdict(current, low=low, high=high)
    )


def _is_comparable(point: MetricPoint, current: MetricPoint) -> bool:
    same_method = point.method == current.method and (
        None in (point.version, current.version) or point.version == current.version
    )
    return point.data == current.data and same_method and point.n_scored >= LEAST_SAMPLES


def _verdict(current: MetricPoint, *, low: float, high: float) -> TrendVerdict:
    # Of equal values the range is a point, which rounding must not be beyond.
    slack = ROUNDING * max(abs(low), abs(high))
    if low - slack <= current.value <= high + slack:
        return "steady"
    return "improvement" if (current.value > high) == current.higher_is_better else "regression"


def _points(document: Mapping[str, Any]) -> Iterator[MetricPoint]:
    versions = as_mapping(document.get("metadata")).get("metric_versions") or {}
    about = _about(document)
    for _, section in metric_sections(document):
        for metric, figure in section.items():
            facts = figure if isinstance(figure, Mapping) else {"value": figure}
            value = facts.get("value")
            if not isinstance(value, int | float) or isinstance(value, bool):
                continue
            method, n_scored = facts.get("method"), facts.get("n_scored")
            yield MetricPoint(
                **about,
                metric=metric,
                value=float(value),
                n_scored=n_scored if isinstance(n_scored, int) else _answered(document),
                method=method,
                higher_is_better=is_higher_better(metric, str(method), facts.get("higher_is_better")),
                version=versions.get(metric),
            )
    yield from _grade_points(document)


def _about(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what all points of a document have."""
    named = {name: str(document.get(name)) for name in ("evaluation_id", "timestamp")}
    return {**named, "data": evaluated_dataset(document)}


def _grade_points(document: Mapping[str, Any]) -> Iterator[MetricPoint]:
    """Yield the shares of answers that are correct and wrong, if any answer was judged."""
    answers = as_mapping(document.get("summary")).get("answers")
    if not isinstance(answers, Mapping):
        return
    counts = {grade: answers.get(grade) for grade in GRADES}
    total = sum(count for count in counts.values() if isinstance(count, int))
    for grade in (CORRECT, WRONG):
        count = counts[grade]
        if isinstance(count, int) and total > (counts[NOT_JUDGED] or 0):
            yield MetricPoint(
                **_about(document),
                metric=grade,
                value=count / total,
                n_scored=total,
                method=f"verdicts, rule {answers.get('rule')}",
                higher_is_better=grade == CORRECT,
            )


def _answered(document: Mapping[str, Any]) -> int:
    """Return how many queries were answered, which is what a metric without counts was made from."""
    answered = as_mapping(document.get("summary")).get("successful_queries")
    return answered if isinstance(answered, int) else 0


def _when(document: Mapping[str, Any]) -> tuple[datetime, str]:
    written = document.get("timestamp")
    try:
        when = datetime.fromisoformat(str(written))
    except ValueError:
        raise invalid("timestamp", "a date-time such as 2025-08-30T12:00:00Z", written) from None
    # A time without a zone is taken for UTC, which is what this package writes.
    return when if when.tzinfo else when.replace(tzinfo=UTC), str(document.get("evaluation_id"))


# Where the documents of many runs are found, without what they say of each query.


def stored_documents(
    runs_directory: Path, results_directory: Path, *, dataset: str | None
) -> list[dict[str, Any]]:
    """Return the results of a project's complete runs and results files, each run once, queries left out.

    By default they are those over the ``dataset`` of the latest; without any it is a :class:`UsageError`.
    """
    paths = sorted(runs_directory.glob("*/results.json")) if runs_directory.is_dir() else []
    paths += sorted(results_directory.glob("*.results.json")) if results_directory.is_dir() else []
    found: dict[str, dict[str, Any]] = {}
    for path in paths:
        try:
            document = _without_queries(path)
            _when(document)
        except (msgspec.DecodeError, UnicodeDecodeError, RagEvalError):  # not results, or without a time
            continue
        if any(True for _ in _points(document)):
            found.setdefault(str(document.get("evaluation_id")), document)
    if not found:
        raise UsageError(f"{runs_directory} and {results_directory} contain no results of runs")
    latest = max(found.values(), key=_when)
    wanted = dataset or evaluated_dataset(latest)
    chosen = [document for document in found.values() if evaluated_dataset(document) == wanted]
    if not chosen:
        known = sorted({str(evaluated_dataset(document)) for document in found.values()})
        raise UnknownNameError("dataset", str(wanted), known)
    return chosen


def _without_queries(path: Path) -> dict[str, Any]:
    parts = msgspec.json.decode(read_bytes(path), type=dict[str, msgspec.Raw])
    document = {
        name: msgspec.json.decode(part)
        for name, part in parts.items()
        if name not in ("query_results", "statistical_analysis", "blame")
    }
    if isinstance(summary := document.get("summary"), dict):
        summary["answers"], _ = stored_answers(path, summary.get("answers"))
    return document
