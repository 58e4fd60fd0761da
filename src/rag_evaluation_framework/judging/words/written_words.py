"""A word of a script with spaces: how it is written, and the form in which it is compared."""

from __future__ import annotations

from unicodedata import normalize

from rag_evaluation_framework.characters import HAN

_LETTERS = rf"[^\W\d_{HAN}]+"
WRITTEN_WORD = rf"{_LETTERS}(?:['’]{_LETTERS})*"
"""The expression of a word: letters, with an apostrophe between them."""


def word_form(word: str) -> str:
    """Return a word without its case and width, and without the ending of a possessive.

    >>> word_form("Ｍａｌａｎｉ’s")
    'malani'
    """
    return normalize("NFKC", word).casefold().replace("’", "'").removesuffix("'s")
