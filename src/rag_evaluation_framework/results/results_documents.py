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
    query_results            a line for each query: question, latency, answer, citations, scores, blame; of
                             an
                             evaluation whether it passes
    statistical_analysis     how the intervals were made
    metadata                 the head: dataset and its hash, target, seed, versions of metrics and packages

A metric is ``{value, confidence_interval, n_scored, n_skipped, n_failed, higher_is_better, method}``,
and what :mod:`.summaries` adds. What was not measured is left out. ``timestamp`` is when the run
began, so that summing up the same run again gives the same bytes. Two equal runs differ in
``performance_metrics``, in the times of ``summary`` and in the ``latency_ms`` of the queries. JSON is
written as a stream: memory does not grow with the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from rag_evaluation_framework.datasets.value_files import write_results
from rag_evaluation_framework.errors import invalid
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.access import compressing, named_compression, plain_name
from rag_evaluation_framework.files.atomic import atomic_writer
from rag_evaluation_framework.metrics.declaration import without_parameters
from rag_evaluation_framework.records.citations import ContextCitation, SpanCitation, TokenSpanCitation
from rag_evaluation_framework.records.responses import Hit, Response, unread_field
from rag_evaluation_framework.records.runs import JudgeUsage, ResourceUsage, RunHead, SampleResult
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import TIMING_METHOD
from rag_evaluation_framework.results.breakdowns import BlameSummary
from rag_evaluation_framework.results.evaluations import evaluated_turns
from rag_evaluation_framework.results.run_folder import RunFolder
from rag_evaluation_framework.results.sample_list import Samples
from rag_evaluation_framework.results.summaries import (
    ANSWER_QUALITY,
    CITATION,
    PERFORMANCE,
    RETRIEVAL,
    SPAN_ACCURACY,
    SPAN_METRICS,
    TOTAL_TIME,
    IntervalSettings,
    MetricSummary,
    RunRow,
    RunSummary,
    rows_of_folder,
    section_of,
    summarise_run,
)

# A JSON object written piece by piece, so that its long parts are never in memory as a whole.
#
# The text is indented by two; an item of a streamed part is always one line, so that line-based tools can
# find it.

_INDENT = b"\n  "


@dataclass(frozen=True, slots=True)
class Streamed:
    """An array whose items are made when they are written."""

    items: Callable[[], Iterator[Any]]


def in_memory(value: Any) -> Any:
    """Return a value; a streamed one is read into memory."""
    return list(value.items()) if isinstance(value, Streamed) else value


def json_pieces(fields: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the text of an object whose values may be streamed."""
    separator = b"{"
    for name, value in fields.items():
        yield separator + _INDENT + strict_json.encode(name) + b": "
        separator = b","
        if isinstance(value, Streamed):
            yield from _array(value)
        else:
            # JSON writes a line feed inside a string as \n, so each one here is between two parts.
            yield msgspec.json.format(strict_json.encode(value), indent=2).replace(b"\n", _INDENT)
    yield (b"\n}" if fields else b"{}") + b"\n"


def _array(part: Streamed) -> Iterator[bytes]:
    separator = b"["
    for item in part.items():
        yield separator + _INDENT + b"  " + strict_json.encode(item)
        separator = b","
    yield b"[]" if separator == b"[" else _INDENT + b"]"


# One row of a run as one of the ``query_results`` of a results document.
#
# What is empty is left out, but for the scores: those of a query without any are an empty object.

_METRICS = "individual_metrics"


def query_result(row: RunRow) -> dict[str, Any]:
    """Return what happened to one query."""
    sample, response = row.sample, row.result.response
    written = {
        "query_id": row.result.sample_id,
        **(_asked(sample) if sample is not None else {}),
        "latency_ms": response.latency_ms,
        "turns": _turns(row.result, sample),
        "retrieval_results": _retrieved(response.hits, sample),
        "generated_answer": response.text,
        "contexts": list(response.contexts),
        "context_origin": response.context_origin,
        **_citations(response),
        "usage": _usage(response),
        "error": _error(response),
        **_scores(row.result),
        **row.verdict,
    }
    return {name: value for name, value in written.items() if name == _METRICS or value not in (None, [], {})}


def _asked(sample: Sample) -> dict[str, Any]:
    return {
        "query_text": sample.question,
        "query_type": sample.query_type,
        "difficulty": sample.difficulty,
        "category": sample.category,
        "tags": list(sample.tags),
        "ground_truth_answer": sample.reference,
    }


def _turns(result: SampleResult, sample: Sample | None) -> list[dict[str, Any]]:
    """Return every turn of a conversation, with what was expected of it and its scores."""
    return [] if sample is None else [turn.to_dict() for turn in evaluated_turns(sample, result)]


def _retrieved(hits: tuple[Hit, ...], sample: Sample | None) -> dict[str, Any]:
    """Return what was retrieved and, beside it, what should have been."""
    if not hits:
        return {}
    scores = [hit.score for hit in hits if hit.score is not None]
    spans = [
        {
            "chunk_id": hit.id,
            "document_id": hit.span.doc_id,
            "start_char": hit.span.start,
            "end_char": hit.span.end,
        }
        for hit in hits
        if hit.span is not None
    ]
    written: dict[str, Any] = {
        "retrieved_docs": [hit.id if hit.span is None else hit.span.doc_id for hit in hits],
        # In the same order as the documents, so all or none.
        "relevance_scores": scores if len(scores) == len(hits) else [],
        "retrieved_spans": spans,
    }
    if sample is not None:
        relevant = [document for document, grade in sample.relevant_documents.items() if grade > 0]
        written["ground_truth_relevant"] = relevant
    return {name: value for name, value in written.items() if value != []}


def _citations(response: Response) -> dict[str, Any]:
    """Return the three kinds of citations, each under a name of its own: they are never mixed."""
    spans, tokens, contexts = [], [], []
    for cited in response.citations:
        match cited:
            case SpanCitation():
                spans.append(_span(cited))
            case TokenSpanCitation():
                place = {"file_name": cited.file, "start_token": cited.start, "end_token": cited.end}
                tokens.append({**place, "tokenizer": cited.tokenizer})
            case ContextCitation():
                contexts.append(cited.number)
    return {"citations": spans, "token_citations": tokens, "context_citations": contexts}


def _span(cited: SpanCitation) -> dict[str, Any]:
    written = {
        "file_name": cited.file,
        "page_number": cited.page,
        "start_char": cited.start,
        "end_char": cited.end,
        "confidence_score": cited.confidence,
        "context_text": cited.text,
    }
    return {name: value for name, value in written.items() if value is not None}


def _usage(response: Response) -> dict[str, Any]:
    usage = response.usage
    if usage is None:
        return {}
    figures = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost_usd": usage.cost_usd,
    }
    return {name: value for name, value in figures.items() if value is not None}


def _error(response: Response) -> dict[str, str]:
    failure = response.failure
    return {} if failure is None else {"kind": failure.kind, "message": failure.message}


def _scores(result: SampleResult) -> dict[str, Any]:
    """Return the scores that are numbers, the reasons of those that are not, and the details of both."""
    scores = [score for score in result.scores if score.method != TIMING_METHOD]
    return {
        _METRICS: {score.metric: score.value for score in scores if score.value is not None},
        "unscored_metrics": {
            score.metric: {"status": score.status, "reason": score.reason}
            for score in scores
            if score.value is None
        },
        "metric_details": {score.metric: dict(score.details) for score in scores if score.details},
    }


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
    if plain_name(path).endswith((".yaml", ".yml", ".csv", ".parquet")):
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
