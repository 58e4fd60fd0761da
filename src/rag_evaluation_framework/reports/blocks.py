"""What reports are made of: lines, texts with labels, tables, and steps; and how figures are written in them.

What is said of an evaluation, a comparison or a list is a sequence of blocks. They hold text, never markup,
and facts rather than a layout: a table says in which order its columns leave where the width does not do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import msgspec

from rag_evaluation_framework.errors import UsageError, counted
from rag_evaluation_framework.metrics.declaration import parse_metric, without_parameters
from rag_evaluation_framework.statistics.intervals import Interval

NARROWEST, USUAL, WIDEST = 80, 100, 140

GOOD, BAD, DOUBT, DIM, BOLD = "green", "red", "yellow", "dim", "bold"
"""Passed and better; failed, worse, unsupported; undecided and incomplete; ids, paths, notes; the verdict."""

STYLES = {
    **dict.fromkeys(("passed", "met", "better", "no worse"), GOOD),
    **dict.fromkeys(("failed", "missed", "worse"), BAD),
    **dict.fromkeys(("undecided", "thresholds met", "not evaluated", "incomplete"), DOUBT),
}
"""The colour of a word of a verdict."""

# The order in which columns leave a table that is too wide; those without a place in it stay.
MEANING, SIZE, BAR, DIFFERENCE, BY, COUNT = range(1, 7)


class Styled(NamedTuple):
    """A piece of text with its colour."""

    text: str
    style: str


class Bar(NamedTuple):
    """A share that is drawn so many cells wide; on the widest screens ``wide`` of them."""

    share: float
    size: int
    wide: int = 0


class Drawn(NamedTuple):
    """A text with characters that a plain screen lacks, and what stands there instead."""

    text: str
    plain: str
    style: str = ""
    is_bar: bool = False


Piece: TypeAlias = str | Styled | Bar | Drawn
Marks: TypeAlias = Iterable[tuple[int, int]]
"""Characters of a text that are to be marked, from and to."""


class Column(msgspec.Struct, frozen=True):
    """A column of a table: ``leaves`` is when it goes where the width does not do, 0 for never.

    Below ``joins`` cells it is not shown at all. One that is ``flexible`` holds names, which lose their
    middle rather than the table a column that stays; one that is ``optional`` is left out where it is empty,
    and one that is shown ``once`` leaves a value out that stands above it.
    """

    name: str = ""
    right: bool = False
    leaves: float = 0
    joins: int = 0
    flexible: bool = False
    optional: bool = False
    once: bool = False


Cell: TypeAlias = tuple[Column | str, Piece]
"""A cell of a row, with the column that it stands in."""


def right(name: str, *, leaves: float = 0, joins: int = 0) -> Column:
    """Return a column of numbers."""
    return Column(name, right=True, leaves=leaves, joins=joins)


class Headline(msgspec.Struct, frozen=True):
    """What a report begins with: the verdict, why in a sentence, and what else there is to know.

    Without a gate it is the sentence alone.
    """

    mark: str
    word: str
    sentence: str
    lines: tuple[str, ...]

    @property
    def title(self) -> str:
        """The verdict with its mark; nothing without a gate."""
        return f"{self.mark} {self.word}".strip()

    def __str__(self) -> str:
        return f"{self.title}: {self.sentence}" if self.word else self.sentence


class Gap(msgspec.Struct, frozen=True):
    """An empty line; several are one, and none stands at the top."""


class Line(msgspec.Struct, frozen=True):
    """A sentence, wrapped at words; its lines after the first begin at ``hang``."""

    pieces: tuple[Piece, ...]
    indent: int = 0
    hang: int | None = None


class Labelled(msgspec.Struct, frozen=True):
    """A text after its label, wrapped from ``hang`` on; so many ``lines`` of it, some of it marked."""

    label: str
    text: str
    indent: int = 2
    hang: int = 13
    marks: Marks = ()
    lines: int = 6


class Example(msgspec.Struct, frozen=True):
    """A text as far as it fits a line, its place at the right end, and a text below it."""

    text: str
    place: str
    below: str | None


class Table(msgspec.Struct, frozen=True):
    """A table; its columns leave in their order until it fits, and no figure is ever cut."""

    columns: Sequence[Column | str]
    rows: Sequence[Sequence[Piece]]
    indent: int = 2


class Steps(msgspec.Struct, frozen=True):
    """What can be done now: commands or sentences, and what for."""

    commands: Iterable[tuple[str, str]]


class Command(msgspec.Struct, frozen=True):
    """A command that can be pasted, after its label."""

    label: str
    command: str


Block: TypeAlias = Headline | Gap | Line | Labelled | Example | Table | Steps | Command
Blocks: TypeAlias = Iterator[Block]
GAP = Gap()


def prose(*pieces: Piece, indent: int = 0, hang: int | None = None) -> Line:
    """Return a sentence of several pieces."""
    return Line(pieces, indent, hang)


def aside(*pieces: Piece) -> Line:
    """Return a sentence that stands below what it is about."""
    return Line(pieces, indent=2, hang=4)


def table(rows: Iterable[Sequence[Cell]], *, indent: int = 2) -> Table:
    """Return a table whose cells stand beside their columns; without rows an empty one."""
    cells_of = [*zip(*rows, strict=True)]
    named = [(each[0][0], [cell for _, cell in each]) for each in cells_of]
    for name, of in named:
        if isinstance(name, Column) and name.once:
            of[1:] = ["" if each == above else each for above, each in pairwise(of)]
    kept = [(name, of) for name, of in named if isinstance(name, str) or not name.optional or any(of)]
    return Table([name for name, _ in kept], [*zip(*(of for _, of in kept), strict=True)], indent)


# How text is measured and cut: in terminal cells, two for a Chinese character.


def cells(text: str) -> int:
    """Count the terminal cells that a text takes."""
    if text.isascii() and text.isprintable():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def graphemes(text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int, int]]:
    """Return what a reader sees as one character: where it begins and ends, and its cells."""
    part = text[start:end]
    if part.isascii() and part.isprintable():
        return [(place, place + 1, 1) for place in range(start, start + len(part))]
    from rich.cells import split_graphemes

    found, _ = split_graphemes(part)
    return [(start + first, start + last, size) for first, last, size in found]


def cut(text: str, width: int) -> str:
    """Return the beginning of a text that fits, with ``…`` where more follows."""
    if cells(text) <= width:
        return text
    from rich.cells import set_cell_size

    return set_cell_size(text, max(width - 1, 1)).rstrip() + "…"


def shortened(name: str, width: int) -> str:
    """Return a name that fits; a long one loses its middle: ``rag-quality-…-2026``."""
    if cells(name) <= width:
        return name
    parts, keep = graphemes(name), width - 1
    tail = 0
    while parts and tail + parts[-1][2] <= keep // 3:
        tail += parts[-1][2]
        parts.pop()
    ending = name[parts[-1][1] :] if parts else ""
    from rich.cells import set_cell_size

    return set_cell_size(name, keep - tail).rstrip() + "…" + ending


def one_line(text: str, characters: int = 100) -> str:
    """Return a text in one line without control characters, for where there are no cells to count."""
    line = " ".join("".join(it if it.isprintable() else " " for it in text).split())
    return line if len(line) <= characters else line[: characters - 1] + "…"


# How figures are written, the same everywhere.

NOTHING = "–"


def figure(value: float | None, interval: Interval | None = None, *, bound: float | None = None) -> str:
    """Write a measured value: two decimals, or more where they tell something; a dash where there is none.

    Three where half the interval is below 0.01, and as many as it takes to show on which side of a ``bound``
    it lies.
    """
    if value is None:
        return NOTHING
    digits = _digits(value, interval)
    if bound is not None and value != bound:
        while digits < 9 and _side(float(f"{value:.{digits}f}"), bound) != _side(value, bound):
            digits += 1
    return _unsigned_zero(f"{value:,.{digits}f}")


_TIMES = ("latency", "step_time")


def measure(
    metric: str, value: float | None, interval: Interval | None = None, *, bound: float | None = None
) -> str:
    """Write a value of a metric as :func:`figure` does, with the unit of one that has a unit."""
    name = without_parameters(metric)
    if name == "cost" and bound is None:
        return money(value)
    written = figure(value, interval, bound=bound)
    return f"{written} ms" if name in _TIMES and value is not None else written


def _side(value: float, bound: float) -> int:
    return (value > bound) - (value < bound)


def _digits(value: float, interval: Interval | None) -> int:
    if abs(value) >= 100:
        return 0 if abs(value) >= 1000 else 1
    is_narrow = interval is not None and 0 < (interval.high - interval.low) / 2 < 0.01
    return 3 if is_narrow else 2


def _unsigned_zero(written: str) -> str:
    return written.lstrip("-+") if not written.strip("-+0.,") else written


def interval_text(interval: Interval | None, value: float | None = 0.0) -> str:
    """Write an interval with as many digits as its value has."""
    if interval is None:
        return NOTHING if value is None else "n too small"
    digits = _digits(value or 0.0, interval)
    return (
        f"[{_unsigned_zero(f'{interval.low:,.{digits}f}')}, {_unsigned_zero(f'{interval.high:,.{digits}f}')}]"
    )


def interval_header(confidence: float = 0.95) -> str:
    return f"{100 * confidence:g}% interval"


def difference(value: float | None, interval: Interval | None = None) -> str:
    """Write a difference with its sign and, if there is one, its interval; zero has no sign."""
    if value is None:
        return NOTHING
    digits = _digits(value, interval)
    ends = ""
    if interval is not None and (value or interval.low or interval.high):
        ends = (
            " ["
            + ", ".join(_unsigned_zero(f"{end:+,.{digits}f}") for end in (interval.low, interval.high))
            + "]"
        )
    return _unsigned_zero(f"{value:+,.{digits}f}") + ends


def aligned(written: str) -> str:
    """Return a difference that stands under others: zero begins where the digits of the others do."""
    return f" {written}" if written[:1].isdigit() else written


def probability_text(p: float | None) -> str:
    if p is None:
        return NOTHING
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def part_of(number: int, total: int, noun: str, verb: str = "", verbs: str = "") -> str:
    """Write a share of cases as a count: ``2 of 13 answers are``, ``all 13 answers``, ``none of 13``."""
    nouns = counted(total, noun)
    if number == total:
        said = f"the one {noun}" if total == 1 else f"all {nouns}" if total else f"no {noun}s"
    else:
        said = f"{number:,} of {nouns}" if number else f"none of {nouns}"
    agreeing = verb if number == 1 or not verbs else verbs
    return f"{said} {agreeing}".rstrip()


def number_word(number: int) -> str:
    """Write a small number in letters, as a sentence has it."""
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    return words[number] if 0 <= number < len(words) else f"{number:,}"


def listed(names: Sequence[str], last: str = "and") -> str:
    """Join names as a sentence does: ``a, b and c``."""
    return f" {last} ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def money(dollars: float | None) -> str:
    if dollars is None:
        return NOTHING
    return f"${dollars:,.2f}" if dollars >= 0.01 or not dollars else f"${dollars:.2g}"


def bar(value: float, largest: float, *, size: int = 30, plain: bool = False) -> str:
    """Draw a value as a bar, in eighths of a character; anything but 0 is visible."""
    eighths = max(round(value / largest * size * 8), 1) if value and largest else 0
    if plain:
        return "#" * max(round(eighths / 8), int(eighths > 0))
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


# By what a figure was made, in one word; the long name is for details.
_BY = {
    "lexic": "words",
    "exact": "exact",
    "embed": "meaning",
    "timing": "timing",
    "thresh": "bounds",
    "trace": "trace",
    "verdict": "verdict",
}


def by(method: str) -> str:
    """Return the word for a method: words, exact, meaning, model, judge, timing, trace or verdict."""
    known = next((word for begins, word in _BY.items() if method.startswith(begins)), None)
    if known is not None:
        return known
    return "judge" if "judge" in method else "agent" if method.startswith("reported") else "model"


_MEANINGS: Mapping[str, str] = {
    "faithfulness": "supported by what was retrieved",
    "claim_recall": "of the expected answer, said",
    "claim_precision": "of what it says, expected",
    "hit": "a right document came",
    "refusal_recall": "declined where it should",
    "over_refusal": "declined where it could answer",
    "string_match": "the expected text is in the answer",
    "latency": "milliseconds an answer took",
}


def meaning(metric: str) -> str:
    """Say in a few words what a metric measures."""
    name = without_parameters(metric).partition("@")[0]
    if name in _MEANINGS:
        return _MEANINGS[name]
    try:
        return parse_metric(metric).metric.summary.rstrip(".")
    except UsageError:  # nobody's, or one that does not say what it measures
        return ""
