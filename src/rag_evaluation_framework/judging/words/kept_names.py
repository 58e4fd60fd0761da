"""Names that are spelt like words of grammar keep their capitals: IT, US, May, Will Smith.

Everything else in a comparable text is without. A text without any capital has those of the text beside it.
"""

from __future__ import annotations

import re

from rag_evaluation_framework.judging.words.comparable_text import comparable

_NAME = re.compile(
    r"\b(?:IT|US|WHO)\b(?!\$)|\b(?:Will|Don|May)(?= [A-Z][a-z])"
    r"|(?<=[^.!?\s] )May\b|\bMay(?= \d|\W*\Z| (?:to|until|through|and|or)\b)"
)
_SPELT_SO = re.compile(r"\b(?:IT|US|WHO|Will|Don|May)\b", re.IGNORECASE)
_CAPITALS = "ITUSWHODM"
_KEPT = {ord(letter): chr(0xE100 + ord(letter)) for letter in _CAPITALS}  # which folding leaves as they are
_CAPITALS_AGAIN = {ord(kept): chr(letter) for letter, kept in _KEPT.items()}


def comparable_names(text: str, *, beside: str = "") -> str:
    """Return the comparable text, with the capitals of such names.

    >>> comparable_names("Ask IT. Will Smith may know it."), comparable_names("it", beside="IT did.")
    ('ask IT. Will smith may know it.', 'IT')
    """
    if text == text.lower():
        names = {name.lower(): name for name in _names(beside)}
    else:
        names = {name: name for name in _names(text)}
    kept = _SPELT_SO.sub(lambda word: names.get(word[0], "").translate(_KEPT) or word[0], text)
    return comparable(kept).translate(_CAPITALS_AGAIN)


def _names(text: str) -> list[str]:
    """Return such names; what is written in capitals throughout has none, unless it is one."""
    is_loud = text.isupper() and len(text.split()) > 1
    return [] if is_loud else _NAME.findall(text)
