"""Everything that can be wrong is found here before the first request, and what a run takes is counted.

Token counts are estimates: a token for every four bytes of the questions and of the expected answers.
What an agent adds by itself (instructions, contexts) is not known: they are lower bounds.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import reduce
from heapq import nsmallest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.datasets.golden_sets import GOLDEN_DIALECTS
from rag_evaluation_framework.datasets.recognition import annotated_truth, recognise
from rag_evaluation_framework.datasets.rows import PlainRows
from rag_evaluation_framework.errors import InputError, Issue, Problems, RagEvalError, UsageError, counted
from rag_evaluation_framework.evaluation.manifest import DatasetEntry, Manifest
from rag_evaluation_framework.evaluation.missing_fields import MissingFields
from rag_evaluation_framework.evaluation.scoring import MetricScorer, are_blamed, calls_each, scorer_for
from rag_evaluation_framework.evaluation.secrets import Secrets
from rag_evaluation_framework.evaluation.targets import RecordedRows
from rag_evaluation_framework.extensions import Target
from rag_evaluation_framework.files.access import sha256
from rag_evaluation_framework.judging.methods import JudgeBudget, Methods, missing_method, with_documents
from rag_evaluation_framework.judging.verdict import CORRECT, NOT_JUDGED, WRONG
from rag_evaluation_framework.metrics.declaration import PASS_RATE, check_metric, metric_name
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.runs import Options, SampleChoice
from rag_evaluation_framework.records.samples import Refusal, Sample, Usage
from rag_evaluation_framework.results.baselines import Baseline
from rag_evaluation_framework.results.gate import Gate
from rag_evaluation_framework.results.run_data import ContentHash, HeldSamples, SpooledSamples, fingerprint
from rag_evaluation_framework.results.run_store import Counted, RunGroup
from rag_evaluation_framework.results.verdicts import OF_ANSWERS, Threshold
from rag_evaluation_framework.version import __version__

if TYPE_CHECKING:
    from rag_evaluation_framework.datasets.row_fields import RowReading
    from rag_evaluation_framework.evaluation.hit_views import LocatedContexts
    from rag_evaluation_framework.models.spending import Prices

# Which samples of a dataset a run is over: those with a tag, and of these so many at random.
#
# Tags filter first (any of several), then samples are drawn without replacement; the order of the file is
# kept. A draw depends on the seed and the samples' ids alone: reordering the file changes nothing, and a
# larger draw holds the smaller one.

_LISTED_TAGS = 10


class Selection(msgspec.Struct, frozen=True):
    """Chosen samples; calling it begins to read them. Memory does not grow with the file."""

    stream: Callable[[], Iterator[Sample]]
    tags: frozenset[str]
    drawn: frozenset[int] | None
    n_in_file: int
    n_matching: int
    repeats: int = 1
    """Number of times each sample comes; from the second time on it is called ``id~2``, ``id~3``."""
    spooled: SpooledSamples | None = None
    """The same samples, waiting for the folder of a run."""

    def __call__(self) -> Iterator[Sample]:
        place = 0
        for sample in self.stream():
            if not _has_tag(sample, self.tags):
                continue
            if self.drawn is None or place in self.drawn:
                yield sample
                for number in range(2, self.repeats + 1):
                    yield replace(sample, id=f"{sample.id}~{number}")
            place += 1

    def restored(self, stream: Callable[[], Iterator[tuple[Sample, bool]]]) -> Selection:
        """Return the selection of a run that is resumed, from samples and whether the run had them.

        Samples are drawn by their ids, which an earlier version may have generated otherwise.
        """
        renamed = replace(self, stream=lambda: (sample for sample, _ in stream()))
        if self.drawn is None:
            return renamed
        matching = (is_own for sample, is_own in stream() if _has_tag(sample, self.tags))
        return replace(renamed, drawn=frozenset(place for place, is_own in enumerate(matching) if is_own))

    def __len__(self) -> int:
        return self.repeats * (self.n_matching if self.drawn is None else len(self.drawn))


def select_samples(
    stream: Callable[[], Iterator[Sample]],
    *,
    tags: Sequence[str] = (),
    sample_size: int | None = None,
    seed: int = 0,
    repeats: int = 1,
    look: Callable[[Sample], None] | None = None,
) -> Selection:
    """Choose samples from what ``stream`` begins to read each time; choosing none at all is an error.

    ``look`` is called with each sample that has a tag, while they are read to be counted.
    """
    wanted = frozenset(tags)
    present: Counter[str] = Counter()
    n_in_file = n_matching = 0

    def ranked() -> Iterator[tuple[int, int]]:
        nonlocal n_in_file, n_matching
        for sample in stream():
            n_in_file += 1
            present.update(set(sample.tags) if wanted else ())
            if _has_tag(sample, wanted):
                yield (_rank(sample.id, seed) if sample_size is not None else 0), n_matching
                n_matching += 1
                if look is not None:
                    look(sample)

    ranks = ranked()
    drawn = None if sample_size is None else frozenset(place for _, place in nsmallest(sample_size, ranks))
    deque(ranks, maxlen=0)  # where nothing is drawn, they are only counted
    _refuse_nothing(n_in_file, n_matching, wanted, present)
    return Selection(stream, wanted, drawn, n_in_file, n_matching, repeats)


def _has_tag(sample: Sample, wanted: frozenset[str]) -> bool:
    return not wanted or not wanted.isdisjoint(sample.tags)


def _rank(identifier: str, seed: int) -> int:
    digest = hashlib.blake2b(f"{seed}\0{identifier}".encode(), digest_size=16).digest()
    return int.from_bytes(digest, "big")


def _refuse_nothing(n_in_file: int, n_matching: int, wanted: frozenset[str], present: Counter[str]) -> None:
    if not n_in_file:
        raise InputError([Issue("empty-file", "one or more samples", "an empty file")])
    if not n_matching:
        tags = " or ".join(sorted(wanted))
        there = ", ".join(tag for tag, _ in present.most_common(_LISTED_TAGS))
        fix = f"Available tags: {there}" if there else "The dataset has no tags; remove --tag."
        raise UsageError(f"none of {counted(n_in_file, 'sample')} has the tag {tags}. {fix}")


_BYTES_PER_TOKEN = 4


class _Tally:
    """Counts samples one by one, and takes note of what they lack."""

    def __init__(self, missing: MissingFields, spooled: SpooledSamples | None) -> None:
        self.missing, self._content, self._spooled = missing, ContentHash(), spooled
        self._counts: Counter[str] = Counter()

    def look_at(self, sample: Sample) -> None:
        self.missing.look_at(sample)
        digits = fingerprint(sample) if self._spooled is None else self._spooled.add(sample)
        self._content.add(sample.id, digits)
        recorded, counts = sample.recorded, self._counts
        counts["samples"] += 1
        counts["answers"] += recorded is not None and recorded.answer is not None
        counts["references"] += sample.reference is not None or isinstance(sample.expectation, Refusal)
        for turn in sample.turns:
            counts["calls"] += turn.role == "user"
            counts["input_bytes"] += len((turn.content or "").encode())
            counts["output_bytes"] += len((turn.reference or "").encode())
        counts["output_bytes"] += len((sample.reference or "").encode())

    def counted(self, of: str | None, *, repeats: int) -> Counted:
        content, issues = str(self._content) if repeats == 1 else None, tuple(self.missing.issues())
        return Counted(of=of, content=content, incomplete=issues, **self._counts)


class Source(msgspec.Struct, frozen=True):
    """Where the samples of a dataset come from: a file of a dialect, or memory."""

    stream: Callable[[], Iterator[Sample]]
    dialect: str
    with_documents: Callable[[Methods, Sequence[str]], Methods]
    """Returns methods with the dataset's own documents, where a metric looks something up in documents."""
    annotations: tuple[Path, ...] = ()
    """The files in which people marked the true citations of its samples."""


class DatasetPlan(msgspec.Struct, frozen=True, kw_only=True):
    """One dataset with the samples chosen from it, what scores them, and what asking them takes."""

    entry: DatasetEntry
    source: Source
    selection: Selection
    scorers: tuple[MetricScorer, ...]
    thresholds: tuple[Threshold, ...]
    methods: Methods
    """The methods its scorers are bound to, with the documents that answers may cite, if at hand."""
    counted: Counted
    about: Mapping[str, str] = {}
    """The dataset's description of itself: ``id``, ``name`` and ``version``."""
    located: LocatedContexts | None = None
    """Where its golden contexts are, if it is a golden set and scored by spans."""
    unmeasured: Mapping[str, str] = {}
    """The metrics that were asked for and cannot be measured, and why."""
    tells_blame: bool = True
    """True if the place where each answer fails is looked for, as far as it can be found."""
    is_as_it_was: bool = False
    """True if it is known to be what it was when the run that is resumed began."""
    budget: JudgeBudget | None = None
    """The part of it that is judged, where not everything is."""

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def is_golden(self) -> bool:
        """Return True if it is a golden set: every answer is blamed."""
        return self.source.dialect in GOLDEN_DIALECTS

    @property
    def reading(self) -> RowReading | None:
        """Return the fields of plain rows that each part was read from."""
        rows, counted = self.selection.n_in_file, self.counted
        return self.entry.reading and replace(
            self.entry.reading, rows=rows, answers=counted.answers, references=counted.references
        )

    @property
    def calls(self) -> int:
        return self.selection.repeats * self.counted.calls

    @property
    def usage(self) -> Usage:
        """At least what asking takes."""
        times, counted = self.selection.repeats, self.counted
        return Usage(
            input_tokens=-(-times * counted.input_bytes // _BYTES_PER_TOKEN),
            output_tokens=-(-times * counted.output_bytes // _BYTES_PER_TOKEN),
        )

    @property
    def judge_calls(self) -> int:
        """About how many calls judging takes; no more than its budget has."""
        whole = math.ceil(calls_each(self.scorers, self.methods) * len(self.selection))
        calls = None if self.budget is None else self.budget.calls
        return whole if calls is None else min(whole, calls)

    @property
    def is_blamed(self) -> bool:
        return self.tells_blame and are_blamed(self.scorers, is_golden=self.is_golden)


class Plan(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A run after defaults, as a manifest, a call or a command says, with all that can be checked checked."""

    manifest: Manifest
    """The manifest, whose configuration stands in the head of each run."""
    datasets: tuple[DatasetPlan, ...]
    target: Target = msgspec.field(default_factory=RecordedRows)
    shown_target: str | None = None
    methods: Methods = msgspec.field(default_factory=Methods)
    """The methods of scoring; their judge and its cost are recorded."""
    gate: Gate = msgspec.field(default_factory=lambda: Gate(enabled=False))
    choice: SampleChoice = msgspec.field(default_factory=SampleChoice)
    options: Options = msgspec.field(default_factory=Options)
    metrics: tuple[str, ...] = ()
    """Those that take the place of a manifest's."""
    runs_directory: Path = Path()
    resumed: RunGroup | None = None
    baseline: Baseline | None = None
    prices: Prices | None = None
    """Prices of the target's tokens, where its answers count towards the cap of ``methods.spending``."""
    given: Sequence[str] = ()
    """The options of a command that a resume is to be given again."""
    repository: Mapping[str, str] = {}
    """The branch and the commit of the folder it is called in, as far as they are known."""
    secrets: Secrets = msgspec.field(default_factory=Secrets)
    kept: Any = None
    """An object that has to live as long as the runs are read."""
    warnings: tuple[str, ...] = ()
    left_out: tuple[Threshold, ...] = ()
    """The thresholds that do not hold because the run was narrowed."""

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
    def usage(self) -> Usage:
        """At least what asking takes."""
        return reduce(Usage.plus, (dataset.usage for dataset in self.datasets))


def plan_evaluation(
    manifest: Manifest,
    *,
    datasets: Sequence[str] = (),
    metrics: Sequence[str] = (),
    choice: SampleChoice | None = None,
    methods: Methods | None = None,
    known: Mapping[str, Counted] | None = None,
    aside: Path | None = None,
) -> Plan:
    """Plan a run over the datasets named (all of them where none is); all problems are in one error.

    ``known`` has what was counted of datasets before, by their names. ``metrics`` replace those of the
    manifest. A metric that only a judge can measure is a problem where the gate is on and ``methods`` have
    no judge. Samples that are read wait in the folder ``aside`` for their run, so that a file that is too
    large to be held is read once; without one it is read again.
    """
    choice = choice or SampleChoice()
    entries = manifest.selected(tuple(datasets))
    problems = Problems()
    plans: list[DatasetPlan] = []
    with problems.collected():
        check_measured(manifest, metrics)
    if metrics:  # named by the caller, so that no line of the manifest is at fault
        sound = tuple(name for name in metrics if problems.each(check_metric, [name]))
        entries = tuple(replace(entry, metrics=sound) for entry in entries)
    for entry in entries:
        with problems.collected():
            counted = (known or {}).get(entry.name) or Counted()
            methods = methods or Methods()
            plans.append(_planned(entry, manifest, choice, methods, known=counted, aside=aside))
    problems.raise_all()
    warnings = (*threshold_warnings(manifest), *_incomplete(plans), *context_warnings(plans))
    return Plan(
        manifest=manifest,
        datasets=tuple(plans),
        methods=methods or Methods(),
        choice=choice,
        metrics=tuple(metrics),
        warnings=warnings,
        left_out=tuple(left_out(manifest, entries)),
    )


def threshold_warnings(manifest: Manifest) -> list[str]:
    """Return what is odd about thresholds: those that look inverted, or leave answers out."""
    found = [
        (f"{manifest.file}:{threshold.line}: " if threshold.line else "") + threshold.warning
        for threshold in manifest.declared
        if threshold.warning
    ]
    limited = {threshold.metric for threshold in manifest.declared if threshold.is_of_answers}
    if WRONG in limited and limited.isdisjoint((CORRECT, NOT_JUDGED)):
        found.append(
            f"the threshold of `{WRONG}` does not limit answers that are not judged. Add {CORRECT}: "
            f"{{min: 90%}}"
        )
    return list(dict.fromkeys(found))


def check_measured(manifest: Manifest, metrics: Sequence[str] = ()) -> None:
    """Raise :class:`InputError` for each threshold whose metric no dataset of the manifest is scored by.

    ``metrics`` are those that take the place of the manifest's.
    """
    measured = {entry.name: _names((*entry.metrics, *metrics)) for entry in manifest.datasets}
    anywhere = frozenset[str]().union(*measured.values())
    issues = []
    for each in manifest.declared:
        if each.is_of_answers or (each.dataset is not None and each in manifest.thresholds):
            continue  # of one split of golden sets, which is checked when its samples are known
        known = anywhere if each.dataset is None else measured.get(each.dataset, anywhere)
        if each.metric not in known:
            nearest = get_close_matches(each.metric, sorted(known), n=3, cutoff=0.4) or sorted(known)
            of = "a dataset" if each.dataset is None else f"the dataset {each.dataset}"
            expected = f"a metric of {of} ({', '.join(nearest)})"
            found = f"{each.metric}, which is not measured. Add -m {each.metric}"
            issue = Issue("unmeasured-threshold", expected, found, "thresholds")
            issues.append(issue.located(str(manifest.file), each.line))
    if issues:
        raise InputError(issues)


def left_out(manifest: Manifest, entries: Sequence[DatasetEntry]) -> Iterator[Threshold]:
    """Yield the thresholds that the datasets and metrics of a narrowed run leave out."""
    measured = {entry.name: _names(entry.metrics) for entry in entries}
    anywhere = frozenset[str]().union(*measured.values())
    for threshold in manifest.declared:
        of = threshold.dataset
        known = anywhere if of is None else measured.get(of, ())
        is_held = of in (None, *measured) if threshold.is_of_answers else threshold.metric in known
        if not is_held:
            yield threshold


def _names(metrics: Iterable[str]) -> frozenset[str]:
    return frozenset({PASS_RATE, *map(metric_name, metrics)})


def context_warnings(plans: Iterable[DatasetPlan]) -> Iterator[str]:
    """Yield a line for each golden set some of whose golden contexts were not located."""
    for plan in plans:
        if plan.located is not None and (doubt := plan.located.doubt(plan.scorers)):
            yield f"{plan.name}: {doubt}"


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
                issue = Issue("secret-in-data", "samples without secrets of the manifest", "one")
                raise InputError([issue.located(str(dataset.entry.path), line)])


_SAID = ("dataset_id", "name", "version")


def source_of(entry: DatasetEntry) -> Source:
    """Return the source of a dataset's samples."""
    dataset, path = entry.dataset, entry.path
    if entry.source is not None:
        return Source(entry.source.stream, str(entry.format), lambda methods, _metrics: methods)
    if dataset is None and path is not None:
        rows = None if entry.reading is None else PlainRows(entry.reading)
        dialect, truth = rows or recognise(path, format=entry.format), annotated_truth(path)
        stream = (lambda: map(truth.applied, dialect.stream(path))) if truth else lambda: dialect.stream(path)
        return Source(
            HeldSamples(stream, path),
            dialect.name,
            lambda methods, metrics: with_documents(methods, metrics, dialect=dialect, path=path),
            truth.files,
        )
    if dataset is None:
        raise UsageError(f"dataset {entry.name}: file and samples are missing")

    def documented(methods: Methods, _metrics: Sequence[str]) -> Methods:
        if methods.corpus is not None or not dataset.documents:
            return methods
        return replace(methods, corpus=Corpus(dataset.documents))

    return Source(dataset.samples.__iter__, dataset.dialect or "", documented)


def _about(entry: DatasetEntry, dialect: str) -> dict[str, str]:
    """Return what a dataset says of itself; a file of lines has nothing to say it with."""
    dataset = entry.dataset
    if dataset is None and entry.path is not None and dialect == "evaluation-dataset":
        dataset = recognise(entry.path, format=entry.format).read(entry.path)
    said = {} if dataset is None else {name: getattr(dataset, name) for name in _SAID}
    return {name.removeprefix("dataset_"): value for name, value in said.items() if value is not None}


def _reading_of(
    entry: DatasetEntry,
    source: Source,
    scorers: Iterable[MetricScorer],
    *,
    manifest: Manifest,
    choice: SampleChoice,
) -> str | None:
    """Return digits that stand for a file and for what is read of it; ``None`` where it is no plain file."""
    path, is_drawn = entry.path, choice.sample_size is not None or choice.tags
    if path is None or is_drawn or not path.is_file() or entry.source or source.dialect in GOLDEN_DIALECTS:
        return None
    needs = [(scorer.name, scorer.needs) for scorer in scorers]
    returned, tolerant = sorted(manifest.api.response_paths), choice.allow_missing
    told = (__version__, source.dialect, str(entry.reading), needs, returned, tolerant)
    digests = [sha256(each) for each in (path, *source.annotations)]
    return hashlib.blake2b(repr((told, digests)).encode(), digest_size=16).hexdigest()


def _selected(
    entry: DatasetEntry, source: Source, choice: SampleChoice, look: Callable[[Sample], None] | None
) -> Selection:
    try:
        return select_samples(
            source.stream,
            tags=choice.tags,
            sample_size=choice.sample_size,
            seed=choice.seed,
            repeats=choice.repeats,
            look=look,
        )
    except UsageError as error:
        raise UsageError(f"dataset {entry.name}: {error}") from None
    except InputError as error:
        raise error.located(str(entry.path)) from None


def _planned(
    entry: DatasetEntry,
    manifest: Manifest,
    choice: SampleChoice,
    methods: Methods,
    *,
    known: Counted,
    aside: Path | None,
) -> DatasetPlan:
    scorers = _scorers(entry, manifest, methods)
    source = source_of(entry)
    own = source.with_documents(methods, entry.metrics)
    if own is not methods:
        methods, scorers = own, _scorers(entry, manifest, own)
    is_golden = source.dialect in GOLDEN_DIALECTS
    of = _reading_of(entry, source, scorers.values(), manifest=manifest, choice=choice)
    is_as_it_was = of is not None and of == known.of
    contexts: LocatedContexts | None = None
    spooled = None
    if is_as_it_was:
        n, counted = known.samples, known
        selection = Selection(source.stream, frozenset(), None, n, n, choice.repeats)
    else:
        # Where every sample is asked, they are counted while they are chosen.
        is_chosen_first = choice.sample_size is not None or is_golden
        if is_chosen_first:
            selection = _selected(entry, source, choice, None)
            contexts = _located(scorers.values(), selection) if is_golden else None
        if contexts is not None:
            scorers = dict(zip(scorers, contexts.scorers(scorers.values()), strict=True))
        missing = MissingFields(
            list(scorers.values()),
            file=str(entry.path),
            located=() if contexts is None else contexts.truth,
            returned=manifest.api.response_paths,
        )
        spooled = None if aside is None or choice.repeats > 1 else SpooledSamples(aside)
        tally = _Tally(missing, spooled)
        if is_chosen_first:
            deque(map(tally.look_at, replace(selection, repeats=1)()), maxlen=0)
        else:
            selection = _selected(entry, source, choice, tally.look_at)
        counted = tally.counted(of, repeats=choice.repeats)
        if counted.incomplete and not choice.allow_missing:
            raise InputError(missing.refusals())
    return DatasetPlan(
        entry=entry,
        source=source,
        selection=replace(selection, spooled=spooled),
        scorers=tuple({scorer.name: scorer for scorer in scorers.values()}.values()),
        thresholds=tuple(_thresholds_of(entry, manifest.thresholds, scorers)),
        methods=methods,
        counted=counted,
        about=_about(entry, source.dialect),
        located=contexts,
        is_as_it_was=is_as_it_was,
    )


def _located(scorers: Iterable[MetricScorer], selection: Selection) -> LocatedContexts | None:
    from rag_evaluation_framework.evaluation.hit_views import located_for

    return located_for(scorers, selection)


def _scorers(entry: DatasetEntry, manifest: Manifest, methods: Methods) -> dict[str, MetricScorer]:
    """Return the scorer of each metric by its name in the list; an error names the line of unusable ones."""
    found: dict[str, MetricScorer] = {}
    issues: list[Issue] = []
    for name in entry.metrics:
        try:
            found[name] = scorer_for(name, methods)
            if manifest.ci_gate and found[name].needs_model:
                needs, _, remedy = missing_method(found[name].metric.metric)
                raise UsageError(f"metric {name}: {needs}, or no gate: {remedy}")
        except RagEvalError as error:
            issue = Issue("unavailable-metric", "an available metric", str(error), entry.name)
            issues.append(issue.located(str(manifest.file), entry.line))
    if issues:
        raise InputError(issues)
    return found


def _thresholds_of(
    entry: DatasetEntry, shared: Sequence[Threshold], scorers: dict[str, MetricScorer]
) -> Iterator[Threshold]:
    """Yield the thresholds that hold for a dataset, under the names of its scores.

    Other people's scorers may give them other names than that of the metric.
    """
    scored = {metric_name(written): scorer.name for written, scorer in scorers.items()}
    known = {PASS_RATE, *OF_ANSWERS, *scored}
    if entry.thresholds is not None:
        of_all = [threshold for threshold in shared if threshold.is_of_answers]
        shared = [*of_all, *(threshold for threshold in entry.thresholds if threshold.metric in known)]
    for threshold in shared:
        if threshold.dataset in (None, entry.name):
            yield replace(threshold, metric=scored.get(threshold.metric, threshold.metric))


def _incomplete(plans: Iterable[DatasetPlan]) -> Iterator[str]:
    for plan in plans:
        for issue in plan.counted.incomplete:
            effect = "those that the system returns count" if issue.path == "context" else "they are skipped"
            yield f"{issue}; {effect} (--allow-missing)"
