"""Whether the clause around a place denies what was asked: "Anna Berg is not the mayor", 安娜不是镇长.

A negation reaches to the end of its clause. What it denies there may be the name itself, which is read in
:mod:`.stances`, or what the question asked of it, which is read here. Only a plain denial is one: not where
the clause makes an exception, "nobody except Anna", nor where the next one says that it is so by now, "but
she is now".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rag_evaluation_framework.judging.golden.phrases import parts, phrase, says
from rag_evaluation_framework.judging.golden.shared_pieces import shared
from rag_evaluation_framework.judging.words.comparable_text import SENTENCE_END, Piece

_BEHIND, _AHEAD = 160, 400  # characters: clauses are shorter


def clauses(text: str) -> Iterator[tuple[int, str]]:
    """Yield the clauses of a comparable text with where they begin."""
    for start, clause in parts("clause_end", text):
        if bare := clause.strip():
            yield start + clause.index(bare), bare


def is_negated(clause: str) -> bool:
    """Tell whether a clause denies something; two negations cancel out."""
    return len(phrase("negation").findall(clause)) % 2 == 1


def is_denied(clause: str) -> bool:
    """Tell whether a clause denies what it says: it does not happen, or stops, or fails to."""
    return is_negated(clause) != says("ceased", clause)


def denies_asked(text: str, start: int, asked: Sequence[Piece]) -> bool:
    """Tell whether the clause around a place of a comparable text denies one of the pieces of the question.

    >>> denies_asked("anna is not the mayor.", 0, [Piece("mayor", 11, 16)])
    True
    """
    begin, end = _clause_around(text, start)
    clause = text[begin:end]
    if not is_negated(clause) or says("exception", clause) or _is_so_by_now(text, end, asked):
        return False
    stated, rest = phrase("negation").split(clause, maxsplit=1)
    denied = phrase("clause_begin").split(rest, maxsplit=1)[0]
    return not shared(asked, denied) <= shared(asked, stated) or says("left_out", clause)


def _is_so_by_now(text: str, end: int, asked: Sequence[Piece]) -> bool:
    """Tell whether the clause after a denial affirms of the same one what was asked."""
    mark = SENTENCE_END.search(text, end, end + _AHEAD)
    following = text[end : mark.start() if mark else end + _AHEAD].lstrip(", ")
    if not phrase("goes_on").match(following) or is_negated(following):
        return False
    return says("is_so", following) or bool(shared(asked, following))


def _clause_around(text: str, start: int) -> tuple[int, int]:
    floor = max(0, start - _BEHIND)
    ends = (found.end() for found in phrase("clause_begin").finditer(text, floor, start + 1))
    begin = max((end for end in ends if end <= start), default=floor)
    mark = phrase("clause_end").search(text, start, start + _AHEAD)
    return begin, mark.start() if mark else min(start + _AHEAD, len(text))
