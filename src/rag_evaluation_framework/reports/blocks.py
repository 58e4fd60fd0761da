"""The blocks of reports: lines, labeled texts, tables, and steps; and the format of their figures.

What is said of an evaluation, a comparison or a list is a sequence of blocks. They hold text, never markup,
and facts rather than a layout: a table says in which order its columns leave where the width does not do. A
:class:`Screen` draws them on a terminal: control characters and what turns the writing direction are taken
out, and secrets masked, before a line is laid out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, groupby, pairwise
from typing import NamedTuple, TypeAlias

import msgspec
from msgspec.structs import asdict

from rag_evaluation_framework.errors import UsageError, counted
from rag_evaluation_framework.metrics.declaration import parse_metric, without_parameters
from rag_evaluation_framework.statistics.intervals import Interval

NARROWEST, USUAL, WIDEST = 80, 100, 140

GOOD, BAD, DOUBT, DIM, BOLD = "green", "red", "yellow", "dim", "bold"
"""Passed and better; failed, worse, unsupported; undecided and incomplete; ids, paths, notes; the verdict."""

STYLES = {
    **dict.fromkeys(("passed", "met", "better", "no worse", "faster", "winner", "complete"), GOOD),
    **dict.fromkeys(("failed", "missed", "worse", "slower", "no winner", "broken"), BAD),
    **dict.fromkeys(("undecided", "thresholds met", "not evaluated", "incomplete", "running"), DOUBT),
    **dict.fromkeys(("too few", "too small", "not begun"), DOUBT),
}
"""The colour of a word of a verdict, or of a state."""

# The order in which columns leave a table that is too wide; those without a place in it stay.
MEANING, SIZE, BAR, DIFFERENCE, BY, COUNT = range(1, 7)


class Styled(NamedTuple):
    """A piece of text with its colour."""

    text: str
    style: str


def result(word: str) -> Styled:
    """Return a word of a verdict in its colour."""
    return Styled(word, STYLES.get(word, ""))


class Bar(NamedTuple):
    """A share that is drawn so many cells wide; on the widest screens ``wide`` of them.

    Where there is more than text, it is a dot between ``least`` and 1, with its interval and a limit.
    """

    share: float
    size: int = 0
    wide: int = 0
    least: float = 0.0
    interval: Interval | None = None
    limit: float | None = None
    style: str = ""


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

    Below ``joins`` cells it is not shown at all; a ``picture`` is, where there is more than text. One that is
    ``flexible`` holds names, which lose their middle rather than the table a column that stays; one that is
    ``optional`` is left out where it is empty, and one that is shown ``once`` leaves a value out that stands
    above it.
    """

    name: str = ""
    right: bool = False
    leaves: float = 0
    joins: int = 0
    flexible: bool = False
    optional: bool = False
    once: bool = False
    picture: bool = False


PICTURE = Column(joins=1000, picture=True)
"""A column of what no text shows."""
Columns: TypeAlias = Sequence[Column | str]
Rows: TypeAlias = Iterable[Sequence[Piece]]
Cell: TypeAlias = tuple[Column | str, Piece]
"""A cell of a row, with the column that it stands in."""


def right(name: str, *, leaves: float = 0, joins: int = 0) -> Column:
    """Return a column of numbers."""
    return Column(name, right=True, leaves=leaves, joins=joins)


class Headline(msgspec.Struct, frozen=True):
    """The start of a report: the verdict, a sentence with the reason, and further lines.

    Without a gate it is the sentence alone. Of several contenders it says ``of`` which; on a screen its lines
    begin at ``hang``, by default below the sentence.
    """

    mark: str
    word: str
    sentence: str
    lines: tuple[str, ...]
    of: str = ""
    hang: int | None = None
    color: str = ""

    @classmethod
    def of_sentence(
        cls, sentence: str, *, color: str = "", lines: tuple[str, ...] = (), of: str = "", hang: int = 0
    ) -> Headline:
        """Return a sentence that begins with the verdict and a colon."""
        word, _, rest = sentence.partition(": ")
        return cls("", word if rest else "", rest or word, lines, of, hang, color)

    @property
    def title(self) -> str:
        """The verdict with its mark; nothing without a gate."""
        return f"{self.mark} {self.word}".strip()

    @property
    def style(self) -> str:
        """The color of the verdict."""
        return self.color or STYLES.get(self.word.partition(",")[0].lower(), "")

    def __str__(self) -> str:
        return f"{self.of}{self.title}: {self.sentence}" if self.word else f"{self.of}{self.sentence}"


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


class Answer(msgspec.Struct, frozen=True):
    """An answer of a list: of each turn the question, and texts by their labels."""

    name: str
    kind: str
    question: Labelled
    turns: Sequence[Sequence[Labelled]]
    count: int = 1
    """Number of answers of the list that it stands for."""
    opened: Iterable[Labelled] = ()
    """Texts shown only in media where a reader can open them."""


class Answers(msgspec.Struct, frozen=True):
    """Answers out of ``total``: as many in full as a medium has room for.

    A terminal shows the first ``full`` of them, the questions of the next so many that are ``asked``, and the
    names of others; nothing if both are 0. A ``word`` says what they have in common.
    """

    answers: Sequence[Answer]
    total: int
    full: int
    asked: int
    word: str = ""
    indent: int = 2

    def describe_rest(self, shown: int) -> str:
        """Say how many answers there are beyond those shown, and what they are called."""
        rest = [each.name for each in self.answers[shown:]]
        if (more := self.total - sum(each.count for each in self.answers[:shown])) <= 0:
            return ""
        others = ", …" if more > len(rest[:_NAMED]) and len(rest) <= _NAMED and rest else ""
        return f"{more:,} more" + (f": {names_listed(rest)}{others}" if rest else "")


class Table(msgspec.Struct, frozen=True):
    """A table; its columns leave in their order until it fits, and no figure is ever cut.

    Its ``summary`` is what it is folded into, where a reader can open it.
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Piece]]
    indent: int = 2
    summary: str = ""

    def shown(self, *, pictures: bool = False) -> Table:
        """Return the columns that say something and are not for the widest screens alone."""
        kept = [
            at
            for at, each in enumerate(self.columns)
            if (each.joins <= USUAL or (pictures and each.picture)) and any(row[at] for row in self.rows)
        ]
        return Table([self.columns[at] for at in kept], [[row[at] for at in kept] for row in self.rows])


class Steps(msgspec.Struct, frozen=True):
    """The next steps: commands or sentences with their purpose."""

    commands: Iterable[tuple[str, str]]


class Command(msgspec.Struct, frozen=True):
    """A command that can be pasted, after its label."""

    label: str
    command: str


Block: TypeAlias = Headline | Gap | Line | Labelled | Example | Answers | Table | Steps | Command
Blocks: TypeAlias = Iterator[Block]
GAP = Gap()


def prose(*pieces: Piece, indent: int = 0, hang: int | None = None) -> Line:
    """Return a sentence of several pieces."""
    return Line(pieces, indent, hang)


def aside(*pieces: Piece) -> Line:
    """Return a sentence that stands below what it is about."""
    return Line(pieces, indent=2, hang=4)


def table(rows: Iterable[Sequence[Cell]], *, indent: int = 2, summary: str = "") -> Table:
    """Return a table whose cells stand beside their columns; without rows an empty one."""
    cells_of = [*zip(*rows, strict=True)]
    named = [(each[0][0], [cell for _, cell in each]) for each in cells_of]
    for name, of in named:
        if isinstance(name, Column) and name.once:
            of[1:] = ["" if each == above else each for above, each in pairwise(of)]
    kept = [(name, of) for name, of in named if isinstance(name, str) or not name.optional or any(of)]
    columns = [name if isinstance(name, Column) else Column(name) for name, _ in kept]
    return Table(columns, [*zip(*(of for _, of in kept), strict=True)], indent, summary)


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
    low, high = (_unsigned_zero(f"{end:,.{digits}f}") for end in (interval.low, interval.high))
    return f"[{low}, {high}]"


def interval_header(confidence: float = 0.95) -> str:
    return f"{100 * confidence:g}% CI"


def difference(value: float | None, interval: Interval | None = None) -> str:
    """Write a difference with its sign and, if there is one, its interval; zero has no sign."""
    if value is None:
        return NOTHING
    digits = _digits(value, interval)
    written = _unsigned_zero(f"{value:+,.{digits}f}")
    if interval is None or not (value or interval.low or interval.high):
        return written
    low, high = (_unsigned_zero(f"{end:+,.{digits}f}") for end in (interval.low, interval.high))
    return f"{written} [{low}, {high}]"


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


def names_listed(names: Sequence[str]) -> str:
    """List names of samples: ``lines 6, 7``; the first few of many."""
    shown, more = names[:_NAMED], ", …" if len(names) > _NAMED else ""
    numbers = [name.removeprefix("line ") for name in shown]
    if len(shown) > 1 and all(name.startswith("line ") for name in shown):
        return f"lines {', '.join(sorted(numbers, key=int))}{more}"
    return ", ".join(one_line(name) for name in shown) + more


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


# The method of a figure in short; the long name is for details.
_BY = {
    "lexic": "word overlap",
    "exact": "exact",
    "embed": "embedding",
    "timing": "timing",
    "thresh": "threshold",
    "trace": "trace",
    "verdict": "verdict",
}


def by(method: str) -> str:
    """Return the name of a method, such as ``word overlap``, ``LLM judge`` or ``timing``."""
    known = next((word for begins, word in _BY.items() if method.startswith(begins)), None)
    if known is not None:
        return known
    return "LLM judge" if "judge" in method else "agent" if method.startswith("reported") else "local model"


_MEANINGS: Mapping[str, str] = {
    "faithfulness": "share of claims supported by the retrieved passages",
    "claim_recall": "share of the expected claims in the answer",
    "claim_precision": "share of the answer's claims that were expected",
    "hit": "an expected document was retrieved",
    "refusal_recall": "refused when it should",
    "over_refusal": "refused when it could answer",
    "string_match": "the answer contains the expected text",
    "latency": "milliseconds per answer",
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


# Blocks on a terminal, in its width and its colours, with the characters that it can show.


_METHODS: Mapping[type[Block], str] = {
    Gap: "gap",
    Labelled: "labelled",
    Headline: "show_headline",
    Example: "show_example",
    Answers: "show_answers",
    Table: "table",
    Steps: "steps",
    Command: "command",
}
"""The method of a screen that adds a block of a kind."""


class Screen(msgspec.Struct):
    """Lines for a terminal of so many cells."""

    width: int = USUAL
    color: bool = False
    plain: bool = False
    plain_bars: bool = False
    mask: Callable[[str], str] = str
    _lines: list[str] = []

    def __str__(self) -> str:
        return "\n".join(self._lines).rstrip("\n")

    def draw(self, blocks: Iterable[Block]) -> Screen:
        """Add blocks, and return the screen."""
        for block in blocks:
            if isinstance(block, Line):
                self.say(*block.pieces, indent=block.indent, hang=block.hang)
            elif isinstance(block, Headline | Answers):
                getattr(self, _METHODS[type(block)])(block)
            else:
                getattr(self, _METHODS[type(block)])(**asdict(block))
        return self

    def show_answers(self, listed: Answers) -> None:
        """Add the first answers in full, the next by their questions, and what the others are called."""
        shown, first = listed.full + listed.asked, len(self._lines)
        if not shown:
            return
        for place, each in enumerate(listed.answers[:shown]):
            self.draw(chain(*each.turns[:_TURNS]) if place < listed.full else [each.question])
        if listed.word and listed.answers:
            line = self._lines[first][2 + len(listed.word) :]
            self._lines[first] = f"  {self._paint(listed.word, STYLES[listed.word])}{line}"
        if rest := listed.describe_rest(shown):
            self.say(rest, indent=listed.indent, hang=listed.indent + 2)

    def gap(self) -> None:
        """Leave a line empty, once, and not at the top."""
        if self._lines and self._lines[-1]:
            self._lines.append("")

    def say(self, *pieces: Piece, indent: int = 0, hang: int | None = None) -> None:
        """Add a sentence, wrapped at words; lines after the first begin at ``hang``."""
        hang = indent if hang is None else hang
        cleaned = [self._shown(each) for each in pieces]
        text = "".join(each.text for each in cleaned)
        ends = list(accumulate(len(each.text) for each in cleaned))
        spans = [(end - len(each.text), end, each.style) for end, each in zip(ends, cleaned, strict=True)]
        for place, (start, end) in enumerate(wrapped(text, self.width - hang, self.width - indent)):
            self._add(" " * (hang if place else indent) + self._painted(text, start, end, spans))

    def labelled(
        self, label: str, text: str, *, indent: int = 0, hang: int, marks: Marks = (), lines: int = 6
    ) -> None:
        """Add a text after its label, wrapped from ``hang`` on, marked with ``~~~`` below what is marked.

        Of a long text so many ``lines`` are shown.
        """
        shown, is_marked = self._marked(text, marks)
        places = wrapped(shown, self.width - hang)
        if len(places) > lines:
            start, end = places[lines - 1]
            while end > start and cells(shown[start:end]) > self.width - hang - 3:
                end -= 1
            shown, places = f"{shown[:end].rstrip()} …", [*places[: lines - 1], (start, end + 2)]
            is_marked = is_marked[:end] + [False] * (len(shown) - end)
            places[-1] = (start, len(shown))
        runs = [
            (each[0], each[-1] + 1, BAD)
            for marked, places_of in groupby(range(len(shown)), key=is_marked.__getitem__)
            for each in [list(places_of)]
            if marked
        ]
        for place, (start, end) in enumerate(places):
            before = "" if place else " " * indent + self.clean(label, whole=True)
            painted = self._painted(shown, start, end, runs)
            self._add(before + " " * (hang - cells(before)) + painted)
            below = "".join(
                ("~" if is_marked[at] else " ") * size for at, _, size in graphemes(shown, start, end)
            ).rstrip()
            if below:
                self._add(" " * (hang + len(below) - len(below.lstrip())) + self._paint(below.lstrip(), BAD))

    def table(self, columns: Columns, rows: Rows, *, indent: int = 2, summary: str = "") -> None:
        """Add a table; columns leave in their order until it fits, and no figure is ever cut."""
        if not columns:
            return
        kept = [each if isinstance(each, Column) else Column(each) for each in columns]
        written = [
            [self._shown(cell) for cell in row] for row in ([Styled(each.name, DIM) for each in kept], *rows)
        ]
        chosen = self._chosen(kept, written, indent)
        if chosen is None:
            self._as_blocks(written, indent)
            return
        widths = [max(cells(row[at].text) for row in written) for at in range(len(kept))]
        excess = indent + sum(widths[at] + 2 for at in chosen) - 2 - self.width
        for at in chosen:
            if excess > 0 and kept[at].flexible:
                spared = min(excess, max(widths[at] - _SHORTEST_NAME, 0))
                widths[at], excess = widths[at] - spared, excess - spared
        for row in written:
            line, spaces = "", indent
            for at in chosen:
                cell = row[at]._replace(text=shortened(row[at].text, widths[at]))
                space = widths[at] - cells(cell.text)
                if cell.text:
                    gap = spaces + (space if kept[at].right else 0)
                    line += " " * gap + self._paint(*cell)
                    spaces = 2 + (0 if kept[at].right else space)
                else:
                    spaces += widths[at] + 2
            self._add(line)

    def steps(self, commands: Iterable[tuple[str, str]]) -> None:
        """Add what can be done now: a command or a sentence, and what for."""
        several, label = list(commands), "Next:"
        room = self.width - cells(label) - 1
        sizes = [(cells(self.clean(command)), cells(self.clean(purpose))) for command, purpose in several]
        width = max((size for size, purpose in sizes if purpose and size + 6 + purpose <= room), default=0)
        for place, (command, purpose) in enumerate(several):
            beside = max(0, width - cells(self.clean(command)))
            self.command(label if not place else " " * len(label), command, purpose, beside=beside)

    def command(self, label: str, command: str, purpose: str = "", *, beside: int = 0) -> None:
        """Add a command that can be pasted: where it does not fit, its lines end in a backslash.

        Its purpose stands six cells behind it, and so many more that several stand below each other.
        """
        hang, text = cells(label) + 1, self.clean(command, whole=True)
        told = f"      {self.clean(purpose)}" if purpose else ""
        if told and hang + cells(text + told) + beside <= self.width:
            told = " " * beside + told
        if hang + cells(text + told) > self.width and purpose:
            self.say(f"{label} {self.clean(purpose)}:", hang=hang)
            label, told = " " * len(label), ""
        is_command = "rag-eval " in text or text.startswith("python ")
        places = (_words_wrapped if is_command else wrapped)(text, self.width - hang - 2 * is_command)
        for place, (start, end) in enumerate(places):
            more = " \\" if is_command and place < len(places) - 1 else ""
            before = " " * hang if place else f"{label} "
            self._add(before + text[start:end] + more + (told if place == len(places) - 1 else ""))

    def clean(self, piece: str, *, whole: bool = False) -> str:
        """Return a text as it is shown: masked, in one line, without control characters."""
        text = self.mask(piece)
        line = "".join(it if it.isprintable() else " " for it in text)
        line = line if whole else " ".join(line.split())
        return line.translate(_PLAIN) if self.plain else line

    def _shown(self, piece: Piece) -> Styled:
        """Return a piece as text with its colour."""
        is_plain = self.plain or self.plain_bars
        match piece:
            case Bar(share=share, size=size, wide=wide):
                size = wide if wide and self.width >= WIDEST else size
                return Styled(bar(share, 1.0, size=size, plain=is_plain), "")
            case Drawn(text, plain, style, is_bar):
                piece = Styled(plain if self.plain or (is_bar and is_plain) else text, style)
        text, style = piece if isinstance(piece, Styled) else (str(piece), "")
        return Styled(self.clean(text, whole=True), style)

    def show_example(self, text: str, place: str, below: str | None) -> None:
        """Add a text as far as it fits a line, with its place at the end, and a text below."""
        text = cut(self.clean(text), self.width - 2)
        space = self.width - 2 - cells(text) - cells(place)
        self.say(text, Styled(" " * space + place if place and space > 1 else "", DIM), indent=2)
        if below:
            self.labelled("", below, hang=4, lines=2)
        if place and space <= 1:
            self.say(Styled(place, DIM), indent=4)

    def show_headline(self, said: Headline) -> None:
        """Add a verdict, its sentence, and the lines below it."""
        title = said.word if self.plain else said.title
        pieces: list[Piece] = [Styled(title, f"{BOLD} {said.style}".strip()), ": "] if title else []
        hang = said.hang if said.hang is not None else len(title) + 2 if title else 0
        self.say(said.of, *pieces, said.sentence if pieces else Styled(said.sentence, BOLD), hang=hang)
        for line in said.lines:
            self.say(one_line(line, 1000), indent=2 if said.word in ("NOT EVALUATED", "INCOMPLETE") else hang)

    def _marked(self, text: str, marks: Marks) -> tuple[str, list[bool]]:
        """Return a text as it is shown, and of each character whether it is marked."""
        wanted = {at for start, end in marks for at in range(start, min(end, len(text)))}
        masked = self.mask(text)
        shown: list[str] = []
        is_marked: list[bool] = []
        for at, character in enumerate(masked):
            for each in self.clean(character, whole=True) if character.isprintable() else " ":
                if each != " " or (shown and shown[-1] != " "):
                    shown.append(each)
                    is_marked.append(each != " " and at in wanted and masked == text)
        return "".join(shown).rstrip(), is_marked

    def _chosen(
        self, columns: Sequence[Column], rows: Sequence[Sequence[Styled]], indent: int
    ) -> list[int] | None:
        """Return the columns that fit; ``None`` if those that stay do not."""
        filled = [
            at
            for at, each in enumerate(columns)
            if self.width >= each.joins and (each.leaves == 0 or any(row[at].text for row in rows[1:]))
        ]
        least = {
            at: min(_SHORTEST_NAME, longest) if columns[at].flexible else longest
            for at in filled
            for longest in [max(cells(row[at].text) for row in rows)]
        }
        for place in (0, *sorted({columns[at].leaves for at in filled} - {0})):
            filled = [at for at in filled if place == 0 or columns[at].leaves != place]
            if indent + sum(least[at] + 2 for at in filled) - 2 <= self.width:
                return filled
        return None

    def _as_blocks(self, rows: Sequence[Sequence[Styled]], indent: int) -> None:
        """Add each row as lines of its own, where no table of so many columns fits."""
        heads, *others = rows
        hang = indent + max(cells(head.text) for head in heads) + 2
        for row in others:
            for head, cell in zip(heads, row, strict=True):
                if cell.text:
                    self.labelled(head.text, cell.text, indent=indent, hang=hang)

    def _add(self, line: str) -> None:
        self._lines.append(line.rstrip())

    def _painted(self, text: str, start: int, end: int, spans: Sequence[tuple[int, int, str]]) -> str:
        if not self.color:
            return text[start:end]
        done, parts = start, []
        for first, last, style in sorted(spans):
            if last > done and first < end:
                parts += [
                    text[done : max(first, done)],
                    self._paint(text[max(first, done) : min(last, end)], style),
                ]
                done = max(done, min(last, end))
        return "".join([*parts, text[done:end]])

    def _paint(self, text: str, style: str) -> str:
        if not self.color or not style or not text:
            return text
        from rich.color import ColorSystem
        from rich.style import Style

        return Style.parse(style).render(text, color_system=ColorSystem.STANDARD)


_SHORTEST_NAME = 20
_TURNS = 3
_NAMED = 20
_PLAIN = str.maketrans("█▌─▸–“”", '##->-""', "✓✗") | {ord("→"): "->", ord("…"): "..."}


# What does not begin a line, and what does not end one.
_NOT_FIRST = frozenset("，。！？；：、）》」』】”’…,.!?;:)]}")
_NOT_LAST = frozenset("（《「『【“‘([{")


def _words_wrapped(command: str, width: int) -> list[tuple[int, int]]:
    """Return the lines of a command as places in it; it breaks between its words alone, however long."""
    lines = [(0, 0)]
    for word in re.finditer(r"""(?:'[^']*'|"[^"]*"|\S)+""", command):
        fits = cells(command[lines[-1][0] : word.end()]) <= width
        lines[-1:] = [(lines[-1][0], word.end())] if fits else [lines[-1], word.span()]
    return lines


def wrapped(text: str, width: int, first: int | None = None) -> list[tuple[int, int]]:
    """Return the lines of a text as places in it; the first may be of another width.

    It breaks at spaces, between Chinese characters but not before ``，。！？``, and within a word that is
    longer than a line.
    """
    lines: list[tuple[int, int]] = []
    limit = max(width if first is None else first, 8)
    start = end = used = 0
    chance: tuple[int, int] | None = None  # where the line may end, and where the next then begins
    for at, after, size in graphemes(text):
        if text[at] == " ":
            chance = (at, after)
        elif at > start and _may_break(text, at, size):
            chance = (at, at)
        if used + size > limit and text[at] != " ":
            end, begin = chance if chance is not None and chance[0] > start else (at, at)
            lines.append((start, end))
            start, chance, limit = begin, None, max(width, 8)
            used = cells(text[start:at])
        used += size
        end = after
    if start < len(text) or not lines:
        lines.append((start, len(text)))
    return [(begin, begin + len(text[begin:stop].rstrip())) for begin, stop in lines]


def _may_break(text: str, at: int, size: int) -> bool:
    before = text[at - 1]
    is_wide = size == 2 or cells(before) == 2
    return is_wide and text[at] not in _NOT_FIRST and before not in _NOT_LAST and before != " "


def terminal_screen(
    *,
    is_terminal: bool,
    columns: int,
    encoding: str | None,
    width: int | None = None,
    color: str = "auto",
    mask: Callable[[str], str] = str,
    environment: Mapping[str, str] = os.environ,
) -> Screen:
    """Return the screen for where the output goes.

    A terminal's own width from 80 to 140, 100 in a pipe; colour only on a terminal that has it, unless it is
    asked for; plain characters where others cannot be written.
    """
    dumb = environment.get("TERM") == "dumb"
    wide = min(max(columns, NARROWEST), WIDEST) if is_terminal else USUAL
    auto = is_terminal and not dumb and not environment.get("NO_COLOR")
    language = environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG") or ""
    return Screen(
        width=wide if width is None else width,
        color={"always": True, "never": False}.get(color, auto),
        plain=dumb or (encoding or "utf-8").lower().replace("-", "").replace("_", "") != "utf8",
        plain_bars=language.startswith(("zh", "ja", "ko")),
        mask=mask,
    )
