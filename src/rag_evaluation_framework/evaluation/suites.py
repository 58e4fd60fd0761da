"""A plan carried out, dataset by dataset: one evaluation with a part for each of them.

Each dataset is a run of its own; the runs of one evaluation are tied together (``results.run_groups``). The
first that does not complete ends the evaluation; what was planned and not reached is a part that was not
begun. Rows are read from the run's folder when asked for: only figures and scores are held in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rag_evaluation_framework.errors import StorageError, UsageError
from rag_evaluation_framework.evaluation.blamed_answers import BLAMED_BY, are_blamed, blamed
from rag_evaluation_framework.evaluation.manifests.preflight import DatasetPlan, Plan
from rag_evaluation_framework.evaluation.rescoring import check_scored_alike, scored_as_wanted
from rag_evaluation_framework.evaluation.resources import ResourceMeter, RunSpending, judge_fields
from rag_evaluation_framework.evaluation.runs.runner import run_samples
from rag_evaluation_framework.extensions import Target
from rag_evaluation_framework.judging.methods import ScoringMethods
from rag_evaluation_framework.records.runs import (
    OnProgress,
    RunHead,
    RunOutcome,
    RunSettings,
    SampleChoice,
    package_versions,
)
from rag_evaluation_framework.records.scores import Blame
from rag_evaluation_framework.results.baselines import check_baseline, compare_with_baseline
from rag_evaluation_framework.results.blame_summaries import (
    BlameSummary,
    blame_of_all,
    blame_summary,
    read_blames,
    write_blames,
)
from rag_evaluation_framework.results.evaluated_turns import evaluated_turns
from rag_evaluation_framework.results.evaluations import (
    NO_COLUMNS,
    ColumnsBuilder,
    Counts,
    Evaluation,
    Kind,
    Performance,
    Row,
)
from rag_evaluation_framework.results.gate import Gate
from rag_evaluation_framework.results.run_evaluations import summed_up
from rag_evaluation_framework.results.run_folder import NEW_RUN, RunFolder
from rag_evaluation_framework.results.run_groups import RunGroup, group_fields
from rag_evaluation_framework.results.run_rows import RunRow, listed_samples, rows_of_folder
from rag_evaluation_framework.results.run_summaries import IntervalSettings, summarise_run
from rag_evaluation_framework.results.sample_list import content_hash
from rag_evaluation_framework.results.sample_verdicts import (
    PassCounter,
    missed_bounds,
    sample_bounds,
    sample_passes,
)

_NOT_BEGUN = "not begun"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A plan, and how it is carried out; the heads of its runs record the ``configuration``.

    ``methods`` are those of the plan: their judge and what it costs are recorded. ``metrics`` are those that
    take the place of a manifest's.
    """

    plan: Plan
    runs_directory: Path
    run: RunSettings
    choice: SampleChoice
    gate: Gate = field(default_factory=lambda: Gate(enabled=False))
    kind: Kind = "suite"
    methods: ScoringMethods = field(default_factory=ScoringMethods, hash=False)
    metrics: tuple[str, ...] = ()
    configuration: Mapping[str, Any] = field(default_factory=dict, hash=False)
    resumed: RunGroup | None = None
    baseline: RunGroup | None = None
    shown_target: str | None = None
    missing: tuple[str, ...] = ()


def run_suite(suite: Suite, target: Target, *, on_progress: OnProgress | None = None) -> Evaluation:
    """Ask, score and sum up what was planned; what an earlier run has finished is not asked again."""
    plan, resumed = suite.plan, suite.resumed
    _check_target(target, resumed)
    if suite.baseline is not None:
        _check_baselines(plan, suite.baseline)
    parts: dict[str, Evaluation] = {}
    leader = resumed.leader.head if resumed else None
    for dataset in plan.datasets:
        folder = resumed.runs.get(dataset.name) if resumed else None
        if folder is not None:
            check_scored_alike(folder, dataset.scorers, suite.methods)
            folder = scored_as_wanted(folder, dataset.scorers, suite.methods)
        if folder is None:
            folder = RunFolder.create(suite.runs_directory, _head(dataset, suite, target, leader=leader))
        leader = leader or folder.head
        parts[dataset.name] = _evaluated(dataset, folder, target, suite, on_progress)
        if not parts[dataset.name].outcome.completed:
            break
    for dataset in plan.datasets[len(parts) :]:
        parts[dataset.name] = _not_begun(dataset, suite, target)
    whole = _whole(suite, parts)
    return replace(whole, verdict=suite.gate.decide(whole))


def _whole(suite: Suite, parts: Mapping[str, Evaluation]) -> Evaluation:
    """Return the parts as one; of a single dataset its figures are those of the whole."""
    first = next(iter(parts.values()))
    begun = [part for part in parts.values() if part.is_begun]
    stopped = next((part.outcome for part in parts.values() if not part.outcome.completed), None)
    counts = [part.counts for part in parts.values()]
    usages = [part.performance.judge_usage for part in begun if part.performance.judge_usage is not None]
    is_single = len(parts) == 1
    return Evaluation(
        kind=suite.kind,
        head=first.head,
        metrics=first.metrics if is_single else {},
        counts=Counts(
            total=sum(each.total for each in counts),
            finished=sum(each.finished for each in counts),
            failed=sum(each.failed for each in counts),
            errors=sum(each.errors for each in counts),
        ),
        outcome=stopped or first.outcome,
        columns=first.columns if is_single else NO_COLUMNS,
        parts=parts,
        parts_are="splits" if suite.kind == "golden" else "datasets",
        comparison=first.comparison if is_single else None,
        blame=blame_of_all(part.blame for part in begun if part.blame is not None),
        performance=Performance(judge_usage=sum(usages[1:], usages[0]) if usages else None),
        warnings=suite.plan.warnings,
        target=suite.shown_target,
        missing=suite.missing,
        folder=first.folder,
        write_document=first.write_document if is_single else None,
        document=first.document if is_single else None,
    )


def _not_begun(dataset: DatasetPlan, suite: Suite, target: Target) -> Evaluation:
    total = len(dataset.selection)
    return Evaluation(
        kind="answers",
        head=RunHead(run_id=NEW_RUN, dataset_id=dataset.name, target=target.name, seed=suite.choice.seed),
        metrics={},
        counts=Counts(total=total, finished=0),
        outcome=RunOutcome(
            completed=False, interrupted=False, done=0, failed=0, remaining=total, reason=_NOT_BEGUN
        ),
        thresholds=dataset.thresholds,
        unmeasured=dataset.unmeasured,
        target=suite.shown_target,
    )


def _evaluated(
    dataset: DatasetPlan, folder: RunFolder, target: Target, suite: Suite, tell: OnProgress | None
) -> Evaluation:
    if tell is not None:
        tell(dataset.name, folder.counts.before_resuming(len(dataset.selection)))
    judged_by = suite.methods if dataset.judge_calls else ScoringMethods()
    with ResourceMeter() as meter, RunSpending(folder, judged_by) as spending:
        outcome = run_samples(
            dataset.selection,
            target,
            dataset.scorers,
            folder=folder,
            settings=suite.run,
            on_progress=None if tell is None else lambda progress: tell(dataset.name, progress),
        )
    performance = Performance(resources=meter.usage, judge_usage=spending.usage)
    evaluation = evaluation_of(dataset, folder, outcome, performance)
    if suite.baseline is not None and outcome.completed:
        compared = compare_with_baseline(
            suite.baseline.runs[dataset.name], folder, dataset.scorers, seed=folder.head.seed
        )
        evaluation = replace(evaluation, comparison=compared)
    evaluation = replace(evaluation, target=suite.shown_target)
    return _written(evaluation) if outcome.completed else evaluation


def _written(evaluation: Evaluation) -> Evaluation:
    """Write the results document into the run's folder; what was measured is reported all the same."""
    try:
        if evaluation.folder is not None:
            evaluation.save(evaluation.folder / "results.json")
    except StorageError as error:
        return replace(evaluation, outcome=replace(evaluation.outcome, completed=False, reason=str(error)))
    return evaluation


def evaluation_of(
    dataset: DatasetPlan, folder: RunFolder, outcome: RunOutcome, performance: Performance
) -> Evaluation:
    """Sum up one dataset's run."""
    passes = PassCounter(sample_bounds(dataset.thresholds, (scorer.name for scorer in dataset.scorers)))
    columns = ColumnsBuilder()
    summary = summarise_run(
        _counted(folder, passes, columns),
        total=len(dataset.selection),
        intervals=IntervalSettings(seed=folder.head.seed),
        directions={scorer.name: scorer.higher_is_better for scorer in dataset.scorers},
    )
    blame = _blamed(dataset, folder)

    def rows() -> Iterator[Row]:
        return _rows(dataset, folder, is_blamed=blame is not None)

    return summed_up(
        folder.head,
        summary,
        kind="golden" if dataset.is_golden else "answers",
        order=[scorer.name for scorer in dataset.scorers],
        outcome=outcome,
        rows=rows,
        errors=passes.errors,
        pass_rate=passes.summary(),
        columns=columns,
        blame=blame,
        performance=performance,
        thresholds=dataset.thresholds,
        unmeasured=dataset.unmeasured,
        folder=folder.path,
    )


def _rows(dataset: DatasetPlan, folder: RunFolder, *, is_blamed: bool) -> Iterator[Row]:
    """Yield the finished samples in the order of the dataset."""
    bounds = sample_bounds(dataset.thresholds, (scorer.name for scorer in dataset.scorers))
    listed = enumerate(listed_samples(dataset.selection, folder.samples_path))
    blames = read_blames(folder.blame_path) if is_blamed else iter(())
    for entry in folder.entries(order="dataset"):
        result = entry.result
        sample = next(sample for place, sample in listed if place == entry.index)
        found = next((found for sample_id, found in blames if sample_id == result.sample_id), None)
        yield Row(
            index=entry.index,
            result=result,
            sample=sample,
            timing=entry.timing,
            passes=sample_passes(result, bounds),
            misses=missed_bounds(result, bounds),
            blame=found,
            turns=evaluated_turns(sample, result, None if found is None else found.turns),
        )


def _blamed(dataset: DatasetPlan, folder: RunFolder) -> BlameSummary | None:
    """Blame every answer once, without asking a judge; the run's folder keeps what was found."""
    if not are_blamed(dataset.scorers, is_golden=dataset.is_golden):
        return None
    try:
        write_blames(folder.blame_path, _blames(dataset, folder))
    except StorageError:  # a run that was stopped by a full disk is reported all the same
        return None
    written = read_blames(folder.blame_path)
    return blame_summary((each for _, found in written for each in found.answers), method=BLAMED_BY)


def _blames(dataset: DatasetPlan, folder: RunFolder) -> Iterator[tuple[str, Blame]]:
    for row in rows_of_folder(folder, dataset.selection):
        if row.sample is not None:
            yield row.result.sample_id, blamed(row.sample, row.result.response, dataset.documents)


def _counted(folder: RunFolder, counter: PassCounter, columns: ColumnsBuilder) -> Iterator[RunRow]:
    for row in rows_of_folder(folder):
        counter.add(row.result)
        columns.add(row.result)
        yield row


def _head(dataset: DatasetPlan, suite: Suite, target: Target, *, leader: RunHead | None) -> RunHead:
    plan = suite.plan
    group = group_fields(
        suite.choice,
        datasets=tuple(each.name for each in plan.datasets),
        metrics=suite.metrics,
        leader=leader,
    )
    return RunHead(
        run_id=NEW_RUN,
        dataset_id=dataset.name,
        dataset_hash=content_hash(dataset.selection),
        target=target.name,
        configuration={
            **suite.configuration,
            "dataset_path": None if dataset.entry.path is None else str(dataset.entry.path),
            "metrics": {scorer.name: scorer.method for scorer in dataset.scorers},
            "thresholds": list(map(str, dataset.thresholds)),
            **(judge_fields(suite.methods) if plan.judge_calls else {}),
            **group,
        },
        metric_versions={scorer.name: scorer.version for scorer in dataset.scorers},
        seed=suite.choice.seed,
        packages=package_versions(),
    )


def _check_target(target: Target, resumed: RunGroup | None) -> None:
    if resumed is not None and resumed.leader.head.target != target.name:
        began = resumed.leader.head.target
        raise UsageError(f"cannot resume with another target: expected {began}, got {target.name}")


def _check_baselines(plan: Plan, baseline: RunGroup) -> None:
    for dataset in plan.datasets:
        if dataset.name not in baseline.runs:
            known = ", ".join(baseline.runs)
            raise UsageError(f"baseline: expected a run of dataset {dataset.name}, got runs of {known}")
        check_baseline(baseline.runs[dataset.name], dataset.scorers)
