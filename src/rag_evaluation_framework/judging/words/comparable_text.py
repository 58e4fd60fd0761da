"""Texts made comparable for golden sets: width, case, white space, and the two ways of writing Chinese.

On top of NFKC and case folding, traditional characters become simplified ones (a table of common pairs,
``data/traditional_simplified.txt``) and white space beside a Chinese character or kana goes, since lines are
broken there. The table folds both texts alike, so that a pair in it can only make two texts more alike; it
does not translate words that differ between regions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from rag_evaluation_framework.characters import UNSPACED
from rag_evaluation_framework.judging.words.folded_text import STRAIGHT_APOSTROPHES, simplified_characters
from rag_evaluation_framework.metrics.tokens import folded, has_unspaced_script

# Hyphens that break no line are hyphens; soft hyphens and spaces of no width are not seen.
_PLAIN_MARKS = STRAIGHT_APOSTROPHES | dict.fromkeys(map(ord, "‐‑"), "-")
_PLAIN_MARKS |= dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"), "")
_SPACE_BETWEEN = re.compile(r"(\S) (?=(\S))")
# Left out by whoever wrote a reference: "on the ... day he got ...". What is left counts.
_DOTS = re.compile(r"\.{2,}|…+|。{2,}")
# A slash between two figures is a date, a fraction or a score.
_SLASH = re.compile(r"(?<!\d)[/／]|[/／](?!\d)")
_EDGE = re.compile(r"[\s,.;:!?，。；：！？、()（）\"“”「」]")
# A figure with its sign, its point or colon, and the ending of an ordinal or a decade; a unit is a word.
_FIGURE = r"(?:(?<![\da-z])-)?\d+(?:[.:]\d+)*(?:(?:st|nd|rd|th|s)\b)?"
_WORD = rf"[^\W_{UNSPACED}]+"
_PIECE = re.compile(rf"{_FIGURE}|[{UNSPACED}]|{_WORD}(?:'{_WORD})*")
_MOST_VARIANTS = 16

SENTENCE_END = re.compile(r"[。!?;\n]|\.(?=\s|\Z)")
"""What ends a sentence of a comparable text."""


class Piece(NamedTuple):
    """A character of an unspaced script, or a word or a number of another: ``text[start:end]``."""

    text: str
    start: int
    end: int

    @property
    def is_unspaced(self) -> bool:
        return is_unspaced(self.text[0])


def comparable(text: str) -> str:
    """Return the text as golden sets are compared.

    >>> comparable("Ｋａｅｌ 的 龍夥伴")
    'kael的龙伙伴'
    """
    even = folded(text.translate(_PLAIN_MARKS)).translate(simplified_characters())
    return _SPACE_BETWEEN.sub(_kept_space, even)


def is_unspaced(character: str) -> bool:
    """Tell whether a character is of a script that is written without spaces: Chinese, or kana."""
    return has_unspaced_script(character)


def pieces(text: str) -> Iterator[Piece]:
    """Take a comparable text apart; punctuation is left out.

    >>> [piece.text for piece in pieces("kael's 龙伙伴")]
    ["kael's", '龙', '伙', '伴']
    >>> [piece.text for piece in pieces("2.5kg, the 3rd")]
    ['2.5', 'kg', 'the', '3rd']
    """
    for found in _PIECE.finditer(text):
        yield Piece(found[0], *found.span())


def rewritten(text: str, pattern: re.Pattern[str], written: Callable[[re.Match[str]], str]) -> str:
    """Return a text with other words for what a pattern finds, parted from what is beside them.

    Chinese before them is not parted: what it denies, it stands next to.

    >>> rewritten("3月5日共5公里路", re.compile("(.)公里"), lambda found: f"{found[1]} km")
    '3月5日共5 km 路'
    """

    def parted(found: re.Match[str]) -> str:
        start, end = found.span()
        before, after = text[max(0, start - 1) : start], text[end : end + 1]
        is_joined = before.isalnum() and not is_unspaced(before)
        return f"{' ' * is_joined}{written(found)}{' ' * after.isalnum()}"

    return pattern.sub(parted, text)


def alternatives(name: str) -> list[str]:
    """Return what "A/B" stands for, as comparable texts: the whole, or either part.

    >>> alternatives("Tidewalker/Wavewalker")
    ['tidewalker/wavewalker', 'tidewalker', 'wavewalker']
    >>> alternatives("24/7")
    ['24/7']
    """
    return list(dict.fromkeys(map(comparable, spellings(name))))


def spellings(name: str) -> list[str]:
    """Return what "A/B" stands for as it is written: the whole, or either part."""
    return [text for part in (name, *_SLASH.split(name)) if (text := part.strip())]


def slash_groups(reference: str) -> list[list[str]]:
    """Return what slashes join in a reference: ``friends/allies`` is one group of two."""
    return [[part for part in _SLASH.split(run) if part] for run in _joined_runs(reference)]


def variants(reference: str) -> list[str]:
    """Return the texts that a reference allows: each "A/B" as either, unfinished parts left out.

    >>> variants("They are friends/allies, and together they ...")
    ['They are friends, and together they', 'They are allies, and together they']
    """
    found = [_DOTS.sub(" ", reference).strip()]
    for run in _joined_runs(found[0]):
        parts = [part for part in _SLASH.split(run) if part]
        found = [text.replace(run, part, 1) for text in found for part in parts]
        if len(found) >= _MOST_VARIANTS:
            break
    return [" ".join(text.split()) for text in found[:_MOST_VARIANTS]]


def _joined_runs(reference: str) -> list[str]:
    """Return the runs of a text that have a slash between two parts."""
    runs = (run for run in _EDGE.split(reference) if _SLASH.search(run))
    return [run for run in runs if len([part for part in _SLASH.split(run) if part]) > 1]


def _kept_space(match: re.Match[str]) -> str:
    before, after = match.groups()
    return before if is_unspaced(before) or is_unspaced(after) else f"{before} "
