"""What is kept: evaluations loaded and saved, results in a folder found by id, listed and compared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any

import msgspec

from rag_evaluation_framework.datasets.recognition import DIALECTS
from rag_evaluation_framework.datasets.schemas import schema, schema_issues
from rag_evaluation_framework.datasets.value_files import read_results, results_in_parts
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
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.access import named_compression, plain_name, read_bytes
from rag_evaluation_framework.files.atomic import write_bytes_atomically, write_text_atomically
from rag_evaluation_framework.judging.verdict import (
    AnswerCounter,
    AnswerVerdict,
    Labels,
    read_verdict,
    verdict_as_read,
)
from rag_evaluation_framework.metrics.declaration import PASS_RATE
from rag_evaluation_framework.records.citations import SpanCitation
from rag_evaluation_framework.records.documents import CharacterSpan
from rag_evaluation_framework.records.responses import TURNS, Failure, Hit, Response
from rag_evaluation_framework.records.runs import RunHead, RunOutcome, SampleResult
from rag_evaluation_framework.records.samples import REFERENCE_HASH, Dataset, Refusal, Sample, Turn, Usage
from rag_evaluation_framework.records.scores import Score
from rag_evaluation_framework.results.breakdowns import read_blame
from rag_evaluation_framework.results.comparison import (
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
from rag_evaluation_framework.results.evaluations import Evaluation, Row, Rows
from rag_evaluation_framework.results.run_folder import labels_beside, last_number
from rag_evaluation_framework.results.summaries import PERFORMANCE, Counts, Figure, RunTotals
from rag_evaluation_framework.results.verdicts import written_thresholds
from rag_evaluation_framework.statistics.intervals import Interval
from rag_evaluation_framework.structs import replace

# The results files of a folder: their names, and what each says about itself without being read whole.
#
# An id becomes a file name, so it may contain no separator and not begin with a dot; a link that leads
# out of the folder is not followed.

SUFFIX = ".results.json"
SUFFIXES = (SUFFIX, ".results.yaml", ".results.yml", ".results.csv", ".results.parquet")

# File systems allow 255 bytes a name; the suffix and a compression's take some.
_LONGEST_ID = 200


def check_id(evaluation_id: object) -> str:
    """Return an id that can be a file name; raise for any other, whatever it contains."""
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


# Results documents side by side: every figure of every metric section, and tests where queries pair.

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
        "metrics_comparison": _by_figure({name: _figures(document) for name, document in documents.items()}),
        "performance_comparison": _by_figure(
            {name: _performance(document) for name, document in documents.items()}
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


def _figures(document: Mapping[str, Any]) -> Figures:
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


def _performance(document: Mapping[str, Any]) -> dict[str, Any]:
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
    """Saves, loads, lists and compares results in one folder, which several processes may use at once.

    A file is whole at every moment, and a write that the disk refuses leaves the old one as it was. No id can
    lead out of the folder. ``now`` is the clock.
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


# Evaluations and comparisons, whatever they are kept in.

_CHECKED_AT_ONCE = 32
_PLACE = re.compile(r"\A(query_results\[)(\d+)")


def save(thing: Evaluation | Comparison | Dataset, path: str | Path, *, format: str | None = None) -> Path:  # noqa: A002
    """Write an evaluation, a comparison or a dataset atomically, as its ending or ``format`` says."""
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


def rows_of_document(
    document: Mapping[str, Any], runs_directory: Path | None = None
) -> tuple[RunHead, list[Row]]:
    """Return the head and the rows of a results document, with the labels for runs of this folder."""
    figures = _figures_of(document)
    queries = enumerate(document.get("query_results") or ())
    labels = labels_beside(runs_directory)
    return _head_of(document), [_row(place, query, figures, labels) for place, query in queries]


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


def evaluation_of_document(document: dict[str, Any], runs_directory: Path | None = None) -> Evaluation:
    """Return what a results document holds; it has no samples, only what was answered and scored."""
    rows = rows_of_document(document, runs_directory)[1]
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
        relevant_spans=tuple(map(_span, query.get("ground_truth_spans") or ())),
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


def _span(written: Mapping[str, Any]) -> SpanCitation:
    return SpanCitation(
        written["file_name"],
        written["start_char"],
        written["end_char"],
        page=written.get("page_number"),
        text=written.get("context_text"),
    )
