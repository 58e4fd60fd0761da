"""Evaluations beside each other: every metric tested, every answer sorted, and what the changed ones share.

Answers pair as ``pairing`` says. Where thresholds decide what is right, all tests are one family at 5 %,
looked at both ways: answers that passed and now fail against the reverse have 4 % of it (exact, mid-p), and
all metrics share the other 1 % by Holm's method; if the answers of every contender are shown to have changed,
their share passes on to the metrics. Where no threshold can be missed the metrics have all of it. Runs that
asked different questions are two samples: the share of good answers has Newcombe's interval, each metric
Welch's test.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.metrics.declaration import PASS_RATE
from rag_evaluation_framework.records.scores import TIMING_METHOD
from rag_evaluation_framework.results.baselines import standing_of, standing_together
from rag_evaluation_framework.results.comparison import (
    Comparison,
    RowNames,
    ScoredMetric,
    ScoredRun,
    compare_scored,
)
from rag_evaluation_framework.results.evaluations import Evaluation, Row, groups_of
from rag_evaluation_framework.results.gate import asked_id, sample_bounds
from rag_evaluation_framework.results.pairing import AskedRow, are_other_questions, is_left_out, pair_rows
from rag_evaluation_framework.results.regressions import (
    FLIPS_LEVEL,
    LEVEL,
    METRICS_LEVEL,
    Flip,
    Flips,
    Side,
    Standing,
    flips_of,
)
from rag_evaluation_framework.results.verdicts import (
    THRESHOLDS,
    AnswerChanges,
    ChangedAnswer,
    SampleShares,
    SharedTrait,
    SliceChanges,
    Threshold,
    Trait,
    written_thresholds,
)
from rag_evaluation_framework.startup import dataclass, field, replace
from rag_evaluation_framework.statistics.intervals import newcombe_interval
from rag_evaluation_framework.statistics.paired import flips_p_value, holm, smallest_detectable_difference
from rag_evaluation_framework.statistics.resampling import exact_mean

Key = tuple[str, str]
"""A sample: its dataset and its id."""
IsGood: TypeAlias = Callable[[Row], bool | None]
"""Tells whether an answer is good; ``None`` where nothing decides it."""


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


def passes(row: Row) -> bool | None:
    """Tell whether an answer counts as good where the runs asked different questions."""
    return row.passes


def compare_evaluations(
    systems: Mapping[str, Evaluation],
    *,
    answers: bool = True,
    metrics: Sequence[str] = (),
    is_good: IsGood = passes,
    **wish: Any,
) -> Comparison:
    """Compare evaluations with the first of them, by name.

    Without ``answers`` they are compared on metrics alone, over the same samples. ``metrics`` are those to
    compare, by default all; ``is_good`` decides over answers to different questions; ``wish`` is that of
    :func:`~rag_evaluation_framework.results.comparison.compare_scored`.
    """
    scored = [_scored(name, each, metrics) for name, each in systems.items()]
    if not answers:
        return compare_scored(scored, **wish)
    (baseline, first), *others = systems.items()
    sides = [(name, SideBySide(first, each, is_good)) for name, each in others]
    comparison = compare_scored(scored, names=[side.names for _, side in sides], **wish)
    return as_one_family(comparison, [_changes(baseline, name, side) for name, side in sides])


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


def as_one_family(comparison: Comparison, changes: Sequence[AnswerChanges]) -> Comparison:
    """Correct the tests of the answers over the contenders, and give the metrics what is left of 5 %."""
    tested = [each for each in changes if each.is_tested]
    adjusted = iter(holm([each.p_value for each in tested]))
    corrected = tuple(replace(each, p_value=next(adjusted)) if each.is_tested else each for each in changes)
    if not tested:
        return replace(comparison, answers=corrected)
    all_shown = all(each.p_value <= FLIPS_LEVEL for each in corrected if each.is_tested)
    level = LEVEL if all_shown else METRICS_LEVEL
    metrics = tuple(
        replace(each, alpha=level, smallest_detectable=_detectable(each.smallest_detectable, each.n, level))
        for each in comparison.metrics
    )
    return replace(comparison, answers=corrected, metrics=metrics)


def _detectable(at_5_percent: float | None, n: int, level: float) -> float | None:
    """Return what could have been shown at another level."""
    if at_5_percent is None:
        return None
    now, then = (smallest_detectable_difference(1.0, n, alpha=each) for each in (level, LEVEL))
    return at_5_percent * now / then


# The answers of two runs, side by side.

SLICES: Mapping[str, Trait] = {
    "tag": "tag",
    "category": "category",
    "difficulty": "difficulty",
    "query_type": "query_type",
    "document": "needed",
}
"""What answers are grouped by, as it is asked for: a document groups those that need it."""


@dataclass(slots=True)
class _Answers:
    """The answers of an evaluation by dataset and id: how each stands, what it is about and what was asked.

    A single dataset is ``called`` as that of the other run is. Rows are read again where they are needed.
    ``names`` are what answers are called beside the other run, ``scored_as`` by which ids columns have them.
    """

    evaluation: Evaluation
    called: str | None
    several: dict[Key, list[Standing]] = field(default_factory=dict)
    standings: dict[Key, Standing] = field(default_factory=dict)
    traits: dict[Key, frozenset[tuple[Trait, str]]] = field(default_factory=dict)
    asked: dict[Key, AskedRow] = field(default_factory=dict)
    names: dict[Key, Key] = field(default_factory=dict)
    scored_as: dict[str, Key] = field(default_factory=dict)
    good: Counter[bool] = field(default_factory=Counter)

    def rows(self) -> Iterator[tuple[Key, str, Row]]:
        """Yield each row with its dataset and id, and the name of its part."""
        for part_name, part in self.evaluation.named_runs.items():
            for row in part.rows:
                name = row.id.removeprefix(f"{row.split}/")
                key = (
                    row.split or self.called or part.name,
                    asked_id(name) if part.head.repeats > 1 else name,
                )
                yield key, part_name, row

    def read(
        self, bounds: Mapping[str, Sequence[Threshold]], metrics: Mapping[str, bool], is_good: IsGood
    ) -> _Answers:
        """Read each answer once."""
        several = len(self.evaluation.parts) > 1
        for key, part_name, row in self.rows():
            standing = standing_of(row.result, bounds.get(key[0], ()), metrics)
            self.several.setdefault(key, []).append(standing)
            self.traits[key] = self.traits.get(key, frozenset()) | frozenset(_traits(row))
            self.scored_as[f"{part_name}/{row.id}" if several else row.id] = key
            if key not in self.asked:
                is_whole = self.evaluation.document is None
                sample = row.sample
                self.asked[key] = (
                    AskedRow(key[1]) if sample is None else AskedRow.of(sample, is_whole=is_whole, id=key[1])
                )
            if (good := is_good(row)) is not None:
                self.good[good] += 1
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
        for key, standings in several.items():
            self.standings[key] = standings[0] if len(standings) == 1 else standing_together(standings)

    @property
    def names_of_scored(self) -> dict[str, str]:
        """What the ids of columns are called beside the other run."""
        prefixed = len(self.evaluation.parts) > 1
        named = {scored_as: self.names[key] for scored_as, key in self.scored_as.items()}
        return {each: f"{name[0]}/{name[1]}" if prefixed else name[1] for each, name in named.items()}

    def of(self, dataset: str) -> dict[str, Standing]:
        return {sample: each for (name, sample), each in self.standings.items() if name == dataset}

    def chosen(self, wanted: frozenset[Key]) -> dict[Key, tuple[str, Row]]:
        """Return the rows of some samples with their ids; of several answers the first that fails."""
        found: dict[Key, tuple[str, Row]] = {}
        for key, _, row in self.rows() if wanted else ():
            name = self.names[key]
            is_first = name not in found or (row.passes is False and found[name][1].passes)
            if name in wanted and is_first:
                found[name] = key[1], row
        return found


class SideBySide:
    """Two evaluations whose answers pair, or that asked different questions."""

    def __init__(self, before: Evaluation, after: Evaluation, is_good: IsGood = passes) -> None:
        is_single = len(before.runs) == len(after.runs) == 1
        called = after.runs[0].name if is_single else None
        self.metrics = _metrics(before, after)
        demanded = {
            part.name: part.thresholds or written_thresholds(part.head.configuration) for part in after.runs
        }
        self.bounds = {name: sample_bounds(each, self.metrics) for name, each in demanded.items()}
        self.old, self.new = (
            _Answers(each, called).read(self.bounds, self.metrics, is_good) for each in (before, after)
        )
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
        self.are_other = are_other_questions(self.pairings.values())

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

    @property
    def names(self) -> RowNames:
        return RowNames(self.old.names_of_scored, self.new.names_of_scored, self.are_other)

    def sides(self) -> list[Side]:
        """Return the datasets of either run."""
        old, new = (each.evaluation.head for each in (self.old, self.new))
        found = []
        for dataset, pairing in self.pairings.items():
            left_out = (
                [pairing.names_before[each] for each in pairing.gone] if is_left_out(new, dataset) else []
            )
            left_out += pairing.new if is_left_out(old, dataset) else ()
            found.append(
                Side(
                    dataset=dataset,
                    before=self.old.of(dataset),
                    after=self.new.of(dataset),
                    metrics=self.metrics,
                    thresholds=self.bounds.get(dataset, ()),
                    pairing=pairing,
                    left_out=frozenset(left_out),
                )
            )
        return found

    @property
    def shares(self) -> SampleShares | None:
        """How many answers of each run are good, where that is known of both."""
        before, now = ((each.good[True], each.good.total()) for each in (self.old, self.new))
        if not (before[1] and now[1]):
            return None
        return SampleShares(before=before, now=now, interval=newcombe_interval(*now, *before))


def _traits(row: Row) -> Iterator[tuple[Trait, str]]:
    for hit in row.response.hits:
        yield "document", hit.id if hit.span is None else hit.span.doc_id
    if row.sample is not None:
        yield from (("needed", name) for name, grade in row.sample.relevant_documents.items() if grade > 0)
        yield from (("needed", span.file) for span in row.sample.relevant_spans)
        yield from ((SLICES[kind], value) for kind, value in groups_of(row.sample) if kind in SLICES)
    if row.blame is not None and row.blame.is_fault:
        yield "why", row.blame.kind


_NAMED: tuple[Flip, ...] = ("worse", "better", "unpaired", "new", "gone", "left out")


def _changes(baseline: str, contender: str, both: SideBySide) -> AnswerChanges:
    sides, metrics, old, new = both.sides(), both.metrics, both.old, both.new
    decides = any(side.decides for side in sides)
    decided_by = THRESHOLDS if decides else next(iter(metrics), THRESHOLDS)
    if both.are_other:
        return AnswerChanges(
            baseline=baseline,
            contender=contender,
            decided_by=decided_by,
            other_questions=(len(old.scored_as), len(new.scored_as)),
            shares=both.shares,
        )
    flips = flips_of(sides)
    moved = {kind: flips.of(kind) for kind in _NAMED}
    edited = [(side.dataset, name) for side in sides for name in side.pairing.edited]
    unscored = {metric: list(_scored_once(old, new, metric)) for metric in metrics}
    wanted = frozenset(key for keys in (*moved.values(), *unscored.values(), edited) for key in keys)
    rows = old.chosen(wanted), new.chosen(wanted)
    described = {key: _described(key, old, new, *(each.get(key) for each in rows)) for key in wanted}
    told = {kind: tuple(described[key] for key in keys) for kind, keys in moved.items()}
    same = [key for key in flips.of("same") if new.standings[key].passes is not None]
    return AnswerChanges(
        baseline=baseline,
        contender=contender,
        decided_by=decided_by,
        worse=told["worse"],
        better=told["better"],
        new=told["new"],
        gone=told["gone"],
        left_out=told["left out"],
        unpaired=told["unpaired"],
        edited=tuple(described[key] for key in edited),
        notice=next((each.notice for each in both.pairings.values() if each.notice), None),
        right=sum(new.standings[key].passes is True for key in same) if decides else 0,
        wrong=sum(new.standings[key].passes is False for key in same) if decides else 0,
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
        level=FLIPS_LEVEL,
        would_show=_would_show(flips),
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
    sample, blame = row.sample, None if after is None else after.blame
    values = [run.standings[key].values if key in run.standings else {} for run in (old, new)]
    return ChangedAnswer(
        dataset=key[0],
        id=id_,
        question=row.question,
        line=None if sample is None or sample.origin is None else sample.origin.line,
        expected=row.expected,
        before=None if before is None else before.response.text or before.error,
        now=None if after is None else after.response.text or after.error,
        why=blame.kind if blame is not None and blame.is_fault else None,
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


def _would_show(flips: Flips) -> int | None:
    """Return how many that got worse would have been enough; ``None`` where no number would."""
    better = len(flips.of("better"))
    numbers = range(better + 1, flips.paired - better + 1)
    return next((n for n in numbers if 2 * flips_p_value(n, better) <= FLIPS_LEVEL), None)


# What the answers that moved one way have in common, and how groups of answers moved.

_MOST_TRAITS = 3
_TRAITS: tuple[Trait, ...] = ("document", "needed", "why", "tag", "category", "difficulty", "query_type")


def _shared(flips: Flips, old: _Answers, new: _Answers) -> Iterator[SharedTrait]:
    """Yield what at least half of the answers that moved one way share, and clearly fewer of the others."""
    paired = [*flips.of("worse"), *flips.of("better"), *flips.of("same")]
    for moved, run in _MOVED_IN:
        chosen = frozenset(flips.of(moved))
        # Of one that got better it tells more how it failed before.
        traits = {key: _told(new.traits[key], (old if run == "old" else new).traits[key]) for key in paired}
        having: dict[tuple[Trait, str], set[Key]] = {}
        for key, found in traits.items():
            for trait in found:
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


_MOVED_IN: tuple[tuple[Literal["worse", "better"], str], ...] = (("worse", "new"), ("better", "old"))


def _told(
    now: Iterable[tuple[Trait, str]], failing: Iterable[tuple[Trait, str]]
) -> Iterator[tuple[Trait, str]]:
    yield from (trait for trait in now if trait[0] != "why")
    yield from (trait for trait in failing if trait[0] == "why")


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
