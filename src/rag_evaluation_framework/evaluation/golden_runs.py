"""A folder of golden sets as a plan: what each split is scored by, and the gate.

The plan is one like any other: the same engine runs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from rag_evaluation_framework.datasets.golden_sets import GOLDEN_DIALECTS, SPLITS
from rag_evaluation_framework.datasets.recognition import is_named_for, recognise
from rag_evaluation_framework.datasets.validation import record_file_issues
from rag_evaluation_framework.errors import (
    InputError,
    Issue,
    Problems,
    RagEvalError,
    UnknownNameError,
    UsageError,
    counted,
    shown,
)
from rag_evaluation_framework.evaluation.manifest import (
    EVALUATION,
    AgentApi,
    DatasetEntry,
    JudgeSettings,
    Manifest,
    ManifestReader,
    read_api,
    read_judge,
    read_thresholds,
)
from rag_evaluation_framework.evaluation.preflight import (
    DatasetPlan,
    Plan,
    context_warnings,
    plan_evaluation,
    threshold_warnings,
)
from rag_evaluation_framework.judging.answer_verdicts import expects_refusal, may_be_declined
from rag_evaluation_framework.judging.methods import ScoringMethods
from rag_evaluation_framework.metrics.declaration import PASS_RATE, check_known, without_parameters
from rag_evaluation_framework.metrics.safety import OVER_REFUSAL, REFUSAL_RECALL, REFUSALS
from rag_evaluation_framework.records.responses import History
from rag_evaluation_framework.records.runs import SampleChoice
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.results.evaluations import Operator, Threshold

# The five golden sets, the splits of a golden run, and where a folder has them.
#
# A folder has ``evaluation/datasets/``, ``datasets/`` or the files themselves. A file that is called
# ``factual_qa.json`` and the like is the split of that name; any other is told by its content.

_PLACES = ("evaluation/datasets", "datasets", ".")
_SUFFIXES = (".json", ".jsonl", ".json.gz", ".jsonl.gz", ".json.zst", ".jsonl.zst")


def find_splits(folder: str | Path) -> dict[str, Path]:
    """Return the file of each split that a folder has, in the order of :data:`SPLITS`."""
    folder = Path(folder)
    if not folder.is_dir():
        raise UsageError(f"expected a folder of golden sets, got {folder}")
    for place in _PLACES:
        found = _splits_in(folder / place)
        if found:
            return {name: found[name] for name in SPLITS if name in found}
    files = ", ".join(split.file for split in SPLITS.values())
    raise UsageError(f"{folder}: expected golden sets ({files}), got none, nor in evaluation/datasets")


def _splits_in(folder: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if not path.is_file() or not path.name.endswith(_SUFFIXES):
            continue
        name = _split_of(path)
        if name is not None and name in found:
            raise UsageError(f"expected one file of {name}, got {found[name]} and {path}")
        if name is not None:
            found[name] = path
    return found


def _split_of(path: Path) -> str | None:
    for name, split in SPLITS.items():
        if is_named_for(path, split.dialect):  # if it is broken, planning says what is wrong
            return name
    try:
        dialect = recognise(path).name
    except RagEvalError:
        return None
    return next((name for name, split in SPLITS.items() if split.dialect == dialect), None)


# How a golden run is gated and what it is scored by: from the command line, and from a YAML file.
#
# ::
#
#     spec:
#       evaluation:
#         datasets:                       # only for splits with other metrics than usual
#           - name: facts
#             metrics: [entity_coverage, token_f1]
#         thresholds: {entity_coverage: 0.8, over_refusal: {max: 0.05}}
#         ciGate: true
#         judge: {model: gpt-4o-mini}
#       api: …                            # as in any manifest
#
# On the command line a threshold is ``entity_coverage=0.8``, ``over_refusal<=0.05`` or, for one split
# alone, ``facts:token_f1>=0.5``; one that is given switches the gate on.

_KEYS = ("framework", "datasets", "thresholds", "ciGate", "judge")
_DATASET_KEYS = ("name", "metrics")
_THRESHOLD = re.compile(
    r"\s*(?:(?P<split>[a-z]+):)?(?P<metric>[^()<>=]+(?:\(.*\)[^()<>=]*)?)"
    r"(?P<operator>>=|<=|=)\s*(?P<bound>\S+)\s*"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenSettings:
    """The gate of a golden run, the metrics that take the place of a split's own, and the system's API."""

    file: Path | None = None
    thresholds: tuple[Threshold, ...] = ()
    metrics: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    lines: Mapping[str, int | None] = field(default_factory=dict, hash=False)
    """Where the metrics of each split are written."""
    gate: bool = False
    api: AgentApi = field(default_factory=AgentApi)
    judge: JudgeSettings | None = None


def read_golden_settings(path: str | Path) -> GoldenSettings:
    """Read settings from a file; :class:`InputError` has every problem with its line."""
    path = Path(path)
    reader = ManifestReader(path, expected="settings with spec.evaluation")
    reader.mapping(*EVALUATION)
    reader.check_keys(_KEYS, *EVALUATION)
    metrics, lines = _metrics(reader)
    settings = GoldenSettings(
        file=path,
        thresholds=reader.thresholds(),
        metrics=metrics,
        lines=lines,
        gate=reader.gate(),
        api=read_api(reader),
        judge=read_judge(reader),
    )
    reader.raise_all()
    return settings


def with_thresholds(settings: GoldenSettings, written: Iterable[str]) -> GoldenSettings:
    """Return the settings with thresholds as the command line writes them; these switch the gate on."""
    problems = Problems()
    found: list[Threshold] = []
    texts: dict[tuple[str | None, str, Operator], str] = {}
    for text in dict.fromkeys(written):
        with problems.collected():
            threshold = _written(text)
            first = texts.setdefault((threshold.dataset, threshold.metric, threshold.operator), text)
            if first != text:
                told = f"expected one bound of {threshold.metric}, got another beside {shown(first)}"
                raise UsageError(f"--threshold {shown(text)}: {told}")
            found.append(threshold)
    problems.raise_all()
    thresholds = (*settings.thresholds, *found)
    return replace(settings, thresholds=thresholds, gate=settings.gate or bool(found))


def _written(text: str) -> Threshold:
    match = _THRESHOLD.fullmatch(text)
    try:
        bound = float(match["bound"]) if match else None
    except ValueError:
        bound = None
    if match is None or bound is None:
        raise UsageError(f"--threshold: expected METRIC=NUMBER, got {shown(text)}")
    metric, side = match["metric"].strip(), {">=": "min", "<=": "max"}.get(match["operator"])
    try:
        if match["split"] is not None:
            _check_split(match["split"])
        check_known(metric)
        (threshold,) = read_thresholds(metric, bound if side is None else {side: bound})
        return replace(threshold, dataset=match["split"])
    except (InputError, UnknownNameError) as error:
        raise UsageError(f"--threshold {shown(text)}: {error}") from None


def _check_split(name: str) -> None:
    if name not in SPLITS:
        raise UnknownNameError("split", name, list(SPLITS))


def _metrics(reader: ManifestReader) -> tuple[dict[str, tuple[str, ...]], dict[str, int | None]]:
    """Return the metrics of the splits that are listed with metrics of their own, and their lines."""
    place = (*EVALUATION, "datasets")
    if reader.at(*place) is None:
        return {}, {}
    found: dict[str, tuple[str, ...]] = {}
    lines: dict[str, int | None] = {}
    for number in range(len(reader.items(*place, expected="a list of splits with metrics"))):
        at = (*place, number)
        if not isinstance(reader.at(*at), dict):
            reader.problem(at, "a split with name and metrics", shown(reader.at(*at)))
            continue
        reader.check_keys(_DATASET_KEYS, *at)
        name = reader.text(*at, "name")
        if name in found:
            reader.repeated((*at, "name"), first=lines[name])
        elif name:
            lines[name] = reader.line(at)
            try:
                _check_split(name)
            except UnknownNameError as error:
                reader.problem((*at, "name"), "the name of a split", str(error))
        found[name] = reader.metrics(*at, "metrics")
    return found, lines


def golden_manifest(
    folder: str | Path, settings: GoldenSettings | None = None, *, history: History = "own"
) -> Manifest:
    """Return the manifest that a folder of golden sets stands for; its datasets are the splits."""
    settings = settings or GoldenSettings()
    found = find_splits(folder)
    entries = tuple(
        DatasetEntry(name=name, path=path, metrics=_metrics_of(name, settings), line=settings.lines.get(name))
        for name, path in found.items()
    )
    _check_splits(settings, found)
    return Manifest(
        file=settings.file or Path(folder),
        datasets=entries,
        thresholds=settings.thresholds,
        ci_gate=settings.gate,
        api=settings.api,
        judge=settings.judge,
        kind="golden",
        missing=tuple(name for name in SPLITS if name not in found),
        configuration={"golden": str(folder), "history": history},
    )


def plan_golden(
    manifest: Manifest,
    *,
    splits: Sequence[str] = (),
    choice: SampleChoice | None = None,
    methods: ScoringMethods | None = None,
) -> Plan:
    """Plan a run over the splits named, or all of them; all problems are in one error.

    A split is scored by those metrics of refusals that apply to its samples, and by span metrics if golden
    contexts can be located; those that cannot are warned about. In conversations every turn is scored by
    itself.
    """
    # What the files lack (contexts, above all) the system may return; if it does not, that is counted.
    tolerant = replace(choice or SampleChoice(), allow_missing=True)
    plan = plan_evaluation(manifest, datasets=splits, choice=tolerant, methods=methods)
    datasets = tuple(map(_fitted, plan.datasets))
    _check_thresholds(manifest.thresholds, datasets)
    warnings = threshold_warnings(manifest, plan.datasets)
    for dataset in plan.datasets:
        warnings += (*_doubts(dataset), *context_warnings([dataset]))
    return Plan(datasets=datasets, warnings=tuple(warnings))


def _check_splits(settings: GoldenSettings, found: Mapping[str, Path]) -> None:
    """Raise :class:`InputError` for settings of splits that the folder does not have."""
    expected = f"a split that the folder has ({', '.join(found)})"
    file = None if settings.file is None else str(settings.file)
    absent = [
        Issue("missing-split", expected, shown(split), file=file, line=settings.lines.get(split))
        for split in settings.metrics
        if split not in found
    ]
    absent += [
        Issue("missing-split", expected, shown(each.dataset), f"threshold {each}")
        for each in settings.thresholds
        if each.dataset is not None and each.dataset not in found
    ]
    if absent:
        raise InputError(absent)


def _metrics_of(split: str, settings: GoldenSettings) -> tuple[str, ...]:
    """Return what a split is scored by: always by its refusals too, for the table of all splits."""
    chosen = settings.metrics.get(split, SPLITS[split].metrics)
    there = {without_parameters(name) for name in chosen}
    return (*chosen, *(name for name in REFUSALS if name not in there))


def _check_thresholds(thresholds: Iterable[Threshold], datasets: Sequence[DatasetPlan]) -> None:
    """Raise :class:`UsageError` for thresholds of a split that is not asked, or not scored by the metric."""
    known = {
        dataset.name: [*(scorer.name for scorer in dataset.scorers), *dataset.unmeasured, PASS_RATE]
        for dataset in datasets
    }
    own = [each for each in thresholds if each.dataset is not None and each.dataset not in known]
    problems = [f"{each}: expected a split that is asked ({', '.join(known)})" for each in own]
    problems += [
        f"{each}: expected a metric of its samples ({', '.join(known[dataset.name])})"
        for dataset in datasets
        for each in dataset.thresholds
        if each.dataset is not None and each.metric not in known[dataset.name]
    ]
    if problems:
        raise UsageError("\n".join(f"threshold {problem}" for problem in problems))


def _fitted(dataset: DatasetPlan) -> DatasetPlan:
    """Return a planned split with the scorers that fit its samples."""
    unmeasured = {} if dataset.located is None else dataset.located.unmeasured(dataset.scorers)
    unused = {*_unused_refusals(list(dataset.selection())), *unmeasured}
    used = [scorer for scorer in dataset.scorers if without_parameters(scorer.name) not in unused]
    return replace(dataset, scorers=tuple(used), unmeasured=unmeasured)


def _doubts(dataset: DatasetPlan) -> Iterator[str]:
    """Yield what there is to warn about in the records of a split, in a line."""
    dialect = GOLDEN_DIALECTS[SPLITS[dataset.name].dialect]
    path = dataset.entry.path
    if path is None:
        return
    doubts = [issue.located(str(path)) for issue in record_file_issues(path, dialect)]
    if doubts:
        yield f"{dataset.name}: {counted(len(doubts), 'warning')} (rag-eval validate lists all): {doubts[0]}"


def _unused_refusals(samples: Sequence[Sample]) -> Iterator[str]:
    """Yield the metrics of refusals that apply to no sample, nor to any turn of a conversation."""
    asked = [each for sample in samples for each in _by_turn(sample)]
    if not any(map(expects_refusal, asked)):
        yield REFUSAL_RECALL
    if all(expects_refusal(each) or may_be_declined(each) for each in asked):
        yield OVER_REFUSAL


def _by_turn(sample: Sample) -> Sequence[Sample]:
    """Return each of the assistant's turns as a sample of its own, or one without turns as it is."""
    turns = [
        replace(sample, turns=(asked,), reference=turn.reference, expectation=turn.expectation)
        for asked, turn in pairwise(sample.turns)
        if turn.role == "assistant"
    ]
    return turns or [sample]
