"""Finds what a judge quotes in the text it quotes from: a quote that stands nowhere proves nothing.

White space, case, width and the shape of quotation marks may differ; the words may not. A quote begins and
ends with whole words and whole numbers: ``nin`` is no quote from ``nine``, nor ``costs 1`` from
``costs 1.50``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

from rag_evaluation_framework.characters import OTHER_UNSPACED, UNSPACED
from rag_evaluation_framework.judging.verdicts import Evidence
from rag_evaluation_framework.judging.words.folded_text import folded_with_places
from rag_evaluation_framework.retrieval.sentences import sentence_spans

# Around a quote, judges set quotation marks and dots for what they left out.
_WRAPPING = " \t\r\n\"'`“”‘’„«»「」『』….*"
# Fewer letters and digits than this stand in almost any text.
_FEWEST_CHARACTERS = 3
# Scripts without spaces between words; kana of half width among them.
_UNSPACED = re.compile(rf"[{UNSPACED}{OTHER_UNSPACED}\uff66-\uff9f]")
_UNSPACED_CHARACTERS_OF_A_WORD = 2
# Only a quote that is made for it stands so often, and never as whole words.
_MOST_COMPARED = 10_000_000
_AROUND_SENTENCES = _WRAPPING + "!?。！？；;,，:："


def find_quote(
    quote: str, texts: Sequence[str], *, expected: int = 0, fewest_words: int = 1
) -> Evidence | None:
    """Return where a quote stands: in the text of the number ``expected`` if it does, else in the first.

    Numbers count from 0. A quote of less than ``fewest_words`` is none, nor is one of less than three letters
    or digits, unless it is a whole sentence. Two characters count as a word where a script has no spaces.

    >>> find_quote("the  “Razorbill”", ["It sails.", 'Take the "razorbill".'])
    Evidence(number=1, start=5, end=19, text='the "razorbill')
    """
    wanted = quote.strip(_WRAPPING)
    if not any(map(str.isalnum, wanted)):
        return None
    find = _passage if _is_long_enough(wanted, fewest_words) else _sentence
    order = sorted(range(len(texts)), key=lambda number: number != expected)
    for number in order:
        place = find(wanted, texts[number])
        if place is not None:
            start, end = place
            return Evidence(number, start, end, texts[number][start:end])
    return None


def _is_long_enough(quote: str, fewest_words: int) -> bool:
    unspaced = len(_UNSPACED.findall(quote))
    words = sum(any(map(_is_of_spaced_word, piece)) for piece in quote.split())
    if words + unspaced // _UNSPACED_CHARACTERS_OF_A_WORD < fewest_words:
        return False
    return unspaced > 0 or sum(map(str.isalnum, quote)) >= _FEWEST_CHARACTERS


def _sentence(wanted: str, text: str) -> tuple[int, int] | None:
    return _sentences(text).get(_squeezed(wanted.strip(_AROUND_SENTENCES))[0])


def _passage(wanted: str, text: str) -> tuple[int, int] | None:
    """Return where the words stand, character by character if they do, else folded."""
    for start in _occurrences(wanted, text):
        if _is_whole(text, start, start + len(wanted)):
            return start, start + len(wanted)
    characters, places = _searched(text)
    sought, _ = _squeezed(wanted)
    for first in _occurrences(sought, characters):
        start, end = places[first], places[first + len(sought) - 1] + 1
        if _is_whole(text, start, end):
            return start, end
    return None


def _occurrences(sought: str, within: str) -> Iterator[int]:
    """Yield where characters stand, as many times as it takes no long time to find."""
    start = -1
    for _ in range(_MOST_COMPARED // max(len(sought), 1)):
        start = within.find(sought, start + 1)
        if start < 0:
            return
        yield start


def _is_whole(text: str, start: int, end: int) -> bool:
    return not (_goes_on(text, start) or _goes_on(text, end))


def _goes_on(text: str, place: int) -> bool:
    """Tell whether a word or a number goes on across a place."""
    before, after = text[max(place - 2, 0) : place], text[place : place + 2]
    if not before or not after:
        return False
    if _is_of_spaced_word(before[-1]) and _is_of_spaced_word(after[0]):
        return True
    point_follows = before[-1].isdigit() and after[0] in ".," and after[1:].isdigit()
    point_precedes = before[:-1].isdigit() and before[-1] in ".," and after[0].isdigit()
    return point_follows or point_precedes


@lru_cache(maxsize=4096)
def _is_of_spaced_word(character: str) -> bool:
    is_of_word = character.isalnum() or unicodedata.category(character).startswith("M")
    return is_of_word and _UNSPACED.match(character) is None


@lru_cache(maxsize=64)
def _sentences(text: str) -> dict[str, tuple[int, int]]:
    """Return where each sentence stands, without the marks around it, by its folded characters."""
    found: dict[str, tuple[int, int]] = {}
    for first, last in sentence_spans(text):
        words = text[first:last].strip(_AROUND_SENTENCES)
        start = text.index(words, first)
        found.setdefault(_squeezed(words)[0], (start, start + len(words)))
    return found


def _squeezed(text: str) -> tuple[str, list[int]]:
    """Return the text folded and without white space, and where each of its characters stood."""
    folded, places = folded_with_places(text)
    kept = [(character, place) for character, place in zip(folded, places, strict=True) if character.strip()]
    return "".join(character for character, _ in kept), [place for _, place in kept]


_searched = lru_cache(maxsize=64)(_squeezed)  # one text is searched for the quotes of many claims
