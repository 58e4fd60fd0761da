"""What is known of a metric by its name: its section of the results, and which direction is better.

Retrieval metrics are those of ranking, chunks and spans; citation metrics those of citations; everything else
that scores an answer is answer quality, and so is anybody else's metric that is not declared here. What
measures time is performance, whatever it is called.
"""

from __future__ import annotations

from collections.abc import Mapping

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.metrics.declaration import BoundMetric, Metric, parse_metric
from rag_evaluation_framework.metrics.views import EXCHANGE, Field
from rag_evaluation_framework.records.scores import TIMING_METHOD

RETRIEVAL = "retrieval_metrics"
CITATION = "citation_metrics"
ANSWER_QUALITY = "answer_quality_metrics"
PERFORMANCE = "performance_metrics"

_SECTION_OF_FAMILY: Mapping[str, str] = {
    "ranking": RETRIEVAL,
    "chunks": RETRIEVAL,
    "spans": RETRIEVAL,
    "citations": CITATION,
    "performance": PERFORMANCE,
}


def section_of(name: str, method: str) -> str:
    """Return the section of a results document that a metric belongs to."""
    if method == TIMING_METHOD:
        return PERFORMANCE
    declared = declared_metric(name)
    return (
        ANSWER_QUALITY if declared is None else _SECTION_OF_FAMILY.get(declared.metric.family, ANSWER_QUALITY)
    )


def is_higher_better(name: str, method: str, told: bool | None = None) -> bool:
    """Tell whether higher is better: as declared, else as given, else no for times and yes for the rest."""
    declared = declared_metric(name)
    if declared is not None:
        return declared.metric.higher_is_better
    return told if told is not None else method != TIMING_METHOD


def declared_metric(name: str) -> BoundMetric | None:
    """Return the metric of this name, or ``None`` if it is not declared here."""
    try:
        return parse_metric(name)
    except UsageError:
        return None


def stand_in(name: str, method: str, *, higher_is_better: bool) -> BoundMetric:
    """Return a metric that is known by its scores alone: a name and a direction, and nothing to compute."""

    def computed_elsewhere(*_: object) -> float:
        raise UsageError(f"metric {name!r} is known here by its scores alone")

    scores = Field("scores", method=method)
    return BoundMetric(
        Metric(name, EXCHANGE, computed_elsewhere, (scores,), higher_is_better=higher_is_better)
    )
