"""Comparisons with a baseline as text: the table, the tests behind it, and what was left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.reports.tables import figure, one_line, text_table
from rag_evaluation_framework.results.comparison import MetricComparison
from rag_evaluation_framework.statistics.intervals import Interval


def comparisons_text(comparisons: Sequence[MetricComparison], *, system: str, unit: str) -> str:
    """Render comparisons with one baseline.

    ``system`` is what is compared (``run``, ``model``), ``unit`` what pairs (``query``, ``sample``).
    """
    first = comparisons[0]
    rows = [
        [
            each.metric,
            one_line(each.contender),
            f"{each.difference:+.4f}",
            interval_text(each.interval),
            probability_text(each.p_adjusted),
            "–" if each.effect_size is None else f"{each.effect_size:+.2f}",
            f"{each.wins}/{each.ties}/{each.losses}",
            figure(each.smallest_detectable),
            each.verdict,
        ]
        for each in comparisons
    ]
    headers = ["metric", system, "difference", interval_header(1 - first.alpha), "p (Holm)", "effect d"]
    headers += ["wins/ties/losses", "detectable", "verdict"]
    table = text_table(headers, rows, align="<<>>>>>><")
    title = f"compared with {one_line(first.baseline)}, {unit} by {unit}"
    return f"{title}\n\n{table}\n\n" + "\n".join(_notes(comparisons, unit))


def interval_header(confidence: float) -> str:
    return f"{100 * confidence:g}% interval"


def interval_text(interval: Interval | None) -> str:
    return "–" if interval is None else f"[{figure(interval.low)}, {figure(interval.high)}]"


def probability_text(p: float | None) -> str:
    if p is None:
        return "–"
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def _notes(comparisons: Sequence[MetricComparison], unit: str) -> Iterator[str]:
    """Say which tests were made, and of each system what could not be paired."""
    plural = unit.removesuffix("y") + "ies" if unit.endswith("y") else f"{unit}s"
    tests = "; ".join(dict.fromkeys(each.test for each in comparisons))
    corrected = sum(each.p_value is not None for each in comparisons)
    yield (
        f"tests: {tests}; Holm's correction over {corrected}; detectable: the smallest difference that this "
        f"many {plural} would show four times in five"
    )
    for each in {each.contender: each for each in comparisons}.values():
        if each.n_unpaired:
            paired = counted(each.n, unit, plural)
            yield (
                f"{one_line(each.contender)}: compared over the {paired} scored on both sides; "
                f"{each.n_unpaired:,}, scored on one side only, left out"
            )
