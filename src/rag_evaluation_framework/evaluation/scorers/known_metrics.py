"""What an evaluation knows of a metric by its name, however it is spelt: its direction and its range.

Thresholds are read with it before anything is computed. Declared metrics say it themselves; ``latency`` and
``pass_rate``, which are not metrics of answers, are listed here.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from rag_evaluation_framework.errors import UnknownNameError, UsageError
from rag_evaluation_framework.evaluation.scorers.named_scorers import (
    available_metrics,
    registered_name,
    scorer_for,
)
from rag_evaluation_framework.metrics.declaration import parse_metric, split_cut_off

PASS_RATE = "pass_rate"  # noqa: S105  # no password
"""The share of samples that pass; a threshold may be set for it, but it is not asked for as a metric."""


@dataclass(frozen=True, slots=True)
class KnownMetric:
    """What is known of a metric by its name alone."""

    higher_is_better: bool = True
    is_share: bool = True


_UNDECLARED = {"latency": KnownMetric(higher_is_better=False, is_share=False), PASS_RATE: KnownMetric()}


def metric_name(text: str) -> str:
    """Return the one name of a metric: ``hit@1``, be it written ``hit(k=1)`` or as trec_eval's ``success_1``.

    Thresholds find their metrics by it. A text that cannot be read is its own name.
    """
    text = text.strip()
    try:
        specification, cut_off = split_cut_off(text)
        if specification.name in _UNDECLARED or registered_name(text) is not None:
            return str(specification) if cut_off is None else f"{specification}@{cut_off}"
        return str(parse_metric(text))
    except UsageError:
        return text


def without_parameters(name: str) -> str:
    """Return the name of a metric without its parameters."""
    return name.partition("(")[0]


def known_metric(text: str) -> KnownMetric | None:
    """Return what is known of a metric, parameters and all; ``None`` for a name that is not ours."""
    name = metric_name(text)
    if name in _UNDECLARED:
        return _UNDECLARED[name]
    try:
        metric = parse_metric(text).metric
    except UsageError:
        return None
    return KnownMetric(metric.higher_is_better, metric.is_share)


def check_known(text: str, others: Container[str] = ()) -> None:
    """Raise :class:`UnknownNameError` for a name that is neither known, nor registered, nor among the others.

    Only metrics that there are get offered: the others may be misspelt themselves.
    """
    if text not in others and known_metric(text) is None and not _is_registered(text):
        raise UnknownNameError("metric", text, [PASS_RATE, *available_metrics()])


def check_metric(text: str) -> None:
    """Raise :class:`UsageError` for a metric that cannot be asked for, whatever methods are set up.

    It has an unknown name, a wrong parameter, or is no metric of a sample.
    """
    if _is_registered(text):
        return
    if known_metric(text) is None or split_cut_off(metric_name(text))[0].name not in available_metrics():
        scorer_for(text)


def _is_registered(text: str) -> bool:
    try:
        return registered_name(text) is not None
    except UsageError:
        return False
