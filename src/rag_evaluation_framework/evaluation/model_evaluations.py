"""Models side by side on the same samples: the run of each in figures, and how it compares with the first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.evaluation.resources import ResourceMeter, RunSpending
from rag_evaluation_framework.evaluation.runs.runner import run_samples
from rag_evaluation_framework.evaluation.scoring import MetricScorer
from rag_evaluation_framework.extensions import Target
from rag_evaluation_framework.judging.methods import ScoringMethods
from rag_evaluation_framework.records.runs import JudgeUsage, Progress, ResourceUsage, RunOutcome, RunSettings
from rag_evaluation_framework.results.comparison import MetricComparison, corrected_together
from rag_evaluation_framework.results.documents import write_run_results
from rag_evaluation_framework.results.run_comparison import compare_scored, shared_metrics
from rag_evaluation_framework.results.run_folder import RunFolder
from rag_evaluation_framework.results.run_rows import rows_of_folder
from rag_evaluation_framework.results.run_summaries import IntervalSettings, RunSummary, summarise_run
from rag_evaluation_framework.results.sample_list import Samples, check_unchanged
from rag_evaluation_framework.results.scored_runs import scored_run


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEvaluation:
    """One model's run in figures; ``shortfall`` says why it was not measured as asked, if so."""

    model: str
    folder: RunFolder
    outcome: RunOutcome
    summary: RunSummary
    resources: ResourceUsage
    judge_usage: JudgeUsage | None = None
    shortfall: str | None = None

    @property
    def is_measured(self) -> bool:
        return self.shortfall is None

    @property
    def can_go_on(self) -> bool:
        """Whether resuming may help: samples are left to ask, and not all of the others failed for good."""
        progress = self.folder.counts.before_resuming(self.summary.total)
        return progress.done < progress.total and not 0 < progress.done == progress.failed

    def write_results(self, samples: Samples, path: Path | None = None) -> None:
        """Write the results document, by default into the run's folder."""
        write_run_results(
            self.folder,
            path,
            samples=samples,
            summary=self.summary,
            resources=self.resources,
            judge_usage=self.judge_usage,
        )


def evaluate_model(
    samples: Samples,
    target: Target | None,
    scorers: Sequence[MetricScorer],
    *,
    folder: RunFolder,
    settings: RunSettings,
    methods: ScoringMethods | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> ModelEvaluation:
    """Ask one model the samples that its run still lacks, and sum up the run.

    A complete run needs no target, but its samples are still checked to be the same. ``methods`` are those of
    the scorers: what their judge costs is counted.
    """
    with ResourceMeter() as meter, RunSpending(folder, methods or ScoringMethods()) as spending:
        if target is None:
            check_unchanged(samples, folder.samples_path)
            outcome = _as_it_stands(folder)
        else:
            outcome = run_samples(
                samples, target, scorers, folder=folder, settings=settings, on_progress=on_progress
            )
    summary = summarise_run(
        rows_of_folder(folder),
        total=outcome.done + outcome.remaining,
        intervals=IntervalSettings(seed=folder.head.seed),
        directions={scorer.name: scorer.higher_is_better for scorer in scorers},
    )
    evaluation = ModelEvaluation(
        model=str(folder.head.target),
        folder=folder,
        outcome=outcome,
        summary=summary,
        resources=meter.usage,
        judge_usage=spending.usage,
        shortfall=_shortfall(folder, outcome),
    )
    if outcome.completed:
        evaluation.write_results(samples)
    return evaluation


def compare_models(evaluations: Sequence[ModelEvaluation], *, seed: int = 0) -> list[MetricComparison]:
    """Compare every other model with the first, sample by sample; all p-values are corrected together.

    Only models that were measured are compared, and of their metrics those with a sample scored in both.
    """
    measured = [each for each in evaluations if each.is_measured]
    if not measured or measured[0] is not evaluations[0]:
        return []
    baseline, *contenders = (scored_run(each.folder, each.model) for each in measured)
    compared: list[MetricComparison] = []
    for contender in contenders:
        metrics = [
            name
            for name in shared_metrics(baseline, contender)
            if baseline.metrics[name].values.keys() & contender.metrics[name].values.keys()
        ]
        if metrics:
            compared += compare_scored(baseline, contender, metrics, seed=seed)
    order = list(baseline.metrics)
    return corrected_together(sorted(compared, key=lambda each: order.index(each.metric)))


def _as_it_stands(folder: RunFolder) -> RunOutcome:
    counts = folder.counts
    return RunOutcome(
        completed=counts.remaining == 0,
        interrupted=False,
        done=counts.done,
        failed=counts.failed,
        remaining=counts.remaining,
    )


def _shortfall(folder: RunFolder, outcome: RunOutcome) -> str | None:
    if not outcome.completed:
        return f"not completed: {outcome.reason}"
    if outcome.failed < outcome.done:
        return None
    failure = next(folder.results()).response.failure
    told = f" ({failure.kind}: {failure.message})" if failure else ""
    return f"not one of {counted(outcome.done, 'sample')} got an answer{told}"
