"""Numbers with what they count."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Write a number with what it counts, and with a verb if that follows.

    >>> counted(1, "file"), counted(2_000, "file"), counted(1, "query is", "queries are")
    ('1 file', '2,000 files', '1 query is')
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
