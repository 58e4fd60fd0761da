"""The verb: data × target × metrics → one :class:`Evaluation`, by one engine.

::

    from rag_evaluation_framework import evaluate
    result = evaluate("evals/rag.jsonl", target="http://localhost:4000", metrics=["string_match"])
    print(result)

:func:`prepared` checks everything that can be checked before the first request; carrying out what it returns
asks, scores, gates and sums up. A resume is the same call with ``resume``.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, TypeAlias, cast

from rag_evaluation_framework.datasets.catalogue import checked_entries
from rag_evaluation_framework.datasets.recognition import read_dataset
from rag_evaluation_framework.errors import (
    InputError,
    MissingDatasetError,
    RagEvalError,
    UsageError,
    shown,
)
from rag_evaluation_framework.evaluation.manifest import (
    DatasetEntry,
    Manifest,
    read_manifest,
    read_thresholds,
)
from rag_evaluation_framework.evaluation.preflight import Plan, plan_evaluation, refuse_secrets, source_of
from rag_evaluation_framework.evaluation.secrets import Secrets
from rag_evaluation_framework.evaluation.suites import Suite, other_judge_warnings, run_suite
from rag_evaluation_framework.evaluation.targets import TargetLike, model_of, shown_target, target_of
from rag_evaluation_framework.extensions import Embedder, Registry
from rag_evaluation_framework.files.access import plain_name
from rag_evaluation_framework.files.strict_json import write_lines
from rag_evaluation_framework.judging.methods import JudgeLike, Methods, kinship_warnings, opened_methods
from rag_evaluation_framework.metrics.declaration import Metric
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.runs import OnProgress, Options, SampleChoice
from rag_evaluation_framework.records.samples import Dataset, Refusal, Sample
from rag_evaluation_framework.results.comparison import Comparison, PairedTest
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.gate import Gate
from rag_evaluation_framework.results.run_folder import DEFAULT_RUNS_DIRECTORY, RunGroup
from rag_evaluation_framework.results.storage import compare_evaluations
from rag_evaluation_framework.retrieval.sweep import Grid

Data: TypeAlias = str | Path | Manifest | Dataset | Iterable[Sample] | Iterable[Mapping[str, Any]]

_IN_MEMORY = "rows"
_SHOWN_AT_ONCE = 1000

# What evaluates something else than answers to the samples of a dataset; imported when that is given.
_GEARS: Registry[Any] = Registry("gear of an evaluation")
for _name, _place in {
    "again": "rescoring:scored_again",
    "golden": "golden_runs:golden_manifest",
    "golden plan": "golden_runs:plan_golden",
    "golden results": "golden_runs:golden_evaluation",
    "grid": "grid_runs:evaluate_over",
    "rankings": "systems:evaluate_run_files",
    "splits": "golden_runs:find_splits",
}.items():
    _GEARS.register(_name, f"rag_evaluation_framework.evaluation.{_place}")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Job:
    """What :func:`evaluate` is given; each is explained there."""

    data: Data | Evaluation
    target: TargetLike | Mapping[str, TargetLike] | Grid | None = None
    metrics: tuple[str, ...] | None = None
    map: Mapping[str, str] | None = None
    gate: Gate | Mapping[str, Any] | None = None
    baseline: str | Path | None = None
    judge: JudgeLike | Mapping[str, Any] | None = None
    embedder: str | Embedder | None = None
    documents: Corpus | str | Path | None = None
    tags: tuple[str, ...] = ()
    sample_size: int | None = None
    seed: int = 0
    runs_directory: str | Path | None = None
    resume: str | None = None
    options: Options = field(default_factory=Options)


def evaluate(
    data: Data | Evaluation,
    *,
    target: TargetLike | Mapping[str, TargetLike] | Grid | None = None,
    metrics: Iterable[str | Metric] | None = None,
    map: Mapping[str, str] | None = None,  # noqa: A002  # as the door calls it
    gate: Gate | Mapping[str, Any] | None = None,
    baseline: str | Path | None = None,
    judge: JudgeLike | Mapping[str, Any] | None = None,
    embedder: str | Embedder | None = None,
    documents: Corpus | str | Path | None = None,
    tags: Iterable[str] = (),
    sample_size: int | None = None,
    seed: int = 0,
    runs_directory: str | Path | None = None,
    resume: str | None = None,
    options: Options | None = None,
    on_progress: OnProgress | None = None,
) -> Evaluation:
    """Ask the target every sample (or read the answers rows hold), score, gate, and return what came of it.

    ``data`` is a path of any dialect, an id of the catalogue, a manifest, a folder of golden sets, a list of
    dictionaries or samples, a dataset, or an evaluation to be scored again. ``target`` is an address,
    ``module:function``, a function, a file of answers, a component's text, a target object, or ``None`` where
    the rows hold the answers; several by name are compared with the first. Run files against qrels are ranked
    side by side; a grid of retrieval pipelines is swept over ``documents``, each cell a run. Without
    ``metrics`` the data are scored by what they can bear. Works in scripts and inside a running event loop;
    Ctrl-C returns an evaluation that is incomplete and can be resumed.
    """
    job = Job(
        data=data,
        target=target,
        metrics=None if metrics is None else tuple(str(getattr(each, "name", each)) for each in metrics),
        map=map,
        gate=gate,
        baseline=baseline,
        judge=judge,
        embedder=embedder,
        documents=documents,
        tags=tuple(tags),
        sample_size=sample_size,
        seed=seed,
        runs_directory=runs_directory,
        resume=resume,
        options=options or Options(),
    )
    return _evaluated(job, on_progress)


async def evaluate_async(data: Data | Evaluation, **given: Any) -> Evaluation:
    """Do what :func:`evaluate` does without blocking the event loop of the caller."""
    return await asyncio.to_thread(lambda: evaluate(data, **given))


def _evaluated(job: Job, on_progress: OnProgress | None) -> Evaluation:
    if isinstance(job.data, Evaluation):
        return _scored_again(job.data, job, on_progress)
    if isinstance(job.target, Grid):
        swept: Evaluation = _GEARS.get("grid")(
            job.data,
            job.target,
            documents=job.documents,
            rank_by=job.metrics[0] if job.metrics else None,
            options=job.options,
            seed=job.seed,
            runs_directory=job.runs_directory,
            resume=job.resume,
        )
        return swept
    if isinstance(job.target, Mapping) and (job.options.rules or _are_rankings(job.data, job.target)):
        ranked: Evaluation = _GEARS.get("rankings")(
            Path(str(job.data)),
            {name: Path(str(each)) for name, each in job.target.items()},
            job.metrics,
            baseline=None if job.baseline is None else str(job.baseline),
            options=job.options,
            seed=job.seed,
        )
        return ranked
    if isinstance(job.target, Mapping):
        alone = replace(job, baseline=None, resume=None)
        jobs = {name: replace(alone, target=each) for name, each in job.target.items()}
        return systems_of({name: _evaluated(each, on_progress) for name, each in jobs.items()})
    with prepared(job) as suite:
        return carried_out(suite, on_progress)


def _scored_again(evaluation: Evaluation, job: Job, on_progress: OnProgress | None) -> Evaluation:
    if job.target is not None or job.resume is not None:
        raise UsageError("an evaluation is scored again: expected no target and nothing to resume")
    with opened_methods(job.judge, job.embedder, job.documents) as methods:
        scored: Evaluation = _GEARS.get("again")(
            evaluation,
            job.metrics or tuple(evaluation.metrics),
            methods,
            format=job.options.format,
            seed=job.seed,
            on_progress=on_progress,
        )
    return scored


def _are_rankings(data: object, target: Mapping[str, object]) -> bool:
    """Tell judgements with runs from samples with systems to be asked, by the names of the files."""
    names = [plain_name(str(each)) for each in target.values() if isinstance(each, str | Path)]
    if not names or len(names) < len(target) or not isinstance(data, str | Path):
        return False
    return "qrels" in plain_name(data) or all(name.endswith(".run") for name in names)


def carried_out(suite: Suite, on_progress: OnProgress | None = None) -> Evaluation:
    """Ask, score, decide the gate and sum up what was prepared."""
    evaluation = run_suite(suite, on_progress=on_progress)
    if suite.manifest.kind == "golden":
        folder = Path(str(suite.manifest.configuration["golden"]))
        evaluation = _GEARS.get("golden results")(evaluation, folder)
    if suite.kept is not None:
        parts = {name: replace(part, kept=suite.kept) for name, part in evaluation.parts.items()}
        evaluation = replace(evaluation, parts=parts, kept=suite.kept)
    return evaluation


@contextmanager
def prepared(job: Job) -> Iterator[Suite]:
    """Check everything that can be wrong before the first request; all problems are in one error.

    The models that were opened to judge are closed when the block ends, and no error tells a secret.
    """
    secrets = Secrets()
    with secrets.masked_errors():
        manifest = _manifest_of(job)
        gate = _gate(job.gate, manifest, is_compared=job.baseline is not None)
        is_on = manifest.ci_gate or (job.gate.enabled if isinstance(job.gate, Gate) else job.gate is not None)
        manifest = replace(manifest, thresholds=gate.thresholds, ci_gate=is_on)
        with opened_methods(job.judge, job.embedder, job.documents, declared=manifest.judge) as methods:
            yield _suite_of(job, manifest, gate, methods, secrets)


def _suite_of(job: Job, manifest: Manifest, gate: Gate, methods: Methods, secrets: Secrets) -> Suite:
    options, given = job.options, cast("TargetLike | None", job.target)
    directory = None if job.runs_directory is None else Path(job.runs_directory)
    runs = directory or DEFAULT_RUNS_DIRECTORY
    resumed = None if job.resume is None else RunGroup.open(job.resume, runs)
    baseline = None if job.baseline is None else RunGroup.open(job.baseline, runs)
    choice = SampleChoice(
        tags=job.tags,
        sample_size=job.sample_size,
        seed=job.seed,
        allow_missing=options.allow_missing or job.metrics is None or manifest.kind == "golden",
    )
    datasets, metrics = options.datasets, job.metrics or ()
    if resumed is not None:
        datasets, metrics, choice = resumed.datasets, resumed.metrics, resumed.choice
    if manifest.kind == "golden":
        _check_history(options, resumed)
    plan_of = plan_evaluation if manifest.kind == "suite" else _GEARS.get("golden plan")
    plan: Plan = plan_of(manifest, datasets=datasets, metrics=metrics, choice=choice, methods=methods)
    target = target_of(given, manifest, secrets, history=options.history)
    if given is None:
        _check_recorded(plan)
    asked = model_of(given, manifest, target)
    doubts = kinship_warnings(methods, [asked] if asked and plan.judge_calls else [])
    plan = replace(plan, warnings=(*plan.warnings, *doubts, *other_judge_warnings(plan, baseline, methods)))
    refuse_secrets(plan, secrets)
    # Answers that nobody had to be asked for leave nothing on the disk, unless that is wanted.
    is_kept = directory is not None or resumed is not None or getattr(target, "is_live", True)
    kept = None if is_kept else _PassingFolder()
    return Suite(
        plan=plan,
        manifest=manifest,
        target=target,
        shown_target=shown_target(given, target),
        secrets=secrets,
        methods=methods,
        options=options,
        choice=choice,
        gate=gate,
        metrics=metrics,
        runs_directory=resumed.leader.path.parent if resumed else kept.path if kept else runs,
        resumed=resumed,
        baseline=baseline,
        kept=kept,
    )


class _PassingFolder:
    """A folder that is there as long as this object is."""

    def __init__(self) -> None:
        self.path = Path(mkdtemp(prefix="rag-eval-"))
        weakref.finalize(self, rmtree, self.path, ignore_errors=True)


def _gate(given: Gate | Mapping[str, Any] | None, manifest: Manifest, *, is_compared: bool) -> Gate:
    """Return what is demanded: the manifest's thresholds where none are given, and whether it is on."""
    if isinstance(given, Gate):
        demanded = given
    elif given is None:
        demanded = Gate(enabled=False)
    elif isinstance(given, Mapping):
        demanded = Gate(
            thresholds=tuple(each for name, bound in given.items() for each in read_thresholds(name, bound))
        )
    else:
        raise UsageError(f"gate: expected a Gate or bounds by metric, got {shown(given)}")
    return replace(
        demanded,
        thresholds=demanded.thresholds or manifest.thresholds,
        enabled=demanded.enabled or manifest.ci_gate or is_compared,
    )


def _check_history(options: Options, resumed: RunGroup | None) -> None:
    """Refuse to go on with conversations on another history than they began with."""
    began = resumed.leader.head.configuration.get("history") if resumed else options.history
    if began != options.history:
        expected = "a run of golden sets" if began is None else f"--history {began}"
        raise UsageError(f"cannot resume: expected {expected}, got --history {options.history}")


def _check_recorded(plan: Plan) -> None:
    for dataset in plan.datasets:
        samples = dataset.selection()
        if not any(sample.recorded and sample.recorded.answer is not None for sample in samples):
            raise UsageError(
                f"dataset {dataset.name}: expected a target, since no row holds an answer; got none"
            )


# Whatever people have, as a manifest: a path, an id of the catalogue, rows, samples, a dataset.


def _manifest_of(job: Job) -> Manifest:
    """Return the manifest that the data stand for; the metrics given fill in where it lists none."""
    data = job.data
    if isinstance(data, Manifest):
        return data
    if isinstance(data, str | Path):
        return _manifest_at(Path(data), job)
    rows = cast("Iterable[Any]", data)
    dataset = data if isinstance(data, Dataset) else _dataset_of(list(rows), job.map or {})
    name = dataset.name or _IN_MEMORY
    return _of_one(DatasetEntry(name=name, path=None, metrics=(), dataset=dataset), Path(name), job)


def _manifest_at(path: Path, job: Job) -> Manifest:
    format_ = job.options.format
    if path.is_dir() and format_ is None and _has_splits(path):
        golden: Manifest = _GEARS.get("golden")(path, history=job.options.history)
        return golden
    if path.suffix in (".yaml", ".yml") and path.is_file() and format_ is None and _is_manifest(path):
        return read_manifest(path, uses_metrics=not job.metrics and job.resume is None)
    if not path.exists():
        path = _of_catalogue(str(path))
    name = plain_name(path).partition(".")[0] or plain_name(path)
    return _of_one(DatasetEntry(name=name, path=path, metrics=(), format=format_), path, job)


def _of_one(entry: DatasetEntry, file: Path, job: Job) -> Manifest:
    """Return the manifest of one dataset, by the metrics asked for or, without any, those it can bear."""
    metrics = _borne_by(entry) if job.metrics is None else job.metrics
    datasets = (replace(entry, metrics=metrics),)
    return Manifest(file=file, datasets=datasets, configuration={"call": "evaluate"})


def _borne_by(entry: DatasetEntry) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for place, sample in enumerate(source_of(entry).stream()):
        found |= dict.fromkeys(_borne(sample))
        if place >= _SHOWN_AT_ONCE:
            break
    if not found:
        raise UsageError(
            f"dataset {entry.name}: expected metrics, got none, and its samples bear none by themselves"
        )
    return tuple(found)


def _borne(sample: Sample) -> Iterable[str]:
    if sample.recorded is not None and sample.recorded.contexts:
        yield "faithfulness"
    if isinstance(sample.expectation, Refusal):
        yield "refusal_recall"
    elif sample.reference:
        yield "answer_correctness"
    if sample.relevant_documents:
        yield "hit@1"


def _has_splits(folder: Path) -> bool:
    try:
        return bool(_GEARS.get("splits")(folder))
    except RagEvalError:
        return False


def _is_manifest(path: Path) -> bool:
    """Tell a manifest from a dataset that is written as YAML: only the former has a spec."""
    text = path.read_text(encoding="utf-8")
    # JSON is YAML too, and may stand on one line.
    if text.lstrip().startswith("{"):
        return '"spec"' in text
    return any(line.startswith("spec:") for line in text.splitlines())


def _of_catalogue(name: str) -> Path:
    """Return the file of a dataset that the catalogue of the project knows by this id."""
    folder = Path("data", "evaluation")
    entries = checked_entries(folder) if folder.is_dir() else []
    found = [entry.path for entry in entries if entry.dataset_id == name]
    if not found:
        raise MissingDatasetError(f"no dataset {shown(name)}: neither a path nor an id of the catalogue")
    return found[-1]


def _dataset_of(rows: list[Any], columns: Mapping[str, str]) -> Dataset:
    """Return rows as a dataset; ``columns`` says which of theirs holds what our dialects call otherwise."""
    if not rows:
        raise UsageError("data: expected at least one row, got none")
    if all(isinstance(row, Sample) for row in rows):
        return Dataset(samples=tuple(rows), dialect="")
    if not all(isinstance(row, Mapping) for row in rows):
        raise UsageError(f"data: expected samples or dictionaries, got {shown(rows[0])}")
    names = {theirs: ours for ours, theirs in columns.items()}
    records = [{names.get(name, name): value for name, value in row.items()} for row in rows]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        write_lines(path, records)
        try:
            read = read_dataset(path)
        except InputError as error:
            raise InputError([replace(issue, file=_IN_MEMORY) for issue in error.issues]) from None
    return replace(read, samples=tuple(replace(sample, origin=None) for sample in read.samples))


def compare(
    first: Evaluation,
    *others: Evaluation,
    test: PairedTest = "randomisation",
    force: bool = False,
    seed: int = 0,
) -> Comparison:
    """Compare evaluations with the first: paired by sample, tested on every shared metric, corrected.

    Other data or other methods are refused with the reasons, unless it is forced.
    """
    if not others:
        raise UsageError("compare: expected two evaluations or more, got one")
    named: dict[str, Evaluation] = {}
    for each in (first, *others):
        name, number = each.head.run_id, 2
        while name in named:
            name, number = f"{each.head.run_id} ({number})", number + 1
        named[name] = each
    return compare_evaluations(named, test=test, force=force, seed=seed)


def systems_of(systems: Mapping[str, Evaluation]) -> Evaluation:
    """Return several systems over the same samples as one evaluation, each compared with the first.

    Only those that were measured are compared.
    """
    first = next(iter(systems.values()))
    measured = {name: each for name, each in systems.items() if each.shortfall is None}
    comparison = None
    if first.shortfall is None and len(measured) > 1:
        comparison = compare_evaluations(measured, force=True, seed=first.head.seed)
    stopped = next((each.outcome for each in systems.values() if not each.outcome.completed), None)
    return Evaluation(
        kind="systems",
        head=first.head,
        metrics={},
        counts=first.counts,
        outcome=stopped or first.outcome,
        parts=systems,
        parts_are="systems",
        comparison=comparison,
        warnings=tuple(dict.fromkeys(each for part in systems.values() for each in part.warnings)),
    )
