"""Jobs as a call or a command gives them, and the plan of a run made from a job and a manifest.

:func:`prepared` checks everything that can be checked and returns the plan of a run. A resume is the same job
with ``resume``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from shlex import quote
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.datasets.recognition import recognise
from rag_evaluation_framework.datasets.row_fields import nothing_to_score
from rag_evaluation_framework.datasets.rows import rows_at, rows_in
from rag_evaluation_framework.errors import InputError, Problems, RagEvalError, UsageError, counted
from rag_evaluation_framework.evaluation.frameworks import only_finds
from rag_evaluation_framework.evaluation.judge_budget import within_budget
from rag_evaluation_framework.evaluation.manifest import DatasetEntry, Manifest, read_manifest
from rag_evaluation_framework.evaluation.plan import (
    DatasetPlan,
    Plan,
    check_measured,
    plan_evaluation,
    refuse_secrets,
    source_of,
)
from rag_evaluation_framework.evaluation.run import other_judge_warnings
from rag_evaluation_framework.evaluation.secrets import Secrets
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
from rag_evaluation_framework.files.access import plain_name, read_bytes
from rag_evaluation_framework.files.project_root import in_project
from rag_evaluation_framework.files.repository import repository_state
from rag_evaluation_framework.judging.methods import (
    Methods,
    Scoring,
    beyond_reach,
    kinship_warnings,
    opened_methods,
)
from rag_evaluation_framework.metrics.declaration import check_metric, metric_name
from rag_evaluation_framework.records.runs import Options, SampleChoice
from rag_evaluation_framework.records.samples import ROWS, Dataset, Refusal, Sample
from rag_evaluation_framework.results.baselines import Baseline, open_baseline
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.gate import Gate
from rag_evaluation_framework.results.run_data import (
    SAMPLES_FILE,
    SamplesRead,
    as_they_were,
    as_they_were_called,
    keep_samples,
    may_be_called_otherwise,
    read_samples,
)
from rag_evaluation_framework.results.run_store import (
    COUNTED_FILE,
    Counted,
    PassingFolder,
    RunFolder,
    RunGroup,
    in_runs,
    labels_beside,
    read_value,
    short_id,
)
from rag_evaluation_framework.results.verdicts import Threshold

if TYPE_CHECKING:
    from rag_evaluation_framework.models.spending import Prices
    from rag_evaluation_framework.retrieval.sweep import Grid

Data: TypeAlias = str | Path | Manifest | Dataset | Iterable[Sample] | Iterable[Mapping[str, Any]]

_SHOWN_AT_ONCE = 1000
_OWN_MANIFEST = {"call": "evaluate"}
"""The configuration of the manifest that stands for data without one."""
_LARGEST_MANIFEST = 16 << 20
_TOLERANT = "citation_tolerance_jaccard"
_OF_ANSWERS = frozenset({"answer_correctness", "faithfulness", "refusal_recall"})
"""Metrics that do not apply to a system that only finds contexts."""


class Job(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The settings of a call or a command, which come before those of a manifest and before defaults."""

    data: Data | Evaluation
    target: TargetLike | Mapping[str, TargetLike] | Grid | None = None
    metrics: tuple[str, ...] | None = None
    default_metrics: tuple[str, ...] = ()
    """Metrics for data that list none; if empty, those that the data support."""
    tolerance_chars: int | None = None
    """Characters by which an end of a cited span may be off, unless the metric sets a number."""
    map: Mapping[str, str] | None = None
    scoring: Scoring = msgspec.field(default_factory=Scoring)
    choice: SampleChoice = msgspec.field(default_factory=SampleChoice)
    gate: Gate | Mapping[str, Any] = {}
    """A gate, which is taken whole, or fields that come before those of a manifest."""
    baseline: str | Path | Evaluation | None = None
    options: Options = msgspec.field(default_factory=Options)
    blame: bool = True
    """True if it is looked for where each answer fails."""
    prices: Prices | None = None
    """Prices of the target's tokens, where its answers are to count."""
    runs_directory: str | Path | None = None
    resume: str | None = None
    given: Sequence[str] = ()
    """The options of a command that a resume is to be given again."""
    needs_target: bool = False
    """True if somebody has to be asked, even where the rows hold answers."""

    @property
    def runs(self) -> Path:
        """The folder of runs, by default the project's."""
        return in_project("runs") if self.runs_directory is None else Path(self.runs_directory)

    def methods(self, declared: Scoring | None = None) -> AbstractContextManager[Methods]:
        """Set up what answers are scored with; what is ``declared`` holds where nothing is said."""
        labels = labels_beside(None if self.runs_directory is None else self.runs)
        return opened_methods(self.scoring.over(declared or Scoring()), labels=labels)


@contextmanager
def prepared(job: Job) -> Iterator[Plan]:
    """Check everything that can be wrong before the first request; all problems are in one error.

    What follows from options alone comes before data are read. The models that were opened to judge are
    closed when the block ends, and no error tells a secret.
    """
    secrets = Secrets()
    job.options.reach()
    with secrets.masked_errors():
        job = replace(job, metrics=job.metrics and _forgiving(job.metrics, job.tolerance_chars))
        stated, gate = _gated(stated_manifest(job), job)
        if job.resume is None:
            _check_metrics(job, stated)
        with job.methods(stated.scoring) as methods:
            given = _target_given(job, stated, secrets)
            prices = job.prices or getattr(given, "prices", None)
            _check_capped(methods, prices)
            target = target_of(given, stated, secrets, history=job.options.history)
            baseline = _baseline(job, stated)
            plan = _planned(job, stated, methods)
            if given is None and _check_recorded(plan):
                target = RecordedRows(retrieval=True)
            plan = replace(plan, gate=gate, target=target, prices=prices, secrets=secrets, baseline=baseline)
            plan = replace(plan, shown_target=shown_target(given, target))
            yield _checked(job, plan, asked=model_of(given, plan.manifest, target))


def _gated(manifest: Manifest, job: Job) -> tuple[Manifest, Gate]:
    """Return the manifest with what is demanded now, and the gate: options before it, and it before defaults.

    A gate that is given as such is taken whole; thresholds that are given take the place of all of its.
    """
    gate = job.gate
    if not isinstance(gate, Gate):
        gate = replace(Gate(enabled=False), **{**manifest.gate, **gate})
    manifest = replace(manifest, ci_gate=manifest.ci_gate or gate.enabled)
    if gate.thresholds:
        own = tuple(replace(entry, thresholds=None) for entry in manifest.datasets)
        manifest = replace(manifest, thresholds=gate.thresholds, datasets=own)
    is_on = manifest.ci_gate or job.baseline is not None
    gate = replace(gate, thresholds=manifest.thresholds, enabled=is_on)
    gate.check_waivers(manifest.declared)
    return manifest, gate


def _check_metrics(job: Job, stated: Manifest) -> None:
    """Refuse metrics that there are not and, of data alone, thresholds that they do not measure."""
    problems = Problems()
    metrics = [name for name in job.metrics or () if problems.each(check_metric, [name])]
    problems.raise_all()
    if metrics and not stated.datasets and isinstance(job.data, str | Path):
        check_measured(replace(stated, datasets=(DatasetEntry(name=ROWS, path=None, metrics=()),)), metrics)


def _check_capped(methods: Methods, prices: Prices | None) -> None:
    """Refuse a cap where nothing has a price: it would promise what nobody can hold."""
    is_capped = methods.spending is not None and methods.spending.cap is not None
    if is_capped and methods.judge is None and prices is None:
        raise UsageError(
            "--max-cost: no price given. Pass --price-input and --price-output for the target, or a "
            "judge with prices: openai(model=…, price_input=…, price_output=…)"
        )


def _target_given(job: Job, stated: Manifest, secrets: Secrets) -> TargetLike | None:
    """Return whom to ask: the target of the call, else the address in the manifest."""
    if job.target is not None:
        return cast("TargetLike", job.target)
    if (url := stated.api.resolved_url(os.environ, secrets=secrets)) is not None:
        return Address(url)
    if job.needs_target:
        raise UsageError(
            "No agent given. Pass --url http://localhost:4000 or --target module:function (or answers.jsonl)."
        )
    return None


def _baseline(job: Job, stated: Manifest) -> Baseline | None:
    """Return what is compared with, which is looked for by the names of the datasets."""
    if job.baseline is None:
        return None
    names: Iterable[str] = [getattr(job.data, "name", None) or ROWS]
    if job.resume is not None:
        names = RunGroup.open(job.resume, job.runs).datasets
    elif stated.datasets:
        names = [entry.name for entry in stated.selected(job.options.datasets)]
    elif isinstance(job.data, str | Path):
        names = [_located(Path(job.data))[1]]
    return open_baseline(job.baseline, runs_directory=job.runs, datasets=[*names])


def _planned(job: Job, stated: Manifest, methods: Methods) -> Plan:
    """Return the plan of the samples, which are read for it: which are asked, scored by what, kept where."""
    options = job.options
    resumed = None if job.resume is None else RunGroup.open(job.resume, job.runs)
    manifest = stated if stated.datasets else _read_data(job, stated)
    datasets, metrics, choice = options.datasets, job.metrics or (), _choice_of(job, manifest)
    if resumed is not None:
        datasets, metrics, choice = resumed.datasets, resumed.metrics, resumed.choice
        if lacking := set(datasets) - {entry.name for entry in manifest.datasets}:
            began = ", ".join(sorted(lacking))
            raise UsageError(f"cannot resume over {manifest.file}: expected the dataset {began} of the run")
    wish: dict[str, Any] = {"datasets": datasets, "metrics": metrics, "choice": choice, "methods": methods}
    earlier = {} if resumed is None else resumed.runs
    known = {name: read_value(run.path / COUNTED_FILE, Counted) for name, run in earlier.items()}
    wish["known"] = {name: counted for name, counted in known.items() if counted is not None}
    if manifest.kind == "golden":
        from rag_evaluation_framework.evaluation.golden_runs import plan_golden

        _check_history(options, resumed)
        plan = plan_golden(manifest, **wish)
    else:
        aside = Path(gettempdir()) if job.runs_directory is None else job.runs
        plan = plan_evaluation(manifest, aside=None if resumed else aside, **wish)
    plan = plan if methods.budget is None else within_budget(plan, methods.budget)
    if resumed is not None:
        plan = restore_ground_truth(plan, resumed.runs)
    if not job.blame:
        plan = replace(plan, datasets=tuple([replace(each, tells_blame=False) for each in plan.datasets]))
    runs = resumed.leader.path.parent if resumed else job.runs
    return replace(plan, options=options, resumed=resumed, runs_directory=runs, given=job.given)


def _checked(job: Job, plan: Plan, *, asked: str | None) -> Plan:
    """Return the plan with what there is to doubt: in the data, in who judges, in what is demanded; what
    cannot be done is refused.
    """
    manifest, methods = plan.manifest, plan.methods
    is_live = getattr(plan.target, "is_live", True)
    if plan.choice.repeats > 1 and not is_live:
        raise UsageError(f"repeats: expected 1 for recorded answers, got {plan.choice.repeats}")
    if manifest.ci_gate and plan.judge_calls:
        methods.check_card()
    refuse_secrets(plan, plan.secrets)
    read = [doubt for entry in manifest.datasets if entry.source for doubt in entry.source.doubts]
    kin = kinship_warnings(methods, [asked] if asked and plan.judge_calls else [])
    others = other_judge_warnings(plan, plan.baseline, methods)
    warnings = (*plan.warnings, *read, *kin, *others, *_reach_warnings(plan))
    # Answers that nobody had to be asked for leave nothing on the disk, unless that is wanted.
    is_kept = job.runs_directory is not None or plan.resumed is not None or is_live
    kept = None if is_kept else PassingFolder()
    return replace(
        plan,
        warnings=warnings,
        kept=kept,
        runs_directory=plan.runs_directory if kept is None else kept.path,
        repository=repository_state(Path.cwd()),
    )


def _is_annotated(dataset: DatasetPlan, run: RunFolder) -> bool:
    return bool(dataset.source.annotations) or "annotations" in run.head.configuration


def restore_ground_truth(plan: Plan, runs: Mapping[str, RunFolder]) -> Plan:
    """Return a plan whose samples have the truth that the runs of its datasets began with.

    People may annotate a dataset while a run over it waits to go on: the samples that the run keeps hold
    the truth of those it has asked already.
    """
    datasets, told = [], list(plan.warnings)
    for dataset in plan.datasets:
        run, now = runs.get(dataset.name), dataset.selection
        has_begun = run is not None and run.samples_path.exists()
        if run is not None and has_begun and may_be_called_otherwise(run.samples_path):
            now = now.restored(partial(as_they_were_called, now.stream, run.samples_path))
            dataset = replace(dataset, selection=now)
        if run is not None and has_begun and _is_annotated(dataset, run):
            then = replace(now, stream=partial(as_they_were, now.stream, run.samples_path))
            changed = sum(one != other for one, other in zip(now(), then(), strict=True))
            if changed:
                dataset = replace(dataset, selection=then)
                metrics = " ".join(f"-m {each.name}" for each in dataset.scorers)
                again = f"rag-eval score {short_id(run.path)} {metrics}{in_runs(run.path.parent)}"
                told.append(
                    f"{dataset.name}: {counted(changed, 'annotated sample')} changed since the run "
                    f"started. It uses the old ground truth; to use the new one: {again}"
                )
        datasets.append(dataset)
    return replace(plan, datasets=tuple(datasets), warnings=tuple(told))


def _choice_of(job: Job, manifest: Manifest) -> SampleChoice:
    """Return which samples are asked, how often, and whether a metric may miss what it reads."""
    is_chosen_by_data = job.metrics is None and manifest.configuration == _OWN_MANIFEST
    may_miss = job.options.allow_missing or is_chosen_by_data or manifest.kind == "golden"
    return replace(
        job.choice,
        allow_missing=may_miss
        or any(entry.reading is not None or entry.source is not None for entry in manifest.datasets),
        repeats=job.options.repeats or manifest.repeats,
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
                f"dataset {dataset.name}: no row has an answer. Ask your agent for answers:\n"
                f"  rag-eval evaluate {file} --url URL (or --target module:function); "
                "in Python: target=…"
            )
    return is_retrieval


# Whatever people have, as a manifest: a path, an id of the catalogue, rows, samples, a dataset.


def stated_manifest(job: Job) -> Manifest:
    """Return what a manifest or a folder of golden sets says; of other data, a manifest without datasets."""
    data = job.data
    manifest = data if isinstance(data, Manifest) else None
    if isinstance(data, str | Path) and job.options.format is None:
        manifest = _manifest_at(Path(data), job)
    if manifest is None:
        file = Path(data) if isinstance(data, str | Path) else Path(ROWS)
        return Manifest(file=file, datasets=(), configuration=_OWN_MANIFEST)
    return _forgiving_manifest(manifest, job.tolerance_chars)


def manifest_of(job: Job) -> Manifest:
    """Return the manifest that the data stand for; the metrics given fill in where it lists none."""
    stated = stated_manifest(job)
    return stated if stated.datasets else _read_data(job, stated)


def _read_data(job: Job, stated: Manifest) -> Manifest:
    """Return the manifest that data without one stand for, with what is demanded of them."""
    data: Any = job.data
    if isinstance(data, str | Path):
        entry, file = _entry_at(Path(data), job)
    else:
        dataset, reading = (data, None) if isinstance(data, Dataset) else rows_in(data, **_wish(job))
        name = dataset.name or ROWS
        entry = DatasetEntry(name=name, path=None, metrics=(), dataset=dataset, reading=reading)
        file = Path(name)
    manifest = replace(stated, file=file, datasets=(_scored_entry(entry, job),))
    return _forgiving_manifest(manifest, job.tolerance_chars)


def _forgiving(metrics: tuple[str, ...], chars: int | None) -> tuple[str, ...]:
    """Return metrics with the number of characters that cited spans may be off, where that is said."""
    named = _TOLERANT if chars is None else metric_name(f"{_TOLERANT}(tolerance_chars={chars})")
    return tuple(named if each == _TOLERANT else each for each in metrics)


def _forgiving_manifest(manifest: Manifest, chars: int | None) -> Manifest:
    def with_tolerance(thresholds: tuple[Threshold, ...] | None) -> tuple[Threshold, ...] | None:
        return thresholds and tuple(
            replace(each, metric=_forgiving((each.metric,), chars)[0]) for each in thresholds
        )

    entries = tuple(
        replace(entry, metrics=_forgiving(entry.metrics, chars), thresholds=with_tolerance(entry.thresholds))
        for entry in manifest.datasets
    )
    return replace(manifest, datasets=entries, thresholds=with_tolerance(manifest.thresholds) or ())


def _wish(job: Job) -> dict[str, Any]:
    return {"map": job.map, "needs_answer": job.target is None}


def _manifest_at(path: Path, job: Job) -> Manifest | None:
    """Return the manifest, or the golden sets, at a path; ``None`` if there are other data."""
    if path.is_dir():
        from rag_evaluation_framework.evaluation.golden_runs import find_splits, golden_manifest

        splits: object = ()
        with suppress(RagEvalError):
            splits = find_splits(path)
        return golden_manifest(path, history=job.options.history) if splits else None
    if path.is_file() and _is_manifest(path):
        is_used = not job.metrics and job.resume is None
        return read_manifest(path, uses_metrics=is_used, default_metrics=job.default_metrics)
    return None


def _located(path: Path) -> tuple[Path, str]:
    """Return where a dataset is, by its path or its id, and its name."""
    if not path.exists():
        from rag_evaluation_framework.datasets.catalogue import catalogue_path

        path = catalogue_path(str(path))
    return path, plain_name(path).partition(".")[0] or plain_name(path)


def _entry_at(path: Path, job: Job) -> tuple[DatasetEntry, Path]:
    """Return the dataset at a path, or of this id, and where it is."""
    (path, name), format_ = _located(path), job.options.format
    source, reading = _traces_at(path, job), None
    if source is not None:
        format_ = "traces"
    else:
        _, reading = rows_at(path, format=format_, **_wish(job))
    entry = DatasetEntry(name=name, path=path, metrics=(), format=format_, reading=reading, source=source)
    return entry, path


def _traces_at(path: Path, job: Job) -> SamplesRead | None:
    """Read the traces at a path, once; ``None`` if there is something else."""
    with suppress(InputError):
        dialect: Any = recognise(path, format=job.options.format)
        if dialect.name == "traces":
            return _read_traces(path, dialect.chosen(path, job.options.traces))
    if job.options.traces is not None:
        chosen = ", ".join(job.options.traces.to_dict())
        raise UsageError(f"{path}: {chosen}: expected traces in OTLP JSON, got a different format")
    return None


def _read_traces(path: Path, traces: Any) -> SamplesRead:
    folder = PassingFolder()
    keep_samples(traces.stream, folder.path)
    if not traces.counts["samples"]:
        raise UsageError("\n".join((f"{path} contains no traces with an answer", *traces.doubts)))

    def stream() -> Iterator[Sample]:  # holds the folder, which is there as long as somebody may read it
        return read_samples(folder.path / SAMPLES_FILE)

    configuration = {"traces": {**traces.choice.to_dict(), "counts": dict(traces.counts)}}
    return SamplesRead(stream=stream, doubts=traces.doubts, configuration=configuration)


def _scored_entry(entry: DatasetEntry, job: Job) -> DatasetEntry:
    """Return a dataset with the metrics asked for or, without any, those it can bear."""
    metrics = job.metrics
    if metrics is None:
        metrics = job.default_metrics or _borne_by(entry, job.target)
    # A run that is resumed knows its metrics itself.
    if not metrics and job.metrics is None and job.resume is None and not _has_checks(entry):
        raise nothing_to_score(entry.reading, entry.name, is_asked=job.target is not None)
    if entry.reading is not None and entry.reading.unit_question and "latency" in metrics:
        raise UsageError(f"{entry.reading.name}: {entry.reading.unit_question}")
    return replace(entry, metrics=metrics)


def _borne_by(entry: DatasetEntry, target: object) -> tuple[str, ...]:
    seen = islice(source_of(entry).stream(), _SHOWN_AT_ONCE)
    borne = tuple(dict.fromkeys(metric for sample in seen for metric in _list_fields(sample)))
    is_retrieval = entry.reading is not None and "answer" not in entry.reading.fields
    if target is None and not is_retrieval:
        return borne
    is_asked = target is not None and (isinstance(target, str | Path) or not only_finds(target))
    return borne if is_asked else tuple(each for each in borne if each not in _OF_ANSWERS)


def _has_checks(entry: DatasetEntry) -> bool:
    """Return True if one of the first samples has checks, which decide without a metric."""
    seen = islice(source_of(entry).stream(), _SHOWN_AT_ONCE)
    return any(sample.checks or any(turn.checks for turn in sample.turns) for sample in seen)


def _list_fields(sample: Sample) -> Iterable[str]:
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
