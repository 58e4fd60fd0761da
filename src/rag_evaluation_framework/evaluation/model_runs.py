"""Models side by side on the same samples: their runs, tied together, in figures, compared with the
first..
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from rag_evaluation_framework.errors import UsageError, counted
from rag_evaluation_framework.evaluation.engine import run_samples
from rag_evaluation_framework.evaluation.resources import ResourceMeter, RunSpending
from rag_evaluation_framework.evaluation.scoring import MetricScorer
from rag_evaluation_framework.extensions import Target
from rag_evaluation_framework.files.access import plain_name
from rag_evaluation_framework.judging.methods import ScoringMethods
from rag_evaluation_framework.records.runs import (
    Progress,
    RunHead,
    RunOutcome,
    RunSettings,
    package_versions,
)
from rag_evaluation_framework.results.comparison import MetricComparison, compare_scored, scored_run
from rag_evaluation_framework.results.evaluations import Evaluation, rows_of_folder, summed_up
from rag_evaluation_framework.results.run_folder import NEW_RUN, RunFolder, tied_runs
from rag_evaluation_framework.results.sample_list import Samples, check_unchanged
from rag_evaluation_framework.results.summaries import Performance

_MODELS = "models"
_FIRST_RUN = "first_run"


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedData:
    """What the models are all asked: a file, or the first ``limit`` samples of it.

    ``dataset_format`` is the dialect where it is known beforehand, ``dataset_version`` the version where
    there is one.
    """

    dataset_path: str
    dataset_format: str | None = None
    dataset_version: str | None = None
    limit: int | None = None

    @property
    def dataset_id(self) -> str:
        """The name of the file: ``qa_pairs`` for ``evaluation/datasets/qa_pairs.jsonl.zst``."""
        return plain_name(self.dataset_path).partition(".")[0] or plain_name(self.dataset_path)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelParameters:
    """How a model is asked. ``temperature=None`` leaves the endpoint's own; ``base_url`` has no secrets."""

    base_url: str
    temperature: float | None = 0.0
    max_tokens: int | None = None


class ModelRuns:
    """Models in the order in which they were given, and the runs that they have so far."""

    def __init__(self, models: Sequence[str] = ()) -> None:
        self.models = list(dict.fromkeys(models))
        self.runs: dict[str, RunFolder] = {}

    @classmethod
    def resumed(
        cls, run_ids: Sequence[str], runs_directory: Path, *, models: Sequence[str] = ()
    ) -> ModelRuns:
        """Find the runs that are tied to those named; ``models`` come in addition.

        Runs over different data, metrics or seeds, or two of the same model, are a :class:`UsageError`.
        """
        found = cls()
        for run_id in run_ids:
            for folder in tied_runs(RunFolder.open(run_id, runs_directory), _FIRST_RUN):
                found._add(folder)
        found.models = list(dict.fromkeys([*found.models, *models]))
        return found

    @property
    def leader(self) -> RunFolder | None:
        """The run of the first model that has one."""
        return next((self.runs[model] for model in self.models if model in self.runs), None)

    def _add(self, folder: RunFolder) -> None:
        head = folder.head
        models, path = (head.configuration.get(name) for name in (_MODELS, "dataset_path"))
        if not isinstance(models, list) or not isinstance(path, str):
            raise UsageError(f"run {head.run_id} was not begun as one of models side by side")
        if self.leader is not None:
            _check_alike(self.leader.head, head)
        self.models = list(dict.fromkeys([*self.models, *models]))
        there = self.runs.setdefault(str(head.target), folder)
        if there.path != folder.path:
            raise UsageError(f"expected one run of {head.target}, got {there.head.run_id} and {head.run_id}")


def model_head(
    model: str,
    runs: ModelRuns,
    data: SharedData,
    *,
    parameters: ModelParameters,
    dataset_hash: str,
    scorers: Sequence[MetricScorer],
    judge: Mapping[str, Any],
    seed: int,
) -> RunHead:
    """Return the head of a new run of one model beside the others; ``judge`` is its part on who judges."""
    tie = {} if runs.leader is None else {_FIRST_RUN: _leader_of(runs.leader.head)}
    return RunHead(
        run_id=NEW_RUN,
        dataset_id=data.dataset_id,
        dataset_version=data.dataset_version,
        dataset_hash=dataset_hash,
        target=model,
        configuration={
            "model": model,
            **asdict(parameters),
            **asdict(data),
            "metrics": {scorer.name: scorer.method for scorer in scorers},
            **judge,
            _MODELS: list(runs.models),
            **tie,
        },
        metric_versions={scorer.name: scorer.version for scorer in scorers},
        seed=seed,
        packages=package_versions(),
    )


def data_of(head: RunHead) -> SharedData:
    """Return what a run's models are asked."""
    return SharedData(**_written(SharedData, head))


def parameters_of(head: RunHead) -> ModelParameters:
    """Return how a run's model is asked."""
    return ModelParameters(**_written(ModelParameters, head))


def metrics_of(head: RunHead) -> tuple[str, ...]:
    """Return the metrics that a run is scored by."""
    return tuple(head.configuration.get("metrics", ()))


def _written(kind: type[SharedData | ModelParameters], head: RunHead) -> dict[str, Any]:
    return {field.name: head.configuration.get(field.name) for field in fields(kind)}


def _check_alike(first: RunHead, second: RunHead) -> None:
    pairs = {
        "dataset": (first.dataset_id, second.dataset_id),
        "content of the dataset": (first.dataset_hash, second.dataset_hash),
        "metrics": (", ".join(metrics_of(first)), ", ".join(metrics_of(second))),
        "seed": (first.seed, second.seed),
    }
    for what, (expected, got) in pairs.items():
        if expected != got:
            raise UsageError(
                f"run {second.run_id} cannot stand beside {first.run_id}: "
                f"{what}: expected {expected}, got {got}"
            )


def _leader_of(head: RunHead) -> str:
    return str(head.configuration.get(_FIRST_RUN) or head.run_id)


# Models side by side on the same samples: the run of each in figures, and how it compares with the
# first.


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEvaluation:
    """One model's run in figures; ``shortfall`` says why it was not measured as asked, if so."""

    model: str
    folder: RunFolder
    evaluation: Evaluation
    shortfall: str | None = None

    @property
    def is_measured(self) -> bool:
        return self.shortfall is None

    @property
    def can_go_on(self) -> bool:
        """Whether resuming may help: samples are left to ask, and not all of the others failed for good."""
        progress = self.folder.counts.before_resuming(self.evaluation.counts.total)
        return progress.done < progress.total and not 0 < progress.done == progress.failed

    def write_results(self, path: Path | None = None) -> None:
        """Write the results document, by default into the run's folder."""
        self.evaluation.save(path or self.folder.results_path)


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
    summed = summed_up(
        folder.head,
        rows_of_folder(folder),
        kind="answers",
        outcome=outcome,
        rows=lambda: rows_of_folder(folder, samples),
        total=outcome.done + outcome.remaining,
        directions={scorer.name: scorer.higher_is_better for scorer in scorers},
        performance=Performance(resources=meter.usage, judge_usage=spending.usage),
        folder=folder.path,
    )
    evaluation = ModelEvaluation(
        model=str(folder.head.target),
        folder=folder,
        evaluation=summed,
        shortfall=_shortfall(folder, outcome),
    )
    if outcome.completed:
        evaluation.write_results()
    return evaluation


def compare_models(evaluations: Sequence[ModelEvaluation], *, seed: int = 0) -> list[MetricComparison]:
    """Compare every other model with the first, sample by sample; all p-values are corrected together.

    Only models that were measured are compared, and of their metrics those with a sample scored in both.
    """
    measured = [each for each in evaluations if each.is_measured]
    if not measured or measured[0] is not evaluations[0]:
        return []
    runs = [scored_run(each.folder, each.model) for each in measured]
    return list(compare_scored(runs, force=True, seed=seed).metrics)


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
