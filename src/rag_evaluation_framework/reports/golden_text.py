"""A golden run as text for a terminal: one table of all splits, refusals, blame, what went wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.evaluation.dataset_evaluations import DatasetEvaluation
from rag_evaluation_framework.evaluation.golden_results import GoldenEvaluation
from rag_evaluation_framework.reports.blame import blame_text
from rag_evaluation_framework.reports.evaluation_text import gate_text
from rag_evaluation_framework.reports.excerpts import figure, one_line
from rag_evaluation_framework.reports.exchanges import sample_lines, samples_to_show
from rag_evaluation_framework.reports.refusals import refusal_cells
from rag_evaluation_framework.reports.run_notes import run_notes, shortfall_of
from rag_evaluation_framework.reports.tables import text_table
from rag_evaluation_framework.results.gate import Verdict
from rag_evaluation_framework.results.refusal_tables import RefusalTable

_LISTED_SAMPLES = 3


def golden_text(golden: GoldenEvaluation, verdict: Verdict, *, warnings: Sequence[str] = ()) -> str:
    """Render the figures of all splits, refusals, where it fails and on which samples first, the gate."""
    parts = ["\n".join(_heads(golden)), _figures(golden)]
    parts += [refusals_text(golden.refusals)] if golden.refusals.methods else []
    if golden.blame is not None and golden.blame.told:
        parts.append(blame_text(golden.blame))
    parts += ["\n".join(lines) for each in golden.evaluations if (lines := list(_failing(each)))]
    parts += ["\n".join(f"warning: {one_line(warning, 400)}" for warning in warnings)] if warnings else []
    return "\n\n".join([*parts, gate_text(verdict)])


def refusals_text(table: RefusalTable) -> str:
    """Render what should have been declined against what was, then over-refusal split by split."""
    headers, rows = refusal_cells(table)
    return text_table(headers, rows, align="<>>>>")


def _heads(golden: GoldenEvaluation) -> Iterator[str]:
    for each in golden.evaluations:
        summary, run_id = each.summary, each.folder.head.run_id
        line = f"{each.plan.name}: {summary.finished:,} of {counted(summary.total, 'sample')}"
        line += f", {each.errors:,} with errors" if each.errors else ""
        yield f"{line} (run {run_id})"
        yield from (f"  note: {note}" for note in run_notes(each))
        if shortfall := shortfall_of(each):
            yield f"  {shortfall}"
    if golden.missing:
        yield f"not there: {', '.join(golden.missing)}"


def _figures(golden: GoldenEvaluation) -> str:
    rows = [
        [
            each.plan.name,
            metric.metric,
            metric.method,
            figure(metric.value),
            f"[{figure(metric.interval.low)}, {figure(metric.interval.high)}]" if metric.interval else "–",
            str(metric.n_scored),
            str(metric.n_skipped),
            str(metric.n_failed),
        ]
        for each in golden.evaluations
        for metric in golden.metrics(each)
    ]
    headers = ["split", "metric", "method", "mean", "95% interval", "scored", "skipped", "failed"]
    unscored = [
        f"{split}: {metric} has no score: {one_line(reason, 200)}"
        for split, reasons in golden.unscored.items()
        for metric, reason in reasons.items()
    ]
    return "\n".join([text_table(headers, rows, align="<<<>>>>>"), *(["", *unscored] if unscored else [])])


def _failing(evaluation: DatasetEvaluation) -> Iterator[str]:
    for listed in samples_to_show(evaluation.samples(), limit=_LISTED_SAMPLES):
        yield f"{evaluation.plan.name}, {listed.title}:"
        for each in listed.samples:
            yield from sample_lines(each, each.sample.id)
