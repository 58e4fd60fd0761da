"""An evaluation, a comparison or one answer in a notebook: a few lines of text, or a screen of HTML.

Both say what the terminal says, by the same functions. A case opens to both answers, with the words that
nothing supports underlined, and to what was retrieved, by rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.extensions import extra_module
from rag_evaluation_framework.reports import blocks, facts
from rag_evaluation_framework.reports.blocks import Screen
from rag_evaluation_framework.reports.evaluation_blocks import (
    MARKS,
    card_notes,
    claim_of,
    headline,
    reading_sentences,
    reliability_lines,
)
from rag_evaluation_framework.reports.facts import (
    FigureRow,
    MovedRow,
    compared_rows,
    list_figures,
    listed_cases,
    verdict_of,
)
from rag_evaluation_framework.reports.messages.comparison_sentences import (
    called,
    comparison_sentence,
    left_out_sentences,
    names_of,
    short_names,
    sorts_sentence,
    trait_sentence,
)
from rag_evaluation_framework.reports.run_page import place
from rag_evaluation_framework.reports.sweep_blocks import sweep_advice
from rag_evaluation_framework.results.comparison import Comparison
from rag_evaluation_framework.results.evaluations import Evaluation, Row
from rag_evaluation_framework.results.run_store import CELLS
from rag_evaluation_framework.results.verdicts import AnswerChanges, ChangedAnswer
from rag_evaluation_framework.text.display import (
    Html,
    display,
    element,
    labelled,
    marked,
    people_text,
    short_text,
    together,
)

_LINES = 6
"""How many figures a text of at most ten lines has room for."""
_FIGURES, _CASES, _CONTEXTS, _SLOPES, _PLOTTED, _ASKED = 12, 5, 5, 40, 40, 100
_TRACK, _EDGE = 160, 6


def render(thing: Evaluation | Comparison | Row, *, as_text: bool = False) -> str:
    """Render it as HTML, or ``as_text`` of at most ten lines, which ends with what can be done next."""
    if isinstance(thing, Row):
        head = _head("", facts.sample_name(thing), "")
        return _row_text(thing) if as_text else display(head, _case(facts.cases_of(thing), is_asked=False))
    if isinstance(thing, Comparison):
        return _comparison_text(thing) if as_text else _comparison(thing)
    return _evaluation_text(thing) if as_text else _evaluation(thing)


def claim(evaluation: Evaluation) -> str:
    """Say in a sentence what came of it: of a sweep what to take, of systems what may be claimed."""
    if CELLS in evaluation.head.configuration and evaluation.parts and evaluation.outcome.completed:
        return " ".join(take for take, _ in sweep_advice(evaluation).sentences.values())
    return claim_of(evaluation, headline(evaluation))


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
    axes.set_title(short_text(_verdict_text(evaluation), 100), loc="left", fontsize=10)
    axes.spines[["top", "right", "left"]].set_visible(False)
    pyplot.close(drawn)
    return drawn


# A few lines.


def _verdict_text(evaluation: Evaluation) -> str:
    word = verdict_of(evaluation).word
    return (f"{word.upper()}: " if word in MARKS else "") + claim(evaluation)


def _evaluation_text(evaluation: Evaluation) -> str:
    screen = Screen()
    screen.say(blocks.one_line(f"Evaluation: {_verdict_text(evaluation)}", 98))
    for line in islice(facts.counts_sentences(evaluation), 1):
        screen.say(line, indent=2)
    found = _figures(evaluation)
    rows = [[name, each.value, each.interval, each.demand.status] for name, each in found[:_LINES]]
    _add_rows(
        screen, [blocks.Column(flexible=True), blocks.right(""), "", ""], rows, more=len(found) - len(rows)
    )
    screen.say(".failed() .worst(3) .to_pandas() .report(path) print(…)")
    return str(screen)


def _comparison_text(comparison: Comparison) -> str:
    counts = [
        f"{len(each.worse):,} worse, {len(each.better):,} better, {each.same:,} same"
        for each in comparison.answers[:1]
        if len(comparison.contenders) == 1
    ]
    names = blocks.listed([blocks.one_line(each) for each in comparison.contenders[:3]])
    screen = Screen()
    said = counts[0] if counts else f"{names} with {comparison.baseline}"
    screen.say(blocks.one_line(f"Comparison: {said}; {comparison.verdict}", 98))
    rows = [
        [each.metric, f"{each.before} → {each.now}", each.difference, each.finding.text]
        for each in compared_rows(comparison)[:_LINES]
    ]
    more = len(comparison.metrics) - len(rows)
    _add_rows(screen, [blocks.Column(flexible=True), "", "", ""], rows, more=more)
    screen.say(".answers[0].worse .to_dict() print(…)")
    return str(screen)


def _add_rows(
    screen: Screen, columns: Sequence[blocks.Column | str], rows: Sequence[Sequence[str]], *, more: int
) -> None:
    """Add the rows of a table without its header."""
    if not rows:
        return
    lines = Screen(width=screen.width)
    lines.table(columns, rows)
    for line in str(lines).splitlines()[-len(rows) :]:
        screen.say(line, indent=2 - (len(line) - len(line.lstrip())))
    if more > 0:
        screen.say(f"  and {more:,} more")


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


# Pieces of HTML.


def _head(word: str, said: str, kicker: str) -> Html:
    colour = {blocks.GOOD: "good", blocks.BAD: "bad"}.get(blocks.STYLES.get(word, ""), "")
    mark = f"{MARKS[word]} {word.upper()}:".strip() if word in MARKS else ""
    return element(
        "p",
        element("b", mark, class_=f"word {colour}") if mark else None,
        " " if mark else None,
        element("b", said) if not mark else said,
        element("span", kicker, class_="dim beside") if kicker else None,
    )


def _notes(lines: Sequence[str]) -> list[Html]:
    return [element("p", blocks.one_line(line, 400), class_="dim") for line in lines]


def _cell(text: str | Html, kind: str | None = None) -> Html:
    return element("td", text, class_=kind)


def _table(headers: Sequence[tuple[str, str | None]], rows: Sequence[Sequence[Html]]) -> Html | None:
    if not rows:
        return None
    head = element("tr", *(element("th", name, scope="col", class_=kind) for name, kind in headers))
    return element("table", head, *(element("tr", *row) for row in rows))


def _x(percent: float) -> float:
    return round(_EDGE + percent / 100 * (_TRACK - 2 * _EDGE), 1)


def _bar(
    label: str,
    at: float,
    ends: tuple[float, float] | None,
    *,
    limit: float | None,
    colour: str,
    is_open: bool,
) -> Html:
    """Draw a dot and its interval on a track; places are in percent of it."""
    middle = 8
    pieces = [element("line", class_="track", x1=_x(0), x2=_x(100), y1=middle, y2=middle)]
    if ends is not None:
        low, high = map(_x, ends)
        pieces += [
            element("line", x1=low, x2=high, y1=middle, y2=middle, stroke="currentColor", stroke_width=2),
            *(element("line", x1=x, x2=x, y1=4, y2=12, stroke="currentColor") for x in (low, high)),
        ]
    if limit is not None:
        pieces.append(element("line", class_="limit", x1=_x(limit), x2=_x(limit), y1=0, y2=16))
    dot = {"fill": "none", "stroke_width": 2} if is_open else {"fill": "currentColor"}
    pieces.append(element("circle", cx=_x(at), cy=middle, r=4, stroke="currentColor", **dot))
    return element(
        "svg", *pieces, width=_TRACK, height=16, role="img", aria_label=label, class_=colour or "data"
    )


# An evaluation.


def _evaluation(evaluation: Evaluation) -> Html:
    word = verdict_of(evaluation).word
    kicker = ", ".join(filter(None, [evaluation.name, evaluation.target]))
    found = _figures(evaluation)
    rows = [list(_figure_cells(*each)) for each in found[:_FIGURES]]
    headers = [("metric", None), ("value", "number"), ("", None), ("interval", None), ("needs", None)]
    more = [f"and {len(found) - len(rows):,} more"] if len(found) > len(rows) else []
    doubts = [each for each in evaluation.warnings if "--allow-missing" not in each]
    return display(
        _head(word, claim(evaluation), blocks.one_line(kicker)),
        *_notes(list(facts.counts_sentences(evaluation))),
        *_notes([*reading_sentences(evaluation), *headline(evaluation).lines][:4]),
        _table([*headers, ("", None)], rows),
        *_notes([*more, *card_notes(evaluation), *doubts][:4]),
        *_notes([*reliability_lines(evaluation)][:4]),
        *_cases(evaluation),
    )


def _figure_cells(name: str, row: FigureRow) -> Iterator[Html]:
    each, bound, demand = row.figure, row.bound, row.demand
    value, interval = each.value, each.interval
    colour = "bad" if demand.is_missed else None
    yield _cell(short_text(name))
    yield _cell(row.value, "number")
    bar: str | Html = ""
    if row.is_share and value is not None:
        crosses = bound is not None and interval is not None and interval.low < bound <= interval.high
        bar = _bar(
            f"{each.metric} {row.value}, interval {row.interval}",
            place(value),
            None if interval is None else (place(interval.low), place(interval.high)),
            limit=None if bound is None else place(bound),
            colour=colour or "",
            is_open=crosses,
        )
    yield _cell(bar)
    yield _cell(row.interval, "number")
    yield _cell(together([f"{demand.needs} ", element("span", demand.status, class_=colour)]))
    yield _cell(
        _counted_by(each.n_scored if each.judged is None else each.answers, blocks.by(each.method)), "dim"
    )


def _counted_by(number: int | str, told: str) -> str:
    beside = f", {told}" if told in ("exact", "timing") else f", by {told}"
    answers = counted(number, "answer") if isinstance(number, int) else f"{number} answers"
    return answers + (beside if told else "")


def _cases(evaluation: Evaluation) -> Iterator[Html]:
    """Yield the answers behind the verdict, each to be opened."""
    if evaluation.kind == "systems":
        return
    found = listed_cases(evaluation)
    shown = found.cases[:_CASES]
    for turns in shown:
        first, question = turns[0], turns[0].row.question
        case = _case(turns, is_asked=first.is_worse or len(question) < _ASKED)
        yield _opening(first.name, question, first.kind, case)
    if (more := found.total - len(shown)) > 0:
        yield element("p", f"{more:,} more", class_="dim")


def _opening(name: str, question: str, kind: str, inside: Html) -> Html:
    asked = people_text(short_text(question, _ASKED))
    told = element("span", kind, class_="bad beside")
    return element(
        "details", element("summary", element("b", short_text(name, 40)), " ", asked, told), inside
    )


def _case(turns: Sequence[facts.Case], *, is_asked: bool) -> Html:
    """Return what was expected and given, why it is wrong, and what was retrieved.

    ``is_asked``: the question stands above it.
    """
    lines: list[Html] = []
    row, is_worse = turns[0].row, turns[0].is_worse
    for each in turns[:_CASES]:
        if each.turn is not None or not is_asked:
            lines.append(labelled("asked", people_text(each.asked)))
        beside, got = each.texts
        if is_worse or each.expected is not None:
            lines.append(labelled(beside, people_text(each.texts[beside] or blocks.NOTHING)))
        answer = row.error or blocks.NOTHING if each.answer is None else marked(each.answer, each.marks)
        lines.append(labelled(got, people_text(answer)))
        if each.why is not None:
            lines.append(labelled("why", each.why))
    if is_worse:
        return element("dl", *lines, _retrieved(row))
    scores = [f"{each.metric} {blocks.measure(each.metric, each.value)}" for each in row.scores[:8]]
    lines += [labelled("scores", ", ".join(scores))] if scores else []
    trace = None if row.sample is None else row.sample.trace
    steps = [] if trace is None else trace.html()
    return element("dl", *lines, _retrieved(row), *steps)


def _retrieved(row: Row) -> Html | None:
    """Return what was retrieved by rank, what was needed said of it."""
    hits, texts, needed = row.response.hits, row.response.contexts, facts.needed_names(row)
    ranks = []
    for rank in range(min(_CONTEXTS, max(len(hits), len(texts)))):
        hit = hits[rank] if rank < len(hits) else None
        name = "" if hit is None else facts.document_of(hit)
        text = (hit.text if hit is not None else None) or (texts[rank] if rank < len(texts) else "")
        is_one = bool(name) and name in needed and facts.is_needed(row, hit)
        mark = element("span", "✓ needed ", class_="good") if is_one else None
        ranks.append(element("li", element("code", name), " ", mark, people_text(text, 300)))
    more = max(len(hits), len(texts)) - len(ranks)
    rest = element("span", f"and {more:,} more", class_="dim") if more else ""
    return labelled("retrieved", element("ol", *ranks), rest) if ranks else None


# A comparison.


def _comparison(comparison: Comparison) -> Html:
    names = short_names([comparison.baseline, *comparison.contenders])
    pieces: list[Html | None] = []
    for changes in comparison.answers or (None,):
        several = changes is not None and len(comparison.contenders) > 1
        of = f"{names[changes.contender]}: " if changes is not None and several else ""
        said, _, rest = comparison_sentence(comparison, changes).partition(":")
        colour = {"Worse": "bad", "Better": "good"}.get(said, "")
        pieces.append(element("p", of, element("b", said, class_=colour), f":{rest}" if rest else None))
        if changes is not None:
            pieces += _notes([*map(trait_sentence, changes.traits[:2]), f"{sorts_sentence(changes)}."])
            pieces += _notes(list(left_out_sentences(changes))[:3])
            pieces.append(_slopes(changes, names))
            pieces += _changed(changes, names)
    pieces += _notes([f"compared anyway: {each}" for each in comparison.warnings])
    several = len(comparison.contenders) > 1
    headers = [("metric", None), ("before", "number"), ("now", "number"), ("difference", "number")]
    rows = [list(_metric_cells(each, names, several)) for each in compared_rows(comparison)[:_FIGURES]]
    ends = [("", None), ("verdict", None), ("", None)]
    return display(*pieces, _table([*headers, *ends], rows))


def _metric_cells(row: MovedRow, names: Mapping[str, str], several: bool) -> Iterator[Html]:
    word, value, interval = row.finding.text, row.moved.difference, row.moved.interval
    yield _cell(f"{row.metric}, {names[row.of]}" if several else row.metric)
    for text in (row.before, row.now, row.difference):
        yield _cell(text, "number")
    colour = {"worse": "bad", "better": "good"}.get(word)
    bar: str | Html = ""
    if value is not None and abs(value) <= 1:
        ends = None if interval is None else (place(interval.low, -1, 1), place(interval.high, -1, 1))
        bar = _bar(
            f"{row.metric}: {row.difference}; {word}",
            place(value, -1, 1),
            ends,
            limit=50,
            colour=colour or "",
            is_open=word not in ("worse", "better"),
        )
    yield _cell(bar)
    yield _cell(element("span", word, class_=colour))
    yield _cell(_counted_by(row.moved.n, row.by), "dim")


def _slopes(changes: AnswerChanges, names: Mapping[str, str]) -> Html | None:
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


def _changed(changes: AnswerChanges, names: Mapping[str, str]) -> Iterator[Html]:
    old, new = names[changes.baseline], names[changes.contender]
    for word, answers in (("got worse", changes.worse), ("got better", changes.better)):
        for each in answers[:_CASES]:
            texts = [labelled(old, people_text(each.before or blocks.NOTHING))]
            texts.append(labelled(new, people_text(each.now or blocks.NOTHING)))
            if each.expected:
                texts.insert(0, labelled("expected", people_text(each.expected)))
            yield _opening(called(each), each.question, word, element("dl", *texts))
        if len(answers) > _CASES:
            yield element("p", f"{len(answers) - _CASES:,} more {word}", class_="dim")
