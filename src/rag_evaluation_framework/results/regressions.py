"""Has it got worse since the baseline? Samples paired, one family of tests at 5 %, looked at one way.

Samples that passed and now fail are held against those that did the reverse, pooled over all datasets, at 4 %
(exact, mid-p). All gated metrics of all datasets share the other 1 % by Holm's method; if the flips are
significant, their share passes on to the metrics. A metric that is only looked at is in no family, so adding
one makes nothing more lenient. What was not shown is *undecided*; where no outcome could have been
significant, it is *not evaluated*.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rag_evaluation_framework.results.evaluations import Threshold
from rag_evaluation_framework.statistics.intervals import Interval, mean_interval, t_quantile
from rag_evaluation_framework.statistics.paired import (
    flips_p_value,
    holm,
    largest_drop,
    paired_randomisation_test,
)
from rag_evaluation_framework.statistics.resampling import exact_mean, standard_deviation

FLIPS_LEVEL, METRICS_LEVEL, LEVEL = 0.04, 0.01, 0.05

Movement = Literal["worse", "better", "same", "new", "gone", "unpaired"]
Finding = Literal["worse", "better", "no worse", "same", "undecided"]
Word = Literal["worse", "better", "no worse", "undecided", "not evaluated"]


@dataclass(frozen=True, slots=True)
class Standing:
    """How one sample stands in a run: whether it was answered, whether it passes, its scores by metric."""

    answered: bool
    passes: bool | None
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """Two runs of one dataset, sample by sample, and what is demanded of it.

    ``metrics`` are those of the run in their order, with whether higher is better: the first is the primary
    one. ``thresholds`` are the declared ones; their metrics are the gated ones.
    """

    dataset: str
    before: Mapping[str, Standing]
    after: Mapping[str, Standing]
    metrics: Mapping[str, bool]
    thresholds: Sequence[Threshold] = ()

    @property
    def gated(self) -> list[str]:
        """The metrics that have a threshold, in the order of the run."""
        declared = {threshold.metric for threshold in self.thresholds}
        return [metric for metric in self.metrics if metric in declared]

    @property
    def can_fail(self) -> bool:
        """Whether a sample can miss a threshold; one at the end of the scale cannot be missed."""
        return any(
            each.bound > 0.0 if each.operator == ">=" else each.bound < 1.0
            for each in self.thresholds
            if each.metric in self.metrics
        )

    def movements(self) -> Iterator[tuple[str, Movement]]:
        """Yield for each sample of either run how it moved."""
        for sample_id, before in self.before.items():
            after = self.after.get(sample_id)
            yield sample_id, "gone" if after is None else self._movement(before, after)
        yield from ((sample_id, "new") for sample_id in self.after if sample_id not in self.before)

    def _movement(self, before: Standing, after: Standing) -> Movement:
        if self.can_fail:
            if before.passes is None or after.passes is None:
                return "unpaired"
            return _moved(after.passes - before.passes)
        primary = next(iter(self.metrics), "")
        if not before.answered or not after.answered:
            return _moved(after.answered - before.answered)
        if primary not in before.values or primary not in after.values:
            return "unpaired"
        change = after.values[primary] - before.values[primary]
        return _moved(change if self.metrics[primary] else -change)

    def pairs(self, metric: str) -> list[tuple[float, float]]:
        """Return a metric's values of the samples that have one in both runs: before, now."""
        return [
            (before.values[metric], self.after[sample_id].values[metric])
            for sample_id, before in self.before.items()
            if metric in before.values and sample_id in self.after
            if metric in self.after[sample_id].values
        ]


def _moved(change: float) -> Movement:
    return "better" if change > 0 else "worse" if change < 0 else "same"


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedMetric:
    """One gated metric of one dataset against the baseline; ``drop`` is how far it fell at the most."""

    dataset: str
    metric: str
    n: int
    before: float | None
    now: float | None
    interval: Interval | None
    p_adjusted: float | None
    finding: Finding | None
    drop: float | None

    @property
    def difference(self) -> float | None:
        return None if self.before is None or self.now is None else self.now - self.before


@dataclass(frozen=True, slots=True, kw_only=True)
class Regressions:
    """What came of comparing with a baseline; samples are ``(dataset, id)``."""

    baseline: str
    word: Word
    worse: tuple[tuple[str, str], ...]
    better: tuple[tuple[str, str], ...]
    unpaired: tuple[tuple[str, str], ...]
    new: int
    gone: int
    paired: int
    p_value: float
    """Of the flips alone: how likely so many for the worse are by chance."""
    would_fail: int | None
    """How many more samples for the worse than for the better would have failed; ``None`` if none could."""
    metrics: tuple[GatedMetric, ...]
    drop: float | None
    """The upper end of a one-sided 95 % interval of the drop in the share of passing samples."""


def regressions(baseline: str, sides: Sequence[Side], *, seed: int = 0) -> Regressions:
    """Compare each dataset of a run with the baseline's run of it, all as one family."""
    moved = [(side.dataset, *each) for side in sides for each in side.movements()]
    by_kind: dict[Movement, list[tuple[str, str]]] = {}
    for dataset, sample_id, movement in moved:
        by_kind.setdefault(movement, []).append((dataset, sample_id))
    worse, better = by_kind.get("worse", []), by_kind.get("better", [])
    paired = len(worse) + len(better) + len(by_kind.get("same", []))
    p_value = flips_p_value(len(worse), len(better))
    flipped = bool(worse) and p_value <= FLIPS_LEVEL
    improved = bool(better) and flips_p_value(len(better), len(worse)) <= FLIPS_LEVEL
    metrics = _gated_metrics(sides, LEVEL if flipped or improved else METRICS_LEVEL, seed)
    can_show = _can_show(sides, paired)
    findings = {each.finding for each in metrics}
    word: Word
    if flipped or "worse" in findings:
        word = "worse"
    elif not worse and not any(_fell(each, sides) for each in metrics) and (paired or metrics):
        word = "better" if improved or "better" in findings else "no worse"
    elif not can_show:
        word = "not evaluated"
    else:
        word = "better" if improved else "undecided"
    return Regressions(
        baseline=baseline,
        word=word,
        worse=tuple(worse),
        better=tuple(better),
        unpaired=tuple(by_kind.get("unpaired", [])),
        new=len(by_kind.get("new", [])),
        gone=len(by_kind.get("gone", [])),
        paired=paired,
        p_value=p_value,
        would_fail=next(
            (count for count in range(1, paired + 1) if flips_p_value(count, 0) <= FLIPS_LEVEL), None
        ),
        metrics=metrics,
        drop=largest_drop(len(worse), len(better), paired) if paired else None,
    )


def _gated_metrics(sides: Sequence[Side], level: float, seed: int) -> tuple[GatedMetric, ...]:
    gated = [(side, metric, side.pairs(metric)) for side in sides for metric in side.gated]
    tested = [(side, metric, pairs) for side, metric, pairs in gated if pairs]
    fallen, risen = (
        holm([_one_sided(pairs, side.metrics[metric] == down, seed) for side, metric, pairs in tested])
        for down in (True, False)
    )
    adjusted = dict(
        zip(
            [(side.dataset, metric) for side, metric, _ in tested],
            zip(fallen, risen, strict=True),
            strict=True,
        )
    )
    return tuple(
        _gated_metric(side, metric, pairs, adjusted.get((side.dataset, metric)), level, seed)
        for side, metric, pairs in gated
    )


def _one_sided(pairs: list[tuple[float, float]], down: bool, seed: int) -> float:
    before, now = (list(each) for each in zip(*pairs, strict=True))
    first, second = (now, before) if down else (before, now)
    return paired_randomisation_test(first, second, seed=seed, looks="down").p_value


def _gated_metric(
    side: Side,
    metric: str,
    pairs: list[tuple[float, float]],
    p_values: tuple[float, float] | None,
    level: float,
    seed: int,
) -> GatedMetric:
    if not pairs or p_values is None:
        return GatedMetric(
            dataset=side.dataset,
            metric=metric,
            n=0,
            before=None,
            now=None,
            interval=None,
            p_adjusted=None,
            finding=None,
            drop=None,
        )
    differences = [now - before for before, now in pairs]
    sign = 1.0 if side.metrics[metric] else -1.0
    gain = sign * exact_mean(differences)
    finding: Finding
    if not any(differences):
        finding = "same"
    elif gain < 0 and p_values[0] <= level:
        finding = "worse"
    elif gain > 0 and p_values[1] <= level:
        finding = "better"
    else:
        finding = "undecided" if gain < 0 else "no worse"
    return GatedMetric(
        dataset=side.dataset,
        metric=metric,
        n=len(pairs),
        before=exact_mean([before for before, _ in pairs]),
        now=exact_mean([now for _, now in pairs]),
        interval=mean_interval(differences, method="bootstrap", seed=seed),
        p_adjusted=p_values[0],
        finding=finding,
        drop=_largest_fall([-sign * each for each in differences]),
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
