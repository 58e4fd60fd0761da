"""Runs in a directory: listed with their states, and those of one evaluation found by any of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_evaluation_framework.errors import RagEvalError, UsageError
from rag_evaluation_framework.records.runs import SampleChoice
from rag_evaluation_framework.results.run_folder import DEFAULT_RUNS_DIRECTORY, RunFolder, RunState, run_paths


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run in a directory; one that cannot be opened has the reason in place of its folder."""

    path: Path
    state: RunState
    folder: RunFolder | None = None
    reason: str | None = None


def list_runs(runs_directory: str | Path = DEFAULT_RUNS_DIRECTORY) -> list[ListedRun]:
    """Return the runs of a directory by name; a directory that does not exist has none."""
    found = []
    for path in run_paths(Path(runs_directory)):
        try:
            folder = RunFolder.at(path)
            found.append(ListedRun(path, folder.state, folder))
        except RagEvalError as error:
            found.append(ListedRun(path, "broken", reason=str(error)))
    return found


def latest_run(runs_directory: str | Path = DEFAULT_RUNS_DIRECTORY) -> RunFolder:
    """Open the run that began last; one that belongs to another's evaluation is found by that."""
    begun = [each.folder for each in list_runs(runs_directory) if each.folder is not None]
    if not begun:
        raise UsageError(f"expected a run, got none, and there is none in {runs_directory}")
    last = max(begun, key=lambda folder: (folder.head.started_at or "", folder.head.run_id))
    leader = last.head.configuration.get("evaluation")
    return last if not isinstance(leader, str) else RunFolder.open(leader, runs_directory)


def tied_runs(named: RunFolder, tie: str) -> Iterator[RunFolder]:
    """Yield the runs that belong together, found by one of them: the leader, then the others by name.

    The configuration of the others has the leader's id as ``tie``. Only heads are read, and runs that cannot
    be opened are skipped.
    """
    directory, leader_id = named.path.parent, named.head.configuration.get(tie)
    leader = RunFolder.open(leader_id, directory) if leader_id else named
    yield leader
    for path in run_paths(directory):
        try:
            folder = RunFolder.at(path)
        except RagEvalError:
            continue
        if folder.head.configuration.get(tie) == leader.head.run_id:
            yield folder


class RunGroup:
    """The runs of an evaluation by dataset; the leader is the first."""

    def __init__(self, leader: RunFolder, *others: RunFolder) -> None:
        self.leader = leader
        self.runs = {run.head.dataset_id: run for run in (leader, *others)}

    @classmethod
    def open(cls, path_or_id: str | Path, runs_directory: Path) -> RunGroup:
        """Find an evaluation by any of its runs, in the runs directory or by path."""
        return cls(*tied_runs(RunFolder.open(path_or_id, runs_directory), "evaluation"))

    @property
    def datasets(self) -> tuple[str, ...]:
        """The datasets of the evaluation, including those not begun."""
        listed = self.leader.head.configuration.get("datasets")
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
            repeats=self.leader.head.repeats,
        )

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that replaced the manifest's, if any did."""
        return tuple(self._selection().get("metrics", ()))

    def _selection(self) -> dict[str, Any]:
        written = self.leader.head.configuration.get("selection")
        if not isinstance(written, dict):
            raise UsageError(f"run {self.leader.head.run_id} was not begun by an evaluation of a manifest")
        return written
