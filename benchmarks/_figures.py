"""A measured figure with its interval, beside what others published; and the table that shows figures.

Every module ``benchmarks/_x.py`` of measured agreement has ``rows(data) -> list[Figure]``; ``data`` is the
folder of labelled data, and a module whose part of it is absent returns no rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rag_evaluation_framework.judging.methods import REACHED
from rag_evaluation_framework.statistics.intervals import bootstrap_interval


@dataclass(frozen=True, slots=True)
class Figure:
    """``value`` measured on ``n`` labelled items, its 95 % interval, and what to read it by.

    ``published`` is what others have or a remark, ``plain`` what a plain count gives on the same items. The
    name says on what data, and after a colon what the figure is.
    """

    name: str
    n: int
    value: float
    low: float
    high: float
    published: str = ""
    plain: float | None = None

    def __str__(self) -> str:
        interval = f"{self.low:.3f} to {self.high:.3f}"
        plain = "" if self.plain is None else f"{self.plain:.3f}"
        beside = f"{interval:<16}{plain:>8}  {self.published}"
        return f"{self.name:<78}{self.n:>7,}{self.value:>8.3f}  {beside}".rstrip()


def reached(data: str, metric: str, values: Sequence[float], sources: Sequence[str]) -> Figure:
    """Return the mean of a metric over right answers: what a threshold of it can ask for."""
    interval = bootstrap_interval(values, clusters=sources)
    mean = sum(values) / len(values)
    return Figure(f"{data}: {REACHED.format(metric)}", len(values), mean, interval.low, interval.high)


def print_figures(title: str, figures: Iterable[Figure]) -> None:
    """Print a table of figures under its title."""
    print(title)
    print(f"{'figure':<78}{'n':>7}{'value':>8}  {'95 % interval':<16}{'plain':>8}  published")
    for figure in figures:
        print(figure)
    print(flush=True)
