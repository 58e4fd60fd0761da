"""A run as a results document: one shape, the same for every kind of run.

::

    evaluation_id, timestamp, system_version, dataset_id, configuration
    summary                  counts: asked, answered, failed (by kind), unfinished, contexts and citations
                             that could not be read; the mean latency and the time of the whole run; of an
                             evaluation the share that passes, as a metric
    retrieval_metrics        ranking, chunk and span metrics
    citation_metrics         citation metrics; ``span_accuracy`` has what those of cited spans share
    answer_quality_metrics   everything else
    performance_metrics      time, latencies, tokens, requests, cost, memory, what a judge cost
    blame                    where it is told: where the answers fail
    query_results            a line for each query: question, latency, answer, citations, scores, blame; of an
                             evaluation whether it passes
    statistical_analysis     how the intervals were made
    metadata                 the head: dataset and its hash, target, seed, versions of metrics and packages

A metric is ``{value, confidence_interval, n_scored, n_skipped, n_failed, higher_is_better, method}``, and
what :mod:`.metric_details` adds. What was not measured is left out. ``timestamp`` is when the run began, so
that summing up the same run again gives the same bytes. Two equal runs differ in ``performance_metrics``, in
the times of ``summary`` and in the ``latency_ms`` of the queries. JSON is written as a stream: memory does
not grow with the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from rag_evaluation_framework.datasets.value_files import is_named_yaml, write_results
from rag_evaluation_framework.errors import invalid
from rag_evaluation_framework.files.access import compressing, named_compression, plain_name
from rag_evaluation_framework.files.atomic import atomic_writer
from rag_evaluation_framework.metrics.declaration import without_parameters
from rag_evaluation_framework.records.responses import unread_field
from rag_evaluation_framework.records.runs import JudgeUsage, ResourceUsage, RunHead
from rag_evaluation_framework.results.blame_summaries import BlameSummary
from rag_evaluation_framework.results.json_stream import Streamed, in_memory, json_pieces
from rag_evaluation_framework.results.metric_details import SPAN_ACCURACY, SPAN_METRICS
from rag_evaluation_framework.results.metric_sections import (
    ANSWER_QUALITY,
    CITATION,
    PERFORMANCE,
    RETRIEVAL,
    section_of,
)
from rag_evaluation_framework.results.performance import TOTAL_TIME
from rag_evaluation_framework.results.query_results import query_result
from rag_evaluation_framework.results.run_folder import RunFolder
from rag_evaluation_framework.results.run_rows import RunRow, rows_of_folder
from rag_evaluation_framework.results.run_summaries import IntervalSettings, RunSummary, summarise_run
from rag_evaluation_framework.results.sample_list import Samples
from rag_evaluation_framework.results.summaries import MetricSummary

Rows: TypeAlias = Callable[[], Iterable[RunRow]]
"""A function that starts again at the first row of a run each time it is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunVerdicts:
    """What stands beside the scores of a run: where the answers fail and, of an evaluation, how many pass."""

    pass_rate: MetricSummary | None = None
    blame: BlameSummary | None = None


def results_document(
    head: RunHead,
    rows: Rows,
    summary: RunSummary,
    *,
    resources: ResourceUsage | None = None,
    judge_usage: JudgeUsage | None = None,
    verdicts: RunVerdicts | None = None,
) -> dict[str, Any]:
    """Return the results of a run as plain values."""
    sections = _sections(head, rows, summary, resources=resources, judge_usage=judge_usage, verdicts=verdicts)
    return {name: in_memory(value) for name, value in sections.items()}


def write_results_document(
    path: str | Path,
    head: RunHead,
    rows: Rows,
    summary: RunSummary,
    *,
    resources: ResourceUsage | None = None,
    judge_usage: JudgeUsage | None = None,
    verdicts: RunVerdicts | None = None,
) -> None:
    """Write the results of a run atomically, in the format that the name asks for; by default JSON.

    JSON, compressed or not, is streamed; YAML, CSV and Parquet are made in memory.
    """
    if is_named_yaml(path) or plain_name(path).endswith((".csv", ".parquet")):
        document = results_document(
            head, rows, summary, resources=resources, judge_usage=judge_usage, verdicts=verdicts
        )
        write_results(document, path)
        return
    sections = _sections(head, rows, summary, resources=resources, judge_usage=judge_usage, verdicts=verdicts)
    with atomic_writer(path) as file, compressing(file, named_compression(path)) as stream:
        for piece in json_pieces(sections):
            stream.write(piece)


def write_run_results(
    folder: RunFolder,
    path: str | Path | None = None,
    *,
    samples: Samples | None = None,
    summary: RunSummary | None = None,
    intervals: IntervalSettings | None = None,
    resources: ResourceUsage | None = None,
    judge_usage: JudgeUsage | None = None,
) -> RunSummary:
    """Write the results of a run on the disk, by default into its folder, and return their summary.

    With ``samples`` the results include the questions and their truth. A ``summary`` that is given is not
    made again.
    """

    def rows() -> Iterator[RunRow]:
        return rows_of_folder(folder, samples)

    if summary is None:
        summary = summarise_run(rows_of_folder(folder), total=folder.counts.total, intervals=intervals)
    write_results_document(
        path or folder.results_path,
        folder.head,
        rows,
        summary,
        resources=resources,
        judge_usage=judge_usage,
    )
    return summary


def _sections(
    head: RunHead,
    rows: Rows,
    summary: RunSummary,
    *,
    resources: ResourceUsage | None,
    judge_usage: JudgeUsage | None,
    verdicts: RunVerdicts | None,
) -> dict[str, Any]:
    if head.started_at is None:
        raise invalid("started_at", "when the run began", None)
    given_version = head.configuration.get("system_version")
    sections = {
        "evaluation_id": head.run_id,
        "timestamp": head.started_at,
        "system_version": given_version if isinstance(given_version, str) else head.target,
        "dataset_id": head.dataset_id,
        "configuration": dict(head.configuration),
        "summary": {**_counts(summary), **_times(summary), **_pass_rate(verdicts)},
        **_metric_sections(summary),
        PERFORMANCE: _performance(summary, resources, judge_usage),
        "blame": None if verdicts is None or verdicts.blame is None else verdicts.blame.to_dict(),
        "query_results": Streamed(lambda: map(query_result, rows())),
        "statistical_analysis": {"confidence_intervals": _interval_settings(summary.intervals)},
        "metadata": _metadata(head),
    }
    # The short schema asks for the retrieval metrics even where there are none.
    return {name: value for name, value in sections.items() if name == RETRIEVAL or value not in (None, {})}


def _counts(summary: RunSummary) -> dict[str, Any]:
    counts: dict[str, Any] = {
        "total_queries": summary.total,
        "successful_queries": summary.finished - summary.failed,
        "failed_queries": summary.failed,
    }
    optional = {
        "unfinished_queries": summary.unfinished,
        "failures": dict(summary.failures),
        "context_origins": dict(summary.context_origins),
        **{unread_field(each.part): each.to_dict() for each in summary.unread},
    }
    return counts | {name: value for name, value in optional.items() if value}


def _times(summary: RunSummary) -> dict[str, float]:
    latencies = summary.performance.get("latency_stats", {})
    times = {"average_latency_ms": latencies.get("mean"), TOTAL_TIME: summary.performance.get(TOTAL_TIME)}
    return {name: value for name, value in times.items() if value is not None}


def _pass_rate(verdicts: RunVerdicts | None) -> dict[str, Any]:
    rate = None if verdicts is None else verdicts.pass_rate
    return {} if rate is None else {rate.metric: rate.to_dict()}


def _metric_sections(summary: RunSummary) -> dict[str, dict[str, Any]]:
    sections: dict[str, dict[str, Any]] = {RETRIEVAL: {}, CITATION: {}, ANSWER_QUALITY: {}}
    if accuracy := _span_accuracy(summary):
        sections[CITATION][SPAN_ACCURACY] = accuracy
    for metric in summary.metrics:
        section = section_of(metric.metric, metric.method)
        if section in sections:
            sections[section][metric.metric] = {**metric.to_dict(), **_beside(metric, summary)}
    return sections


def _beside(metric: MetricSummary, summary: RunSummary) -> Mapping[str, Any]:
    """Return what stands beside a metric's mean; what those of cited spans tell stands apart."""
    is_of_spans = without_parameters(metric.metric) in SPAN_METRICS
    return {} if is_of_spans else summary.details.get(metric.metric, {})


def _span_accuracy(summary: RunSummary) -> dict[str, Any]:
    """Return what the metrics of cited spans have in common, as the first of them tells it."""
    for name, metric in product(SPAN_METRICS, summary.metrics):
        details = summary.details.get(metric.metric)
        if details and without_parameters(metric.metric) == name:
            return {**details, "n_scored": metric.n_scored, "method": metric.method}
    return {}


def _performance(
    summary: RunSummary, resources: ResourceUsage | None, judge_usage: JudgeUsage | None
) -> dict[str, Any]:
    figures: dict[str, Any] = {
        metric.metric: metric.to_dict()
        for metric in summary.metrics
        if section_of(metric.metric, metric.method) == PERFORMANCE
    }
    figures |= summary.performance
    if resources is not None:
        figures["resource_usage"] = resources.to_dict()
    if judge_usage is not None:
        figures["judge_usage"] = judge_usage.to_dict()
    return figures


def _interval_settings(intervals: IntervalSettings) -> dict[str, Any]:
    written = asdict(intervals)
    return {"confidence_level": written.pop("confidence"), **written}


def _metadata(head: RunHead) -> dict[str, Any]:
    """Return what is needed to repeat the run and to tell whether another one may be compared with it."""
    written = {
        "dataset_version": head.dataset_version,
        "dataset_hash": head.dataset_hash,
        "target": head.target,
        "metric_versions": dict(head.metric_versions),
        "packages": dict(head.packages),
        "evaluation_parameters": {"random_seed": head.seed},
    }
    return {name: value for name, value in written.items() if value not in (None, {})}
