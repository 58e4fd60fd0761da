"""An evaluation as a few lines of HTML for a notebook: the verdict, and a table of figures."""

from __future__ import annotations

from html import escape

from rag_evaluation_framework.reports.screen import by, figure, interval_text
from rag_evaluation_framework.reports.terminal import shown_figures
from rag_evaluation_framework.reports.verdict_lines import headline
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.summaries import Figure

_HEADERS = ("", "metric", "value", "95% interval", "answers", "by")


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
    interval = interval_text(each.interval, each.value)
    cells = (part, each.metric, figure(each.value, each.interval), interval, each.n_scored, by(each.method))
    return "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>"
