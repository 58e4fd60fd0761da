"""How far one metric may be trusted: its agreement with human labels, and the true figure behind it.

Everything is reported in the direction of the label: if more of the label means less of the metric, the
metric is turned round before the two are compared.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
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
from rag_evaluation_framework.statistics.decision_thresholds import FEWEST_OF_A_CLASS, ThresholdRule
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

LEAST_TO_VALIDATE = 2 / 3
"""How often a metric must surely tell a yes from a no to be validated: twice right for once wrong."""

_CHANCE = 0.5
# With fewer labels, a correlation below 0 is a reading of chance, whatever its interval says.
_FEWEST_TO_TELL_DIRECTION = 10
# A difference between labelled and other samples that chance gives once in a hundred runs.
_NOT_RANDOM = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationSettings:
    """How labels become yes and no, how a threshold is chosen, and how intervals are made.

    ``positive_at`` is the lowest label that counts as yes; by default 0.5, for labels from 0 to 1.
    """

    positive_at: float | None = None
    rule: ThresholdRule = "youden"
    resampling: Resampling = field(default_factory=Resampling)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricCalibration:
    """One metric against one human label, over the ``n_labels`` samples that have both.

    ``people`` and ``people_on_yes`` show how far annotators agree with each other: the most that can be asked
    of a metric. ``share`` is the share of answers that people would call yes and ``mean`` their mean label,
    both over the whole run; where labels are 0 or 1 the two are the same, and ``mean`` is ``None``.
    ``is_share`` tells whether the metric's values are from 0 to 1; ``against`` warns if the metric falls
    where the label rises. Resamples that are all alike give no interval.
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
    against: str | None

    @property
    def verdict(self) -> str:
        """What may be said of the metric, in a line."""
        checked = f"checked on {self.n_labels} label{'s' * (self.n_labels != 1)}"
        if self.n_labels < FEWEST_TO_VALIDATE:
            return f"{checked}, too few to rely on"
        if self.against is not None:
            return f"{checked}, and runs against them"
        n_rarer, rarer = min((self.n_yes, "yes"), (self.n_labels - self.n_yes, "no"))
        if n_rarer < FEWEST_OF_A_CLASS or self.auroc.value is None:
            return f"{checked}, but too few of them are {rarer} ({n_rarer}) to rely on"
        # With so many of each kind, only pairs that are all right, all wrong or all tied have no interval.
        interval = self.auroc.interval
        surely = self.auroc.value if interval is None else interval.low
        if surely <= _CHANCE:
            return f"{checked}, and not shown to follow them"
        if surely < LEAST_TO_VALIDATE:
            return f"{checked}, which it follows weakly: {self._telling_apart}"
        return f"validated on {self.n_labels} labels"

    @property
    def _telling_apart(self) -> str:
        interval = self.auroc.interval
        ends = "" if interval is None else f" [{interval.low:.0%}, {interval.high:.0%}]"
        return f"it tells a yes from a no {self.auroc.value:.0%} of the time{ends}, a coin {_CHANCE:.0%}"

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
    """Compare a metric's values with labels of the same run.

    ``threshold`` cuts the metric's own values; without it one is suggested if the labels allow. Labels that
    cannot be used (:func:`cannot_calibrate`) are an error.
    """
    reason = cannot_calibrate(metric, labels, wanted, settings=settings)
    if reason is not None:
        raise UsageError(f"metric {name}: {reason}")
    truth, values, others = _held_together(metric, labels)
    everything = np.concatenate([values, others])
    cut = _positive_at(truth, settings, wanted)
    yes = (truth >= cut).astype(np.float64)
    turned = wanted.is_reversed != (wanted.is_quality and not metric.higher_is_better)
    resampling = settings.resampling
    along = -values if turned else values
    ranked = spearman(along, truth, resampling=resampling)
    against = _against(name, ranked, wanted, n_labels=len(truth), turned=turned)
    found = threshold_figures(
        values,
        yes,
        is_turned_round=turned,
        given=threshold,
        may_suggest=against is None,
        rule=settings.rule,
        resampling=resampling,
    )
    return MetricCalibration(
        metric=name,
        method=metric.method,
        field=str(wanted),
        is_turned_round=turned,
        n_labels=len(truth),
        n_yes=int(yes.sum()),
        n_unscored_labels=len(labels.values) - len(truth),
        n_undecided=labels.undecided,
        merging=labels.merging,
        positive_at=cut,
        metric_mean=exact_mean(everything),
        is_share=_are_shares(everything),
        people=_people(labels, wanted, resampling),
        people_on_yes=_people_on_yes(labels, wanted, cut, resampling),
        spearman=ranked.without_point_interval(),
        pearson=pearson(along, truth, resampling=resampling).without_point_interval(),
        auroc=auroc(along, yes, resampling=resampling).without_point_interval(),
        threshold=found,
        no_suggestion=_no_suggestion(found, yes, against),
        reliability=_reliability(values, yes, turned=turned, confidence=resampling.confidence),
        **_corrected(truth, yes, values, others, turned=turned, confidence=resampling.confidence),
        rogan_gladen=_behind_calls(found, everything, resampling.confidence),
        not_random=_not_random(values, others),
        against=against,
    )


def _held_together(metric: ScoredMetric, labels: MergedLabels) -> tuple[Floats, Floats, Floats]:
    """Return the labels and values of samples that have both, and the values of those without a label."""
    both = [query for query in labels.values if query in metric.values]
    others = [value for query, value in metric.values.items() if query not in labels.values]
    return (
        np.array([labels.values[query] for query in both]),
        np.array([metric.values[query] for query in both]),
        np.array(others),
    )


def _behind_calls(found: ThresholdFigures | None, values: Floats, confidence: float) -> CorrectedRate | None:
    return None if found is None else rate_behind_calls(found, values, confidence=confidence)


def cannot_calibrate(
    metric: ScoredMetric, labels: MergedLabels, wanted: LabelField, *, settings: CalibrationSettings
) -> str | None:
    """Say why a metric cannot be compared with these labels; ``None`` if it can."""
    truth = [label for query, label in labels.values.items() if query in metric.values]
    if not truth:
        n_tied = sum(unit.query_id in metric.values for unit in labels.units)
        exception = f", but for {n_tied:,} tied and left out" if n_tied else ""
        return f"no sample has both a score and a label {wanted.name!r}{exception}"
    cut = settings.positive_at
    if cut is None or min(truth) < cut <= max(truth):
        return None
    called = "yes" if cut <= min(truth) else "no"
    return (
        f"--positive-at {cut:g} makes every label {wanted.name!r} a {called}: "
        f"they go from {min(truth):g} to {max(truth):g}"
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


def _against(name: str, ranked: Estimate, wanted: LabelField, *, n_labels: int, turned: bool) -> str | None:
    """Warn if the metric clearly falls where the label rises, and say how to turn the label round."""
    if n_labels < _FEWEST_TO_TELL_DIRECTION or ranked.interval is None or ranked.interval.high >= 0.0:
        return None
    ways = "the same way" if turned else "opposite ways"
    return (
        f"it runs against the label (Spearman {ranked.value:.2f}): if the two are meant to run {ways}, "
        f"give --pair {name}={wanted.reversed}"
    )


def _no_suggestion(found: ThresholdFigures | None, yes: Floats, against: str | None) -> str | None:
    if found is not None and found.threshold.source != "half":
        return None
    return too_few_to_suggest(yes) if against is None else "it runs against the label"


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
    """Warn if the labelled samples score differently from the rest: they were not drawn at random."""
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
    return _without_point_interval(score_figure(wanted.name, shared, resampling)) if shared else None


def _people_on_yes(
    labels: MergedLabels, wanted: LabelField, cut: float, resampling: Resampling
) -> AgreementFigure | None:
    words = {True: "yes", False: "no"}
    shared = [
        RatedUnit(unit.query_id, {who: words[value >= cut] for who, value in unit.ratings.items()})
        for unit in labels.units
        if len(unit.ratings) >= 2
    ]
    if not shared:
        return None
    return _without_point_interval(aspect_figure(f"{wanted.name} >= {cut:g}", shared, resampling))


def _without_point_interval(figure: AgreementFigure) -> AgreementFigure:
    return replace(figure, interval=Estimate(figure.value, figure.interval).without_point_interval().interval)
