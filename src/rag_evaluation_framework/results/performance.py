"""What a run took: time, latencies, tokens and cost, requests, memory and processor time of the evaluation.

``total_evaluation_time_seconds`` is the time by the clock from the beginning of a run until its last sample
was asked, scored (by a judge too) and written down. The parts of a resumed run are added up; the pauses
between them do not count, nor does what comes before and after: checking the data, intervals, reports.

``total_requests`` counts the requests that reached the system under test: each turn of a conversation and
each retry is one, and so is each call of a function; requests to a judge are counted apart
(``judge_usage``). Recorded answers take none. Of a sample that a resumed run asked again, those of the last
time count.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Any

import numpy as np

from rag_evaluation_framework.records.responses import UsageTotals
from rag_evaluation_framework.records.runs import SampleResult, Timing
from rag_evaluation_framework.statistics.resampling import exact_mean

TOTAL_TIME = "total_evaluation_time_seconds"
"""The field of the time that the whole run took."""


class PerformanceTotals:
    """Adds up what responses took, in eight bytes a sample."""

    def __init__(self) -> None:
        self._latencies = array("d")
        self._run_seconds = 0.0
        self._usage = UsageTotals()
        self._timed = self._told_requests = self._requests = 0

    def add(self, result: SampleResult, timing: Timing | None) -> None:
        """Add one response; what it does not report is not made up."""
        response = result.response
        self._usage.add(response.usage)
        if response.latency_ms is not None:
            self._latencies.append(response.latency_ms)
        if timing is not None and timing.started_at:
            self._timed += 1
            self._told_requests += timing.requests is not None
            self._requests += timing.requests or 0
            self._run_seconds = max(self._run_seconds, timing.run_seconds)

    def figures(self) -> dict[str, Any]:
        """Return the figures there are, under their names in results documents."""
        figures: dict[str, Any] = {}
        if self._latencies:
            figures["latency_stats"] = latency_stats(self._latencies)
        if usage := self._usage_figures():
            figures["api_usage"] = usage
        if self._run_seconds:
            figures[TOTAL_TIME] = self._run_seconds
        return figures

    def _usage_figures(self) -> dict[str, Any]:
        tokens = [
            count for count in (self._usage.input_tokens, self._usage.output_tokens) if count is not None
        ]
        figures = {
            "total_tokens": sum(tokens) if tokens else None,
            "input_tokens": self._usage.input_tokens,
            "output_tokens": self._usage.output_tokens,
            # Journals of earlier versions do not tell how many there were.
            "total_requests": self._requests if 0 < self._timed == self._told_requests else None,
            "estimated_cost_usd": self._usage.cost_usd,
        }
        return {name: value for name, value in figures.items() if value is not None}


def latency_stats(latencies: Iterable[float]) -> dict[str, float]:
    """Return the mean, percentiles (interpolated) and ends of latencies in milliseconds."""
    values = np.array(latencies, dtype=np.float64)
    p50, p95, p99 = np.percentile(values, [50, 95, 99]).tolist()
    figures = {"mean": exact_mean(values), "p50": p50, "p95": p95, "p99": p99}
    figures |= {"min": float(values.min()), "max": float(values.max())}
    return {**{name: round(value, 3) for name, value in figures.items()}, "n": len(values)}
