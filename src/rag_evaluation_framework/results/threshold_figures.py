"""How well a metric, cut at a threshold, finds what people call yes; and where to cut it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rag_evaluation_framework.statistics.agreement import Estimate, Flags, Resampling
from rag_evaluation_framework.statistics.classification import (
    FEWEST_OF_A_CLASS,
    ClassificationFigures,
    Confusion,
    ThresholdRule,
    classification_figures,
    confusion,
    kappa,
    suggested_threshold,
)
from rag_evaluation_framework.statistics.prediction_powered import CorrectedRate, rogan_gladen_rate
from rag_evaluation_framework.statistics.resampling import Floats

Operator = Literal[">=", "<="]
ThresholdSource = Literal["given", "yes or no", "suggested", "half"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdFigures:
    """The calls against the labels. A threshold that these labels suggested is judged by cross-validation:
    every label was held out when it was called."""

    threshold: Threshold
    counts: Confusion
    figures: ClassificationFigures
    kappa: Estimate


def threshold_figures(
    values: Floats,
    yes: Floats,
    *,
    is_turned_round: bool,
    given: float | None,
    may_suggest: bool = True,
    rule: ThresholdRule,
    resampling: Resampling,
) -> ThresholdFigures | None:
    """Return the figures at the threshold given, at the only one there is, or at the suggested one.

    If labels are too few to suggest one (:func:`too_few_to_suggest`), a metric from 0 to 1 is cut at a half
    and any other not at all. Without ``may_suggest`` there is only a given one, or that of a metric of yes
    and no.
    """
    operator: Operator = "<=" if is_turned_round else ">="
    counts = None
    if given is not None:
        threshold = Threshold(value=given, operator=operator, source="given")
    elif np.isin(values, (0.0, 1.0)).all():
        threshold = Threshold(value=0.5, operator=operator, source="yes or no")
    elif not may_suggest:
        return None
    elif too_few_to_suggest(yes) is None:
        sign = -1.0 if is_turned_round else 1.0
        suggestion = suggested_threshold(sign * values, yes, rule=rule, seed=resampling.seed)
        counts = suggestion.cross_validated
        value = sign * suggestion.threshold
        threshold = Threshold(value=value, operator=operator, source="suggested", rule=rule)
    elif values.min() >= 0.0 and values.max() <= 1.0:
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


def rate_behind_calls(found: ThresholdFigures, values: Floats, *, confidence: float) -> CorrectedRate | None:
    """Return the share of yes behind the calls over all values, by their sensitivity and specificity."""
    counts = found.counts
    if not counts.positives or not counts.negatives:
        return None
    return rogan_gladen_rate(
        int(found.threshold.calls(values).sum()),
        len(values),
        true_positives=counts.true_positives,
        positives=counts.positives,
        true_negatives=counts.true_negatives,
        negatives=counts.negatives,
        confidence=confidence,
    )
