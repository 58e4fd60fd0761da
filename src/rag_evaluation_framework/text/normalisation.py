"""The one normalisation, with the way back to the characters.

Every comparison stands on NFKC and case folding. What else may differ, each function says: white space
(:func:`folded`); punctuation and articles, as SQuAD's scorer has it (:func:`plain`); the shape of marks, the
two ways of writing Chinese and spaces beside Chinese (:func:`comparable`, or :func:`folded_with_places` where
white space counts and places are wanted); emphasis and every quotation mark and dash (:class:`FoldedText`,
for copies). The table of Chinese pairs, ``data/traditional_simplified.txt``, folds both texts alike, so that
it can only make them more alike; it does not translate words that differ between regions.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, wraps
from importlib.resources import files
from typing import TypeVar
from unicodedata import category, combining, normalize

from rag_evaluation_framework.text.scripts import has_unspaced_script
from rag_evaluation_framework.text.spans import Span

APOSTROPHES = dict.fromkeys(map(ord, "‘’‛′`´"), "'")
"""The apostrophes of every keyboard, to be made straight."""
# Hyphens that break no line are hyphens; soft hyphens and spaces of no width are not seen.
_PLAIN_MARKS = (
    APOSTROPHES
    | dict.fromkeys(map(ord, "“”„″「」『』"), '"')
    | dict.fromkeys(map(ord, "‐‑"), "-")
    | dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"), "")
)
_SPACE_BETWEEN = re.compile(r"(\S) (?=(\S))")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_KEPT_CHARACTERS = 1 << 14
_LONG, _MOST_LONG = (2_000, 16)  # characters; what is read takes up to a hundred bytes for each
T = TypeVar("T")


def cache_texts(most: int) -> Callable[[Callable[[str], T]], Callable[[str], T]]:
    """Return a decorator that caches the values of the latest texts: so many, but few of long ones."""

    def decorate(function: Callable[[str], T]) -> Callable[[str], T]:
        short, long = lru_cache(most)(function), lru_cache(_MOST_LONG)(function)

        @wraps(function)
        def read(text: str) -> T:
            return short(text) if len(text) <= _LONG else long(text)

        return read

    return decorate


EN_DASH = "\x7f"
"""Stand-in for an en dash in a typed text: a hyphen would make dates of numbers."""
# Marks that no keyboard has, each with one that stands for it: as good for words and numbers, and ASCII.
_TYPED = (
    *(("’", "'"), ("‘", "'"), ("“", '"'), ("”", '"'), ("–", EN_DASH), ("\u00a0", " ")),
    *((mark, "~") for mark in "—…•·°€£™®©\u200b"),
)


def typed(text: str) -> str:
    """Return a text with the marks of typography as they are typed, each where it stood.

    >>> typed("“Don’t” — 6 €")
    '"Don\'t" ~ 6 ~'
    """
    if not text.isascii():
        for mark, plain_mark in _TYPED:
            text = text.replace(mark, plain_mark)
    return text


def folded(text: str) -> str:
    """Return the text after NFKC and case folding, with single spaces.

    >>> folded("  Ｆｕｌｌ　Width ")
    'full width'
    """
    if text.isascii():  # as most texts are: nothing to normalise
        return " ".join(text.lower().split())
    # Folding can undo the normal form (U+0345), hence the second pass.
    return " ".join(normalize("NFKC", normalize("NFKC", text).casefold()).split())


# Signs at the end of words and around them; between digits, as in 1.5, and before them they say something.
_SIGNS = re.compile(r"[\"'`´“”‘’„«»()\[\]{}…]|[.,;:!?*_](?![0-9])|[。，、！？；：「」『』（）【】《》·]")


def fold_text(text: str) -> str:
    """Return the folded text without signs that say nothing.

    >>> fold_text("It  takes 1.5 hours!") == fold_text("it takes 1.5 hours.")
    True
    """
    return " ".join(_SIGNS.sub(" ", folded(text)).split())


def plain(text: str) -> str:
    """Return the folded text without punctuation and English articles, as SQuAD's scorer compares answers.

    A text that holds nothing else keeps them: the answer "A" is not the answer "The".

    >>> plain("The Eiffel Tower!")
    'eiffel tower'
    """
    kept = folded(text)
    return " ".join(_ARTICLES.sub(" ", kept.translate(_WITHOUT_PUNCTUATION)).split()) or kept


class _Punctuation(dict[int, int | None]):
    """Leaves out Unicode's punctuation, and the ASCII symbols (``$+<=>^`|~``) that SQuAD counts as such."""

    def __missing__(self, code: int) -> int | None:
        left_out = chr(code) in string.punctuation or category(chr(code)).startswith("P")
        found = None if left_out else code
        if len(self) < _KEPT_CHARACTERS:
            self[code] = found
        return found


_WITHOUT_PUNCTUATION = _Punctuation()


def comparable(text: str) -> str:
    """Return the folded text with plain marks, simplified characters and no space beside Chinese or kana.

    Lines are broken there.

    >>> comparable("Ｋａｅｌ 的 龍夥伴")
    'kael的龙伙伴'
    """
    if text.isascii():  # where no other mark has to be made plain
        return folded(text.replace("`", "'"))
    even = folded(text.translate(_PLAIN_MARKS))
    if even.isascii():
        return even
    even = even.translate(simplified_characters())
    return _SPACE_BETWEEN.sub(_kept_space, even)


def _kept_space(match: re.Match[str]) -> str:
    before, after = match.groups()
    return before if has_unspaced_script(before) or has_unspaced_script(after) else f"{before} "


def folded_with_places(text: str) -> tuple[str, Sequence[int]]:
    """Return the characters that a comparable text is made of, white space as it stands; and, for each of
    them, the place of the one it comes from.

    >>> folded_with_places("Ⅳ 沒有")
    ('iv 没有', [0, 0, 1, 2, 3])
    """
    if text.isascii():
        return text.lower().replace("`", "'"), range(len(text))
    characters = list(map(_even, text))
    places = [place for place, written in enumerate(characters) for _ in written]
    return "".join(characters), places


@lru_cache(maxsize=_KEPT_CHARACTERS)
def _even(character: str) -> str:
    """Return what a character is compared as: one or several characters, or nothing."""
    return normalize("NFKC", character.translate(_PLAIN_MARKS)).casefold().translate(simplified_characters())


@cache
def simplified_characters() -> dict[int, str]:
    """Return the simplified character for each traditional one of the table of common pairs."""
    pairs = files(__package__).joinpath("data", "traditional_simplified.txt").read_text("utf-8").split()
    return {ord(pair[0]): pair[1] for pair in pairs}


_ONE_MARK = dict.fromkeys(map(ord, '"‟«»‚‹›'), "'") | dict.fromkeys(map(ord, "‒–—―−"), "-")
_VARIATION_SELECTORS = frozenset("\ufe0e\ufe0f")
_EMPHASIS = frozenset("*_`")
# Punctuation that comes with its own space, such as 。and ，
_WIDE_PUNCTUATION = re.compile(r"[\u3001-\u3020\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]")


class FoldedText:
    """A text as copies are looked for in it: ``folded[i]`` comes from ``text[places[i]]``.

    Folded away are, besides what :func:`comparable` folds, accents that may be written apart (NFKD), the kind
    of quotation marks and dashes, the amount of white space, invisible characters, and the marks of
    Markdown that make words bold, italic or code.

    >>> FoldedText("  **Tickets**  cost “£4”\\n— each ").folded
    "tickets cost '£4' - each"
    """

    __slots__ = ("folded", "places", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        pieces: list[str] = []
        places: list[int] = []
        last, space_at = "", -1
        for place, character in enumerate(text):
            written = _as_copied(character)
            if not written or (character in _EMPHASIS and not _joins_words(text, place)):
                continue
            if written.isspace():
                space_at = place if space_at < 0 else space_at
                continue
            if space_at >= 0 and last and not (_needs_no_space(last) or _needs_no_space(character)):
                pieces.append(" ")
                places.append(space_at)
            pieces.append(written)
            places.extend([place] * len(written))
            last, space_at = character, -1
        self.folded = "".join(pieces)
        self.places = places

    def span(self, start: int, end: int) -> Span | None:
        """Return the characters behind ``folded[start:end]``; ``None`` where it begins or ends within one."""
        places = self.places
        if start and places[start - 1] == places[start]:
            return None
        if end < len(places) and (places[end] == places[end - 1] or combining(self.folded[end])):
            return None
        last = places[end - 1] + 1
        while last < len(self.text) and self.text[last] in _VARIATION_SELECTORS:
            last += 1
        return Span(places[start], last)


@lru_cache(maxsize=_KEPT_CHARACTERS)
def _as_copied(character: str) -> str:
    """Return what a character is as a copy may write it: one or several characters, a space, or nothing."""
    if character in _VARIATION_SELECTORS or category(character) == "Cf":
        return ""
    written = normalize("NFKD", _even(character)).translate(_ONE_MARK)
    # Some characters decompose into a space and an accent.
    return written if written.isspace() else written.replace(" ", "")


@lru_cache(maxsize=_KEPT_CHARACTERS)
def _needs_no_space(character: str) -> bool:
    if character.isascii():
        return False
    return has_unspaced_script(character) or _WIDE_PUNCTUATION.match(character) is not None


def _joins_words(text: str, place: int) -> bool:
    """Return True if a mark stands between two letters or digits, as in ``snake_case`` or ``2*3``."""
    return 0 < place < len(text) - 1 and text[place - 1].isalnum() and text[place + 1].isalnum()


# What a reference allows: "A/B" is either, and dots stand for what its writer left out.

_DOTS = re.compile(r"\.{2,}|…+|。{2,}")
# A slash between two figures is a date, a fraction or a score.
_SLASH = re.compile(r"(?<!\d)[/／]|[/／](?!\d)")
_EDGE = re.compile(r"[\s,.;:!?，。；：！？、()（）\"“”「」]")
_MOST_VARIANTS = 16


def spellings(name: str) -> list[str]:
    """Return the spellings that "A/B" stands for: the whole and its parts, up to a maximum."""
    parts = _SLASH.split(name, _MOST_VARIANTS)[:_MOST_VARIANTS]
    return [text for part in (name, *parts) if (text := part.strip())]


def alternatives(name: str) -> list[str]:
    """Return what "A/B" stands for, as comparable texts: the whole, or either part.

    >>> alternatives("Tidewalker/Wavewalker"), alternatives("24/7")
    (['tidewalker/wavewalker', 'tidewalker', 'wavewalker'], ['24/7'])
    """
    return list(dict.fromkeys(map(comparable, spellings(name))))


def slash_groups(reference: str) -> list[list[str]]:
    """Return what slashes join in a reference: ``friends/allies`` is one group of two."""
    groups = ([part for part in _SLASH.split(run) if part] for run in _EDGE.split(reference))
    return [group for group in groups if len(group) > 1]


def variants(reference: str) -> list[str]:
    """Return the texts that a reference allows: each "A/B" as either, unfinished parts left out.

    >>> variants("They are friends/allies, and together they ...")
    ['They are friends, and together they', 'They are allies, and together they']
    """
    found = [_DOTS.sub(" ", reference).strip()]
    for run in _EDGE.split(found[0]):
        parts = [part for part in _SLASH.split(run) if part]
        if len(parts) > 1:
            found = [text.replace(run, part, 1) for text in found for part in parts]
        if len(found) >= _MOST_VARIANTS:
            break
    return [" ".join(text.split()) for text in found[:_MOST_VARIANTS]]
