"""Finding a text whose white space is not the document's."""

from __future__ import annotations

from bisect import bisect_left


class SpacelessText:
    """A text without its white space, which remembers where each character stood.

    >>> SpacelessText("One\\n  two three").find("ne two")
    (1, 9)
    """

    def __init__(self, text: str) -> None:
        self._characters = "".join(text.split())
        self._places = [place for place, character in enumerate(text) if not character.isspace()]

    def find(self, wanted: str, start: int = 0) -> tuple[int, int] | None:
        """Return start and end of the first match from ``start`` on, whatever the white space in it."""
        characters = "".join(wanted.split())
        found = self._characters.find(characters, bisect_left(self._places, start))
        if found < 0 or not characters:
            return None
        return self._places[found], self._places[found + len(characters) - 1] + 1
