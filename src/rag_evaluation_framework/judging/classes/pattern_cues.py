"""Cues: words without which an expression cannot match, so that it need not be tried on texts that lack them.

A cue is read from the expression itself. Written beside it, it could be wrong and switch the expression off.
Whatever is not understood of an expression may be any text, so a cue can be missing but not mistaken.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise

Cue = frozenset[str]

Shape = Mapping[str, Cue | None]
"""What an expression may match: texts in which a space is whatever parts words, and ``_ANY`` any text.

The value is a cue of what has become ``_ANY``, or ``None``.
"""

_ANY = "\0"
_NOTHING: Shape = {"": None}
_ANYTHING: Shape = {_ANY: None}
_BETWEEN_WORDS: Shape = {" ": None}
# If the parts of a sequence make more texts than these, those of the first parts become one.
_MANY = 16

_WORD = re.compile(r"[a-z0-9]+|\?|[^\W\x00-\x7f]")
# What may be half a word, since it is not known what stands beside it.
_HALF_WORD = re.compile(r"\A[a-z0-9]+|[a-z0-9]+\Z")
_TOKEN = re.compile(
    r"\{(?P<phrase>[a-z_]+)\}|(?P<aside>\(\?<?[=!])|(?P<open>\((?:\?[:>])?)|(?P<close>\))|(?P<either>\|)"
    r"|(?P<times>(?:[*+?]|\{[0-9,]+\})[?+]?)|\[(?P<one_of>(?:[^]\\]|\\.)+)\]|\\(?P<escaped>.)"
    r"|(?P<plain>[^][{}()|\\*+?.]+(?![*+?]|\{[0-9])|[^.])|(?P<any>\.)"
)
_ESCAPED = {**dict.fromkeys("bAZsn", _BETWEEN_WORDS), **dict.fromkeys("wW", _ANYTHING)}
# A class that does more than list a few characters.
_WIDE = re.compile(r"\A\^|.-.|\\[wW]")
_FREQUENT = """
a an and are as at be but by can for from has have in is it not of on or s that the this to was with you
"""
_FREQUENT_WORDS = frozenset(_FREQUENT.split())


def words_in(text: str) -> set[str]:
    """Return what a cue may hold of a folded text: words, Chinese characters, and pairs of neighbours."""
    words = _WORD.findall(text)
    return {*words, *map(" ".join, pairwise(words))}


def cue_of(shape: Shape) -> Cue | None:
    """Return words of which every text of the shape has one; ``None`` if there are no such words."""
    own = {text: _rarest_word(text) for text in shape}
    return _rarer(
        _all_of([own[text] or cue for text, cue in shape.items()]),
        _all_of([cue or own[text] for text, cue in shape.items()]),
    )


def shape_of(expression: str, phrases: Mapping[str, Shape]) -> Shape:
    """Return the shape of an expression in which ``{name}`` stands for a phrase."""
    outer: list[tuple[bool, list[Shape], list[Shape]]] = []
    alternatives: list[Shape] = []
    parts: list[Shape] = []
    for token in _TOKEN.finditer(expression):
        kind, text = token.lastgroup, token[token.lastgroup or 0]
        if kind in ("open", "aside"):
            outer.append((kind == "open", alternatives, parts))
            alternatives, parts = [], []
        elif kind == "close":
            group = either([*alternatives, _sequence(parts)])
            counts, alternatives, parts = outer.pop()
            parts.append(group if counts else _NOTHING)
        elif kind == "either":
            alternatives.append(_sequence(parts))
            parts = []
        elif kind == "times":
            parts[-1] = _repeated(parts[-1], text)
        else:
            parts.append(phrases[text] if kind == "phrase" else _literal(kind, text))
    return either([*alternatives, _sequence(parts)])


def either(alternatives: Sequence[Shape]) -> Shape:
    """Return the shape of an expression that is one of several."""
    if len(alternatives) == 1:
        return alternatives[0]
    return _merged(pair for each in alternatives for pair in each.items())


def _sequence(parts: Sequence[Shape]) -> Shape:
    shape = parts[0] if parts else _NOTHING
    for place, part in enumerate(parts[1:], start=1):
        if len(shape) * len(part) > _MANY and min(len(shape), len(part)) > 1:
            end = _beginning(parts[place:])
            shape = {_blurred(shape): cue_of({text + end: cue for text, cue in shape.items()})}
        shape = _merged(
            (text + more, _rarer(one, other)) for text, one in shape.items() for more, other in part.items()
        )
    return shape


def _repeated(part: Shape, times: str) -> Shape:
    once = {text: cue for text, cue in part.items() if text}
    if times[0] != "?" and once != _BETWEEN_WORDS:
        once = {_blurred(once): cue_of(once)}
    may_be_nothing = "" in part or times[0] in "*?" or times.startswith("{0")
    return {**once, **_NOTHING} if may_be_nothing else once


def _literal(kind: str | None, text: str) -> Shape:
    if kind == "escaped" and text.isalnum():
        return _ESCAPED[text]
    if kind in ("plain", "escaped"):
        return {_plain(text): None}
    if kind == "one_of" and not _WIDE.search(text):
        return dict.fromkeys(_plain(re.sub(r"\\[sn]?", " ", text)))
    return _ANYTHING


def _plain(text: str) -> str:
    return "".join([each if each.isalnum() or each == "?" else " " for each in text])


def _merged(texts: Iterable[tuple[str, Cue | None]]) -> Shape:
    shape: dict[str, Cue | None] = {}
    for text, cue in texts:
        shape[text] = _all_of([cue, shape[text]]) if text in shape else cue
    return shape


def _blurred(texts: Collection[str]) -> str:
    """Return one text for several. Where all of them begin or end between words, it does too."""
    return _edge(texts, 0) + _ANY + _edge(texts, -1)


def _edge(texts: Collection[str], place: int) -> str:
    return " " if all(text and text[place] == " " for text in texts) else ""


def _beginning(parts: Sequence[Shape]) -> str:
    """Return a space if whatever the parts match begins between words."""
    for part in parts:
        if not _edge(part.keys() - {""}, 0):
            break
        if "" not in part:
            return " "
    return ""


def _all_of(cues: Collection[Cue | None]) -> Cue | None:
    known = [cue for cue in cues if cue is not None]
    return frozenset().union(*known) if len(known) == len(cues) else None


def _rarer(one: Cue | None, other: Cue | None) -> Cue | None:
    if one is None or other is None:
        return one or other
    return min(one, other, key=lambda cue: sum(map(_share, cue)))


def _rarest_word(text: str) -> Cue | None:
    words = [word for word in map(_rarest_whole_word, text.split(_ANY)) if word is not None]
    return frozenset({min(words, key=_share)}) if words else None


@cache
def _rarest_whole_word(text: str) -> str | None:
    return min(sorted(words_in(_HALF_WORD.sub("", text))), key=_share, default=None)


def _share(word: str) -> float:
    """Guess in what share of texts a word occurs: that decides only how fast they are read."""
    if " " in word:
        return 0.005
    return 0.3 if word in _FREQUENT_WORDS else 0.01 if word.isascii() else 0.1
