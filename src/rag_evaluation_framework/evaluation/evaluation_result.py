"""What one evaluation of a retrieval pipeline returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """The mean of each metric over the queries it could be computed for; one that has none is left out.

    ``raw_results`` is the :class:`~rag_evaluation_framework.records.runs.Run` with every query's hits and
    scores. ``experiment_url`` is where LangSmith shows the experiment, or ``None``.
    """

    metrics: Mapping[str, float] = field(hash=False)
    experiment_url: str | None
    raw_results: Any = field(hash=False)
