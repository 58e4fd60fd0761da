"""A profanity screen: which sentences of a text have a swear word or a slur in them.

It sees words, not meaning: an insult in clean words passes, and a quoted swear word is flagged. Words are
found behind the usual disguises (``f*ck``, ``sh1t``, ``f.u.c.k``), and only as whole words:
Scunthorpe is a town.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

import msgspec

from rag_evaluation_framework.records.scores import Claim
from rag_evaluation_framework.text.normalisation import folded_with_places
from rag_evaluation_framework.text.sentences import sentence_spans

_ENDINGS = ("ed", "er", "ers", "ing", "in", "y")
_WORD = re.compile(r"[a-z0-9@$][a-z0-9@$!*]*[a-z0-9@$]")
# Letters that stand alone, all with the same mark between them: f.u.c.k
_SPELT_OUT = re.compile(r"(?<![a-z0-9])[a-z]([ ._-])[a-z](?>(?:\1[a-z](?![a-z0-9]))+)")
_LETTERS = str.maketrans("0134578@$!", "oieastbasi")
_SHORTEST = 4

# Chinese words that only their place makes swear words. At the beginning of a clause 妈的 is one when the
# clause ends with it, and 他妈的 also before an adverb: elsewhere both say whose something is, as before
# nouns that begin like the adverb (真名, a real name; 太极, tai chi). 卧槽 is a move of a knight in chess and
# the opposite of changing jobs. Width is folded before: a full-width mark is a plain one here.
_CLAUSE_BEGINS = r"(?<![^\s,.!?;:、。\"'“”‘’()])"
_IN_THEIR_PLACE = re.compile(
    rf"{_CLAUSE_BEGINS}他?[妈媽]的(?=[!,]|\.\.)"
    rf"|{_CLAUSE_BEGINS}他[妈媽]的(?=真(?![实實名正心相诚誠爱愛丝絲人身])|太(?![太极極阳陽平])|又(?!一)"
    r"|居然|竟然|怎[么麼]回事|有病|[滚滾][蛋开開]|[烦煩]死)"
    r"|傻\s?b(?![a-z])"
    r"|[卧臥]槽(?![马馬族])"
)


class ProfanityScreening(msgspec.Struct, frozen=True):
    """The number of sentences of a text, the number of flagged ones, and the words with their places."""

    sentences: int
    flagged: int
    words: tuple[Claim, ...]


class _Lexicon(msgspec.Struct, frozen=True):
    words: frozenset[str]
    phrases: re.Pattern[str]


def screen_profanity(text: str) -> ProfanityScreening:
    """Return what the lexicon finds in a text.

    >>> screen_profanity("What a f*cking mess. Clean it up.").flagged
    1
    """
    folded, places = folded_with_places(text)
    words = [
        Claim(text[places[start] : places[end - 1] + 1], places[start], places[end - 1] + 1)
        for start, end in sorted(set(_found(folded)))
    ]
    spans = sentence_spans(text)
    flagged = sum(any(start <= word.start < end for word in words) for start, end in spans) if words else 0
    return ProfanityScreening(len(spans), flagged, tuple(words))


def _found(text: str) -> Iterator[tuple[int, int]]:
    lexicon = _lexicon()
    listed = {word for word in set(_WORD.findall(text)) if _is_listed(word, lexicon.words)}
    if listed:
        yield from (match.span() for match in _WORD.finditer(text) if match[0] in listed)
    for match in _SPELT_OUT.finditer(text):
        if match[0].replace(match[1], "") in lexicon.words:
            yield match.span()
    if not text.isascii():
        yield from (match.span() for match in lexicon.phrases.finditer(text))
        yield from (match.span() for match in _IN_THEIR_PLACE.finditer(text))


def _is_listed(word: str, words: frozenset[str]) -> bool:
    if word in words:
        return True
    if len(word) < _SHORTEST:
        return False
    if not word.isalpha():
        word = word.translate(_LETTERS)
    if "*" in word:
        return _is_masked(word, words)
    return word in words


def _is_masked(word: str, words: frozenset[str]) -> bool:
    """Return True if a word with stars may be a listed one, by its first and last letter."""
    if word.count("*") > len(word) // 2:
        return False
    return any(
        len(listed) == len(word)
        and all(given in ("*", letter) for given, letter in zip(word, listed, strict=True))
        for listed in words
    )


@cache
def _lexicon() -> _Lexicon:
    lines = files(__package__).joinpath("data", "profanity.txt").read_text("utf-8").splitlines()
    entries = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    words: set[str] = set()
    for entry in entries:
        if entry.isascii():
            stem = entry.removesuffix("+")
            plural = "es" if stem.endswith(("ch", "sh", "s", "x")) else "s"
            words.update(stem + ending for ending in ("", plural, *(_ENDINGS if entry != stem else ())))
    phrases = sorted({folded_with_places(entry)[0] for entry in entries if not entry.isascii()})
    return _Lexicon(frozenset(words), re.compile("|".join(map(re.escape, phrases))))
