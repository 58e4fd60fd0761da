"""An evaluation, a comparison or one answer in a notebook: a few lines of text, or a screen of HTML.

Both have the content of the terminal. A case opens to both answers, with the words that nothing supports
underlined, and to what was retrieved, by rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from rag_evaluation_framework.extensions import extra_module
from rag_evaluation_framework.reports import blocks, facts
from rag_evaluation_framework.reports.blocks import Screen
from rag_evaluation_framework.reports.description import describe
from rag_evaluation_framework.reports.facts import FigureRow, list_figures
from rag_evaluation_framework.reports.html import render_answer, render_blocks
from rag_evaluation_framework.reports.messages.comparison_sentences import called, names_of, short_names
from rag_evaluation_framework.results.comparison import Comparison
from rag_evaluation_framework.results.evaluations import Evaluation, Row
from rag_evaluation_framework.results.run_store import CELLS
from rag_evaluation_framework.results.verdicts import AnswerChanges, ChangedAnswer
from rag_evaluation_framework.text.display import Html, display, element, short_text

_LINES = 8
_CASES, _SLOPES, _PLOTTED = 5, 40, 40
_HINTS = {
    Evaluation: ".failed() .worst(3) .to_pandas() .report(path) print(…)",
    Comparison: ".answers[0].worse .to_dict() print(…)",
}
"""Next steps, shown at the end of a text of at most ten lines."""


def render(thing: Evaluation | Comparison | Row, *, as_text: bool = False) -> str:
    """Render it as HTML, or ``as_text`` of at most ten lines, which ends with what can be done next."""
    if isinstance(thing, Row):
        if as_text:
            return _row_text(thing)
        answer = facts.describe_case(facts.cases_of(thing, facts.sample_name(thing)), hang=0)
        return display(element("p", element("b", answer.name)), render_answer(answer, is_asked=False))
    if as_text:
        return _text(thing, _HINTS[type(thing)])
    slopes = _slopes(thing) if isinstance(thing, Comparison) else ()
    return display(*render_blocks(describe(thing)), *slopes)


def _figures(evaluation: Evaluation) -> list[tuple[str, FigureRow]]:
    """Return the figures with the names they go by: of several parts the part's, of a sweep its ranking."""
    several, configuration = len(evaluation.parts) > 1, evaluation.head.configuration
    wanted = configuration.get("rank_by") if CELLS in configuration else None
    return [
        (f"{each.part}: {each.metric}" if several else each.metric, each)
        for each in list_figures(evaluation)
        if wanted is None or each.metric == wanted
    ]


def plot(evaluation: Evaluation) -> Any:
    """Draw the figures from 0 to 1 as dots with their intervals and what they need; return the figure.

    It is shown once where a notebook shows what a cell returns, and by ``savefig`` anywhere else.
    """
    pyplot = extra_module("matplotlib.pyplot", feature="plot", extra="matplotlib")
    shown = [each for each in _figures(evaluation) if each[1].is_share][:_PLOTTED]
    drawn, axes = pyplot.subplots(figsize=(7, 0.9 + 0.32 * max(1, len(shown))), layout="constrained")
    for row, (_, each) in enumerate(shown):
        colour = "#c95510" if each.demand.is_missed else "#2b7fc4"
        if (interval := each.figure.interval) is not None:
            axes.plot([interval.low, interval.high], [row, row], color=colour, linewidth=2)
        axes.plot([each.figure.value], [row], "o", color=colour)
        if each.bound is not None:
            axes.plot([each.bound] * 2, [row - 0.35, row + 0.35], color="0.4")
    axes.set(xlim=(-0.02, 1.02), ylim=(max(1, len(shown)) - 0.5, -0.5))
    axes.set_yticks(range(len(shown)), [short_text(name, 40) for name, _ in shown])
    said = next((each for each in describe(evaluation) if isinstance(each, blocks.Headline)), "")
    axes.set_title(short_text(str(said), 100), loc="left", fontsize=10)
    axes.spines[["top", "right", "left"]].set_visible(False)
    pyplot.close(drawn)
    return drawn


# A few lines.


def _text(thing: Evaluation | Comparison, hint: str) -> str:
    """Return the headline, the sentence after it, and the first rows of the first table."""
    described: list[blocks.Block] = []
    for block in describe(thing, samples=False, reading=False):
        if isinstance(block, blocks.Headline):
            described.append(replace(block, lines=()))
        elif isinstance(block, blocks.Line) and any(
            isinstance(each, blocks.Headline) for each in described[-1:]
        ):
            described.append(block)
        elif isinstance(block, blocks.Table):
            described.append(block)
            break
    lines = str(Screen().draw(described)).splitlines()
    more = ["  …"] if len(lines) > _LINES else []
    return "\n".join([f"{type(thing).__name__}: {lines[0]}", *lines[1:_LINES], *more, hint])


def _row_text(row: Row) -> str:
    reasons = list(filter(None, [each.why for each in facts.cases_of(row)]))
    scores = ", ".join(f"{each.metric} {blocks.measure(each.metric, each.value)}" for each in row.scores[:6])
    told = [
        short_text("; ".join(reasons) or facts.kind_of(row), 98),
        "" if row.expected is None else f"expected {short_text(row.expected)}",
        f"got {short_text(row.response.text)}" if row.response.text is not None else "",
        short_text(scores, 98),
    ]
    first = f"Row {short_text(facts.sample_name(row), 40)}: {short_text(row.question)}"
    return "\n  ".join([first, *filter(None, told)])


def _slopes(comparison: Comparison) -> Iterator[Html]:
    names = short_names([comparison.baseline, *comparison.contenders])
    yield from filter(None, (_slopes_of(changes, names) for changes in comparison.answers))


def _slopes_of(changes: AnswerChanges, names: Mapping[str, str]) -> Html | None:
    """Draw each answer that changed as a line from before to now, in the metric that moved most."""
    moved = [*changes.worse, *changes.better]
    metrics = dict.fromkeys(metric for each in moved for metric in each.scores)
    ways = {metric: _ways(moved, metric) for metric in metrics}
    metric = max(ways, key=lambda name: sum(abs(a - b) for _, a, b in ways[name]), default=None)
    if metric is None or not ways[metric]:
        return None
    drawn = ways[metric][:_SLOPES]
    low, high = min(0.0, *(min(a, b) for _, a, b in drawn)), max(1.0, *(max(a, b) for _, a, b in drawn))
    left, right_end, top, bottom = 60, 260, 22, 132
    worse = {id(each) for each in changes.worse}

    def y(value: float) -> float:
        return round(bottom - (value - low) / (high - low) * (bottom - top), 1)

    pieces: list[Html] = []
    ends: dict[tuple[float, float, bool], list[str]] = {}
    for each, before, now in drawn:
        ends.setdefault((y(before), y(now), id(each) in worse), []).append(called(each))
    for (begin, end, is_worse), answers in ends.items():
        line = {"x1": left, "x2": right_end, "y1": begin, "y2": end, "stroke": "currentColor"}
        colour, dash = ("bad", None) if is_worse else ("good", "4 3")
        width = min(1 + 0.5 * len(answers), 5)
        pieces.append(element("line", class_=colour, stroke_width=width, stroke_dasharray=dash, **line))
    for at in {end: None for _, end, is_worse in ends if is_worse}:
        names_here = [name for (_, end, bad), few in ends.items() if bad and end == at for name in few]
        few = blocks.names_listed([short_text(name, 16) for name in names_here[:_CASES]])
        few += f" and {len(names_here) - _CASES:,} more" if len(names_here) > _CASES else ""
        pieces.append(element("text", few, x=right_end + 8, y=at + 4))
    for x, name in ((left, names[changes.baseline]), (right_end, names[changes.contender])):
        pieces.append(element("line", class_="track", x1=x, x2=x, y1=top, y2=bottom))
        pieces.append(element("text", short_text(name, 18), x=x, y=12, text_anchor="middle"))
    pieces += [
        element("text", blocks.figure(value), x=left - 8, y=y(value) + 4, text_anchor="end")
        for value in (low, high)
    ]
    said = f"{metric} of each answer that changed, before and now; dashed got better"
    label = f"{said}. {len(changes.worse):,} got worse: {names_of(changes.worse)}" if changes.worse else said
    return element(
        "div",
        element("p", said, class_="dim"),
        element("svg", *pieces, width=460, height=bottom + 10, role="img", aria_label=label),
    )


def _ways(moved: Sequence[ChangedAnswer], metric: str) -> list[tuple[ChangedAnswer, float, float]]:
    found = ((each, *each.scores.get(metric, (None, None))) for each in moved)
    return [(each, old, new) for each, old, new in found if old is not None and new is not None]
