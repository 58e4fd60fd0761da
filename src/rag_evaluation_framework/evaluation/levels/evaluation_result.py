"""What one evaluation of a retrieval pipeline returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """The mean of each metric over the queries it could be computed for; one that has none is left out.

    ``raw_results`` is the :class:`~rag_evaluation_framework.records.runs.Run` with every query's hits and
    scores. ``experiment_url`` is where LangSmith shows the experiment, or ``None``; ``warnings`` explain
    a missing one.
    """

    metrics: Mapping[str, float] = field(hash=False)
    experiment_url: str | None
    raw_results: Any = field(hash=False)
    warnings: tuple[str, ...] = ()

    @property
    def per_query(self) -> dict[str, dict[str, float]]:
        """The value of each metric for each query, by its id; what could not be computed is left out."""
        return {
            result.sample_id: {
                score.metric: score.value for score in result.scores if score.value is not None
            }
            for result in self.raw_results.results
        }
