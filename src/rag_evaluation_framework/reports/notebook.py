"""An evaluation as a few lines of HTML for a notebook: the verdict, and a table of figures."""

from __future__ import annotations

from html import escape

from rag_evaluation_framework.reports.tables import figure, shown_figures
from rag_evaluation_framework.reports.verdict_lines import headline
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.summaries import Figure

_HEADERS = ("", "metric", "mean", "95% interval", "scored", "skipped", "failed", "method")


def render(evaluation: Evaluation) -> str:
    """Render the verdict and the figures of every part."""
    rows = "".join(
        _row(name, each)
        for name, part in (evaluation.named_runs if evaluation.parts else {"": evaluation}).items()
        for each in shown_figures(part)
    )
    head = "".join(f"<th>{header}</th>" for header in _HEADERS)
    return f"<p><b>{escape(headline(evaluation))}</b></p><table><tr>{head}</tr>{rows}</table>"


def _row(part: str, each: Figure) -> str:
    interval = f"{figure(each.interval.low)} – {figure(each.interval.high)}" if each.interval else "–"
    counts = (each.n_scored, each.n_skipped, each.n_failed)
    cells = (part, each.metric, figure(each.value), interval, *counts, each.method)
    return "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>"
