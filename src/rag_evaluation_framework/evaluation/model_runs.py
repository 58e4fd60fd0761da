"""The runs of models side by side: one for each model, tied together, so that one id finds them all.

The first run leads: its head lists the models. The heads of the others name it as ``first_run``. Each head
contains what all of them share (data, metrics, seed) and how its own model is asked (where, at which
temperature); a resume goes on with that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.evaluation.scoring import MetricScorer
from rag_evaluation_framework.files.access import plain_name
from rag_evaluation_framework.records.runs import RunHead, package_versions
from rag_evaluation_framework.results.run_folder import NEW_RUN, RunFolder, tied_runs

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
