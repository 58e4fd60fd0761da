"""A folder of golden sets as a plan: what each split is scored by, and the gate.

The plan is one like any other: the same engine runs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from rag_evaluation_framework.datasets.golden_sets import GOLDEN_DIALECTS, SPLITS
from rag_evaluation_framework.datasets.validation import record_file_issues
from rag_evaluation_framework.errors import InputError, Issue, UsageError, counted, shown
from rag_evaluation_framework.evaluation.golden.golden_settings import GoldenSettings
from rag_evaluation_framework.evaluation.golden.golden_splits import find_splits
from rag_evaluation_framework.evaluation.manifests.manifest import DatasetEntry, Manifest
from rag_evaluation_framework.evaluation.manifests.preflight import (
    DatasetPlan,
    Plan,
    context_warnings,
    plan_evaluation,
    threshold_warnings,
)
from rag_evaluation_framework.judging.answer_verdicts import expects_refusal, may_be_declined
from rag_evaluation_framework.judging.methods import ScoringMethods
from rag_evaluation_framework.metrics.declaration import PASS_RATE, without_parameters
from rag_evaluation_framework.metrics.safety import OVER_REFUSAL, REFUSAL_RECALL, REFUSALS
from rag_evaluation_framework.records.responses import History
from rag_evaluation_framework.records.runs import SampleChoice
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.results.gate import Threshold


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
