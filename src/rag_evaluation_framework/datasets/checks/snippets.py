"""Where a snippet stands in a text: exactly, or with other white space.

White space may be of any kind and length. Beside a Chinese or Japanese character there may be more or less of
it, since lines are broken there; between two others there is some in both, or none in either. Where neither
search finds anything, dots at an end of the snippet stand for words that were left out. All searches are
linear in the text.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

_WORD = re.compile(r"\S+")
_DOTS_AND_SPACE = ".… \t\r\n\u3000"


@dataclass(frozen=True, slots=True)
class Stretch:
    """The characters ``[start, end)`` of a text."""

    start: int
    end: int


class SqueezedText:
    """A text without its white space, that knows where each of its characters stood."""

    def __init__(self, text: str) -> None:
        self.characters = "".join(_WORD.findall(text))
        self.positions = array("Q")
        for word in _WORD.finditer(text):
            self.positions.extend(range(word.start(), word.end()))

    def places(self, snippet: str, within: Stretch) -> list[Stretch]:
        """Return where the snippet stands inside a stretch, whatever its white space."""
        wanted = SqueezedText(snippet)
        first = bisect_left(self.positions, within.start)
        last = bisect_left(self.positions, within.end)
        # Where two characters must be parted, or not be parted, just as in the snippet.
        tight = [
            (index, wanted._is_parted(index))
            for index in range(1, len(wanted.characters))
            if not _is_wide(wanted.characters[index - 1]) and not _is_wide(wanted.characters[index])
        ]
        return [
            Stretch(self.positions[at], self.positions[at + len(wanted.characters) - 1] + 1)
            for at in _occurrences(wanted.characters, self.characters, Stretch(first, last))
            if all(self._is_parted(at + index) == parted for index, parted in tight)
        ]

    def _is_parted(self, index: int) -> bool:
        """Tell whether white space stood before a character."""
        return self.positions[index] - self.positions[index - 1] > 1


def exact_places(snippet: str, text: str, within: Stretch) -> list[Stretch]:
    """Return where the snippet stands inside a stretch, character by character."""
    return [Stretch(at, at + len(snippet)) for at in _occurrences(snippet, text, within)]


def without_dots(snippet: str) -> str:
    """Take off what stands for words left out at either end."""
    trimmed = snippet.strip()
    if trimmed.endswith(("..", "…")):
        trimmed = trimmed.rstrip(_DOTS_AND_SPACE)
    return trimmed.lstrip(_DOTS_AND_SPACE) if trimmed.startswith(("..", "…")) else trimmed


def _occurrences(wanted: str, text: str, within: Stretch) -> Iterator[int]:
    """Yield where a text begins inside another, one occurrence after the other."""
    at = text.find(wanted, within.start, within.end)
    while at >= 0:
        yield at
        at = text.find(wanted, at + len(wanted), within.end)


def _is_wide(character: str) -> bool:
    """Tell whether a line may be broken beside a character, as it may in Chinese and Japanese."""
    return unicodedata.east_asian_width(character) in "WF"
