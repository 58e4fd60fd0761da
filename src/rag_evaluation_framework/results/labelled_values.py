"""A metric's values beside human labels of the same run, and the figures that the labels correct.

Everything is in the direction of the label: if more of the label means less of the metric, the metric is
turned round before the two are compared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rag_evaluation_framework.datasets.human_labels import LabelField, MergedLabels
from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.results.scored_runs import ScoredMetric
from rag_evaluation_framework.statistics.classification import Reliability, reliability
from rag_evaluation_framework.statistics.intervals import normal_two_sided
from rag_evaluation_framework.statistics.prediction_powered import CorrectedEstimate, corrected_mean
from rag_evaluation_framework.statistics.resampling import Floats, exact_mean

# A difference between labelled and other samples that chance gives once in a hundred runs.
_NOT_RANDOM = 0.01


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelledValues:
    """The ``truth`` and ``values`` of the samples that have a label and a score, and the ``others``' values.

    A label of at least ``cut`` is a yes.
    """

    truth: Floats
    values: Floats
    others: Floats
    cut: float
    is_turned_round: bool

    @classmethod
    def of(
        cls, metric: ScoredMetric, labels: MergedLabels, wanted: LabelField, *, positive_at: float | None
    ) -> LabelledValues:
        """Put a metric and labels together; some sample must have both."""
        both = [query for query in labels.values if query in metric.values]
        others = [value for query, value in metric.values.items() if query not in labels.values]
        truth = np.array([labels.values[query] for query in both])
        return cls(
            truth=truth,
            values=np.array([metric.values[query] for query in both]),
            others=np.array(others),
            cut=_half(truth, wanted) if positive_at is None else positive_at,
            is_turned_round=wanted.is_reversed != (wanted.is_quality and not metric.higher_is_better),
        )

    @cached_property
    def yes(self) -> Floats:
        """1 for each label that is a yes, 0 for the others."""
        return (self.truth >= self.cut).astype(np.float64)

    @cached_property
    def along(self) -> Floats:
        """The values in the direction of the label."""
        return -self.values if self.is_turned_round else self.values

    @cached_property
    def everything(self) -> Floats:
        """The values of all samples, the labelled ones first."""
        return np.concatenate([self.values, self.others])

    def corrected_share(self, *, confidence: float) -> CorrectedEstimate:
        """Return the share of all samples that people would call yes."""
        known, unknown = self._shares
        return corrected_mean(self.yes, known, unknown, confidence=confidence)

    def corrected_label(self, *, confidence: float) -> CorrectedEstimate | None:
        """Return the mean label that people would give; ``None`` where labels are 0 or 1: it is the share."""
        if np.isin(self.truth, (0.0, 1.0)).all():
            return None
        least, most = min(float(self.truth.min()), 0.0), max(float(self.truth.max()), 1.0)
        known, unknown = (least + (most - least) * each for each in self._shares)
        return corrected_mean(self.truth, known, unknown, confidence=confidence)

    def reliability(self, *, confidence: float) -> Reliability | None:
        """Return how far the values are from probabilities of a yes; ``None`` if they are none at all."""
        if not are_shares(self.values):
            return None
        chances = 1.0 - self.values if self.is_turned_round else self.values
        return reliability(chances, self.yes, confidence=confidence)

    def not_random(self) -> str | None:
        """Warn if the labelled samples score differently from the rest: they were not drawn at random."""
        values, others = self.values, self.others
        if len(values) < 2 or len(others) < 2:
            return None
        spread = math.sqrt(values.var(ddof=1) / len(values) + others.var(ddof=1) / len(others))
        labelled, rest = exact_mean(values), exact_mean(others)
        if spread == 0.0 or normal_two_sided((labelled - rest) / spread) >= _NOT_RANDOM:
            return None
        return (
            f"the labelled samples score {labelled:.4f} on average, the others {rest:.4f}: they do not look "
            "drawn at random, which the corrected figures rely on"
        )

    @cached_property
    def _shares(self) -> tuple[Floats, Floats]:
        """The values of the labelled samples and of the others, from 0 to 1 in the direction of the label."""
        shares = _as_shares(self.everything)
        if self.is_turned_round:
            shares = 1.0 - shares
        return shares[: len(self.values)], shares[len(self.values) :]


def are_shares(values: Floats) -> bool:
    """Tell whether all values are from 0 to 1."""
    return bool(values.min() >= 0.0 and values.max() <= 1.0)


def _as_shares(values: Floats) -> Floats:
    """Return values from 0 to 1 as they are, and others stretched to that range."""
    if are_shares(values):
        return values
    low, high = float(values.min()), float(values.max())
    return (values - low) / ((high - low) or 1.0)


def _half(truth: Floats, wanted: LabelField) -> float:
    if not are_shares(truth):
        raise UsageError(
            f"label {wanted.name!r} goes from {truth.min():g} to {truth.max():g}: "
            "say with --positive-at which label counts as yes"
        )
    return 0.5
