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
    statistical_analysis     how the intervals were made, and the tests against the run it was compared with
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

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import count, islice, product
from pathlib import Path
from typing import Any

import msgspec

from rag_evaluation_framework.datasets.recognition import DIALECTS
from rag_evaluation_framework.datasets.schemas import schema, schema_issues
from rag_evaluation_framework.datasets.value_files import read_results, results_in_parts, write_results
from rag_evaluation_framework.errors import (
    InputError,
    Issue,
    MissingResultsError,
    RagEvalError,
    UsageError,
    check_format,
    invalid,
    refused,
    shown,
)
from rag_evaluation_framework.extensions import import_on_call
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.access import compressing, named_compression, plain_name, read_bytes
from rag_evaluation_framework.files.atomic import atomic_writer, write_bytes_atomically, write_text_atomically
from rag_evaluation_framework.judging.verdict import (
    AnswerCounter,
    AnswerVerdict,
    Labels,
    read_verdict,
    verdict_as_read,
)
from rag_evaluation_framework.metrics.declaration import PASS_RATE, without_parameters
from rag_evaluation_framework.records.citations import ContextCitation, SpanCitation, TokenSpanCitation
from rag_evaluation_framework.records.documents import CharacterSpan
from rag_evaluation_framework.records.responses import TURNS, Failure, Hit, Response, unread_field
from rag_evaluation_framework.records.runs import RunHead, RunOutcome, SampleResult
from rag_evaluation_framework.records.samples import (
    REFERENCE_HASH,
    Dataset,
    Refusal,
    Sample,
    Turn,
    Usage,
    reference_hash,
)
from rag_evaluation_framework.records.scores import TIMING_METHOD, Score
from rag_evaluation_framework.results.breakdowns import read_blame
from rag_evaluation_framework.results.comparison import (
    EVALUATED_AS,
    SAMPLE_SPAN_ACCURACY,
    Comparison,
    MetricComparison,
    ScoredRun,
    as_mapping,
    compare_metric,
    corrected_together,
    data_differences,
    evaluated_dataset,
    have_queries_in_common,
    method_differences,
    metric_figures,
    metric_sections,
    query_scores,
    scored_run,
    shared_metrics,
)
from rag_evaluation_framework.results.drawn_scores import PARTLY, JudgedPart
from rag_evaluation_framework.results.evaluations import Evaluation, Listed, Row, Rows
from rag_evaluation_framework.results.run_store import RESULTS_NAME, labels_beside, last_number
from rag_evaluation_framework.results.summaries import (
    ANSWER_QUALITY,
    CITATION,
    PERFORMANCE,
    RETRIEVAL,
    SPAN_ACCURACY,
    SPAN_METRICS,
    TOTAL_TIME,
    Counts,
    Figure,
    RunTotals,
    section_of,
)
from rag_evaluation_framework.results.verdicts import FLIPS_LEVEL, written_thresholds
from rag_evaluation_framework.statistics.intervals import Interval
from rag_evaluation_framework.statistics.resampling import exact_mean
from rag_evaluation_framework.structs import replace
from rag_evaluation_framework.version import FORMAT_VERSION

_export: Callable[..., str] = import_on_call("rag_evaluation_framework.reports.exports:export")
_with_queries: Callable[[Evaluation], dict[str, Any]] = import_on_call(
    "rag_evaluation_framework.results.rankings:with_queries"
)
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


_METRICS, _QUERIES = "individual_metrics", "query_results"
_EMPTY: tuple[Any, ...] = (None, [], {})
_USAGE = Usage.__struct_fields__


def query_result(row: Row) -> dict[str, Any]:
    """Return what happened to one query."""
    sample, response, blame = row.sample, row.response, row.blame
    written = {
        "query_id": row.id,
        **(_question_fields(sample) if sample is not None else {}),
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


def _question_fields(sample: Sample) -> dict[str, Any]:
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
"""The suffix of a folder of results files that is written instead of one file."""


def render(evaluation: Evaluation, *, path: str | Path | None = None) -> str:
    """Return the results of a run as JSON, or write them to ``path`` atomically and return nothing.

    The name of the file asks for the format, by default JSON, which is streamed, compressed or not, as is
    Parquet; YAML and CSV are made in memory. Of ranked runs, Parquet and Arrow have a row for each query. A
    name that ends in ``.shards`` is that of a folder of results files, for ``merge`` to join.
    """
    if path is None:
        return b"".join(_pieces(evaluation)).decode()
    if Path(path).suffix == SHARDS:
        _export(evaluation, "shards", path)
        return ""
    if evaluation.is_ranking and Path(path).suffix in (".parquet", ".arrow"):
        from rag_evaluation_framework.datasets.ranking_tables import write_query_scores

        scores = {name: part.columns for name, part in evaluation.parts.items()}
        write_query_scores(
            Path(path), {name: (columns.ids, columns.values) for name, columns in scores.items()}
        )
        return ""
    if evaluation.is_ranking:
        evaluation = replace(evaluation, document=_with_queries(evaluation))
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


SUFFIX = ".results.json"
SUFFIXES = (SUFFIX, ".results.yaml", ".results.yml", ".results.csv", ".results.parquet")

# File systems allow 255 bytes a name; the suffix and a compression's take some.
_LONGEST_ID = 200


def check_id(evaluation_id: object) -> str:
    """Return an id that can be a file name; raise for any other value."""
    if not isinstance(evaluation_id, str) or not evaluation_id:
        raise invalid("evaluation_id", "an id", evaluation_id)
    wrong = any(character in "/\\" or not character.isprintable() for character in evaluation_id)
    if wrong or evaluation_id.startswith(".") or len(evaluation_id.encode(errors="replace")) > _LONGEST_ID:
        expected = f"an id of at most {_LONGEST_ID} bytes, without separators and not starting with a dot"
        raise invalid("evaluation_id", expected, evaluation_id)
    return evaluation_id


def check_inside(path: Path) -> Path:
    """Return a path whose file, links followed, is in the folder that it seems to be in."""
    if path.is_symlink() and not path.resolve().is_relative_to(path.parent.resolve()):
        raise InputError(
            [Issue("outside-folder", f"a file in {path.parent}", "a link out of it", file=str(path))]
        )
    return path


def results_paths(folder: Path) -> list[Path]:
    """Return the results files of a folder, by name."""
    try:
        return sorted(
            path for path in folder.iterdir() if plain_name(path).endswith(SUFFIXES) and path.is_file()
        )
    except OSError as error:
        raise refused("read", folder, error) from error


def named_id(path: Path) -> str:
    """Return the id in a file's name."""
    name = path.name.rpartition(".")[0] if named_compression(path) else path.name
    ending = next(suffix for suffix in SUFFIXES if name.lower().endswith(suffix))
    return name[: -len(ending)]


class _Saved(msgspec.Struct):
    evaluation_type: str | None = None


class _Head(msgspec.Struct):
    """The fields that a list needs; the rest of a file is skipped without being decoded."""

    evaluation_id: str | None = None
    timestamp: str | None = None
    system_version: str | None = None
    dataset_id: str | None = None
    saved: _Saved = msgspec.field(name="_metadata", default_factory=_Saved)


def results_entries(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield what each results file of a folder says about itself; one that cannot be read has the reason."""
    for path in results_paths(folder):
        head, error = _Head(), None
        try:
            head = _head(check_inside(path))
        except RagEvalError as refusal:
            error = str(refusal)
        told = msgspec.structs.asdict(head)
        told["evaluation_type"] = told.pop("saved").evaluation_type
        yield {**told, "file_path": str(path), "error": error}


def _head(path: Path) -> _Head:
    try:
        if plain_name(path).endswith(SUFFIX):
            return msgspec.json.decode(read_bytes(path), type=_Head)
        return msgspec.convert(read_results(path), type=_Head)
    except (msgspec.ValidationError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError([Issue("not-results", "results", shown(str(error)), file=str(path))]) from None


Figures = dict[str, float | int]

# Where documents of earlier versions have the latency of each query: no figure of the run.
_QUERY_LATENCIES = "query_latencies_ms"
# What tells how a figure was made, and is none itself.
_ABOUT_FIGURES = frozenset({"n_scored", "n_skipped", "n_failed"})


def compare_documents(documents: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Compare documents by id; the first is the one that the others are tested against.

    - ``metrics_comparison``: value by id by figure. A metric's ``value`` is listed under its own name, other
      numbers under a path (``span_accuracy.mean_exact_jaccard``); names that occur in two sections begin with
      the section's.
    - ``performance_comparison``: what each part of ``performance_metrics`` says, by id.
    - ``paired_tests``: a :class:`MetricComparison` for each metric with values by query, corrected together.
    - ``not_tested``: for which evaluation and metric there is no test, and why.
    """
    tests, not_tested = _paired_tests([scored_run(document, name) for name, document in documents.items()])
    return {
        "evaluations": list(documents),
        "metrics_comparison": _by_figure(
            {name: _document_figures(document) for name, document in documents.items()}
        ),
        "performance_comparison": _by_figure(
            {name: _document_performance(document) for name, document in documents.items()}
        ),
        "paired_tests": [test.to_dict() for test in tests],
        "not_tested": not_tested,
    }


def _by_figure(documents: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Turn figures by document into documents by figure."""
    turned: dict[str, dict[str, Any]] = {}
    for name, figures in documents.items():
        for figure, value in figures.items():
            turned.setdefault(figure, {})[name] = value
    return turned


def _document_figures(document: Mapping[str, Any]) -> Figures:
    found = [
        (section, path, value)
        for section, content in metric_sections(document)
        for path, value in _numbers(content, "")
    ]
    times = Counter(path for _, path, _ in found)
    return {path if times[path] == 1 else f"{section}.{path}": value for section, path, value in found}


def _numbers(value: Any, path: str) -> Iterator[tuple[str, float | int]]:
    """Yield every number at any depth of objects with its path; lists are left out."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name in _ABOUT_FIGURES:
                continue
            deeper = path if name == "value" and path else f"{path}.{name}" if path else name
            yield from _numbers(inner, deeper)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value


def _document_performance(document: Mapping[str, Any]) -> dict[str, Any]:
    section = document.get(PERFORMANCE)
    if not isinstance(section, Mapping):
        return {}
    return {name: value for name, value in section.items() if name != _QUERY_LATENCIES}


def _paired_tests(runs: list[ScoredRun]) -> tuple[list[MetricComparison], list[dict[str, Any]]]:
    """Test each run against the first, on every metric for which both have values by query."""
    compared: list[MetricComparison] = []
    not_tested: list[dict[str, Any]] = []
    for contender in runs[1:]:
        testable, reasons = _testable(runs[0], contender)
        not_tested += reasons
        compared += [compare_metric(runs[0], contender, metric) for metric in testable]
    return corrected_together(compared), not_tested


def _testable(baseline: ScoredRun, contender: ScoredRun) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the metrics that can be tested, and for the others why they cannot."""
    reasons: list[dict[str, Any]] = []
    if different := "; ".join(data_differences(baseline, contender)):
        return [], [{"evaluation": contender.name, "metric": None, "reason": different}]
    testable = []
    for metric in shared_metrics(baseline, contender):
        why = "; ".join(method_differences(baseline, contender, metric))
        if not why and not have_queries_in_common(baseline, contender, metric):
            why = "no query in common"
        if why:
            reasons.append({"evaluation": contender.name, "metric": metric, "reason": why})
        else:
            testable.append(metric)
    for metric in sorted(baseline.metrics.keys() ^ contender.metrics.keys()):
        missing = contender.name if metric in baseline.metrics else baseline.name
        why = f"{missing} has no values by query"
        reasons.append({"evaluation": contender.name, "metric": metric, "reason": why})
    return testable, reasons


class EvaluationResultsStorage:
    """A store of results in one folder, which several processes may use at once.

    A file is whole at every moment, and a failed write leaves the old one unchanged. No id leads out of the
    folder.

    Args:
        results_directory: The folder.
        now: The clock.

    Example:
        >>> from rag_evaluation_framework import EvaluationResultsStorage
        >>> EvaluationResultsStorage("results").list_results()
        []
    """

    def __init__(
        self,
        results_directory: str | Path = "data/evaluation/results",
        *,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        self.results_directory = Path(results_directory)
        self._now = now or partial(datetime.now, UTC)
        try:
            self.results_directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise refused("write", self.results_directory, error) from error

    def save_results(self, results: Mapping[str, Any], evaluation_type: str = "standard") -> str:
        """Save results and return the path of their file; what was given is not changed.

        Results with an ``evaluation_id`` replace earlier ones of the same id. Results without one get
        ``eval_run_<UTC date>_<nnn>``, which no other process gets.
        """
        if not isinstance(results, Mapping):
            raise invalid("results", "a dictionary", results)
        given = results.get("evaluation_id")
        if given is not None:
            path = check_inside(self._path(check_id(given)))
            write_bytes_atomically(path, self._content(results, path, evaluation_type))
            return str(path)
        return self._save_as_next(results, evaluation_type)

    def load_results(self, evaluation_id: str) -> dict[str, Any]:
        """Load results by id: from the file of that name, else from the one whose content has the id.

        A ``FileNotFoundError`` when there are none, a ``ValueError`` when the file does not hold results or
        two files have the id.
        """
        check_id(evaluation_id)
        found = [path for path in results_paths(self.results_directory) if named_id(path) == evaluation_id]
        if not found:
            entries = results_entries(self.results_directory)
            found = [Path(each["file_path"]) for each in entries if each["evaluation_id"] == evaluation_id]
        if not found:
            raise MissingResultsError(f"no results {shown(evaluation_id)} in {self.results_directory}")
        if len(found) > 1:
            both = " and ".join(map(str, found))
            raise InputError([Issue("duplicate-results", f"one file of {evaluation_id!r}", both)])
        return read_results(check_inside(found[0]))

    def list_results(self, evaluation_type: str | None = None) -> list[dict[str, Any]]:
        """List the results by file name, of one type if asked for.

        A file that cannot be read is in every list, with the reason as ``error``, which is ``None`` for the
        others.
        """
        return [
            entry
            for entry in results_entries(self.results_directory)
            if entry["error"] is not None or evaluation_type in (None, entry["evaluation_type"])
        ]

    def compare_results(self, evaluation_ids: Sequence[str]) -> dict[str, Any]:
        """Set results side by side: every figure of every metric section, and performance.

        Where the first and another have the same queries scored by the same methods, ``paired_tests`` says
        whether they differ; where not, ``not_tested`` says why. See :func:`compare_documents`.
        """
        if isinstance(evaluation_ids, str):
            raise UsageError(f"evaluation_ids: expected a list of ids, got {shown(evaluation_ids)}")
        loaded = {evaluation_id: self.load_results(evaluation_id) for evaluation_id in evaluation_ids}
        return {**compare_documents(loaded), "evaluations": list(evaluation_ids)}

    def _save_as_next(self, results: Mapping[str, Any], evaluation_type: str) -> str:
        """Save under the next free id of the day; whoever else is saving gets another."""
        prefix = f"eval_run_{self._now():%Y%m%d}_"
        names = map(named_id, results_paths(self.results_directory))
        for number in count(last_number(names, prefix) + 1):
            evaluation_id = f"{prefix}{number:03}"
            path = self._path(evaluation_id)
            if path.is_symlink():
                continue
            identified = {"evaluation_id": None} | dict(results) | {"evaluation_id": evaluation_id}
            content = self._content(identified, path, evaluation_type)
            try:
                write_bytes_atomically(path, content, overwrite=False)
            except UsageError:  # somebody was faster
                continue
            return str(path)
        raise AssertionError("numbers do not end")

    def _path(self, evaluation_id: str) -> Path:
        return self.results_directory / f"{evaluation_id}{SUFFIX}"

    def _content(self, results: Mapping[str, Any], path: Path, evaluation_type: str) -> bytes:
        saved = {
            "saved_at": self._now().isoformat(),
            "file_path": str(path),
            "evaluation_type": evaluation_type,
        }
        return strict_json.encode({**results, "_metadata": saved}, indent=2) + b"\n"


_CHECKED_AT_ONCE = 32
_PLACE = re.compile(r"\A(query_results\[)(\d+)")


def save(thing: Evaluation | Comparison | Dataset, path: str | Path, *, format: str | None = None) -> Path:  # noqa: A002
    """Write an evaluation, a comparison or a dataset atomically and return the path.

    Args:
        thing: An evaluation, a comparison or a dataset.
        path: File to write. The suffix of an evaluation's file decides its format: ``.md``, ``.xml`` (JUnit),
            ``.html``, ``.txt``, else the results document.
        format: Name of a renderer, or of a dataset's format, that takes the place of the suffix.

    Returns:
        The path.

    Raises:
        UsageError: The format is unknown, or the file cannot have several runs.
        StorageError: The file cannot be written.

    Example:
        >>> from rag_evaluation_framework import evaluate, save
        >>> rows = [{"question": "What is 2 + 2?", "answer": "4", "reference": "4"}]
        >>> save(evaluate(rows, metrics=["exact_match"]), "sums.md").name
        'sums.md'
    """
    if isinstance(thing, Dataset):
        DIALECTS.get(format or thing.dialect).write(thing, Path(path))
        return Path(path)
    if isinstance(thing, Comparison):
        write_text_atomically(path, thing.render(format or "terminal"))
        return Path(path)
    return thing.save(path, format=format)


def readable_results(path: Path) -> dict[str, Any]:
    """Read a results file whose fields are what they must be; it may lack some, as other tools' files do."""
    document = read_results(path)
    if document.keys().isdisjoint(schema("results")["properties"]):
        found = f"only {shown(next(iter(document)))}" if document else "an empty object"
        expected = "the results of a run (evaluation_id, summary, query_results …)"
        raise InputError([Issue("no-results", expected, found, file=str(path))])
    _check_fields(document, path)
    return document


def _check_fields(document: Mapping[str, Any], path: Path, first: int = 0) -> None:
    """Refuse fields that are not what they must be; the queries are counted from the ``first``."""
    check_format(as_mapping(document.get("metadata")).get("format_version"), path)
    issues = [
        replace(issue, path=_PLACE.sub(lambda found: f"{found[1]}{int(found[2]) + first}", issue.path))
        for issue in schema_issues("results", document)
        if issue.code != "missing-field" or issue.path not in ("evaluation_id", "timestamp", "dataset_id")
    ]
    if issues:
        raise InputError([issue.located(file=str(path)) for issue in issues])


def _head_of(document: Mapping[str, Any]) -> RunHead:
    metadata = document.get("metadata") or {}
    parameters = dict(as_mapping(metadata.get("evaluation_parameters")))
    seed = parameters.pop("random_seed", 0)
    return RunHead(
        run_id=str(document.get("evaluation_id") or "results"),
        dataset_id=evaluated_dataset(document) or "unknown",
        dataset_hash=metadata.get("dataset_hash"),
        target=metadata.get("target"),
        configuration=document.get("configuration") or {},
        metric_versions=metadata.get("metric_versions") or {},
        seed=seed if isinstance(seed, int) else 0,
        started_at=document.get("timestamp"),
        parameters=parameters,
    )


def _figures_of(document: Mapping[str, Any]) -> dict[str, Figure]:
    found = dict(metric_figures(document))
    if isinstance(passed := (document.get("summary") or {}).get(PASS_RATE), Mapping):
        found[PASS_RATE] = passed
    return {
        name: _figure(name, written)
        for name, written in found.items()
        if {"value", "n_scored"} <= written.keys()
    }


def evaluation_of_document(document: Mapping[str, Any]) -> Evaluation:
    """Return what a results document holds; it has no samples, only what was answered and scored."""
    figures, labels = _figures_of(document), labels_beside()
    queries = enumerate(document.get("query_results") or ())
    rows = [_row(place, query, figures, labels) for place, query in queries]
    return _evaluation(document, lambda: rows, rows)


def shard_at(path: Path) -> Evaluation | None:
    """Return a results file to be merged, whose rows are read whenever somebody goes through them.

    ``None`` where they cannot be read one by one.
    """
    parts = results_in_parts(path) if path.is_file() and plain_name(path).endswith(SUFFIXES) else None
    if parts is None:
        return None
    document, read = parts
    figures, labels = _figures_of(document), labels_beside()

    def rows(queries: Iterable[Any]) -> Iterator[Row]:
        return (_row(place, query, figures, labels) for place, query in enumerate(queries))

    return _evaluation(document, lambda: rows(read()), rows(_checked(document, read(), path)))


def _checked(document: Mapping[str, Any], queries: Iterator[Any], path: Path) -> Iterator[Any]:
    for first in count(0, _CHECKED_AT_ONCE):
        some = list(islice(queries, _CHECKED_AT_ONCE))
        if not some:
            return
        _check_fields({**document, "query_results": some}, path, first)
        yield from some


def _evaluation(document: Mapping[str, Any], rows: Rows, counted: Iterable[Row]) -> Evaluation:
    summary, head, totals = document.get("summary") or {}, _head_of(document), RunTotals()
    answers = AnswerCounter()
    for row in counted:
        totals.add(row.result)
        answers.add(row)
    total, finished = int(summary.get("total_queries", len(totals.ids))), len(totals.ids)
    return Evaluation(
        kind="answers",
        head=head,
        metrics=_figures_of(document),
        counts=Counts(total=total, finished=finished, failed=int(summary.get("failed_queries", 0))),
        outcome=RunOutcome(
            completed=True, interrupted=False, done=finished, failed=0, remaining=total - finished
        ),
        answers=answers.counts(),
        columns=totals.columns(),
        thresholds=written_thresholds(head.configuration),
        read_rows=rows,
        document=document,
    )


def _figure(name: str, written: Any) -> Figure:
    ends = written.get("confidence_interval")
    interval = None
    # The schema holds those of metrics to two ends, and leaves what a summary has besides alone.
    if isinstance(ends, list) and len(ends) == 2:
        interval = Interval(ends[0], ends[1], confidence=0.95, method=str(written.get("interval_method")))
    return Figure(
        metric=name,
        value=written.get("value"),
        interval=interval,
        n_scored=written["n_scored"],
        **{name: written.get(name, 0) for name in ("n_skipped", "n_failed")},
        higher_is_better=written.get("higher_is_better", True),
        method=str(written.get("method")),
        judged=_judged_part(written),
    )


def _judged_part(written: Any) -> JudgedPart | None:
    """Return of how many samples a figure tells, where only some of them were judged."""
    named = ("n_population", "n_drawn", "n_drawn_failed", "n_effective")
    found = [written.get(name) for name in named]
    return None if None in found else JudgedPart(*found)


def _row(place: int, query: Any, figures: dict[str, Figure], labels: Labels | None) -> Row:
    def method(name: str) -> str:
        return figures[name].method.removesuffix(PARTLY) if name in figures else "unknown"

    details = query.get("metric_details") or {}
    scores = [
        Score.scored(name, value, method=method(name), details=details.get(name))
        for name, written in query_scores(query).items()
        if (value := written.get("value") if isinstance(written, Mapping) else written) is not None
    ]
    for name, told in (query.get("unscored_metrics") or {}).items():
        made = Score.skipped if told.get("status") == "skipped" else Score.failed
        scores.append(made(name, str(told.get("reason")), method=method(name), details=details.get(name)))
    result = SampleResult(str(query.get("query_id")), _response(query), tuple(scores))
    sample, blame = _sample(query), read_blame(query.get("blame"))
    written = query.get("verdict")
    known: AnswerVerdict | None = None if written is None else read_verdict(written)
    verdict = known if sample is None else verdict_as_read(sample, result, known, labels, is_whole=False)
    if verdict is not None and verdict is not known:
        verdict = verdict.with_cause(blame)
    return Row(
        place,
        result,
        sample,
        passes=query.get("meets_thresholds", query.get("pass")),
        blame=blame,
        split=query.get("split"),
        verdict=verdict,
    )


def _response(query: Mapping[str, Any]) -> Response:
    error = query.get("error")
    spans = (query.get("retrieval_results") or {}).get("retrieved_spans") or ()
    hits = [
        Hit(
            id=each["chunk_id"], span=CharacterSpan(each["document_id"], each["start_char"], each["end_char"])
        )
        for each in spans
    ]
    retrieved = (query.get("retrieval_results") or {}).get("retrieved_docs") or ()
    return Response(
        text=query.get("generated_answer"),
        hits=tuple(hits or (Hit(id=str(each)) for each in retrieved)),
        contexts=tuple(query.get("contexts") or ()),
        context_origin=query.get("context_origin"),
        usage=msgspec.convert(query.get("usage"), Usage | None),
        latency_ms=query.get("latency_ms"),
        metadata={TURNS: told} if (told := _told_turns(query)) else {},
        failure=None if not error else Failure(kind=error["kind"], message=error["message"]),
    )


def _sample(query: Mapping[str, Any]) -> Sample | None:
    """Return what a results document tells of a sample; ``None`` if not even what was asked."""
    asked = query.get("query_text")
    if not isinstance(asked, str):
        return None
    relevant = (query.get("retrieval_results") or {}).get("ground_truth_relevant") or ()
    reason = query.get("refusal_reason")
    return Sample(
        id=str(query.get("query_id")),
        turns=_turns(query) or (Turn(role="user", content=asked),),
        reference=query.get("ground_truth_answer"),
        relevant_documents={str(each): 1 for each in relevant},
        relevant_spans=tuple(map(_read_span, query.get("ground_truth_spans") or ())),
        category=query.get("category"),
        difficulty=query.get("difficulty"),
        query_type=query.get("query_type"),
        tags=tuple(query.get("tags") or ()),
        expectation=Refusal(reason=reason) if reason or query.get("expects_refusal") else None,
        extra={} if (hashed := query.get(REFERENCE_HASH)) is None else {REFERENCE_HASH: hashed},
    )


def _turns(query: Mapping[str, Any]) -> tuple[Turn, ...]:
    """Return the turns of a conversation with what was expected in each; none of a single question."""
    found = []
    for turn in query.get("turns") or ():
        found.append(Turn(role="user", content=str(turn.get("question"))))
        refusal, expected = Refusal() if turn.get("expects_refusal") else None, turn.get("expected")
        if refusal or expected != query.get("ground_truth_answer"):
            found.append(Turn(role="assistant", reference=expected, expectation=refusal))
    return tuple(found)


def _told_turns(query: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the answer of each turn up to a failed one; none if they are not known turn by turn."""
    answers = [turn.get("answer") for turn in query.get("turns") or ()]
    is_told = bool(query.get("error")) or None not in answers
    return [{"answer": answer} for answer in answers if answer is not None] if is_told else []


def _read_span(written: Mapping[str, Any]) -> SpanCitation:
    return SpanCitation(
        written["file_name"],
        written["start_char"],
        written["end_char"],
        page=written.get("page_number"),
        text=written.get("context_text"),
    )
