"""What the metrics of one run amount to, as a table for a terminal."""

from __future__ import annotations

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.reports.tables import text_table
from rag_evaluation_framework.reports.unread import unread_lines
from rag_evaluation_framework.reports.unscored import unscored_lines
from rag_evaluation_framework.results.run_summaries import RunSummary
from rag_evaluation_framework.results.summaries import MetricSummary


def run_figures_text(title: str, summary: RunSummary) -> str:
    """Render the counts of a run and, below them, each metric's method, mean, interval and counts."""
    counts = f"{summary.finished:,} of {counted(summary.total, 'sample')}"
    if summary.failed:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in summary.failures.items())
        counts += f", {summary.failed:,} of them without an answer ({kinds})"
    interval = f"{summary.intervals.confidence:.0%} interval"
    headers = ("metric", "method", "mean", interval, "scored", "skipped", "failed")
    rows = [_row(metric) for metric in summary.metrics]
    parts = [f"{title}: {counts}", text_table(headers, rows, align="<<>>>>>")]
    if unread := unread_lines(summary.unread):
        parts.append("\n".join(unread))
    if unscored := unscored_lines(summary):
        parts.append("\n".join(["not scored:", *unscored]))
    return "\n\n".join(parts)


def _row(metric: MetricSummary) -> tuple[str, ...]:
    interval = metric.interval
    return (
        metric.metric,
        metric.method,
        "–" if metric.value is None else f"{metric.value:.4f}",
        "–" if interval is None else f"[{interval.low:.4f}, {interval.high:.4f}]",
        f"{metric.n_scored:,}",
        f"{metric.n_skipped:,}",
        f"{metric.n_failed:,}",
    )
