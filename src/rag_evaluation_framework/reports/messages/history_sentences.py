"""The sentences of figures over time: regressions, improvements and speed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.reports import blocks
from rag_evaluation_framework.results.benchmark_history import is_percentile
from rag_evaluation_framework.results.trend import MetricTrend
from rag_evaluation_framework.text.display import duration

if TYPE_CHECKING:
    from rag_evaluation_framework.evaluation.benchmarks import KeptBenchmark


def trend_sentence(trends: Sequence[MetricTrend]) -> str:
    """Return a sentence on the metrics outside their expected ranges."""
    if not trends:
        return "Not evaluated: the latest run has no metric."
    by_verdict = {
        verdict: [each for each in trends if each.verdict == verdict]
        for verdict in ("regression", "improvement", "steady", "too few")
    }
    for verdict, side in (("regression", "worse"), ("improvement", "better")):
        if found := by_verdict[verdict]:
            told = [f"{each.metric} is {blocks.figure(each.current.value)}" for each in found[:3]]
            which = (
                f"expected {expected_range(found[0])}" if len(found) == 1 else "outside the expected ranges"
            )
            runs = counted(len(found[0].history), "run")
            return f"{side.capitalize()}: {blocks.listed(told)}; {which} after {runs}."
    if steady := by_verdict["steady"]:
        are = counted(len(steady), "metric is", "metrics are")
        return f"Steady: {are} within the expected range."
    reason = by_verdict["too few"][0].reason or ""
    return f"{reason[:1].upper()}{reason[1:]}."


def expected_range(trend: MetricTrend) -> str:
    return (
        blocks.NOTHING if trend.low is None else f"[{blocks.figure(trend.low)}, {blocks.figure(trend.high)}]"
    )


def pace_sentence(kept: KeptBenchmark) -> str:
    """Say how fast it is, compared with the last time."""
    pace, latency = kept.pace, kept.latency
    now = f"{rate(pace.now['queries_per_second'])} questions per second"
    if pace.before is None:
        shares = [
            f"{_percent(name)} within {milliseconds(latency[name])}" for name in percentiles(latency)[:2]
        ]
        return f"First measurement: {', '.join([now, *shares])}."
    last = rate(pace.before["queries_per_second"])
    if pace.word == "same":
        return f"As fast as last time: {now}, last time {last}."
    if pace.word == "undecided":
        return f"Undecided: {now}, last time {last}, but {pace.reason}."
    return f"{pace.word.capitalize()} than last time: {now}, last time {last}."


def percentiles(latency: Mapping[str, Any]) -> list[str]:
    return [name for name in latency if is_percentile(name)]


def _percent(name: str) -> str:
    share = float(name[1:])
    return f"{share:g}%"


def rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def milliseconds(value: float | None) -> str:
    """Write a time that may be less than a millisecond."""
    if value is None:
        return blocks.NOTHING
    return f"{value:.2f} ms" if value < 1 else f"{value:.1f} ms" if value < 10 else duration(value / 1000)
