"""A baseline: an earlier run, results file or evaluation, found by id, path or branch, read sample by sample.

Samples pair as ``pairing`` says. Scores by other methods are refused, and times
are left out: they differ between two runs of the same system.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.datasets.project_settings import results_directory
from rag_evaluation_framework.errors import RagEvalError, UsageError, refused, shown
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.access import plain_name, read_bytes
from rag_evaluation_framework.files.atomic import write_bytes_atomically
from rag_evaluation_framework.judging.verdict import UNSTABLE, AnswerCounts
from rag_evaluation_framework.records.runs import RunHead, RunOutcome
from rag_evaluation_framework.records.samples import REFERENCE_HASH, hash_of_references
from rag_evaluation_framework.records.scores import CHEAP_SCORE, TIMING_METHOD
from rag_evaluation_framework.results.comparison import metric_sections
from rag_evaluation_framework.results.evaluations import Evaluation, Row, Rows
from rag_evaluation_framework.results.movements import digits_of
from rag_evaluation_framework.results.paired_answers import Demand, PairedAnswers
from rag_evaluation_framework.results.pairing import is_left_out
from rag_evaluation_framework.results.regressions import regressions
from rag_evaluation_framework.results.results_document import (
    evaluation_of_document,
    readable_results,
    results_document,
)
from rag_evaluation_framework.results.run_evaluations import RunRows
from rag_evaluation_framework.results.run_store import (
    ASKINGS_FILE,
    UNSTABLE_FILE,
    RunFolder,
    RunGroup,
    is_results_of_run,
    no_such_run,
    read_value,
    runs_ending_in,
    runs_in,
    start_time,
    tied_runs,
)
from rag_evaluation_framework.results.summaries import PERFORMANCE, RELIABILITY, Counts, Performance
from rag_evaluation_framework.results.verdicts import Regressions, Threshold

SAVED = "baseline_"
"""The prefix of the names of results that were saved as a baseline."""

_RESULTS = (".results.json", ".results.yaml", ".results.yml", "results.json")
_UNKNOWN = "unknown"
_SHOWN_ANSWERS = 20


class ScoredBy(Protocol):
    """The parts of a metric that are compared: its name, its method, and which way is better."""

    @property
    def name(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def higher_is_better(self) -> bool: ...


class Baseline(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The side that a run is compared with: the runs of an evaluation by dataset, and their name."""

    name: str
    runs: Mapping[str, Evaluation]

    def run_of(self, dataset: str) -> Evaluation:
        """Return the run of a dataset."""
        if dataset not in self.runs:
            known = ", ".join(self.runs)
            raise UsageError(f"baseline: expected a run of dataset {dataset}, got runs of {known}")
        return self.runs[dataset]

    def check_scored_by(self, dataset: str, scorers: Iterable[ScoredBy]) -> None:
        """Raise :class:`UsageError` if the baseline was not scored by one of these, or in another way."""
        run = self.run_of(dataset)
        name = run.head.run_id
        methods: dict[str, set[str]] = {}
        for row in run.rows:
            for score in row.scores:
                methods.setdefault(score.metric, set()).add(score.method)
        for scorer in scorers:
            then = methods.get(scorer.name)
            if then is None:
                raise UsageError(
                    f"baseline {name} was not scored with {scorer.name}; run rag-eval score first"
                )
            if scorer.method not in then and then != {_UNKNOWN}:
                found = " and ".join(sorted(then))
                raise UsageError(f"baseline {name} has {scorer.name} by {found}, this run by {scorer.method}")

    def pair_with(self, run: Evaluation, demanded: Mapping[str, Demand]) -> PairedAnswers:
        """Pair a run with the baseline; ``demanded`` has of each of its datasets what it is compared by."""
        first = next(iter(self.runs.values()))
        return PairedAnswers(replace(first, parts=self.runs, document=None), run, demanded)


def compared(baseline: Baseline, both: PairedAnswers, *, head: RunHead, seed: int = 0) -> Regressions:
    """Compare all datasets of a run with the baseline.

    ``head`` is that of the run, which says whether it was narrowed to some datasets.
    """
    found = regressions(baseline.name, both, seed=seed)
    names = both.demands.keys()
    others = [
        number
        for dataset, here in both.questions.items()
        if dataset not in names and is_left_out(head, dataset)
        for number in range(here.start, here.stop)
        if both.old.is_there[number]
    ]
    labels = both.labels(others)
    left_out = [(both.names[number][0], labels[number]) for number in others]
    runs = baseline.runs
    first = next(iter(runs.values()), None) if len(runs) == len(names) == 1 else None
    reliability = {
        name: run.performance.figures[RELIABILITY]
        for name in sorted(names)
        if (run := first or runs.get(name)) is not None and RELIABILITY in run.performance.figures
    }
    return replace(found, left_out=(*found.left_out, *left_out), reliability=reliability)


def with_old_answers(moved: Regressions, both: PairedAnswers) -> Regressions:
    """Return regressions with what the first questions that got worse were answered in the baseline."""
    numbers = {name: number for number, name in enumerate(both.names)}
    wanted = [numbers[name] for name in moved.worse[:_SHOWN_ANSWERS]]
    answers = {both.names[number]: row.response.text or "" for number, _, row in both.old.read(wanted)}
    return replace(moved, answers=answers)


def demand_of(scorers: Sequence[ScoredBy], thresholds: Sequence[Threshold]) -> Demand:
    """Return what a dataset is compared with a baseline by: the gated metrics and the first, and bounds."""
    timeless = [scorer for scorer in scorers if scorer.method != TIMING_METHOD]
    names = {scorer.name for scorer in timeless}
    bounds = [threshold for threshold in thresholds if threshold.metric in names]
    gated = {threshold.metric for threshold in bounds}
    used = [each for place, each in enumerate(timeless) if place == 0 or each.name in gated]
    return Demand({each.name: each.higher_is_better for each in used}, bounds)


# Where a baseline is found.


def open_baseline(
    given: str | Path | Evaluation, *, runs_directory: Path, datasets: Sequence[str]
) -> Baseline:
    """Open a run by id or path, a results file, an evaluation, or the latest of a branch on the datasets."""
    if isinstance(given, Evaluation):
        parts = given.parts.values() if given.parts and given.document is None else (given,)
        runs = {run.head.dataset_id: run for part in parts for run in _of_evaluation(part)}
        return Baseline(name=given.head.run_id, runs=runs)
    path = Path(given)
    if is_results_of_run(path):
        given = path = path.parent
    if path.is_file() and plain_name(path).endswith(_RESULTS):
        return baseline_of_file(path)
    for folder in (runs_directory / path, path):
        if (folder / "head.json").is_file():
            return _of_group(RunGroup.open(given, runs_directory))
    if path.exists():
        RunFolder.open(given, runs_directory)  # says what it is that is not a run
    place = latest_of_branch(str(given), runs_directory, datasets)
    if place is None and runs_ending_in(str(given), runs_directory):
        return _of_group(RunGroup.open(given, runs_directory))
    if place is None:
        nor = f", nor a results file or branch of that name with a complete run of {', '.join(datasets)}"
        raise no_such_run(given, runs_directory, nor=nor)
    return baseline_of_file(place) if place.is_file() else _of_group(RunGroup.open(place, runs_directory))


def _of_group(group: RunGroup) -> Baseline:
    for folder in group.runs.values():
        if folder.state != "complete":
            raise UsageError(f"baseline {folder.head.run_id} is {folder.state}: expected a complete run")
    runs = {name: _of_folder(folder) for name, folder in group.runs.items()}
    return Baseline(name=group.leader.head.run_id, runs=runs)


def _run(
    head: RunHead, rows: Rows, unstable: Iterable[str], reliability: Mapping[str, Any] | None, **more: Any
) -> Evaluation:
    """Return a run that is read and not summed up."""
    return Evaluation(
        kind="answers",
        head=head,
        metrics={},
        outcome=RunOutcome(completed=True, interrupted=False, done=0, failed=0, remaining=0),
        performance=Performance({} if reliability is None else {RELIABILITY: reliability}),
        answers=AnswerCounts().with_unstable(unstable),
        read_rows=rows,
        **more,
    )


def _of_folder(folder: RunFolder) -> Evaluation:
    rows = RunRows(folder, None, None, is_blamed=False)
    counts = Counts(total=0, finished=0)
    reliability = (folder.document().get(PERFORMANCE) or {}).get(RELIABILITY)
    unstable = read_value(folder.path / UNSTABLE_FILE, frozenset[str]) or ()
    return _run(folder.head, rows, unstable, reliability, folder=folder.path, counts=counts)


def _of_evaluation(part: Evaluation) -> Iterator[Evaluation]:
    if not part.outcome.completed:
        raise UsageError(f"baseline {part.head.run_id} is incomplete: expected a complete run")
    if part.document is not None:
        yield from _of_document(part.document)
    elif part.folder is not None and (part.folder / "head.json").is_file():
        yield _of_folder(RunFolder.open(part.folder))
    else:
        yield part


def baseline_of_file(path: Path) -> Baseline:
    """Return the baseline in a results file."""
    runs = list(_of_document(readable_results(path)))
    is_saved = path.name.startswith(SAVED)
    name = path.name.removeprefix(SAVED).removesuffix(".results.json") if is_saved else path.name
    return Baseline(name=name, runs={run.head.dataset_id: run for run in runs})


def _of_document(document: Mapping[str, Any]) -> Iterator[Evaluation]:
    """Yield the runs in a results document: one, or one for each of its splits."""
    whole = evaluation_of_document(document)
    head, rows = whole.head, whole.rows
    unstable = [*((document.get("summary") or {}).get("answers") or {}).get("unstable", ())]
    unstable += [name for name, digits in _askings_in(document).items() if {*digits} == {"0", "1"}]
    own = (document.get(PERFORMANCE) or {}).get(RELIABILITY)
    reliability = document.get(RELIABILITY) or {head.dataset_id: own}
    by_split: dict[str | None, list[Row]] = {}
    for row in rows:
        by_split.setdefault(row.split, []).append(row)
    for split, members in by_split.items():
        prefix = "" if split is None else f"{split}/"
        named = [
            replace(row, result=replace(row.result, sample_id=row.id.removeprefix(prefix))) for row in members
        ]
        yield _run(
            head if split is None else replace(head, dataset_id=split),
            lambda named=named: named,  # type: ignore[misc]
            [each.removeprefix(prefix) for each in unstable],
            reliability.get(head.dataset_id if split is None else split),
            counts=Counts(total=len(named), finished=len(named)),
            document=document,
        )


class _Configured(msgspec.Struct):
    branch: str | None = None


class _Listed(msgspec.Struct):
    """The fields that show whether a results file is of a branch; the rest is not decoded."""

    dataset_id: str | None = None
    timestamp: str = ""
    configuration: _Configured = msgspec.field(default_factory=_Configured)


def latest_of_branch(name: str, runs_directory: Path, datasets: Sequence[str]) -> Path | None:
    """Return the folder or file of the latest complete run or results of a branch with all the datasets."""
    found: list[tuple[tuple[str, str], Path]] = []
    for folder in runs_in(runs_directory):
        configuration = folder.head.configuration
        if configuration.get("branch") != name or "evaluation" in configuration:  # another run leads it
            continue
        group = RunGroup(*tied_runs(folder, "evaluation"))
        if set(datasets) <= group.runs.keys() and all(run.state == "complete" for run in group.runs.values()):
            found.append((start_time(folder), folder.path))
    results = results_directory()
    paths = sorted(results.glob("*.results.json")) if results.is_dir() else []
    for path in paths:
        try:
            head = msgspec.json.decode(read_bytes(path), type=_Listed)
        except (msgspec.DecodeError, UnicodeDecodeError, RagEvalError):  # not a results file of ours
            continue
        if head.configuration.branch == name or path.name == f"{SAVED}{name}.results.json":
            found.append(((head.timestamp, path.name), path))
    for _, path in sorted(found, reverse=True):
        if path.is_dir() or set(datasets) <= baseline_of_file(path).runs.keys():
            return path
    return None


# What is kept of an evaluation for later ones to be compared with.

_ASKINGS = "earlier_askings"
ON_RECORD = 20
"""The number of earlier askings of a question that a baseline keeps."""
_TEXTS = ("query_id", "query_text", REFERENCE_HASH, "generated_answer", "error", "split")
_OF_A_QUERY = (
    *_TEXTS,
    "expects_refusal",
    _ASKINGS,
    "verdict",
    "individual_metrics",
    "unscored_metrics",
    "metric_details",
)


def baseline_path(name: str) -> Path:
    """Return where a baseline of this name is kept; raise for one that could not be a file's."""
    if not re.fullmatch(r"\w[\w.+-]{0,99}", name):
        expected = "a name of letters, digits, '_', '-', '+' and '.'"
        raise UsageError(f"baseline to save: expected {expected}, got {shown(name)}")
    return results_directory() / f"{SAVED}{name}.results.json"


def save_baseline(evaluation: Evaluation, name: str) -> Path:
    """Write what a later run is compared with: questions, answers and verdicts, no references or contexts.

    Of each question it has the earlier askings on record, which the last baseline of this name knew.
    """
    path = baseline_path(name)
    document = _baseline_document(evaluation, earlier_askings(path, evaluation))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refused("write", path.parent, error) from error
    write_bytes_atomically(path, strict_json.encode(document, indent=2) + b"\n")
    return path


def earlier_askings(path: Path, evaluation: Evaluation) -> dict[tuple[str, str], str]:
    """Return by dataset and id a digit for each earlier asking of a question: 1 if its answer was correct.

    They are those of the last baseline at a path and those of asking again. What was never correct and then
    is was mended: its record begins anew. So does that of a question that expects another answer now.
    """
    found = {
        (part.name, name): digits for part in evaluation.runs for name, digits in _askings_of(part).items()
    }
    try:
        baseline = baseline_of_file(path)
    except RagEvalError:  # there is none, or it cannot be read and is replaced
        return found
    both = baseline.pair_with(evaluation, {})
    if both.are_other:
        return found
    known = _askings_in(next(iter(baseline.runs.values())).document or {})
    is_same = {run.head.run_id for run in baseline.runs.values()} == {evaluation.head.run_id}
    columns, old = both.old.columns, both.old
    for (dataset, id_), number in zip(columns.keys, both.number_of_key[0], strict=True):
        name = both.names[number]
        if not both.new.is_there[number] or number in both.edited[dataset]:
            continue
        verdicts = old.verdicts(number)
        earlier = known.get(f"{dataset}/{id_}") or known.get(id_, "0" if UNSTABLE in verdicts else "")
        if not is_same:
            own = digits_of(each for each in verdicts if each != UNSTABLE)
            earlier = (earlier + own).lstrip("0") + found.get(name, "")
        found[name] = earlier[-ON_RECORD:]
    return found


def _askings_of(part: Evaluation) -> dict[str, str]:
    return (part.folder and read_value(part.folder / ASKINGS_FILE, dict[str, str])) or {}


def _askings_in(document: Mapping[str, Any]) -> dict[str, str]:
    queries = document.get("query_results") or ()
    return {each["query_id"]: each[_ASKINGS] for each in queries if each.get(_ASKINGS)}


def _baseline_document(evaluation: Evaluation, askings: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """Return a results document of few words; several datasets are its splits."""
    parts = evaluation.runs
    if evaluation.document is not None or len(parts) == 1:
        documents = [results_document(evaluation if evaluation.document is not None else parts[0])]
    else:
        documents = [results_document(part) for part in parts]
    whole = {name: value for name, value in documents[0].items() if name not in ("blame", PERFORMANCE)}
    figures = {part.name: part.performance.figures.get(RELIABILITY) for part in parts}
    known = {name: each for name, each in figures.items() if each is not None}
    whole |= {RELIABILITY: known} if known else {}
    if len(documents) > 1:
        whole["dataset_id"] = ", ".join(part.name for part in parts)
        for section, _ in list(metric_sections(whole)):
            # Figures of several datasets are not added up; that they were measured, and how, is kept.
            whole[section] = {
                metric: {**figure, "value": None, "confidence_interval": None}
                for document in documents
                for metric, figure in document.get(section, {}).items()
                if isinstance(figure, Mapping)
            }
        unstable = [f"{part.name}/{each}" for part in parts for each in part.answers.unstable]
        whole["summary"] = {"answers": {"unstable": unstable}}
        for part, document in zip(parts, documents, strict=True):
            for query in document["query_results"]:
                query.update(query_id=f"{part.name}/{query['query_id']}", split=part.name)
    queries = [query for document in documents for query in document["query_results"]]
    for query in queries:
        dataset, name = query.get("split") or parts[0].name, query["query_id"]
        if digits := askings.get((dataset, name.removeprefix(f"{dataset}/"))):
            query[_ASKINGS] = digits
    for query in queries:  # of the details, only how samples were drawn to be judged
        told = query.pop("metric_details", {})
        drawn = {name: {CHEAP_SCORE: each[CHEAP_SCORE]} for name, each in told.items() if CHEAP_SCORE in each}
        query.update({"metric_details": drawn} if drawn else {})
        query.setdefault(REFERENCE_HASH, hash_of_references([query.get("ground_truth_answer")]))
        verdict = query.get("verdict") or {}
        for each in (verdict, *verdict.get("turns", ())):
            each.pop("why", None)  # it may quote the reference
    whole["query_results"] = [{key: query[key] for key in _OF_A_QUERY if key in query} for query in queries]
    return whole
