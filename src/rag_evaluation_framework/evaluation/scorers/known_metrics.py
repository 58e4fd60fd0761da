"""What an evaluation knows of a metric by its name: what it needs of a sample, its direction, its range.

Thresholds are read by it before anything is computed. Declared metrics tell it themselves; ``latency`` and
``pass_rate`` are no metrics of answers and stand here.
"""

from __future__ import annotations

from dataclasses import dataclass

from rag_evaluation_framework.errors import UnknownNameError, UsageError
from rag_evaluation_framework.metrics.declaration import Metric, all_metrics, parse_metric

PASS_RATE = "pass_rate"  # noqa: S105  # no password
"""The share of samples that pass; a threshold may be set for it, but it is not asked for as a metric."""

# What a metric needs of a sample, in the words of a dataset's fields; the answer and the question are always
# there, and what the system retrieves or cites is not known before it is asked.
_FIELDS = {
    "reference": "expected",
    "contexts": "context",
    "reference_contexts": "reference_contexts",
    "relevant_documents": "relevant_documents",
    "relevant_chunk_ids": "relevant_chunk_ids",
    "relevant_spans": "relevant_spans",
    "entities": "entities",
    "relation": "relation",
    "milestones": "milestones",
    "hops": "hops",
    "turns": "turns",
}


@dataclass(frozen=True, slots=True)
class KnownMetric:
    """What is known of a metric by its name alone. ``needs`` are fields of a sample."""

    needs: tuple[str, ...] = ()
    higher_is_better: bool = True
    is_share: bool = True


_UNDECLARED = {"latency": KnownMetric(higher_is_better=False, is_share=False), PASS_RATE: KnownMetric()}


def fields_needed(metric: Metric) -> tuple[str, ...]:
    """Return the fields of a sample that a metric cannot do without."""
    return tuple(field for need, field in _FIELDS.items() if need in metric.needs)


def known_metric(text: str) -> KnownMetric | None:
    """Return what is known of a metric, parameters and all; ``None`` for a name that is not ours."""
    if text in _UNDECLARED:
        return _UNDECLARED[text]
    try:
        metric = parse_metric(text).metric
    except UsageError:
        return None
    return KnownMetric(fields_needed(metric), metric.higher_is_better, metric.is_share)


def check_known(text: str, others: frozenset[str]) -> None:
    """Raise :class:`UnknownNameError` for a name that is neither known nor among the others."""
    if known_metric(text) is None and text not in others:
        declared = (metric.name for metric in all_metrics())
        raise UnknownNameError("metric", text, sorted({*_UNDECLARED, *declared, *others}))
