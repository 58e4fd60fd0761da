"""Scores the answers of a run again by other metrics: nobody is asked, and the run does not change.

The answers and their times begin a run that passes, which is scored as any other run is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rag_evaluation_framework.datasets.recognition import annotated_truth
from rag_evaluation_framework.datasets.rows import dialect_of_run
from rag_evaluation_framework.errors import StorageError, UsageError
from rag_evaluation_framework.evaluation.hit_views import located_for
from rag_evaluation_framework.evaluation.judge_budget import within_budget
from rag_evaluation_framework.evaluation.manifest import DatasetEntry, Manifest
from rag_evaluation_framework.evaluation.plan import DatasetPlan, Plan, Selection, Source
from rag_evaluation_framework.evaluation.run import judge_usage, rescored_head, score_dataset
from rag_evaluation_framework.evaluation.scored_answers import check_scorers, waits_to_score
from rag_evaluation_framework.evaluation.scoring import MetricScorer, scorers_for
from rag_evaluation_framework.judging.methods import Methods, with_documents
from rag_evaluation_framework.judging.verdict import AnswerCounts
from rag_evaluation_framework.records.runs import OnProgress, Options, RunHead, SampleChoice
from rag_evaluation_framework.records.samples import NOTHING_ANNOTATED, AnnotatedTruth, Sample
from rag_evaluation_framework.results.evaluations import Evaluation, Kind, summed_up
from rag_evaluation_framework.results.run_data import Samples, as_they_were, keep_samples
from rag_evaluation_framework.results.run_evaluations import RunRows
from rag_evaluation_framework.results.run_store import NEW_RUN, Counted, PassingFolder, RunFolder
from rag_evaluation_framework.results.summaries import NO_COLUMNS, Performance


def scored_again(
    evaluation: Evaluation | RunFolder,
    metrics: Sequence[str],
    methods: Methods,
    *,
    dataset: str | Path | None = None,
    format: str | None = None,  # noqa: A002  # as the command line calls it
    seed: int = 0,
    options: Options | None = None,
    blame: bool = True,
    on_progress: OnProgress | None = None,
) -> Evaluation:
    """Score the answers of an evaluation by other metrics; nobody is asked, and the run does not change.

    What is expected of each sample is read from the ``dataset``, by default the one that the run recorded.
    """
    wish: dict[str, Any] = {"seed": seed, "options": options, "blame": blame, "on_progress": on_progress}
    if isinstance(evaluation, Evaluation) and evaluation.parts:
        begun = {name: part for name, part in evaluation.parts.items() if part.has_started}
        parts = {name: scored_again(part, metrics, methods, **wish) for name, part in begun.items()}
        return _together(evaluation, parts)
    folder, kind, kept = _run_of(evaluation)
    samples = _known_samples(evaluation, folder) if dataset is None else None
    if samples is None:
        path = Path(dataset) if dataset is not None else recorded_dataset(folder)
        scored = _of_dataset(folder, path, metrics, methods, format_=format)
    else:
        scored = _of_samples(folder, samples, scorers_for(metrics, methods), methods)
    plan = Plan(
        manifest=Manifest(file=Path(), datasets=()),
        datasets=(replace(scored, tells_blame=blame),),
        methods=scored.methods,
        choice=SampleChoice(seed=seed),
        options=options or Options(),
    )
    plan = plan if methods.budget is None else within_budget(plan, methods.budget)
    rows = _scored_rows(folder, plan, on_progress)
    # Only now is it known what the judge has cost, and where a local model worked.
    head = rescored_head(folder, scored.scorers, scored.methods)
    head = replace(head, configuration={**head.configuration, **scored.methods.local_model})
    return summed_up(
        _with_blame(head, wanted=blame),
        rows(),
        kind=kind,
        outcome=folder.counts.outcome,
        rows=rows,
        total=folder.counts.total,
        order=[scorer.name for scorer in scored.scorers],
        directions={scorer.name: scorer.higher_is_better for scorer in scored.scorers},
        intervals={"seed": seed},
        performance=Performance(judge_usage=judge_usage(scored.methods)),
        folder=folder.path,
        kept=kept,
    )


def _scored_rows(folder: RunFolder, plan: Plan, on_progress: OnProgress | None) -> RunRows:
    """Score the answers of a run in a folder that passes, and return its rows."""
    (scored,), aside = plan.datasets, PassingFolder()
    check_scorers(scored.scorers)
    head = rescored_head(folder, scored.scorers, scored.methods)
    passing = RunFolder.create(aside.path, replace(head, run_id=NEW_RUN))
    keep_samples(scored.selection, passing.path)
    if waits_to_score(scored.scorers, plan.options.crew):
        plan.methods.load()
    outcome, _ = score_dataset(scored, passing, plan, on_progress, answers=folder.entries)
    if outcome.interrupted:
        raise KeyboardInterrupt
    if not outcome.completed:
        raise outcome.outage or StorageError(str(outcome.reason))
    rows = RunRows(passing, None, None, is_blamed=passing.blame_path.is_file())
    rows.holds = aside
    return rows


def _of_samples(
    folder: RunFolder,
    samples: Samples,
    scorers: Sequence[MetricScorer],
    methods: Methods,
    *,
    dialect: str = "",
    truth: AnnotatedTruth = NOTHING_ANNOTATED,
) -> DatasetPlan:
    def stream() -> Iterator[Sample]:
        return (truth.applied(sample) for _, sample in folder.answers(samples))

    done = folder.counts.done
    return DatasetPlan(
        entry=DatasetEntry(name=folder.head.dataset_id, path=None, metrics=()),
        source=Source(stream, dialect, lambda methods, _metrics: methods),
        selection=Selection(stream, frozenset(), None, done, done),
        scorers=tuple(scorers),
        thresholds=(),
        methods=methods,
        counted=Counted(),
        is_as_it_was=True,
    )


def _of_dataset(
    folder: RunFolder, dataset: Path, metrics: Sequence[str], methods: Methods, *, format_: str | None
) -> DatasetPlan:
    """Plan a run of a dataset; its documents are read if a metric looks something up in them."""
    dialect = dialect_of_run(folder.head.configuration, dataset, format=format_)
    knew_annotations = "annotations" in folder.head.configuration
    methods = with_documents(methods, metrics, dialect=dialect, path=dataset)
    samples: Samples = partial(dialect.stream, dataset)
    samples = partial(as_they_were, samples, folder.samples_path) if knew_annotations else samples
    truth = annotated_truth(dataset)
    scorers = scorers_for(metrics, methods)
    plan = _of_samples(folder, samples, scorers, methods, dialect=dialect.name, truth=truth)
    contexts = located_for(scorers, plan.selection) if plan.is_golden else None
    return plan if contexts is None else replace(plan, scorers=tuple(contexts.scorers(scorers)))


def _run_of(evaluation: Evaluation | RunFolder) -> tuple[RunFolder, Kind, Any]:
    """Return the folder of a run, its kind, and what has to live as long as it is read."""
    if isinstance(evaluation, RunFolder):
        return evaluation, "answers", None
    if evaluation.folder is None:
        raise UsageError("expected an evaluation with a run folder, got an evaluation without one")
    return RunFolder.open(evaluation.folder), evaluation.kind, evaluation.kept


def _known_samples(evaluation: Evaluation | RunFolder, folder: RunFolder) -> Samples | None:
    """Return the samples that no dataset has to be read for: those of traces, which may be gone or have
    become more, as the run keeps them, and those that were never in a file.
    """
    told = folder.head.configuration
    if "traces" in told:
        return folder.samples
    if isinstance(evaluation, Evaluation) and told.get("dataset_path") is None:
        return evaluation.samples
    return None


def _together(evaluation: Evaluation, parts: Mapping[str, Evaluation]) -> Evaluation:
    """Return an evaluation with its parts scored again; the figures of a single one are the whole's."""
    (only,) = parts.values() if len(parts) == 1 else (None,)
    wanted = all("blame" not in part.head.configuration for part in parts.values())
    return replace(
        evaluation,
        parts=parts,
        head=_with_blame(evaluation.head, wanted=wanted),
        metrics={} if only is None else only.metrics,
        columns=NO_COLUMNS if only is None else only.columns,
        answers=AnswerCounts.together(part.answers for part in parts.values()),
        verdict=None,
        comparison=None,
    )


def _with_blame(head: RunHead, *, wanted: bool) -> RunHead:
    """Return a head that says whether it was looked for where answers fail."""
    told = {name: value for name, value in head.configuration.items() if name != "blame"}
    return replace(head, configuration=told if wanted else {**told, "blame": False})


def recorded_dataset(folder: RunFolder) -> Path:
    """Return the dataset where the run had it; :class:`UsageError` if it is no longer there."""
    recorded = folder.head.configuration.get("dataset_path")
    if not isinstance(recorded, str):
        raise UsageError(f"run {folder.head.run_id} has no path of its dataset. Pass --dataset FILE.")
    if not os.path.exists(recorded):  # noqa: PTH110  # a name that is too long is no file, not an error
        raise UsageError(
            f"there is no dataset {recorded}, which run {folder.head.run_id} used. Pass --dataset FILE."
        )
    return Path(recorded)
