"""An evaluation or a comparison as text for a terminal: the verdict in a sentence, then the figures."""

from __future__ import annotations

from collections.abc import Iterator

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.evaluation.systems import RULES
from rag_evaluation_framework.reports.comparisons import comparisons_text, interval_text
from rag_evaluation_framework.reports.evaluation_text import gate_text
from rag_evaluation_framework.reports.excerpts import figure, one_line
from rag_evaluation_framework.reports.rankings import ranking_text
from rag_evaluation_framework.reports.retrieval_sweep import sweep_text
from rag_evaluation_framework.reports.tables import text_table
from rag_evaluation_framework.results.comparison import Comparison
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.run_folder import CELLS


def render(thing: Evaluation | Comparison, *, rows: bool = False, **_wish: object) -> str:
    """Render an evaluation with its parts, or a comparison; with ``rows``, every query of ranked runs."""
    if isinstance(thing, Comparison):
        return _comparison(thing)
    if CELLS in thing.head.configuration:
        return sweep_text(thing)
    if thing.kind == "systems" and RULES in thing.head.configuration:
        return ranking_text(thing, rows=rows)
    return "\n\n".join(_parts(thing))


def sentence(evaluation: Evaluation) -> str:
    """Say in one sentence what came of it."""
    counts = evaluation.counts
    samples = f"{counts.finished:,} of {counted(counts.total, 'sample')} of {evaluation.name}"
    errors = f", {counts.errors:,} with errors" if counts.errors else ""
    verdict = evaluation.verdict
    word = "evaluated" if verdict is None or not verdict.enabled else verdict.word
    if not evaluation.outcome.completed:
        return f"INCOMPLETE: {samples}{errors}: {evaluation.outcome.reason}"
    return f"{word.upper()}: {samples}{errors}"


def _parts(evaluation: Evaluation) -> Iterator[str]:
    yield sentence(evaluation)
    yield _figures(evaluation)
    if evaluation.comparison is not None and evaluation.comparison.metrics:
        yield _comparison(evaluation.comparison)
    if evaluation.warnings:
        yield "\n".join(f"warning: {one_line(warning, 400)}" for warning in evaluation.warnings)
    if evaluation.verdict is not None:
        yield gate_text(evaluation.verdict)


def _figures(evaluation: Evaluation) -> str:
    several = bool(evaluation.parts)
    part = {"datasets": "dataset", "splits": "split", "systems": "system"}.get(evaluation.parts_are or "", "")
    rows = [
        [
            *([name] if several else []),
            each.metric,
            each.method,
            figure(each.value),
            interval_text(each.interval),
            f"{each.n_scored:,}",
            f"{each.n_skipped:,}",
            f"{each.n_failed:,}",
        ]
        for name, of_part in (evaluation.parts or {"": evaluation}).items()
        for each in of_part.metrics.values()
    ]
    headers = [*([part] if several else []), "metric", "method", "mean", "95% interval"]
    headers += ["scored", "skipped", "failed"]
    return text_table(headers, rows, align=("<" if several else "") + "<<>>>>>")


def _comparison(comparison: Comparison) -> str:
    return comparisons_text(comparison.metrics, system="run", unit="sample")
