"""What an evaluation knows of a metric by its name: its direction and its range.

Thresholds are read with it before anything is computed. Declared metrics say it themselves; ``latency`` and
``pass_rate``, which are not metrics of answers, are listed here.
"""

from __future__ import annotations

from dataclasses import dataclass

from rag_evaluation_framework.errors import UnknownNameError, UsageError
from rag_evaluation_framework.metrics.declaration import all_metrics, parse_metric

PASS_RATE = "pass_rate"  # noqa: S105  # no password
"""The share of samples that pass; a threshold may be set for it, but it is not asked for as a metric."""


@dataclass(frozen=True, slots=True)
class KnownMetric:
    """What is known of a metric by its name alone."""

    higher_is_better: bool = True
    is_share: bool = True


_UNDECLARED = {"latency": KnownMetric(higher_is_better=False, is_share=False), PASS_RATE: KnownMetric()}


def known_metric(text: str) -> KnownMetric | None:
    """Return what is known of a metric, parameters and all; ``None`` for a name that is not ours."""
    if text in _UNDECLARED:
        return _UNDECLARED[text]
    try:
        metric = parse_metric(text).metric
    except UsageError:
        return None
    return KnownMetric(metric.higher_is_better, metric.is_share)


def check_known(text: str, others: frozenset[str]) -> None:
    """Raise :class:`UnknownNameError` for a name that is neither known nor among the others."""
    if known_metric(text) is None and text not in others:
        declared = (metric.name for metric in all_metrics())
        raise UnknownNameError("metric", text, sorted({*_UNDECLARED, *declared, *others}))
