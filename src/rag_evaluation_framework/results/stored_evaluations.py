"""Evaluations that were kept, found by what people call them: runs, results files, baselines, branches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rag_evaluation_framework.errors import UsageError, counted, shown
from rag_evaluation_framework.results.baselines import RESULTS_DIRECTORY, latest_of_branch
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.run_folder import DEFAULT_RUNS_DIRECTORY, RunFolder
from rag_evaluation_framework.results.run_groups import list_runs
from rag_evaluation_framework.results.storage import named_id, results_paths
from rag_evaluation_framework.results.stored_runs import load


def find_evaluation(
    given: str | Path,
    *,
    runs_directory: str | Path = DEFAULT_RUNS_DIRECTORY,
    datasets: Sequence[str] = (),
) -> Evaluation:
    """Load what a name means: a run by its folder, id or any end of it that only one has; a results file by
    its path, id or end of it; the latest complete run of a branch, on the ``datasets`` if any are given.
    """
    runs, name = Path(runs_directory), str(given)
    if Path(given).is_file() or (Path(given) / "head.json").is_file():
        return _evaluation(given, runs)
    if (stored := _stored(name)) is not None and not (runs / name / "head.json").is_file():
        return _evaluation(stored, runs)
    if (place := latest_of_branch(name, runs, datasets)) is not None:
        return _evaluation(place, runs)
    return _evaluation(RunFolder.open(given, runs).path, runs)


def latest_evaluations(
    number: int, *, runs_directory: str | Path = DEFAULT_RUNS_DIRECTORY
) -> list[Evaluation]:
    """Load the latest complete run and those before it over the same dataset, the earliest first."""
    begun = [
        each.folder
        for each in list_runs(runs_directory)
        if each.folder is not None
        and each.state == "complete"
        and "evaluation" not in each.folder.head.configuration
    ]
    begun.sort(key=lambda folder: (folder.head.started_at or "", folder.head.run_id))
    same = [folder for folder in begun if folder.head.dataset_id == begun[-1].head.dataset_id]
    if len(same) < number:
        of = f" of {same[0].head.dataset_id}" if same else ""
        found = counted(len(same), "complete run")
        raise UsageError(f"expected {number} complete runs{of} in {runs_directory}, got {found}")
    return [_evaluation(folder.path, Path(runs_directory)) for folder in same[-number:]]


def _evaluation(place: str | Path, runs: Path) -> Evaluation:
    found = load(place, runs_directory=runs)
    if not isinstance(found, Evaluation):
        raise UsageError(f"expected a run or a results file, got the dataset {shown(str(place))}")
    return found


def _stored(name: str) -> Path | None:
    """Return the results file of the project with this id, or the only one whose id ends so."""
    if not RESULTS_DIRECTORY.is_dir() or len(name) < 3:
        return None
    paths = {named_id(path): path for path in results_paths(RESULTS_DIRECTORY)}
    if name in paths:
        return paths[name]
    ended = [path for each, path in paths.items() if each.endswith(f"_{name}")]
    return ended[0] if len(ended) == 1 else None
