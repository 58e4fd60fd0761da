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
    query_results            a line for each query: question, latency, answer, citations, scores, blame; of
                             an evaluation whether it passes
    statistical_analysis     how the intervals were made, and the tests against whatever it was compared with
    metadata                 the head: the dataset's own id and version and its hash, target, seed, time-outs,
                             retries, prices, the machine and its load, versions of metrics and packages; how
                             the data were checked, whether every score could be calculated and adds up to
                             its mean, and which tests were made

A metric is ``{value, confidence_interval, n_scored, n_skipped, n_failed, higher_is_better, method}``,
and what :mod:`.summaries` adds; of one that was judged in part also how many samples it tells of, how many
were drawn, how many of these failed, and how many plain ones would tell as much. What was not measured is
left out. ``timestamp`` is when the run began, so that summing up the same run again gives the same bytes. Two
equal runs differ in ``performance_metrics``, in the times of ``summary``, in the ``latency_ms`` of the
queries and in how busy the machine was. JSON is written as a stream: memory does not grow with the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.datasets.value_files import write_results
from rag_evaluation_framework.errors import StorageError, invalid
from rag_evaluation_framework.extensions import TOGETHER
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.access import compressing, named_compression, plain_name
from rag_evaluation_framework.files.atomic import atomic_writer, write_bytes_atomically
from rag_evaluation_framework.metrics.declaration import PASS_RATE, without_parameters
from rag_evaluation_framework.records.citations import ContextCitation, SpanCitation, TokenSpanCitation
from rag_evaluation_framework.records.responses import Hit, Response, unread_field
from rag_evaluation_framework.records.runs import RunHead, SampleResult
from rag_evaluation_framework.records.samples import REFERENCE_HASH, Refusal, Sample, Usage, reference_hash
from rag_evaluation_framework.records.scores import TIMING_METHOD, Score
from rag_evaluation_framework.results.comparison import EVALUATED_AS, SAMPLE_SPAN_ACCURACY
from rag_evaluation_framework.results.evaluations import Evaluation, Row
from rag_evaluation_framework.results.kept_data import Listed
from rag_evaluation_framework.results.regressions import FLIPS_LEVEL
from rag_evaluation_framework.results.run_folder import RESULTS_NAME
from rag_evaluation_framework.results.summaries import (
    ANSWER_QUALITY,
    CITATION,
    PERFORMANCE,
    RETRIEVAL,
    SPAN_ACCURACY,
    SPAN_METRICS,
    TOTAL_TIME,
    Figure,
    section_of,
)
from rag_evaluation_framework.results.verdicts import Regressions
from rag_evaluation_framework.statistics.resampling import exact_mean
from rag_evaluation_framework.version import FORMAT_VERSION

# A JSON object written piece by piece, so that its long parts are never in memory as a whole.
#
# The text is indented by two; an item of a streamed part is always one line, so that line-based tools can
# find it.

_INDENT = b"\n  "
_ITEM = _INDENT + b"  "


class Streamed(msgspec.Struct, frozen=True):
    """An array whose items are made when they are written."""

    items: Listed[Any]
    encode: Callable[[Any], bytes] = strict_json.encode

    def pieces(self) -> Iterator[bytes]:
        """Yield its text."""
        separator = b"["
        for item in self.items:
            yield separator + _ITEM + self.encode(item)
            separator = b","
        yield b"[]" if separator == b"[" else _INDENT + b"]"


def json_pieces(fields: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the text of an object whose values may be streamed."""
    separator = b"{"
    for name, value in fields.items():
        yield separator + _INDENT + strict_json.encode(name) + b": "
        separator = b","
        if isinstance(value, Streamed):
            yield from value.pieces()
        else:
            # JSON writes a line feed inside a string as \n, so each one here is between two parts.
            yield msgspec.json.format(strict_json.encode(value), indent=2).replace(b"\n", _INDENT)
    yield (b"\n}" if fields else b"{}") + b"\n"


# One row of a run as one of the ``query_results`` of a results document.
#
# What is empty is left out, but for the scores: those of a query without any are an empty object.

_METRICS, _QUERIES = "individual_metrics", "query_results"
_EMPTY: tuple[Any, ...] = (None, [], {})
_USAGE = Usage.__struct_fields__


def query_result(row: Row) -> dict[str, Any]:
    """Return what happened to one query."""
    sample, response, blame = row.sample, row.response, row.blame
    written = {
        "query_id": row.id,
        **(_asked(sample) if sample is not None else {}),
        "latency_ms": response.latency_ms,
        "turns": [turn.to_dict() for turn in row.turns],
        "retrieval_results": _retrieved(response.hits, sample),
        "generated_answer": response.text,
        "contexts": list(response.contexts),
        "context_origin": response.context_origin,
        **_citations(response),
        "usage": _known({name: getattr(response.usage, name, None) for name in _USAGE}),
        "error": _error(response),
        **_scores(row.result),
        "split": row.split,
        "meets_thresholds": row.passes,
        "verdict": None if row.verdict is None else row.verdict.to_dict(),
        "blame": None if blame is None else blame.to_dict(),
    }
    return {name: each for name, each in written.items() if each or name == _METRICS or each not in _EMPTY}


def _asked(sample: Sample) -> dict[str, Any]:
    has_more = sample.references or sample.checks or len(sample.turns) > 1
    return {
        "query_text": sample.question,
        "query_type": sample.query_type,
        "difficulty": sample.difficulty,
        "category": sample.category,
        "tags": list(sample.tags),
        "refusal_reason": getattr(sample.expectation, "reason", None),
        "expects_refusal": isinstance(sample.expectation, Refusal) or None,
        "ground_truth_answer": sample.reference,
        REFERENCE_HASH: reference_hash(sample) if has_more else None,
        "ground_truth_spans": [_span(each) for each in sample.relevant_spans],
    }


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
    return _known(written)


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
    return _known(
        {
            "file_name": cited.file,
            "page_number": cited.page,
            "start_char": cited.start,
            "end_char": cited.end,
            "confidence_score": cited.confidence,
            "context_text": cited.text,
        }
    )


def _known(written: dict[str, Any]) -> dict[str, Any]:
    """Return what is there: neither ``None`` nor empty."""
    return {name: value for name, value in written.items() if value or value not in _EMPTY}


def _error(response: Response) -> dict[str, str]:
    failure = response.failure
    return {} if failure is None else {"kind": failure.kind, "message": failure.message}


def _scores(result: SampleResult) -> dict[str, Any]:
    """Return the scores that are numbers, the reasons of those that are not, and the details of both."""
    scores = [score for score in result.scores if score.method != TIMING_METHOD]
    return {
        _METRICS: {score.metric: score.value for score in scores if score.value is not None}
        | _sample_span_accuracy(scores),
        "unscored_metrics": {
            score.metric: {"status": score.status, "reason": score.reason}
            for score in scores
            if score.value is None
        },
        "metric_details": {score.metric: dict(score.details) for score in scores if score.details},
    }


def _sample_span_accuracy(scores: Sequence[Score]) -> dict[str, float]:
    """Return the tolerance Jaccard that is behind every metric of cited spans, under its name in results."""
    for name, score in product(SPAN_METRICS, scores):
        if "mean_tolerance_jaccard" in score.details and without_parameters(score.metric) == name:
            return {SAMPLE_SPAN_ACCURACY: score.details["mean_tolerance_jaccard"]}
    return {}


SHARDS = ".shards"
"""What a folder of results files is called that is written instead of one."""


def render(evaluation: Evaluation, *, path: str | Path | None = None) -> str:
    """Return the results of a run as JSON, or write them to ``path`` atomically and return nothing.

    The name of the file asks for the format, by default JSON, which is streamed, compressed or not, as is
    Parquet; YAML and CSV are made in memory. Of ranked runs, Parquet and Arrow have a row for each query. A
    name that ends in ``.shards`` is that of a folder of results files, for ``merge`` to join.
    """
    if path is None:
        return b"".join(_pieces(evaluation)).decode()
    if Path(path).suffix == SHARDS:
        TOGETHER.get("export")(evaluation, "shards", path)
        return ""
    if evaluation.is_ranking and Path(path).suffix in (".parquet", ".arrow"):
        from rag_evaluation_framework.datasets.ranking_tables import write_query_scores

        scores = {name: part.columns for name, part in evaluation.parts.items()}
        write_query_scores(
            Path(path), {name: (columns.ids, columns.values) for name, columns in scores.items()}
        )
        return ""
    if evaluation.is_ranking:
        evaluation = replace(evaluation, document=TOGETHER.get("with_queries")(evaluation))
    if plain_name(path).endswith((".yaml", ".yml", ".csv", ".parquet")):
        is_streamed = plain_name(path).endswith(".parquet")
        write_results(results_document(evaluation, is_streamed=is_streamed), path)
        return ""
    with atomic_writer(path) as file, compressing(file, named_compression(path)) as stream:
        for piece in _pieces(evaluation):
            stream.write(piece)
    return ""


def results_document(
    evaluation: Evaluation, *, queries: bool = True, is_streamed: bool = False
) -> dict[str, Any]:
    """Return the results of a run as plain values; those of the single queries only where they are wanted."""
    if evaluation.document is not None:
        return dict(evaluation.document)
    return {
        name: (value.items if is_streamed else list(value.items)) if isinstance(value, Streamed) else value
        for name, value in _sections(evaluation).items()
        if queries or not isinstance(value, Streamed)
    }


def keep_results(evaluation: Evaluation, folder: Path) -> None:
    """Write the results of a run into its folder, without its queries, which the journal has."""
    document = results_document(evaluation, queries=False)
    write_bytes_atomically(folder / RESULTS_NAME, strict_json.encode(document, indent=2) + b"\n")


def _pieces(evaluation: Evaluation) -> Iterator[bytes]:
    if evaluation.document is not None:
        yield strict_json.encode(evaluation.document, indent=2) + b"\n"
    else:
        yield from json_pieces(_sections(evaluation))


def _sections(evaluation: Evaluation) -> dict[str, Any]:
    run = next(iter(evaluation.parts.values()), evaluation)
    head, performance = run.head, run.performance
    if head.started_at is None:
        raise invalid("started_at", "when the run began", None)
    given_version = head.configuration.get("system_version")
    intervals = dict(run.intervals)
    tests = significance_tests(evaluation)
    passing = {PASS_RATE: run.metrics[PASS_RATE].to_dict()} if PASS_RATE in run.metrics else {}
    is_checked = getattr(run.read_rows, "are_checked", False)
    encode = strict_json.encode_unchecked if is_checked else strict_json.encode
    sections = {
        "evaluation_id": head.run_id,
        "timestamp": head.started_at,
        "system_version": given_version if isinstance(given_version, str) else head.target,
        "dataset_id": _own_id(head) or head.dataset_id,
        "configuration": dict(head.configuration),
        "summary": {**_counts(run), **_times(performance.figures), **passing},
        **_metric_sections(run),
        PERFORMANCE: _performance(run),
        _QUERIES: Streamed(Listed(lambda: map(query_result, run.rows), run.counts.finished), encode),
        "statistical_analysis": {
            **({"significance_tests": tests} if tests else {}),
            "confidence_intervals": {"confidence_level": intervals.pop("confidence"), **intervals},
        },
        "metadata": {
            **_metadata(head),
            "documents": _documents(run),
            "quality_assurance": _quality_assurance(run, tests),
        },
    }
    # The short schema asks for the retrieval metrics even where there are none.
    return {name: value for name, value in sections.items() if name == RETRIEVAL or value not in (None, {})}


def significance_tests(evaluation: Evaluation) -> dict[str, Any]:
    """Return the tests that were made, by what they are about: of a comparison, or against a baseline.

    Against a baseline they look one way, at what got worse; p is adjusted over the gated metrics. Samples
    that flipped are pooled over all datasets.
    """
    tests: dict[str, Any] = (
        {} if evaluation.comparison is None else evaluation.comparison.significance_tests()
    )
    moved = evaluation.regressions
    if moved is None:
        return tests
    names = {part.name for part in evaluation.runs}
    if moved.paired:
        tests["passing_samples"] = {
            "baseline": moved.baseline,
            "got_worse": len(moved.worse),
            "got_better": len(moved.better),
            "p_value": moved.p_value,
            "significant": moved.p_value <= FLIPS_LEVEL,
            "test": "flips, one-sided, exact (mid-p)",
            "n": moved.paired,
        }
    for each in moved.metrics:
        if each.dataset in names and each.p_adjusted is not None:
            tests[each.metric if len(names) == 1 else f"{each.dataset}: {each.metric}"] = {
                "baseline": moved.baseline,
                "baseline_mean": each.before,
                "current_mean": each.now,
                "difference": each.difference,
                "confidence_interval": [each.interval.low, each.interval.high] if each.interval else None,
                "p_value": each.p_adjusted,
                "significant": each.finding == "worse",
                "test": "paired randomisation, one-sided, Holm",
                "n": each.n,
            }
    return tests


def _counts(run: Evaluation) -> dict[str, Any]:
    counts = run.counts
    written: dict[str, Any] = {
        "total_queries": counts.total,
        "successful_queries": counts.finished - counts.failed,
        "failed_queries": counts.failed,
    }
    optional = {
        "unfinished_queries": counts.unfinished,
        "failures": dict(counts.failures),
        "context_origins": dict(counts.origins),
        **{unread_field(each.part): each.to_dict() for each in counts.unread},
        "answers": run.answers.to_dict() if run.answers.total else {},
    }
    return written | {name: value for name, value in optional.items() if value}


def _times(performance: Mapping[str, Any]) -> dict[str, float]:
    latencies = performance.get("latency_stats", {})
    return _known({"average_latency_ms": latencies.get("mean"), TOTAL_TIME: performance.get(TOTAL_TIME)})


def _figures(run: Evaluation) -> Iterator[tuple[str, Figure]]:
    """Yield the metrics with the sections they belong to; the share that passes is among the counts."""
    for figure in run.metrics.values():
        if figure.metric != PASS_RATE:
            yield section_of(figure.metric, figure.method), figure


def _metric_sections(run: Evaluation) -> dict[str, dict[str, Any]]:
    sections: dict[str, dict[str, Any]] = {RETRIEVAL: {}, CITATION: {}, ANSWER_QUALITY: {}}
    if accuracy := _span_accuracy(run):
        sections[CITATION][SPAN_ACCURACY] = accuracy
    for section, figure in _figures(run):
        if section in sections:
            # What those of cited spans tell beside their means stands apart.
            beside = {} if without_parameters(figure.metric) in SPAN_METRICS else figure.details
            sections[section][figure.metric] = {**figure.to_dict(), **beside}
    return sections


def _span_accuracy(run: Evaluation) -> dict[str, Any]:
    """Return what the metrics of cited spans have in common, as the first of them tells it."""
    for name, figure in product(SPAN_METRICS, run.metrics.values()):
        if figure.details and without_parameters(figure.metric) == name:
            return {**figure.details, "n_scored": figure.n_scored, "method": figure.method}
    return {}


def _performance(run: Evaluation) -> dict[str, Any]:
    found = run.performance
    figures = {figure.metric: figure.to_dict() for section, figure in _figures(run) if section == PERFORMANCE}
    figures |= found.figures
    if found.resources is not None:
        figures["resource_usage"] = found.resources.to_dict()
    if found.judge_usage is not None:
        figures["judge_usage"] = found.judge_usage.to_dict()
    return figures


def _documents(run: Evaluation) -> dict[str, Any]:
    """Say whether the run keeps the texts of its documents beside this file."""
    found = run.documents
    if found.reason is not None:
        return {"kept": 0, "reason": found.reason}
    return {"kept": len(found.documents), **_known({"not_kept": dict(found.not_kept)})}


def _own_id(head: RunHead) -> str | None:
    """Return the id that the dataset gives itself, which need not be what the run calls it."""
    own = head.configuration.get("dataset")
    return own.get("id") if isinstance(own, Mapping) else None


def _quality_assurance(run: Evaluation, tests: Mapping[str, Any]) -> dict[str, str]:
    """Return what was checked: the data before anybody was asked, each mean against its scores, the tests."""
    selection = run.head.configuration.get("selection")
    is_complete = not (isinstance(selection, Mapping) and selection.get("allow_missing"))
    return {
        "data_validation": "passed" if is_complete else "passed; missing fields were allowed",
        "metric_calculation": _calculated(run),
        "statistical_tests": f"{len(tests)} made" if tests else "none made: nothing was compared",
    }


def _calculated(run: Evaluation) -> str:
    figures = [figure for _, figure in _figures(run)]
    if failed := sum(figure.n_failed for figure in figures):
        total = failed + sum(figure.n_scored for figure in figures)
        return f"not verified: {failed:,} of {total:,} scores could not be calculated"
    if run.head.repeats > 1:
        return f"not verified: each sample was asked {run.head.repeats} times"
    estimated = [figure.metric for figure in figures if figure.judged is not None]
    for figure in figures:
        if figure.judged is not None:
            continue
        scored = list(run.columns.scored(figure.metric).values()) if figure.n_scored else []
        if len(scored) != figure.n_scored or (scored and exact_mean(scored) != figure.value):
            return f"not verified: {figure.metric} is not the mean of its scores"
    return (
        f"verified; estimated from a part that was judged: {', '.join(estimated)}"
        if estimated
        else "verified"
    )


def _metadata(head: RunHead) -> dict[str, Any]:
    """Return what is needed to repeat the run and to tell whether another one may be compared with it."""
    return _known(
        {
            "format_version": FORMAT_VERSION,
            "dataset_version": head.dataset_version,
            "dataset_hash": head.dataset_hash,
            "target": head.target,
            "metric_versions": dict(head.metric_versions),
            "dataset": head.configuration.get("dataset"),
            EVALUATED_AS: head.dataset_id if _own_id(head) not in (None, head.dataset_id) else None,
            "packages": dict(head.packages),
            "evaluation_environment": dict(head.environment),
            "evaluation_parameters": {**head.parameters, "random_seed": head.seed},
        }
    )


# What was decided over the runs of an evaluation, kept beside the results of the first.

VERDICT_FILE = "verdict.json"
_DECIDED_OVER = ("kind", "parts_are", "target", "missing", "left_out", "warnings")


def keep_verdict(evaluation: Evaluation) -> None:
    """Write what was decided into the folder of the first run; without a folder nothing is kept."""
    if evaluation.folder is None:
        return
    verdict, moved = evaluation.verdict, evaluation.regressions
    written = {
        **{name: getattr(evaluation, name) for name in _DECIDED_OVER},
        "labels": labels_digest(evaluation),
        "verdict": None if verdict is None else replace(verdict, regressions=None),
        "regressions": None if moved is None else _regression_fields(moved),
        "parts": {
            name: {
                "directions": {each.metric: each.higher_is_better for each in part.metrics.values()},
                "unmeasured": dict(part.unmeasured),
            }
            for name, part in evaluation.parts.items()
            if part.is_begun
        },
    }
    content = msgspec.json.format(msgspec.json.encode(written, enc_hook=dict), indent=2)
    with suppress(StorageError):  # a full disk has been told of before, and the figures stand
        write_bytes_atomically(evaluation.folder / VERDICT_FILE, content + b"\n")


def labels_digest(evaluation: Evaluation) -> str:
    """Return what changes with every label of the questions of its runs; empty without any."""
    return "".join(getattr(part.read_rows, "labels_digest", "") for part in evaluation.runs)


def _regression_fields(moved: Regressions) -> dict[str, Any]:
    fields: dict[str, Any] = msgspec.to_builtins(replace(moved, answers={}))
    return {**fields, "answers": [[*key, text] for key, text in moved.answers.items()]}
