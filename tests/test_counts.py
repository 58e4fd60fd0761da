"""A number agrees with what it counts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rag_evaluation_framework
from rag_evaluation_framework.errors import counted


@pytest.mark.parametrize(
    ("number", "words", "text"),
    [
        (0, ["file"], "0 files"),
        (1, ["file"], "1 file"),
        (2_000, ["file"], "2,000 files"),
        (1, ["query is", "queries are"], "1 query is"),
        (2, ["query is", "queries are"], "2 queries are"),
    ],
)
def test_one_is_singular_and_all_else_plural(number: int, words: list[str], text: str) -> None:
    assert counted(number, *words) == text


ROOMS = [Path(rag_evaluation_framework.__file__).parent / room for room in ("cli", "reports")]


@pytest.mark.parametrize("path", sorted(p for room in ROOMS for p in room.glob("*.py")), ids=lambda p: p.name)
def test_what_is_printed_counts_nothing_with_a_plural_of_its_own(path: Path) -> None:
    assert not re.findall(r"\{[^{}]*:,\} (?:more )?[a-z]+s\b", path.read_text(encoding="utf-8"))
