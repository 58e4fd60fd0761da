"""Evaluations beside each other: every metric tested, every answer sorted, and what the changed ones share.

Answers pair as ``pairing`` says. Answers that were correct and are wrong are held against the reverse (exact,
mid-p, looked at both ways); the metrics are one family of tests below it, by Holm's method. Runs that asked
different questions are two samples: the share of correct answers, or of flagged ones where nothing was
judged, has Newcombe's interval, each metric Welch's test.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.judging.verdict import (
    GRADES,
    UNSTABLE,
    AnswerCounter,
    AnswerCounts,
    original_sample_id,
    verdict_as_read,
)
from rag_evaluation_framework.metrics.declaration import PASS_RATE
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import TIMING_METHOD
from rag_evaluation_framework.results.comparison import (
    Comparison,
    ScoredMetric,
    ScoredPair,
    ScoredRun,
    compare_scored,
)
from rag_evaluation_framework.results.drawn_scores import DrawsById
from rag_evaluation_framework.results.evaluations import Evaluation, Row, groups_of
from rag_evaluation_framework.results.pairing import AskedRow, are_other_questions, is_left_out, pair_rows
from rag_evaluation_framework.results.regressions import LEVEL, Flip, Flips, Side, Standing, flips_of
from rag_evaluation_framework.results.run_store import labels_beside
from rag_evaluation_framework.results.summaries import RunTotals
from rag_evaluation_framework.results.verdicts import (
    AnswerChanges,
    ChangedAnswer,
    SampleShares,
    SharedTrait,
    SliceChanges,
    Threshold,
    Trait,
)
from rag_evaluation_framework.statistics.intervals import newcombe_interval
from rag_evaluation_framework.statistics.paired import holm
from rag_evaluation_framework.statistics.resampling import exact_mean
from rag_evaluation_framework.text.normalisation import plain

Key = tuple[str, str]
"""A sample: its dataset and its id."""


def by_run(evaluations: Sequence[Evaluation]) -> dict[str, Evaluation]:
    """Return evaluations by the ids of their runs; a second one of an id is numbered."""
    if len(evaluations) < 2:
        raise UsageError("compare: expected two evaluations or more, got one")
    named: dict[str, Evaluation] = {}
    for each in evaluations:
        name, number = each.head.run_id, 2
        while name in named:
            name, number = f"{each.head.run_id} ({number})", number + 1
        named[name] = each
    return named


def compare_evaluations(
    systems: Mapping[str, Evaluation], *, answers: bool = True, metrics: Sequence[str] = (), **wish: Any
) -> Comparison:
    """Compare evaluations with the first of them, by name.

    Without ``answers`` they are compared on metrics alone, over the same samples. ``metrics`` are those to
    compare, by default all; ``wish`` is that of
    :func:`~rag_evaluation_framework.results.comparison.compare_scored`.
    """
    scored = [_scored(name, each, metrics) for name, each in systems.items()]
    if not answers:
        return compare_scored(scored, **wish)
    (baseline, first), *others = systems.items()
    sides = [(name, SideBySide(first, each)) for name, each in others]
    paired = [side.pair_scores(scored[0], each) for (_, side), each in zip(sides, scored[1:], strict=True)]
    comparison = compare_scored(scored, sides=paired, **wish)
    return _with_answers(comparison, [_changes(baseline, name, side) for name, side in sides])


def _scored(name: str, evaluation: Evaluation, wanted: Sequence[str]) -> ScoredRun:
    """Return the scores of an evaluation by metric and sample, parts together; times left out.

    Nothing is said of the data: how its rows pair decides what is compared.
    """
    metrics: dict[str, ScoredMetric] = {}
    for part_name, part in (evaluation.parts or {"": evaluation}).items():
        prefix = f"{part_name}/" if len(evaluation.parts) > 1 else ""
        for metric, figure in part.metrics.items():
            is_left_out = wanted and metric not in wanted
            if is_left_out or metric not in part.columns.values or figure.method == TIMING_METHOD:
                continue
            version = part.head.metric_versions.get(metric)
            found = metrics.setdefault(metric, ScoredMetric(figure.method, version, figure.higher_is_better))
            found.values.update({prefix + each: value for each, value in part.columns.scored(metric).items()})
            _add_draws(found, part, metric, prefix)
    scored = {metric: found for metric, found in metrics.items() if found.values}
    return ScoredRun(name=name, dataset_id=None, dataset_hash=None, metrics=scored)


def _add_draws(found: ScoredMetric, part: Evaluation, metric: str, prefix: str) -> None:
    """Add how the samples of a part were drawn; strata of several parts are others, and so are numbered."""
    draws, known = part.columns.draws.get(metric), found.draws
    if draws is None and known is None and not prefix:
        return
    used = max(map(abs, (known or {}).values()), default=0)
    if draws is None:
        here = dict.fromkeys(part.columns.scored(metric), 1)
    else:
        here = dict(zip(part.columns.ids, draws.tolist(), strict=True))
    numbered = {prefix + name: at + used if at > 0 else at - used for name, at in here.items() if at}
    found.draws = {**(known or {}), **numbered}


def _with_answers(comparison: Comparison, changes: Sequence[AnswerChanges]) -> Comparison:
    """Add the answers, whose tests are corrected over the contenders."""
    adjusted = iter(holm([each.p_value for each in changes if each.is_tested]))
    corrected = (replace(each, p_value=next(adjusted)) if each.is_tested else each for each in changes)
    return replace(comparison, answers=tuple(corrected))


# The answers of two runs, side by side.

SLICES: Mapping[str, Trait] = {
    "tag": "tag",
    "category": "category",
    "difficulty": "difficulty",
    "query_type": "query_type",
    "document": "needed",
}
"""What answers are grouped by, as it is asked for: a document groups those that need it."""


class _Answers(msgspec.Struct):
    """The answers of an evaluation by dataset and id: how each stands, what it is about and what was asked.

    A single dataset is ``called`` as that of the other run is. Rows are read again where they are needed.
    ``names`` are what answers are called beside the other run, ``scored_as`` by which ids columns have them.
    """

    evaluation: Evaluation
    called: str | None
    several: dict[Key, list[Standing]] = {}
    standings: dict[Key, Standing] = {}
    traits: dict[Key, frozenset[tuple[Trait, str]]] = {}
    asked: dict[Key, AskedRow] = {}
    names: dict[Key, Key] = {}
    scored_as: dict[str, Key] = {}
    counts: AnswerCounter = msgspec.field(default_factory=AnswerCounter)

    def rows(self, dataset: str | None = None) -> Iterator[tuple[Key, str, Row]]:
        """Yield each row, or those of a dataset, with its dataset and id, and the name of its part."""
        for part_name, part in self.evaluation.named_runs.items():
            is_other = part.document is None and (self.called or part.name) != dataset
            for row in () if dataset is not None and is_other else part.rows:
                name = row.id.removeprefix(f"{row.split}/")
                key = (
                    row.split or self.called or part.name,
                    original_sample_id(name) if part.head.repeats > 1 else name,
                )
                yield key, part_name, row

    def read(self, metrics: Mapping[str, bool], *, is_baseline: bool = False) -> _Answers:
        """Read each answer once."""
        several, runs = len(self.evaluation.parts) > 1, self.evaluation.named_runs
        for key, part_name, row in self.rows():
            is_unstable = is_baseline and key[1] in runs[part_name].answers.unstable
            self.several.setdefault(key, []).append(_standing_of(row, metrics, is_unstable=is_unstable))
            self.traits[key] = self.traits.get(key, frozenset()) | frozenset(_traits(row))
            self.scored_as[f"{part_name}/{row.id}" if several else row.id] = key
            if key not in self.asked:
                is_whole = self.evaluation.document is runs[part_name].document is None
                sample = row.sample
                self.asked[key] = (
                    AskedRow(key[1]) if sample is None else AskedRow.of(sample, is_whole=is_whole, id=key[1])
                )
            self.counts.add(row)
        return self

    def of_datasets(self) -> dict[str, list[AskedRow]]:
        """Return what was asked, by dataset."""
        found: dict[str, list[AskedRow]] = {}
        for (dataset, _), row in self.asked.items():
            found.setdefault(dataset, []).append(row)
        return found

    def call(self, names: Mapping[Key, Key]) -> None:
        """Call answers by these names, those of one name together."""
        self.names = dict(names)
        several: dict[Key, list[Standing]] = {}
        traits: dict[Key, frozenset[tuple[Trait, str]]] = {}
        for key, standings in self.several.items():
            several.setdefault(names[key], []).extend(standings)
            traits[names[key]] = traits.get(names[key], frozenset()) | self.traits[key]
        self.traits = traits
        self.standings = {key: _standing_together(standings) for key, standings in several.items()}

    def decide_again(self, samples: Mapping[Key, Sample], metrics: Mapping[str, bool]) -> None:
        """Decide answers by what is expected of them in these samples, by name."""
        several: dict[Key, list[Standing]] = {}
        labels = labels_beside(None if self.evaluation.folder is None else self.evaluation.folder.parent)
        for key, _, row in self.rows() if samples else ():
            if (sample := samples.get(name := self.names[key])) is not None:
                decided = replace(row, verdict=verdict_as_read(sample, row.result, None, labels))
                several.setdefault(name, []).append(_standing_of(decided, metrics))
        self.standings |= {name: _standing_together(each) for name, each in several.items()}

    @property
    def names_of_scored(self) -> dict[str, str]:
        """What the ids of columns are called beside the other run."""
        prefixed = len(self.evaluation.parts) > 1
        named = {scored_as: self.names[key] for scored_as, key in self.scored_as.items()}
        return {each: f"{name[0]}/{name[1]}" if prefixed else name[1] for each, name in named.items()}

    def draws_of(self, dataset: str) -> Mapping[str, DrawsById]:
        """Return of each metric that was judged in part how the samples of a dataset were drawn, by name."""
        totals = RunTotals()
        for key, _, row in self.rows(dataset):
            if key[0] == dataset:
                totals.add(replace(row.result, sample_id=self.names[key][1]))
        columns = totals.columns()
        return {
            name: dict(zip(columns.ids, each.tolist(), strict=True)) for name, each in columns.draws.items()
        }

    def of(self, dataset: str) -> dict[str, Standing]:
        return {sample: each for (name, sample), each in self.standings.items() if name == dataset}

    def chosen(self, wanted: frozenset[Key]) -> dict[Key, tuple[str, Row]]:
        """Return the rows of some samples with their ids; of several answers the first that fails."""
        found: dict[Key, tuple[str, Row]] = {}
        for key, _, row in self.rows() if wanted else ():
            name = self.names[key]
            is_first = name not in found or (row.has_failed and not found[name][1].has_failed)
            if name in wanted and is_first:
                found[name] = key[1], row
        return found


def _standing_of(row: Row, metrics: Container[str], *, is_unstable: bool = False) -> Standing:
    """Return how one answer stands; an unstable one was not correct at least once."""
    verdicts = () if row.verdict is None else (row.verdict, *((UNSTABLE,) if is_unstable else ()))
    return Standing(
        verdicts,
        (plain(row.response.text or ""),),
        {metric: value for metric, value in row.values.items() if metric in metrics},
        frozenset(each.metric for each in row.scores if each.is_undrawn),
    )


def _standing_together(standings: Sequence[Standing]) -> Standing:
    """Return how a question stands that was asked several times; its scores are the means."""
    if len(standings) == 1:
        return standings[0]
    names = {name for each in standings for name in each.values}
    return Standing(
        tuple(verdict for each in standings for verdict in each.verdicts),
        tuple(sorted(text for each in standings for text in each.texts)),
        {
            name: exact_mean([each.values[name] for each in standings if name in each.values])
            for name in names
        },
    )


class Demand(NamedTuple):
    """What a dataset is compared with a baseline by: metrics, with whether higher is better, and bounds."""

    metrics: Mapping[str, bool]
    thresholds: Sequence[Threshold]


class SideBySide:
    """Two evaluations whose answers pair, or that asked different questions.

    The earlier one is a baseline where something is ``demanded`` of the later one, by dataset. An answer of a
    baseline that is unstable was not correct at least once.
    """

    def __init__(
        self, before: Evaluation, after: Evaluation, demanded: Mapping[str, Demand] | None = None
    ) -> None:
        is_single = len(before.runs) == len(after.runs) == 1
        called = after.runs[0].name if is_single else None
        self._demanded = demanded
        wanted = [each.metrics for each in (demanded or {}).values()] or [_metrics(before, after)]
        self.metrics = {name: higher for each in wanted for name, higher in each.items()}
        self.old = _Answers(before, called).read(self.metrics, is_baseline=demanded is not None)
        self.new = _Answers(after, called).read(self.metrics)
        then, now = self.old.of_datasets(), self.new.of_datasets()
        self.pairings = {
            dataset: pair_rows(then.get(dataset, ()), now.get(dataset, ()))
            for dataset in dict.fromkeys([*then, *now])
        }
        for answers, side in ((self.old, "names_before"), (self.new, "names_after")):
            answers.call(
                {
                    (dataset, id_): (dataset, name)
                    for dataset, pairing in self.pairings.items()
                    for id_, name in getattr(pairing, side).items()
                }
            )
        self.old.decide_again(self._edited_samples(), self.metrics)
        self.are_other = are_other_questions(self.pairings.values())

    def _edited_samples(self) -> dict[Key, Sample]:
        """Return what is asked and expected now of the samples that were edited."""
        edited = {(dataset, name) for dataset, pairing in self.pairings.items() for name in pairing.edited}
        rows = self.new.rows() if edited else ()
        return {key: row.sample for key, _, row in rows if key in edited and row.sample is not None}

    def rows(self) -> Iterator[tuple[Key, str, Row, Row]]:
        """Yield the rows of the later run that pair, each with its dataset and id, the name of its part and
        the row of the earlier run; of repeats the first with the first.
        """
        old: dict[Key, deque[Row]] = {}
        for key, _, row in () if self.are_other else self.old.rows():
            old.setdefault(self.old.names[key], deque()).append(row)
        for key, part_name, row in self.new.rows():
            if left := old.get(self.new.names[key]):
                yield key, part_name, left.popleft(), row

    def pair_scores(self, before: ScoredRun, after: ScoredRun) -> ScoredPair:
        """Return the scores of both with their rows called alike where they pair."""
        old, new = self.old.names_of_scored, self.new.names_of_scored
        return ScoredPair(before.renamed(old), after.renamed(new), self.are_other)

    def sides(self) -> list[Side]:
        """Return the datasets of either run, or those of which something is demanded."""
        old, new = (each.evaluation.head for each in (self.old, self.new))
        found = []
        wanted = self._demanded or dict.fromkeys(self.pairings, Demand(self.metrics, ()))
        for dataset, (metrics, thresholds) in wanted.items():
            pairing = self.pairings[dataset]
            left_out = (
                [pairing.names_before[each] for each in pairing.gone] if is_left_out(new, dataset) else []
            )
            left_out += pairing.new if is_left_out(old, dataset) else ()
            found.append(
                Side(
                    dataset=dataset,
                    before=self.old.of(dataset),
                    after=self.new.of(dataset),
                    metrics=metrics,
                    thresholds=thresholds,
                    pairing=pairing,
                    left_out=frozenset(left_out),
                    drawn=(self.old.draws_of(dataset), self.new.draws_of(dataset))
                    if thresholds
                    else ({}, {}),
                )
            )
        return found

    @property
    def counts(self) -> tuple[AnswerCounts, AnswerCounts]:
        return self.old.counts.counts(), self.new.counts.counts()

    @property
    def shares(self) -> SampleShares | None:
        """How many answers of each run are correct; flagged, where nothing was judged."""
        counts = self.counts
        if not all(each.total for each in counts):
            return None
        is_judged = all(each.judged for each in counts)
        before, now = ((each.correct if is_judged else each.flagged, each.total) for each in counts)
        interval = newcombe_interval(*now, *before)
        return SampleShares(before=before, now=now, interval=interval, are_flagged=not is_judged)


def _traits(row: Row) -> Iterator[tuple[Trait, str]]:
    for hit in row.response.hits:
        yield "document", hit.id if hit.span is None else hit.span.doc_id
    if row.sample is not None:
        yield from (("needed", name) for name, grade in row.sample.relevant_documents.items() if grade > 0)
        yield from (("needed", span.file) for span in row.sample.relevant_spans)
        yield from ((SLICES[kind], value) for kind, value in groups_of(row.sample) if kind in SLICES)
    if row.verdict is not None and row.verdict.has_failed and row.verdict.failure_kind not in GRADES:
        yield "why", row.verdict.failure_kind


_NAMED: tuple[Flip, ...] = ("worse", "better", "unpaired", "new", "gone", "left out")


def _changes(baseline: str, contender: str, both: SideBySide) -> AnswerChanges:
    sides, metrics, old, new = both.sides(), both.metrics, both.old, both.new
    if both.are_other:
        return AnswerChanges(
            baseline=baseline,
            contender=contender,
            other_questions=(len(old.scored_as), len(new.scored_as)),
            shares=both.shares,
            answers=both.counts,
        )
    flips = flips_of(sides)
    moved = {kind: flips.of(kind) for kind in _NAMED}
    edited = [(side.dataset, name) for side in sides for name in side.pairing.edited]
    unscored = {metric: list(_scored_once(old, new, metric)) for metric in metrics}
    wanted = frozenset(key for keys in (*moved.values(), *unscored.values(), edited) for key in keys)
    rows = old.chosen(wanted), new.chosen(wanted)
    described = {key: _described(key, old, new, *(each.get(key) for each in rows)) for key in wanted}
    told: dict[str, Any] = {
        kind.replace(" ", "_"): tuple(described[key] for key in keys) for kind, keys in moved.items()
    }
    same = Counter(new.standings[key].rank for key in flips.of("same"))
    return AnswerChanges(
        baseline=baseline,
        contender=contender,
        answers=both.counts,
        **told,
        unconfirmed=sum(old.standings[key].rank == 1.0 for key in flips.of("unpaired")),
        edited=tuple(described[key] for key in edited),
        notice=next((each.notice for each in both.pairings.values() if each.notice), None),
        correct=same[1.0],
        wrong=same[0.0],
        is_tested=flips.is_judged,
        same=len(flips.of("same")),
        untold=len(flips.of("nothing")),
        unscored={
            metric: tuple(
                replace(described[key], reason=_reason(metric, *(each.get(key) for each in rows)))
                for key in keys
            )
            for metric, keys in unscored.items()
            if keys
        },
        p_value=2 * min(flips.p_worse, 1 - flips.p_worse),
        traits=tuple(_shared(flips, old, new)),
        slices=_slices(flips, old, new, metrics),
    )


def _metrics(before: Evaluation, after: Evaluation) -> dict[str, bool]:
    """Return the metrics that both have, with whether higher is better, times left out."""
    old = {metric for part in before.runs for metric in part.metrics}
    return {
        metric: figure.higher_is_better
        for part in after.runs
        for metric, figure in part.metrics.items()
        if metric in old and metric != PASS_RATE and figure.method != TIMING_METHOD
    }


def _scored_once(old: _Answers, new: _Answers, metric: str) -> Iterator[Key]:
    """Yield the samples of both runs that only one of them scores by a metric."""
    for key, before in old.standings.items():
        after = new.standings.get(key)
        if after is None or metric in before.undrawn | after.undrawn:
            continue
        if (metric in before.values) != (metric in after.values):
            yield key


def _described(
    key: Key,
    old: _Answers,
    new: _Answers,
    of_before: tuple[str, Row] | None,
    of_after: tuple[str, Row] | None,
) -> ChangedAnswer:
    id_, row = next(each for each in (of_after, of_before) if each is not None)
    before, after = (None if each is None else each[1] for each in (of_before, of_after))
    sample, verdict = row.sample, None if after is None else after.verdict
    values = [run.standings[key].values if key in run.standings else {} for run in (old, new)]
    return ChangedAnswer(
        dataset=key[0],
        id=id_,
        question=row.question,
        line=None if sample is None or sample.origin is None else sample.origin.line,
        expected=row.expected,
        before=None if before is None else before.response.text or before.error,
        now=None if after is None else after.response.text or after.error,
        why=verdict.failure_kind if verdict is not None and verdict.has_failed else None,
        scores={
            metric: (values[0].get(metric), values[1].get(metric))
            for metric in dict.fromkeys([*values[0], *values[1]])
        },
    )


def _reason(metric: str, before: tuple[str, Row] | None, after: tuple[str, Row] | None) -> str | None:
    """Say in which run a metric has no score of an answer, and why."""
    for when, found in (("before", before), ("now", after)):
        score = (
            None if found is None else next((each for each in found[1].scores if each.metric == metric), None)
        )
        if score is None or score.value is None:
            why = "" if score is None or score.reason is None else f": {score.reason}"
            return f"not scored {when}{why}"
    return None


# What the answers that moved one way have in common, and how groups of answers moved.

_MOST_TRAITS = 3
_TRAITS: tuple[Trait, ...] = ("document", "needed", "why", "tag", "category", "difficulty", "query_type")


def _shared(flips: Flips, old: _Answers, new: _Answers) -> Iterator[SharedTrait]:
    """Yield what at least half of the answers that moved one way share, and clearly fewer of the others."""
    paired = [*flips.of("worse"), *flips.of("better"), *flips.of("same")]
    # Of one that got better it tells more how it failed before.
    ways: tuple[tuple[Literal["worse", "better"], _Answers], ...] = (("worse", new), ("better", old))
    for moved, failing in ways:
        chosen = frozenset(flips.of(moved))
        having: dict[tuple[Trait, str], set[Key]] = {}
        for key in paired:
            for run, is_cause in ((new, False), (failing, True)):
                for trait in run.traits[key]:
                    if (trait[0] == "why") == is_cause:
                        having.setdefault(trait, set()).add(key)
        ranked = sorted(
            (
                (_chance(len(keys & chosen), len(chosen), len(keys), len(paired)), _TRAITS.index(kind), value)
                for (kind, value), keys in having.items()
                if len(keys & chosen) >= 2 and 2 * len(keys & chosen) >= len(chosen)
            )
        )
        told: set[frozenset[Key]] = set()
        for chance, place, value in ranked:
            keys = having[_TRAITS[place], value]
            if chance <= LEVEL and frozenset(keys & chosen) not in told and len(told) < _MOST_TRAITS:
                told.add(frozenset(keys & chosen))
                yield SharedTrait(
                    moved=moved,
                    kind=_TRAITS[place],
                    value=value,
                    count=len(keys & chosen),
                    of=len(chosen),
                    others=len(keys - chosen),
                    of_others=len(paired) - len(chosen),
                )


def _chance(found: int, chosen: int, having: int, total: int) -> float:
    """Return how likely so many of the chosen or more have something that as many of all have."""
    most = min(chosen, having)
    ways = sum(math.comb(having, k) * math.comb(total - having, chosen - k) for k in range(found, most + 1))
    return ways / math.comb(total, chosen)


def _slices(
    flips: Flips, old: _Answers, new: _Answers, metrics: Iterable[str]
) -> dict[str, dict[str, SliceChanges]]:
    """Return how the answers of each group moved; an answer may be in several."""
    groups: dict[tuple[Trait, str], dict[str, list[Key]]] = {}
    for moved in ("worse", "better", "same"):
        for key in flips.of(moved):
            for trait in new.traits[key]:
                groups.setdefault(trait, {}).setdefault(moved, []).append(key)
    found: dict[str, dict[str, SliceChanges]] = {}
    for name, kind in SLICES.items():
        for (group, value), members in sorted(groups.items()):
            if group == kind:
                keys = [key for each in members.values() for key in each]
                counts = {moved: len(members.get(moved, ())) for moved in ("worse", "better", "same")}
                figures = {metric: _means(metric, keys, old, new) for metric in metrics}
                known = {metric: means for metric, means in figures.items() if means is not None}
                found.setdefault(name, {})[value] = SliceChanges(**counts, metrics=known)
    return found


def _means(metric: str, keys: Iterable[Key], old: _Answers, new: _Answers) -> tuple[int, float, float] | None:
    both = [(old.standings[key].values, new.standings[key].values) for key in keys]
    pairs = [(before[metric], now[metric]) for before, now in both if metric in before and metric in now]
    if not pairs:
        return None
    return len(pairs), exact_mean([each[0] for each in pairs]), exact_mean([each[1] for each in pairs])
