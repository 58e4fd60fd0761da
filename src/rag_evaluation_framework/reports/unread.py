"""What could not be read of what came with answers, in words: how much, and what was expected."""

from __future__ import annotations

from collections.abc import Sequence

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.records.responses import EXPECTED, Unread, UnreadPart


def unread_lines(unread: Sequence[Unread]) -> list[str]:
    """Say of a run: ``3 contexts of 2 samples could not be read: expected …``."""
    return [
        _line(each.part, f"{_counted(each.part, each.count)} of {counted(each.samples, 'sample')}")
        for each in unread
    ]


def unread_line(part: UnreadPart, count: int) -> str:
    """Say the same of one answer."""
    return _line(part, _counted(part, count))


def _counted(part: UnreadPart, count: int) -> str:
    return counted(count, part.removesuffix("s"))


def _line(part: UnreadPart, what: str) -> str:
    return f"{what} could not be read: expected {EXPECTED[part]}"
