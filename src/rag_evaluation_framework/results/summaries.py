"""Columns of scores to figures: rows, means, intervals, counts, details, performance, sections of a
document..
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import UsageError, counted
from rag_evaluation_framework.metrics.declaration import BoundMetric, Metric, parse_metric, without_parameters
from rag_evaluation_framework.metrics.views import EXCHANGE, Field
from rag_evaluation_framework.records.responses import Unread, UnreadTotals, UsageTotals
from rag_evaluation_framework.records.runs import Run, SampleResult, Timing
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import TIMING_METHOD, Score, Status
from rag_evaluation_framework.results.run_folder import RunFolder
from rag_evaluation_framework.results.sample_list import Samples, fingerprint, read_list, streamed
from rag_evaluation_framework.statistics.intervals import (
    Interval,
    IntervalMethod,
    mean_interval,
    mean_intervals,
)
from rag_evaluation_framework.statistics.resampling import exact_mean

# What is known of a metric by its name: its section of the results, and which direction is better.
#
# Retrieval metrics are those of ranking, chunks and spans; citation metrics those of citations;
# everything else that scores an answer is answer quality, and so is anybody else's metric that is not
# declared here. What measures time is performance, whatever it is called.

RETRIEVAL = "retrieval_metrics"
CITATION = "citation_metrics"
ANSWER_QUALITY = "answer_quality_metrics"
PERFORMANCE = "performance_metrics"

_SECTION_OF_FAMILY: Mapping[str, str] = {
    "ranking": RETRIEVAL,
    "chunks": RETRIEVAL,
    "spans": RETRIEVAL,
    "citations": CITATION,
    "performance": PERFORMANCE,
}


def section_of(name: str, method: str) -> str:
    """Return the section of a results document that a metric belongs to."""
    if method == TIMING_METHOD:
        return PERFORMANCE
    declared = declared_metric(name)
    return (
        ANSWER_QUALITY if declared is None else _SECTION_OF_FAMILY.get(declared.metric.family, ANSWER_QUALITY)
    )


def is_higher_better(name: str, method: str, told: bool | None = None) -> bool:
    """Tell whether higher is better: as declared, else as given, else no for times and yes for the rest."""
    declared = declared_metric(name)
    if declared is not None:
        return declared.metric.higher_is_better
    return told if told is not None else method != TIMING_METHOD


def declared_metric(name: str) -> BoundMetric | None:
    """Return the metric of this name, or ``None`` if it is not declared here."""
    try:
        return parse_metric(name)
    except UsageError:
        return None


def stand_in(name: str, method: str, *, higher_is_better: bool) -> BoundMetric:
    """Return a metric that is known by its scores alone: a name and a direction, and nothing to compute."""

    def computed_elsewhere(*_: object) -> float:
        raise UsageError(f"metric {name!r} is known here by its scores alone")

    scores = Field("scores", method=method)
    return BoundMetric(
        Metric(name, EXCHANGE, computed_elsewhere, (scores,), higher_is_better=higher_is_better)
    )


@dataclass(frozen=True, slots=True)
class Unscored:
    """Why so many samples have no score for a metric: ``skipped`` or ``failed``, in a few words."""

    status: Status
    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric's mean over the scored rows. ``value`` is ``None`` where nothing was scored: missing, not 0.

    ``reasons`` say why rows have no score, the most frequent first; ``details`` are what there is of the
    metric beside its mean.
    """

    metric: str
    value: float | None
    interval: Interval | None
    n_scored: int
    n_skipped: int
    n_failed: int
    higher_is_better: bool
    method: str
    reasons: tuple[Unscored, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def interval_method(self) -> str | None:
        """How the interval was made."""
        return None if self.interval is None else self.interval.method

    def to_dict(self) -> dict[str, Any]:
        """Return the shape in which results files store a metric."""
        return {
            "value": self.value,
            "confidence_interval": [self.interval.low, self.interval.high] if self.interval else None,
            "interval_method": self.interval_method,
            "n_scored": self.n_scored,
            "n_skipped": self.n_skipped,
            "n_failed": self.n_failed,
            "higher_is_better": self.higher_is_better,
            "method": self.method,
        }


MetricSummary = Figure
"""The name by which results of single rankings and sweeps still call it."""


def summarise(
    metric: BoundMetric,
    values: npt.NDArray[np.float64] | Sequence[float],
    *,
    n_skipped: int = 0,
    n_failed: int = 0,
    confidence: float = 0.95,
    interval_method: IntervalMethod = "auto",
    resamples: int = 10_000,
    seed: int = 0,
) -> Figure:
    """Summarise the scored values of one metric; the result does not depend on their order."""
    interval = None
    if len(values):
        interval = mean_interval(
            values, method=interval_method, confidence=confidence, resamples=resamples, seed=seed
        )
    return Figure(
        metric=str(metric),
        value=exact_mean(values) if len(values) else None,
        interval=interval,
        n_scored=len(values),
        n_skipped=n_skipped,
        n_failed=n_failed,
        higher_is_better=metric.metric.higher_is_better,
        method=metric.metric.method,
    )


# The rows of a run: each finished sample's result, with the sample and its times if they are at hand.


@dataclass(frozen=True, slots=True)
class RunRow:
    """One sample's result. Without the sample, its question and its truth are not known."""

    result: SampleResult
    sample: Sample | None = None
    timing: Timing | None = None
    verdict: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What an evaluation says of it beside its scores, as its query result has it: ``pass``, ``blame`` …"""


def rows_of_run(run: Run, samples: Iterable[Sample] = ()) -> Iterator[RunRow]:
    """Yield the rows of a run in memory; samples pair by id."""
    known = {sample.id: sample for sample in samples}
    for result in run.results:
        yield RunRow(result, known.get(result.sample_id))


def rows_of_folder(folder: RunFolder, samples: Samples | None = None) -> Iterator[RunRow]:
    """Yield the rows of a run on the disk in the order of its dataset, in memory that does not grow with it.

    ``samples`` may hold more than the run asked, and in another order; one that is missing or was edited
    since is a :class:`UsageError`.
    """
    entries = folder.entries(order="dataset")
    if samples is None:
        for entry in entries:
            yield RunRow(entry.result, timing=entry.timing)
        return
    listed = enumerate(listed_samples(samples, folder.samples_path))
    for entry in entries:
        sample = next((sample for place, sample in listed if place == entry.index), None)
        yield RunRow(entry.result, sample, entry.timing)


def listed_samples(samples: Samples, path: Path) -> Iterator[Sample]:
    """Yield the sample of each line of a run's list, in the order of the list."""
    stream = streamed(samples)
    by_id: dict[str, Sample] | None = None
    for identifier, digits in read_list(path):
        if by_id is None:
            sample = next((sample for sample in stream if sample.id == identifier), None)
            if sample is None:  # the dataset is in another order now
                by_id = {sample.id: sample for sample in streamed(samples)}
        if by_id is not None:
            sample = by_id.get(identifier)
        if sample is None or fingerprint(sample) != digits:
            raise _other_data(samples, path)
        yield sample


def _other_data(samples: Samples, path: Path) -> UsageError:
    now = {sample.id: fingerprint(sample) for sample in streamed(samples)}
    total = missing = edited = 0
    for identifier, digits in read_list(path):
        total += 1
        missing += identifier not in now
        edited += identifier in now and now[identifier] != digits
    found = ", ".join(f"{n:,} {what}" for n, what in ((missing, "missing"), (edited, "edited since")) if n)
    count = counted(total, "sample")
    return UsageError(f"expected the dataset with the {count} of the run as before, got {found}")


# What results have of a metric beside its mean: counts and means of what the details of its scores
# tell.
#
# A field is there if every score has it in its details, and is left out otherwise: runs that were scored
# before it was known have none. A field that begins with ``mean_`` is the mean over the scored samples,
# any other the sum. The value of a metric stays the mean over samples, whatever the sums are.

SPAN_ACCURACY = "span_accuracy"
"""The field of what all metrics of cited spans have in common."""

_OF_SPANS = ("mean_exact_jaccard", "mean_tolerance_jaccard", "perfect_matches", "good_matches")
# The metric that has a tolerance of its own comes first: the figures beside it are by that tolerance.
SPAN_METRICS = (
    "citation_tolerance_jaccard",
    "citation_exact_jaccard",
    "citation_span_f1",
    "citation_span_recall",
    "citation_span_precision",
)
_CONSISTENCY = "mean_consistency"
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "citation_recall": ("total_sentences", "supported_sentences"),
    "citation_precision": ("total_citations", "relevant_citations"),
    "citation_completeness": ("total_claims", "cited_claims"),
    "citation_correctness": ("total_citations", "correct_citations"),
    "citation_validity": ("total_citations", "valid_citations"),
    "factual_consistency": (_CONSISTENCY,),
    "hallucination_rate": ("total_claims", "hallucinated_claims"),
    **dict.fromkeys(SPAN_METRICS, _OF_SPANS),
}


class DetailTotals:
    """Adds up the details of one metric's scores, in some eight bytes a field and sample."""

    def __init__(self, metric: str) -> None:
        self._columns = {name: array("d") for name in _FIELDS.get(without_parameters(metric), ())}
        self._scored = 0

    def add(self, score: Score) -> None:
        """Add what one score tells, if it has a value."""
        if score.value is None:
            return
        self._scored += 1
        for name, column in self._columns.items():
            value = score.details.get(name)
            if isinstance(value, int | float):
                column.append(value)

    def figures(self) -> dict[str, Any]:
        """Return the figures that every score tells something about."""
        told = {name: column for name, column in self._columns.items() if 0 < len(column) == self._scored}
        figures: dict[str, Any] = {
            name: exact_mean(column) if name.startswith("mean_") else int(sum(column))
            for name, column in told.items()
        }
        if _CONSISTENCY in told:
            figures["consistency_scores"] = list(told[_CONSISTENCY])
        return figures


# What a run took: time, latencies, tokens and cost, requests, memory and processor time of the
# evaluation.
#
# ``total_evaluation_time_seconds`` is the time by the clock from the beginning of a run until its last
# sample was asked, scored (by a judge too) and written down. The parts of a resumed run are added up; the
# pauses between them do not count, nor does what comes before and after: checking the data, intervals,
# reports.
#
# ``total_requests`` counts the requests that reached the system under test: each turn of a conversation
# and each retry is one, and so is each call of a function; requests to a judge are counted apart
# (``judge_usage``). Recorded answers take none. Of a sample that a resumed run asked again, those of the
# last time count.

TOTAL_TIME = "total_evaluation_time_seconds"
"""The field of the time that the whole run took."""


class PerformanceTotals:
    """Adds up what responses took, in eight bytes a sample."""

    def __init__(self) -> None:
        self._latencies = array("d")
        self._run_seconds = 0.0
        self._usage = UsageTotals()
        self._timed = self._told_requests = self._requests = 0

    def add(self, result: SampleResult, timing: Timing | None) -> None:
        """Add one response; what it does not report is not made up."""
        response = result.response
        self._usage.add(response.usage)
        if response.latency_ms is not None:
            self._latencies.append(response.latency_ms)
        if timing is not None and timing.started_at:
            self._timed += 1
            self._told_requests += timing.requests is not None
            self._requests += timing.requests or 0
            self._run_seconds = max(self._run_seconds, timing.run_seconds)

    def figures(self) -> dict[str, Any]:
        """Return the figures there are, under their names in results documents."""
        figures: dict[str, Any] = {}
        if self._latencies:
            figures["latency_stats"] = latency_stats(self._latencies)
        if usage := self._usage_figures():
            figures["api_usage"] = usage
        if self._run_seconds:
            figures[TOTAL_TIME] = self._run_seconds
        return figures

    def _usage_figures(self) -> dict[str, Any]:
        tokens = [
            count for count in (self._usage.input_tokens, self._usage.output_tokens) if count is not None
        ]
        figures = {
            "total_tokens": sum(tokens) if tokens else None,
            "input_tokens": self._usage.input_tokens,
            "output_tokens": self._usage.output_tokens,
            # Journals of earlier versions do not tell how many there were.
            "total_requests": self._requests if 0 < self._timed == self._told_requests else None,
            "estimated_cost_usd": self._usage.cost_usd,
        }
        return {name: value for name, value in figures.items() if value is not None}


def latency_stats(latencies: Iterable[float]) -> dict[str, float]:
    """Return the mean, percentiles (interpolated) and ends of latencies in milliseconds."""
    values = np.array(latencies, dtype=np.float64)
    p50, p95, p99 = np.percentile(values, [50, 95, 99]).tolist()
    figures = {"mean": exact_mean(values), "p50": p50, "p95": p95, "p99": p99}
    figures |= {"min": float(values.min()), "max": float(values.max())}
    return {**{name: round(value, 3) for name, value in figures.items()}, "n": len(values)}


# What a whole run amounts to: means with intervals and counts, failures by kind, performance.
#
# One pass over the rows, in a few bytes a score.


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
