"""Evaluations that are kept: loaded, found by what people call them, listed, and decided again.

Nothing but the folders is needed: samples, documents, blame and the verdict are kept there. What a folder of
an earlier version does not keep is read from the dataset that its head records, or missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.datasets.project_settings import results_directory
from rag_evaluation_framework.datasets.recognition import read_dataset
from rag_evaluation_framework.datasets.rows import dialect_of_run
from rag_evaluation_framework.datasets.value_files import read_results
from rag_evaluation_framework.errors import (
    InputError,
    RagEvalError,
    UsageError,
    check_format,
    counted,
    invalid,
    shown,
)
from rag_evaluation_framework.extensions import import_on_call
from rag_evaluation_framework.files.access import open_reading, plain_name
from rag_evaluation_framework.judging.verdict import decide_result
from rag_evaluation_framework.records.runs import JudgeUsage, ResourceUsage, RunHead
from rag_evaluation_framework.records.samples import Dataset
from rag_evaluation_framework.results.baselines import latest_of_branch
from rag_evaluation_framework.results.comparison import (
    Comparison,
    MetricComparison,
    as_mapping,
    metric_figures,
)
from rag_evaluation_framework.results.evaluations import Evaluation, evaluation_of_cell, suite
from rag_evaluation_framework.results.gate import Gate
from rag_evaluation_framework.results.journal import Journal, written_entry
from rag_evaluation_framework.results.results_document import (
    SUFFIXES,
    evaluation_of_document,
    named_id,
    readable_results,
    results_paths,
)
from rag_evaluation_framework.results.run_evaluations import (
    VERDICT_FILE,
    evaluation_of_run,
    keep_verdict,
    labels_digest,
    may_concern,
    write_results,
)
from rag_evaluation_framework.results.run_store import (
    CELLS,
    DEFAULT_RUNS_DIRECTORY,
    RESULTS_NAME,
    RunFolder,
    RunGroup,
    is_results_of_run,
    is_run,
    labels_beside,
    read_object,
    run_paths,
    runs_ending_in,
    runs_in,
    start_time,
)
from rag_evaluation_framework.results.summaries import PERFORMANCE, Counts, Performance
from rag_evaluation_framework.results.verdicts import Regressions, Threshold, Verdict, written_thresholds

_merge_rankings: Callable[..., Evaluation] = import_on_call(
    "rag_evaluation_framework.results.rankings:merge_rankings"
)


def load(
    place: str | Path,
    *,
    dataset: str | Path | None = None,
    runs_directory: str | Path = DEFAULT_RUNS_DIRECTORY,
    map: Mapping[str, str | None] | None = None,  # noqa: A002  # as the door calls it
) -> Evaluation | Dataset:
    """Return a stored run, a results file or a dataset.

    Args:
        place: The folder or the id of a run, a results file, or the path of a dataset.
        dataset: The dataset of the run; by default the samples in its folder.
        runs_directory: Folder of the runs, for ids.
        map: Fields of plain rows by the part of a sample; by default they are guessed.

    Returns:
        An evaluation, with the other datasets of its run; or a dataset.

    Raises:
        InputError: The file is wrong; the error has every problem.
        UsageError: There is no such run or file.

    Example:
        >>> from rag_evaluation_framework import evaluate, load, save
        >>> rows = [{"question": "What is 2 + 2?", "answer": "4", "reference": "4"}]
        >>> path = save(evaluate(rows, metrics=["exact_match"]), "sums.results.json")
        >>> load(path).metrics["exact_match"].value
        1.0
    """
    path = Path(place)
    if is_results_of_run(path):
        return _part_of(load_run(RunFolder.at(path.parent), dataset), path.parent)
    if is_run(path) or is_run(Path(runs_directory) / path):
        return load_run(RunFolder.open(place, runs_directory), dataset)
    if path.is_file() and plain_name(path).endswith(".json") and (ranking := _ranking(path)):
        return ranking
    if path.name.endswith((*SUFFIXES, RESULTS_NAME)):
        return evaluation_of_document(readable_results(path))
    if path.exists():
        return read_dataset(path, map=map)
    raise UsageError(
        f"expected a run, a results file or a dataset, got {shown(str(place))}, which is not there"
    )


def _ranking(path: Path) -> Evaluation | None:
    """Load what ``rank --out`` wrote, if a file begins like that."""
    with open_reading(path) as stream:
        if not b"".join(stream.read(64).split()).startswith(b'{"rules":'):
            return None
    document = read_results(path)
    try:
        return _merge_rankings([document], head=RunHead(**document["head"]))
    except (AttributeError, KeyError, StopIteration, TypeError, ValueError):
        expected = "ranked runs with the scores of every query, as rank --out writes them"
        raise invalid("", expected, list(document)).located(str(path)) from None


def load_run(folder: RunFolder, dataset: str | Path | None = None) -> Evaluation:
    """Sum up a run on the disk, or all runs of its evaluation; a sweep has its cells as parts."""
    if CELLS in folder.head.configuration:
        return _sweep(folder)
    if "selection" not in folder.head.configuration:
        return _one_run(folder, {}, dataset)
    group = RunGroup.open(folder.path, folder.path.parent)
    decided = read_object(group.leader.path / VERDICT_FILE)
    single = dataset if len(group.runs) == 1 else None
    parts = {name: _one_run(run, decided, single) for name, run in group.runs.items()}
    return _suite(group, parts, decided)


def stored_answers(path: Path, known: Any) -> tuple[Mapping[str, Any] | None, str | None]:
    """Return the counts of the answers of a results file, with the labels of today, and its gate's word.

    The counts are those that are ``known`` and the word is ``None`` where labels change nothing.
    """
    folder, counts = path.parent, known if isinstance(known, Mapping) else None
    is_of_run = is_results_of_run(path)
    is_labeled = counts is not None and bool(as_mapping(counts.get("by")).get("person"))
    labels = labels_beside(folder.parent if is_of_run else None)
    if not is_labeled and (not labels or (is_of_run and not may_concern(labels, folder))):
        return counts, None
    if not is_of_run:
        return evaluation_of_document(readable_results(path)).answers.to_dict(), None
    evaluation = load_run(RunFolder.at(folder))
    word = None if evaluation.verdict is None else evaluation.verdict.word
    return _part_of(evaluation, folder).answers.to_dict(), word


def _part_of(evaluation: Evaluation, folder: Path) -> Evaluation:
    """Return the run of an evaluation that is kept in a folder; of a single one the whole."""
    parts = evaluation.runs if len(evaluation.runs) > 1 and evaluation.kind != "systems" else ()
    return next((part for part in parts if part.folder == folder), evaluation)


def redecide(folder: RunFolder) -> tuple[Evaluation, Evaluation]:
    """Decide the answers of a run again by the present rules; return its evaluation before and after.

    Verdicts that changed are appended to the journal, and the gate decides again as it did.
    """
    if CELLS in folder.head.configuration:
        raise UsageError(f"{folder.head.run_id} is a sweep: it has no answers to decide")
    before = load_run(folder)
    for run in before.runs:
        if run.folder is not None:
            _append_verdicts(RunFolder.at(run.folder))
    after = load_run(folder)
    if before.verdict is not None:
        after = decide_gate_again(replace(after, verdict=before.verdict))
        keep_verdict(after)
    for run in after.runs:
        if run.outcome.completed:
            write_results(replace(run, performance=_performance_of(run)))
    return before, after


def _performance_of(run: Evaluation) -> Performance:
    """Return what a complete run took, and what only its results tell: memory, processor, the judge."""
    told = {} if run.folder is None else as_mapping(RunFolder.at(run.folder).document().get(PERFORMANCE))
    resources = told.get("resource_usage")
    return replace(
        run.performance,
        resources=resources and msgspec.convert({"memory_mb": None, **resources}, ResourceUsage),
        judge_usage=msgspec.convert(told.get("judge_usage"), JudgeUsage | None),
    )


def _append_verdicts(folder: RunFolder) -> None:
    index = folder.index()
    if index.problems:
        raise InputError(index.problems)
    with folder.lock():
        journal = Journal(folder.journal_path, end=index.end)
        try:
            for entry, sample in folder.answers():
                verdict = decide_result(sample, entry.result)
                if verdict != entry.verdict:
                    journal.append(written_entry(replace(entry, verdict=verdict))[0])
        finally:
            journal.close()
        folder.finish()


def _one_run(folder: RunFolder, decided: Mapping[str, Any], dataset: str | Path | None) -> Evaluation:
    counts, configuration = folder.counts, folder.head.configuration
    about = as_mapping(as_mapping(decided.get("parts")).get(folder.head.dataset_id))
    return evaluation_of_run(
        folder,
        samples=None
        if dataset is None
        else partial(dialect_of_run(configuration, dataset).stream, Path(dataset)),
        thresholds=written_thresholds(configuration),
        outcome=counts.outcome,
        kind="golden" if "golden" in configuration else "answers",
        total=counts.total,
        metrics=tuple(as_mapping(configuration.get("metrics"))),
        directions=as_mapping(about.get("directions")),
        unmeasured=as_mapping(about.get("unmeasured")),
        target=decided.get("target") or folder.head.target,
    )


def _suite(group: RunGroup, parts: Mapping[str, Evaluation], decided: Mapping[str, Any]) -> Evaluation:
    """Return the runs of an evaluation as one; of a single dataset its figures are those of the whole."""
    try:
        verdict = msgspec.convert(decided.get("verdict"), Verdict | None)
        moved = _regressions(decided.get("regressions"))
        left_out = msgspec.convert(decided.get("left_out", ()), tuple[Threshold, ...])
    except msgspec.ValidationError as error:
        raise invalid("", "what an evaluation decided", str(error)).located(
            str(group.leader.path / VERDICT_FILE)
        ) from None
    is_whole = all(part.outcome.completed for part in parts.values())
    evaluation = suite(
        group.leader.head,
        parts,
        kind=decided.get("kind", "suite"),
        parts_are=decided.get("parts_are", "datasets"),
        verdict=replace(verdict, regressions=moved) if verdict is not None and is_whole else None,
        regressions=moved,
        warnings=tuple(decided.get("warnings", ())),
        left_out=left_out,
        target=decided.get("target") or group.leader.head.target,
        missing=tuple(decided.get("missing", ())),
        folder=group.leader.path,
    )
    is_as_decided = decided.get("labels", "") == labels_digest(evaluation)
    return evaluation if is_as_decided else decide_gate_again(evaluation)


def decide_gate_again(evaluation: Evaluation) -> Evaluation:
    """Return an evaluation whose gate decides as it did, by the verdicts that its answers have now."""
    moved, verdict = evaluation.regressions, evaluation.verdict
    if moved is not None:
        verdicts = {
            (name, row.id): row.verdict for name, run in evaluation.named_runs.items() for row in run.rows
        }
        correct = {key for key, found in verdicts.items() if found is not None and found.is_correct}
        worse, unconfirmed = (
            tuple(each for each in names if each not in correct) for names in (moved.worse, moved.unconfirmed)
        )
        moved = replace(moved, worse=worse, unconfirmed=unconfirmed)
        is_over = not (worse or unconfirmed or moved.better) and moved.word != "not evaluated"
        moved = replace(moved, word="no worse") if is_over else moved.settled()
        evaluation = replace(evaluation, regressions=moved)
    if verdict is None:
        return evaluation
    return replace(evaluation, verdict=Gate.of_verdict(verdict).decide(evaluation))


def _regressions(written: Any) -> Regressions | None:
    if written is None:
        return None
    answers = {(dataset, sample): text for dataset, sample, text in written["answers"]}
    return replace(msgspec.convert({**written, "answers": {}}, Regressions), answers=answers)


def _sweep(group: RunFolder) -> Evaluation:
    document = group.document()
    intervals = group.head.configuration.get("intervals", {})
    found = [evaluation_of_cell(RunFolder.at(path), intervals) for path in group.cells()]
    if not found:
        raise UsageError(f"expected a sweep with a cell that was begun, got {group.head.run_id} without any")
    named = {str(part.head.target): part for part in found}
    ranked = [cell["name"] for cell in document.get("cells", ()) if cell.get("name") in named]
    parts = {name: named[name] for name in dict.fromkeys([*ranked, *named])}
    done = sum(part.counts.finished for part in found)
    total = int(group.head.configuration.get("samples", 0)) * len(group.head.configuration[CELLS])
    failed = sum(part.counts.failed for part in found)
    first = next(iter(parts.values()))
    return Evaluation(
        kind="systems",
        head=group.head,
        metrics=first.metrics,
        counts=Counts(total=total, finished=done, failed=failed, errors=failed),
        outcome=group.counts.outcome,
        parts=parts,
        parts_are="systems",
        comparison=_compared(document, str(first.head.target)),
        performance=Performance({name: document[name] for name in ("spent_usd",) if name in document}),
        folder=group.path,
        document=document or None,
    )


def _compared(document: Mapping[str, Any], baseline: str) -> Comparison | None:
    try:
        tests = [msgspec.convert(dict(each), MetricComparison) for each in document.get("comparisons", ())]
    except (msgspec.ValidationError, AttributeError) as error:
        raise invalid("comparisons", "the tests of a sweep", str(error)) from None
    contenders = tuple(each.contender for each in tests)
    return Comparison(baseline=baseline, contenders=contenders, metrics=tuple(tests)) if tests else None


def find_evaluation(
    given: str | Path, *, runs_directory: str | Path = DEFAULT_RUNS_DIRECTORY, datasets: Sequence[str] = ()
) -> Evaluation:
    """Load what a name means: a run by its folder, id or any end of it that only one has; a results file by
    its path, id or end of it; the latest complete run of a branch, on the ``datasets`` if any are given.
    """
    runs, name = Path(runs_directory), str(given)
    if Path(given).is_file() or is_run(Path(given)):
        return open_evaluation(given, runs)
    is_named = is_run(runs / name) or len(runs_ending_in(name, runs)) == 1
    place = (None if is_named else _stored(name)) or latest_of_branch(name, runs, datasets)
    return open_evaluation(place or RunFolder.open(given, runs).path, runs)


def latest_evaluations(number: int, *, runs_directory: str | Path) -> list[Evaluation]:
    """Load the latest complete run and those before it over the same dataset, the earliest first."""
    led = (each for each in runs_in(Path(runs_directory)) if "evaluation" not in each.head.configuration)
    begun = sorted((each for each in led if each.state == "complete"), key=start_time)
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


def stored_results(runs_directory: str | Path) -> list[StoredResult]:
    """Return what is stored in the runs directory and in the project's results, the latest first."""
    runs = [path for each in run_paths(Path(runs_directory)) if (path := each / RESULTS_NAME).is_file()]
    results, of_runs = results_directory(), {path.parent.name for path in runs}
    stored = results_paths(results) if results.is_dir() else []
    # What a project keeps of a run is listed with the run, which knows its verdict too.
    stored = [path for path in stored if named_id(path) not in of_runs]
    found = map(_stored_result, (*runs, *stored))
    return sorted(found, key=lambda each: (each.when or "", each.id), reverse=True)


def _stored_result(path: Path) -> StoredResult:
    is_of_run = path.name == RESULTS_NAME
    name = path.parent.name if is_of_run else named_id(path)
    try:
        document = read_results(path)
        check_format(as_mapping(document.get("metadata")).get("format_version"), path)
    except RagEvalError as error:
        return StoredResult(id=name, path=str(path), error=str(error))
    summary = document.get("summary") or {}
    if is_of_run and "cells" in document:
        return _swept(name, path, document)
    answers, word = stored_answers(path, summary.get("answers"))
    return StoredResult(
        id=str(document.get("evaluation_id") or name),
        path=str(path),
        when=document.get("timestamp"),
        dataset=document.get("dataset_id"),
        target=document.get("system_version") or document.get("target"),
        answers=answers or _decide_answers(document),
        metrics={name: each.get("value") for name, each in metric_figures(document) if "n_scored" in each},
        verdict=word or (_word(path.with_name(VERDICT_FILE)) if is_of_run else None),
    )


def _decide_answers(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts of a results document without any: version 1 wrote none."""
    counts = evaluation_of_document(document).answers
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
    try:
        return msgspec.convert(read_object(path)["verdict"], Verdict).word
    except (RagEvalError, msgspec.ValidationError, KeyError, TypeError):
        return None
