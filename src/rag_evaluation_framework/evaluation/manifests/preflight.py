"""Everything that can be wrong before the first request is found here, and what a run would take is counted.

Token counts are estimates: a token for every four bytes of the questions and of the expected answers. What an
agent adds by itself (instructions, contexts) is not known and not counted, so they are lower bounds.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rag_evaluation_framework.datasets.golden_sets import GOLDEN_DIALECTS
from rag_evaluation_framework.datasets.recognition import recognise
from rag_evaluation_framework.errors import InputError, Issue, Problems, RagEvalError, UsageError, refused
from rag_evaluation_framework.evaluation.manifests.manifest import DatasetEntry, Manifest
from rag_evaluation_framework.evaluation.manifests.needs import MissingFields
from rag_evaluation_framework.evaluation.manifests.sampling import Selection, select_samples
from rag_evaluation_framework.evaluation.manifests.secrets import Secrets
from rag_evaluation_framework.evaluation.scoring import MetricScorer, located_for, scorer_for
from rag_evaluation_framework.judging.cited_texts import CitableTexts
from rag_evaluation_framework.judging.methods import HOW_TO_JUDGE, ScoringMethods, with_documents
from rag_evaluation_framework.metrics.declaration import PASS_RATE, metric_name
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.runs import SampleChoice
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.results.gate import Threshold

if TYPE_CHECKING:
    from rag_evaluation_framework.evaluation.hit_views import LocatedContexts

_BYTES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars for a million tokens, where they are known."""

    input: float | None = None
    output: float | None = None

    def cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """Return what the tokens cost; ``None`` unless both prices are known."""
        if self.input is None or self.output is None:
            return None
        return (input_tokens * self.input + output_tokens * self.output) / 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetPlan:
    """One dataset with the samples chosen from it, what scores them, and what asking them takes."""

    entry: DatasetEntry
    selection: Selection
    scorers: tuple[MetricScorer, ...]
    thresholds: tuple[Threshold, ...]
    calls: int
    input_tokens: int
    output_tokens: int
    votes: int = 0
    """How often a judge is asked a question: by each of its models, as many times as it votes."""
    incomplete: tuple[Issue, ...] = ()
    is_golden: bool = False
    """A golden set: every answer is blamed."""
    located: LocatedContexts | None = None
    """Where its golden contexts are, if it is a golden set and scored by spans."""
    unmeasured: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The metrics that were asked for and cannot be measured, and why."""
    documents: CitableTexts = field(default_factory=lambda: CitableTexts(()), hash=False)
    """The documents that answers may cite, as far as they are at hand."""

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def judge_calls(self) -> int:
        """About how many calls judging takes; the answers, which decide it, are not there yet."""
        questions = frozenset[str]().union(*(scorer.questions for scorer in self.scorers))
        return self.votes * len(questions) * len(self.selection)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run would do, with everything that can be checked beforehand checked."""

    datasets: tuple[DatasetPlan, ...]
    warnings: tuple[str, ...] = ()

    @property
    def samples(self) -> int:
        return sum(len(dataset.selection) for dataset in self.datasets)

    @property
    def calls(self) -> int:
        return sum(dataset.calls for dataset in self.datasets)

    @property
    def judge_calls(self) -> int:
        return sum(dataset.judge_calls for dataset in self.datasets)

    @property
    def input_tokens(self) -> int:
        return sum(dataset.input_tokens for dataset in self.datasets)

    @property
    def output_tokens(self) -> int:
        return sum(dataset.output_tokens for dataset in self.datasets)


def plan_evaluation(
    manifest: Manifest,
    *,
    datasets: Sequence[str] = (),
    metrics: Sequence[str] = (),
    choice: SampleChoice | None = None,
    methods: ScoringMethods | None = None,
) -> Plan:
    """Plan a run over the datasets named (all of them where none is); all problems are in one error.

    ``metrics`` replace those of the manifest. A metric that only a judge can measure is a problem where the
    gate is on and ``methods`` have no judge.
    """
    choice = choice or SampleChoice()
    entries = manifest.selected(tuple(datasets))
    problems = Problems()
    plans: list[DatasetPlan] = []
    for entry in entries:
        entry = replace(entry, metrics=tuple(metrics)) if metrics else entry
        with problems.collected():
            plans.append(_planned(entry, manifest, choice, methods or ScoringMethods()))
    problems.raise_all()
    warnings = (*threshold_warnings(manifest, plans), *_incomplete(plans), *context_warnings(plans))
    return Plan(datasets=tuple(plans), warnings=warnings)


def threshold_warnings(manifest: Manifest, plans: Iterable[DatasetPlan]) -> list[str]:
    """Return what is odd about thresholds: one looks inverted, or no dataset is scored by its metric."""
    entries = (*manifest.datasets, *(plan.entry for plan in plans))
    scored = {PASS_RATE, *(metric_name(metric) for entry in entries for metric in entry.metrics)}
    found: list[str] = []
    for threshold in manifest.thresholds:
        place = f"{manifest.file}:{threshold.line}: " if threshold.line else ""
        if threshold.warning:
            found.append(place + threshold.warning)
        if threshold.metric not in scored:
            why = "no dataset is scored by it, so its threshold is not evaluated"
            found.append(f"{place}{threshold.metric}: {why}")
    return list(dict.fromkeys(found))


def context_warnings(plans: Iterable[DatasetPlan]) -> Iterator[str]:
    """Yield a line for each golden set some of whose golden contexts were not located."""
    for plan in plans:
        if plan.located is not None and (doubt := plan.located.doubt(plan.scorers)):
            yield f"{plan.name}: {doubt}"


def check_writable(folders: Iterable[Path]) -> None:
    """Raise :class:`StorageError` for a folder that cannot be written into; it need not exist yet."""
    for folder in folders:
        there = folder
        while not there.exists() and there != there.parent:
            there = there.parent
        try:
            if not there.is_dir():
                raise NotADirectoryError(20, os.strerror(20))
            with tempfile.TemporaryFile(dir=there):
                pass
        except OSError as error:
            raise refused("write", folder, error) from error


def refuse_secrets(plan: Plan, secrets: Secrets) -> None:
    """Raise :class:`InputError` for a sample that holds a secret: it would be sent and written down."""
    if not secrets:
        return
    for dataset in plan.datasets:
        for sample in dataset.selection():
            texts = [turn.content for turn in sample.turns] + [sample.reference, *sample.reference_contexts]
            texts += sample.recorded.contexts if sample.recorded else ()
            if any(text and secrets.mask(text) != text for text in texts):
                line = sample.origin.line if sample.origin else None
                issue = Issue("secret-in-data", "no secret of the manifest in a sample", "one")
                raise InputError([issue.located(str(dataset.entry.path), line)])


@dataclass(frozen=True, slots=True)
class Source:
    """Where the samples of a dataset come from: a file of a dialect, or memory."""

    stream: Callable[[], Iterator[Sample]]
    dialect: str
    with_documents: Callable[[ScoringMethods, Sequence[str]], ScoringMethods]
    """Returns methods with the dataset's own documents, where a metric looks something up in documents."""


def source_of(entry: DatasetEntry) -> Source:
    """Return the source of a dataset's samples."""
    dataset, path = entry.dataset, entry.path
    if dataset is None and path is not None:
        dialect = recognise(path, format=entry.format)
        return Source(
            lambda: dialect.stream(path),
            dialect.name,
            lambda methods, metrics: with_documents(methods, metrics, dialect=dialect, path=path),
        )
    if dataset is None:
        raise UsageError(f"dataset {entry.name}: expected a file or samples, got neither")

    def documented(methods: ScoringMethods, _metrics: Sequence[str]) -> ScoringMethods:
        if methods.corpus is not None or not dataset.documents:
            return methods
        return replace(methods, corpus=Corpus(dataset.documents))

    return Source(lambda: iter(dataset.samples), dataset.dialect or "", documented)


def _planned(
    entry: DatasetEntry, manifest: Manifest, choice: SampleChoice, methods: ScoringMethods
) -> DatasetPlan:
    scorers = _scorers(entry, manifest, methods)
    source = source_of(entry)
    own = source.with_documents(methods, entry.metrics)
    if own is not methods:
        methods, scorers = own, _scorers(entry, manifest, own)
    try:
        selection = select_samples(
            source.stream, tags=choice.tags, sample_size=choice.sample_size, seed=choice.seed
        )
    except UsageError as error:
        raise UsageError(f"dataset {entry.name}: {error}") from None
    except InputError as error:
        raise error.located(str(entry.path)) from None
    contexts = located_for(scorers.values(), selection, dialect=source.dialect)
    if contexts is not None:
        scorers = dict(zip(scorers, contexts.scorers(scorers.values()), strict=True))
    located = () if contexts is None else contexts.truth
    missing = MissingFields(list(scorers.values()), file=str(entry.path), located=located)
    calls = input_bytes = output_bytes = 0
    for sample in selection():
        missing.look_at(sample)
        calls += sum(1 for turn in sample.turns if turn.role == "user")
        input_bytes += sum(len((turn.content or "").encode()) for turn in sample.turns)
        output_bytes += _expected_bytes(sample)
    if missing.issues() and not choice.allow_missing:
        raise InputError(missing.refusals())
    return DatasetPlan(
        entry=entry,
        selection=selection,
        scorers=tuple({scorer.name: scorer for scorer in scorers.values()}.values()),
        thresholds=tuple(_thresholds_of(entry.name, manifest.thresholds, scorers)),
        calls=calls,
        input_tokens=-(-input_bytes // _BYTES_PER_TOKEN),
        output_tokens=-(-output_bytes // _BYTES_PER_TOKEN),
        votes=0 if methods.judge is None else len(methods.judge.models) * methods.judge.votes,
        incomplete=tuple(missing.issues()),
        is_golden=source.dialect in GOLDEN_DIALECTS,
        located=contexts,
        documents=methods.documents.texts,
    )


def _scorers(entry: DatasetEntry, manifest: Manifest, methods: ScoringMethods) -> dict[str, MetricScorer]:
    """Return the scorer of each metric as it is written; the line is named of those that cannot be used."""
    found: dict[str, MetricScorer] = {}
    issues: list[Issue] = []
    for name in entry.metrics:
        try:
            found[name] = scorer_for(name, methods)
            if manifest.ci_gate and found[name].needs_judge:
                raise UsageError(f"metric {name}: needs a judge, or no gate: {HOW_TO_JUDGE}")
        except RagEvalError as error:
            issue = Issue("unavailable-metric", "a metric that is available", str(error), entry.name)
            issues.append(issue.located(str(manifest.file), entry.line))
    if issues:
        raise InputError(issues)
    return found


def _thresholds_of(
    dataset: str, thresholds: Sequence[Threshold], scorers: dict[str, MetricScorer]
) -> Iterator[Threshold]:
    """Yield the thresholds that hold for a dataset, under the names of its scores.

    Other people's scorers may give them other names than that of the metric.
    """
    scored = {metric_name(written): scorer.name for written, scorer in scorers.items()}
    for threshold in thresholds:
        if threshold.dataset in (None, dataset):
            yield replace(threshold, metric=scored.get(threshold.metric, threshold.metric))


def _incomplete(plans: Iterable[DatasetPlan]) -> Iterator[str]:
    for plan in plans:
        for issue in plan.incomplete:
            is_context = issue.path == "context"
            effect = "those that the system returns count" if is_context else "they are skipped"
            yield f"{issue}; {effect} (--allow-missing)"


def _expected_bytes(sample: Sample) -> int:
    expected = [turn.reference for turn in sample.turns] + [sample.reference]
    return sum(len(text.encode()) for text in expected if text)
