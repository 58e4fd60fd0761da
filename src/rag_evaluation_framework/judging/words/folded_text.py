"""Texts folded for comparison without losing the places of their characters."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

STRAIGHT_APOSTROPHES = dict.fromkeys(map(ord, "‘’‛′`´"), "'")
_STRAIGHT_QUOTES = STRAIGHT_APOSTROPHES | dict.fromkeys(map(ord, "“”„″「」『』"), '"')


def folded_with_places(text: str) -> tuple[str, Sequence[int]]:
    """Return the text in lower case, NFKC, with straight quotes and simplified characters; and, for each of
    its characters, the place of the one it comes from.

    >>> folded_with_places("Ⅳ 沒有")
    ('iv 没有', [0, 0, 1, 2, 3])
    """
    if text.isascii():
        return text.lower(), range(len(text))
    characters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text.translate(_STRAIGHT_QUOTES)):
        if not character.isascii():
            character = unicodedata.normalize("NFKC", character).translate(simplified_characters())
        characters.append(character.lower())
        places.extend([place] * len(characters[-1]))
    return "".join(characters), places


@cache
def simplified_characters() -> dict[int, str]:
    """Return the simplified character for each traditional one of the table of common pairs."""
    pairs = files(__package__).joinpath("data", "traditional_simplified.txt").read_text("utf-8").split()
    return {ord(pair[0]): pair[1] for pair in pairs}
