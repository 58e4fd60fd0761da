"""Plain text tables that line up in any terminal, and other people's texts made fit for them.

:func:`systems_table` sets figures of several systems side by side, with intervals and counts;
:func:`comparisons_text` is the table of tests against a baseline. Both serve every report of several runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal
from unicodedata import combining, east_asian_width

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.results.comparison import MetricComparison
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.statistics.intervals import Interval


def one_line(text: str, characters: int = 100) -> str:
    """Return a text in one line without control characters, which could move a terminal's cursor."""
    line = " ".join("".join(it if it.isprintable() else " " for it in text).split())
    return line if len(line) <= characters else line[: characters - 1] + "…"


def figure(value: float | None) -> str:
    """Write a measured value; a dash where there is none."""
    if value is None:
        return "–"
    return f"{value:.4f}" if abs(value) < 100 else f"{value:,.1f}"


def text_width(text: str) -> int:
    """Count the terminal cells a text takes: Chinese takes two a character, combining marks none."""
    return sum(
        0 if combining(character) else 2 if east_asian_width(character) in "WF" else 1 for character in text
    )


def text_table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, align: str) -> str:
    """Lay out rows under headers; ``align`` has ``<`` or ``>`` for each column."""
    widths = [max(map(text_width, column)) for column in zip(headers, *rows, strict=True)]
    lines = [headers, ["─" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(
            _padded(cell, width, side) for cell, width, side in zip(line, widths, align, strict=True)
        ).rstrip()
        for line in lines
    )


def _padded(cell: str, width: int, side: str) -> str:
    space = " " * (width - text_width(cell))
    return space + cell if side == ">" else cell + space


Count = Literal["scored", "skipped", "failed"]


def systems_table(
    systems: Mapping[str, Evaluation],
    metrics: Iterable[str],
    *,
    system: str,
    confidence: float = 0.95,
    counts: Sequence[Count] = ("scored", "skipped", "failed"),
) -> str:
    """Lay out a row for each metric and system: its mean, the interval, how many samples it rests on.

    ``systems`` are evaluations by name, such as the ``parts`` of one; ``system`` is what they are called
    (``run``, ``model``).
    """
    rows = []
    for metric in metrics:
        for place, (name, evaluation) in enumerate(systems.items()):
            found = evaluation.metrics.get(metric)
            rows.append(
                [
                    metric if place == 0 else "",
                    one_line(name),
                    figure(found.value if found else None),
                    interval_text(found.interval if found else None),
                    *(f"{getattr(found, f'n_{count}', 0):,}" for count in counts),
                ]
            )
    headers = ["metric", system, "mean", interval_header(confidence), *counts]
    return text_table(headers, rows, align="<<>>" + ">" * len(counts))


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
    return f"{title}\n\n{table}\n\n" + "\n".join(_comparison_notes(comparisons, unit))


def interval_header(confidence: float) -> str:
    return f"{100 * confidence:g}% interval"


def interval_text(interval: Interval | None) -> str:
    return "–" if interval is None else f"[{figure(interval.low)}, {figure(interval.high)}]"


def probability_text(p: float | None) -> str:
    if p is None:
        return "–"
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def _comparison_notes(comparisons: Sequence[MetricComparison], unit: str) -> Iterator[str]:
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
