"""Runs in a directory: listed with their states, and those of one evaluation found by any of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.errors import InputError, RagEvalError, StorageError, UsageError
from rag_evaluation_framework.records.runs import RunCounts, RunHead, SampleChoice
from rag_evaluation_framework.records.samples import RECORDED_ROWS
from rag_evaluation_framework.results.run_figures import read_figures
from rag_evaluation_framework.results.run_folder import (
    CELLS,
    DEFAULT_RUNS_DIRECTORY,
    RunFolder,
    RunState,
    run_paths,
)

# The runs of a directory, and how far each is.


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """How far a run is, from its journal: samples done and failed, of how many; what a resume would do again.

    ``error`` says what is wrong with a broken one, of which the counts may be unknown.
    """

    state: RunState
    counts: RunCounts | None = None
    error: str | None = None


class ListedRun(msgspec.Struct, frozen=True):
    """A run in a directory; one that cannot be opened has no folder, and its summary the reason."""

    path: Path
    summary: RunSummary
    folder: RunFolder | None = None

    @property
    def state(self) -> RunState:
        return self.summary.state

    @property
    def is_resumable(self) -> bool:
        """Whether a resume has something left to do."""
        counts = self.summary.counts
        has_more = counts is not None and bool(counts.rescorable or counts.reaskable)
        return self.state in ("incomplete", "broken") or (self.state == "complete" and has_more)


def list_runs(runs_directory: str | Path = DEFAULT_RUNS_DIRECTORY) -> list[ListedRun]:
    """Return the runs of a directory by name; a directory that does not exist has none."""
    found = []
    for path in run_paths(Path(runs_directory)):
        try:
            folder = RunFolder.at(path)
            found.append(ListedRun(path, _summary(folder), folder))
        except RagEvalError as error:
            found.append(ListedRun(path, RunSummary(state="broken", error=str(error))))
    return found


def _summary(folder: RunFolder) -> RunSummary:
    if folder.owner is not None:
        return replace(_summed_up(folder), state="running")
    figures = read_figures(folder.path)
    return _summed_up(folder) if figures is None else RunSummary(state="complete", counts=figures[0].counts)


def _summed_up(folder: RunFolder) -> RunSummary:
    """Read the journal of a run."""
    try:
        index = folder.index()
    except (InputError, StorageError) as error:
        return RunSummary(state="broken", error=str(error))
    wrong = "; ".join(map(str, index.problems)) or None
    return RunSummary(state=folder.state_by(index), counts=index.counts, error=wrong)


def latest_run(runs_directory: str | Path = DEFAULT_RUNS_DIRECTORY) -> RunFolder:
    """Open the run that began last; one that belongs to another's evaluation is found by that."""
    begun = [each for each in list_runs(runs_directory) if each.folder is not None]
    if not begun:
        raise UsageError(f"expected a run, got none, and there is none in {runs_directory}")
    return _latest(begun)


_COMMANDS = {"golden": "golden", "models": "evaluate-models", CELLS: "retrieval", "generation": "generate"}


def command_of(head: RunHead) -> str:
    """Return the command that begins such runs."""
    usual = "score" if head.target == RECORDED_ROWS else "evaluate"
    return next((command for field, command in _COMMANDS.items() if field in head.configuration), usual)


def latest_resumable(command: str, runs_directory: Path) -> RunFolder:
    """Open the latest run of a command with something left to do; without any, its latest."""
    same = [run for run in list_runs(runs_directory) if run.folder and command_of(run.folder.head) == command]
    if not same:
        raise UsageError(f"--resume: there is no run in {runs_directory} that rag-eval {command} has begun")
    return _latest([run for run in same if run.is_resumable] or same)


def _latest(runs: Sequence[ListedRun]) -> RunFolder:
    begun = [each.folder for each in runs if each.folder is not None]
    last = max(begun, key=lambda folder: (folder.head.started_at or "", folder.head.run_id))
    leader = last.head.configuration.get("evaluation")
    return last if not isinstance(leader, str) else RunFolder.open(leader, last.path.parent)


def tied_runs(named: RunFolder, tie: str) -> Iterator[RunFolder]:
    """Yield the runs that belong together, found by one of them: the leader, then the others by name.

    The configuration of the others has the leader's id as ``tie``. Only heads are read, and runs that cannot
    be opened are skipped.
    """
    directory, leader_id = named.path.parent, named.head.configuration.get(tie)
    leader = RunFolder.open(leader_id, directory) if leader_id else named
    yield leader
    if tie == "evaluation" and len(leader.head.configuration.get("datasets", ())) == 1:
        return
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


# The runs of one evaluation: one a dataset, tied together, so that one id resumes or compares them all. The
# first run leads: its head lists the datasets and how their samples were chosen, and those of the others name
# the leader.

RESULTS_FILE = "golden.results.json"
"""The name of the results of all splits in the folder of the first run of golden sets."""


def group_fields(
    choice: SampleChoice,
    *,
    datasets: tuple[str, ...],
    chosen: tuple[str, ...] = (),
    metrics: tuple[str, ...] = (),
    leader: RunHead | None = None,
) -> dict[str, Any]:
    """Return the fields of a head's configuration by which the runs of an evaluation are found again, and
    the datasets that were ``chosen`` by name.
    """
    selection = {
        **({"datasets": list(chosen)} if chosen else {}),
        "tags": list(choice.tags),
        "sample_size": choice.sample_size,
        "allow_missing": choice.allow_missing,
        "metrics": list(metrics),
        **({"repeats": choice.repeats} if choice.repeats > 1 else {}),
    }
    fields: dict[str, Any] = {"datasets": list(datasets), "selection": selection}
    return fields if leader is None else {**fields, "evaluation": leader.run_id}
