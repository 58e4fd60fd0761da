"""Evaluations and comparisons loaded and saved, whatever they are kept in; evaluations compared."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
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
from rag_evaluation_framework.results.comparison import (
    Comparison,
    ScoredMetric,
    ScoredRun,
    compare_scored,
    metric_figures,
)
from rag_evaluation_framework.results.evaluations import Evaluation, Row, rows_of_folder, summed_up
from rag_evaluation_framework.results.run_folder import DEFAULT_RUNS_DIRECTORY, RunFolder
from rag_evaluation_framework.results.sample_list import Samples
from rag_evaluation_framework.results.storage import SUFFIXES
from rag_evaluation_framework.results.summaries import Counts, Figure, RunTotals
from rag_evaluation_framework.statistics.intervals import Interval


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
    samples: Samples | None = None
    if source is not None:
        samples = partial(recognise(source).stream, Path(source))
    counts = folder.counts
    return summed_up(
        folder.head,
        rows_of_folder(folder),
        kind="answers",
        total=counts.total,
        outcome=counts.outcome,
        rows=lambda: rows_of_folder(folder, samples),
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
    totals = RunTotals()
    for row in rows:
        totals.add(row.result)
    total, finished = int(summary.get("total_queries", len(rows))), len(rows)
    return Evaluation(
        kind="answers",
        head=head,
        metrics=figures,
        counts=Counts(total=total, finished=finished, failed=int(summary.get("failed_queries", 0))),
        outcome=RunOutcome(
            completed=True, interrupted=False, done=finished, failed=0, remaining=total - finished
        ),
        columns=totals.columns(),
        read_rows=lambda: rows,
        document=document,
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


def compare_evaluations(systems: Mapping[str, Evaluation], **wish: Any) -> Comparison:
    """Compare evaluations with the first of them; ``wish`` is that of :func:`compare_scored`."""
    return compare_scored([_scored(name, each) for name, each in systems.items()], **wish)


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
