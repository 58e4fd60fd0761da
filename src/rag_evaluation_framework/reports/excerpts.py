"""Makes other people's texts fit for a report: one line, nothing invisible, cut when long."""

from __future__ import annotations


def one_line(text: str, characters: int = 100) -> str:
    """Return a text in one line without control characters, which could move a terminal's cursor."""
    line = " ".join("".join(it if it.isprintable() else " " for it in text).split())
    return line if len(line) <= characters else line[: characters - 1] + "…"


def figure(value: float | None) -> str:
    """Write a measured value; a dash where there is none."""
    if value is None:
        return "–"
    return f"{value:.4f}" if abs(value) < 100 else f"{value:,.1f}"
