"""What a text talks about: its content tokens with their places, English by stems, Chinese by pairs.

Words that carry grammar, the talk about the conversation itself ("based on the given passages") and
citation markers are no content. Numbers are read apart, in :mod:`quantities`. Every token is compared after
NFKC and case folding, and traditional characters as simplified ones; offsets are those of the text as given.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from unicodedata import normalize

from rag_evaluation_framework.judging.comparable_text import comparable
from rag_evaluation_framework.judging.english_stems import stem
from rag_evaluation_framework.judging.stop_words import PARTICLES, STOP_WORDS

_HAN = r"\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_LETTERS = rf"[^\W\d_{_HAN}]+"
# Markers of citations, HTML entities and ordinals are matched so that nothing in them is taken for a word.
_TOKEN = re.compile(
    rf"{_LETTERS}(?:['’]{_LETTERS})*|[{_HAN}]+|\[\d[\d,，、;\s–-]{{0,60}}\]|&#?\w{{1,8}};|(?<!\d)\d{{1,12}}(?:st|nd|rd|th)\b"
)
_IS_HAN = re.compile(rf"[{_HAN}]")
_KEPT_TOKENS = 1 << 16


class ContentToken(NamedTuple):
    """A content word, or two neighbouring Chinese characters: ``text[start:end]``; compared by ``key``."""

    key: str
    start: int
    end: int


class Words(NamedTuple):
    """The words of a text: ``forms`` as they are written, case apart; ``keys`` of those with content."""

    forms: list[str]
    keys: list[str]


def content_tokens(text: str) -> list[ContentToken]:
    """Return the content tokens of a text in reading order.

    >>> content_tokens("The cities of Peru")
    [ContentToken(key='cit', start=4, end=10), ContentToken(key='peru', start=14, end=18)]
    """
    found: list[ContentToken] = []
    for match in _TOKEN.finditer(text):
        start = match.start()
        for offset, length, key in _known[match[0]].tokens:
            found.append(ContentToken(key, start + offset, start + offset + length))
    return found


def words_of(text: str) -> Words:
    """Return the forms of all the words of a text, and the keys of :func:`content_tokens`, without places."""
    known = [_known[token] for token in _TOKEN.findall(text)]
    return Words([form for form, _, _ in known if form], [key for _, keys, _ in known for key in keys])


class _Known(NamedTuple):
    """What a token of the text is compared by: a word's form; keys, with where they stand in it."""

    form: str
    keys: tuple[str, ...]
    tokens: tuple[tuple[int, int, str], ...]


class _KnownTokens(dict[str, _Known]):
    """Remembers tokens that were read; starts anew when it has grown too large."""

    def __missing__(self, token: str) -> _Known:
        if len(self) >= _KEPT_TOKENS:
            self.clear()
        known = self[token] = _read(token)
        return known


_known = _KnownTokens()


def _read(token: str) -> _Known:
    if _IS_HAN.match(token):
        pairs = _pairs(token)
        return _Known("", tuple(key for _, _, key in pairs), pairs)
    if not token[0].isalpha():
        return _Known("", (), ())
    form = normalize("NFKC", token).casefold().replace("’", "'").removesuffix("'s")
    if form in STOP_WORDS or (len(form) == 1 and form.isascii()):
        return _Known(form, (), ())
    key = stem(form) if form.isascii() else form
    return _Known(form, (key,), ((0, len(token), key),))


def _pairs(run: str) -> tuple[tuple[int, int, str], ...]:
    """Return the pairs of neighbours with content in a run of Chinese characters; one alone is its own."""
    even = comparable(run)
    even = even if len(even) == len(run) else run
    if len(even) == 1:
        return () if even in PARTICLES else ((0, 1, even),)
    return tuple(
        (place, 2, even[place : place + 2])
        for place in range(len(even) - 1)
        if PARTICLES.isdisjoint(even[place : place + 2])
    )
