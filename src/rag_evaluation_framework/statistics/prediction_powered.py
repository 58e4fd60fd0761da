"""Corrected estimates: what people would say of everything, from a few labels and a prediction for all.

A metric, a screen or a judge is cheap and biased; people are right and few. Both together tell more than
either: the labelled items show how far the predictions are off, and the others are corrected by it.

* :func:`corrected_mean` (PPI++) needs labels of items drawn at random. It is never much wider than the labels
  alone, since a prediction that does not help is given no weight.
* :func:`rogan_gladen_rate` needs a flag and its sensitivity and specificity, which may come from other items.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.statistics.intervals import (
    Interval,
    normal_quantile,
    t_quantile,
    wilson_ends,
    wilson_interval,
)
from rag_evaluation_framework.statistics.resampling import (
    Floats,
    Numbers,
    exact_mean,
    finite_array,
    require_count,
    require_equal_lengths,
    require_share,
)

# Few labels overrate how much the predictions explain, most of all when the label is rare. So four labels
# that show no relation, one in each corner, are added before that is estimated, as Agresti and Coull (1998)
# add four to a proportion: with 30 to 300 labels, rates of 5 to 50 % and predictions of any quality, 95 %
# intervals then cover the truth in at least 93 % of draws.
_PSEUDO_LABELS = 4


class CorrectedEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """A mean of labels, corrected by predictions, beside what the labels alone tell.

    ``weight`` is that of the predictions, from 0 (not used) to 1. ``effective_labels`` is how many labels
    alone would give an interval as narrow.
    """

    value: float
    interval: Interval | None
    weight: float
    n_labels: int
    n_unlabelled: int
    effective_labels: float
    labels_value: float
    labels_interval: Interval | None


class CorrectedRate(msgspec.Struct, frozen=True, kw_only=True):
    """A flag's rate, corrected by its sensitivity and specificity."""

    value: float
    interval: Interval
    flagged_rate: float
    sensitivity: float
    specificity: float


def corrected_mean(
    labels: Numbers, predictions: Numbers, unlabelled: Numbers, *, confidence: float = 0.95
) -> CorrectedEstimate:
    """Estimate the mean label of everything, from labelled items and predictions of the others.

    ``predictions`` are those of the labelled items, in the same order; ``unlabelled`` those of all other
    items, and may be empty. The labelled items must be a random draw from all.

    Formula: ``mean(labels) + w (mean(unlabelled) - mean(predictions))``, with the weight
    ``w = cov(labels, predictions) / (var(predictions) (1 + n / N))``, kept between 0 and 1, that makes the
    variance ``(var(labels - w predictions) + w^2 var(predictions) n / N) / n`` smallest. Covariance and
    variances are taken with four labels more that show no relation: for labels of 0 and 1 one in each
    corner of labels and predictions, else one standard deviation from both means. The interval is Wilson's
    with ``n var(labels) / variance`` effective labels for labels of 0 and 1, else Student's t with n - 2
    degrees of freedom (n - 1 without a weight); ``None`` where that is 0, or if all labels are the same.

    Source: Angelopoulos, Duchi and Zrnic, PPI++: efficient prediction-powered inference, 2023; effective
    sample sizes in Wilson's interval: Korn and Graubard, 1998.
    """
    y, x = finite_array(labels, "labels"), finite_array(predictions, "predictions")
    require_equal_lengths(len(y), len(x))
    require_share(confidence, "confidence")
    others = finite_array(unlabelled, "unlabelled") if len(unlabelled) else np.empty(0)
    is_rate = bool(np.isin(y, (0.0, 1.0)).all())
    weight, variance_ratio = _power_tuning(y, x, others, is_rate=is_rate)
    mean = value = exact_mean(y)
    if weight:
        value += weight * (exact_mean(others) - exact_mean(x))
    effective = len(y) / variance_ratio
    if is_rate:
        value = min(max(value, 0.0), 1.0)
        low, high = wilson_ends(value, effective, confidence)
        interval: Interval | None = Interval(low, high, confidence, "Wilson score, effective n")
        alone: Interval | None = wilson_interval(int(y.sum()), len(y), confidence=confidence)
    else:
        degrees = len(y) - (2 if weight else 1)
        interval = _student(value, y, variance_ratio, degrees=degrees, confidence=confidence)
        alone = _student(mean, y, 1.0, degrees=len(y) - 1, confidence=confidence)
    return CorrectedEstimate(
        value=value,
        interval=interval,
        weight=weight,
        n_labels=len(y),
        n_unlabelled=len(others),
        effective_labels=effective,
        labels_value=mean,
        labels_interval=alone,
    )


def rogan_gladen_rate(
    flagged: int,
    n: int,
    *,
    true_positives: int,
    positives: int,
    true_negatives: int,
    negatives: int,
    confidence: float = 0.95,
) -> CorrectedRate | None:
    """Estimate the true rate behind a flag that was raised for ``flagged`` of ``n`` items.

    Of the items that people call positive the flag found ``true_positives``; of the negative ones it left
    ``true_negatives`` alone. These may be other items than the n, and need not have the same rate.

    Formula: ``(p + specificity - 1) / (sensitivity + specificity - 1)``, kept between 0 and 1, with p the
    share flagged. The interval carries the uncertainty of all three shares. ``None`` where the flag is no
    better than chance, and so says nothing.

    Source: Rogan and Gladen, Estimating prevalence from the results of a screening test, 1978; interval:
    Lang and Reiczigel, Confidence limits for prevalence of disease adjusted for estimated sensitivity and
    specificity, 2014.
    """
    for part, name, whole in (
        (flagged, "flagged", require_count(n, "n")),
        (true_positives, "true_positives", require_count(positives, "positives")),
        (true_negatives, "true_negatives", require_count(negatives, "negatives")),
    ):
        if require_count(part, name, least=0) > whole:
            raise UsageError(f"{name}: expected at most {whole}, got {part}")
    z2 = normal_quantile((1.0 + require_share(confidence, "confidence")) / 2.0) ** 2
    sensitivity, specificity = true_positives / positives, true_negatives / negatives
    if sensitivity + specificity <= 1.0:
        return None
    value = (flagged / n + specificity - 1.0) / (sensitivity + specificity - 1.0)
    # Lang and Reiczigel: z^2 / 2 of each kind added to the flagged and not, one to each kind of the labelled.
    p = (flagged + z2 / 2.0) / (n + z2)
    se, sp = (true_positives + 1.0) / (positives + 2.0), (true_negatives + 1.0) / (negatives + 2.0)
    youden = se + sp - 1.0
    if youden <= 0.0:
        return None
    middle = (p + sp - 1.0) / youden
    se_variance, sp_variance = se * (1.0 - se) / (positives + 2.0), sp * (1.0 - sp) / (negatives + 2.0)
    shift = 2.0 * z2 * (middle * se_variance - (1.0 - middle) * sp_variance)
    variance = p * (1.0 - p) / (n + z2) + middle**2 * se_variance + (1.0 - middle) ** 2 * sp_variance
    half = math.sqrt(z2 * variance) / youden
    low, high = (min(max(middle + shift + side, 0.0), 1.0) for side in (-half, half))
    return CorrectedRate(
        value=min(max(value, 0.0), 1.0),
        interval=Interval(low, high, confidence, "Lang and Reiczigel"),
        flagged_rate=flagged / n,
        sensitivity=sensitivity,
        specificity=specificity,
    )


def _power_tuning(y: Floats, x: Floats, others: Floats, *, is_rate: bool) -> tuple[float, float]:
    """Return the weight of the predictions, and the variance it leaves as a share of that of labels alone."""
    everything = np.concatenate([x, others])
    if not len(others) or everything.min() == everything.max() or len(y) < 2:
        return 0.0, 1.0
    if is_rate:
        corners_y = np.array([0.0, 0.0, 1.0, 1.0])
        corners_x = np.array([everything.min(), everything.max()] * 2)
    else:
        (mean_y, sd_y), (mean_x, sd_x) = _moments(y), _moments(x)
        corners_y = mean_y + sd_y * np.array([-1.0, -1.0, 1.0, 1.0])
        corners_x = mean_x + sd_x * np.array([-1.0, 1.0, -1.0, 1.0])
    y, x = np.concatenate([y, corners_y]), np.concatenate([x, corners_x])
    (mean_y, sd_y), (mean_x, sd_x) = _moments(y), _moments(x)
    if sd_y == 0.0 or sd_x == 0.0:
        return 0.0, 1.0
    covariance = math.fsum((y - mean_y) * (x - mean_x)) / len(y)
    # Of the mean of the others too the variance counts: that of N predictions beside n labels.
    n, spread = len(y) - _PSEUDO_LABELS, sd_x**2
    widened = spread * (1.0 + n / len(others))
    weight = min(max(covariance / widened, 0.0), 1.0)
    left = sd_y**2 - 2.0 * weight * covariance + weight**2 * widened
    return weight, min(left / sd_y**2, 1.0)


def _moments(values: Floats) -> tuple[float, float]:
    mean = math.fsum(values) / len(values)
    return mean, math.sqrt(math.fsum((values - mean) ** 2) / len(values))


def _student(
    value: float, labels: Floats, variance_ratio: float, *, degrees: int, confidence: float
) -> Interval | None:
    if degrees < 1 or labels.min() == labels.max():
        return None
    mean = math.fsum(labels) / len(labels)
    variance = math.fsum((labels - mean) ** 2) / (len(labels) - 1) * variance_ratio
    half = t_quantile((1.0 + confidence) / 2.0, degrees) * math.sqrt(variance / len(labels))
    return Interval(value - half, value + half, confidence, "Student's t")
