"""Where a snippet stands in a text: exactly, or with other white space.

White space may be of any kind and length. Beside a Chinese or Japanese character there may be more or less of
it, since lines are broken there; between two others there is some in both, or none in either. Where neither
search finds anything, dots at an end of the snippet stand for words that were left out. All searches are
linear in the text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

WHITE_SPACE = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""Every character that ``str.isspace`` and ``str.split`` take for white space."""
_DOTS_AND_SPACE = ".… \t\r\n\u3000"


@dataclass(frozen=True, slots=True)
class Stretch:
    """The characters ``[start, end)`` of a text."""

    start: int
    end: int


class SqueezedText:
    """A text without its white space, that knows where each of its characters stood."""

    def __init__(self, text: str) -> None:
        self.characters = without_spaces(text)
        self.positions = np.flatnonzero(~np.isin(code_points(text), code_points(WHITE_SPACE)))

    def places(self, snippet: str, within: Stretch) -> list[Stretch]:
        """Return where the snippet stands inside a stretch, whatever its white space."""
        wanted = SqueezedText(snippet)
        length = len(wanted.characters)
        first, last = np.searchsorted(self.positions, (within.start, within.end)).tolist()
        # Where two characters must be parted, or not be parted, just as in the snippet.
        is_narrow = np.array([not _is_wide(character) for character in wanted.characters])
        tight = is_narrow[:-1] & is_narrow[1:]
        is_parted = wanted._is_parted(0, length)[tight]
        return [
            Stretch(int(self.positions[at]), int(self.positions[at + length - 1]) + 1)
            for at in _occurrences(wanted.characters, self.characters, Stretch(first, last))
            if np.array_equal(self._is_parted(at, length)[tight], is_parted)
        ]

    def _is_parted(self, first: int, length: int) -> npt.NDArray[np.bool_]:
        """Tell of so many characters whether white space stood between each and the next."""
        return np.diff(self.positions[first : first + length]) > 1


def exact_places(snippet: str, text: str, within: Stretch) -> list[Stretch]:
    """Return where the snippet stands inside a stretch, character by character."""
    return [Stretch(at, at + len(snippet)) for at in _occurrences(snippet, text, within)]


def code_points(text: str) -> npt.NDArray[np.uint32]:
    """Return the number of each character."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def without_spaces(text: str) -> str:
    """Take out all white space."""
    return "".join(text.split())


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
