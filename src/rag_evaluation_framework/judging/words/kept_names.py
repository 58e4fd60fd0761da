"""Names that are spelt like words of grammar keep their capitals: IT, US, May, Will Smith.

Everything else in a comparable text is without. A capital that may be that of a sentence, "May won.", is that
of a name where the text beside has the name; so is any letter of a text that is all small or all capital.
"""

from __future__ import annotations

import re

from rag_evaluation_framework.judging.words.comparable_text import comparable

_NAME = re.compile(
    r"\b(?:IT|US|WHO)\b(?!\$)|\b(?:Will|Don|May)(?= [A-Z][a-z])"
    r"|(?<=[^.!?\s] )May\b|\bMay(?= \d|\W*\Z| (?:to|until|through|and|or)\b)"
)
# "May I go?" begins with none.
_SPELT_SO = re.compile(
    r"\b(?:(?<=[^.!?\s] )|(?!\w+ (?:I|you|he|she|it|we|they|the|there)\b))(?:IT|US|WHO|Will|Don|May)\b",
    re.IGNORECASE,
)
_THE_US = re.compile(r"(?<=\b[Tt]he )us\b(?!\$)")
_CAPITALS = "ITUSWHODM"
_KEPT = {ord(letter): chr(0xE100 + ord(letter)) for letter in _CAPITALS}  # which folding leaves as they are
_CAPITALS_AGAIN = {ord(kept): chr(letter) for letter, kept in _KEPT.items()}


def comparable_names(text: str, *, beside: str = "") -> str:
    """Return the comparable text, with the capitals of such names.

    >>> comparable_names("Ask IT. Will Smith may know it."), comparable_names("it", beside="IT did.")
    ('ask IT. Will smith may know it.', 'IT')
    """
    names = {name: name for name in (*_names(text), *_names(beside))}
    if text == text.lower() or _is_loud(text):
        names |= {form: name for name in names for form in (name.lower(), name.upper())}
    even = _THE_US.sub("US".translate(_KEPT), text)
    kept = _SPELT_SO.sub(lambda word: names.get(word[0], "").translate(_KEPT) or word[0], even)
    return comparable(kept).translate(_CAPITALS_AGAIN)


def _names(text: str) -> list[str]:
    """Return such names; what is written in capitals throughout has none, unless it is one."""
    return [] if _is_loud(text) else _NAME.findall(text)


def _is_loud(text: str) -> bool:
    return text.isupper() and len(text.split()) > 1
