"""The declared metrics as rows, as text for a terminal, and as the page `docs/metrics.md`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from textwrap import fill
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
            "methods": list(metric.methods),
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
    """Render the metrics family by family: name, direction, needs, version, then meaning and formula."""
    parts = []
    for family, members in groupby(metrics, key=lambda metric: metric.family):
        parts.append(f"{family}\n{'─' * len(family)}")
        parts.extend(_described(metric) for metric in members)
    return "\n\n".join(parts)


def _described(metric: Metric) -> str:
    direction = "higher is better" if metric.higher_is_better else "lower is better"
    ways = f"; by {', '.join(metric.methods)}" if metric.methods else ""
    needs = ", ".join(metric.needs)
    lines = [f"{metric.signature}   ({direction}; needs {needs}{ways}; version {metric.version})"]
    lines += [_indented(metric.summary), _indented(f"= {metric.formula}")]
    if metric.aliases:
        lines.append(_indented(f"also written: {', '.join(metric.aliases)}"))
    return "\n".join(lines)


def _indented(text: str) -> str:
    return fill(text, 100, initial_indent="    ", subsequent_indent="      ", break_on_hyphens=False)


def metric_list_markdown(metrics: Sequence[Metric]) -> str:
    """Render the metrics as a page, family by family."""
    parts = [_PAGE_HEAD]
    for family, members in groupby(metrics, key=lambda metric: metric.family):
        parts.append(f"## {family.capitalize()}")
        parts.extend(_section(metric) for metric in members)
    return "\n\n".join(parts)


_PAGE_HEAD = """# Metrics

Printed from the declarations by `make docs`. A name with its parameters reads back into the metric:
`ndcg@10` is nDCG over the first ten, `rbp(p=0.5)` changes a parameter. *Needs* are the fields of a sample or
of a response without which there is nothing to score; *empty* says what an empty case gives. In a
conversation, metrics of answers, texts, refusals and safety are means over its turns
([scoring](scoring.md))."""


def _section(metric: Metric) -> str:
    direction = "higher" if metric.higher_is_better else "lower"
    needs = ", ".join(f"`{need}`" for need in metric.needs)
    ways = f" (may be asked for: {', '.join(metric.methods)})" if len(metric.methods) > 1 else ""
    lines = [
        f"### `{metric.signature}`",
        "",
        metric.summary,
        "",
        f"- formula: {metric.formula}",
        f"- better: {direction}; needs {needs}; method: {metric.method}{ways}; version {metric.version}",
        f"- empty: {metric.empty}",
        f"- source: {metric.source}",
    ]
    if metric.aliases:
        lines.append("- also written: " + ", ".join(f"`{alias}`" for alias in metric.aliases))
    return "\n".join(lines)
