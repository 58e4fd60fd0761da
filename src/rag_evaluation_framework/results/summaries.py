"""Scores to figures: columns of scores, means with intervals, counts, details of metrics, performance."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from rag_evaluation_framework.errors import UnknownNameError, UsageError
from rag_evaluation_framework.metrics.declaration import BoundMetric, parse_metric, without_parameters
from rag_evaluation_framework.records.responses import Unread, UnreadTotals
from rag_evaluation_framework.records.runs import JudgeUsage, ResourceUsage, RunHead, SampleResult, Timing
from rag_evaluation_framework.records.samples import Usage
from rag_evaluation_framework.records.scores import CHEAP_SCORE, NOT_DRAWN, TIMING_METHOD, Score, Status
from rag_evaluation_framework.results.drawn_scores import (
    PARTLY,
    CheapScores,
    Draws,
    JudgedPart,
    draws_of,
    estimated,
)
from rag_evaluation_framework.statistics.intervals import (
    Interval,
    IntervalMethod,
    mean_interval,
    mean_intervals,
)
from rag_evaluation_framework.statistics.resampling import exact_mean
from rag_evaluation_framework.text.display import short_repr

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
    """Return True if higher is better: as declared, else as given, else no for times and yes for the rest."""
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


class Unscored(msgspec.Struct, frozen=True):
    """Why so many samples have no score for a metric: ``skipped`` or ``failed``, in a few words."""

    status: Status
    reason: str
    count: int


_WRITTEN = ("interval_method", "n_scored", "n_skipped", "n_failed", "higher_is_better", "method")
"""The fields of a figure that results files store as they are."""


class Figure(msgspec.Struct, frozen=True):
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
    details: Mapping[str, Any] = {}
    judged: JudgedPart | None = None
    """Of how many samples the mean tells, where only some of them were judged."""

    __repr__ = short_repr

    @property
    def interval_method(self) -> str | None:
        """The method of the interval."""
        return None if self.interval is None else self.interval.method

    @property
    def answers(self) -> str:
        """The number of scored answers and, where only some were judged, of all: ``120 of 400``."""
        return f"{self.n_scored:,}" if self.judged is None else f"{self.n_scored:,} of {self.judged.n:,}"

    def to_dict(self) -> dict[str, Any]:
        """Return the shape in which results files store a metric."""
        return {
            "value": self.value,
            "confidence_interval": [self.interval.low, self.interval.high] if self.interval else None,
            **{name: getattr(self, name) for name in _WRITTEN},
            **({} if self.judged is None else self.judged.to_dict()),
        }


def summarise(
    metric: BoundMetric,
    values: npt.NDArray[np.float64] | Sequence[float],
    *,
    n_skipped: int = 0,
    interval: Interval | None = None,
) -> Figure:
    """Summarise the scored values of one metric; the result does not depend on their order.

    ``interval`` is that of the mean where it is made already, for several metrics at once.
    """
    if interval is None and len(values):
        interval = mean_interval(values, method="auto" if metric.metric.is_share else _of_amounts("auto"))
    return Figure(
        metric=str(metric),
        value=exact_mean(values) if len(values) else None,
        interval=interval,
        n_scored=len(values),
        n_skipped=n_skipped,
        n_failed=0,
        higher_is_better=metric.metric.higher_is_better,
        method=metric.metric.method,
    )


# What results have of a metric beside its mean: counts and means of what the details of its scores tell.
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


# What a run took: time, latencies, tokens and cost, requests, memory and processor time of the evaluation.
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
RELIABILITY = "reliability"
"""The field of how often a live agent failed and was asked once more, by kind of error, and its latency."""
_PERCENTILES = (50, 95, 99)


class PerformanceTotals:
    """Adds up what responses took, in eight bytes a sample."""

    def __init__(self) -> None:
        self._errors: Counter[str] = Counter()
        self._answers = self._failed = self._retries = self._retried = 0
        self._latencies = array("d")
        self._run_seconds = 0.0
        self._usage = Usage()
        self._timed = self._told_requests = self._requests = 0

    def add(self, result: SampleResult, timing: Timing | None) -> None:
        """Add one response; what it does not report is not made up."""
        response = result.response
        self._usage = self._usage.plus(response.usage)
        if response.latency_ms is not None:
            self._latencies.append(response.latency_ms)
        if timing is not None and timing.started_at:
            self._timed += 1
            self._told_requests += timing.requests is not None
            self._requests += timing.requests or 0
            self._run_seconds = max(self._run_seconds, timing.run_seconds)
        if timing is not None and (timing.requests or timing.failures):  # not recorded
            failure = response.failure
            self._answers += 1
            self._failed += failure is not None
            self._retries += timing.attempts - 1
            self._retried += timing.attempts > 1
            self._errors.update(timing.failures or ({} if failure is None else {failure.kind: 1}))

    def figures(self) -> dict[str, Any]:
        """Return the figures there are, under their names in results documents."""
        figures: dict[str, Any] = {}
        if self._latencies:
            told = latency_figures(self._latencies, _PERCENTILES)
            figures["latency_stats"] = {**told, "n": len(self._latencies)}
        if usage := self._usage_figures():
            figures["api_usage"] = usage
        if self._run_seconds:
            figures[TOTAL_TIME] = self._run_seconds
        if self._answers:
            latencies = figures.get("latency_stats", {})
            figures[RELIABILITY] = {
                "answers": self._answers,
                "requests": self._answers + self._retries,
                "failed": self._failed,
                "error_rate": self._failed / self._answers,
                "retries": self._retries,
                "retried_answers": self._retried,
                "retry_rate": self._retries / (self._answers + self._retries),
                "errors": dict(self._errors.most_common()),
                "latency_ms": {name: latencies[name] for name in ("p50", "p95") if name in latencies},
            }
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


def latency_figures(latencies: Sequence[float], percentiles: Sequence[float]) -> dict[str, float]:
    """Return the mean, percentiles (interpolated), the least and the most of some milliseconds."""
    ordered = np.sort(np.array(latencies, dtype=np.float64))
    found = {"mean": exact_mean(ordered)}
    found |= {f"p{each:g}": percentile(ordered, each / 100) for each in percentiles}
    found |= {"min": float(ordered[0]), "max": float(ordered[-1])}
    return {name: round(value, 3) for name, value in found.items()}


def percentile(ordered: npt.NDArray[np.float64], share: float) -> float:
    """Return what numpy's ``percentile`` does, which takes longer to load what it needs than to compute."""
    place = share * (len(ordered) - 1)
    low = int(place)
    below, above = float(ordered[low]), float(ordered[min(low + 1, len(ordered) - 1)])
    part = place - low
    return below + (above - below) * part if part < 0.5 else above - (above - below) * (1 - part)


# What a whole run amounts to: one pass over its results, in a few bytes a score.

STATUSES: tuple[Status, ...] = ("scored", "skipped", "failed")
"""The statuses by their number in a column; :data:`ABSENT` where a sample has no such score."""
ABSENT = len(STATUSES)

_STATUS_NUMBERS = {status: number for number, status in enumerate(STATUSES)}

INTERVALS: Mapping[str, Any] = {"method": "auto", "confidence": 0.95, "resamples": 10_000, "seed": 0}
"""The default settings of the intervals of means: the words of :func:`mean_intervals`."""


def intervals_of(head: RunHead) -> dict[str, Any]:
    """Return how the intervals of a run are made: at the level of confidence that it was begun with."""
    level = head.parameters.get("confidence_level", INTERVALS["confidence"])
    return {**INTERVALS, "confidence": level, "seed": head.seed}


class Columns(msgspec.Struct, frozen=True):
    """Scores by metric: float64 values (NaN where there is none) and statuses, in the order of the data.

    ``draws`` are of metrics that were judged in part: which samples were drawn, and from which stratum.
    """

    ids: tuple[str, ...]
    values: Mapping[str, npt.NDArray[np.float64]]
    statuses: Mapping[str, npt.NDArray[np.uint8]]
    draws: Mapping[str, Draws] = {}

    __repr__ = short_repr

    def __len__(self) -> int:
        return len(self.ids)

    def scored(self, metric: str) -> dict[str, float]:
        """Return one metric's values by sample id, where there are any."""
        if metric not in self.values:
            raise UnknownNameError("metric", metric, list(self.values))
        found = zip(self.ids, self.values[metric].tolist(), self.statuses[metric].tolist(), strict=True)
        return {sample_id: value for sample_id, value, status in found if status == 0}


NO_COLUMNS = Columns((), {}, {})


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """Samples to ask, those finished (failures included), those without an answer, those with an error, and
    how often one was asked again because a request failed.

    ``failures`` are by kind, ``origins`` say whose contexts the answers were scored with, ``unread`` what the
    target returned in a shape that could not be read.
    """

    total: int
    finished: int
    failed: int = 0
    errors: int = 0
    retries: int = 0
    failures: Mapping[str, int] = {}
    origins: Mapping[str, int] = {}
    unread: tuple[Unread, ...] = ()

    __repr__ = short_repr

    @property
    def unfinished(self) -> int:
        return self.total - self.finished


class Performance(msgspec.Struct, frozen=True):
    """Performance of a run: times, latencies, tokens and cost of the target; memory and processor; judge."""

    figures: Mapping[str, Any] = {}
    resources: ResourceUsage | None = None
    judge_usage: JudgeUsage | None = None

    __repr__ = short_repr


class RunTotals:
    """Takes the results of a run one by one, in the order of the data; the figures do not depend on it."""

    def __init__(self) -> None:
        self.failures: Counter[str] = Counter()
        self.retries = 0
        self.origins: Counter[str] = Counter()
        self.unread = UnreadTotals()
        self.performance = PerformanceTotals()
        self.ids: list[str] = []
        self._columns: dict[str, _Column] = {}

    def add(self, result: SampleResult, timing: Timing | None = None) -> None:
        """Take one more."""
        response = result.response
        self.performance.add(result, timing)
        self.retries += 0 if timing is None else max(timing.attempts - 1, 0)
        self.unread.add(response)
        if response.failure is not None:
            self.failures[response.failure.kind] += 1
        if response.context_origin is not None:
            self.origins[response.context_origin] += 1
        for score in result.scores:
            column = self._columns.get(score.metric)
            if column is None:
                column = self._columns[score.metric] = _Column(score.metric)
            column.add(score, place=len(self.ids))
        self.ids.append(result.sample_id)

    def columns(self) -> Columns:
        """Return every score."""
        size = len(self.ids)
        return Columns(
            tuple(self.ids),
            {name: column.values(size) for name, column in self._columns.items()},
            {name: column.statuses(size) for name, column in self._columns.items()},
            self._draws(),
        )

    def _draws(self, whole: Columns | None = None) -> dict[str, Draws]:
        """Return the draws of metrics judged in part; of a part of a run, those of the ``whole``."""
        cheap = {name: column.cheap for name, column in self._columns.items() if column.cheap is not None}
        if not cheap:
            return {}
        if whole is not None and whole.draws:
            places = {sample_id: place for place, sample_id in enumerate(whole.ids)}
            here = np.array([places[sample_id] for sample_id in self.ids], dtype=np.int64)
            return {name: whole.draws[name][here] for name in cheap}
        higher = {name: column.is_higher_better for name, column in self._columns.items()}
        return draws_of(cheap, higher_is_better=higher, size=len(self.ids))

    def figures(
        self,
        *,
        intervals: Mapping[str, Any] = INTERVALS,
        directions: Mapping[str, bool] | None = None,
        whole: Columns | None = None,
    ) -> dict[str, Figure]:
        """Return the figure of each metric, in the order in which the scores came.

        ``directions`` says for metrics that are not declared here whether higher is better. Where these are
        a part of a run, that of a tag for example, ``whole`` are the scores of the run.
        """
        values = {name: column.scored() for name, column in self._columns.items()}
        interval_of: dict[str, Interval | None] = {}
        for is_share in (True, False):
            scored = [name for name, found in values.items() if len(found) and _is_share(name) == is_share]
            words = (
                intervals
                if is_share
                else {**intervals, "method": _of_amounts(intervals.get("method", "auto"))}
            )
            made = mean_intervals([values[name] for name in scored], **words)
            interval_of |= {name: _above_zero(name, each) for name, each in zip(scored, made, strict=True)}
        found = {
            name: column.figure(values[name], interval_of.get(name), (directions or {}).get(name))
            for name, column in self._columns.items()
        }
        confidence = intervals.get("confidence", INTERVALS["confidence"])
        for name, draws in self._draws(whole).items():
            found[name] = self._columns[name].of_all(found[name], draws, confidence)
        return found


_AMOUNTS = ("latency", "tokens", "cost", "step_time", "step_tokens", "step_count", "unsupported_tokens")


def _above_zero(name: str, interval: Interval | None) -> Interval | None:
    """Return the interval of a mean that cannot be below 0 without what lies there."""
    if interval is None or interval.low >= 0 or without_parameters(name) not in _AMOUNTS:
        return interval
    return replace(interval, low=0.0)


def _is_share(name: str) -> bool:
    declared = declared_metric(name)
    return declared is None or declared.metric.is_share


def _of_amounts(method: IntervalMethod) -> IntervalMethod:
    """Return the method for seconds, tokens or money: amounts below 1 are no shares of anything."""
    return "bootstrap" if method == "auto" else method


class _Column:
    """One metric's scores of all samples."""

    def __init__(self, metric: str) -> None:
        self._metric = metric
        self._details = DetailTotals(metric)
        self._values = array("d")
        self._statuses = bytearray()
        self._methods: set[tuple[str, bool]] = set()
        self._reasons: Counter[tuple[Status, str]] = Counter()
        self.cheap: CheapScores | None = None
        """The cheap scores of the samples and their draw for a judge, where there was one."""

    def add(self, score: Score, *, place: int) -> None:
        if len(self._statuses) < place:
            self._fill(place)
        self._details.add(score)
        if CHEAP_SCORE in score.details:
            if self.cheap is None:
                self.cheap = CheapScores()
            self.cheap.add(score, place=place)
        self._statuses.append(_STATUS_NUMBERS[score.status])
        self._methods.add((score.method, score.status == "scored"))
        if score.value is not None:
            self._values.append(score.value)
        else:
            self._values.append(np.nan)
            self._reasons[score.status, _in_few_words(score.reason or "no reason given")] += 1

    @property
    def is_higher_better(self) -> bool:
        return is_higher_better(self._metric, next(iter(self._methods), ("", True))[0])

    def of_all(self, figure: Figure, draws: Draws, confidence: float) -> Figure:
        """Return the figure of all samples that could have been drawn, in place of that of those judged."""
        values = np.where(self.statuses(len(draws)) == 0, self.values(len(draws)), np.nan)
        states = np.zeros(0) if self.cheap is None else self.cheap.states
        failed = int((states == 3).sum())
        is_share = _is_share(self._metric)
        found, judged = estimated(draws, values, is_share=is_share, confidence=confidence, failed=failed)
        return replace(
            figure,
            value=None if found is None else found.value,
            interval=None if found is None else found.interval,
            n_skipped=figure.n_skipped - int((states == 1).sum()),
            method=f"{figure.method}{PARTLY}",
            reasons=tuple(each for each in figure.reasons if each.reason != NOT_DRAWN),
            judged=judged,
        )

    def values(self, size: int) -> npt.NDArray[np.float64]:
        self._fill(size)
        return np.array(self._values)

    def statuses(self, size: int) -> npt.NDArray[np.uint8]:
        self._fill(size)
        return np.frombuffer(bytes(self._statuses), dtype=np.uint8)

    def scored(self) -> npt.NDArray[np.float64]:
        return np.compress(np.frombuffer(bytes(self._statuses), dtype=np.uint8) == 0, np.array(self._values))

    def figure(self, values: npt.NDArray[np.float64], interval: Interval | None, told: bool | None) -> Figure:
        # A score that failed before its scorer was asked may not know the method.
        scored = {method for method, is_scored in self._methods if is_scored}
        method = " + ".join(sorted(scored or {method for method, _ in self._methods}))
        return Figure(
            metric=self._metric,
            value=exact_mean(values) if len(values) else None,
            interval=interval,
            n_scored=len(values),
            n_skipped=self._statuses.count(_STATUS_NUMBERS["skipped"]),
            n_failed=self._statuses.count(_STATUS_NUMBERS["failed"]),
            higher_is_better=is_higher_better(self._metric, method, told),
            method=method,
            reasons=tuple(Unscored(*told, count) for told, count in self._reasons.most_common()),
            details=self._details.figures(),
        )

    def _fill(self, size: int) -> None:
        missing = size - len(self._statuses)
        self._values.extend([np.nan] * missing)
        self._statuses.extend([ABSENT] * missing)


def _in_few_words(reason: str) -> str:
    """Return a reason without what is particular to a sample, such as the reply that could not be read."""
    return ": ".join(reason.split(": ", 2)[:2])
