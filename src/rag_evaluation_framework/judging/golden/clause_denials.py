"""Whether the clause around a place denies what was asked: "Anna Berg is not the mayor", 安娜不是镇长.

A negation reaches to the end of its clause. What it denies there may be the name itself, which is read in
:mod:`.stances`, or what the question asked of it, which is read here. Only a plain denial is one: not where
the clause makes an exception, "nobody except Anna", nor where the next one says that it is so by now, "but
she is now".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rag_evaluation_framework.judging.golden.shared_pieces import shared
from rag_evaluation_framework.judging.words.comparable_text import SENTENCE_END, Piece
from rag_evaluation_framework.judging.words.negation import CHINESE_NOT
from rag_evaluation_framework.judging.words.number_words import NUMERALS

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

_EXCEPTION = re.compile(
    r"\b(?:except|other than|apart from|aside from|besides|outside|only|alone|else)\b"
    rf"|除了?|[以之]外|(?<![{NUMERALS}几每半\d])只|仅|别的|其[他它]"
)
# The same one goes on: "but he is now", 现在是; and either says nothing more or takes up what was asked.
_GOES_ON = re.compile(
    r"\s*(?:(?:but|and|yet|though|although)\b\s*)?(?:he|she|it|they|now|today|later|then|since|this time)\b"
    r"|\s*[而但却]?是?(?:[他她它]|现在|如今|今[年天]|后来|这[次回]|目前|已经)"
)
_IS_SO = re.compile(rf"\b(?:{AUXILIARY})(?: (?:now|today|again|since))?\W*\Z|[是会能有](?:了|的)?\W*\Z")


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
    begin, end = _clause_around(text, start)
    clause = text[begin:end]
    if not is_negated(clause) or _EXCEPTION.search(clause) or _is_so_by_now(text, end, asked):
        return False
    stated, rest = _NEGATION.split(clause, maxsplit=1)
    denied = _BEGIN.split(rest, maxsplit=1)[0]
    return not shared(asked, denied) <= shared(asked, stated) or _LEFT_OUT.search(clause) is not None


def _is_so_by_now(text: str, end: int, asked: Sequence[Piece]) -> bool:
    """Tell whether the clause after a denial affirms of the same one what was asked."""
    mark = SENTENCE_END.search(text, end, end + _AHEAD)
    following = text[end : mark.start() if mark else end + _AHEAD].lstrip(", ")
    if not _GOES_ON.match(following) or is_negated(following):
        return False
    return _IS_SO.search(following) is not None or bool(shared(asked, following))


def _clause_around(text: str, start: int) -> tuple[int, int]:
    floor = max(0, start - _BEHIND)
    ends = (found.end() for found in _BEGIN.finditer(text, floor, start + 1))
    begin = max((end for end in ends if end <= start), default=floor)
    mark = _END.search(text, start, start + _AHEAD)
    return begin, mark.start() if mark else min(start + _AHEAD, len(text))
