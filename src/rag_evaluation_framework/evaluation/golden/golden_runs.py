"""A folder of golden sets as a plan: which splits are there, what each is scored by, and the gate.

A folder has ``evaluation/datasets/``, ``datasets/`` or the files themselves. Each split is recognised by the
content of its file, whatever it is called. The plan is one like any other: the same engine runs it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rag_evaluation_framework.datasets.dialects.recognition import recognise
from rag_evaluation_framework.errors import RagEvalError, UnknownNameError, UsageError
from rag_evaluation_framework.evaluation.golden.golden_settings import GoldenSettings
from rag_evaluation_framework.evaluation.golden.golden_spans import LocatedContexts
from rag_evaluation_framework.evaluation.manifests.manifest import DatasetEntry, Manifest
from rag_evaluation_framework.evaluation.manifests.preflight import (
    DatasetPlan,
    Plan,
    SampleChoice,
    plan_evaluation,
)
from rag_evaluation_framework.evaluation.manifests.thresholds import Threshold
from rag_evaluation_framework.evaluation.scorers.best_reading import BestReading
from rag_evaluation_framework.evaluation.scorers.known_metrics import PASS_RATE
from rag_evaluation_framework.evaluation.scorers.metric_scorer import MetricScorer
from rag_evaluation_framework.evaluation.scorers.retrieved_scorers import RetrievedSpansScorer
from rag_evaluation_framework.evaluation.scorers.scoring_methods import ScoringMethods
from rag_evaluation_framework.metrics.declaration import all_metrics
from rag_evaluation_framework.records.samples import Expectation, Refusal, Sample

REFUSAL_RECALL, OVER_REFUSAL = "refusal_recall", "over_refusal"

_REFUSALS = (REFUSAL_RECALL, OVER_REFUSAL)
_SPANS = ("span_recall", "span_precision")
_PLACES = ("evaluation/datasets", "datasets", ".")
_SUFFIXES = (".json", ".jsonl", ".json.gz", ".jsonl.gz", ".json.zst", ".jsonl.zst")


@dataclass(frozen=True, slots=True)
class Split:
    """One of the five golden sets: what its dialect and file are called, and what it is scored by."""

    name: str
    dialect: str
    file: str
    metrics: tuple[str, ...]


SPLITS: Mapping[str, Split] = {
    split.name: split
    for split in (
        Split(
            "facts",
            "golden-factual",
            "factual_qa.json",
            ("entity_coverage", "answer_similarity", "token_f1", "faithfulness", *_SPANS, *_REFUSALS),
        ),
        Split(
            "relations",
            "golden-relationship",
            "relationship_qa.json",
            ("relation_match", "answer_similarity", "token_f1", "faithfulness", *_SPANS, *_REFUSALS),
        ),
        Split(
            "tracking",
            "golden-tracking",
            "tracking_qa.json",
            (
                "milestone_recall",
                "milestone_order",
                "hop_coverage",
                "answer_similarity",
                "faithfulness",
                *_SPANS,
                *_REFUSALS,
            ),
        ),
        Split(
            "multiturn",
            "golden-multiturn",
            "multiturn_qa.json",
            ("turn_correctness", "context_turn_correctness", "faithfulness", *_REFUSALS),
        ),
        Split("boundary", "golden-boundary", "boundary_qa.json", _REFUSALS),
    )
}


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


def golden_manifest(folder: str | Path, settings: GoldenSettings) -> Manifest:
    """Return the manifest that a folder of golden sets stands for; its datasets are the splits."""
    found = find_splits(folder)
    entries = tuple(
        DatasetEntry(name=name, path=path, metrics=_metrics_of(name, settings))
        for name, path in found.items()
    )
    for split in settings.splits_named:
        if split not in found:
            raise UnknownNameError("split", split, list(found))
    return Manifest(
        file=settings.file or Path(folder),
        datasets=entries,
        thresholds=settings.thresholds,
        ci_gate=settings.gate,
        api=settings.api,
        judge=settings.judge,
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
    itself. In a reference "A/B" means either, and dots stand for what is not written yet.
    """
    # What the files lack (contexts, above all) the system may return; if it does not, that is counted.
    tolerant = replace(choice or SampleChoice(), allow_missing=True)
    plan = plan_evaluation(manifest, datasets=splits, choice=tolerant, methods=methods)
    fitted = [_fitted(dataset) for dataset in plan.datasets]
    datasets = tuple(dataset for dataset, _ in fitted)
    _check_thresholds(manifest.thresholds, datasets)
    doubts = (threshold.warning for threshold in manifest.thresholds if threshold.warning)
    return Plan(datasets=datasets, warnings=(*doubts, *(text for _, warnings in fitted for text in warnings)))


def missing_splits(manifest: Manifest) -> tuple[str, ...]:
    """Return the splits that the folder does not have."""
    there = {entry.name for entry in manifest.datasets}
    return tuple(name for name in SPLITS if name not in there)


def _splits_in(folder: Path) -> dict[str, Path]:
    by_dialect = {split.dialect: split.name for split in SPLITS.values()}
    names = {split.file for split in SPLITS.values()}
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if not path.is_file() or not path.name.endswith(_SUFFIXES):
            continue
        try:
            name = by_dialect.get(recognise(path).name)
        except RagEvalError:
            if path.name in names:  # it is meant to be one: what is wrong with it must be said
                raise
            continue
        if name is not None and name in found:
            raise UsageError(f"expected one file of {name}, got {found[name]} and {path}")
        if name is not None:
            found[name] = path
    return found


def _metrics_of(split: str, settings: GoldenSettings) -> tuple[str, ...]:
    """Return what a split is scored by: always by its refusals too, for the table of all splits."""
    chosen = settings.metrics.get(split, SPLITS[split].metrics)
    there = {name.partition("(")[0] for name in chosen}
    return (*chosen, *(name for name in _REFUSALS if name not in there))


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


def _fitted(dataset: DatasetPlan) -> tuple[DatasetPlan, list[str]]:
    """Return a planned split with the scorers that fit its samples, and what there is to warn about."""
    samples = list(dataset.selection())
    spans = [scorer.name for scorer in dataset.scorers if isinstance(scorer, RetrievedSpansScorer)]
    contexts = LocatedContexts.of(samples if spans else ())
    unmeasured = {} if contexts.truth else dict.fromkeys(spans, contexts.count)
    unused = {*_unused_refusals(samples), *unmeasured}
    scorers = tuple(
        _fitted_scorer(scorer, contexts, split=dataset.name)
        for scorer in dataset.scorers
        if _plain_name(scorer) not in unused
    )
    warnings = []
    if contexts.unlocated:
        lost = f", so {' and '.join(unmeasured)} cannot be measured" if unmeasured else ""
        first = contexts.unlocated[0]
        warnings.append(f"{dataset.name}: {contexts.count}{lost} (rag-eval validate lists all): {first}")
    return replace(dataset, scorers=scorers, unmeasured=unmeasured, is_golden=True), warnings


def _fitted_scorer(scorer: MetricScorer, contexts: LocatedContexts, *, split: str) -> MetricScorer:
    """Return a split's scorer: spans against golden contexts, texts by the best reading of a reference."""
    if isinstance(scorer, RetrievedSpansScorer):
        return contexts.scorer(scorer.metric)
    texts = {metric.name for metric in all_metrics() if metric.family == "texts"}
    return BestReading(scorer) if split != "multiturn" and _plain_name(scorer) in texts else scorer


def _plain_name(scorer: MetricScorer) -> str:
    return scorer.name.partition("(")[0]


def _unused_refusals(samples: Sequence[Sample]) -> Iterator[str]:
    """Yield the metrics of refusals that apply to no sample, nor to any turn of a conversation."""
    expects_refusal = {isinstance(each, Refusal) for sample in samples for each in _expectations(sample)}
    if True not in expects_refusal:
        yield REFUSAL_RECALL
    if False not in expects_refusal:
        yield OVER_REFUSAL


def _expectations(sample: Sample) -> Sequence[Expectation | None]:
    """Return what is expected of each of the assistant's turns, or of a sample without such turns."""
    return [turn.expectation for turn in sample.turns if turn.role == "assistant"] or [sample.expectation]
