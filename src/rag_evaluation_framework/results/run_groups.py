"""The runs of one evaluation: one a dataset, tied together, so that one id resumes or compares them all.

The first run leads: its head lists the datasets and how their samples were chosen. The heads of the others
name the leader.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.records.runs import RunHead, SampleChoice
from rag_evaluation_framework.results.run_folder import RunFolder, tied_runs

RESULTS_FILE = "golden.results.json"
"""The name of the results of all splits in the folder of the first run of golden sets."""

_LEADER = "evaluation"
_DATASETS = "datasets"
_SELECTION = "selection"


class RunGroup:
    """The runs of an evaluation by dataset; the leader is the first."""

    def __init__(self, leader: RunFolder, *others: RunFolder) -> None:
        self.leader = leader
        self.runs = {run.head.dataset_id: run for run in (leader, *others)}

    @classmethod
    def open(cls, path_or_id: str | Path, runs_directory: Path) -> RunGroup:
        """Find an evaluation by any of its runs, in the runs directory or by path."""
        return cls(*tied_runs(RunFolder.open(path_or_id, runs_directory), _LEADER))

    @property
    def datasets(self) -> tuple[str, ...]:
        """The datasets of the evaluation, including those not begun."""
        listed = self.leader.head.configuration.get(_DATASETS)
        return tuple(listed) if isinstance(listed, list) else tuple(self.runs)

    @property
    def choice(self) -> SampleChoice:
        """How the samples were chosen."""
        written = self._selection()
        return SampleChoice(
            tags=tuple(written.get("tags", ())),
            sample_size=written.get("sample_size"),
            seed=self.leader.head.seed,
            allow_missing=bool(written.get("allow_missing")),
        )

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that replaced the manifest's, if any did."""
        return tuple(self._selection().get("metrics", ()))

    def _selection(self) -> dict[str, Any]:
        written = self.leader.head.configuration.get(_SELECTION)
        if not isinstance(written, dict):
            raise UsageError(f"run {self.leader.head.run_id} was not begun by an evaluation of a manifest")
        return written


def group_fields(
    choice: SampleChoice,
    *,
    datasets: tuple[str, ...],
    metrics: tuple[str, ...] = (),
    leader: RunHead | None = None,
) -> dict[str, Any]:
    """Return the fields of a head's configuration by which the runs of an evaluation are found again."""
    selection = {
        "tags": list(choice.tags),
        "sample_size": choice.sample_size,
        "allow_missing": choice.allow_missing,
        "metrics": list(metrics),
    }
    fields: dict[str, Any] = {_DATASETS: list(datasets), _SELECTION: selection}
    return fields if leader is None else {**fields, _LEADER: leader.run_id}


def whole_results_of(folder: RunFolder) -> Path | None:
    """Return the results of the golden run that a run belongs to; ``None`` if there is none, or none yet."""
    configuration = folder.head.configuration
    leader = configuration.get("evaluation", folder.head.run_id)
    path = folder.path.parent / str(leader) / RESULTS_FILE
    return path if "golden" in configuration and path.is_file() else None
