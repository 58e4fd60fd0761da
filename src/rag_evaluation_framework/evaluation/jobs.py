"""A job for the engine: whatever people have as a manifest, checked before the first request, carried out.

:func:`prepared` checks everything that can be checked; carrying out what it returns asks, scores, gates and
sums up. A resume is the same job with ``resume``.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from shlex import quote
from shutil import rmtree
from tempfile import gettempdir, mkdtemp
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.datasets.recognition import recognise
from rag_evaluation_framework.datasets.row_fields import nothing_to_score
from rag_evaluation_framework.datasets.rows import rows_at, rows_in
from rag_evaluation_framework.errors import InputError, RagEvalError, UsageError, counted, shown
from rag_evaluation_framework.evaluation.frameworks import only_finds
from rag_evaluation_framework.evaluation.judge_budget import within_budget
from rag_evaluation_framework.evaluation.manifest import DatasetEntry, Manifest, read_manifest
from rag_evaluation_framework.evaluation.preflight import Plan, plan_evaluation, refuse_secrets, source_of
from rag_evaluation_framework.evaluation.secrets import Secrets
from rag_evaluation_framework.evaluation.suites import Suite, other_judge_warnings, run_suite
from rag_evaluation_framework.evaluation.targets import (
    Address,
    RecordedRows,
    TargetLike,
    holds_retrieval,
    is_retrieval_only,
    model_of,
    shown_target,
    target_of,
)
from rag_evaluation_framework.extensions import Embedder
from rag_evaluation_framework.files.access import plain_name, read_bytes
from rag_evaluation_framework.files.project_root import in_project
from rag_evaluation_framework.files.repository import repository_state
from rag_evaluation_framework.judging.methods import (
    JudgeBudget,
    JudgeLike,
    Methods,
    beyond_reach,
    capped,
    kinship_warnings,
    opened_methods,
)
from rag_evaluation_framework.metrics.declaration import metric_name
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.runs import OnProgress, Options, SampleChoice
from rag_evaluation_framework.records.samples import ROWS, Dataset, Refusal, Sample
from rag_evaluation_framework.results.baselines import Baseline, open_baseline
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.gate import Gate
from rag_evaluation_framework.results.kept_data import (
    SamplesRead,
    as_they_were,
    as_they_were_called,
    counted_in,
    may_be_called_otherwise,
    read_samples,
)
from rag_evaluation_framework.results.results_documents import keep_verdict
from rag_evaluation_framework.results.run_folder import (
    SAMPLES_FILE,
    RunFolder,
    in_runs,
    keep_samples,
    labels_beside,
    short_id,
)
from rag_evaluation_framework.results.run_groups import RunGroup
from rag_evaluation_framework.results.verdicts import Threshold, read_thresholds

if TYPE_CHECKING:
    from rag_evaluation_framework.models.spending import Prices, Spending
    from rag_evaluation_framework.records.scores import SupportMethod
    from rag_evaluation_framework.retrieval.sweep import Grid

Data: TypeAlias = str | Path | Manifest | Dataset | Iterable[Sample] | Iterable[Mapping[str, Any]]

_SHOWN_AT_ONCE = 1000
_OWN_MANIFEST = {"call": "evaluate"}
"""The configuration of the manifest that stands for data without one."""
_LARGEST_MANIFEST = 16 << 20
_TOLERANT = "citation_tolerance_jaccard"
_OF_ANSWERS = frozenset({"answer_correctness", "faithfulness", "refusal_recall"})
"""What is not asked of a system that only finds contexts."""


class Job(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What ``evaluate`` is given; each is explained there."""

    data: Data | Evaluation
    target: TargetLike | Mapping[str, TargetLike] | Grid | None = None
    metrics: tuple[str, ...] | None = None
    default_metrics: tuple[str, ...] = ()
    """What data without a list of metrics are scored by; of none, what the data can bear."""
    tolerance_chars: int | None = None
    """How far an end of a cited span may be off, where the metric does not say so itself."""
    map: Mapping[str, str] | None = None
    gate: Gate | Mapping[str, Any] | None = None
    demands: Mapping[str, Any] = {}
    """Fields of the gate that options set, whatever a manifest says."""
    baseline: str | Path | Evaluation | None = None
    judge: JudgeLike | Mapping[str, Any] | None = None
    judge_budget: JudgeBudget | None = None
    """How much is judged, where that is not everything; ``None`` is what a manifest says."""
    judge_all: bool = False
    """Whether it is also asked about answers whose verdict is known without it."""
    embedder: str | Embedder | None = None
    support: str | SupportMethod | None = None
    documents: Corpus | str | Path | None = None
    tags: tuple[str, ...] = ()
    sample_size: int | None = None
    seed: int = 0
    runs_directory: str | Path | None = None
    resume: str | None = None
    given: Sequence[str] = ()
    """The options of a command that a resume is to be given again."""
    options: Options = msgspec.field(default_factory=Options)
    blame: bool = True
    """Whether it is looked for where each answer fails."""
    spending: Spending | None = None
    """What everything may cost together; ``None`` is what a manifest says."""
    prices: Prices | None = None
    """What the target's tokens cost, where its answers are to count."""
    needs_target: bool = False
    """Whether somebody has to be asked, even where the rows hold answers."""

    def open_methods(self, **wish: Any) -> AbstractContextManager[Methods]:
        """Set up what answers are scored with; ``wish`` is that of :func:`opened_methods`."""
        given = (self.judge, self.embedder, self.documents)
        runs = None if self.runs_directory is None else Path(self.runs_directory)
        wish = {"support": self.support, "labels": labels_beside(runs), **wish}
        wish |= {"budget": self.judge_budget, "judges_all": self.judge_all}
        return opened_methods(*given, **wish)


def carried_out(suite: Suite, on_progress: OnProgress | None = None) -> Evaluation:
    """Ask, score, decide the gate and sum up what was prepared."""
    evaluation = run_suite(suite, on_progress=on_progress)
    if suite.manifest.kind == "golden":
        from rag_evaluation_framework.evaluation.golden_runs import golden_evaluation

        folder = Path(str(suite.manifest.configuration["golden"]))
        evaluation = golden_evaluation(evaluation, folder)
    keep_verdict(evaluation)
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
    job.options.reach()
    with secrets.masked_errors():
        if job.tolerance_chars is not None:
            job = replace(job, **_forgiving(manifest_of(job), job.metrics, job.tolerance_chars))
        manifest, gate = _gated(manifest_of(job), job)
        spending = job.spending or capped(manifest.gate.get("max_cost"))
        own: Any = {"support": job.support or manifest.support, "declared": manifest.judge}
        with job.open_methods(**own, spending=spending) as methods:
            suite = _suite_of(job, manifest, gate, methods, secrets)
            _check_capped(suite)
            yield suite


def _check_capped(suite: Suite) -> None:
    """Refuse a cap where nothing has a price: it would promise what nobody can hold."""
    spending = suite.methods.spending
    is_capped = spending is not None and spending.cap is not None
    if is_capped and suite.methods.judge is None and suite.prices is None:
        raise UsageError(
            "--max-cost: nothing that is asked has a price. Give the target's, --price-input and "
            "--price-output, or a judge with one: openai(model=…, price_input=…, price_output=…)"
        )


def _gated(manifest: Manifest, job: Job) -> tuple[Manifest, Gate]:
    """Return the manifest with what is demanded now, and the gate: options before it, and it before defaults.

    A gate that is given as such is taken whole; thresholds that are given take the place of all of its.
    """
    demanded = gate_of(job.gate)
    written = {name: value for name, value in manifest.gate.items() if name not in ("repeats", "max_cost")}
    if not isinstance(job.gate, Gate):
        demanded = replace(demanded, **written)
    demanded = replace(demanded, **job.demands)
    is_on = manifest.ci_gate or demanded.enabled
    if demanded.thresholds:
        own = tuple(replace(entry, thresholds=None) for entry in manifest.datasets)
        manifest = replace(manifest, thresholds=demanded.thresholds, datasets=own)
    manifest = replace(manifest, ci_gate=is_on)
    gate = replace(demanded, thresholds=manifest.thresholds, enabled=is_on or job.baseline is not None)
    gate.check_waivers(manifest.declared)
    return manifest, gate


def _suite_of(job: Job, manifest: Manifest, gate: Gate, methods: Methods, secrets: Secrets) -> Suite:
    options, given = job.options, cast("TargetLike | None", job.target)
    if given is None and (url := manifest.api.resolved_url(os.environ, secrets=secrets)) is not None:
        given = Address(url)
    if given is None and job.needs_target:
        raise UsageError(
            "say what to ask: --url http://localhost:4000, or --target module:function (or answers.jsonl)"
        )
    directory = None if job.runs_directory is None else Path(job.runs_directory)
    runs = directory or in_project("runs")
    resumed = None if job.resume is None else RunGroup.open(job.resume, runs)
    choice = _choice_of(job, manifest)
    datasets, metrics = options.datasets, job.metrics or ()
    if resumed is not None:
        datasets, metrics, choice = resumed.datasets, resumed.metrics, resumed.choice
        if lacking := set(datasets) - {entry.name for entry in manifest.datasets}:
            began = ", ".join(sorted(lacking))
            raise UsageError(f"cannot resume over {manifest.file}: expected the dataset {began} of the run")
    if manifest.kind == "golden":
        _check_history(options, resumed)
    known = {name: counted_in(run.path) for name, run in (resumed.runs if resumed else {}).items()}
    plan = _planner(manifest, None if resumed else directory or Path(gettempdir()))(
        manifest, datasets=datasets, metrics=metrics, choice=choice, methods=methods, known=known
    )
    plan = plan if methods.budget is None else within_budget(plan, methods.budget)
    if resumed is not None:
        plan = as_begun(plan, resumed.runs)
    baseline = None
    if job.baseline is not None:
        names = [dataset.name for dataset in plan.datasets]
        baseline = open_baseline(job.baseline, runs_directory=runs, datasets=names)
    target = target_of(given, manifest, secrets, history=options.history)
    if given is None and _check_recorded(plan):
        target = RecordedRows(retrieval=True)
    is_live = getattr(target, "is_live", True)
    if choice.repeats > 1 and not is_live:
        raise UsageError(f"repeats: expected 1 for answers that are recorded, got {choice.repeats}")
    if manifest.ci_gate and plan.judge_calls:
        methods.check_card()
    plan = _with_doubts(plan, manifest, methods, baseline, asked=model_of(given, manifest, target))
    if not job.blame:
        plan = replace(plan, datasets=tuple([replace(each, tells_blame=False) for each in plan.datasets]))
    refuse_secrets(plan, secrets)
    # Answers that nobody had to be asked for leave nothing on the disk, unless that is wanted.
    is_kept = directory is not None or resumed is not None or is_live
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
        given=job.given,
        baseline=baseline,
        kept=kept,
        repository=repository_state(Path.cwd()),
        prices=job.prices or getattr(given, "prices", None),
    )


def _with_doubts(
    plan: Plan, manifest: Manifest, methods: Methods, baseline: Baseline | None, *, asked: str | None
) -> Plan:
    """Return the plan with what there is to doubt: in the data, in who judges, in what is demanded."""
    read = [doubt for entry in manifest.datasets if entry.source for doubt in entry.source.doubts]
    kin = kinship_warnings(methods, [asked] if asked and plan.judge_calls else [])
    others = other_judge_warnings(plan, baseline, methods)
    return replace(plan, warnings=(*plan.warnings, *read, *kin, *others, *_reach_warnings(plan)))


def as_begun(plan: Plan, runs: Mapping[str, RunFolder]) -> Plan:
    """Return a plan whose samples have the truth that the runs of its datasets began with.

    People may annotate a dataset while a run over it waits to go on: the samples that the run keeps say what
    was true for those it has asked already.
    """
    datasets, told = [], list(plan.warnings)
    for dataset in plan.datasets:
        run, now = runs.get(dataset.name), dataset.selection
        has_begun = run is not None and run.samples_path.exists()
        if run is not None and has_begun and may_be_called_otherwise(run):
            now = now.restored(partial(as_they_were_called, now.stream, run))
            dataset = replace(dataset, selection=now)
        if run is not None and has_begun and (dataset.annotations or "annotations" in run.head.configuration):
            then = replace(now, stream=partial(as_they_were, now.stream, run))
            changed = sum(one != other for one, other in zip(now(), then(), strict=True))
            if changed:
                dataset = replace(dataset, selection=then)
                metrics = " ".join(f"-m {each.name}" for each in dataset.scorers)
                again = f"rag-eval score {short_id(run.path)} {metrics}{in_runs(run.path.parent)}"
                told.append(
                    f"{dataset.name}: annotated since the run began; it goes on with the truth it began with "
                    f"for {counted(changed, 'sample')}; by the new one: {again}"
                )
        datasets.append(dataset)
    return replace(plan, datasets=tuple(datasets), warnings=tuple(told))


def _choice_of(job: Job, manifest: Manifest) -> SampleChoice:
    """Return which samples are asked, how often, and whether a metric may miss what it reads."""
    is_chosen_by_data = job.metrics is None and manifest.configuration == _OWN_MANIFEST
    return SampleChoice(
        tags=job.tags,
        sample_size=job.sample_size,
        seed=job.seed,
        allow_missing=job.options.allow_missing
        or is_chosen_by_data
        or manifest.kind == "golden"
        or any(entry.reading is not None or entry.source is not None for entry in manifest.datasets),
        repeats=job.options.repeats or manifest.gate.get("repeats", 1),
    )


def _reach_warnings(plan: Plan) -> list[str]:
    """Return a warning for each threshold that its method does not reach on right answers."""
    found: dict[str, None] = {}
    for dataset in plan.datasets:
        methods = {scorer.name: scorer.method for scorer in dataset.scorers}
        for threshold in dataset.thresholds:
            if warning := beyond_reach(threshold, methods.get(threshold.metric)):
                found[warning] = None
    return list(found)


def _planner(manifest: Manifest, aside: Path | None) -> Callable[..., Plan]:
    if manifest.kind == "suite":
        return partial(plan_evaluation, aside=aside)
    from rag_evaluation_framework.evaluation.golden_runs import plan_golden

    return plan_golden


class _PassingFolder:
    """A folder that is there as long as this object is."""

    def __init__(self) -> None:
        self.path = Path(mkdtemp(prefix="rag-eval-"))
        weakref.finalize(self, rmtree, self.path, ignore_errors=True)


def gate_of(given: Gate | Mapping[str, Any] | None) -> Gate:
    """Return what is demanded; without anything, a gate that is off."""
    if isinstance(given, Gate):
        return given
    if given is None:
        return Gate(enabled=False)
    if isinstance(given, Mapping):
        bounds = (each for name, bound in given.items() for each in read_thresholds(name, bound))
        return Gate(thresholds=tuple(bounds))
    raise UsageError(f"gate: expected a Gate or bounds by metric, got {shown(given)}")


def _check_history(options: Options, resumed: RunGroup | None) -> None:
    """Refuse to go on with conversations on another history than they began with."""
    began = resumed.leader.head.configuration.get("history") if resumed else options.history
    if began != options.history:
        expected = "a run of golden sets" if began is None else f"--history {began}"
        raise UsageError(f"cannot resume: expected {expected}, got --history {options.history}")


def _check_recorded(plan: Plan) -> bool:
    """Refuse rows that hold nothing to score; tell whether they hold only what was retrieved.

    That is enough where a metric needs no answer; the others say that there is none.
    """
    is_retrieval = False
    for dataset in plan.datasets:
        samples = dataset.selection()
        if not any(
            sample.trace or (sample.recorded and sample.recorded.answer is not None) for sample in samples
        ):
            if any(map(is_retrieval_only, dataset.selection())):
                is_retrieval = True
                continue
            asks_retrieval = any(not scorer.needs_answer for scorer in dataset.scorers)
            if asks_retrieval and any(map(holds_retrieval, dataset.selection())):
                is_retrieval = True
                continue
            file = "FILE" if dataset.entry.path is None else quote(str(dataset.entry.path))
            raise UsageError(
                f"dataset {dataset.name}: no row holds an answer. Ask your system for them:\n"
                f"  rag-eval evaluate {file} --url URL (or --target module:function); "
                "in Python, target=…"
            )
    return is_retrieval


# Whatever people have, as a manifest: a path, an id of the catalogue, rows, samples, a dataset.


def manifest_of(job: Job) -> Manifest:
    """Return the manifest that the data stand for; the metrics given fill in where it lists none."""
    data = job.data
    if isinstance(data, Manifest):
        return data
    if isinstance(data, str | Path):
        return _manifest_at(Path(data), job)
    dataset, reading = (data, None) if isinstance(data, Dataset) else rows_in(data, **_wish(job))
    name = dataset.name or ROWS
    entry = DatasetEntry(name=name, path=None, metrics=(), dataset=dataset, reading=reading)
    return _of_one(entry, Path(name), job)


def _forgiving(manifest: Manifest, metrics: tuple[str, ...] | None, chars: int) -> dict[str, Any]:
    """Return the manifest and the metrics with the number of characters that cited spans may be off."""
    named = metric_name(f"{_TOLERANT}(tolerance_chars={chars})")

    def renamed(listed: Iterable[str]) -> tuple[str, ...]:
        return tuple(named if each == _TOLERANT else each for each in listed)

    def moved(thresholds: tuple[Threshold, ...] | None) -> tuple[Threshold, ...] | None:
        return thresholds and tuple(replace(each, metric=renamed([each.metric])[0]) for each in thresholds)

    entries = tuple(
        replace(entry, metrics=renamed(entry.metrics), thresholds=moved(entry.thresholds))
        for entry in manifest.datasets
    )
    whole = replace(manifest, datasets=entries, thresholds=moved(manifest.thresholds) or ())
    return {"data": whole, "metrics": metrics and renamed(metrics)}


def _wish(job: Job) -> dict[str, Any]:
    return {"map": job.map, "needs_answer": job.target is None}


def _manifest_at(path: Path, job: Job) -> Manifest:
    format_ = job.options.format
    if path.is_dir() and format_ is None:
        from rag_evaluation_framework.evaluation.golden_runs import find_splits, golden_manifest

        splits: object = ()
        with suppress(RagEvalError):
            splits = find_splits(path)
        if splits:
            return golden_manifest(path, history=job.options.history)
    if path.is_file() and format_ is None and _is_manifest(path):
        is_used = not job.metrics and job.resume is None
        return read_manifest(path, uses_metrics=is_used, default_metrics=job.default_metrics)
    if not path.exists():
        from rag_evaluation_framework.datasets.catalogue import catalogue_path

        path = catalogue_path(str(path))
    name = plain_name(path).partition(".")[0] or plain_name(path)
    source, reading = _traces_at(path, job), None
    if source is not None:
        format_ = "traces"
    else:
        _, reading = rows_at(path, format=format_, **_wish(job))
    entry = DatasetEntry(name=name, path=path, metrics=(), format=format_, reading=reading, source=source)
    return _of_one(entry, path, job)


def _traces_at(path: Path, job: Job) -> SamplesRead | None:
    """Read the traces at a path, once; ``None`` if there is something else."""
    with suppress(InputError):
        dialect: Any = recognise(path, format=job.options.format)
        if dialect.name == "traces":
            return _read_traces(path, dialect.chosen(path, job.options.traces))
    if job.options.traces is not None:
        chosen = ", ".join(job.options.traces.to_dict())
        raise UsageError(f"{path}: {chosen}: expected traces in OTLP JSON to choose from, got something else")
    return None


def _read_traces(path: Path, traces: Any) -> SamplesRead:
    folder = _PassingFolder()
    keep_samples(traces.stream, folder.path)
    if not traces.counts["samples"]:
        raise UsageError("\n".join((f"{path}: expected a trace that answers, got none", *traces.doubts)))

    def stream() -> Iterator[Sample]:  # holds the folder, which is there as long as somebody may read it
        return read_samples(folder.path / SAMPLES_FILE)

    configuration = {"traces": {**traces.choice.to_dict(), "counts": dict(traces.counts)}}
    return SamplesRead(stream=stream, doubts=traces.doubts, configuration=configuration)


def _of_one(entry: DatasetEntry, file: Path, job: Job) -> Manifest:
    """Return the manifest of one dataset, by the metrics asked for or, without any, those it can bear."""
    metrics = job.metrics
    if metrics is None:
        metrics = job.default_metrics or _borne_by(entry, job.target)
    # A run that is resumed knows its metrics itself.
    if not metrics and job.metrics is None and job.resume is None and not _has_checks(entry):
        raise nothing_to_score(entry.reading, entry.name, is_asked=job.target is not None)
    if entry.reading is not None and entry.reading.unit_asked and "latency" in metrics:
        raise UsageError(f"{entry.reading.name}: {entry.reading.unit_asked}")
    datasets = (replace(entry, metrics=metrics),)
    return Manifest(file=file, datasets=datasets, configuration=_OWN_MANIFEST)


def _borne_by(entry: DatasetEntry, target: object) -> tuple[str, ...]:
    seen = islice(source_of(entry).stream(), _SHOWN_AT_ONCE)
    borne = tuple(dict.fromkeys(metric for sample in seen for metric in _borne(sample)))
    is_retrieval = entry.reading is not None and "answer" not in entry.reading.fields
    if target is None and not is_retrieval:
        return borne
    is_asked = target is not None and (isinstance(target, str | Path) or not only_finds(target))
    return borne if is_asked else tuple(each for each in borne if each not in _OF_ANSWERS)


def _has_checks(entry: DatasetEntry) -> bool:
    """Return True if one of the first samples has checks, which decide without a metric."""
    seen = islice(source_of(entry).stream(), _SHOWN_AT_ONCE)
    return any(sample.checks or any(turn.checks for turn in sample.turns) for sample in seen)


def _borne(sample: Sample) -> Iterable[str]:
    if is_retrieval_only(sample) and sample.recorded and sample.recorded.answer is None:
        yield from ("chunk_recall", "chunk_precision") if sample.relevant_chunk_ids else ("hit@1",)
        return
    recorded = sample.recorded
    has_answer = recorded is not None and (sample.trace is None or recorded.answer is not None)
    if recorded is not None and has_answer and (recorded.contexts or recorded.retrieved_nothing):
        yield "faithfulness"
    if isinstance(sample.expectation, Refusal):
        yield "refusal_recall"
    elif sample.reference:
        yield "answer_correctness"
    if sample.relevant_documents:
        yield "hit@1"
    if sample.trace is not None and any(step.kind in ("retrieval", "tool") for step in sample.trace.steps):
        yield "needless_steps"


def _is_manifest(path: Path) -> bool:
    """Tell a manifest from a dataset that is written as YAML or JSON: only the former has a spec."""
    if path.suffix.lower() not in (".yaml", ".yml", ".json") or path.stat().st_size > _LARGEST_MANIFEST:
        return False
    data = read_bytes(path)
    if b"spec" not in data:
        return False
    from rag_evaluation_framework.files.yaml_documents import decode_noting

    value, _, _ = decode_noting(data, file=str(path))
    return isinstance(value, dict) and "spec" in value
