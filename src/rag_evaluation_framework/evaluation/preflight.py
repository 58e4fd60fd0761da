"""Everything that can be wrong is found here before the first request, and what a run takes is counted.

Token counts are estimates: a token for every four bytes of the questions and of the expected answers.
What an agent adds by itself (instructions, contexts) is not known: they are lower bounds.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from heapq import nsmallest
from pathlib import Path
from typing import TYPE_CHECKING

from rag_evaluation_framework.datasets.golden_sets import GOLDEN_DIALECTS
from rag_evaluation_framework.datasets.recognition import annotated_truth, recognise
from rag_evaluation_framework.datasets.rows import PlainRows
from rag_evaluation_framework.errors import InputError, Issue, Problems, RagEvalError, UsageError, refused
from rag_evaluation_framework.evaluation.manifest import DatasetEntry, Manifest
from rag_evaluation_framework.evaluation.scoring import MetricScorer, are_blamed, located_for, scorer_for
from rag_evaluation_framework.evaluation.secrets import Secrets
from rag_evaluation_framework.judging.methods import HOW_TO_JUDGE, Methods, with_documents
from rag_evaluation_framework.metrics.declaration import PASS_RATE, check_metric, metric_name
from rag_evaluation_framework.metrics.views import LOCATED
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.responses import Usage, is_conversation
from rag_evaluation_framework.records.runs import SampleChoice
from rag_evaluation_framework.records.samples import Entities, Milestones, Refusal, Relation, Sample
from rag_evaluation_framework.results.verdicts import Threshold

if TYPE_CHECKING:
    from rag_evaluation_framework.datasets.row_fields import RowReading
    from rag_evaluation_framework.evaluation.hit_views import LocatedContexts

# Which samples lack what a metric needs, found before the first request and named by their lines; where
# several stand on one line, as in a file that is one JSON object, by their ids.

# What datasets call otherwise than metrics do.
_FIELDS = {"reference": "expected", "contexts": "context"}
_WANTED = {LOCATED: f"{LOCATED} found once in its file,"}
_LISTED_RANGES = 12
_LISTED_IDS = 5
_RELEVANT = ("relevant_documents", "relevant_chunk_ids", "relevant_spans")
_EXPECTATIONS = {"entities": Entities, "relation": Relation, "milestones": Milestones}


class MissingFields:
    """Looks at samples one by one, and keeps for each need of the metrics which of them do not meet it.

    ``located`` has the ids of the samples whose golden contexts were found in their files, ``returned`` what
    the system under test is declared to return.
    """

    def __init__(
        self,
        scorers: Sequence[MetricScorer],
        *,
        file: str,
        located: Container[str] = (),
        returned: Container[str] = (),
    ) -> None:
        self._file, self._located = file, located
        self._metrics: dict[str, list[str]] = {}
        for scorer in scorers:
            for need in (each for each in scorer.needs if each not in returned):
                self._metrics.setdefault(need, []).append(scorer.name)
        self._lacking: dict[str, _Lacking] = {need: _Lacking() for need in self._metrics}
        self._seen = 0
        self._last_line = 0
        self._has_lines = True

    def look_at(self, sample: Sample) -> None:
        """Take note of what a sample lacks."""
        self._seen += 1
        line = sample.origin.line if sample.origin and sample.origin.line is not None else self._seen
        self._has_lines = self._has_lines and line > self._last_line
        self._last_line = line
        for need, lacking in self._lacking.items():
            if lacks(sample, need, located=self._located):
                lacking.add(line, sample.id)

    def issues(self) -> list[Issue]:
        """Return one issue for each field that a sample lacks."""
        return [self._issue(need) for need in self._lacked]

    def refusals(self) -> list[Issue]:
        """Return the same issues, each with what can be done without completing the file."""
        return [self._issue(need, self._way_out(need)) for need in self._lacked]

    @property
    def _lacked(self) -> list[str]:
        return [need for need, lacking in self._lacking.items() if lacking.count]

    def _issue(self, need: str, way_out: str = "") -> Issue:
        field, metrics, lacking = _FIELDS.get(need, need), self._metrics[need], self._lacking[need]
        named = lacking.lines if self._has_lines else lacking.sample_ids
        return Issue(
            "missing-field",
            f"{_WANTED.get(need, field)} in every sample, which {' and '.join(metrics)} "
            f"{'needs' if len(metrics) == 1 else 'need'}",
            f"none in {lacking.count:,} of {self._seen:,}: {named}{way_out}",
            field,
            file=self._file,
            line=lacking.first if self._has_lines else None,
        )

    def _way_out(self, need: str) -> str:
        if need == "contexts":
            return "; --allow-missing scores by the contexts that the system returns"
        some_have_it = self._lacking[need].count < self._seen
        why = "; rag-eval validate says why" if need == LOCATED else ""
        return f"{why}; --allow-missing scores the others" if some_have_it else why


def lacks(sample: Sample, need: str, *, located: Container[str] = ()) -> bool:
    """Tell whether a sample lacks what a metric needs of it; what the system itself gives is not its part."""
    if need == "reference":
        # One that expects a refusal is skipped for its own reason; in a conversation the turns say it.
        is_told = bool((sample.reference or "").strip()) or is_conversation(sample)
        return not is_told and sample.expectation is None
    if need == "contexts":
        recorded = sample.recorded
        return not (recorded and (_any_text(recorded.contexts) or recorded.retrieved_nothing))
    if need == "reference_contexts":
        return not _any_text(sample.reference_contexts)
    if need == LOCATED:
        return sample.id not in located and not isinstance(sample.expectation, Refusal)
    if need in _RELEVANT:
        return not getattr(sample, need) and not isinstance(sample.expectation, Refusal)
    if need == "turns":
        return not (is_conversation(sample) or isinstance(sample.expectation, Refusal))
    if need == "hops":
        expected = sample.expectation
        return not (isinstance(expected, Refusal) or (isinstance(expected, Milestones) and expected.hops))
    return need in _EXPECTATIONS and not isinstance(sample.expectation, (_EXPECTATIONS[need], Refusal))


def _any_text(texts: Iterable[str]) -> bool:
    return any(text.strip() for text in texts)


class _Lacking:
    """Growing line numbers as ranges, so that a million of them take a few bytes, and the first ids."""

    def __init__(self) -> None:
        self.count = 0
        self.ranges: list[list[int]] = []
        self._first_ids: list[str] = []

    @property
    def first(self) -> int | None:
        return self.ranges[0][0] if self.ranges else None

    @property
    def lines(self) -> str:
        """The lines, in words."""
        listed = self.ranges[:_LISTED_RANGES]
        words = [f"{low}" if low == high else f"{low}–{high}" for low, high in listed]
        kind = "line" if self.count == 1 else "lines"
        return f"{kind} {', '.join(words)}{self._more(sum(high - low + 1 for low, high in listed))}"

    @property
    def sample_ids(self) -> str:
        """The first ids, in words."""
        return f"{', '.join(self._first_ids)}{self._more(len(self._first_ids))}"

    def add(self, line: int, sample_id: str) -> None:
        """Take note of a sample."""
        self.count += 1
        if len(self._first_ids) < _LISTED_IDS:
            self._first_ids.append(sample_id)
        if self.ranges and self.ranges[-1][1] == line - 1:
            self.ranges[-1][1] = line
        else:
            self.ranges.append([line, line])

    def _more(self, listed: int) -> str:
        return f" and {self.count - listed:,} more" if self.count > listed else ""


# Which samples of a dataset a run is over: those with a tag, and of these so many at random.
#
# Tags filter first (any of several), then samples are drawn without replacement; the order of the file is
# kept. A draw depends on the seed and the samples' ids alone: reordering the file changes nothing, and a
# larger draw holds the smaller one.

_LISTED_TAGS = 10


@dataclass(frozen=True, slots=True)
class Selection:
    """Chosen samples; calling it begins to read them. Memory does not grow with the file."""

    stream: Callable[[], Iterator[Sample]]
    tags: frozenset[str]
    drawn: frozenset[int] | None
    n_in_file: int
    n_matching: int
    repeats: int = 1
    """How often each sample comes; from the second time on it is called ``id~2``, ``id~3``."""

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

    def __len__(self) -> int:
        return self.repeats * (self.n_matching if self.drawn is None else len(self.drawn))


def select_samples(
    stream: Callable[[], Iterator[Sample]],
    *,
    tags: Sequence[str] = (),
    sample_size: int | None = None,
    seed: int = 0,
    repeats: int = 1,
) -> Selection:
    """Choose samples from what ``stream`` begins to read each time; choosing none at all is an error."""
    wanted = frozenset(tags)
    present: Counter[str] = Counter()
    n_in_file = n_matching = 0

    def ranked() -> Iterator[tuple[int, int]]:
        nonlocal n_in_file, n_matching
        for sample in stream():
            n_in_file += 1
            present.update(set(sample.tags) if wanted else ())
            if _has_tag(sample, wanted):
                yield _rank(sample.id, seed), n_matching
                n_matching += 1

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
        raise InputError([Issue("empty-file", "at least one sample", "none")])
    if not n_matching:
        tags = " or ".join(sorted(wanted))
        there = ", ".join(tag for tag, _ in present.most_common(_LISTED_TAGS)) or "none"
        raise UsageError(
            f"expected samples with the tag {tags}, got none of {n_in_file:,}; tags there: {there}"
        )


_BYTES_PER_TOKEN = 4


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
    incomplete: tuple[Issue, ...] = ()
    is_golden: bool = False
    """A golden set: every answer is blamed."""
    located: LocatedContexts | None = None
    """Where its golden contexts are, if it is a golden set and scored by spans."""
    unmeasured: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The metrics that were asked for and cannot be measured, and why."""
    about: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What the dataset says of itself: ``id``, ``name`` and ``version``."""
    methods: Methods = field(default_factory=Methods, hash=False)
    """What its scorers are bound to, with the documents that answers may cite, as far as they are at hand."""
    annotations: tuple[Path, ...] = ()
    """The files in which people marked the true citations of its samples."""
    reading: RowReading | None = None
    tells_blame: bool = True
    """Whether it is looked for where each answer fails, as far as that can be told."""

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def judge_calls(self) -> int:
        """About how many calls judging takes; the answers, which decide it, are not there yet."""
        questions = frozenset[str]().union(*(scorer.questions for scorer in self.scorers))
        judge = self.methods.judge
        votes = 0 if judge is None else len(judge.models) * judge.votes
        return votes * len(questions) * len(self.selection)

    @property
    def is_blamed(self) -> bool:
        return self.tells_blame and are_blamed(self.scorers, is_golden=self.is_golden)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run would do, with everything that can be checked beforehand checked."""

    datasets: tuple[DatasetPlan, ...]
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
        return Usage(
            input_tokens=sum(dataset.input_tokens for dataset in self.datasets),
            output_tokens=sum(dataset.output_tokens for dataset in self.datasets),
        )


def plan_evaluation(
    manifest: Manifest,
    *,
    datasets: Sequence[str] = (),
    metrics: Sequence[str] = (),
    choice: SampleChoice | None = None,
    methods: Methods | None = None,
) -> Plan:
    """Plan a run over the datasets named (all of them where none is); all problems are in one error.

    ``metrics`` replace those of the manifest. A metric that only a judge can measure is a problem where the
    gate is on and ``methods`` have no judge.
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
            plans.append(_planned(entry, manifest, choice, methods or Methods()))
    problems.raise_all()
    warnings = (*threshold_warnings(manifest), *_incomplete(plans), *context_warnings(plans))
    return Plan(datasets=tuple(plans), warnings=warnings, left_out=tuple(left_out(manifest, entries)))


def threshold_warnings(manifest: Manifest) -> list[str]:
    """Return what is odd about thresholds: those that look inverted."""
    found = [
        (f"{manifest.file}:{threshold.line}: " if threshold.line else "") + threshold.warning
        for threshold in manifest.declared
        if threshold.warning
    ]
    return list(dict.fromkeys(found))


def check_measured(manifest: Manifest, metrics: Sequence[str] = ()) -> None:
    """Raise :class:`InputError` for each threshold whose metric no dataset of the manifest is scored by.

    ``metrics`` are those that take the place of the manifest's.
    """
    measured = {entry.name: _names((*entry.metrics, *metrics)) for entry in manifest.datasets}
    anywhere = frozenset[str]().union(*measured.values())
    issues = []
    for each in manifest.declared:
        if each.dataset is not None and each in manifest.thresholds:
            continue  # of one split of golden sets, which is checked when its samples are known
        known = anywhere if each.dataset is None else measured.get(each.dataset, anywhere)
        if each.metric not in known:
            nearest = get_close_matches(each.metric, sorted(known), n=3, cutoff=0.4) or sorted(known)
            of = "a dataset" if each.dataset is None else f"the dataset {each.dataset}"
            expected = f"a metric that {of} is scored by ({', '.join(nearest)})"
            issue = Issue(
                "unmeasured-threshold", expected, f"{each.metric}, which none measures", "thresholds"
            )
            issues.append(issue.located(str(manifest.file), each.line))
    if issues:
        raise InputError(issues)


def left_out(manifest: Manifest, entries: Sequence[DatasetEntry]) -> Iterator[Threshold]:
    """Yield the thresholds that the datasets and metrics of a narrowed run leave out."""
    measured = {entry.name: _names(entry.metrics) for entry in entries}
    anywhere = frozenset[str]().union(*measured.values())
    for threshold in manifest.declared:
        of = threshold.dataset
        if threshold.metric not in (anywhere if of is None else measured.get(of, ())):
            yield threshold


def _names(metrics: Iterable[str]) -> frozenset[str]:
    return frozenset({PASS_RATE, *map(metric_name, metrics)})


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
    with_documents: Callable[[Methods, Sequence[str]], Methods]
    """Returns methods with the dataset's own documents, where a metric looks something up in documents."""
    annotations: tuple[Path, ...] = ()
    """The files in which people marked the true citations of its samples."""


_SAID = ("dataset_id", "name", "version")


def source_of(entry: DatasetEntry) -> Source:
    """Return the source of a dataset's samples."""
    dataset, path = entry.dataset, entry.path
    if entry.source is not None:
        return Source(entry.source.stream, str(entry.format), lambda methods, _metrics: methods)
    if dataset is None and path is not None:
        rows = None if entry.reading is None else PlainRows(entry.reading)
        dialect, truth = rows or recognise(path, format=entry.format), annotated_truth(path)
        return Source(
            (lambda: map(truth.applied, dialect.stream(path))) if truth else lambda: dialect.stream(path),
            dialect.name,
            lambda methods, metrics: with_documents(methods, metrics, dialect=dialect, path=path),
            truth.files,
        )
    if dataset is None:
        raise UsageError(f"dataset {entry.name}: expected a file or samples, got neither")

    def documented(methods: Methods, _metrics: Sequence[str]) -> Methods:
        if methods.corpus is not None or not dataset.documents:
            return methods
        return replace(methods, corpus=Corpus(dataset.documents))

    return Source(lambda: iter(dataset.samples), dataset.dialect or "", documented)


def _about(entry: DatasetEntry, dialect: str) -> dict[str, str]:
    """Return what a dataset says of itself; a file of lines has nothing to say it with."""
    dataset = entry.dataset
    if dataset is None and entry.path is not None and dialect == "evaluation-dataset":
        dataset = recognise(entry.path, format=entry.format).read(entry.path)
    said = {} if dataset is None else {name: getattr(dataset, name) for name in _SAID}
    return {name.removeprefix("dataset_"): value for name, value in said.items() if value is not None}


def _planned(entry: DatasetEntry, manifest: Manifest, choice: SampleChoice, methods: Methods) -> DatasetPlan:
    scorers = _scorers(entry, manifest, methods)
    source = source_of(entry)
    own = source.with_documents(methods, entry.metrics)
    if own is not methods:
        methods, scorers = own, _scorers(entry, manifest, own)
    try:
        selection = select_samples(
            source.stream,
            tags=choice.tags,
            sample_size=choice.sample_size,
            seed=choice.seed,
            repeats=choice.repeats,
        )
    except UsageError as error:
        raise UsageError(f"dataset {entry.name}: {error}") from None
    except InputError as error:
        raise error.located(str(entry.path)) from None
    contexts = located_for(scorers.values(), selection, dialect=source.dialect)
    if contexts is not None:
        scorers = dict(zip(scorers, contexts.scorers(scorers.values()), strict=True))
    located, returned = () if contexts is None else contexts.truth, manifest.api.response_paths
    missing = MissingFields(list(scorers.values()), file=str(entry.path), located=located, returned=returned)
    calls = input_bytes = output_bytes = answers = references = 0
    for sample in replace(selection, repeats=1)():
        missing.look_at(sample)
        answers += sample.recorded is not None and sample.recorded.answer is not None
        references += sample.reference is not None or isinstance(sample.expectation, Refusal)
        calls += sum(turn.role == "user" for turn in sample.turns)
        input_bytes += sum(len((turn.content or "").encode()) for turn in sample.turns)
        expected = [turn.reference for turn in sample.turns] + [sample.reference]
        output_bytes += sum(len(text.encode()) for text in expected if text)
    if missing.issues() and not choice.allow_missing:
        raise InputError(missing.refusals())
    return DatasetPlan(
        entry=entry,
        selection=selection,
        scorers=tuple({scorer.name: scorer for scorer in scorers.values()}.values()),
        thresholds=tuple(_thresholds_of(entry, manifest.thresholds, scorers)),
        calls=choice.repeats * calls,
        input_tokens=-(-choice.repeats * input_bytes // _BYTES_PER_TOKEN),
        output_tokens=-(-choice.repeats * output_bytes // _BYTES_PER_TOKEN),
        incomplete=tuple(missing.issues()),
        is_golden=source.dialect in GOLDEN_DIALECTS,
        located=contexts,
        about=_about(entry, source.dialect),
        methods=methods,
        annotations=source.annotations,
        reading=entry.reading
        and replace(entry.reading, rows=selection.n_in_file, answers=answers, references=references),
    )


def _scorers(entry: DatasetEntry, manifest: Manifest, methods: Methods) -> dict[str, MetricScorer]:
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
    entry: DatasetEntry, shared: Sequence[Threshold], scorers: dict[str, MetricScorer]
) -> Iterator[Threshold]:
    """Yield the thresholds that hold for a dataset, under the names of its scores.

    Other people's scorers may give them other names than that of the metric.
    """
    scored = {metric_name(written): scorer.name for written, scorer in scorers.items()}
    known = {PASS_RATE, *scored}
    if entry.thresholds is not None:
        shared = [threshold for threshold in entry.thresholds if threshold.metric in known]
    for threshold in shared:
        if threshold.dataset in (None, entry.name):
            yield replace(threshold, metric=scored.get(threshold.metric, threshold.metric))


def _incomplete(plans: Iterable[DatasetPlan]) -> Iterator[str]:
    for plan in plans:
        for issue in plan.incomplete:
            effect = "those that the system returns count" if issue.path == "context" else "they are skipped"
            yield f"{issue}; {effect} (--allow-missing)"
