"""What a run took: latencies, tokens and cost, requests, memory and processor time of the evaluation.

Everything that differs between two otherwise equal runs is here, and nowhere else in a results document, so
that equal results are equal bytes in all its other sections.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec
import numpy as np

from rag_evaluation_framework.evaluation.runs.result_fields import Timing
from rag_evaluation_framework.evaluation.runs.usage_totals import UsageTotals
from rag_evaluation_framework.records.runs import SampleResult
from rag_evaluation_framework.statistics.sums import exact_mean

QUERY_LATENCIES = "query_latencies_ms"
"""The field of each query's latency, by query id."""


class QueryLatencies:
    """Pairs of query id and milliseconds, in the order of the run, packed into some thirty bytes each."""

    def __init__(self) -> None:
        self._lines = bytearray()

    def add(self, query_id: str, latency_ms: float) -> None:
        self._lines += msgspec.json.encode((query_id, latency_ms)) + b"\n"

    def __iter__(self) -> Iterator[tuple[str, float]]:
        begin = 0
        while (end := self._lines.find(b"\n", begin)) >= 0:
            yield msgspec.json.decode(self._lines[begin:end], type=tuple[str, float])
            begin = end + 1


class PerformanceTotals:
    """Adds up what responses took, in some sixty bytes a sample."""

    def __init__(self) -> None:
        self.query_latencies = QueryLatencies()
        self._latencies = array("d")
        self._starts = array("d")
        self._ends = array("d")
        self._usage = UsageTotals()
        self._requests = 0

    def add(self, result: SampleResult, timing: Timing | None) -> None:
        """Add one response; what it does not report is not made up."""
        response = result.response
        self._usage.add(response.usage)
        if response.latency_ms is not None:
            self.query_latencies.add(result.sample_id, response.latency_ms)
            self._latencies.append(response.latency_ms)
        if timing is not None and timing.started_at:
            self._requests += timing.attempts
            start = datetime.fromisoformat(timing.started_at).timestamp()
            self._starts.append(start)
            self._ends.append(start + timing.elapsed_ms / 1000)

    def figures(self) -> dict[str, Any]:
        """Return the figures there are, under their names in results documents."""
        figures: dict[str, Any] = {}
        if self._latencies:
            figures["latency_stats"] = latency_stats(self._latencies)
        if usage := self._usage_figures():
            figures["api_usage"] = usage
        if self._starts:
            figures["total_evaluation_time_seconds"] = round(busy_seconds(self._starts, self._ends), 3)
        return figures

    def _usage_figures(self) -> dict[str, Any]:
        tokens = [
            count for count in (self._usage.input_tokens, self._usage.output_tokens) if count is not None
        ]
        figures = {
            "total_tokens": sum(tokens) if tokens else None,
            "input_tokens": self._usage.input_tokens,
            "output_tokens": self._usage.output_tokens,
            "total_requests": self._requests or None,
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


def busy_seconds(starts: Iterable[float], ends: Iterable[float]) -> float:
    """Return for how long at least one sample was open; the pause before a resume does not count."""
    begun, ended = np.array(starts, dtype=np.float64), np.array(ends, dtype=np.float64)
    order = np.argsort(begun)
    begun, reached = begun[order], np.maximum.accumulate(ended[order])
    idle = np.maximum(0.0, begun[1:] - reached[:-1]).sum()
    return float(reached[-1] - begun[0] - idle)
