"""How the questions of a run moved since a baseline, by the verdicts on their answers.

A question *became wrong* or is *no longer confirmed* if its answer was correct before. The exact test of
answers that moved between correct and wrong, and the tests of the gated metrics, are figures beside that;
where nothing was answered, because only retrieval was measured, the metrics decide.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

import msgspec

from rag_evaluation_framework.judging.verdict import AnswerVerdict
from rag_evaluation_framework.results.drawn_scores import DrawsById, paired_judgings
from rag_evaluation_framework.results.movements import Movement as AnswerMovement
from rag_evaluation_framework.results.movements import movement_between
from rag_evaluation_framework.results.pairing import OTHER_QUESTIONS, Pairing, are_other_questions
from rag_evaluation_framework.results.verdicts import GatedMetric, Movement, Regressions, Threshold
from rag_evaluation_framework.statistics.intervals import mean_interval, t_quantile
from rag_evaluation_framework.statistics.paired import (
    flips_p_value,
    holm,
    largest_drop,
    paired_randomisation_test,
    repeated_flips_p_value,
)
from rag_evaluation_framework.statistics.partly_judged import Judging, mean_difference
from rag_evaluation_framework.statistics.resampling import exact_mean, standard_deviation

FLIPS_LEVEL, METRICS_LEVEL, LEVEL = 0.04, 0.01, 0.05
NOTHING_JUDGED = "no answer was judged in either run"
NOTHING_IN_COMMON = "the two runs have no question in common"

Flip = Literal["worse", "better", "same", "new", "gone", "left out", "unpaired", "nothing"]
"""How one sample moved; ``unpaired``: only one run judges its answer; ``nothing``: neither does."""


class Standing(msgspec.Struct, frozen=True):
    """How one question stands in a run: the verdicts on its answers, their texts, and its scores by metric.

    There is no verdict where only retrieval was measured. ``undrawn`` are the metrics by which it was not
    drawn to be judged.
    """

    verdicts: tuple[AnswerVerdict, ...]
    texts: tuple[str, ...]
    values: Mapping[str, float]
    undrawn: frozenset[str] = frozenset()

    @property
    def rank(self) -> float | None:
        """The mean rank of the grades; ``None`` where an answer was not judged."""
        ranks = [each.rank for each in self.verdicts]
        known = [rank for rank in ranks if rank is not None]
        return exact_mean(known) if known and len(known) == len(ranks) else None

    @property
    def counts(self) -> tuple[int, int]:
        """How many of its answers are correct, and how many are correct or wrong."""
        correct = sum(each.is_correct for each in self.verdicts)
        return correct, correct + sum(each.is_wrong for each in self.verdicts)


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs of one dataset, sample by sample, and what is demanded of it. Samples that pair have one name.

    ``metrics`` are those of the run in their order, with whether higher is better: the first is the primary
    one. ``thresholds`` are the declared ones; their metrics are the gated ones. ``left_out`` are samples that
    one run was narrowed not to ask. ``drawn`` has for metrics that were judged in part how the samples were
    drawn, before and now.
    """

    dataset: str
    before: Mapping[str, Standing]
    after: Mapping[str, Standing]
    metrics: Mapping[str, bool]
    thresholds: Sequence[Threshold] = ()
    pairing: Pairing = Pairing()
    left_out: frozenset[str] = frozenset()
    drawn: tuple[Mapping[str, DrawsById], Mapping[str, DrawsById]] = ({}, {})

    @property
    def gated(self) -> list[str]:
        """The metrics that have a threshold, in the order of the run."""
        declared = {threshold.metric for threshold in self.thresholds}
        return [metric for metric in self.metrics if metric in declared]

    def standings(self) -> Iterator[tuple[str, Standing, Standing]]:
        """Yield the samples of both runs: how each stands before and now."""
        for name, before in self.before.items():
            if (after := self.after.get(name)) is not None:
                yield name, before, after

    def movements(self) -> Iterator[tuple[str, Flip]]:
        """Yield for each sample of either run how it moved."""
        primary = next(iter(self.metrics), "")
        for name, before in self.before.items():
            after = self.after.get(name)
            if after is None:
                yield name, "left out" if name in self.left_out else "gone"
            elif before.verdicts and after.verdicts:
                yield name, _flip(before, after)
            else:
                yield name, self._by(primary, before, after)
        for name in self.after:
            if name not in self.before:
                yield name, "left out" if name in self.left_out else "new"

    def pairs(self, metric: str) -> list[tuple[float, float]]:
        """Return a metric's values of the samples that have one in both runs: before, now."""
        return [
            (before.values[metric], after.values[metric])
            for _, before, after in self.standings()
            if metric in before.values and metric in after.values
        ]

    def judgings(self, metric: str) -> tuple[Judging, Judging] | None:
        """Return what was judged before and now by a metric that was judged in part; ``None`` of others."""
        draws = [each.get(metric) for each in self.drawn]
        if draws == [None, None]:
            return None
        before, after = (
            {name: each.values[metric] for name, each in side.items() if metric in each.values}
            for side in (self.before, self.after)
        )
        first, second = draws
        return paired_judgings(before, after, first_draws=first, second_draws=second)

    def _by(self, primary: str, before: Standing, after: Standing) -> Flip:
        """Tell how a sample without an answer moved by its first metric."""
        if primary not in before.values or primary not in after.values:
            return "nothing" if primary not in before.values and primary not in after.values else "unpaired"
        change = after.values[primary] - before.values[primary]
        return _moved(change if self.metrics[primary] else -change)


def _flip(before: Standing, after: Standing) -> Flip:
    ranks = before.rank, after.rank
    if None in ranks:
        return "nothing" if ranks == (None, None) else "unpaired"
    return "same" if before.texts == after.texts else _moved(ranks[1] - ranks[0])  # type: ignore[operator]


def _moved(change: float) -> Flip:
    return "better" if change > 0 else "worse" if change < 0 else "same"


class Flips(msgspec.Struct, frozen=True):
    """How the samples of both runs moved, as ``(dataset, id)`` by kind.

    ``p_worse`` is that of answers that moved between correct and wrong, and looks at the worse alone.
    Looking both ways, p is twice the smaller of it and its complement, since it is a mid-p.
    """

    by_kind: Mapping[Flip, tuple[tuple[str, str], ...]]
    p_worse: float
    is_judged: bool
    """Whether the answers were judged, in either run."""

    def of(self, kind: Flip) -> tuple[tuple[str, str], ...]:
        return self.by_kind.get(kind, ())

    @property
    def paired(self) -> int:
        return len(self.of("worse")) + len(self.of("better")) + len(self.of("same"))


def flips_of(sides: Sequence[Side]) -> Flips:
    """Tell how each sample of both runs moved, all datasets together."""
    by_kind: dict[Flip, list[tuple[str, str]]] = {}
    for side in sides:
        for name, movement in side.movements():
            by_kind.setdefault(movement, []).append((side.dataset, name))
    both = [(before, after) for side in sides for _, before, after in side.standings()]
    changed = [(before, after) for before, after in both if before.texts != after.texts]
    answers = [(*before.counts, *after.counts) for before, after in changed]
    if any(before > 1 or now > 1 for _, before, _, now in answers):
        p_worse = repeated_flips_p_value(answers)
    else:
        worse = sum(each[:2] == (1, 1) and each[2:] == (0, 1) for each in answers)
        better = sum(each[:2] == (0, 1) and each[2:] == (1, 1) for each in answers)
        p_worse = flips_p_value(worse, better)
    is_judged = any(each.is_judged for pair in both for one in pair for each in one.verdicts)
    return Flips({kind: tuple(samples) for kind, samples in by_kind.items()}, p_worse, is_judged)


def regressions(baseline: str, sides: Sequence[Side], *, seed: int = 0) -> Regressions:
    """Compare each dataset of a run with the baseline's run of it; all tests of metrics are one family."""
    flips = flips_of(sides)
    asked: dict[str, Any] = {"new": len(flips.of("new")), "gone": len(flips.of("gone"))}
    if are_other_questions(side.pairing for side in sides):
        return Regressions(baseline=baseline, word="not evaluated", reason=OTHER_QUESTIONS, **asked)
    moved: dict[AnswerMovement, list[tuple[str, str]]] = {each: [] for each in get_args(AnswerMovement)}
    partly_before: set[tuple[str, str]] = set()
    for side in sides:
        for name, before, after in side.standings():
            is_same_text = before.texts == after.texts
            movement = movement_between(before.verdicts, after.verdicts, is_same_text=is_same_text)
            moved[movement].append((side.dataset, name))
            if movement == "became wrong" and not before.verdicts[0].is_correct:
                partly_before.add((side.dataset, name))
    metrics = _gated_metrics(sides, seed)
    has_answers = any(each.verdicts for side in sides for each in side.after.values())
    worse, word, reason = moved["became wrong"], "no worse", None
    if not has_answers:
        findings = {each.finding for each in metrics}
        word = next((each for each in ("worse", "undecided", "better") if each in findings), word)
        worse = list(flips.of("worse")) if word == "worse" else []
    elif not any(True for side in sides for _ in side.standings()):
        word, reason = "not evaluated", NOTHING_IN_COMMON
    elif not flips.is_judged and any(a.texts != b.texts for side in sides for _, a, b in side.standings()):
        word, reason = "not evaluated", NOTHING_JUDGED
    better, paired = moved["became correct"], flips.paired
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
        edited=_labelled(sides, [(side.dataset, name) for side in sides for name in side.pairing.edited]),
        left_out=_labelled(sides, flips.of("left out")),
        notice=next((side.pairing.notice for side in sides if side.pairing.notice), None),
        paired=paired,
        p_value=flips.p_worse,
        metrics=metrics,
        drop=largest_drop(len(worse), len(better), paired) if paired else None,
        reason=reason,
    ).settled()


def _labelled(sides: Sequence[Side], samples: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return samples as people are told of them."""
    labels = {side.dataset: side.pairing.labels for side in sides}
    return tuple((dataset, labels[dataset].get(name, name)) for dataset, name in samples)


def _gated_metrics(sides: Sequence[Side], seed: int) -> tuple[GatedMetric, ...]:
    gated = [(side, metric, side.pairs(metric)) for side in sides for metric in side.gated]
    tested = [each for each in gated if each[2]]
    fallen, risen = (
        holm([_one_sided(*each, fell=fell, seed=seed) for each in tested]) for fell in (True, False)
    )
    p_values = zip(fallen, risen, strict=True)
    return tuple(
        _gated_metric(side, metric, pairs, next(p_values), seed)
        if pairs
        else GatedMetric(dataset=side.dataset, metric=metric)
        for side, metric, pairs in gated
    )


def _one_sided(side: Side, metric: str, pairs: list[tuple[float, float]], *, fell: bool, seed: int) -> float:
    """Return the p-value of a metric that fell or rose, where higher is better."""
    down = side.metrics[metric] == fell
    if (judgings := side.judgings(metric)) is not None:
        found = mean_difference(judgings[1], judgings[0])
        if found is None or found.p_value is None:
            return 1.0
        return found.p_value / 2 if (found.value < 0) == down else 1.0 - found.p_value / 2
    before, now = (list(each) for each in zip(*pairs, strict=True))
    first, second = (now, before) if down else (before, now)
    return paired_randomisation_test(first, second, seed=seed, looks="down").p_value


def _gated_metric(
    side: Side, metric: str, pairs: list[tuple[float, float]], p_values: tuple[float, float], seed: int
) -> GatedMetric:
    differences = [now - before for before, now in pairs]
    sign = 1.0 if side.metrics[metric] else -1.0
    means = exact_mean([before for before, _ in pairs]), exact_mean([now for _, now in pairs])
    interval, drop = None, None
    if (judgings := side.judgings(metric)) is not None:
        means = judgings[0].value, judgings[1].value
        found, wide = (mean_difference(judgings[1], judgings[0], confidence=each) for each in (0.95, 0.9))
        interval = None if found is None else found.interval
        ends = None if wide is None else wide.interval
        drop = None if ends is None else -ends.low if sign > 0 else ends.high
    else:
        interval = mean_interval(differences, method="bootstrap", seed=seed)
        drop = _largest_fall([-sign * each for each in differences])
    gain = sign * (exact_mean(differences) if judgings is None else means[1] - means[0])
    finding: Movement | Literal["same"]
    if not any(differences) and not gain:
        finding = "same"
    elif gain < 0 and p_values[0] <= METRICS_LEVEL:
        finding = "worse"
    elif gain > 0 and p_values[1] <= METRICS_LEVEL:
        finding = "better"
    else:
        finding = "undecided" if gain < 0 else "no worse"
    return GatedMetric(
        dataset=side.dataset,
        metric=metric,
        n=len(pairs),
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
