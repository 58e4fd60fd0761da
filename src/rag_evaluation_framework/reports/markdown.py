"""An evaluation or a comparison as Markdown for a pull request or a job's summary, figures folded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby

from rag_evaluation_framework.reports import blocks
from rag_evaluation_framework.reports.blocks import one_line
from rag_evaluation_framework.reports.description import describe
from rag_evaluation_framework.results.comparison import Comparison
from rag_evaluation_framework.results.evaluations import Evaluation

_LISTED = 10
_CHARACTERS, _LINE = 300, 1000
# What would begin a cell, a tag, code, a link (as an interval does not) or an entity; and emphasis, where it
# would be one.
_SPECIAL = re.compile(
    r"[\\|<`]|\[(?![-+.,\d]+, [-+.,\d]+\])|(?<!\w)[*_~](?=\S)|(?<=\S)[*_~](?!\w)|&(?=#?\w+;)"
)
# What GitHub makes a link of, whatever stands before it.
_LINKED = re.compile(r"@(?=\w)|#(?=\d)|:(?=//)|(?<=\bwww)(?=\.)", re.IGNORECASE)


def render(thing: Evaluation | Comparison) -> str:
    """Render the verdict first, then the answers behind it, then every figure."""
    described = [*describe(thing)]
    first = next((at for at, each in enumerate(described) if isinstance(each, blocks.Headline)), 0)
    ordered = [*described[first : first + 1], *described[:first], *described[first + 1 :]]
    return "\n\n".join(_paragraphs(ordered)) + "\n"


def _paragraphs(described: Iterable[blocks.Block]) -> Iterator[str]:
    for (kind, is_item), several in groupby(described, key=lambda each: (type(each), _is_item(each))):
        if kind in (blocks.Line, blocks.Labelled):
            yield ("\n" if is_item else "  \n").join(map(_line, several))
        else:
            yield from filter(None, map(_block, several))


def _is_item(block: blocks.Block) -> bool:
    return isinstance(block, blocks.Labelled) or (isinstance(block, blocks.Line) and block.indent > 0)


def _line(block: blocks.Block) -> str:
    match block:
        case blocks.Labelled(label, text):
            return f"- **{escaped(label)}** {escaped(text, _LINE)}"
        case blocks.Line(pieces, indent):
            return ("- " if indent else "") + "".join(map(_piece, pieces)).strip()
    return ""


def _block(block: blocks.Block) -> str:
    match block:
        case blocks.Headline():
            lines = "  \n".join(escaped(line, _LINE) for line in block.lines)
            return f"### {escaped(str(block), _LINE)}" + (f"\n\n{lines}" if lines else "")
        case blocks.Answers():
            return "\n\n".join(filter(None, [_answers(block), block.describe_rest(_LISTED)]))
        case blocks.Steps(commands):
            steps = [
                f"- {_code(command)}{f': {escaped(purpose)}' * bool(purpose)}"
                for command, purpose in commands
            ]
            return "\n".join(["Next:", *steps]) if steps else ""
        case blocks.Table(rows=rows, summary=summary) if rows:
            shown = block.shown()
            heads = [each.name for each in shown.columns]
            drawn = _table(heads, [[_piece(cell).strip() for cell in row] for row in shown.rows])
            # The summary is HTML, in which backslashes would be shown.
            folded = f"<details><summary>{escape(one_line(summary, 400))}</summary>\n\n{drawn}\n</details>"
            return folded if summary else drawn
    return ""


def _answers(listed: blocks.Answers) -> str:
    """Return a row for each turn of the first answers, with the texts by their labels."""
    turns = [turn for each in listed.answers[:_LISTED] for turn in each.turns]
    longest = sorted(turns, key=len, reverse=True)
    labels = dict.fromkeys(text.label for _, *texts in longest for text in texts)
    rows = []
    for question, *texts in turns:
        found = {text.label: _marked(text) for text in texts}
        cells = [found.get(label, blocks.NOTHING) for label in labels]
        rows.append([escaped(question.label), escaped(question.text), *cells])
    return _table([listed.word, "question", *map(escaped, labels)], rows) if rows else ""


def _table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _piece(piece: blocks.Piece) -> str:
    match piece:
        case blocks.Bar(share=share, size=size):
            return blocks.bar(share, 1.0, size=size)
        case blocks.Styled(text, style) | blocks.Drawn(text, _, style):
            return f"**{escaped(text, _LINE)}**" if blocks.BOLD in style and text else _within(text)
        case str():
            return _within(piece)
    return ""


def _code(text: str) -> str:
    return f"`{one_line(text, _LINE).replace('`', chr(39))}`"


def escaped(text: str, characters: int = _CHARACTERS) -> str:
    """Return a text that Markdown shows as it is, in one line: no markup, no mention, no cell of its own."""
    line = _SPECIAL.sub(lambda found: f"\\{found[0]}", one_line(text, characters))
    return _LINKED.sub(lambda found: f"{found[0]}\u200b", line)


def _marked(labelled: blocks.Labelled) -> str:
    """Return a text with the words that nothing supports in bold."""
    text, parts, done = labelled.text[:_CHARACTERS], [], 0
    for start, end in sorted(labelled.marks):
        if done <= start < end <= len(text):
            parts += [_within(text[done:start]), f"**{escaped(text[start:end])}**"]
            done = end
    more = "…" if len(labelled.text) > _CHARACTERS else ""
    return "".join([*parts, _within(text[done:])]).strip() + more or blocks.NOTHING


def _within(text: str) -> str:
    """Return a part of a text, the spaces at its ends kept."""
    first, last = " " * text[:1].isspace(), " " * text[-1:].isspace()
    return f"{first}{escaped(text, _LINE)}{last}" if text.strip() else first
