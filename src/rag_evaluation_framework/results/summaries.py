"""What the scores of one metric amount to: a mean with its interval and counts."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.metrics.declaration import BoundMetric
from rag_evaluation_framework.records.scores import Status
from rag_evaluation_framework.statistics.intervals import Interval, IntervalMethod, mean_interval
from rag_evaluation_framework.statistics.resampling import exact_mean


@dataclass(frozen=True, slots=True)
class Unscored:
    """Why so many samples have no score for a metric: ``skipped`` or ``failed``, in a few words."""

    status: Status
    reason: str
    count: int


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric's mean over the scored rows. ``value`` is ``None`` where nothing was scored: missing, not 0.

    ``reasons`` say why rows have no score, the most frequent first; ``details`` are what there is of the
    metric beside its mean.
    """

    metric: str
    value: float | None
    interval: Interval | None
    n_scored: int
    n_skipped: int
    n_failed: int
    higher_is_better: bool
    method: str
    reasons: tuple[Unscored, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def interval_method(self) -> str | None:
        """How the interval was made."""
        return None if self.interval is None else self.interval.method

    def to_dict(self) -> dict[str, Any]:
        """Return the shape in which results files store a metric."""
        return {
            "value": self.value,
            "confidence_interval": [self.interval.low, self.interval.high] if self.interval else None,
            "interval_method": self.interval_method,
            "n_scored": self.n_scored,
            "n_skipped": self.n_skipped,
            "n_failed": self.n_failed,
            "higher_is_better": self.higher_is_better,
            "method": self.method,
        }


MetricSummary = Figure
"""The name by which results of single rankings and sweeps still call it."""


def summarise(
    metric: BoundMetric,
    values: npt.NDArray[np.float64] | Sequence[float],
    *,
    n_skipped: int = 0,
    n_failed: int = 0,
    confidence: float = 0.95,
    interval_method: IntervalMethod = "auto",
    resamples: int = 10_000,
    seed: int = 0,
    clusters: Sequence[Hashable] | None = None,
) -> Figure:
    """Summarise the scored values of one metric; the result does not depend on their order."""
    interval = None
    if len(values):
        interval = mean_interval(
            values,
            method=interval_method,
            confidence=confidence,
            resamples=resamples,
            seed=seed,
            clusters=clusters,
        )
    return Figure(
        metric=str(metric),
        value=exact_mean(values) if len(values) else None,
        interval=interval,
        n_scored=len(values),
        n_skipped=n_skipped,
        n_failed=n_failed,
        higher_is_better=metric.metric.higher_is_better,
        method=metric.metric.method,
    )
