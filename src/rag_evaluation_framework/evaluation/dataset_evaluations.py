"""Carries out a plan, dataset by dataset, and sums it up: the figures, the gate, every sample.

Each dataset is a run of its own; the runs of one evaluation are tied together
(``results.run_groups``). The first that does not complete ends the evaluation. Samples are read from
the run's folder when asked for: only the figures of a run are held in memory.
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
    JudgeUsage,
    OnProgress,
    ResourceUsage,
    RunHead,
    RunOutcome,
    RunSettings,
    SampleChoice,
    SampleResult,
    Timing,
    package_versions,
)
from rag_evaluation_framework.records.samples import Refusal, Sample
from rag_evaluation_framework.records.scores import Blame
from rag_evaluation_framework.results.baselines import (
    BaselineComparison,
    check_baseline,
    compare_with_baseline,
)
from rag_evaluation_framework.results.blame_summaries import (
    BlameSummary,
    blame_summary,
    is_fault,
    read_blames,
    write_blames,
)
from rag_evaluation_framework.results.documents import RunVerdicts, write_results_document
from rag_evaluation_framework.results.evaluated_turns import EvaluatedTurn, evaluated_turns
from rag_evaluation_framework.results.gate import GateInput
from rag_evaluation_framework.results.run_folder import NEW_RUN, RunFolder
from rag_evaluation_framework.results.run_groups import RunGroup, group_fields
from rag_evaluation_framework.results.run_rows import RunRow, listed_samples, rows_of_folder
from rag_evaluation_framework.results.run_summaries import IntervalSettings, RunSummary, summarise_run
from rag_evaluation_framework.results.sample_list import content_hash
from rag_evaluation_framework.results.sample_verdicts import (
    PassCounter,
    missed_bounds,
    sample_bounds,
    sample_passes,
)
from rag_evaluation_framework.results.summaries import MetricSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSettings:
    """How an evaluation runs, and what its heads record beside the plan.

    ``methods`` are those of the plan: their judge and what it costs are recorded.
    """

    runs_directory: Path
    run: RunSettings
    choice: SampleChoice
    methods: ScoringMethods = field(default_factory=ScoringMethods, hash=False)
    metrics: tuple[str, ...] = ()
    configuration: Mapping[str, Any] = field(default_factory=dict, hash=False)
    on_progress: OnProgress | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class EvaluatedSample:
    """One finished sample: its place among the chosen ones (from 0), its outcome, and whether it passes."""

    index: int
    sample: Sample
    result: SampleResult
    passes: bool | None
    blame: Blame | None = None
    turns: tuple[EvaluatedTurn, ...] = ()
    """The turns of a conversation, in their order."""
    timing: Timing | None = None
    misses: tuple[str, ...] = ()
    """The scores that miss their bounds, in words."""

    @property
    def expected(self) -> str | None:
        """What the last answer should say; ``None`` if no words are expected."""
        return self.turns[-1].expected if self.turns else self.sample.reference

    @property
    def expects_refusal(self) -> bool:
        """Whether the last answer should decline."""
        if self.turns:
            return self.turns[-1].expects_refusal
        return isinstance(self.sample.expectation, Refusal)

    @property
    def is_failing(self) -> bool:
        """Whether the sample does not pass, or has an error."""
        return self.passes is False or self.error is not None

    @property
    def is_at_fault(self) -> bool:
        """Whether the answer, or a turn of the conversation, is wrong, even if no threshold counts it."""
        return any(turn.is_at_fault for turn in self.turns) if self.turns else is_fault(self.blame)

    @property
    def error(self) -> str | None:
        """Why there is no answer, or why an answer has no score."""
        failure = self.result.response.failure
        if failure is not None:
            return f"{failure.kind}: {failure.message}"
        failed = [
            f"{score.metric}: {score.reason}" for score in self.result.scores if score.status == "failed"
        ]
        return "; ".join(failed) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetEvaluation:
    """One dataset's run in figures; :meth:`samples` reads it again, sample by sample."""

    plan: DatasetPlan
    folder: RunFolder
    outcome: RunOutcome
    summary: RunSummary
    passes: PassCounter
    resources: ResourceUsage
    baseline: BaselineComparison | None = None
    blame: BlameSummary | None = None
    """Where the answers fail; of golden sets always, else where a metric looks at contexts."""
    judge_usage: JudgeUsage | None = None
    """What the judge has cost, in all parts of the run."""

    @property
    def pass_rate(self) -> MetricSummary:
        """The share of the samples that pass."""
        return self.passes.summary()

    @property
    def errors(self) -> int:
        """The samples whose request or scoring failed."""
        return self.passes.errors

    @property
    def metrics(self) -> tuple[MetricSummary, ...]:
        """Every metric in the order in which they were asked for, then ``pass_rate``."""
        order = [scorer.name for scorer in self.plan.scorers]
        return (*sorted(self.summary.metrics, key=lambda each: order.index(each.metric)), self.pass_rate)

    @property
    def gate_input(self) -> GateInput:
        compared = self.baseline or BaselineComparison((), ())
        return GateInput(
            dataset=self.plan.name,
            metrics=self.metrics,
            thresholds=self.plan.thresholds,
            total=len(self.plan.selection),
            finished=self.summary.finished,
            errors=self.errors,
            comparisons=compared.comparisons,
            uncompared=compared.uncompared,
            unmeasured=self.plan.unmeasured,
        )

    def samples(self) -> Iterator[EvaluatedSample]:
        """Yield the finished samples in the order of the dataset."""
        bounds = sample_bounds(self.plan.thresholds, (scorer.name for scorer in self.plan.scorers))
        listed = enumerate(listed_samples(self.plan.selection, self.folder.samples_path))
        blames = iter(()) if self.blame is None else read_blames(self.folder.blame_path)
        for entry in self.folder.entries(order="dataset"):
            result = entry.result
            sample = next(sample for place, sample in listed if place == entry.index)
            found = next((found for sample_id, found in blames if sample_id == result.sample_id), None)
            turns = evaluated_turns(sample, result, None if found is None else found.turns)
            passes = sample_passes(result, bounds)
            misses = missed_bounds(result, bounds)
            yield EvaluatedSample(entry.index, sample, result, passes, found, turns, entry.timing, misses)

    def write_results(self, path: Path | None = None) -> None:
        """Write the results document, by default into the run's folder."""
        write_results_document(
            path or self.folder.results_path,
            self.folder.head,
            self.rows,
            self.summary,
            resources=self.resources,
            judge_usage=self.judge_usage,
            verdicts=RunVerdicts(pass_rate=self.pass_rate, blame=self.blame),
        )

    def rows(self) -> Iterator[RunRow]:
        """Yield the finished samples as the results document has them."""
        for each in self.samples():
            verdict = {
                "pass": each.passes,
                "blame": None if each.blame is None else each.blame.to_dict(),
                "turns": [turn.to_dict() for turn in each.turns],
            }
            yield RunRow(each.result, each.sample, each.timing, verdict)


def run_evaluation(
    plan: Plan,
    target: Target,
    settings: EvaluationSettings,
    *,
    resumed: RunGroup | None = None,
    baseline: RunGroup | None = None,
) -> list[DatasetEvaluation]:
    """Ask, score and sum up what was planned; what an earlier run has finished is not asked again."""
    _check_target(target, resumed)
    if baseline is not None:
        _check_baselines(plan, baseline)
    evaluated: list[DatasetEvaluation] = []
    leader = resumed.leader.head if resumed else None
    for dataset in plan.datasets:
        folder = resumed.runs.get(dataset.name) if resumed else None
        if folder is not None:
            check_scored_alike(folder, dataset.scorers, settings.methods)
            folder = scored_as_wanted(folder, dataset.scorers, settings.methods)
        if folder is None:
            head = _head(dataset, plan, target, settings, leader=leader)
            folder = RunFolder.create(settings.runs_directory, head)
        leader = leader or folder.head
        evaluated.append(_evaluated(dataset, folder, target, settings, baseline))
        if not evaluated[-1].outcome.completed:
            break
    return evaluated


def _evaluated(
    dataset: DatasetPlan,
    folder: RunFolder,
    target: Target,
    settings: EvaluationSettings,
    baseline: RunGroup | None,
) -> DatasetEvaluation:
    tell = settings.on_progress
    if tell is not None:
        tell(dataset.name, folder.counts.before_resuming(len(dataset.selection)))
    judged_by = settings.methods if dataset.judge_calls else ScoringMethods()
    with ResourceMeter() as meter, RunSpending(folder, judged_by) as spending:
        outcome = run_samples(
            dataset.selection,
            target,
            dataset.scorers,
            folder=folder,
            settings=settings.run,
            on_progress=None if tell is None else lambda progress: tell(dataset.name, progress),
        )
    summary, passes = _summed_up(dataset, folder)
    compared = None
    if baseline is not None and outcome.completed:
        compared = compare_with_baseline(
            baseline.runs[dataset.name], folder, dataset.scorers, seed=folder.head.seed
        )
    evaluation = DatasetEvaluation(
        plan=dataset,
        folder=folder,
        outcome=outcome,
        summary=summary,
        passes=passes,
        resources=meter.usage,
        baseline=compared,
        blame=_blamed(dataset, folder),
        judge_usage=spending.usage,
    )
    if not outcome.completed:
        return evaluation
    try:
        evaluation.write_results()
    except StorageError as error:  # what was measured is reported all the same
        return replace(evaluation, outcome=replace(outcome, completed=False, reason=str(error)))
    return evaluation


def _summed_up(dataset: DatasetPlan, folder: RunFolder) -> tuple[RunSummary, PassCounter]:
    passes = PassCounter(sample_bounds(dataset.thresholds, (scorer.name for scorer in dataset.scorers)))
    summary = summarise_run(
        _counted(folder, passes),
        total=len(dataset.selection),
        intervals=IntervalSettings(seed=folder.head.seed),
        directions={scorer.name: scorer.higher_is_better for scorer in dataset.scorers},
    )
    return summary, passes


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


def _counted(folder: RunFolder, counter: PassCounter) -> Iterator[RunRow]:
    for row in rows_of_folder(folder):
        counter.add(row.result)
        yield row


def _head(
    dataset: DatasetPlan,
    plan: Plan,
    target: Target,
    settings: EvaluationSettings,
    *,
    leader: RunHead | None,
) -> RunHead:
    group = group_fields(
        settings.choice,
        datasets=tuple(each.name for each in plan.datasets),
        metrics=settings.metrics,
        leader=leader,
    )
    return RunHead(
        run_id=NEW_RUN,
        dataset_id=dataset.name,
        dataset_hash=content_hash(dataset.selection),
        target=target.name,
        configuration={
            **settings.configuration,
            "dataset_path": str(dataset.entry.path),
            "metrics": {scorer.name: scorer.method for scorer in dataset.scorers},
            "thresholds": list(map(str, dataset.thresholds)),
            **(judge_fields(settings.methods) if plan.judge_calls else {}),
            **group,
        },
        metric_versions={scorer.name: scorer.version for scorer in dataset.scorers},
        seed=settings.choice.seed,
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
