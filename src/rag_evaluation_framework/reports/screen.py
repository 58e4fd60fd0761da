"""Blocks on a terminal: they fit its width, in its colours, with the characters that it can show.

Whatever it is given is text, never markup: control characters and what turns the writing direction are taken
out, and secrets masked, before a line is laid out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, groupby

import msgspec

from rag_evaluation_framework.reports.blocks import (
    BAD,
    BOLD,
    DIM,
    NARROWEST,
    STYLES,
    USUAL,
    WIDEST,
    Bar,
    Block,
    Column,
    Command,
    Drawn,
    Example,
    Headline,
    Labelled,
    Line,
    Marks,
    Piece,
    Steps,
    Styled,
    Table,
    bar,
    cells,
    cut,
    graphemes,
    one_line,
    shortened,
)


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
            match block:
                case Line(pieces, indent, hang):
                    self.say(*pieces, indent=indent, hang=hang)
                case Labelled(label, text, indent, hang, marks, lines):
                    self.labelled(label, text, indent=indent, hang=hang, marks=marks, lines=lines)
                case Table(columns, rows, indent):
                    self.table(columns, rows, indent=indent)
                case Headline():
                    self._headline(block)
                case Example():
                    self._example(block)
                case Steps(commands):
                    self.steps(commands)
                case Command(label, command):
                    self.command(label, command)
                case _:
                    self.gap()
        return self

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

    def table(
        self, columns: Sequence[Column | str], rows: Iterable[Sequence[Piece]], *, indent: int = 2
    ) -> None:
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
        several, label = list(commands), "next:"
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
            case Bar(share, size, wide):
                size = wide if wide and self.width >= WIDEST else size
                return Styled(bar(share, 1.0, size=size, plain=is_plain), "")
            case Drawn(text, plain, style, is_bar):
                piece = Styled(plain if self.plain or (is_bar and is_plain) else text, style)
        text, style = piece if isinstance(piece, Styled) else (str(piece), "")
        return Styled(self.clean(text, whole=True), style)

    def _example(self, example: Example) -> None:
        text = cut(self.clean(example.text), self.width - 2)
        space = self.width - 2 - cells(text) - cells(example.place)
        beside = " " * space + example.place if example.place and space > 1 else ""
        self.say(text, Styled(beside, DIM), indent=2)
        if example.below:
            self.labelled("", example.below, hang=4, lines=2)
        if example.place and space <= 1:
            self.say(Styled(example.place, DIM), indent=4)

    def _headline(self, said: Headline) -> None:
        word = said.word if self.plain else said.title
        pieces: list[Piece] = [Styled(word, f"{BOLD} {STYLES[said.word.lower()]}"), ": "] if word else []
        hang = len(word) + 2 if word else 0
        self.say(*pieces, said.sentence, hang=hang)
        indent = 2 if said.word in ("NOT EVALUATED", "INCOMPLETE") else hang
        for line in said.lines:
            self.say(one_line(line, 1000), indent=indent)

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
