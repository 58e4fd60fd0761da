"""What two texts of a conversation share: words by their stems, characters that stand together, numbers.

Chinese characters and kana count where at least two neighbours stand together in both texts, so that half a
name is no name; other words count by their stems. Words of grammar, measure words and "about" before a number
tell nothing, and *one* only counts where a number is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from rag_evaluation_framework.judging.golden.phrases import phrase, says
from rag_evaluation_framework.judging.words.comparable_text import Piece, pieces
from rag_evaluation_framework.judging.words.english_stems import stem
from rag_evaluation_framework.judging.words.number_words import COMMON_ORDINALS, ORDINALS
from rag_evaluation_framework.judging.words.stop_words import PARTICLES, STOP_WORDS

LIGHT_CHARACTERS = PARTICLES.union("而但也都就还又对到向由以为此过很有")
"""Chinese characters that tell nothing by themselves."""
_GRAMMAR = (STOP_WORDS - COMMON_ORDINALS).union(LIGHT_CHARACTERS, "叫")

_TIME = re.compile(r"(\d\d?):([0-5]\d)")
_ORDINAL_FIGURE = re.compile(r"(\d+)(?:st|nd|rd|th)")
# Stems of verbs by which rules are asked for and told: "Do I need a visa?", "A visa is required."
_SAME = {"requir": "need", "necessari": "need", "permit": "allow"}

Agreement = Callable[[int, int], bool]
"""Whether a place of one text and one of another are meant alike."""


def telling(text: str, question: str) -> list[Piece]:
    """Return the pieces of a comparable text with figures that tell something, where a question was asked.

    >>> [piece.text for piece in telling("大约有3只黑猫", "有几只?")]
    ['3', '黑', '猫']
    """
    asks_for_number = says("asks_for_number", question)
    idle = places_in(text, "idle") | places_in(text, "before_number" if asks_for_number else "article_zh")
    return [
        piece
        for piece in pieces(text)
        if (piece.text not in _GRAMMAR or (piece.text == "one" and asks_for_number))
        and piece.start not in idle
    ]


def places_in(text: str, name: str) -> frozenset[int]:
    """Return the places of the characters of a phrase."""
    return frozenset(place for found in phrase(name).finditer(text) for place in range(*found.span()))


def _anywhere(here: int, there: int) -> bool:
    return True


def shared(wanted: Sequence[Piece], text: str, agrees: Agreement = _anywhere) -> set[Piece]:
    """Return the pieces that a text has too, and in the same sense."""
    words = [piece for piece in wanted if not piece.is_unspaced]
    found = set(_shared_words(words, text, agrees))
    for run in _runs(piece for piece in wanted if piece.is_unspaced):
        found |= _shared_characters(run, text, agrees)
    return found


def with_numbers(found: set[Piece], wanted: Sequence[Piece], text: str) -> set[Piece]:
    """Leave out the units of numbers that are not found: of 2.5 kg, kilograms alone tell nothing."""
    missing = (piece for piece in wanted if piece not in found and piece.text[-1].isdigit())
    units = (unit.span() for number in missing if (unit := phrase("unit").match(text, number.end)))
    idle = {place for span in units for place in range(*span)}
    return {piece for piece in found if piece.start not in idle}


def stretches(wanted: Iterable[Piece]) -> Iterator[str]:
    """Yield words, and characters that stand side by side as one text."""
    for is_unspaced, group in groupby(wanted, key=lambda piece: piece.is_unspaced):
        if is_unspaced:
            yield from ("".join(piece.text for piece in run) for run in _runs(group))
        else:
            yield from (piece.text for piece in group)


def _shared_words(words: Sequence[Piece], text: str, agrees: Agreement) -> Iterator[Piece]:
    places: dict[str, list[int]] = {}
    for piece in pieces(text) if words else ():
        places.setdefault(_key(piece.text), []).append(piece.start)
    for word in words:
        if any(agrees(word.start, there) for there in places.get(_key(word.text), ())):
            yield word


def _shared_characters(run: Sequence[Piece], text: str, agrees: Agreement) -> set[Piece]:
    """Return the characters of a run that stand in the text with a neighbour; a single one needs none."""
    characters = "".join(piece.text for piece in run)
    shortest = min(2, len(run))
    found: set[Piece] = set()
    for first in range(len(run) - shortest + 1):
        there = text.find(characters[first : first + shortest])
        while there >= 0 and len(found) < len(run):
            begins = first == 0 or there == 0 or characters[first - 1] != text[there - 1]
            if begins and agrees(run[first].start, there):
                last = first + shortest
                while last < len(run) and text.startswith(characters[last], there + last - first):
                    last += 1
                found.update(run[first:last])
            there = text.find(characters[first : first + shortest], there + 1)
    return found


def _runs(characters: Iterable[Piece]) -> Iterator[list[Piece]]:
    """Yield the characters that stand side by side."""
    numbered = enumerate(characters)
    for _, group in groupby(numbered, key=lambda each: each[1].start - each[0]):
        yield [piece for _, piece in group]


def _key(word: str) -> str:
    """Return what words are compared by: stems, and values of numbers; 17:30 may be 5:30, and 5:00 is 5."""
    bare = word.removesuffix("'s")
    if time := _TIME.fullmatch(bare):
        hour = int(time[1]) % 12 or 12
        return f"{hour}" if time[2] == "00" else f"{hour}:{time[2]}"
    if ordinal := _ORDINAL_FIGURE.fullmatch(bare):
        return f"{ordinal[1]}th"
    if bare in ORDINALS:
        return f"{ORDINALS[bare]}th"
    return "1" if bare == "one" else _SAME.get(stem(bare), stem(bare))
