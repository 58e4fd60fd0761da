"""The verb: data × target × metrics → one :class:`Evaluation`, by one engine.

::

    from rag_evaluation_framework import evaluate
    result = evaluate("evals/rag.jsonl", target="http://localhost:4000", metrics=["string_match"])
    print(result)

:func:`prepared` checks everything that can be checked before the first request; running what it returns asks,
scores, gates and sums up. A resume is the same call with ``resume``.
"""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, Literal

from rag_evaluation_framework.errors import UsageError, shown
from rag_evaluation_framework.evaluation.data import Data, find_dataset, manifest_of
from rag_evaluation_framework.evaluation.golden_runs import plan_golden
from rag_evaluation_framework.evaluation.grid_runs import GridOptions, evaluate_grid
from rag_evaluation_framework.evaluation.hit_columns import retrieval_level
from rag_evaluation_framework.evaluation.manifest import JudgeSettings, Manifest, read_thresholds
from rag_evaluation_framework.evaluation.preflight import Plan, plan_evaluation, refuse_secrets
from rag_evaluation_framework.evaluation.rescoring import scored_again
from rag_evaluation_framework.evaluation.resources import JudgeLike, OpenedMethods, other_judge_warnings
from rag_evaluation_framework.evaluation.retrieval_truth import Level, level_of
from rag_evaluation_framework.evaluation.secrets import Secrets
from rag_evaluation_framework.evaluation.suites import Suite, golden_evaluation, run_suite
from rag_evaluation_framework.evaluation.systems import DEFAULT_RANKING_METRICS, evaluate_run_files
from rag_evaluation_framework.evaluation.targets import TargetLike, model_of, shown_target, target_of
from rag_evaluation_framework.extensions import Embedder, Target
from rag_evaluation_framework.files.access import plain_name
from rag_evaluation_framework.judging.judge import kinship_warning
from rag_evaluation_framework.judging.methods import ScoringMethods
from rag_evaluation_framework.metrics.declaration import Metric
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.responses import History
from rag_evaluation_framework.records.runs import OnProgress, RunSettings, SampleChoice
from rag_evaluation_framework.records.samples import Dataset
from rag_evaluation_framework.results.comparison import Comparison, PairedTest
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.gate import Gate
from rag_evaluation_framework.results.run_evaluations import compare_evaluations
from rag_evaluation_framework.results.run_folder import DEFAULT_RUNS_DIRECTORY, RunGroup
from rag_evaluation_framework.retrieval.sweep import Grid

_SHORTEST_SAMPLE_TIMEOUT = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How an evaluation goes about it; times are in seconds, ``None`` means no limit.

    ``datasets`` are those of a manifest, or the splits of golden sets, to evaluate; without any, all of them.
    ``allow_missing`` skips a metric where a sample lacks what it needs, instead of refusing the dataset.
    ``rules`` are those of ranked runs, ``level`` that of retrieval pipelines.
    """

    format: str | None = None
    datasets: tuple[str, ...] = ()
    concurrency: int = 16
    attempt_timeout: float = 60.0
    sample_timeout: float | None = None
    run_timeout: float | None = None
    max_attempts: int = 5
    allow_missing: bool = False
    history: History = "own"
    rules: Literal["ours", "trec_eval"] = "ours"
    level: Level | None = None

    def run_settings(self, *, seed: int, scoring_threads: int) -> RunSettings:
        """Return the limits of one run; a sample has room for every attempt and the waits between them."""
        room = max(_SHORTEST_SAMPLE_TIMEOUT, self.attempt_timeout * self.max_attempts)
        return RunSettings(
            concurrency=self.concurrency,
            attempt_timeout=self.attempt_timeout,
            sample_timeout=room if self.sample_timeout is None else self.sample_timeout,
            run_timeout=self.run_timeout,
            max_attempts=self.max_attempts,
            seed=seed,
            scoring_threads=scoring_threads,
        )


class _PassingFolder:
    """A folder that is there as long as this object is."""

    def __init__(self) -> None:
        self.path = Path(mkdtemp(prefix="rag-eval-"))
        weakref.finalize(self, rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """An evaluation of which everything that can be checked is checked; :meth:`run` carries it out."""

    suite: Suite
    target: Target
    secrets: Secrets
    manifest: Manifest
    kept: Any = field(default=None, hash=False)

    @property
    def plan(self) -> Plan:
        return self.suite.plan

    @property
    def methods(self) -> ScoringMethods:
        return self.suite.methods

    def run(self, on_progress: OnProgress | None = None) -> Evaluation:
        """Ask, score, decide the gate and sum up."""
        evaluation = run_suite(self.suite, self.target, on_progress=on_progress)
        if self.manifest.kind == "golden":
            evaluation = golden_evaluation(evaluation, Path(str(self.manifest.configuration["golden"])))
        if self.kept is not None:
            parts = {name: replace(part, kept=self.kept) for name, part in evaluation.parts.items()}
            evaluation = replace(evaluation, parts=parts, kept=self.kept)
        return evaluation


@contextmanager
def opened_methods(
    judge: JudgeLike | Mapping[str, Any] | None = None,
    embedder: str | Embedder | None = None,
    documents: Corpus | str | Path | None = None,
    *,
    declared: JudgeSettings | None = None,
) -> Iterator[ScoringMethods]:
    """Set up what answers are scored with; the models that were opened for it are closed at the end."""
    opened = OpenedMethods(_judge(judge, declared), embedder, documents)
    try:
        yield opened.methods
    finally:
        opened.close()


@contextmanager
def prepared(
    data: Data,
    *,
    target: TargetLike | None = None,
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
) -> Iterator[Prepared]:
    """Check everything that can be wrong before the first request; all problems are in one error.

    The models that were opened to judge are closed when the block ends, and no error tells a secret.
    """
    options = options or Options()
    names = None if metrics is None else tuple(map_name(each) for each in metrics)
    secrets = Secrets()
    with secrets.masked_errors():
        manifest = manifest_of(
            data,
            metrics=names,
            columns=map,
            format=options.format,
            history=options.history,
            uses_metrics=not names and resume is None,
        )
        demanded = _gate(gate, manifest, is_compared=baseline is not None)
        manifest = replace(manifest, thresholds=demanded.thresholds, ci_gate=manifest.ci_gate or _is_on(gate))
        with opened_methods(judge, embedder, documents, declared=manifest.judge) as methods:
            yield _prepared(
                manifest,
                target,
                options,
                secrets=secrets,
                methods=methods,
                metrics=names or (),
                gate=demanded,
                choice=SampleChoice(
                    tags=tuple(tags),
                    sample_size=sample_size,
                    seed=seed,
                    allow_missing=options.allow_missing or metrics is None or manifest.kind == "golden",
                ),
                directory=None if runs_directory is None else Path(runs_directory),
                resume=resume,
                baseline=baseline,
            )


def _prepared(
    manifest: Manifest,
    given: TargetLike | None,
    options: Options,
    *,
    secrets: Secrets,
    methods: ScoringMethods,
    metrics: tuple[str, ...],
    gate: Gate,
    choice: SampleChoice,
    directory: Path | None,
    resume: str | None,
    baseline: str | Path | None,
) -> Prepared:
    runs = directory or DEFAULT_RUNS_DIRECTORY
    resumed = None if resume is None else RunGroup.open(resume, runs)
    compared = None if baseline is None else RunGroup.open(baseline, runs)
    datasets = resumed.datasets if resumed else options.datasets
    metrics = resumed.metrics if resumed else metrics
    choice = resumed.choice if resumed else choice
    if manifest.kind == "golden":
        _check_history(options.history, resumed)
        entries = tuple(replace(each, metrics=metrics or each.metrics) for each in manifest.datasets)
        manifest = replace(manifest, datasets=entries)
        plan = plan_golden(manifest, splits=datasets, choice=choice, methods=methods)
    else:
        plan = plan_evaluation(manifest, datasets=datasets, metrics=metrics, choice=choice, methods=methods)
    target = target_of(given, manifest, secrets, history=options.history)
    if given is None:
        _check_recorded(plan)
    plan = _with_judge_warnings(plan, methods, model=model_of(given, manifest, target), baseline=compared)
    refuse_secrets(plan, secrets)
    is_live = getattr(target, "is_live", True)
    # Answers that nobody had to be asked for leave nothing on the disk, unless that is wanted.
    kept = _PassingFolder() if directory is None and not is_live and resumed is None else None
    suite = Suite(
        plan=plan,
        runs_directory=resumed.leader.path.parent if resumed else kept.path if kept else runs,
        run=options.run_settings(seed=choice.seed, scoring_threads=methods.threads),
        choice=choice,
        gate=gate,
        kind=manifest.kind,
        methods=methods,
        metrics=metrics,
        configuration=manifest.configuration,
        resumed=resumed,
        baseline=compared,
        shown_target=shown_target(given, target),
        missing=manifest.missing,
    )
    return Prepared(suite=suite, target=target, secrets=secrets, manifest=manifest, kept=kept)


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
    if isinstance(data, Evaluation):
        if target is not None or resume is not None:
            raise UsageError("an evaluation is scored again: expected no target and nothing to resume")
        names = [map_name(each) for each in metrics or data.metrics]
        chosen = options or Options()
        with opened_methods(judge, embedder, documents) as methods:
            return scored_again(
                data, names, methods, format=chosen.format, seed=seed, on_progress=on_progress
            )
    if isinstance(target, Grid):
        return _swept(data, target, documents, metrics, options or Options(), seed, runs_directory, resume)
    if isinstance(target, Mapping) and _are_rankings(data, target):
        return evaluate_run_files(
            Path(str(data)),
            {name: Path(str(each)) for name, each in target.items()},
            [map_name(each) for each in metrics] if metrics is not None else DEFAULT_RANKING_METRICS,
            format=None if options is None else options.format,
            rules="ours" if options is None else options.rules,
            baseline=None if baseline is None else str(baseline),
            seed=seed,
        )
    if isinstance(target, Mapping):
        systems = {
            name: evaluate(
                data,
                target=each,
                metrics=metrics,
                map=map,
                gate=gate,
                judge=judge,
                embedder=embedder,
                documents=documents,
                tags=tags,
                sample_size=sample_size,
                seed=seed,
                runs_directory=runs_directory,
                options=options,
                on_progress=on_progress,
            )
            for name, each in target.items()
        }
        return systems_of(systems)
    with prepared(
        data,
        target=target,
        metrics=metrics,
        map=map,
        gate=gate,
        baseline=baseline,
        judge=judge,
        embedder=embedder,
        documents=documents,
        tags=tags,
        sample_size=sample_size,
        seed=seed,
        runs_directory=runs_directory,
        resume=resume,
        options=options,
    ) as work:
        return work.run(on_progress)


def _are_rankings(data: object, target: Mapping[str, object]) -> bool:
    """Tell judgements with runs from samples with systems to be asked, by the names of the files."""
    names = [plain_name(str(each)) for each in target.values() if isinstance(each, str | Path)]
    if not names or len(names) < len(target) or not isinstance(data, str | Path):
        return False
    return "qrels" in plain_name(data) or all(name.endswith(".run") for name in names)


def _swept(
    data: object,
    grid: Grid,
    documents: Corpus | str | Path | None,
    metrics: Iterable[str | Metric] | None,
    options: Options,
    seed: int,
    runs_directory: str | Path | None,
    resume: str | None,
) -> Evaluation:
    """Evaluate every cell of a grid over the documents; the first metric, if any is given, ranks them."""
    if not isinstance(data, str | Path | Dataset):
        raise UsageError(f"a grid is evaluated on a dataset: expected one or its path, got {shown(data)}")
    dataset = data if isinstance(data, Dataset) else find_dataset(data)
    if documents is None and not dataset.documents:
        raise UsageError("documents: expected those that the grid is to search, got none")
    if documents is None:
        documents = Corpus(dataset.documents)
    corpus = documents if isinstance(documents, Corpus) else Corpus.from_folder(documents)
    ranked_by = None if metrics is None else next((map_name(each) for each in metrics), None)
    return evaluate_grid(
        corpus,
        dataset,
        grid,
        retrieval_level(options.level or level_of(dataset), dataset, corpus),
        dataset_name=None if isinstance(data, Dataset) else Path(data).name,
        options=GridOptions(
            rank_by=ranked_by,
            seed=seed,
            runs_directory=Path(runs_directory) if runs_directory is not None else None,
            resume=resume,
        ),
    )


async def evaluate_async(data: Data | Evaluation, **given: Any) -> Evaluation:
    """Do what :func:`evaluate` does without blocking the event loop of the caller."""
    return await asyncio.to_thread(lambda: evaluate(data, **given))


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
    names = _names([first, *others])
    return compare_evaluations(
        dict(zip(names, [first, *others], strict=True)), test=test, force=force, seed=seed
    )


def systems_of(systems: Mapping[str, Evaluation]) -> Evaluation:
    """Return several systems over the same samples as one evaluation, each compared with the first.

    Only those that were measured are compared.
    """
    first = next(iter(systems.values()))
    measured = {name: each for name, each in systems.items() if each.shortfall is None}
    stopped = next((each.outcome for each in systems.values() if not each.outcome.completed), None)
    comparison = None
    if first.shortfall is None and len(measured) > 1:
        comparison = compare_evaluations(measured, force=True, seed=first.head.seed)
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


def map_name(metric: str | Metric) -> str:
    """Return the name of a metric that is given by name or as it is declared."""
    return metric if isinstance(metric, str) else metric.name


def _names(evaluations: Sequence[Evaluation]) -> list[str]:
    names: list[str] = []
    for each in evaluations:
        name, number = each.head.run_id, 2
        while name in names:
            name, number = f"{each.head.run_id} ({number})", number + 1
        names.append(name)
    return names


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


def _is_on(gate: Gate | Mapping[str, Any] | None) -> bool:
    return gate.enabled if isinstance(gate, Gate) else gate is not None


def _judge(given: JudgeLike | Mapping[str, Any] | None, declared: JudgeSettings | None) -> JudgeLike | None:
    """Return the judge; each of the settings given replaces what a manifest declares."""
    if given is None:
        return declared
    if not isinstance(given, Mapping):
        return given
    if declared is not None or given.get("models"):
        return replace(declared or JudgeSettings(models=()), **given)
    if any(name in given for name in ("url", "key_env", "votes", "rubric")):
        raise UsageError("expected --judge-model beside the other options of a judge, got none")
    return None


def _check_history(history: History, resumed: RunGroup | None) -> None:
    """Refuse to go on with conversations on another history than they began with."""
    began = resumed.leader.head.configuration.get("history") if resumed else history
    if began != history:
        expected = "a run of golden sets" if began is None else f"--history {began}"
        raise UsageError(f"cannot resume: expected {expected}, got --history {history}")


def _check_recorded(plan: Plan) -> None:
    for dataset in plan.datasets:
        held = (
            sample.recorded is not None and sample.recorded.answer is not None
            for sample in dataset.selection()
        )
        if not any(held):
            raise UsageError(
                f"dataset {dataset.name}: expected a target, since no row holds an answer; got none"
            )


def _with_judge_warnings(
    plan: Plan, methods: ScoringMethods, *, model: str | None, baseline: RunGroup | None
) -> Plan:
    """Return the plan with warnings of a judge that is related to the ``model`` it judges, and of one that
    differs from the baseline's although it has the same name.
    """
    told = kinship_warnings(methods, [model] if model and plan.judge_calls else [])
    told += other_judge_warnings(plan, baseline, methods)
    return replace(plan, warnings=(*plan.warnings, *told))


def kinship_warnings(methods: ScoringMethods, models: Iterable[str]) -> list[str]:
    """Return a warning for each model that the judge is related to."""
    judges = [] if methods.judge is None else [judge.name for judge in methods.judge.models]
    return [warning for model in models if (warning := kinship_warning(judges, model))]
