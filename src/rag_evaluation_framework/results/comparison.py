"""Did the change really help? Paired comparison of contenders with a baseline, metric by metric.

Rows pair by query id, never by position; what only one side scored is left out and counted. All the
p-values of one comparison are corrected together (Holm), so that trying many metrics or many systems does
not manufacture a winner.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import UnknownNameError, UsageError
from rag_evaluation_framework.extensions import RENDERERS
from rag_evaluation_framework.metrics.declaration import BoundMetric
from rag_evaluation_framework.statistics.intervals import Interval, mean_interval
from rag_evaluation_framework.statistics.paired import (
    PairedTestResult,
    cohens_d,
    holm,
    paired_randomisation_test,
    paired_t_test,
    smallest_detectable_difference,
    wilcoxon_test,
    wins_ties_losses,
)
from rag_evaluation_framework.statistics.resampling import exact_mean, standard_deviation

PairedTest = Literal["randomisation", "t", "wilcoxon"]
PAIRED_TESTS: tuple[PairedTest, ...] = ("randomisation", "t", "wilcoxon")

Finding = Literal["better", "worse", "no difference shown"]
ComparisonVerdict = Literal["worse", "no worse", "better", "undecided", "not evaluated"]

Scores = Mapping[str, float]
"""One metric's values by query id."""


@dataclass(frozen=True, slots=True)
class MetricComparison:
    """One contender against the baseline on one metric, over the queries both have."""

    metric: str
    baseline: str
    contender: str
    n: int
    n_unpaired: int
    baseline_mean: float
    contender_mean: float
    difference: float
    interval: Interval | None
    p_value: float | None
    p_adjusted: float | None
    test: str
    effect_size: float | None
    wins: int
    ties: int
    losses: int
    smallest_detectable: float | None
    higher_is_better: bool
    alpha: float

    @property
    def verdict(self) -> Finding:
        """What may be claimed: a difference only where the corrected p-value is below alpha."""
        if self.p_adjusted is None or self.p_adjusted >= self.alpha or self.difference == 0:
            return "no difference shown"
        return "better" if (self.difference > 0) == self.higher_is_better else "worse"

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain values, verdict included."""
        return {**asdict(self), "verdict": self.verdict}


@dataclass(frozen=True, slots=True)
class Uncompared:
    """A metric that no sample has in both runs, and whether any sample of the baseline has it."""

    metric: str
    in_baseline: bool


@dataclass(frozen=True, slots=True)
class MovedSample:
    """A sample on which two runs differ in a metric."""

    metric: str
    query_id: str
    baseline: float
    contender: float

    @property
    def difference(self) -> float:
        return self.contender - self.baseline


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One or more runs against a baseline, paired by sample. ``warnings`` are reasons against it, overruled.

    ``moved`` are the samples that differ most, metric by metric, the greatest difference first;
    ``unshared_metrics`` those for which only one side has scores; ``uncompared`` those that were to be
    compared and share no sample.
    """

    baseline: str
    contenders: tuple[str, ...]
    metrics: tuple[MetricComparison, ...]
    moved: tuple[MovedSample, ...] = ()
    unshared_metrics: tuple[str, ...] = ()
    uncompared: tuple[Uncompared, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def verdict(self) -> ComparisonVerdict:
        """What may be claimed of the contenders: *no worse* only where nothing fell at all."""
        if not self.metrics:
            return "not evaluated"
        found = {each.verdict for each in self.metrics}
        if "worse" in found:
            return "worse"
        if "better" in found:
            return "better"
        fell = any(
            each.difference < 0 if each.higher_is_better else each.difference > 0 for each in self.metrics
        )
        return "undecided" if fell else "no worse"

    def of(self, contender: str) -> Comparison:
        """Return the part about one contender."""
        metrics = tuple(each for each in self.metrics if each.contender == contender)
        return replace(self, contenders=(contender,), metrics=metrics)

    def render(self, format: str = "terminal", **wish: Any) -> str:  # noqa: A002  # as the door calls it
        """Render it by the name of a renderer: ``terminal``, ``json`` …"""
        return RENDERERS.get(format)(self, **wish)

    def __str__(self) -> str:
        return self.render()

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain values."""
        return {
            "baseline": self.baseline,
            **({"contender": self.contenders[0]} if len(self.contenders) == 1 else {}),
            "contenders": list(self.contenders),
            "metrics": [each.to_dict() for each in self.metrics],
            "moved": [{**asdict(sample), "difference": sample.difference} for sample in self.moved],
            "unshared_metrics": list(self.unshared_metrics),
            "warnings": list(self.warnings),
            "verdict": self.verdict,
        }


def compare_systems(
    scores: Mapping[str, Mapping[str, Scores]],
    metrics: Sequence[BoundMetric],
    *,
    baseline: str,
    test: PairedTest = "randomisation",
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 0,
) -> list[MetricComparison]:
    """Compare every other system with the baseline on every metric.

    ``scores`` is value by query by metric by system. A test that cannot be made (a single shared query)
    leaves its p-value empty rather than guessing one.
    """
    if baseline not in scores:
        raise UnknownNameError("baseline", baseline, list(scores))
    if test not in PAIRED_TESTS:
        raise UnknownNameError("paired test", str(test), PAIRED_TESTS)
    compared = [
        _compare(
            metric,
            scores[baseline][str(metric)],
            scores[contender][str(metric)],
            baseline=baseline,
            contender=contender,
            test=test,
            alpha=alpha,
            resamples=resamples,
            seed=seed,
        )
        for metric in metrics
        for contender in scores
        if contender != baseline
    ]
    return corrected_together(compared)


def corrected_together(comparisons: Sequence[MetricComparison]) -> list[MetricComparison]:
    """Correct the p-values of several comparisons as one family, by Holm's method."""
    adjusted = iter(holm([each.p_value for each in comparisons if each.p_value is not None]))
    return [
        each if each.p_value is None else replace(each, p_adjusted=next(adjusted)) for each in comparisons
    ]


def _compare(
    metric: BoundMetric,
    before: Scores,
    after: Scores,
    *,
    baseline: str,
    contender: str,
    test: PairedTest,
    alpha: float,
    resamples: int,
    seed: int,
) -> MetricComparison:
    shared = [query for query in before if query in after]
    if not shared:
        raise UsageError(f"{metric}: {baseline!r} and {contender!r} have no scored query in common")
    old = np.array([before[query] for query in shared])
    new = np.array([after[query] for query in shared])
    differences = new - old
    higher_is_better = metric.metric.higher_is_better
    tested = _tested(new, old, test=test, resamples=resamples, seed=seed)
    outcome = wins_ties_losses(new, old, higher_is_better=higher_is_better)
    return MetricComparison(
        metric=str(metric),
        baseline=baseline,
        contender=contender,
        n=len(shared),
        n_unpaired=len(before) + len(after) - 2 * len(shared),
        baseline_mean=exact_mean(old),
        contender_mean=exact_mean(new),
        difference=exact_mean(differences),
        interval=mean_interval(
            differences, method="bootstrap", confidence=1 - alpha, resamples=resamples, seed=seed
        ),
        p_value=tested.p_value if tested else None,
        p_adjusted=None,
        test=tested.method if tested else f"{test}: needs at least two queries",
        effect_size=cohens_d(new, old),
        wins=outcome.wins,
        ties=outcome.ties,
        losses=outcome.losses,
        smallest_detectable=_detectable(differences, alpha),
        higher_is_better=higher_is_better,
        alpha=alpha,
    )


def _tested(
    new: npt.NDArray[np.float64],
    old: npt.NDArray[np.float64],
    *,
    test: PairedTest,
    resamples: int,
    seed: int,
) -> PairedTestResult | None:
    if len(new) < 2:
        return None
    if test == "t":
        return paired_t_test(new, old)
    if test == "wilcoxon":
        return wilcoxon_test(new, old)
    return paired_randomisation_test(new, old, resamples=resamples, seed=seed)


def _detectable(differences: npt.NDArray[np.float64], alpha: float) -> float | None:
    if len(differences) < 2:
        return None
    return smallest_detectable_difference(standard_deviation(differences), len(differences), alpha=alpha)
