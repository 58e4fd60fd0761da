"""Finds what a judge quotes in the text it quotes from: a quote that stands nowhere proves nothing.

White space, case, width and the shape of quotation marks may differ; the words may not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from rag_evaluation_framework.judging.verdicts import Evidence
from rag_evaluation_framework.judging.words.folded_text import folded_with_places

# Around a quote, judges set quotation marks and dots for what they left out.
_WRAPPING = " \t\r\n\"'`“”‘’„«»「」『』….*"
# Fewer letters and digits than this stand in almost any text.
_FEWEST_CHARACTERS = 3


def find_quote(quote: str, texts: Sequence[str], *, expected: int = 0) -> Evidence | None:
    """Return where a quote stands: in the text of the number ``expected`` if it does, else in the first.

    Numbers count from 0. A quote of less than three letters or digits is none, unless it is the whole text.

    >>> find_quote("the  “Razorbill”", ["It sails.", 'Take the "razorbill".'])
    Evidence(number=1, start=5, end=19, text='the "razorbill')
    """
    order = sorted(range(len(texts)), key=lambda number: number != expected)
    for number in order:
        place = _place(quote, texts[number])
        if place is not None:
            start, end = place
            return Evidence(number, start, end, texts[number][start:end])
    return None


def _place(quote: str, text: str) -> tuple[int, int] | None:
    wanted = quote.strip(_WRAPPING)
    letters = sum(map(str.isalnum, wanted))
    if letters < min(_FEWEST_CHARACTERS, max(sum(map(str.isalnum, text)), 1)):
        return None
    start = text.find(wanted)
    if start >= 0:
        return start, start + len(wanted)
    characters, places = _squeezed(text)
    sought, _ = _squeezed(wanted)
    start = characters.find(sought)
    return (places[start], places[start + len(sought) - 1] + 1) if start >= 0 and sought else None


@lru_cache(maxsize=64)  # one text is searched for the quotes of many claims
def _squeezed(text: str) -> tuple[str, list[int]]:
    """Return the text folded and without white space, and where each of its characters stood."""
    folded, places = folded_with_places(text)
    kept = [(character, place) for character, place in zip(folded, places, strict=True) if character.strip()]
    return "".join(character for character, _ in kept), [place for _, place in kept]
