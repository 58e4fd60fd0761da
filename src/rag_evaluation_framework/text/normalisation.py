"""The one normalisation (width, case, space, Chinese variants) with the way back to the characters."""

from __future__ import annotations

import re
import string
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple
from unicodedata import category, normalize

from rag_evaluation_framework.text.scripts import UNSPACED, has_unspaced_script

# Texts folded for comparison without losing the places of their characters.

STRAIGHT_APOSTROPHES = dict.fromkeys(map(ord, "‘’‛′`´"), "'")
_STRAIGHT_QUOTES = STRAIGHT_APOSTROPHES | dict.fromkeys(map(ord, "“”„″「」『』"), '"')


def folded_with_places(text: str) -> tuple[str, Sequence[int]]:
    """Return the text in lower case, NFKC, with straight quotes and simplified characters; and, for each of
    its characters, the place of the one it comes from.

    >>> folded_with_places("Ⅳ 沒有")
    ('iv 没有', [0, 0, 1, 2, 3])
    """
    if text.isascii():
        return text.lower(), range(len(text))
    characters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text.translate(_STRAIGHT_QUOTES)):
        if not character.isascii():
            character = unicodedata.normalize("NFKC", character).translate(simplified_characters())
        characters.append(character.lower())
        places.extend([place] * len(characters[-1]))
    return "".join(characters), places


@cache
def simplified_characters() -> dict[int, str]:
    """Return the simplified character for each traditional one of the table of common pairs."""
    pairs = files(__package__).joinpath("data", "traditional_simplified.txt").read_text("utf-8").split()
    return {ord(pair[0]): pair[1] for pair in pairs}


# Texts made comparable for golden sets: width, case, white space, and the two ways of writing
# Chinese.
#
# On top of NFKC and case folding, traditional characters become simplified ones (a table of common pairs,
# ``data/traditional_simplified.txt``) and white space beside a Chinese character or kana goes, since
# lines are broken there. The table folds both texts alike, so that a pair in it can only make two texts
# more alike; it does not translate words that differ between regions.

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


# Text folded so that a copy is found even if it is written a little differently, with the way back.
#
# Folded away are: case, width and compatibility forms (NFKD), the kind of quotation marks and dashes, the
# amount of white space (all of it beside Chinese characters and kana), characters that cannot be seen,
# and the marks of Markdown that make words bold, italic or code. Every folded character knows the one it
# comes from.

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


def folded_for_search(text: str) -> str:
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


# Finding a text whose white space is not the document's.


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


_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def folded(text: str) -> str:
    """Return the text after NFKC and case folding, with single spaces.

    >>> folded("  Ｆｕｌｌ　Width ")
    'full width'
    """
    # Folding can undo the normal form (U+0345), hence the second pass.
    return " ".join(normalize("NFKC", normalize("NFKC", text).casefold()).split())


def plain(text: str) -> str:
    """Return the folded text without punctuation and English articles, as SQuAD's scorer compares answers.

    A text that holds nothing else keeps them: the answer "A" is not the answer "The".

    >>> plain("The Eiffel Tower!")
    'eiffel tower'
    """
    kept = folded(text)
    bare = "".join(character for character in kept if not _is_punctuation(character))
    return " ".join(_ARTICLES.sub(" ", bare).split()) or kept


def _is_punctuation(character: str) -> bool:
    """Tell Unicode's punctuation, and the ASCII symbols (``$+<=>^`|~``) that SQuAD counts as such."""
    return character in string.punctuation or category(character).startswith("P")
