"""What results have of a metric beside its mean: counts and means of what the details of its scores tell.

A field is there if every score has it in its details, and is left out otherwise: runs that were scored before
it was known have none. A field that begins with ``mean_`` is the mean over the scored samples, any other the
sum. The value of a metric stays the mean over samples, whatever the sums are.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

from rag_evaluation_framework.metrics.declaration import without_parameters
from rag_evaluation_framework.records.scores import Score
from rag_evaluation_framework.statistics.resampling import exact_mean

SPAN_ACCURACY = "span_accuracy"
"""The field of what all metrics of cited spans have in common."""

_OF_SPANS = ("mean_exact_jaccard", "mean_tolerance_jaccard", "perfect_matches", "good_matches")
# The metric that has a tolerance of its own comes first: the figures beside it are by that tolerance.
SPAN_METRICS = (
    "citation_tolerance_jaccard",
    "citation_exact_jaccard",
    "citation_span_f1",
    "citation_span_recall",
    "citation_span_precision",
)
_CONSISTENCY = "mean_consistency"
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "citation_recall": ("total_sentences", "supported_sentences"),
    "citation_precision": ("total_citations", "relevant_citations"),
    "citation_completeness": ("total_claims", "cited_claims"),
    "citation_correctness": ("total_citations", "correct_citations"),
    "citation_validity": ("total_citations", "valid_citations"),
    "factual_consistency": (_CONSISTENCY,),
    "hallucination_rate": ("total_claims", "hallucinated_claims"),
    **dict.fromkeys(SPAN_METRICS, _OF_SPANS),
}


class DetailTotals:
    """Adds up the details of one metric's scores, in some eight bytes a field and sample."""

    def __init__(self, metric: str) -> None:
        self._columns = {name: array("d") for name in _FIELDS.get(without_parameters(metric), ())}
        self._scored = 0

    def add(self, score: Score) -> None:
        """Add what one score tells, if it has a value."""
        if score.value is None:
            return
        self._scored += 1
        for name, column in self._columns.items():
            value = score.details.get(name)
            if isinstance(value, int | float):
                column.append(value)

    def figures(self) -> dict[str, Any]:
        """Return the figures that every score tells something about."""
        told = {name: column for name, column in self._columns.items() if 0 < len(column) == self._scored}
        figures: dict[str, Any] = {
            name: exact_mean(column) if name.startswith("mean_") else int(sum(column))
            for name, column in told.items()
        }
        if _CONSISTENCY in told:
            figures["consistency_scores"] = list(told[_CONSISTENCY])
        return figures
