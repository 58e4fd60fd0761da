"""Blocks as pieces of HTML, which a notebook shows: answers open, and shares are drawn as dots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, groupby

from rag_evaluation_framework.reports import blocks
from rag_evaluation_framework.text.display import Html, element, labelled, marked, people_text

_ROWS, _LISTED, _ASKED, _LINE = 40, 5, 100, 400
_CLASSES = {blocks.GOOD: "good", blocks.BAD: "bad", blocks.DIM: "dim"}
_TRACK, _EDGE = 160, 6


def render_blocks(described: Iterable[blocks.Block]) -> Iterator[Html]:
    """Yield the blocks as elements."""
    for kind, several in groupby(described, key=type):
        if kind is blocks.Labelled:
            yield element("dl", *map(_labelled, several))
        else:
            yield from chain.from_iterable(map(_elements, several))


def _elements(block: blocks.Block) -> Iterator[Html]:
    match block:
        case blocks.Headline():
            title, color = f"{block.of}{block.title}", _CLASSES.get(block.style)
            word = element("b", f"{title}:" if block.word else title, class_=f"word {color or ''}".strip())
            said = block.sentence if block.word else element("b", block.sentence)
            yield element("p", word if title else None, " " if title else None, said)
            yield from (element("p", blocks.one_line(line, _LINE), class_="dim") for line in block.lines)
        case blocks.Line(pieces, indent):
            yield element("p", *map(_piece, pieces), class_="dim" if indent else None)
        case blocks.Answers(answers):
            yield from (_opening(each) for each in answers[:_LISTED])
            if rest := block.describe_rest(_LISTED):
                yield element("p", rest, class_="dim")
        case blocks.Table(rows=rows) if rows:
            yield _table(block.shown(pictures=True))
            if len(rows) > _ROWS:
                yield element("p", f"{len(rows) - _ROWS:,} more", class_="dim")
        case blocks.Steps(commands):
            for command, purpose in commands:
                told = f": {purpose}" if purpose else None
                yield element("p", "next: ", element("code", command), told, class_="dim")


def _table(shown: blocks.Table) -> Html:
    kinds = ["number" if each.right else None for each in shown.columns]
    heads = zip(shown.columns, kinds, strict=True)
    head = element("tr", *(element("th", each.name, scope="col", class_=kind) for each, kind in heads))
    rows = (zip(row, kinds, strict=True) for row in shown.rows[:_ROWS])
    drawn = (element("tr", *(element("td", _piece(cell), class_=kind) for cell, kind in row)) for row in rows)
    return element("table", head, *drawn)


def _piece(piece: blocks.Piece) -> str:
    match piece:
        case blocks.Bar():
            return draw_share(piece)
        case blocks.Styled(text, style) | blocks.Drawn(text, _, style):
            return element("b" if blocks.BOLD in style else "span", text, class_=_CLASSES.get(style))
    text = blocks.one_line(str(piece), _LINE) if piece else ""
    return text.replace(" ", "\N{NO-BREAK SPACE}") if text.endswith("]") else text


def _labelled(block: blocks.Block) -> Html | None:
    if not isinstance(block, blocks.Labelled):
        return None
    text = marked(block.text, block.marks) if block.marks else block.text
    return labelled(block.label, people_text(text))


def _opening(answer: blocks.Answer) -> Html:
    asked = people_text(blocks.one_line(answer.question.text, _ASKED))
    kind = element("span", answer.kind, class_="bad beside")
    summary = element("summary", element("b", blocks.one_line(answer.name, 40)), " ", asked, kind)
    is_asked = len(answer.question.text) < _ASKED
    return element("details", summary, render_answer(answer, is_asked=is_asked))


def render_answer(answer: blocks.Answer, *, is_asked: bool) -> Html:
    """Return an answer with all that is known of it; ``is_asked``: the question stands above it."""
    lines: list[blocks.Labelled] = []
    for asked, *texts in answer.turns[:_LISTED]:
        if not is_asked or asked.text != answer.question.text:
            lines.append(blocks.Labelled("asked", asked.text))
        lines += texts
    return element("dl", *map(_labelled, [*lines, *answer.opened]))


def draw_share(bar: blocks.Bar) -> Html:
    """Draw a dot on a track, its interval and its limit."""
    interval, middle = bar.interval, 8

    def x(value: float) -> float:
        share = (min(max(value, bar.least), 1.0) - bar.least) / (1.0 - bar.least)
        return round(_EDGE + share * (_TRACK - 2 * _EDGE), 1)

    pieces = [element("line", class_="track", x1=_EDGE, x2=_TRACK - _EDGE, y1=middle, y2=middle)]
    if interval is not None:
        low, high = x(interval.low), x(interval.high)
        pieces += [
            element("line", x1=low, x2=high, y1=middle, y2=middle, stroke="currentColor", stroke_width=2),
            *(element("line", x1=at, x2=at, y1=4, y2=12, stroke="currentColor") for at in (low, high)),
        ]
    if bar.limit is not None:
        pieces.append(element("line", class_="limit", x1=x(bar.limit), x2=x(bar.limit), y1=0, y2=16))
    is_open = bar.limit is not None and interval is not None and interval.low < bar.limit <= interval.high
    dot = {"fill": "none", "stroke_width": 2} if is_open else {"fill": "currentColor"}
    pieces.append(element("circle", cx=x(bar.share), cy=middle, r=4, stroke="currentColor", **dot))
    label = f"{blocks.figure(bar.share, interval)}, 95% CI {blocks.interval_text(interval)}"
    color = _CLASSES.get(bar.style, "data")
    return element("svg", *pieces, width=_TRACK, height=16, role="img", aria_label=label, class_=color)
