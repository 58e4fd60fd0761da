"""How well a score tells two classes apart: AUROC and F1, with intervals by resampling whole sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from benchmarks._figures import Figure
from rag_evaluation_framework.statistics.resampling import generator

Floats = npt.NDArray[np.float64]

RESAMPLES = 2_000


def auroc(labels: Sequence[bool], scores: Sequence[float], weights: Floats | None = None) -> float:
    """Return the probability that a positive scores above a negative; ties count half."""
    positive = np.asarray(labels, dtype=bool)
    _, ranks = np.unique(np.asarray(scores, dtype=np.float64), return_inverse=True)
    weights = np.ones(len(positive)) if weights is None else weights
    above = np.bincount(ranks[positive], weights[positive], ranks.max() + 1)
    below = np.bincount(ranks[~positive], weights[~positive], ranks.max() + 1)
    lower = np.cumsum(below) - below
    return float((above * (lower + below / 2)).sum() / (above.sum() * below.sum()))


def f1(
    labels: Sequence[bool], scores: Sequence[float], weights: Floats | None = None, *, least: float
) -> float:
    """Return F1 of the positives when scores from ``least`` on are called positive."""
    positive = np.asarray(labels, dtype=bool)
    called = np.asarray(scores, dtype=np.float64) >= least
    weights = np.ones(len(positive)) if weights is None else weights
    hits = float(weights[positive & called].sum())
    return 2 * hits / float(weights[positive].sum() + weights[called].sum()) if hits else 0.0


def best_threshold(labels: Sequence[bool], scores: Sequence[float]) -> float:
    """Return the score from which F1 is highest."""
    return max(set(scores), key=lambda least: (f1(labels, scores, least=least), -least))


def f1_at_share(
    labels: Sequence[bool],
    scores: Sequence[float],
    weights: Floats | None = None,
    *,
    least: float,
    share: float,
) -> float:
    """Return F1 with the positives weighted to this share of all."""
    positive = np.asarray(labels, dtype=bool)
    weights = np.ones(len(positive)) if weights is None else weights
    found = weights[positive].sum() / weights.sum()
    factors = np.where(positive, share / found, (1 - share) / (1 - found))
    return f1(labels, scores, weights * factors, least=least)


def called_across(
    labels: Sequence[bool], scores: Sequence[float], sources: Sequence[str], *, folds: int = 5
) -> list[bool]:
    """Call each item positive or not by the threshold that is best on the sources of the other folds."""
    fold_of = {source: place % folds for place, source in enumerate(sorted(set(sources)))}
    called = [False] * len(labels)
    for fold in range(folds):
        others = [i for i, source in enumerate(sources) if fold_of[source] != fold]
        least = best_threshold([labels[i] for i in others], [scores[i] for i in others])
        for i, source in enumerate(sources):
            if fold_of[source] == fold:
                called[i] = scores[i] >= least
    return called


def figure(
    name: str,
    labels: Sequence[bool],
    scores: Sequence[float],
    sources: Sequence[str],
    *,
    measure: Callable[..., float] = auroc,
    published: str = "",
    plain: Sequence[float] | None = None,
) -> Figure:
    """Measure, and bound by the bootstrap over sources: answers to one question are not independent.

    Beside it stands the same measure of ``plain`` scores.
    """
    value = measure(labels, scores)
    rng = generator(0)
    _, source_of = np.unique(np.asarray(sources), return_inverse=True)
    count = int(source_of.max()) + 1
    positive = np.asarray(labels, dtype=bool)
    drawn: list[float] = []
    while len(drawn) < RESAMPLES:
        weights = np.bincount(rng.integers(0, count, count), minlength=count)[source_of].astype(np.float64)
        if weights[positive].any() and weights[~positive].any():
            drawn.append(measure(labels, scores, weights))
    low, high = np.quantile(drawn, [0.025, 0.975]).tolist()
    beside = None if plain is None else measure(labels, plain)
    return Figure(name, len(labels), value, low, high, published, beside)
