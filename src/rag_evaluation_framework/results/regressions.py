"""Has it got worse since the baseline? Samples paired, one family of tests at 5 %, looked at one way.

Samples that passed and now fail are held against those that did the reverse, pooled over all datasets, at 4 %
(exact, mid-p). All gated metrics of all datasets share the other 1 % by Holm's method; if the flips are
significant, their share passes on to the metrics. A metric that is only looked at is in no family, so adding
one makes nothing more lenient. What was not shown is *undecided*; where no outcome could have been
significant, it is *not evaluated*.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.metrics.declaration import known_metric
from rag_evaluation_framework.results.drawn_scores import DrawsById, paired_judgings
from rag_evaluation_framework.results.pairing import OTHER_QUESTIONS, Pairing, are_other_questions
from rag_evaluation_framework.results.verdicts import GatedMetric, Movement, Regressions, Threshold
from rag_evaluation_framework.startup import dataclass
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

Flip = Literal["worse", "better", "same", "new", "gone", "left out", "unpaired", "nothing"]
"""How one sample moved; ``nothing``: neither run tells whether it passes."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How one sample stands in a run: whether it was answered, whether it passes, its scores by metric.

    ``answers`` says of one that was asked several times how many answers pass, and of how many that is known.
    ``undrawn`` are the metrics by which it was not drawn to be judged.
    """

    answered: bool
    passes: bool | None
    values: Mapping[str, float]
    answers: tuple[int, int] | None = None
    undrawn: frozenset[str] = frozenset()

    @property
    def counts(self) -> tuple[int, int]:
        """How many of its answers pass, and of how many that is known."""
        return self.answers or (int(self.passes is True), int(self.passes is not None))

    @property
    def share(self) -> float | None:
        """Which share of its answers passes, of those of which it is known."""
        passed, known = self.counts
        return passed / known if known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
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

    @property
    def decides(self) -> bool:
        """Whether thresholds decide how a sample moved; else its first metric does."""
        return any(can_be_missed(each) for each in self.thresholds if each.metric in self.metrics)

    def answers(self) -> list[tuple[int, int, int, int]]:
        """Return of each sample in both runs how many answers passed before, of how many; and now."""
        both = ((before, self.after.get(sample_id)) for sample_id, before in self.before.items())
        return [(*before.counts, *after.counts) for before, after in both if after is not None]

    def movements(self) -> Iterator[tuple[str, Flip]]:
        """Yield for each sample of either run how it moved."""
        decides = self.decides
        primary = next(iter(self.metrics), "")
        for sample_id, before in self.before.items():
            after = self.after.get(sample_id)
            if after is None:
                yield sample_id, "left out" if sample_id in self.left_out else "gone"
            elif decides and None in (before.passes, after.passes) and (before.undrawn or after.undrawn):
                yield sample_id, "nothing"
            elif decides and sample_id in self.pairing.groups:
                yield sample_id, _passing(before.share, after.share)
            elif decides:
                yield sample_id, _passing(before.passes, after.passes)
            else:
                yield sample_id, self._by(primary, before, after)
        for sample_id in self.after:
            if sample_id not in self.before:
                yield sample_id, "left out" if sample_id in self.left_out else "new"

    def pairs(self, metric: str) -> list[tuple[float, float]]:
        """Return a metric's values of the samples that have one in both runs: before, now."""
        return [
            (before.values[metric], after.values[metric])
            for sample_id, before in self.before.items()
            if metric in before.values and (after := self.after.get(sample_id)) is not None
            if metric in after.values
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
        """Tell how a sample moved by its first metric; an answer that is missing is worse than any."""
        if not before.answered or not after.answered:
            return _moved(after.answered - before.answered)
        if primary in before.undrawn | after.undrawn:
            return "nothing"
        if primary not in before.values or primary not in after.values:
            return "nothing" if primary not in before.values and primary not in after.values else "unpaired"
        change = after.values[primary] - before.values[primary]
        return _moved(change if self.metrics[primary] else -change)


def can_be_missed(threshold: Threshold) -> bool:
    """Tell whether a sample can miss a threshold: one at the end of the metric's scale cannot be."""
    known = known_metric(threshold.metric)
    if known is None or not known.is_share:
        return True
    return threshold.bound > 0.0 if threshold.operator == ">=" else threshold.bound < 1.0


def _passing(before: float | None, after: float | None) -> Flip:
    if before is None or after is None:
        return "nothing" if before is after else "unpaired"
    return _moved(after - before)


def _moved(change: float) -> Flip:
    return "better" if change > 0 else "worse" if change < 0 else "same"


@dataclass(frozen=True, slots=True)
class Flips:
    """How the samples of both runs moved, as ``(dataset, id)`` by kind; ``p_worse`` looks at the worse alone.

    Looking both ways, p is twice the smaller of ``p_worse`` and its complement, since it is a mid-p.
    """

    by_kind: Mapping[Flip, tuple[tuple[str, str], ...]]
    p_worse: float
    repeated: _Repeated

    def of(self, kind: Flip) -> tuple[tuple[str, str], ...]:
        return self.by_kind.get(kind, ())

    @property
    def paired(self) -> int:
        return len(self.of("worse")) + len(self.of("better")) + len(self.of("same"))


def flips_of(sides: Sequence[Side]) -> Flips:
    """Tell how each sample of both runs moved, all datasets together."""
    by_kind: dict[Flip, list[tuple[str, str]]] = {}
    for side in sides:
        for sample_id, movement in side.movements():
            by_kind.setdefault(movement, []).append((side.dataset, sample_id))
    found = {kind: tuple(samples) for kind, samples in by_kind.items()}
    repeated = _Repeated(sides)
    flipped = (len(found.get("worse", ())), len(found.get("better", ())))
    return Flips(found, repeated.p_value if repeated else flips_p_value(*flipped), repeated)


def regressions(
    baseline: str, sides: Sequence[Side], *, min_paired: float = 0.0, seed: int = 0
) -> Regressions:
    """Compare each dataset of a run with the baseline's run of it, all as one family.

    Of the samples in both runs a share of at least ``min_paired`` must be comparable, else those that are
    not decide nothing: it is not evaluated, unless what is there is worse. Nor is a baseline that asked other
    questions.
    """
    flips = flips_of(sides)
    if are_other_questions(side.pairing for side in sides):
        return Regressions(
            baseline=baseline,
            word="not evaluated",
            reason=OTHER_QUESTIONS,
            new=len(flips.of("new")),
            gone=len(flips.of("gone")),
        )
    worse, better, unpaired = flips.of("worse"), flips.of("better"), flips.of("unpaired")
    paired, repeated = flips.paired, flips.repeated
    fell = repeated.fell if repeated else bool(worse)
    flipped = fell and flips.p_worse <= FLIPS_LEVEL
    improved = (repeated.rose if repeated else bool(better)) and 1.0 - flips.p_worse <= FLIPS_LEVEL
    levels = tuple(LEVEL if shown else METRICS_LEVEL for shown in (flipped, improved))
    metrics = _gated_metrics(sides, levels, seed)
    findings = {each.finding for each in metrics}
    reason = None
    word: Movement
    if flipped or "worse" in findings:
        word = "worse"
    elif not paired or paired < min_paired * (paired + len(unpaired)):
        word, reason = "not evaluated", _unpaired(paired, len(unpaired))
    elif not worse and not fell and not any(_fell(each, sides) for each in metrics):
        word = "better" if improved or "better" in findings else "no worse"
    elif not (repeated.would_fail if repeated else _can_show(sides, paired)):
        word = "not evaluated"
        reason = f"{counted(paired, 'answer')} cannot show a drop, whatever they say"
    else:
        word = "better" if improved else "undecided"
    numbers = range(1, paired - len(better) + 1)
    enough = (n for n in numbers if flips_p_value(n, len(better)) <= FLIPS_LEVEL)
    return Regressions(
        baseline=baseline,
        word=word,
        worse=worse,
        better=better,
        unpaired=unpaired,
        new=len(flips.of("new")),
        gone=len(flips.of("gone")),
        edited=_labelled(sides, [(side.dataset, name) for side in sides for name in side.pairing.edited]),
        left_out=_labelled(sides, flips.of("left out")),
        notice=next((side.pairing.notice for side in sides if side.pairing.notice), None),
        paired=paired,
        p_value=flips.p_worse,
        would_fail=repeated.would_fail if repeated else next(enough, None),
        metrics=metrics,
        drop=largest_drop(len(worse), len(better), paired) if paired else None,
        reason=reason,
        answers_passed=repeated.passed if repeated else None,
    )


def _labelled(sides: Sequence[Side], samples: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return samples as people are told of them."""
    labels = {side.dataset: side.pairing.labels for side in sides}
    return tuple((dataset, labels[dataset].get(name, name)) for dataset, name in samples)


class _Repeated:
    """Samples that were asked several times in either run: how often they pass, before and now.

    Answers are exchanged within each sample, which tells the noise of the agent from a change of it. It is
    false where each was asked once, or where no threshold decides whether a sample passes.
    """

    def __init__(self, sides: Sequence[Side]) -> None:
        answers = [each for side in sides if side.decides for each in side.answers()]
        self._is_used = any(before > 1 or now > 1 for _, before, _, now in answers)
        if not self._is_used:
            return
        before, asked_before, now, asked = (sum(column) for column in zip(*answers, strict=True))
        self.passed = (before, asked_before, now, asked)
        # What is expected of now if each sample passes as often as before, all its answers together.
        expected = sum(
            each[3] * (each[0] + each[2]) / (each[1] + each[3]) for each in answers if each[1] + each[3]
        )
        self.fell, self.rose = now < expected - 1e-9, now > expected + 1e-9
        self.p_value = repeated_flips_p_value(answers)
        # How many samples all of whose answers turned would have failed.
        turned = [(each[1], each[1], 0, each[3]) for each in answers]
        numbers = range(1, len(turned) + 1)
        shown = (n for n in numbers if repeated_flips_p_value(turned[:n]) <= FLIPS_LEVEL)
        self.would_fail = next(shown, None)

    def __bool__(self) -> bool:
        return self._is_used


def _unpaired(paired: int, unpaired: int) -> str:
    if not paired + unpaired:
        return "the two runs have no sample in common that counts"
    of_all = counted(paired + unpaired, "answer")
    return f"only {paired:,} of {of_all} can be compared: the others count in one of the two runs alone"


def _gated_metrics(sides: Sequence[Side], levels: Sequence[float], seed: int) -> tuple[GatedMetric, ...]:
    gated = [(side, metric, side.pairs(metric)) for side in sides for metric in side.gated]
    tested = [(side, metric, pairs) for side, metric, pairs in gated if pairs]
    fallen, risen = (
        iter(
            holm(
                [
                    _one_sided(side, metric, pairs, side.metrics[metric] == down, seed)
                    for side, metric, pairs in tested
                ]
            )
        )
        for down in (True, False)
    )
    return tuple(
        _gated_metric(side, metric, pairs, (next(fallen), next(risen)), levels, seed)
        if pairs
        else GatedMetric(dataset=side.dataset, metric=metric)
        for side, metric, pairs in gated
    )


def _one_sided(side: Side, metric: str, pairs: list[tuple[float, float]], down: bool, seed: int) -> float:
    if (judgings := side.judgings(metric)) is not None:
        found = mean_difference(judgings[1], judgings[0])
        if found is None or found.p_value is None:
            return 1.0
        return found.p_value / 2 if (found.value < 0) == down else 1.0 - found.p_value / 2
    before, now = (list(each) for each in zip(*pairs, strict=True))
    first, second = (now, before) if down else (before, now)
    return paired_randomisation_test(first, second, seed=seed, looks="down").p_value


def _gated_metric(
    side: Side,
    metric: str,
    pairs: list[tuple[float, float]],
    p_values: tuple[float, float],
    levels: Sequence[float],
    seed: int,
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
    elif gain < 0 and p_values[0] <= levels[0]:
        finding = "worse"
    elif gain > 0 and p_values[1] <= levels[1]:
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


def _fell(each: GatedMetric, sides: Sequence[Side]) -> bool:
    side = next(side for side in sides if side.dataset == each.dataset)
    change = each.difference or 0.0
    return change < 0 if side.metrics[each.metric] else change > 0


def _can_show(sides: Sequence[Side], paired: int) -> bool:
    """Tell whether any outcome could have been significant with so many samples."""
    if flips_p_value(paired, 0) <= FLIPS_LEVEL:
        return True
    sizes = [len(side.pairs(metric)) for side in sides for metric in side.gated]
    return any(len(sizes) * 0.5**size <= METRICS_LEVEL for size in sizes)
