"""Plain text tables that line up in any terminal, wide characters included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal
from unicodedata import combining, east_asian_width

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
