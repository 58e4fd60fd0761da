"""Text folded so that a copy is found even if it is written a little differently, with the way back.

Folded away are: case, width and compatibility forms (NFKD), the kind of quotation marks and dashes, the
amount of white space (all of it beside Chinese characters and kana), characters that cannot be seen, and the
marks of Markdown that make words bold, italic or code. Every folded character knows the one it comes from.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from rag_evaluation_framework.metrics.tokens import has_unspaced_script

_QUOTES = '"“”„‟«»″‘’‚‛‹›′´`「」『』'
_DASHES = "‐‑‒–—―−"
_SAME = {**dict.fromkeys(map(ord, _QUOTES), "'"), **dict.fromkeys(map(ord, _DASHES), "-")}
_VARIATION_SELECTORS = frozenset("\ufe0e\ufe0f")
_EMPHASIS = frozenset("*_`")
# Punctuation that comes with its own space, such as 。and ，
_WIDE_PUNCTUATION = re.compile(r"[\u3001-\u3020\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]")
_KEPT_CHARACTERS = 1 << 14


class FoldedText:
    """A text as it is compared: ``folded[i]`` comes from ``text[places[i]]``."""

    __slots__ = ("folded", "places", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        pieces: list[str] = []
        places: list[int] = []
        last, space_at = "", -1
        for place, character in enumerate(text):
            written = folded_character(character)
            if not written or (character in _EMPHASIS and not _joins_words(text, place)):
                continue
            if written.isspace():
                space_at = place if space_at < 0 else space_at
                continue
            if space_at >= 0 and last and not (_is_unspaced(last) or _is_unspaced(character)):
                pieces.append(" ")
                places.append(space_at)
            pieces.append(written)
            places.extend([place] * len(written))
            last, space_at = character, -1
        self.folded = "".join(pieces)
        self.places = places

    def span(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the characters behind ``folded[start:end]``; ``None`` where it begins or ends within one."""
        places = self.places
        if start and places[start - 1] == places[start]:
            return None
        if end < len(places):
            within_one = places[end] == places[end - 1]
            if within_one or unicodedata.combining(self.folded[end]):
                return None
        last = places[end - 1] + 1
        while last < len(self.text) and self.text[last] in _VARIATION_SELECTORS:
            last += 1
        return places[start], last


def folded(text: str) -> str:
    """Return a text as it is compared.

    >>> folded("  **Tickets**  cost “£4”\\n— each ")
    "tickets cost '£4' - each"
    """
    return FoldedText(text).folded


@lru_cache(maxsize=_KEPT_CHARACTERS)
def folded_character(character: str) -> str:
    """Return what a character is compared as: one or several characters, white space, or nothing."""
    if character in _VARIATION_SELECTORS or unicodedata.category(character) == "Cf":
        return ""
    even = unicodedata.normalize("NFKD", character.translate(_SAME)).casefold()
    even = unicodedata.normalize("NFKD", even).translate(_SAME)
    # Some characters, such as ´, decompose into a space and an accent.
    return even if even.isspace() else even.replace(" ", "")


@lru_cache(maxsize=_KEPT_CHARACTERS)
def _is_unspaced(character: str) -> bool:
    if character.isascii():
        return False
    return has_unspaced_script(character) or _WIDE_PUNCTUATION.match(character) is not None


def _joins_words(text: str, place: int) -> bool:
    """Tell whether a mark stands between two letters or digits, as in ``snake_case`` or ``2*3``."""
    return 0 < place < len(text) - 1 and text[place - 1].isalnum() and text[place + 1].isalnum()
