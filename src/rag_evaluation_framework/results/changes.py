"""Evaluations beside each other: every metric tested, every answer sorted, and what the changed ones share.

Answers pair by dataset and id. Where thresholds decide what is right, all tests are one family at 5 %, looked
at both ways: answers that passed and now fail against the reverse have 4 % of it (exact, mid-p), and all
metrics share the other 1 % by Holm's method; if the answers of every contender are shown to have changed,
their share passes on to the metrics. Where no threshold can be missed the metrics have all of it.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.metrics.declaration import PASS_RATE
from rag_evaluation_framework.records.samples import RECORDED_ROWS
from rag_evaluation_framework.records.scores import TIMING_METHOD
from rag_evaluation_framework.results.baselines import standing_of, standing_together
from rag_evaluation_framework.results.comparison import Comparison, ScoredMetric, ScoredRun, compare_scored
from rag_evaluation_framework.results.evaluations import Evaluation, Row, groups_of
from rag_evaluation_framework.results.gate import asked_id, sample_bounds
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
from rag_evaluation_framework.results.run_folder import fingerprint
from rag_evaluation_framework.results.verdicts import (
    THRESHOLDS,
    AnswerChanges,
    ChangedAnswer,
    SharedTrait,
    SliceChanges,
    Threshold,
    Trait,
    written_thresholds,
)
from rag_evaluation_framework.startup import dataclass, field, replace
from rag_evaluation_framework.statistics.paired import flips_p_value, holm, smallest_detectable_difference
from rag_evaluation_framework.statistics.resampling import exact_mean

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
    """Compare evaluations with the first of them, by name; without ``answers`` on metrics alone.

    ``metrics`` are those to compare, by default all; ``wish`` is that of
    :func:`~rag_evaluation_framework.results.comparison.compare_scored`.
    """
    scored = [_scored(name, each, metrics) for name, each in systems.items()]
    comparison = compare_scored(scored, **wish)
    if not answers:
        return comparison
    (baseline, first), *others = systems.items()
    return as_one_family(comparison, [_changes(baseline, first, name, each) for name, each in others])


def _scored(name: str, evaluation: Evaluation, wanted: Sequence[str]) -> ScoredRun:
    """Return the scores of an evaluation by metric and sample, parts together; times left out."""
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
    head, is_logged = evaluation.head, is_logged_run(evaluation)
    return ScoredRun(
        name=name,
        dataset_id=None if is_logged else head.dataset_id,
        dataset_hash=None if is_logged else head.dataset_hash,
        metrics={metric: found for metric, found in metrics.items() if found.values},
    )


def is_logged_run(evaluation: Evaluation) -> bool:
    """Tell whether the answers stood in the data: another file of answers is then what is to be compared."""
    return evaluation.head.target == RECORDED_ROWS


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
    """

    evaluation: Evaluation
    called: str | None
    standings: dict[Key, Standing] = field(default_factory=dict)
    traits: dict[Key, frozenset[tuple[Trait, str]]] = field(default_factory=dict)
    asked: dict[Key, tuple[str | None, ...]] = field(default_factory=dict)

    def rows(self) -> Iterator[tuple[Key, Row]]:
        for part in self.evaluation.runs:
            for row in part.rows:
                dataset = row.split or self.called or part.name
                name = row.id.removeprefix(f"{row.split}/")
                yield (dataset, asked_id(name) if part.head.repeats > 1 else name), row

    def read(self, bounds: Mapping[str, Sequence[Threshold]], metrics: Mapping[str, bool]) -> _Answers:
        """Read each answer once."""
        several: dict[Key, list[Standing]] = {}
        for key, row in self.rows():
            standing = standing_of(row.result, bounds.get(key[0], ()), metrics)
            several.setdefault(key, []).append(standing)
            self.traits[key] = self.traits.get(key, frozenset()) | frozenset(_traits(row))
            if row.sample is not None:
                told = (row.sample.question, row.sample.reference)
                asked = row.sample
                if is_logged_run(self.evaluation):  # which has answers, times and the like beside it
                    asked = replace(asked, recorded=None, metadata={}, extra={})
                # What a results file has of a sample is not all of it.
                self.asked[key] = (*told, None if self.evaluation.document else fingerprint(asked))
        for key, standings in several.items():
            self.standings[key] = standings[0] if len(standings) == 1 else standing_together(standings)
        return self

    def of(self, dataset: str) -> dict[str, Standing]:
        return {sample: each for (name, sample), each in self.standings.items() if name == dataset}

    def chosen(self, wanted: frozenset[Key]) -> dict[Key, Row]:
        """Return the rows of some samples; of several answers to one, the first that does not pass."""
        found: dict[Key, Row] = {}
        for key, row in self.rows() if wanted else ():
            if key in wanted and (key not in found or (row.passes is False and found[key].passes)):
                found[key] = row
        return found


def _traits(row: Row) -> Iterator[tuple[Trait, str]]:
    for hit in row.response.hits:
        yield "document", hit.id if hit.span is None else hit.span.doc_id
    if row.sample is not None:
        yield from (("needed", name) for name, grade in row.sample.relevant_documents.items() if grade > 0)
        yield from (("needed", span.file) for span in row.sample.relevant_spans)
        yield from ((SLICES[kind], value) for kind, value in groups_of(row.sample) if kind in SLICES)
    if row.blame is not None and row.blame.is_fault:
        yield "why", row.blame.kind


_NAMED: tuple[Flip, ...] = ("worse", "better", "unpaired", "new", "gone")


def _changes(baseline: str, before: Evaluation, contender: str, after: Evaluation) -> AnswerChanges:
    is_single = len(before.runs) == len(after.runs) == 1
    called = after.runs[0].name if is_single else None
    metrics = _metrics(before, after)
    demanded = {
        part.name: part.thresholds or written_thresholds(part.head.configuration) for part in after.runs
    }
    bounds = {name: sample_bounds(thresholds, metrics) for name, thresholds in demanded.items()}
    old, new = (_Answers(each, called).read(bounds, metrics) for each in (before, after))
    edited = {
        key for key in old.asked.keys() & new.asked.keys() if _is_edited(old.asked[key], new.asked[key])
    }
    sides = [
        Side(
            dataset=dataset,
            before=old.of(dataset),
            after=new.of(dataset),
            metrics=metrics,
            thresholds=bounds.get(dataset, ()),
            edited=frozenset(sample for name, sample in edited if name == dataset),
        )
        for dataset in dict.fromkeys(name for name, _ in (*old.standings, *new.standings))
    ]
    flips = flips_of(sides)
    moved = {kind: flips.of(kind) for kind in _NAMED}
    unscored = {metric: list(_scored_once(old, new, edited, metric)) for metric in metrics}
    wanted = frozenset(key for keys in (*moved.values(), *unscored.values()) for key in keys)
    rows = old.chosen(wanted), new.chosen(wanted)
    described = {key: _described(key, old, new, *(each.get(key) for each in rows)) for key in wanted}
    decides = any(side.decides for side in sides)
    both = [key for key in flips.of("same") if new.standings[key].passes is not None]
    return AnswerChanges(
        baseline=baseline,
        contender=contender,
        decided_by=THRESHOLDS if decides else next(iter(metrics), THRESHOLDS),
        **{str(kind): tuple(described[key] for key in keys) for kind, keys in moved.items()},
        right=sum(new.standings[key].passes is True for key in both) if decides else 0,
        wrong=sum(new.standings[key].passes is False for key in both) if decides else 0,
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


def _is_edited(then: tuple[str | None, ...], now: tuple[str | None, ...]) -> bool:
    """Tell whether a sample is another now; what a results file does not have of it is the same."""
    *texts_then, content_then = then
    *texts_now, content_now = now
    if content_then is None or content_now is None:
        return texts_then != texts_now
    return content_then != content_now


def _scored_once(old: _Answers, new: _Answers, edited: Container[Key], metric: str) -> Iterator[Key]:
    """Yield the samples of both runs that only one of them scores by a metric."""
    for key, before in old.standings.items():
        after = new.standings.get(key)
        if after is None or key in edited or metric in before.undrawn | after.undrawn:
            continue
        if (metric in before.values) != (metric in after.values):
            yield key


def _described(
    key: Key, old: _Answers, new: _Answers, before: Row | None, after: Row | None
) -> ChangedAnswer:
    row = next(each for each in (after, before) if each is not None)
    sample, blame = row.sample, None if after is None else after.blame
    values = [run.standings[key].values if key in run.standings else {} for run in (old, new)]
    return ChangedAnswer(
        dataset=key[0],
        id=key[1],
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


def _reason(metric: str, before: Row | None, after: Row | None) -> str | None:
    """Say in which run a metric has no score of an answer, and why."""
    for when, row in (("before", before), ("now", after)):
        score = None if row is None else next((each for each in row.scores if each.metric == metric), None)
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
