"""Whether the clause around a place denies what was asked: "Anna Berg is not the mayor", 安娜不是镇长.

A negation reaches to the end of its clause. What it denies there may be the name itself, which is read in
:mod:`.stances`, or what the question asked of it, which is read here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rag_evaluation_framework.judging.golden.shared_pieces import shared
from rag_evaluation_framework.judging.words.comparable_text import Piece
from rag_evaluation_framework.judging.words.negation import CHINESE_NOT

_NEGATION = re.compile(
    r"(?:\bnot\b|n't\b)(?! (?:only|just|least)\b| (?:\w+ ){0,4}until\b)"
    r"|\b(?:never|cannot|no longer|none|nobody|nothing|hardly|no(?! (?:doubt|problem|wonder)))\b"
    rf"|{CHINESE_NOT}|[并绝]非|无法"
)
# Where a clause begins and where it ends: "Ben is not the mayor and Anna is" has two, "Ben and Anna are" one.
_MARK = r"[,。;!?\n]|[.:](?=\s|\Z)|[而但却]|\b(?:but|while|whereas|although|though|because|so)\b"
_BEGIN, _END = re.compile(rf"{_MARK}|\band\b"), re.compile(rf"{_MARK}|\band not\b")
_BEHIND, _AHEAD = 160, 400  # characters: clauses are shorter
AUXILIARY = "is|are|am|was|were|do|does|did|has|have|had|can|could|will|would|should|may|might|must"
"""English verbs that may stand for another: "he did not"."""
_LEFT_OUT = re.compile(rf"(?:\b(?:{AUXILIARY}) not|n't|cannot|不是|没有)\W*\Z")


def clauses(text: str) -> Iterator[tuple[int, str]]:
    """Yield the clauses of a comparable text with where they begin."""
    begin = 0
    for end, after in (*(found.span() for found in _END.finditer(text)), (len(text), len(text))):
        clause = text[begin:end]
        if bare := clause.strip():
            yield begin + clause.index(bare), bare
        begin = after


def is_negated(clause: str) -> bool:
    """Tell whether a clause denies something; two negations cancel out."""
    return len(_NEGATION.findall(clause)) % 2 == 1


def denies_asked(text: str, start: int, asked: Sequence[Piece]) -> bool:
    """Tell whether the clause around a place of a comparable text denies one of the pieces of the question.

    >>> denies_asked("anna is not the mayor.", 0, [Piece("mayor", 11, 16)])
    True
    """
    clause = _clause_around(text, start)
    if not is_negated(clause):
        return False
    stated, rest = _NEGATION.split(clause, maxsplit=1)
    denied = _BEGIN.split(rest, maxsplit=1)[0]
    return not shared(asked, denied) <= shared(asked, stated) or _LEFT_OUT.search(clause) is not None


def _clause_around(text: str, start: int) -> str:
    floor = max(0, start - _BEHIND)
    ends = (found.end() for found in _BEGIN.finditer(text, floor, start + 1))
    begin = max((end for end in ends if end <= start), default=floor)
    mark = _END.search(text, start, start + _AHEAD)
    return text[begin : mark.start() if mark else start + _AHEAD]
