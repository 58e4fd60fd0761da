"""Plain text tables that line up in any terminal, and other people's texts made fit for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from unicodedata import combining, east_asian_width

# Makes other people's texts fit for a report: one line, nothing invisible, cut when long.


def one_line(text: str, characters: int = 100) -> str:
    """Return a text in one line without control characters, which could move a terminal's cursor."""
    line = " ".join("".join(it if it.isprintable() else " " for it in text).split())
    return line if len(line) <= characters else line[: characters - 1] + "…"


def figure(value: float | None) -> str:
    """Write a measured value; a dash where there is none."""
    if value is None:
        return "–"
    return f"{value:.4f}" if abs(value) < 100 else f"{value:,.1f}"


Alignment = Literal["<", ">"]


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
