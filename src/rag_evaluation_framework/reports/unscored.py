"""Why samples have no score for a metric, as lines for people."""

from __future__ import annotations

from rag_evaluation_framework.reports.excerpts import one_line
from rag_evaluation_framework.results.run_summaries import RunSummary
from rag_evaluation_framework.results.summaries import Unscored


def unmeasured_lines(summary: RunSummary) -> list[str]:
    """Say which metrics failed wherever they apply; those with the same counts share a line."""
    metrics: dict[tuple[int, int], list[str]] = {}
    for each in summary.unmeasured:
        metrics.setdefault((each.n_skipped, each.n_failed), []).append(each.metric)
    return [
        f"nothing was scored ({skipped:,} skipped, {failed:,} failed): {', '.join(names)}"
        for (skipped, failed), names in metrics.items()
    ]


def unscored_lines(summary: RunSummary) -> list[str]:
    """Say why samples have no score: metrics with the same reason and count share a line."""
    metrics: dict[Unscored, list[str]] = {}
    for name, reasons in summary.unscored.items():
        for each in reasons:
            metrics.setdefault(each, []).append(name)
    return [
        f"  {each.count:,} {each.status}, {one_line(each.reason, 120)}: {', '.join(names)}"
        for each, names in metrics.items()
    ]
