"""A run that was summed up as an :class:`Evaluation`, and evaluations and comparisons loaded and saved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.recognition import DIALECTS, read_dataset, recognise
from rag_evaluation_framework.datasets.value_files import read_results
from rag_evaluation_framework.errors import UsageError, shown
from rag_evaluation_framework.files.atomic import write_text_atomically
from rag_evaluation_framework.records.responses import Failure, Response
from rag_evaluation_framework.records.runs import RunHead, RunOutcome, SampleResult
from rag_evaluation_framework.records.samples import Dataset
from rag_evaluation_framework.records.scores import TIMING_METHOD, Score
from rag_evaluation_framework.results.breakdowns import BlameSummary
from rag_evaluation_framework.results.comparison import (
    Comparison,
    MetricComparison,
    MovedSample,
    PairedTest,
    ScoredMetric,
    ScoredRun,
    compare_scored,
    corrected_together,
    metric_figures,
    moved_samples,
    reasons_against,
    shared_metrics,
)
from rag_evaluation_framework.results.evaluations import (
    ColumnsBuilder,
    Counts,
    Evaluation,
    Kind,
    Performance,
    Row,
    Rows,
    evaluated_turns,
)
from rag_evaluation_framework.results.results_documents import (
    RunVerdicts,
    results_document,
    write_results_document,
)
from rag_evaluation_framework.results.run_folder import DEFAULT_RUNS_DIRECTORY, RunFolder
from rag_evaluation_framework.results.storage import SUFFIXES
from rag_evaluation_framework.results.summaries import (
    Figure,
    IntervalSettings,
    RunRow,
    RunSummary,
    listed_samples,
    rows_of_folder,
    summarise_run,
)
from rag_evaluation_framework.statistics.intervals import Interval


def summed_up(
    head: RunHead,
    summary: RunSummary,
    *,
    kind: Kind,
    order: list[str],
    outcome: RunOutcome,
    rows: Rows,
    columns: ColumnsBuilder,
    performance: Performance,
    errors: int | None = None,
    pass_rate: Figure | None = None,
    blame: BlameSummary | None = None,
    **more: Any,
) -> Evaluation:
    """Return the evaluation of a run that was summed up; its metrics are in the ``order`` given."""
    found = sorted(summary.metrics, key=lambda each: order.index(each.metric))
    figures = {each.metric: each for each in found}
    verdicts = RunVerdicts(pass_rate=pass_rate, blame=blame)

    def documented() -> Iterator[RunRow]:
        return map(as_documented, rows())

    given: dict[str, Any] = {
        "resources": performance.resources,
        "judge_usage": performance.judge_usage,
        "verdicts": verdicts,
    }
    return Evaluation(
        kind=kind,
        head=head,
        metrics=figures if pass_rate is None else {**figures, pass_rate.metric: pass_rate},
        counts=Counts(
            total=summary.total,
            finished=summary.finished,
            failed=summary.failed,
            errors=summary.failed if errors is None else errors,
            failures=summary.failures,
            origins=summary.context_origins,
            unread=summary.unread,
        ),
        outcome=outcome,
        columns=columns.columns(),
        blame=blame,
        performance=replace(performance, figures=summary.performance),
        read_rows=rows,
        write_document=lambda path: write_results_document(path, head, documented, summary, **given),
        document=lambda: results_document(head, documented, summary, **given),
        **more,
    )


def as_documented(row: Row) -> RunRow:
    """Return a row as results documents have it."""
    verdict = {
        "pass": row.passes,
        "blame": None if row.blame is None else row.blame.to_dict(),
        "turns": [turn.to_dict() for turn in row.turns],
    }
    return RunRow(row.result, row.sample, row.timing, verdict)


def load(
    place: str | Path,
    *,
    dataset: str | Path | None = None,
    runs_directory: str | Path = DEFAULT_RUNS_DIRECTORY,
) -> Evaluation | Dataset:
    """Load a run by its folder or id, a results file, or a dataset by its path.

    The samples of a run are read from its ``dataset``, by default the file that its head records, where that
    is still there.
    """
    path = Path(place)
    if (path / "head.json").is_file() or (Path(runs_directory) / path / "head.json").is_file():
        return load_run(RunFolder.open(place, runs_directory), dataset)
    if path.name.endswith(SUFFIXES) or path.name == "results.json":
        return _of_document(read_results(path))
    if path.exists():
        return read_dataset(path)
    raise UsageError(
        f"expected a run, a results file or a dataset, got {shown(str(place))}, which is not there"
    )


def save(thing: Evaluation | Comparison | Dataset, path: str | Path, *, format: str | None = None) -> Path:  # noqa: A002
    """Write an evaluation, a comparison or a dataset atomically, as its ending or ``format`` says."""
    if isinstance(thing, Dataset):
        DIALECTS.get(format or thing.dialect).write(thing, Path(path))
        return Path(path)
    if isinstance(thing, Comparison):
        write_text_atomically(path, thing.render(format or "terminal"))
        return Path(path)
    return thing.save(path, format=format)


def load_run(folder: RunFolder, dataset: str | Path | None = None) -> Evaluation:
    """Sum up a run on the disk; its rows have their samples where the dataset is there as it was."""
    recorded = folder.head.configuration.get("dataset_path")
    source = dataset or (recorded if isinstance(recorded, str) and Path(recorded).exists() else None)
    columns = ColumnsBuilder()

    def counted() -> Iterator[RunRow]:
        for row in rows_of_folder(folder):
            columns.add(row.result)
            yield row

    def rows() -> Iterator[Row]:
        listed = None
        if source is not None:
            dialect = recognise(source)
            listed = enumerate(listed_samples(lambda: dialect.stream(Path(source)), folder.samples_path))
        for entry in folder.entries(order="dataset"):
            sample = None
            if listed is not None:
                sample = next(sample for place, sample in listed if place == entry.index)
            turns = () if sample is None else evaluated_turns(sample, entry.result)
            yield Row(entry.index, entry.result, sample, entry.timing, turns=turns)

    counts = folder.counts
    summary = summarise_run(counted(), total=counts.total, intervals=IntervalSettings(seed=folder.head.seed))
    return summed_up(
        folder.head,
        summary,
        kind="answers",
        order=[each.metric for each in summary.metrics],
        outcome=counts.outcome,
        rows=rows,
        columns=columns,
        performance=Performance(),
        folder=folder.path,
        target=folder.head.target,
    )


def _of_document(document: dict[str, Any]) -> Evaluation:
    """Return what a results document holds; it has no samples, only what was answered and scored."""
    metadata, summary = document.get("metadata") or {}, document.get("summary") or {}
    head = RunHead(
        run_id=str(document.get("evaluation_id") or "results"),
        dataset_id=str(document.get("dataset_id") or "unknown"),
        dataset_hash=metadata.get("dataset_hash"),
        target=metadata.get("target"),
        configuration=document.get("configuration") or {},
        metric_versions=metadata.get("metric_versions") or {},
        started_at=document.get("timestamp"),
    )
    figures = {
        name: _figure(name, written) for name, written in metric_figures(document) if "n_scored" in written
    }
    rows = [_row(place, query, figures) for place, query in enumerate(document.get("query_results") or ())]
    columns = ColumnsBuilder()
    for row in rows:
        columns.add(row.result)
    total, finished = int(summary.get("total_queries", len(rows))), len(rows)
    return Evaluation(
        kind="answers",
        head=head,
        metrics=figures,
        counts=Counts(total=total, finished=finished, failed=int(summary.get("failed_queries", 0))),
        outcome=RunOutcome(
            completed=True, interrupted=False, done=finished, failed=0, remaining=total - finished
        ),
        columns=columns.columns(),
        read_rows=lambda: rows,
        document=lambda: dict(document),
    )


def _figure(name: str, written: Any) -> Figure:
    ends = written.get("confidence_interval")
    interval = None
    if ends:
        interval = Interval(ends[0], ends[1], confidence=0.95, method=str(written.get("interval_method")))
    return Figure(
        metric=name,
        value=written.get("value"),
        interval=interval,
        n_scored=written["n_scored"],
        n_skipped=written.get("n_skipped", 0),
        n_failed=written.get("n_failed", 0),
        higher_is_better=written.get("higher_is_better", True),
        method=str(written.get("method")),
    )


def _row(place: int, query: Any, figures: dict[str, Figure]) -> Row:
    def method(name: str) -> str:
        return figures[name].method if name in figures else "unknown"

    scores = [
        Score.scored(name, value, method=method(name))
        for name, value in (query.get("individual_metrics") or {}).items()
    ]
    for name, told in (query.get("unscored_metrics") or {}).items():
        made = Score.skipped if told.get("status") == "skipped" else Score.failed
        scores.append(made(name, str(told.get("reason")), method=method(name)))
    error = query.get("error")
    response = Response(
        text=query.get("generated_answer"),
        contexts=tuple(query.get("contexts") or ()),
        latency_ms=query.get("latency_ms"),
        failure=None if not error else Failure(kind=error["kind"], message=error["message"]),
    )
    result = SampleResult(str(query.get("query_id")), response, tuple(scores))
    return Row(place, result, passes=query.get("pass"))


def compare_columns(
    systems: Mapping[str, Evaluation],
    *,
    test: PairedTest = "randomisation",
    force: bool = False,
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compare evaluations with the first of them, on every metric that both have.

    Different data or methods are a :class:`UsageError` that names them; with ``force`` they become warnings.
    """
    baseline, *contenders = (_scored(name, each) for name, each in systems.items())
    reasons = [
        f"{contender.name}: {reason}"
        for contender in contenders
        for reason in reasons_against(baseline, contender)
    ]
    if reasons and not force:
        raise UsageError(f"cannot compare with {baseline.name}: {'; '.join(reasons)}")
    compared: list[MetricComparison] = []
    moved: list[MovedSample] = []
    for contender in contenders:
        shared = [
            name
            for name in shared_metrics(baseline, contender)
            if baseline.metrics[name].values.keys() & contender.metrics[name].values.keys()
        ]
        if shared:
            compared += compare_scored(
                baseline, contender, shared, test=test, alpha=alpha, resamples=resamples, seed=seed
            )
        moved += [sample for metric in shared for sample in moved_samples(baseline, contender, metric)]
    order = list(baseline.metrics)
    return Comparison(
        baseline=baseline.name,
        contenders=tuple(contender.name for contender in contenders),
        metrics=tuple(corrected_together(sorted(compared, key=lambda each: order.index(each.metric)))),
        moved=tuple(moved),
        unshared_metrics=tuple(
            sorted({name for each in contenders for name in baseline.metrics.keys() ^ each.metrics.keys()})
        ),
        warnings=tuple(reasons),
    )


def _scored(name: str, evaluation: Evaluation) -> ScoredRun:
    """Return the scores of an evaluation by metric and sample, parts together; times left out."""
    metrics: dict[str, ScoredMetric] = {}
    for part_name, part in (evaluation.parts or {"": evaluation}).items():
        prefix = f"{part_name}/" if len(evaluation.parts) > 1 else ""
        for metric, figure in part.metrics.items():
            if metric not in part.columns.values or figure.method == TIMING_METHOD:
                continue
            version = part.head.metric_versions.get(metric)
            found = metrics.setdefault(metric, ScoredMetric(figure.method, version, figure.higher_is_better))
            found.values.update({prefix + each: value for each, value in part.columns.scored(metric).items()})
    head = evaluation.head
    return ScoredRun(
        name=name,
        dataset_id=head.dataset_id,
        dataset_hash=head.dataset_hash,
        metrics={metric: found for metric, found in metrics.items() if found.values},
    )
