"""Where to cut a score into yes and no, and how good that cut will be on items it was not chosen by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import UnknownNameError, UsageError
from rag_evaluation_framework.statistics.agreement import Flags
from rag_evaluation_framework.statistics.arrays import Floats, Numbers, finite_array, require_equal_lengths
from rag_evaluation_framework.statistics.classification import Confusion, confusion, zero_one
from rag_evaluation_framework.statistics.resampling import generator

ThresholdRule = Literal["f1", "youden"]
THRESHOLD_RULES: tuple[ThresholdRule, ...] = ("f1", "youden")

FEWEST_OF_A_CLASS = 10
"""With fewer labels of a class, a threshold would be fitted to chance."""

_FOLDS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdSuggestion:
    """The score from which items are called positive.

    ``counts`` are those of the labels it was chosen by; ``cross_validated`` those to expect for others: every
    item was called by a threshold chosen without it.
    """

    threshold: float
    rule: ThresholdRule
    counts: Confusion
    cross_validated: Confusion
    folds: int


def suggested_threshold(
    scores: Numbers, truths: Numbers, *, rule: ThresholdRule = "youden", seed: int = 0
) -> ThresholdSuggestion:
    """Return the threshold that is best by a rule.

    ``f1`` makes F1 of the positive class largest, ``youden`` recall + specificity, which does not depend on
    how frequent positives are. Thresholds tried lie halfway between neighbouring scores; of equally good
    ones the one in the widest gap is taken. Cross-validation cuts each class into as many parts as it has
    items, at most 10, dealt at random. Fewer than 10 items of a class are refused.
    """
    if rule not in THRESHOLD_RULES:
        raise UnknownNameError("threshold rule", str(rule), THRESHOLD_RULES)
    array, positive = finite_array(scores, "scores"), zero_one(truths, "truths")
    require_equal_lengths(len(array), len(positive))
    fewest = min(int(positive.sum()), int((~positive).sum()))
    if fewest < FEWEST_OF_A_CLASS:
        raise UsageError(
            f"a threshold needs at least {FEWEST_OF_A_CLASS} labels of each class, got {fewest} of one"
        )
    order = np.lexsort((positive, array))
    array, positive = array[order], positive[order]
    threshold = _best_threshold(array, positive, rule)
    folds = min(_FOLDS, fewest)
    fold_of = _dealt(positive, folds, seed=seed)
    called = np.zeros(len(array), dtype=np.bool_)
    for fold in range(folds):
        held_out = fold_of == fold
        called[held_out] = array[held_out] >= _best_threshold(array[~held_out], positive[~held_out], rule)
    return ThresholdSuggestion(
        threshold=threshold,
        rule=rule,
        counts=confusion(array >= threshold, positive),
        cross_validated=confusion(called, positive),
        folds=folds,
    )


def _best_threshold(scores: Floats, positive: Flags, rule: ThresholdRule) -> float:
    """Return the best threshold of scores in rising order, both classes among them."""
    starts = np.flatnonzero(np.diff(scores, prepend=np.nan) != 0.0)
    if len(starts) == 1:
        return float(scores[0])
    # Cut k calls positive what is at least the k-th distinct score; the first calls everything so.
    passed = np.concatenate([[0], np.cumsum(positive)])[starts]
    total = int(positive.sum())
    hits = total - passed
    false_alarms = (len(scores) - starts) - hits
    if rule == "f1":
        merit = 2.0 * hits / (hits + false_alarms + total)
    else:
        merit = hits / total - false_alarms / (len(scores) - total)
    distinct = scores[starts]
    gaps = np.diff(distinct, prepend=distinct[0])
    best = np.flatnonzero(merit >= merit.max() - 1e-12)
    cut = int(best[np.argmax(gaps[best])])
    return float(distinct[0] if cut == 0 else distinct[cut - 1] + gaps[cut] / 2.0)


def _dealt(positive: Flags, folds: int, *, seed: int) -> npt.NDArray[np.int64]:
    """Deal the items of each class to the folds, as evenly as can be."""
    rng = generator(seed)
    fold_of = np.empty(len(positive), dtype=np.int64)
    for members in (np.flatnonzero(positive), np.flatnonzero(~positive)):
        fold_of[rng.permutation(members)] = np.arange(len(members)) % folds
    return fold_of
