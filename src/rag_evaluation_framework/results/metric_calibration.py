"""How far one metric may be trusted: its agreement with human labels, and the true figure behind it.

Everything is told in the direction of the label: where more of the label means less of the metric, the metric
is turned round before the two are compared.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from rag_evaluation_framework.datasets.annotators.agreement_figures import (
    AgreementFigure,
    aspect_figure,
    score_figure,
)
from rag_evaluation_framework.datasets.annotators.annotated_queries import RatedUnit
from rag_evaluation_framework.datasets.annotators.human_labels import LabelField, MergedLabels
from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.results.scored_runs import ScoredMetric
from rag_evaluation_framework.results.threshold_figures import (
    ThresholdFigures,
    rate_behind_calls,
    threshold_figures,
    too_few_to_suggest,
)
from rag_evaluation_framework.statistics.agreement_tables import Estimate, Resampling
from rag_evaluation_framework.statistics.arrays import Floats
from rag_evaluation_framework.statistics.decision_thresholds import ThresholdRule
from rag_evaluation_framework.statistics.distributions import normal_two_sided
from rag_evaluation_framework.statistics.prediction_powered import (
    CorrectedEstimate,
    CorrectedRate,
    corrected_mean,
)
from rag_evaluation_framework.statistics.rank_statistics import auroc, pearson, spearman
from rag_evaluation_framework.statistics.reliability import Reliability, reliability
from rag_evaluation_framework.statistics.sums import exact_mean

FEWEST_TO_VALIDATE = 50
"""With fewer labels, a metric is called checked, never validated."""

# A difference between labelled and other samples that chance gives once in a hundred runs.
_NOT_RANDOM = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationSettings:
    """How labels become yes and no, how a threshold is chosen, and how intervals are made.

    ``positive_at`` is the label from which on an answer counts as yes; by default 0.5, for labels from 0 to
    1.
    """

    positive_at: float | None = None
    rule: ThresholdRule = "youden"
    resampling: Resampling = field(default_factory=Resampling)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricCalibration:
    """One metric against one human label, over the ``n_labels`` samples that have both.

    ``people`` and ``people_on_yes`` tell how far annotators agree with each other: the most that can be
    asked of a metric. ``share`` is the share of answers that people would call yes and ``mean`` their mean
    label, both over the whole run; where labels are 0 or 1 the two are the same, and ``mean`` is ``None``.
    ``is_share`` tells whether the metric's values are from 0 to 1.
    """

    metric: str
    method: str | None
    field: str
    is_turned_round: bool
    n_labels: int
    n_yes: int
    n_unscored_labels: int
    n_undecided: int
    merging: str
    positive_at: float
    metric_mean: float
    is_share: bool
    people: AgreementFigure | None
    people_on_yes: AgreementFigure | None
    spearman: Estimate
    pearson: Estimate
    auroc: Estimate
    threshold: ThresholdFigures | None
    no_suggestion: str | None
    reliability: Reliability | None
    share: CorrectedEstimate
    mean: CorrectedEstimate | None
    rogan_gladen: CorrectedRate | None
    not_random: str | None

    @property
    def verdict(self) -> str:
        """What may be said of the metric, in a line."""
        if self.n_labels < FEWEST_TO_VALIDATE:
            return f"checked on {self.n_labels} label{'s' * (self.n_labels != 1)}, too few to rely on"
        interval = self.spearman.interval
        if interval is None or interval.low <= 0.0:
            return f"checked on {self.n_labels} labels, and not shown to follow them"
        return f"validated on {self.n_labels} labels"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values for a JSON file."""
        return {**asdict(self), "verdict": self.verdict}


def calibrate_metric(
    name: str,
    metric: ScoredMetric,
    labels: MergedLabels,
    wanted: LabelField,
    *,
    settings: CalibrationSettings,
    threshold: float | None = None,
) -> MetricCalibration:
    """Hold a metric's values against labels of the same run.

    ``threshold`` cuts the metric's own values; without it one is suggested where the labels allow.
    """
    both = [query for query in labels.values if query in metric.values]
    if not both:
        raise UsageError(f"metric {name}: expected a score of a labelled sample, got none")
    truth = np.array([labels.values[query] for query in both])
    values = np.array([metric.values[query] for query in both])
    others = np.array([value for query, value in metric.values.items() if query not in labels.values])
    everything = np.concatenate([values, others])
    cut = _positive_at(truth, settings, wanted)
    yes = (truth >= cut).astype(np.float64)
    turned = wanted.is_reversed != (wanted.is_quality and not metric.higher_is_better)
    resampling = settings.resampling
    along = -values if turned else values
    found = threshold_figures(
        values, yes, is_turned_round=turned, given=threshold, rule=settings.rule, resampling=resampling
    )
    return MetricCalibration(
        metric=name,
        method=metric.method,
        field=str(wanted),
        is_turned_round=turned,
        n_labels=len(both),
        n_yes=int(yes.sum()),
        n_unscored_labels=len(labels.values) - len(both),
        n_undecided=labels.undecided,
        merging=labels.merging,
        positive_at=cut,
        metric_mean=exact_mean(everything),
        is_share=_are_shares(everything),
        people=_people(labels, wanted, resampling),
        people_on_yes=_people_on_yes(labels, wanted, cut, resampling),
        spearman=spearman(along, truth, resampling=resampling),
        pearson=pearson(along, truth, resampling=resampling),
        auroc=auroc(along, yes, resampling=resampling),
        threshold=found,
        no_suggestion=(
            too_few_to_suggest(yes) if found is None or found.threshold.source == "half" else None
        ),
        reliability=_reliability(values, yes, turned=turned, confidence=resampling.confidence),
        **_corrected(truth, yes, values, others, turned=turned, confidence=resampling.confidence),
        rogan_gladen=(
            None if found is None else rate_behind_calls(found, everything, confidence=resampling.confidence)
        ),
        not_random=_not_random(values, others),
    )


def _positive_at(truth: Floats, settings: CalibrationSettings, wanted: LabelField) -> float:
    if settings.positive_at is not None:
        return settings.positive_at
    if truth.min() < 0.0 or truth.max() > 1.0:
        raise UsageError(
            f"label {wanted.name!r} goes from {truth.min():g} to {truth.max():g}: "
            "say with --positive-at which label counts as yes"
        )
    return 0.5


def _corrected(
    truth: Floats, yes: Floats, values: Floats, others: Floats, *, turned: bool, confidence: float
) -> dict[str, Any]:
    """Return the corrected share of yes, and the corrected mean label where that is something else."""
    everything = np.concatenate([values, others])
    shares = _as_shares(everything)
    if turned:
        shares = 1.0 - shares
    known, unknown = shares[: len(values)], shares[len(values) :]
    share = corrected_mean(yes, known, unknown, confidence=confidence)
    mean = None
    if not np.isin(truth, (0.0, 1.0)).all():
        least, most = min(float(truth.min()), 0.0), max(float(truth.max()), 1.0)
        known, unknown = (least + (most - least) * each for each in (known, unknown))
        mean = corrected_mean(truth, known, unknown, confidence=confidence)
    return {"share": share, "mean": mean}


def _as_shares(values: Floats) -> Floats:
    """Return values from 0 to 1 as they are, and others stretched to that range."""
    if _are_shares(values):
        return values
    low, high = float(values.min()), float(values.max())
    return (values - low) / ((high - low) or 1.0)


def _are_shares(values: Floats) -> bool:
    return bool(values.min() >= 0.0 and values.max() <= 1.0)


def _reliability(values: Floats, yes: Floats, *, turned: bool, confidence: float) -> Reliability | None:
    if not _are_shares(values):
        return None
    return reliability(1.0 - values if turned else values, yes, confidence=confidence)


def _not_random(values: Floats, others: Floats) -> str | None:
    """Say so if the labelled samples score otherwise than the rest: then they were not drawn at random."""
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


def _people(labels: MergedLabels, wanted: LabelField, resampling: Resampling) -> AgreementFigure | None:
    shared = [unit for unit in labels.units if len(unit.ratings) >= 2]
    return score_figure(wanted.name, shared, resampling) if shared else None


def _people_on_yes(
    labels: MergedLabels, wanted: LabelField, cut: float, resampling: Resampling
) -> AgreementFigure | None:
    words = {True: "yes", False: "no"}
    shared = [
        RatedUnit(unit.query_id, {who: words[value >= cut] for who, value in unit.ratings.items()})
        for unit in labels.units
        if len(unit.ratings) >= 2
    ]
    return aspect_figure(f"{wanted.name} >= {cut:g}", shared, resampling) if shared else None
