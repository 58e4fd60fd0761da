"""The calibration of one metric: the trust that it deserves, and where to cut it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

import msgspec
import numpy as np

from rag_evaluation_framework.datasets.annotations import RatedUnit
from rag_evaluation_framework.datasets.annotator_agreement import AgreementFigure, aspect_figure, score_figure
from rag_evaluation_framework.datasets.human_labels import LabelField, MergedLabels
from rag_evaluation_framework.errors import UsageError, counted
from rag_evaluation_framework.results.comparison import ScoredMetric
from rag_evaluation_framework.statistics.agreement import Estimate, Flags, Resampling
from rag_evaluation_framework.statistics.classification import (
    FEWEST_OF_A_CLASS,
    ClassificationFigures,
    Confusion,
    Reliability,
    ThresholdRule,
    auroc,
    classification_figures,
    confusion,
    kappa,
    pearson,
    reliability,
    spearman,
    suggested_threshold,
)
from rag_evaluation_framework.statistics.intervals import normal_two_sided
from rag_evaluation_framework.statistics.partly_judged import Draw, Judging, looks, strata_of
from rag_evaluation_framework.statistics.prediction_powered import (
    CorrectedEstimate,
    CorrectedRate,
    corrected_mean,
    rogan_gladen_rate,
)
from rag_evaluation_framework.statistics.resampling import Floats, exact_mean

# A metric's values beside human labels of the same run, and the figures that the labels correct.
#
# Everything is in the direction of the label: if more of the label means less of the metric, the metric
# is turned round before the two are compared.

# A difference between labelled and other samples that chance gives once in a hundred runs.
_NOT_RANDOM = 0.01


class LabelledValues(msgspec.Struct, frozen=True, kw_only=True, eq=False, dict=True, weakref=True):
    """The ``truth`` and ``values`` of the samples that have a label and a score, and the ``others``' values.

    A label of at least ``cut`` is a yes. Labels that are ``drawn`` are of samples that were drawn by the
    metric's values (:func:`drawn_for_people`); others must be of samples drawn at random.
    """

    truth: Floats
    values: Floats
    others: Floats
    cut: float
    is_turned_round: bool
    drawn: bool = False

    @classmethod
    def of(
        cls,
        metric: ScoredMetric,
        labels: MergedLabels,
        wanted: LabelField,
        *,
        positive_at: float | None,
        drawn: bool = False,
    ) -> LabelledValues:
        """Put a metric and labels together; some sample must have both."""
        both = [query for query in labels.values if query in metric.by_id]
        others = [value for query, value in metric.by_id.items() if query not in labels.values]
        truth = np.array([labels.values[query] for query in both])
        return cls(
            truth=truth,
            values=np.array([metric.by_id[query] for query in both]),
            others=np.array(others),
            cut=_half(truth, wanted) if positive_at is None else positive_at,
            is_turned_round=wanted.is_reversed != (wanted.is_quality and not metric.higher_is_better),
            drawn=drawn,
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
        if self.drawn:
            return self._of_draw(self.yes, is_share=True, confidence=confidence)
        known, unknown = self._shares
        return corrected_mean(self.yes, known, unknown, confidence=confidence)

    def _of_draw(self, labels: Floats, *, is_share: bool, confidence: float) -> CorrectedEstimate:
        """Return the mean label of all samples, of which those labelled were drawn by the metric's values."""
        strata, n = strata_of(self.everything), len(labels)
        verdicts = np.concatenate([labels, np.full(len(self.others), np.nan)])
        found = Judging(strata, ~np.isnan(verdicts), verdicts).mean(is_share=is_share, confidence=confidence)
        mean = exact_mean(labels)
        return CorrectedEstimate(
            value=mean if found is None else found.value,
            interval=None if found is None else found.interval,
            weight=0.0,
            n_labels=n,
            n_unlabelled=len(self.others),
            effective_labels=float(n) if found is None else found.effective,
            labels_value=mean,
            labels_interval=None,
        )

    def corrected_label(self, *, confidence: float) -> CorrectedEstimate | None:
        """Return the mean label that people would give; ``None`` where labels are 0 or 1: it is the share."""
        if np.isin(self.truth, (0.0, 1.0)).all():
            return None
        if self.drawn:
            return self._of_draw(self.truth, is_share=are_shares(self.truth), confidence=confidence)
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
            f"the labeled samples score {labelled:.4f} on average, the others {rest:.4f}: they do not look "
            "like a random sample, which the corrected figures require"
        )

    @cached_property
    def _shares(self) -> tuple[Floats, Floats]:
        """The values of the labelled samples and of the others, from 0 to 1 in the direction of the label."""
        shares = _as_shares(self.everything)
        if self.is_turned_round:
            shares = 1.0 - shares
        return shares[: len(self.values)], shares[len(self.values) :]


def are_shares(values: Floats) -> bool:
    """Return True if all values are from 0 to 1."""
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
            "set the lowest label that counts as yes with --positive-at"
        )
    return 0.5


# How well a metric, cut at a threshold, finds what people call yes; and where to cut it.

Operator = Literal[">=", "<="]
ThresholdSource = Literal["given", "yes or no", "suggested", "half"]


class Threshold(msgspec.Struct, frozen=True, kw_only=True):
    """A value of the metric, on which side of it an answer is called yes, and who chose it.

    ``given`` by the user; ``yes or no``, because the metric has no other values; ``suggested`` by the labels;
    or ``half``, for want of labels.
    """

    value: float
    operator: Operator
    source: ThresholdSource
    rule: ThresholdRule | None = None

    def calls(self, values: Floats) -> Flags:
        """Tell which values are called yes."""
        return values >= self.value if self.operator == ">=" else values <= self.value

    def __str__(self) -> str:
        return f"{self.operator} {self.value:.4g}"


class ThresholdFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The calls against the labels. A threshold that these labels suggested is judged by cross-validation:
    every label was held out when it was called."""

    threshold: Threshold
    counts: Confusion
    figures: ClassificationFigures
    kappa: Estimate


class CalibrationSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a calibration: the label that counts as yes, the threshold rule, and the resampling.

    ``positive_at`` is the lowest label that counts as yes; by default 0.5, for labels from 0 to 1. ``drawn``
    says that the labelled samples were drawn for people (:func:`drawn_for_people`), not at random.
    """

    positive_at: float | None = None
    rule: ThresholdRule = "youden"
    resampling: Resampling = msgspec.field(default_factory=Resampling)
    drawn: bool = False


def drawn_for_people(
    metric: ScoredMetric, labels: Mapping[str, float], total: int, *, seed: int
) -> list[str]:
    """Return the ids of the samples that people are to label, out of those that a metric scores.

    Two fifths of them are drawn from all values of the metric alike. Once these have ``labels``, the rest is
    drawn too, where labels vary most.
    """
    ids = list(metric.by_id)
    draw = Draw(ids, list(metric.by_id.values()), seed=seed)
    verdicts = np.array([labels.get(each, np.nan) for each in ids])
    found: list[int] = []
    for look in looks(total, len(ids)):
        seen = np.full(len(ids), np.nan)
        seen[found] = verdicts[found]
        if np.isnan(seen[found]).any():
            break
        found += draw.extend(seen, look).tolist()
    return [ids[place] for place in found]


def threshold_figures(
    held: LabelledValues, given: float | None, *, may_suggest: bool, settings: CalibrationSettings
) -> ThresholdFigures | None:
    """Return the figures at the threshold given, at the only one there is, or at the suggested one.

    If labels are too few to suggest one (:func:`too_few_to_suggest`), a metric from 0 to 1 is cut at a half
    and any other not at all. Without ``may_suggest`` there is only a given one, or that of a metric of yes
    and no.
    """
    values, yes, resampling = held.values, held.yes, settings.resampling
    operator: Operator = "<=" if held.is_turned_round else ">="
    counts = None
    if given is not None:
        threshold = Threshold(value=given, operator=operator, source="given")
    elif np.isin(values, (0.0, 1.0)).all():
        threshold = Threshold(value=0.5, operator=operator, source="yes or no")
    elif not may_suggest:
        return None
    elif too_few_to_suggest(yes) is None:
        suggestion = suggested_threshold(held.along, yes, rule=settings.rule, seed=resampling.seed)
        counts = suggestion.cross_validated
        value = -suggestion.threshold if held.is_turned_round else suggestion.threshold
        threshold = Threshold(value=value, operator=operator, source="suggested", rule=settings.rule)
    elif are_shares(values):
        threshold = Threshold(value=0.5, operator=operator, source="half")
    else:
        return None
    counts = counts or confusion(threshold.calls(values), yes)
    return ThresholdFigures(
        threshold=threshold,
        counts=counts,
        figures=classification_figures(counts, confidence=resampling.confidence),
        kappa=kappa(counts, resampling=resampling),
    )


def too_few_to_suggest(yes: Floats) -> str | None:
    """Say why no threshold can be suggested; ``None`` if one can."""
    n_yes = int(yes.sum())
    n_no = len(yes) - n_yes
    if min(n_yes, n_no) >= FEWEST_OF_A_CLASS:
        return None
    return f"a threshold needs {FEWEST_OF_A_CLASS} labels of yes and of no; there are {n_yes} and {n_no}"


def _rate_behind_calls(
    found: ThresholdFigures | None, values: Floats, confidence: float
) -> CorrectedRate | None:
    """Return the share of yes behind the calls over all values, by their sensitivity and specificity."""
    if found is None or not found.counts.positives or not found.counts.negatives:
        return None
    return rogan_gladen_rate(
        int(found.threshold.calls(values).sum()),
        len(values),
        true_positives=found.counts.true_positives,
        positives=found.counts.positives,
        true_negatives=found.counts.true_negatives,
        negatives=found.counts.negatives,
        confidence=confidence,
    )


FEWEST_TO_VALIDATE = 50
"""With fewer labels, a metric is called checked, never validated."""

LEAST_TO_VALIDATE = 2 / 3
"""The least lower bound of the rate at which a validated metric tells a yes from a no: two of three."""

_CHANCE = 0.5
# With fewer labels, a correlation below 0 is a reading of chance, whatever its interval says.
_FEWEST_TO_TELL_DIRECTION = 10


class MetricCalibration(msgspec.Struct, frozen=True, kw_only=True):
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
    def is_validated(self) -> bool:
        """Return True if it surely tells the answers that people call good from the others."""
        return self.verdict.startswith("validated")

    @property
    def verdict(self) -> str:
        """The verdict on the metric, in a line."""
        checked = f"checked on {counted(self.n_labels, 'label')}"
        if self.n_labels < FEWEST_TO_VALIDATE:
            return f"{checked}, too few to rely on"
        if self.against is not None:
            return f"{checked}, negatively correlated with them"
        n_rarer, rarer = min((self.n_yes, "yes"), (self.n_labels - self.n_yes, "no"))
        if n_rarer < FEWEST_OF_A_CLASS or self.auroc.value is None:
            return f"{checked}, but too few of them are {rarer} ({n_rarer}) to rely on"
        # With so many of each kind, only pairs that are all right, all wrong or all tied have no interval.
        interval = self.auroc.interval
        surely = self.auroc.value if interval is None else interval.low
        if surely <= _CHANCE:
            return f"{checked}, no significant correlation with them"
        if surely < LEAST_TO_VALIDATE:
            return f"{checked}, weak correlation with them: {self._telling_apart}"
        return f"validated on {counted(self.n_labels, 'label')}"

    @property
    def _telling_apart(self) -> str:
        interval = self.auroc.interval
        ends = "" if interval is None else f" [{interval.low:.0%}, {interval.high:.0%}]"
        return f"it ranks a yes above a no in {self.auroc.value:.0%} of pairs{ends}; chance: {_CHANCE:.0%}"

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values for a JSON file."""
        return {**msgspec.to_builtins(self), "verdict": self.verdict}


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
    held = LabelledValues.of(metric, labels, wanted, positive_at=settings.positive_at, drawn=settings.drawn)
    resampling, confidence = settings.resampling, settings.resampling.confidence
    ranked = spearman(held.along, held.truth, resampling=resampling)
    against = _against(name, ranked, wanted, held)
    found = threshold_figures(held, threshold, may_suggest=against is None, settings=settings)
    people, people_on_yes = _people(labels, wanted, held.cut, resampling)
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
        people=people,
        people_on_yes=people_on_yes,
        spearman=ranked,
        pearson=pearson(held.along, held.truth, resampling=resampling),
        auroc=auroc(held.along, held.yes, resampling=resampling),
        threshold=found,
        no_suggestion=_no_suggestion(found, held.yes, against),
        reliability=held.reliability(confidence=confidence),
        share=held.corrected_share(confidence=confidence),
        mean=held.corrected_label(confidence=confidence),
        rogan_gladen=_rate_behind_calls(found, held.everything, confidence),
        not_random=None if settings.drawn else held.not_random(),
        against=against,
    )


def cannot_calibrate(
    metric: ScoredMetric, labels: MergedLabels, wanted: LabelField, *, settings: CalibrationSettings
) -> str | None:
    """Say why a metric cannot be compared with these labels; ``None`` if it can."""
    truth = [label for query, label in labels.values.items() if query in metric.by_id]
    if not truth:
        n_tied = sum(unit.query_id in metric.by_id for unit in labels.units)
        exception = f", but for {n_tied:,} tied" if n_tied else ""
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
    """Return True if one falls as the other rises: in all of the interval, or without any exception."""
    if ranked.interval is not None:
        return ranked.interval.high < 0.0
    return ranked.value is not None and math.isclose(ranked.value, -1.0)


def _no_suggestion(found: ThresholdFigures | None, yes: Floats, against: str | None) -> str | None:
    if found is not None and found.threshold.source != "half":
        return None
    return too_few_to_suggest(yes) if against is None else "it is negatively correlated with the label"


def _people(
    labels: MergedLabels, wanted: LabelField, cut: float, resampling: Resampling
) -> tuple[AgreementFigure | None, AgreementFigure | None]:
    """Return how far annotators agree with each other, on the label and on whether it is a yes."""
    shared = [unit for unit in labels.units if len(unit.ratings) >= 2]
    if not shared:
        return None, None
    words = {True: "yes", False: "no"}
    called = [
        RatedUnit(unit.query_id, {who: words[value >= cut] for who, value in unit.ratings.items()})
        for unit in shared
    ]
    on_yes = aspect_figure(f"{wanted.name} >= {cut:g}", called, resampling)
    return score_figure(wanted.name, shared, resampling), on_yes
