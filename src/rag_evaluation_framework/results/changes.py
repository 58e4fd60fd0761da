"""Evaluations beside each other: every metric tested, every answer sorted, and what the changed ones share.

Answers pair as ``pairing`` says. Answers that were correct and are wrong are held against the reverse (exact,
mid-p, looked at both ways); the metrics are one family of tests below it, by Holm's method. Runs that asked
different questions are two samples: the share of correct answers, or of flagged ones where nothing was
judged, has Newcombe's interval, each metric Welch's test.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from msgspec.structs import replace

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.judging.verdict import AnswerCounts
from rag_evaluation_framework.records.scores import TIMING_METHOD
from rag_evaluation_framework.results.comparison import (
    Comparison,
    ScoredMetric,
    ScoredPair,
    ScoredRun,
    compare_scored,
)
from rag_evaluation_framework.results.drawn_scores import JoinedDraws
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.paired_answers import SLICES, Flip, PairedAnswers, Standings
from rag_evaluation_framework.results.summaries import Columns
from rag_evaluation_framework.results.verdicts import (
    LEVEL,
    AnswerChanges,
    ChangedAnswer,
    SampleShares,
    SharedTrait,
    SliceChanges,
    Trait,
)
from rag_evaluation_framework.statistics.intervals import newcombe_interval
from rag_evaluation_framework.statistics.paired import holm
from rag_evaluation_framework.statistics.resampling import exact_mean


def by_run(evaluations: Sequence[Evaluation]) -> dict[str, Evaluation]:
    """Return evaluations by the ids of their runs; a second one of an id is numbered."""
    if len(evaluations) < 2:
        raise UsageError("compare: only one evaluation given; expected two or more")
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
    tables = [(name, PairedAnswers(first, each)) for name, each in others]
    sides = [
        _paired_scores(both, scored[0], each) for (_, both), each in zip(tables, scored[1:], strict=True)
    ]
    comparison = compare_scored(scored, sides=sides, **wish)
    return _with_answers(comparison, [_changes(baseline, name, both) for name, both in tables])


def _scored(name: str, evaluation: Evaluation, wanted: Sequence[str]) -> ScoredRun:
    """Return the scores of an evaluation by metric and sample, parts together; times left out.

    Nothing is said of the data: how its rows pair decides what is compared.
    """
    parts = evaluation.parts or {"": evaluation}
    prefixes = [f"{each}/" if len(parts) > 1 else "" for each in parts]
    ids = [
        prefix + id_
        for prefix, part in zip(prefixes, parts.values(), strict=True)
        for id_ in part.columns.ids
    ]
    metrics: dict[str, ScoredMetric] = {}
    for part in parts.values():
        for metric, figure in part.metrics.items():
            is_left_out = wanted and metric not in wanted
            if is_left_out or metric not in part.columns.values or figure.method == TIMING_METHOD:
                continue
            version, columns = (
                part.head.metric_versions.get(metric),
                [each.columns for each in parts.values()],
            )
            values = np.concatenate([each.values.get(metric, np.full(len(each), np.nan)) for each in columns])
            draws = _joined_draws(columns, metric)
            found = ScoredMetric(figure.method, version, figure.higher_is_better, ids, values, draws)
            if not np.isnan(values).all():
                metrics.setdefault(metric, found)
    return ScoredRun(name=name, dataset_id=None, dataset_hash=None, metrics=metrics)


def _joined_draws(parts: Sequence[Columns], metric: str) -> JoinedDraws | None:
    """Return the draws of several parts as one; their strata are others, and so are numbered."""
    found, used = [], 0
    for part in parts:
        values = part.values.get(metric, np.full(len(part), np.nan))
        draws = part.draws.get(metric, ~np.isnan(values)).astype(np.int16)
        found.append(draws + np.int16(used) * np.sign(draws))
        used = int(np.abs(found[-1]).max(initial=used))
    if len(parts) == 1 and metric not in parts[0].draws:
        return None
    return np.concatenate(found)


def _with_answers(comparison: Comparison, changes: Sequence[AnswerChanges]) -> Comparison:
    """Add the answers, whose tests are corrected over the contenders."""
    adjusted = iter(holm([each.p_value for each in changes if each.is_tested]))
    corrected = (replace(each, p_value=next(adjusted)) if each.is_tested else each for each in changes)
    return replace(comparison, answers=tuple(corrected))


def _paired_scores(both: PairedAnswers, before: ScoredRun, after: ScoredRun) -> ScoredPair:
    """Return the scores of both by the questions of the table."""
    is_prefixed = any(len(each.columns.evaluation.parts) > 1 for each in (both.old, both.new))
    names = [f"{dataset}/{name}" if is_prefixed else name for dataset, name in both.names]
    shared = before.metrics.keys() & after.metrics.keys()
    old, new = (
        replace(run, metrics={name: standings.scored(name, run.metrics[name], names) for name in shared})
        for run, standings in ((before, both.old), (after, both.new))
    )
    return old, new, both.are_other


def _shares(counts: tuple[AnswerCounts, AnswerCounts]) -> SampleShares | None:
    """Return how many answers of each run are correct; flagged, where nothing was judged."""
    if not all(each.total for each in counts):
        return None
    is_judged = all(each.judged for each in counts)
    before, now = ((each.correct if is_judged else each.flagged, each.total) for each in counts)
    interval = newcombe_interval(*now, *before)
    return SampleShares(before=before, now=now, interval=interval, are_flagged=not is_judged)


_NAMED: tuple[Flip, ...] = ("worse", "better", "unpaired", "new", "gone", "left out")


def _changes(baseline: str, contender: str, both: PairedAnswers) -> AnswerChanges:
    old, new = both.old, both.new
    counts = old.columns.evaluation.answers, new.columns.evaluation.answers
    if both.are_other:
        return AnswerChanges(
            baseline=baseline,
            contender=contender,
            other_questions=(len(old.columns), len(new.columns)),
            shares=_shares(counts),
            answers=counts,
        )
    edited = [number for numbers in both.edited.values() for number in numbers]
    unscored = {metric: _scored_once(both, metric) for metric in both.metrics}
    named = {kind: both.flipped(kind) for kind in _NAMED}
    wanted = dict.fromkeys(
        number for each in (*named.values(), *unscored.values(), edited) for number in each
    )
    described, reasons = _describe(both, wanted)
    told: dict[str, Any] = {
        kind.replace(" ", "_"): tuple(described[number] for number in numbers)
        for kind, numbers in named.items()
    }
    same = new.ranks[both.flipped("same")]
    return AnswerChanges(
        baseline=baseline,
        contender=contender,
        answers=counts,
        **told,
        unconfirmed=int((old.ranks[both.flipped("unpaired")] == 1.0).sum()),
        edited=tuple(described[number] for number in edited),
        notice=both.notice,
        correct=int((same == 1.0).sum()),
        wrong=int((same == 0.0).sum()),
        is_tested=both.is_judged,
        same=len(same),
        untold=len(both.flipped("nothing")),
        unscored={
            metric: tuple(
                replace(described[number], reason=reasons[number].get(metric)) for number in numbers
            )
            for metric, numbers in unscored.items()
            if numbers
        },
        p_value=2 * min(both.p_worse, 1 - both.p_worse),
        traits=tuple(_shared(both)),
        slices=_slices(both),
    )


def _scored_once(both: PairedAnswers, metric: str) -> list[int]:
    """Return the questions of both runs that only one of them scores by a metric."""
    before, now = (np.isnan(each.values(metric)) for each in (both.old, both.new))
    is_undrawn = both.old.undrawn(metric) | both.new.undrawn(metric)
    found: list[int] = np.flatnonzero(both.both & ~is_undrawn & (before != now)).tolist()
    return found


def _describe(
    both: PairedAnswers, wanted: Collection[int]
) -> tuple[dict[int, ChangedAnswer], dict[int, dict[str, str]]]:
    """Read some questions again, and describe them; say by metric in which run one has no score, and why."""
    answers: dict[int, ChangedAnswer] = {}
    reasons: dict[int, dict[str, str]] = {number: {} for number in wanted}
    for standings, when in ((both.old, "before"), (both.new, "now")):
        for number, place, row in standings.read(wanted, is_one_enough=True):
            known, sample, verdict = answers.get(number), row.sample, row.verdict
            text, scored = row.response.text or row.error, {each.metric: each for each in row.scores}
            for metric in both.metrics:
                if metric not in scored or scored[metric].value is None:
                    reason = scored[metric].reason if metric in scored else None
                    said = f"not scored {when}" + ("" if reason is None else f": {reason}")
                    reasons[number].setdefault(metric, said)
            shown = {
                metric: (_known(both.old.values(metric)[number]), _known(both.new.values(metric)[number]))
                for metric in (*scored, *both.metrics)
                if metric in both.metrics and not np.isnan(standings.values(metric)[number])
            }
            is_now = standings is both.new
            answers[number] = ChangedAnswer(
                dataset=both.names[number][0],
                id=standings.columns.key_at(place)[1],
                question=row.question,
                line=None if sample is None or sample.origin is None else sample.origin.line,
                expected=row.expected,
                before=(None if known is None else known.before) if is_now else text,
                now=text if is_now else None,
                why=verdict.failure_kind if is_now and verdict is not None and verdict.has_failed else None,
                scores={**({} if known is None else known.scores), **shown},
            )
    return answers, reasons


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


# What the answers that moved one way have in common, and how groups of answers moved.

_MOST_TRAITS = 3
_TRAITS: tuple[Trait, ...] = ("document", "needed", "why", "tag", "category", "difficulty", "query_type")


def _shared(both: PairedAnswers) -> Iterator[SharedTrait]:
    """Yield what at least half of the answers that moved one way share, and clearly fewer of the others."""
    is_paired = _mask(both, "worse", "better", "same")
    total = int(is_paired.sum())
    # Of one that got better it tells more how it failed before.
    ways: tuple[tuple[Literal["worse", "better"], Standings], ...] = (
        ("worse", both.new),
        ("better", both.old),
    )
    for moved, failing in ways:
        is_chosen = _mask(both, moved)
        chosen, ranked = int(is_chosen.sum()), []
        for run, is_cause in ((both.new, False), (failing, True)):
            numbers, codes = run.traits
            names, size = list(run.columns.traits), len(run.columns.traits)
            having = np.bincount(codes[is_paired[numbers]], minlength=size)
            found = np.bincount(codes[is_chosen[numbers]], minlength=size)
            for code in np.flatnonzero((found >= 2) & (2 * found >= chosen)).tolist():
                kind, value = names[code]
                if (kind == "why") == is_cause:
                    here = frozenset(numbers[(codes == code) & is_chosen[numbers]].tolist())
                    chance = _chance(len(here), chosen, int(having[code]), total)
                    ranked.append((chance, _TRAITS.index(kind), value, int(having[code]), here))
        told: set[frozenset[int]] = set()
        for chance, place, value, count, here in sorted(ranked, key=lambda each: each[:3]):
            if chance <= LEVEL and here not in told and len(told) < _MOST_TRAITS:
                told.add(here)
                yield SharedTrait(
                    moved=moved,
                    kind=_TRAITS[place],
                    value=value,
                    count=len(here),
                    of=chosen,
                    others=count - len(here),
                    of_others=total - chosen,
                )


def _mask(both: PairedAnswers, *kinds: Flip) -> Any:
    found = np.zeros(len(both.names), dtype=bool)
    for kind in kinds:
        found[both.flipped(kind)] = True
    return found


def _chance(found: int, chosen: int, having: int, total: int) -> float:
    """Return how likely so many of the chosen or more have something that as many of all have."""
    most = min(chosen, having)
    ways = sum(math.comb(having, k) * math.comb(total - having, chosen - k) for k in range(found, most + 1))
    return ways / math.comb(total, chosen)


def _slices(both: PairedAnswers) -> dict[str, dict[str, SliceChanges]]:
    """Return how the answers of each group moved; an answer may be in several."""
    ways: tuple[Flip, ...] = ("worse", "better", "same")
    masks = [_mask(both, moved) for moved in ways]
    numbers, codes = both.new.traits
    is_paired = np.logical_or.reduce(masks)[numbers]
    numbers, codes = numbers[is_paired], codes[is_paired]
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(both.new.columns.traits) + 1))
    found: dict[str, dict[str, SliceChanges]] = {}
    for name, kind in SLICES.items():
        for (group, value), code in sorted(both.new.columns.traits.items()):
            here = numbers[order[starts[code] : starts[code + 1]]] if group == kind else ()
            if len(here):
                counts = {moved: int(mask[here].sum()) for moved, mask in zip(ways, masks, strict=True)}
                figures = {metric: _means(both, metric, here) for metric in both.metrics}
                known = {metric: means for metric, means in figures.items() if means is not None}
                found.setdefault(name, {})[value] = SliceChanges(**counts, metrics=known)
    return found


def _means(both: PairedAnswers, metric: str, numbers: Any) -> tuple[int, float, float] | None:
    before, now = (each.values(metric)[numbers] for each in (both.old, both.new))
    known = ~(np.isnan(before) | np.isnan(now))
    n = int(known.sum())
    return (n, exact_mean(before[known]), exact_mean(now[known])) if n else None
