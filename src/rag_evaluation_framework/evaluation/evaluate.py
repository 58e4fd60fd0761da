"""The verb: data × target × metrics → one :class:`Evaluation`, by one engine.

::

    from rag_evaluation_framework import evaluate
    result = evaluate("evals/rag.jsonl", target="http://localhost:4000", metrics=["string_match"])
    print(result)

Each kind of data and target has a module that evaluates it, imported when that is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from rag_evaluation_framework.errors import UnknownNameError, UsageError, shown
from rag_evaluation_framework.files.access import plain_name
from rag_evaluation_framework.metrics.declaration import Metric
from rag_evaluation_framework.records.runs import OnProgress, Options, SampleChoice
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.gate import Gate, bounds_of
from rag_evaluation_framework.results.verdicts import Verdict

if TYPE_CHECKING:
    from rag_evaluation_framework.evaluation.jobs import Data, Job
    from rag_evaluation_framework.evaluation.targets import TargetLike
    from rag_evaluation_framework.extensions import Embedder
    from rag_evaluation_framework.judging.methods import JudgeLike
    from rag_evaluation_framework.records.documents import Corpus
    from rag_evaluation_framework.records.scores import SupportMethod
    from rag_evaluation_framework.retrieval.sweep import Grid


def evaluate(
    data: Data | Evaluation,
    target: TargetLike | Mapping[str, TargetLike] | Grid | None = None,
    metrics: str | Metric | Iterable[str | Metric] | None = None,
    *,
    map: Mapping[str, str] | None = None,  # noqa: A002  # as the door calls it
    judge: JudgeLike | Mapping[str, Any] | None = None,
    gate: Gate | Mapping[str, Any] | None = None,
    sampling: Mapping[str, Any] | None = None,
    options: Options | None = None,
    baseline: str | Path | Evaluation | None = None,
    embedder: str | Embedder | None = None,
    support: str | SupportMethod | None = None,
    documents: Corpus | str | Path | None = None,
    blame: bool = True,
    runs_directory: str | Path | None = None,
    resume: str | None = None,
    on_progress: OnProgress | None = None,
    **wish: Any,
) -> Evaluation:
    """Evaluate the answers of a system and return the scores and the gate's verdict.

    Args:
        data: A path, an id of the catalogue, a manifest, a folder of golden sets, a list of dictionaries or
            samples, a dataset, or an evaluation to score again.
        target: A URL, ``module:function``, a function, a file of answers, the text of a component or a target
            object; ``None`` if the rows have the answers. Several by name are compared with the first. Runs
            against qrels are ranked; each cell of a grid of retrieval pipelines is a run.
        metrics: Names of metrics; by default all that the data allow.
        map: Fields of plain rows by the part of a sample: ``{"answer": "reply"}``.
        judge: A model's name, settings, a chat model or a :class:`Judge`, for metrics with an LLM judge.
        gate: A :class:`Gate`, or thresholds by metric: ``{"faithfulness": 0.8}``.
        sampling: ``tags``, ``sample_size`` and ``seed`` of the samples, which may also be keyword arguments.
        options: Time limits, concurrency, retries and statistics.
        baseline: A run, a results file or an evaluation, to detect answers that became wrong.
        embedder: An embedder, for metrics by embedding.
        support: The method that decides if evidence supports a claim: ``entailment(path=…)``,
            ``cascade(lexical, judge)``.
        documents: The corpus, for citations and retrieval pipelines.
        blame: False skips the search for the part that caused each wrong answer.
        runs_directory: Folder in which the run is saved; by default ``runs`` in the project, or none if no
            target was asked.
        resume: Id of an interrupted run to continue.
        on_progress: Function that is called with a dataset's name and its progress.
        **wish: ``max_cost``, the cap on priced models in US dollars, after which the run can be resumed;
            ``judge_budget``, the maximum of judge calls; ``precision``, the half width of the interval at
            which judging stops (with either, the judged samples are drawn and the means are those of all);
            ``judge_all``, to judge also the answers whose verdict a label, a check, your own metric or an
            expected refusal decides.

    Returns:
        The evaluation: ``metrics``, ``rows``, ``answers``, ``verdict`` and more.

    Raises:
        InputError: The data are wrong; the error has every problem.
        UsageError: An argument or a name is wrong.

    Example:
        >>> from rag_evaluation_framework import evaluate
        >>> rows = [{"question": "What is 2 + 2?", "answer": "4", "reference": "4"}]
        >>> evaluate(rows, metrics=["exact_match"]).metrics["exact_match"].value
        1.0
    """
    if unknown := wish.keys() - {"max_cost", *_OF_THE_JUDGE, *_SAMPLING}:
        raise TypeError(f"evaluate() got an unexpected keyword argument {min(unknown)!r}")
    scored_by, options = None if metrics is None else _listed(metrics), options or Options()
    choice = _chosen({**(sampling or {}), **{name: wish[name] for name in _SAMPLING if name in wish}})
    scoring: dict[str, Any] = {
        "judge": judge,
        "embedder": embedder,
        "support": support,
        "documents": documents,
        "max_cost": wish.get("max_cost"),
    }
    said = {ours: wish.get(name) for name, ours in _OF_THE_JUDGE.items()}
    settings = {name: value for name, value in said.items() if value is not None and value is not False}
    if isinstance(target, Mapping) and _are_rankings(data, target, options):
        unused = {"map": map, **scoring, "judge_budget": settings, "tags": choice.tags}
        unused |= {"sample_size": choice.sample_size, "runs_directory": runs_directory, "resume": resume}
        _refuse("rankings", unused)
        ranked = _ranked(data, target, scored_by, baseline=baseline, options=options, seed=choice.seed)
        return ranked if gate is None else _gated(ranked, bounds_of(gate))
    from rag_evaluation_framework.evaluation.jobs import Job
    from rag_evaluation_framework.judging.methods import Scoring

    job = Job(
        data=list(data) if isinstance(data, Iterator) else data,
        target=target,
        metrics=scored_by,
        map=map,
        scoring=Scoring(settings=settings, **scoring),
        choice=choice,
        gate={} if gate is None else bounds_of(gate),
        baseline=baseline,
        options=options,
        blame=blame,
        runs_directory=runs_directory,
        resume=resume,
    )
    return _evaluated(job, on_progress)


_OF_THE_JUDGE = {"judge_budget": "budget", "precision": "precision", "judge_all": "all"}
_SAMPLING = ("tags", "sample_size", "seed")


def _chosen(given: Mapping[str, Any]) -> SampleChoice:
    """Return which samples are asked."""
    if unknown := next((name for name in given if name not in _SAMPLING), None):
        raise UnknownNameError("setting of sampling", unknown, _SAMPLING)
    size = given.get("sample_size")
    if size is not None and (not isinstance(size, int) or isinstance(size, bool) or size < 1):
        raise UsageError(f"sample_size: expected a whole number of at least 1, got {shown(size)}")
    return SampleChoice(**{**given, "tags": _listed(given.get("tags", ()))})


async def evaluate_async(data: Data | Evaluation, *given: Any, **wish: Any) -> Evaluation:
    """Return the result of :func:`evaluate` without blocking the caller's event loop.

    Args:
        data: As for :func:`evaluate`.
        *given: Further arguments of :func:`evaluate`, by position.
        **wish: Further arguments of :func:`evaluate`, by name.

    Returns:
        The evaluation.

    Raises:
        InputError: The data are wrong; the error has every problem.
        UsageError: An argument or a name is wrong.

    Example:
        >>> import asyncio
        >>> from rag_evaluation_framework import evaluate_async
        >>> rows = [{"question": "What is 2 + 2?", "answer": "4", "reference": "4"}]
        >>> asyncio.run(evaluate_async(rows, metrics=["exact_match"])).metrics["exact_match"].value
        1.0
    """
    import asyncio

    return await asyncio.to_thread(lambda: evaluate(data, *given, **wish))


def _listed(given: str | Metric | Iterable[str | Metric]) -> tuple[str, ...]:
    """Return names as they are, or those of metrics; a single one may be given as it is."""
    if isinstance(given, Mapping):
        raise UsageError("metrics: expected names. Pass thresholds as gate={metric: number}.")
    several = (given,) if isinstance(given, str | Metric) else tuple(given)
    for each in several:
        if not (isinstance(each, str) or getattr(each, "name", None)):
            raise UsageError(f"expected names or metrics, got {shown(each)}")
    return tuple(str(getattr(each, "name", each)) for each in several)


def _refuse(kind: str, given: Mapping[str, object]) -> None:
    """Refuse what is given although the evaluation of this kind of data or target does not use it."""
    unused = [name for name, value in given.items() if value not in (None, (), {}, False)]
    if unused:
        raise UsageError(f"{kind}: unused {' and '.join(unused)}. Remove this")


def _gated(evaluation: Evaluation, gate: Gate | Mapping[str, Any]) -> Evaluation:
    if not gate:
        return evaluation
    demanded = gate if isinstance(gate, Gate) else Gate(**gate)
    _check_measured(evaluation, demanded)
    if evaluation.parts_are != "systems":
        return replace(evaluation, verdict=demanded.decide(evaluation))
    systems = {name: replace(part, verdict=demanded.decide(part)) for name, part in evaluation.parts.items()}
    return replace(evaluation, parts=systems, verdict=_joint_verdict(systems))


def _check_measured(evaluation: Evaluation, gate: Gate) -> None:
    """Refuse thresholds for metrics that were not measured: they would never be evaluated."""
    measured = {name: None for part in evaluation.runs for name in part.metrics}
    for threshold in gate.thresholds:
        if threshold.metric not in measured and not threshold.is_of_answers:
            raise UnknownNameError("measured metric", threshold.metric, list(measured))
    gate.check_waivers(gate.thresholds)


def _are_rankings(data: object, target: Mapping[str, object], options: Options) -> bool:
    """Tell judgements with runs from samples with systems to be asked, by the files and their names."""
    files = [Path(each) for each in target.values() if isinstance(each, str | Path)]
    if not files or len(files) < len(target) or not isinstance(data, str | Path):
        return False
    if options.rules is not None or all(plain_name(each).endswith((".run", ".trec")) for each in files):
        return True
    return "qrels" in plain_name(data) and all(each.is_file() for each in files)


def _ranked(
    data: object,
    target: Mapping[str, Any],
    metrics: tuple[str, ...] | None,
    *,
    baseline: str | Path | Evaluation | None,
    options: Options,
    seed: int,
) -> Evaluation:
    from rag_evaluation_framework.results.rankings import evaluate_run_files

    if isinstance(baseline, Evaluation):
        raise UsageError("baseline: expected the name of a ranked run, got an evaluation")
    runs = {name: Path(each) for name, each in target.items()}
    compared_with = None if baseline is None else str(baseline)
    return evaluate_run_files(
        Path(str(data)), runs, metrics, baseline=compared_with, options=options, seed=seed
    )


def _evaluated(job: Job, on_progress: OnProgress | None) -> Evaluation:
    if isinstance(job.data, Evaluation):
        return _scored_again(job.data, job, on_progress)
    if isinstance(job.target, Mapping):
        return _side_by_side(job.target, job, on_progress)
    from rag_evaluation_framework.retrieval.sweep import Grid

    if isinstance(job.target, Grid):
        return _swept(job.target, job)
    from rag_evaluation_framework.evaluation.jobs import prepared
    from rag_evaluation_framework.evaluation.run import run

    with prepared(job) as plan:
        return run(plan, on_progress)


def _scored_again(evaluation: Evaluation, job: Job, on_progress: OnProgress | None) -> Evaluation:
    from rag_evaluation_framework.evaluation.rescoring import scored_again

    unused = {name: getattr(job, name) for name in ("target", "resume", "baseline", "map")}
    chosen = {"tags": job.choice.tags, "sample_size": job.choice.sample_size}
    _refuse("scoring an evaluation again", {**unused, **chosen, "runs_directory": job.runs_directory})
    with job.methods() as methods:
        again = scored_again(
            evaluation,
            job.metrics or tuple(evaluation.metrics),
            methods,
            format=job.options.format,
            blame=job.blame,
            seed=job.choice.seed,
            options=job.options,
            on_progress=on_progress,
        )
    return _gated(again, job.gate)


def _swept(grid: Grid, job: Job) -> Evaluation:
    from rag_evaluation_framework.evaluation.grid_runs import evaluate_over

    scoring, unused = job.scoring, {name: getattr(job, name) for name in ("baseline", "map")}
    unused |= {name: getattr(scoring, name) for name in ("judge", "embedder", "support", "max_cost")}
    unused |= {"gate": job.gate or None, "judge_budget": scoring.settings, "tags": job.choice.tags}
    _refuse("a grid of pipelines", {**unused, "sample_size": job.choice.sample_size})
    if len(job.metrics or ()) > 1:
        raise UsageError(
            f"metrics: expected one metric to rank a grid by, got {', '.join(job.metrics or ())}"
        )
    return evaluate_over(
        job.data,  # type: ignore[arg-type]  # refused there, with what is expected
        grid,
        documents=scoring.documents,
        rank_by=job.metrics[0] if job.metrics else None,
        options=job.options,
        seed=job.choice.seed,
        runs_directory=job.runs_directory,
        resume=job.resume,
    )


def _side_by_side(targets: Mapping[str, TargetLike], job: Job, on_progress: OnProgress | None) -> Evaluation:
    """Evaluate one target after another; the first that does not complete ends it, as Ctrl-C does."""
    _refuse("several targets", {"resume": job.resume, "baseline": job.baseline})
    if not targets:
        raise UsageError("target is empty")
    systems: dict[str, Evaluation] = {}
    for name, target in targets.items():
        systems[name] = _evaluated(replace(job, target=target), on_progress)
        if not systems[name].outcome.completed:
            break
    whole = systems_of(systems)
    return replace(whole, verdict=_joint_verdict(systems))


def _joint_verdict(systems: Mapping[str, Evaluation]) -> Verdict | None:
    """Return the verdict over all systems; ``None`` where no gate is on and none was stopped."""
    verdicts = {name: each.verdict for name, each in systems.items() if each.verdict is not None}
    whole = Verdict(
        enabled=any(each.enabled for each in verdicts.values()),
        checks=tuple(
            replace(check, dataset=name if check.dataset is None else f"{name}: {check.dataset}")
            for name, verdict in verdicts.items()
            for check in verdict.checks
        ),
        broken_rules=_of_systems(verdicts, "broken_rules"),
        unevaluated=_of_systems(verdicts, "unevaluated"),
        stopped=next((each.stopped for each in verdicts.values() if each.stopped), None),
    )
    return whole if whole.enabled or whole.stopped else None


def _of_systems(verdicts: Mapping[str, Verdict], rules: str) -> tuple[str, ...]:
    return tuple(f"{name}: {rule}" for name, each in verdicts.items() for rule in getattr(each, rules))


def systems_of(systems: Mapping[str, Evaluation]) -> Evaluation:
    """Return several systems over the same samples as one evaluation, each compared with the first.

    Only those that were measured are compared.
    """
    from rag_evaluation_framework.results.changes import compare_evaluations

    first = next(iter(systems.values()))
    measured = {name: each for name, each in systems.items() if each.shortfall is None}
    comparison = None
    if first.shortfall is None and len(measured) > 1:
        comparison = compare_evaluations(measured, answers=False, force=True, seed=first.head.seed)
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
