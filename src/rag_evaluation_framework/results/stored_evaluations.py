"""Evaluations that were kept, found by what people call them: runs, results files, baselines, branches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from rag_evaluation_framework.datasets.project_settings import results_directory
from rag_evaluation_framework.datasets.value_files import read_results
from rag_evaluation_framework.errors import RagEvalError, UsageError, counted, shown
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.access import read_bytes
from rag_evaluation_framework.judging.verdict import AnswerCounts
from rag_evaluation_framework.results.baselines import latest_of_branch
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.results_documents import VERDICT_FILE
from rag_evaluation_framework.results.run_folder import (
    DEFAULT_RUNS_DIRECTORY,
    RunFolder,
    labels_file,
    run_paths,
    runs_ending_in,
)
from rag_evaluation_framework.results.run_groups import Summaries, list_runs
from rag_evaluation_framework.results.storage import named_id, results_paths, rows_of_document
from rag_evaluation_framework.results.stored_runs import load, stored_answers
from rag_evaluation_framework.results.verdicts import Verdict


def find_evaluation(
    given: str | Path, *, runs_directory: str | Path = DEFAULT_RUNS_DIRECTORY, datasets: Sequence[str] = ()
) -> Evaluation:
    """Load what a name means: a run by its folder, id or any end of it that only one has; a results file by
    its path, id or end of it; the latest complete run of a branch, on the ``datasets`` if any are given.
    """
    runs, name = Path(runs_directory), str(given)
    if Path(given).is_file() or (Path(given) / "head.json").is_file():
        return open_evaluation(given, runs)
    is_run = (runs / name / "head.json").is_file() or len(runs_ending_in(name, runs)) == 1
    if not is_run and (stored := _stored(name)) is not None:
        return open_evaluation(stored, runs)
    if (place := latest_of_branch(name, runs, datasets)) is not None:
        return open_evaluation(place, runs)
    return open_evaluation(RunFolder.open(given, runs).path, runs)


def latest_evaluations(number: int, *, runs_directory: str | Path) -> list[Evaluation]:
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
        hint = "Name them, as rag-eval compare BEFORE AFTER; which there are: rag-eval runs"
        raise UsageError(f"expected {number} complete runs{of} in {runs_directory}, got {found}.\n  {hint}")
    return [open_evaluation(folder.path, Path(runs_directory)) for folder in same[-number:]]


def open_evaluation(place: str | Path, runs: Path) -> Evaluation:
    """Load a run or a results file."""
    found = load(place, runs_directory=runs)
    if not isinstance(found, Evaluation):
        raise UsageError(f"expected a run or a results file, got the dataset {shown(str(place))}")
    return found


def _stored(name: str) -> Path | None:
    """Return the results file of the project with this id, or the only one whose id ends so."""
    results = results_directory()
    if not results.is_dir() or len(name) < 3:
        return None
    paths = {named_id(path): path for path in results_paths(results)}
    if name in paths:
        return paths[name]
    ended = [path for each, path in paths.items() if each.endswith(f"_{name}")]
    return ended[0] if len(ended) == 1 else None


# What is stored, told from the results documents alone: no run is summed up again.

_SECTIONS = ("retrieval_metrics", "citation_metrics", "answer_quality_metrics")


class StoredResult(msgspec.Struct, frozen=True, kw_only=True):
    """One evaluation that is stored: its figures by metric, its answers by grade, and the gate's word.

    ``answers`` are counted as :class:`~rag_evaluation_framework.judging.verdict.AnswerCounts` writes them.
    ``error`` says why it cannot be read, where it cannot.
    """

    id: str
    path: str
    when: str | None = None
    dataset: str | None = None
    target: str | None = None
    answers: Mapping[str, Any] = {}
    metrics: Mapping[str, float | None] = {}
    verdict: str | None = None
    error: str | None = None


def stored_results(runs_directory: str | Path, *, keep: bool = True) -> list[StoredResult]:
    """Return what is stored in the runs directory and in the project's results, the latest first.

    Of many results the summaries are kept, unless ``keep`` is off.
    """
    runs = [run_path / "results.json" for run_path in run_paths(Path(runs_directory))]
    results, of_runs = results_directory(), {path.parent.name for path in runs if path.is_file()}
    stored = results_paths(results) if results.is_dir() else []
    # What a project keeps of a run is listed with the run, which knows its verdict too.
    stored = [path for path in stored if named_id(path) not in of_runs]
    summaries, labels = Summaries(Path(runs_directory), "results"), labels_file(Path(runs_directory))
    found = [
        summaries.of(
            str(path),
            (path, path.with_name(VERDICT_FILE), labels),
            StoredResult,
            make=partial(_stored_result, path),
        )
        for path in (*runs, *stored)
        if path.is_file()
    ]
    if keep:
        summaries.keep()
    return sorted(found, key=lambda each: (each.when or "", each.id), reverse=True)


def _stored_result(path: Path) -> StoredResult:
    is_run = path.name == "results.json"
    name = path.parent.name if is_run else named_id(path)
    try:
        document = read_results(path)
    except RagEvalError as error:
        return StoredResult(id=name, path=str(path), error=str(error))
    summary = document.get("summary") or {}
    if is_run and "cells" in document:
        return _swept(name, path, document)
    answers, word = stored_answers(path, summary.get("answers"))
    return StoredResult(
        id=str(document.get("evaluation_id") or name),
        path=str(path),
        when=document.get("timestamp"),
        dataset=document.get("dataset_id"),
        target=document.get("system_version") or document.get("target"),
        answers=answers or _decide_answers(document),
        metrics={
            metric: written.get("value")
            for section in _SECTIONS
            for metric, written in (document.get(section) or {}).items()
            if isinstance(written, Mapping) and "n_scored" in written
        },
        verdict=word or (_word(path.with_name(VERDICT_FILE)) if is_run else None),
    )


def _decide_answers(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts of a results document without any: version 1 wrote none."""
    counts = AnswerCounts.of(rows_of_document(dict(document))[1])
    return counts.to_dict() if counts.total else {}


def _swept(name: str, path: Path, document: Mapping[str, Any]) -> StoredResult:
    """Return what is stored of a sweep: the figures are those of the best combination."""
    head = RunFolder.open(path.parent).head
    best: Mapping[str, Any] = next(iter(document["cells"]), {})
    return StoredResult(
        id=name,
        path=str(path),
        when=head.started_at,
        dataset=document.get("dataset_id"),
        target=counted(len(document["cells"]), "combination"),
        metrics={metric: written.get("value") for metric, written in best.get("metrics", {}).items()},
    )


def _word(path: Path) -> str | None:
    """Return the word of a verdict that was kept; ``None`` if there is none."""
    if not path.is_file():
        return None
    try:
        decided = strict_json.decode(read_bytes(path), file=str(path))
        return msgspec.convert(decided["verdict"], Verdict).word
    except (RagEvalError, msgspec.ValidationError, KeyError, TypeError):
        return None
