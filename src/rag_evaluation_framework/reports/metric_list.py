"""The declared metrics as rows, and as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from rag_evaluation_framework.metrics.declaration import Metric


def metric_rows(metrics: Sequence[Metric]) -> list[dict[str, Any]]:
    """Return everything a metric declares, as plain values."""
    return [
        {
            "name": metric.name,
            "written": metric.signature,
            "family": metric.family,
            "higher_is_better": metric.higher_is_better,
            "needs": list(metric.needs),
            "method": metric.method,
            "version": metric.version,
            "aliases": list(metric.aliases),
            "measures": metric.summary,
            "formula": metric.formula,
            "empty": metric.empty,
            "source": metric.source,
        }
        for metric in metrics
    ]


def metric_list_text(metrics: Sequence[Metric]) -> str:
    """Render the metrics family by family: name, direction, needs, then meaning and formula."""
    parts = []
    for family, members in groupby(metrics, key=lambda metric: metric.family):
        parts.append(f"{family}\n{'─' * len(family)}")
        parts.extend(_described(metric) for metric in members)
    return "\n\n".join(parts)


def _described(metric: Metric) -> str:
    direction = "higher is better" if metric.higher_is_better else "lower is better"
    lines = [f"{metric.signature}   ({direction}; needs {', '.join(metric.needs)})"]
    lines += [f"    {metric.summary}", f"    = {metric.formula}"]
    if metric.aliases:
        lines.append(f"    also written: {', '.join(metric.aliases)}")
    return "\n".join(lines)
