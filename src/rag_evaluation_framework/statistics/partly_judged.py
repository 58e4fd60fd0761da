"""A mean over all samples of which only some are judged: which to judge, and the interval that is left.

A cheap method scores every sample; a judge, or a person, is dear and scores a few. Samples are put into
*strata* by their cheap score. A first part of the budget is drawn from all strata alike, and tells in which
the cheap score decides little; the rest goes where the verdicts vary most. Every stratum counts for as many
samples as it has, however many of them were judged, so the mean is that of all samples, and no cheap score
stands in for a verdict. What the cheap scores do not tell apart is drawn as a plain random sample would be.

Within a stratum samples are taken in the order of a number that only the seed and their id decide. So a draw
can be made again from the verdicts so far, and two runs over the same samples judge mostly the same ones.

Two runs may be judged together: then pairs of answers are drawn, by the cheap scores of both, and what counts
is how far apart the verdicts on a pair are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from hashlib import blake2b

import msgspec
import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.statistics.intervals import (
    Interval,
    normal_quantile,
    t_quantile,
    t_two_sided,
    wilson_ends,
)
from rag_evaluation_framework.statistics.resampling import Floats, require_count, require_share

Ints = npt.NDArray[np.int64]

FEWEST_TO_TELL = 20
"""Verdicts below which no interval is given: it would not cover what it says."""
# Set on simulated populations: with more strata, or less drawn alike, the mean moves where the cheap score is
# useless.
_MOST_STRATA = 5
# Of pairs, each run is cut in two: four strata. Chosen out of two, three and five with the labelled sets of
# benchmarks/judge_budget.py in view.
_CUTS_OF_PAIRS = 2
_DRAWN_ALIKE = 0.4
_ALIKE_SHARE = 0.3
_FEWEST_SAMPLES = 0.02
_CELLS = 50
# As many verdicts as the pooled ones are added to each stratum before its spread is told: a few that are all
# alike do not show that the others are.
_POOLED_VERDICTS = 2.0
# Two runs of one seed judge nearly all the samples that they can share; those of two seeds few of them.
_DRAWN_TOGETHER = 0.7
_FEWEST_PAIRS = 10
_GROWTH = 1.3
_FIRST_LOOK = 100


class PartlyJudgedMean(msgspec.Struct, frozen=True, kw_only=True):
    """The mean of what a judge would say of all samples.

    ``effective`` is how many verdicts of a plain random sample would tell it as well; ``interval`` is
    ``None`` where there are too few verdicts to tell. ``n`` are the samples that the metric applies to, as
    far as the verdicts tell.
    """

    value: float
    interval: Interval | None
    n_judged: int
    n: int
    effective: float


class PartlyJudgedDifference(msgspec.Struct, frozen=True, kw_only=True):
    """The difference of the means of two runs, and the probability of one as large by chance alone."""

    value: float
    interval: Interval | None
    p_value: float | None
    n_both: int

    @property
    def shown_from(self) -> float | None:
        """The smallest difference that such an interval shows four times in five."""
        if self.interval is None:
            return None
        level = normal_quantile((1.0 + self.interval.confidence) / 2.0)
        half = (self.interval.high - self.interval.low) / 2.0
        return half * (level + normal_quantile(0.8)) / level


class Draw:
    """A random choice of the samples to judge, by their ids and cheap scores (NaN where there is none)."""

    def __init__(
        self,
        ids: Sequence[str],
        cheap: Sequence[float] | Floats,
        *,
        beside: Sequence[float] | Floats | None = None,
        seed: int = 0,
    ) -> None:
        """Draw samples; or pairs of answers, where ``beside`` has the cheap scores of the other run."""
        for scores in (cheap, cheap if beside is None else beside):
            if len(ids) != len(scores):
                raise UsageError(f"expected one cheap score per id ({len(ids)}), got {len(scores)}")
        self.strata = strata_of(cheap) if beside is None else strata_of_pairs(cheap, beside)
        self.sizes: Ints = np.bincount(self.strata, minlength=1)
        places = np.argsort(np.array([_number(seed, each) for each in ids], dtype=np.uint64), kind="stable")
        self._rank: Ints = np.argsort(places)
        self._order = [places[self.strata[places] == number] for number in range(len(self.sizes))]
        self._counts: Ints = np.zeros(len(self.sizes), dtype=np.int64)

    def extend(self, verdicts: Floats, total: int) -> Ints:
        """Draw until there are ``total``; return the places of the new ones, given the verdicts so far.

        ``verdicts`` has a place for each sample: NaN where there is none. Of several metrics it has a row for
        each, and what each of them would draw counts alike. The new ones come in a random order, so that
        those judged before something stops are a fair part of them.
        """
        plain: Floats = self.sizes / max(int(self.sizes.sum()), 1)
        shares = plain
        if self._counts.any():
            drawn = [order[:count] for order, count in zip(self._order, self._counts, strict=True)]
            rows = np.atleast_2d(verdicts)
            known = [[row[each][~np.isnan(row[each])] for each in drawn] for row in rows]
            wanted = [_optimal_shares(plain, each) for each in known]
            shares = np.mean(wanted, axis=0)
        counts = _allocated(shares, self._counts, self.sizes, min(total, int(self.sizes.sum())))
        ends = zip(self._order, self._counts, counts, strict=True)
        new: Ints = np.concatenate([order[before:after] for order, before, after in ends])
        self._counts = counts
        return new[np.argsort(self._rank[new])]


class Judging:
    """The judged part of a run: the stratum of each sample, its being drawn, and its verdict or NaN.

    A sample that was drawn and has no verdict, because the metric does not apply to it for example, stands
    for others of its stratum that have none either.
    """

    def __init__(self, strata: Ints, drawn: npt.NDArray[np.bool_], verdicts: Floats) -> None:
        self.strata, self.drawn, self.verdicts = strata, drawn, verdicts
        self.judged: npt.NDArray[np.bool_] = drawn & ~np.isnan(verdicts)
        size = int(strata.max(initial=0)) + 1
        sizes, counts = np.bincount(strata, minlength=size), np.bincount(strata[drawn], minlength=size)
        self.rates: Floats = (counts / np.maximum(sizes, 1))[strata]
        """Probability of being drawn, for each sample."""
        found = [verdicts[self.judged & (strata == number)] for number in range(size)]
        scored = np.array([len(each) for each in found], dtype=np.float64)
        applies = np.where(counts > 0, scored / np.maximum(counts, 1), 1.0) * sizes
        there = scored > 0
        self.n_judged = int(scored.sum())
        self.total = float(applies.sum()) if there.any() else 0.0
        if not there.any():
            return
        # A stratum without any verdict is counted with the rest, by what all verdicts tell.
        self._sizes: Floats = applies[there] * (applies.sum() / applies[there].sum())
        shares: Floats = self._sizes / self._sizes.sum()
        known = [each for each in found if len(each)]
        means = np.array([each.mean() for each in known])
        self.value = float(shares @ means)
        pooled, self.spread = _pooled(known, shares)
        spreads = _spreads(known, pooled, self.spread, extra=_POOLED_VERDICTS)
        left = np.maximum(1.0 - scored[there] / np.maximum(self._sizes, scored[there]), 0.0)
        self.variance = float((shares**2 * left * spreads / scored[there]).sum())
        self.degrees = max(self.n_judged - len(known), 1)
        self.residuals: Floats = verdicts - np.array(
            [float(each.mean()) if len(each) else self.value for each in found]
        ).take(strata)

    def mean(self, *, is_share: bool = True, confidence: float = 0.95) -> PartlyJudgedMean | None:
        """Estimate the mean verdict of all samples; ``None`` where there is no verdict at all.

        Formula: ``sum(W_h mean_h)`` over strata, with the share ``W_h`` of all samples in stratum h; its
        variance ``sum(W_h^2 (1 - n_h / N_h) v_h / n_h)``, where ``v_h`` is the variance of the stratum's
        verdicts and two more that are spread as all verdicts are. The interval of shares is Wilson's with
        ``value (1 - value) / variance`` effective verdicts; of other values, Student's t.
        """
        level = (1.0 + require_share(confidence, "confidence")) / 2.0
        if not self.n_judged:
            return None
        n = self.n_judged
        value: float = self.value
        unseen = max(1.0 - n / self.total, 0.0)
        told: float = n / unseen if unseen else math.inf
        if self.spread and self.variance:
            told = self.spread / self.variance
        interval: Interval | None = None
        student = t_quantile(level, self.degrees)
        if not unseen:
            interval = Interval(value, value, confidence, "all judged")
        elif n >= FEWEST_TO_TELL and is_share:
            value = min(max(value, 0.0), 1.0)
            spread = value * (1.0 - value)
            shares = spread / self.variance if spread and self.variance else told
            ends = wilson_ends(value, shares * (normal_quantile(level) / student) ** 2, confidence)
            interval = Interval(*ends, confidence, "Wilson score, stratified")
        elif n >= FEWEST_TO_TELL and self.variance:
            half = student * math.sqrt(self.variance)
            interval = Interval(value - half, value + half, confidence, "Student's t, stratified")
        effective = float(1.0 / (1.0 / told + 1.0 / self.total))
        return PartlyJudgedMean(
            value=value, interval=interval, n_judged=n, n=round(self.total), effective=effective
        )


def mean_difference(
    second: Judging, first: Judging, *, confidence: float = 0.95
) -> PartlyJudgedDifference | None:
    """Estimate how far the mean of the second run lies above the first's; ``None`` without verdicts.

    The samples of both are the same, in the same order. What both runs judge of the same samples counts as
    pairs.

    Formula: the difference of the two means. With deviations e1 and e2 from the means of the strata, and
    chances p < P of being drawn in the run that judges fewer and in the one that judges more, a sample adds
    ``(e2 - e1)^2 (1 / P - 1) + e^2 (1 / p - 1 / P)`` to N^2 times the variance, where e is that of the run
    that judges fewer. Pairs tell the sum, each divided by its p; in groups of strata, each with two more
    pairs that are spread as all are.
    """
    level = (1.0 + require_share(confidence, "confidence")) / 2.0
    if not (first.n_judged and second.n_judged):
        return None
    pairs = int((first.judged & second.judged).sum())
    variance = _paired_variance(second, first)
    value = second.value - first.value
    if min(first.n_judged, second.n_judged) < FEWEST_TO_TELL or variance <= 0.0:
        return PartlyJudgedDifference(value=value, interval=None, p_value=None, n_both=pairs)
    error, degrees = math.sqrt(variance), min(first.degrees, second.degrees)
    half = t_quantile(level, degrees) * error
    interval = Interval(value - half, value + half, confidence, "Student's t, stratified and paired")
    p_value = t_two_sided(value / error, degrees)
    return PartlyJudgedDifference(value=value, interval=interval, p_value=p_value, n_both=pairs)


def _paired_variance(second: Judging, first: Judging) -> float:
    """Return the variance of the difference of two means, by what both runs judged.

    Runs that were drawn with other seeds have few pairs, and count as independent.
    """
    both = first.judged & second.judged
    rates = [np.where(each.rates > 0.0, each.rates, each.drawn.mean()) for each in (first, second)]
    rare, often = np.minimum(*rates), np.maximum(*rates)
    pairs = int(both.sum())
    alike = (first.drawn & second.drawn).sum() >= _DRAWN_TOGETHER * rare.sum()
    if not alike or pairs < FEWEST_TO_TELL:
        return first.variance + second.variance
    apart, fewer = second.residuals - first.residuals, rates[0] > rates[1]
    alone = np.where(fewer, second.residuals, first.residuals)
    groups = _groups_of_pairs(first.strata, second.strata, both)
    size = int(groups.max()) + 1
    shared, only = 1.0 / often - 1.0, 1.0 / rare - 1.0 / often
    terms = (apart**2 * shared + alone**2 * only)[both] / rare[both]
    weights = 1.0 / rare[both]
    differences = (second.verdicts - first.verdicts)[both]
    mean = float(np.average(differences, weights=weights))
    spread = float(np.average((differences - mean) ** 2, weights=weights))
    spread_alone = float(np.average(alone[both] ** 2, weights=weights))
    told, counts = (np.bincount(groups[both], weights=each, minlength=size) for each in (terms, None))
    pooled = np.bincount(groups, weights=shared * spread + only * spread_alone, minlength=size)
    extra = _POOLED_VERDICTS
    total = ((counts * told + extra * pooled) / (counts + extra)).sum() / (first.total * second.total)
    # In either run deviations are from the means of the same verdicts, and too small by as much.
    return float(total) * math.prod(each.n_judged / each.degrees for each in (first, second))


def _groups_of_pairs(first: Ints, second: Ints, both: npt.NDArray[np.bool_]) -> Ints:
    """Return groups of strata that are like each other, each of a tenth of the pairs or more."""
    numbers = _to_and_fro(first, second)
    counts = np.bincount(numbers[both], minlength=int(numbers.max()) + 1)
    least = max(_FEWEST_PAIRS, int(both.sum()) // 10)
    before = np.cumsum(counts) - counts
    groups = np.minimum(before // least, max(int(both.sum()) // least - 1, 0))
    return np.unique(groups[numbers], return_inverse=True)[1].astype(np.int64)


def pair_difference(
    pairs: Judging, *, same: int = 0, confidence: float = 0.95
) -> PartlyJudgedDifference | None:
    """Estimate how far apart two runs are from pairs that were drawn; ``None`` without verdicts.

    The verdicts of ``pairs`` are differences, the second run's less the first's. The answers of ``same`` more
    samples are alike in both runs, so that their difference is known to be 0.
    """
    found = pairs.mean(is_share=False, confidence=confidence)
    if found is None:
        return None
    share = pairs.total / (pairs.total + same)
    interval, p_value = found.interval, None
    if interval is not None:
        interval = Interval(share * interval.low, share * interval.high, confidence, interval.method)
        if pairs.variance:
            p_value = t_two_sided(found.value / math.sqrt(pairs.variance), pairs.degrees)
    return PartlyJudgedDifference(
        value=share * found.value, interval=interval, p_value=p_value, n_both=pairs.n_judged
    )


def looks(budget: int | None, total: int) -> list[int]:
    """Return how many samples are drawn before the verdicts are looked at, each time.

    A budget is drawn in two parts; without one, until the interval is narrow enough, by ever more.
    """
    if budget is not None:
        size = min(require_count(budget, "budget"), total)
        first = round(_DRAWN_ALIKE * size)
        return [first, size] if 0 < first < size else [size]
    found, next_look = [min(_FIRST_LOOK * 2 // 5, total)], float(_FIRST_LOOK)
    while found[-1] < total:
        found.append(min(round(next_look), total))
        next_look *= _GROWTH
    return found


def strata_of_pairs(first: Sequence[float] | Floats, second: Sequence[float] | Floats) -> Ints:
    """Return the stratum of each pair, by what cheap methods give to the answers of either run.

    Each run is cut in two, low and high, and a pair is in one of four strata: where both are low or both
    high, verdicts seldom differ. Small strata join one that is like them in one of the runs.
    """
    numbers = _to_and_fro(*(strata_of(each, most=_CUTS_OF_PAIRS) for each in (first, second)))
    return _merged(numbers)


def _to_and_fro(first: Ints, second: Ints) -> Ints:
    """Return a number for each stratum of both, such that neighbours differ in one of them only."""
    columns = int(second.max(initial=0)) + 1
    return first * columns + np.where(first % 2, columns - 1 - second, second)


def strata_of(cheap: Sequence[float] | Floats, *, most: int = _MOST_STRATA) -> Ints:
    """Return the stratum of each sample, from 0 on, in the order of the cheap scores; at most so many.

    Cuts are where the square roots of frequencies add up to equal parts; equal scores stay together, small
    strata join a neighbour. Samples without a score have a stratum of their own.

    Source: Dalenius and Hodges, Minimum variance stratification, 1959.
    """
    scores = np.asarray(cheap, dtype=np.float64)
    known = ~np.isnan(scores)
    found: Ints = np.zeros(len(scores), dtype=np.int64)
    low, high = (scores[known].min(), scores[known].max()) if known.any() else (0.0, 0.0)
    if high > low:
        cells = np.minimum(((scores[known] - low) / (high - low) * _CELLS).astype(np.int64), _CELLS - 1)
        roots = np.sqrt(np.bincount(cells, minlength=_CELLS))
        middles = (np.cumsum(roots) - roots / 2.0) / roots.sum()
        found[known] = np.minimum((middles * most).astype(np.int64), most - 1)[cells]
    found[~known] = most
    return _merged(found)


def _merged(strata: Ints) -> Ints:
    least = max(2, math.ceil(_FEWEST_SAMPLES * len(strata)))
    while True:
        strata = np.unique(strata, return_inverse=True)[1].astype(np.int64)
        sizes = np.bincount(strata) if len(strata) else np.zeros(1, dtype=np.int64)
        smallest = int(sizes.argmin())
        if len(sizes) == 1 or sizes[smallest] >= least:
            return strata
        beside = [each for each in (smallest - 1, smallest + 1) if 0 <= each < len(sizes)]
        strata = np.where(strata == smallest, min(beside, key=lambda each: int(sizes[each])), strata)


def _optimal_shares(shares: Floats, verdicts: list[Floats]) -> Floats:
    """Return the proportions of strata that minimize the variance of the mean.

    The best are those of size times spread (Neyman). They are taken as far as the verdicts differ between
    strata by more than chance, and no stratum is left with less than a part of its plain share.
    """
    there = [each for each in verdicts if len(each)]
    held = shares[[bool(len(each)) for each in verdicts]]
    if len(there) < 2:
        return shares
    mean, variance = _pooled(there, held)
    if not variance:
        return shares
    between = sum(len(each) * (float(each.mean()) - mean) ** 2 for each in there) / variance
    trust = max(0.0, 1.0 - 2.0 * (len(there) - 1) / between) if between else 0.0
    best = shares * np.sqrt(_spreads(verdicts, mean, variance, extra=2.0 * _POOLED_VERDICTS))
    part = trust * (1.0 - _ALIKE_SHARE)
    wanted: Floats = part * best / best.sum() + (1.0 - part) * shares
    return wanted


def _allocated(shares: Floats, least: Ints, most: Ints, total: int) -> Ints:
    """Return whole numbers near these shares of the total, none below ``least`` or above ``most``."""
    low, high = least.astype(np.float64), most.astype(np.float64)
    below, above = 0.0, total / max(float(shares[shares > 0].min(initial=1.0)), 1e-12) + 1.0
    for _ in range(50):
        middle = (below + above) / 2.0
        if np.clip(middle * shares, low, high).sum() < total:
            below = middle
        else:
            above = middle
    wanted = np.clip(above * shares, low, high)
    found = np.floor(wanted + 1e-9)
    open_ = np.argsort(-np.where(found < high, wanted - found, -1.0), kind="stable")
    found[open_[: max(round(total - float(found.sum())), 0)]] += 1.0
    return np.minimum(found, high).astype(np.int64)


def _pooled(verdicts: list[Floats], shares: Floats) -> tuple[float, float]:
    """Return mean and variance of all verdicts, each stratum with its share of the samples."""
    parts = [
        (share, float(each.mean()), float((each**2).mean()))
        for share, each in zip(shares, verdicts, strict=True)
    ]
    whole = sum(share for share, _, _ in parts)
    mean = sum(share * each for share, each, _ in parts) / whole
    return mean, max(sum(share * square for share, _, square in parts) / whole - mean**2, 0.0)


def _spreads(verdicts: list[Floats], mean: float, variance: float, *, extra: float) -> Floats:
    """Return the variance of each stratum's verdicts and ``extra`` ones with this mean and variance."""
    found = []
    for each in verdicts:
        n = len(each)
        if not n:
            found.append(variance)
            continue
        own = float(each.mean())
        apart = n * extra / (n + extra) * (own - mean) ** 2
        found.append((float(((each - own) ** 2).sum()) + extra * variance + apart) / (n + extra))
    return np.array(found)


def _number(seed: int, name: str) -> int:
    """Return a number from the sample's name, evenly spread and independent of other samples."""
    return int.from_bytes(blake2b(f"{seed}\0{name}".encode(), digest_size=8).digest())
