"""What a text talks about: its content tokens with their places, English by stems, Chinese by pairs.

Words that carry grammar, the talk about the conversation itself ("based on the given passages") and
citation markers are no content. Numbers are read apart, in :mod:`quantities`. Every token is compared after
NFKC and case folding, and traditional characters as simplified ones; offsets are those of the text as given.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple
from unicodedata import normalize

from rag_evaluation_framework.judging.words.comparable_text import comparable
from rag_evaluation_framework.judging.words.english_stems import stem
from rag_evaluation_framework.judging.words.stop_words import PARTICLES, STOP_WORDS

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


def tokens_in(text: str) -> list[str]:
    """Return the tokens of a text as they are written; what has neither form nor key is among them."""
    return _TOKEN.findall(text)


def content_keys(text: str) -> list[str]:
    """Return the keys of :func:`content_tokens`, without places."""
    return list(keys_of(tokens_in(text)))


def keys_of(tokens: Iterable[str]) -> Iterator[str]:
    """Yield the keys of those tokens that have content."""
    return chain.from_iterable(map(_keys_of, tokens))


def forms_in(text: str) -> list[str]:
    """Return the forms of the words of a text, in reading order."""
    return forms_of(tokens_in(text))


def forms_of(tokens: Iterable[str]) -> list[str]:
    """Return the forms of words, case and width apart; what is no word of letters has none."""
    return [form for token in tokens if (form := _known[token].form)]


def without_junctures(tokens: Sequence[ContentToken], known: Container[str]) -> list[ContentToken]:
    """Leave out pairs of Chinese characters that only join what is known to what is new, or known to known.

    In 玛拉妮性格热情, of which 玛拉妮 and 热情 are known, 性格 is new; 妮性 and 格热 are no words.
    """
    places = [set(range(token.start, token.end)) for token in tokens]
    familiar = {
        place for token, held in zip(tokens, places, strict=True) if token.key in known for place in held
    }
    told = {place for held in places if familiar.isdisjoint(held) for place in held}
    kept: list[ContentToken] = []
    for token, held in zip(tokens, places, strict=True):
        is_whole = token.key in known or not _IS_HAN.match(token.key) or familiar.isdisjoint(held)
        if is_whole or not held <= familiar | told:  # one new character alone is told by its first pair
            kept.append(token)
            told |= held
    return kept


class _Known(NamedTuple):
    """What a token of the text is compared by: a word's form; keys, with where they stand in it."""

    form: str
    tokens: tuple[tuple[int, int, str], ...]


class _KnownTokens(dict[str, _Known]):
    """Remembers tokens that were read; starts anew when it has grown too large."""

    def __missing__(self, token: str) -> _Known:
        if len(self) >= _KEPT_TOKENS:
            self.clear()
        known = self[token] = _read(token)
        return known


class _KnownKeys(dict[str, tuple[str, ...]]):
    """Remembers the keys alone: most of what is read of long texts."""

    def __missing__(self, token: str) -> tuple[str, ...]:
        if len(self) >= _KEPT_TOKENS:
            self.clear()
        keys = self[token] = tuple(key for _, _, key in _known[token].tokens)
        return keys


_known = _KnownTokens()
_keys_of = _KnownKeys().__getitem__


def _read(token: str) -> _Known:
    if _IS_HAN.match(token):
        return _Known("", _pairs(token))
    if not token[0].isalpha():
        return _Known("", ())
    form = normalize("NFKC", token).casefold().replace("’", "'").removesuffix("'s")
    if form in STOP_WORDS or (len(form) == 1 and form.isascii()):
        return _Known(form, ())
    key = stem(form) if form.isascii() else form
    return _Known(form, ((0, len(token), key),))


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
