"""Words of which one excludes another: open and closed, Monday and Friday, km and miles."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from rag_evaluation_framework.text.scripts import HAN_CHARACTER
from rag_evaluation_framework.text.vocabulary import stem


@cache
def exclusive_words() -> dict[str, frozenset[str]]:
    """Return, for the stem of a word or a Chinese word, what cannot stand in its place.

    >>> sorted(exclusive_words()["accept"])
    ['refus', 'reject']
    """
    found: dict[str, frozenset[str]] = {}
    text = (files(__package__) / "data" / "exclusive_words.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        groups = [frozenset(map(_key, group.split("/"))) for group in line.split()]
        for group in groups:
            others = frozenset[str]().union(*(other for other in groups if other is not group)) - group
            for key in group:
                found[key] = found.get(key, frozenset()) | others
    return found


@cache
def chinese_exclusive() -> re.Pattern[str]:
    """Return the pattern of the Chinese words among them, longer ones first."""
    words = [word for word in exclusive_words() if HAN_CHARACTER.match(word)]
    return re.compile("|".join(sorted(words, key=lambda word: (-len(word), word))))


def _key(word: str) -> str:
    return word if HAN_CHARACTER.match(word) else stem(word)
