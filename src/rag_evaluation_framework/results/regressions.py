"""The movements of the questions of a run since a baseline, by the verdicts on their answers.

A question *became wrong* or is *no longer confirmed* if its answer was correct before. The exact test of
answers that moved between correct and wrong, and the tests of the gated metrics, are figures beside that;
where nothing was answered, because only retrieval was measured, the metrics decide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from rag_evaluation_framework.results.drawn_scores import JoinedDraws, paired_judgings
from rag_evaluation_framework.results.movements import Movement as AnswerMovement
from rag_evaluation_framework.results.movements import movement_between
from rag_evaluation_framework.results.paired_answers import PairedAnswers
from rag_evaluation_framework.results.pairing import OTHER_QUESTIONS
from rag_evaluation_framework.results.summaries import RunTotals
from rag_evaluation_framework.results.verdicts import METRICS_LEVEL, GatedMetric, Movement, Regressions
from rag_evaluation_framework.statistics.intervals import mean_interval, t_quantile
from rag_evaluation_framework.statistics.paired import holm, largest_drop, paired_randomisation_test
from rag_evaluation_framework.statistics.partly_judged import Judging, mean_difference
from rag_evaluation_framework.statistics.resampling import Floats, exact_mean, standard_deviation

NOTHING_JUDGED = "no answer was judged in either run"
NOTHING_IN_COMMON = "the two runs have no question in common"


def regressions(baseline: str, both: PairedAnswers, *, seed: int = 0) -> Regressions:
    """Compare each dataset of a run with the baseline's run of it; all tests of metrics are one family."""
    names = both.names
    asked: dict[str, Any] = {"new": len(both.flipped("new")), "gone": len(both.flipped("gone"))}
    if both.are_other:
        return Regressions(baseline=baseline, word="not evaluated", reason=OTHER_QUESTIONS, **asked)
    moved: dict[AnswerMovement, list[tuple[str, str]]] = {each: [] for each in get_args(AnswerMovement)}
    partly_before: set[tuple[str, str]] = set()
    for dataset in both.demands:
        here = both.questions[dataset]
        for number in (np.flatnonzero(both.is_changed[here]) + here.start).tolist():
            before, after = both.old.verdicts(number), both.new.verdicts(number)
            movement = movement_between(before, after)
            moved[movement].append(names[number])
            if movement == "became wrong" and not before[0].is_correct:
                partly_before.add(names[number])
    metrics = _gated_metrics(both, seed)
    wanted = [both.questions[dataset] for dataset in both.demands]
    has_answers = any(both.new.has_verdict[here].any() for here in wanted)
    worse, word, reason = moved["became wrong"], "no worse", None
    if not has_answers:
        findings = {each.finding for each in metrics}
        word = next((each for each in ("worse", "undecided", "better") if each in findings), word)
        worse = [names[number] for number in both.flipped("worse")] if word == "worse" else []
    elif not any(both.both[here].any() for here in wanted):
        word, reason = "not evaluated", NOTHING_IN_COMMON
    elif not both.is_judged and any(both.is_changed[here].any() for here in wanted):
        word, reason = "not evaluated", NOTHING_JUDGED
    better, paired = moved["became correct"], both.paired
    edited = [number for dataset in both.demands for number in both.edited[dataset]]
    return Regressions(
        baseline=baseline,
        word=word,  # type: ignore[arg-type]  # one of the words it may be
        worse=tuple(worse),
        partly_before=frozenset(partly_before),
        unconfirmed=tuple(moved["no longer confirmed"]),
        unstable=tuple(moved["unstable"]),
        partly=tuple(moved["became partly correct"]),
        better=tuple(better),
        **asked,
        edited=_labelled(both, edited),
        left_out=_labelled(both, both.flipped("left out")),
        notice=next(
            (both.pairings[name].notice for name in both.demands if both.pairings[name].notice), None
        ),
        paired=paired,
        p_value=both.p_worse,
        metrics=metrics,
        drop=largest_drop(len(worse), len(better), paired) if paired else None,
        reason=reason,
    ).settled()


def _labelled(both: PairedAnswers, numbers: Sequence[int]) -> tuple[tuple[str, str], ...]:
    """Return the keys of questions with their labels for people."""
    labels = both.labels(numbers)
    return tuple((both.names[number][0], labels[number]) for number in numbers)


class _Gated(NamedTuple):
    """A gated metric of a dataset: its values before and now of the questions that have both.

    Of one that was judged in part ``judgings`` are what was judged before and now.
    """

    dataset: str
    metric: str
    is_higher_better: bool
    before: Floats
    now: Floats
    judgings: tuple[Judging, ...] | None


def _gated_metrics(both: PairedAnswers, seed: int) -> tuple[GatedMetric, ...]:
    gated = [
        _gated(both, dataset, metric, demand.metrics[metric])
        for dataset, demand in both.demands.items()
        for metric in demand.gated
    ]
    tested = [each for each in gated if len(each.before)]
    fallen, risen = (
        holm([_one_sided(each, fell=fell, seed=seed) for each in tested]) for fell in (True, False)
    )
    p_values = zip(fallen, risen, strict=True)
    return tuple(
        _gated_metric(each, next(p_values), seed)
        if len(each.before)
        else GatedMetric(dataset=each.dataset, metric=each.metric)
        for each in gated
    )


def _gated(both: PairedAnswers, dataset: str, metric: str, is_higher_better: bool) -> _Gated:
    here = both.questions[dataset]
    sides = both.old, both.new
    before, now = (each.values(metric)[here] for each in sides)
    known = ~(np.isnan(before) | np.isnan(now))
    draws = [_draws_of(both, side, dataset, metric) for side in (0, 1)]
    judgings = None if draws[0] is draws[1] is None else paired_judgings((before, draws[0]), (now, draws[1]))
    return _Gated(dataset, metric, is_higher_better, before[known], now[known], judgings)


def _draws_of(both: PairedAnswers, side: int, dataset: str, metric: str) -> JoinedDraws | None:
    """Return how the samples of a dataset were drawn; ``None`` if none was left out."""
    columns, totals = (both.old, both.new)[side].columns, RunTotals()
    if metric not in columns.judged_in_part:
        return None
    here, places = both.questions[dataset], []
    for number, _, row in (both.old, both.new)[side].read(range(here.start, here.stop)):
        totals.add(row.result)
        places.append(number - here.start)
    drawn, draws = totals.columns().draws, np.zeros(here.stop - here.start, np.int16)
    draws[places] = drawn.get(metric, 0)
    return draws if metric in drawn else None


def _one_sided(gated: _Gated, *, fell: bool, seed: int) -> float:
    """Return the p-value of a metric that fell or rose, where higher is better."""
    down = gated.is_higher_better == fell
    if gated.judgings is not None:
        found = mean_difference(gated.judgings[1], gated.judgings[0])
        if found is None or found.p_value is None:
            return 1.0
        return found.p_value / 2 if (found.value < 0) == down else 1.0 - found.p_value / 2
    first, second = (gated.now, gated.before) if down else (gated.before, gated.now)
    return paired_randomisation_test(first, second, seed=seed, looks="down").p_value


def _gated_metric(gated: _Gated, p_values: tuple[float, float], seed: int) -> GatedMetric:
    differences = gated.now - gated.before
    sign = 1.0 if gated.is_higher_better else -1.0
    means = exact_mean(gated.before), exact_mean(gated.now)
    interval, drop = None, None
    if (judgings := gated.judgings) is not None:
        means = judgings[0].value, judgings[1].value
        found, wide = (mean_difference(judgings[1], judgings[0], confidence=each) for each in (0.95, 0.9))
        interval = None if found is None else found.interval
        ends = None if wide is None else wide.interval
        drop = None if ends is None else -ends.low if sign > 0 else ends.high
    else:
        interval = mean_interval(differences, method="bootstrap", seed=seed)
        drop = _largest_fall((-sign * differences).tolist())
    gain = sign * (exact_mean(differences) if judgings is None else means[1] - means[0])
    finding: Movement | Literal["same"]
    if not differences.any() and not gain:
        finding = "same"
    elif gain < 0 and p_values[0] <= METRICS_LEVEL:
        finding = "worse"
    elif gain > 0 and p_values[1] <= METRICS_LEVEL:
        finding = "better"
    else:
        finding = "undecided" if gain < 0 else "no worse"
    return GatedMetric(
        dataset=gated.dataset,
        metric=gated.metric,
        n=len(differences),
        before=means[0],
        now=means[1],
        interval=interval,
        p_adjusted=p_values[0],
        finding=finding,
        drop=drop,
    )


def _largest_fall(falls: list[float]) -> float:
    """Return the upper end of a one-sided 95 % interval of a mean fall; equal falls tell no spread."""
    n, mean = len(falls), exact_mean(falls)
    spread = standard_deviation(falls) if n > 1 else 0.0
    if spread == 0.0:
        return mean + largest_drop(0, 0, n)
    return mean + t_quantile(0.95, n - 1) * spread / math.sqrt(n)
