"""Why samples have no score for a metric, as lines for people."""

from __future__ import annotations

from rag_evaluation_framework.reports.excerpts import one_line
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.summaries import Unscored


def unmeasured_lines(evaluation: Evaluation) -> list[str]:
    """Say which metrics failed wherever they apply; those with the same counts share a line."""
    metrics: dict[tuple[int, int], list[str]] = {}
    for each in evaluation.not_measured:
        metrics.setdefault((each.n_skipped, each.n_failed), []).append(each.metric)
    return [
        f"nothing was scored ({skipped:,} skipped, {failed:,} failed): {', '.join(names)}"
        for (skipped, failed), names in metrics.items()
    ]


def unscored_lines(evaluation: Evaluation) -> list[str]:
    """Say why samples have no score: metrics with the same reason and count share a line."""
    metrics: dict[Unscored, list[str]] = {}
    for name, figure in evaluation.metrics.items():
        for each in figure.reasons:
            metrics.setdefault(each, []).append(name)
    return [
        f"  {each.count:,} {each.status}, {one_line(each.reason, 120)}: {', '.join(names)}"
        for each, names in metrics.items()
    ]
