"""How far one metric may be trusted: its agreement with human labels, and the true figure behind it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from rag_evaluation_framework.datasets.annotations import RatedUnit
from rag_evaluation_framework.datasets.annotator_agreement import (
    AgreementFigure,
    aspect_figure,
    score_figure,
)
from rag_evaluation_framework.datasets.human_labels import LabelField, MergedLabels
from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.results.labelled_values import LabelledValues, are_shares
from rag_evaluation_framework.results.scored_runs import ScoredMetric
from rag_evaluation_framework.results.threshold_figures import (
    ThresholdFigures,
    rate_behind_calls,
    threshold_figures,
    too_few_to_suggest,
)
from rag_evaluation_framework.statistics.agreement import Estimate, Resampling
from rag_evaluation_framework.statistics.classification import (
    FEWEST_OF_A_CLASS,
    Reliability,
    ThresholdRule,
    auroc,
    pearson,
    spearman,
)
from rag_evaluation_framework.statistics.prediction_powered import CorrectedEstimate, CorrectedRate
from rag_evaluation_framework.statistics.resampling import Floats, exact_mean

FEWEST_TO_VALIDATE = 50
"""With fewer labels, a metric is called checked, never validated."""

LEAST_TO_VALIDATE = 2 / 3
"""How often a metric must surely tell a yes from a no to be validated: twice right for once wrong."""

_CHANCE = 0.5
# With fewer labels, a correlation below 0 is a reading of chance, whatever its interval says.
_FEWEST_TO_TELL_DIRECTION = 10


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
        checked = f"checked on {counted(self.n_labels, 'label')}"
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
        return f"validated on {counted(self.n_labels, 'label')}"

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
    """Compare a metric's values with labels of the same run that can be used (:func:`cannot_calibrate`).

    ``threshold`` cuts the metric's own values; without it one is suggested if the labels allow.
    """
    held = LabelledValues.of(metric, labels, wanted, positive_at=settings.positive_at)
    resampling, confidence = settings.resampling, settings.resampling.confidence
    ranked = spearman(held.along, held.truth, resampling=resampling)
    against = _against(name, ranked, wanted, held)
    found = _at_threshold(held, threshold, may_suggest=against is None, settings=settings)
    return MetricCalibration(
        metric=name,
        method=metric.method,
        field=str(wanted),
        is_turned_round=held.is_turned_round,
        n_labels=len(held.truth),
        n_yes=int(held.yes.sum()),
        n_unscored_labels=len(labels.values) - len(held.truth),
        n_undecided=labels.undecided,
        merging=labels.merging,
        positive_at=held.cut,
        metric_mean=exact_mean(held.everything),
        is_share=are_shares(held.everything),
        people=_people(labels, wanted, resampling),
        people_on_yes=_people_on_yes(labels, wanted, held.cut, resampling),
        spearman=ranked,
        pearson=pearson(held.along, held.truth, resampling=resampling),
        auroc=auroc(held.along, held.yes, resampling=resampling),
        threshold=found,
        no_suggestion=_no_suggestion(found, held.yes, against),
        reliability=held.reliability(confidence=confidence),
        share=held.corrected_share(confidence=confidence),
        mean=held.corrected_label(confidence=confidence),
        rogan_gladen=_behind_calls(found, held.everything, confidence),
        not_random=held.not_random(),
        against=against,
    )


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


def _against(name: str, ranked: Estimate, wanted: LabelField, held: LabelledValues) -> str | None:
    """Warn if the metric clearly falls where the label rises, and say how to turn the label round."""
    if len(held.truth) < _FEWEST_TO_TELL_DIRECTION or not _surely_falls(ranked):
        return None
    ways = "the same way" if held.is_turned_round else "opposite ways"
    return (
        f"it runs against the label (Spearman {ranked.value:.2f}): if the two are meant to run {ways}, "
        f"give --pair {name}={wanted.reversed}"
    )


def _surely_falls(ranked: Estimate) -> bool:
    """Tell whether one falls as the other rises: in all of the interval, or without any exception."""
    if ranked.interval is not None:
        return ranked.interval.high < 0.0
    return ranked.value is not None and math.isclose(ranked.value, -1.0)


def _at_threshold(
    held: LabelledValues, given: float | None, *, may_suggest: bool, settings: CalibrationSettings
) -> ThresholdFigures | None:
    return threshold_figures(
        held.values,
        held.yes,
        is_turned_round=held.is_turned_round,
        given=given,
        may_suggest=may_suggest,
        rule=settings.rule,
        resampling=settings.resampling,
    )


def _behind_calls(found: ThresholdFigures | None, values: Floats, confidence: float) -> CorrectedRate | None:
    return None if found is None else rate_behind_calls(found, values, confidence=confidence)


def _no_suggestion(found: ThresholdFigures | None, yes: Floats, against: str | None) -> str | None:
    if found is not None and found.threshold.source != "half":
        return None
    return too_few_to_suggest(yes) if against is None else "it runs against the label"


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
