"""Write the words without which a pattern of answers cannot match: ``python -m benchmarks.pattern_cues``.

They are read from the expressions of ``answer_patterns.yaml`` and kept beside it, in ``answer_cues.txt.gz``:
an expression is not tried on texts that lack them, nor compiled for them. Written by hand, a cue could be
wrong and switch its expression off. Whatever is not understood of an expression may be any text, so a cue can
be missing but not mistaken. Where the file of patterns was changed, no expression has cues, and all are tried
on every text, until they are written again; a test says so.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from math import fsum
from pathlib import Path
from zlib import crc32

from rag_evaluation_framework.judging import answer_classes
from rag_evaluation_framework.judging.answer_classes import CUE_WORD, answer_patterns

KEPT = Path(answer_classes.__file__).parent / "data" / answer_classes.CUES

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
_COMMON = frozenset(
    {"a", "an", "and", "are", "as", "at", "be", "but", "by", "can", "for", "from", "has", "have", "in", "is"}
    | {"it", "not", "of", "on", "or", "s", "that", "the", "this", "to", "was", "with", "you"}
)


def kept_cues() -> str:
    """Return what is kept: of which file, and the cue of each of its expressions, on lines of their own."""
    written, known = (KEPT.parent / answer_classes.PATTERNS).read_bytes(), answer_patterns()
    finder = CueFinder(known.phrases)
    lines = [
        rf"\A{each.line}\Z" if known.patterns[place].where == "whole" else each.line
        for each, place in known.places.items()
    ]
    cues = ("|".join(sorted(finder.cue(line) or ())) for line in lines)
    return "\n".join([f"{crc32(written)}", *cues])


def main() -> None:
    KEPT.write_bytes(gzip.compress(kept_cues().encode(), mtime=0))


class CueFinder:
    """Finds the cue of an expression that is in the fewest texts, as far as can be guessed.

    That the guess is wrong decides only how fast texts are read. ``phrases`` are what ``{name}`` stands for:
    several expressions each.
    """

    def __init__(self, phrases: Mapping[str, Sequence[str]]) -> None:
        self._phrases = phrases
        self._shapes: dict[tuple[str, bool, bool], Shape] = {}
        self._rarest: dict[str, str | None] = {}

    def cue(self, expression: str) -> Cue | None:
        """Return words of which every text that matches has one; ``None`` if there are no such words."""
        return self._cue_of(self._shape_of(expression))

    def _cue_of(self, shape: Shape) -> Cue | None:
        own = {text: self._rarest_word(text) for text in shape}
        alike = self._rarer(
            _all_of([own[text] or cue for text, cue in shape.items()]),
            _all_of([cue or own[text] for text, cue in shape.items()]),
        )  # what is alike in many texts counts once
        return self._rarer(alike, _all_of([self._rarer(own[text], cue) for text, cue in shape.items()]))

    def _shape_of(self, expression: str, *, begins: bool = False, ends: bool = False) -> Shape:
        """Return the shape of an expression, which may be known to begin or end between words."""
        return _either(list(map(self._sequence, self._parts_of(expression, begins=begins, ends=ends))))

    def _parts_of(self, expression: str, *, begins: bool = False, ends: bool = False) -> list[list[Shape]]:
        """Return the shapes of the parts of an expression, for each of its alternatives."""
        outer: list[tuple[bool, bool, list[list[Shape]], list[Shape]]] = []
        alternatives: list[list[Shape]] = []
        parts: list[Shape] = [_BETWEEN_WORDS] if begins else []
        last: list[Shape] = [_BETWEEN_WORDS] if ends else []
        for token in _TOKEN.finditer(expression):
            kind, text = token.lastgroup, token[token.lastgroup or 0]
            if kind in ("open", "aside"):
                outer.append((kind == "open", begins, alternatives, parts))
                begins = _end_of(parts) == " "
                alternatives, parts = [], [_BETWEEN_WORDS] if begins else []
            elif kind == "close":
                group = _either(list(map(self._sequence, [*alternatives, parts])))
                counts, begins, alternatives, parts = outer.pop()
                parts.append(group if counts else _NOTHING)
            elif kind == "either":
                alternatives.append(parts if outer else parts + last)
                parts = [_BETWEEN_WORDS] if begins else []
            elif kind == "times":
                parts[-1] = self._repeated(parts[-1], text)
            elif kind == "phrase":
                ends_word = _WORD_ENDS.match(expression, token.end()) is not None
                parts.append(self._phrase(text, _end_of(parts) == " ", ends_word))
            else:
                parts.append(_literal(kind, text))
        return [*alternatives, parts + last]

    def _phrase(self, name: str, begins: bool, ends: bool) -> Shape:
        key = name, begins, ends
        if key not in self._shapes:
            shapes = [self._shape_of(each, begins=begins, ends=ends) for each in self._phrases[name]]
            self._shapes[key] = _either(shapes)
        return self._shapes[key]

    def _sequence(self, parts: Sequence[Shape]) -> Shape:
        shape = parts[0] if parts else _NOTHING
        for place, part in enumerate(parts[1:], start=1):
            if len(shape) * len(part) > _MANY and min(len(shape), len(part)) > 1:
                end = _beginning(parts[place:])
                shape = {_blurred(shape): self._cue_of({text + end: cue for text, cue in shape.items()})}
            shape = _merged(
                (text + more, self._rarer(one, other))
                for text, one in shape.items()
                for more, other in part.items()
            )
        return shape

    def _repeated(self, part: Shape, times: str) -> Shape:
        once = {text: cue for text, cue in part.items() if text}
        if times[0] != "?" and once != _BETWEEN_WORDS:
            once = {_blurred(once): self._cue_of(once)}
        may_be_nothing = "" in part or times[0] in "*?" or times.startswith("{0")
        return {**once, **_NOTHING} if may_be_nothing else once

    def _rarer(self, one: Cue | None, other: Cue | None) -> Cue | None:
        if one is None or other is None:
            return one or other
        return min(one, other, key=lambda cue: fsum(map(_share, cue)))

    def _rarest_word(self, text: str) -> Cue | None:
        words = [word for word in map(self._rarest_whole_word, text.split(_ANY)) if word is not None]
        return frozenset({min(words, key=_share)}) if words else None

    def _rarest_whole_word(self, text: str) -> str | None:
        if text not in self._rarest:
            words = CUE_WORD.findall(_HALF_WORD.sub("", text))  # and Chinese characters
            found = {*words, *map(" ".join, pairwise(words))}
            self._rarest[text] = min(sorted(found), key=_share, default=None)
        return self._rarest[text]


def _share(word: str) -> float:
    """Return the share of texts in which a word, or two neighbors, are guessed to be."""
    if " " in word:
        return 0.005
    return 0.3 if word in _COMMON else 0.01 if word.isascii() else 0.1


# What follows a phrase that ends where a word does: its end, a space; a closing bracket may stand before.
_WORD_ENDS = re.compile(r"\\b| [a-z(\\{\[]|(?:\[(?:[^\w\]\\]|\\\W)+\]\?)?\\Z")


def _either(alternatives: Sequence[Shape]) -> Shape:
    """Return the shape of an expression that is one of several."""
    if len(alternatives) == 1:
        return alternatives[0]
    return _merged(pair for each in alternatives for pair in each.items())


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


def _end_of(parts: Sequence[Shape]) -> str:
    """Return a space if whatever the parts match ends between words."""
    for part in reversed(parts):
        if not _edge(part.keys() - {""}, -1):
            break
        if "" not in part:
            return " "
    return ""


def _all_of(cues: Collection[Cue | None]) -> Cue | None:
    known = [cue for cue in cues if cue is not None]
    return frozenset().union(*known) if len(known) == len(cues) else None


if __name__ == "__main__":
    main()
