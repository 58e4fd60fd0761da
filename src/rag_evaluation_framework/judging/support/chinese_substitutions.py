"""Chinese said in the place of other Chinese: 上海 where the evidence has 北京, 关闭 for 开放.

There are no capitals and no spaces to tell a name by, so that a short run of characters is taken for one
where a word stands before it that introduces a name or a place: 叫, 在, 是.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from rag_evaluation_framework.judging.support.substitutions import Substitution
from rag_evaluation_framework.judging.words.exclusive_words import chinese_exclusive, exclusive_words
from rag_evaluation_framework.text.normalisation import folded_with_places
from rag_evaluation_framework.text.scripts import HAN
from rag_evaluation_framework.text.vocabulary import STOP_CHARACTERS

_INTRODUCES = frozenset("叫在是为由于从到名自住去往")
_HAN_RUN = re.compile(f"[{HAN}]+")
_OF_TIME = re.compile(r"[年月日周时点午晚早春夏秋冬]|星期")
# Characters that weaken or count, and name nothing.
_NOTHING = STOP_CHARACTERS | frozenset("很也都就还又更最有不没无未会能可以要")
_LONGEST = 4
_LONGEST_SHARED = 1


class _Piece(NamedTuple):
    """Characters ``[start, end)`` that stand in no pair of the other text."""

    start: int
    end: int


def chinese_name_substitutions(claim: str, sentence: str) -> Iterator[Substitution]:
    """Yield short runs of characters that stand where a name does, with what the sentence has instead.

    >>> list(chinese_name_substitutions("会议在上海举行。", "会议在北京举行。"))
    [Substitution(said='上海', evidence='北京')]
    """
    (ours, places), (theirs, evidence_places) = folded_with_places(claim), folded_with_places(sentence)
    rivals = list(_unmatched(theirs, ours))
    for unmatched in _unmatched(ours, theirs):
        for other in rivals:
            piece, rival = _without_same_end(ours, unmatched, theirs, other)
            shared = _shared_before(ours, piece, theirs, rival)
            if shared is None or not _same_after(ours, piece, theirs, rival):
                continue
            said = claim[places[piece.start - shared] : places[piece.end - 1] + 1]
            found = sentence[evidence_places[rival.start - shared] : evidence_places[rival.end - 1] + 1]
            if bool(_OF_TIME.search(said)) == bool(_OF_TIME.search(found)):
                yield Substitution(said, found)
                break


def chinese_exclusive_substitutions(claim: str, sentence: str) -> Iterator[Substitution]:
    """Yield the Chinese words of a claim that exclude what the sentence has beside the same character."""
    ours, theirs = folded_with_places(claim)[0], folded_with_places(sentence)[0]
    written = list(chinese_exclusive().finditer(theirs))
    for match in chinese_exclusive().finditer(ours):
        if match[0] in theirs:
            continue
        for rival in written:
            if rival[0] not in exclusive_words()[match[0]] or rival[0] in ours:
                continue
            same_before = ours[: match.start()][-1:] == theirs[: rival.start()][-1:]
            if same_before or ours[match.end() :][:1] == theirs[rival.end() :][:1]:
                yield Substitution(match[0], rival[0])
                break


def _unmatched(text: str, other: str) -> Iterator[_Piece]:
    """Yield the short runs of characters that stand in no pair shared with the other text."""
    for run in _HAN_RUN.finditer(text):
        known = [False] * len(run[0])
        for place in range(len(known) - 1):
            if run[0][place : place + 2] in other:
                known[place] = known[place + 1] = True
        start = run.start()
        for free in re.finditer("0+", "".join("1" if each else "0" for each in known)):
            piece = _Piece(start + free.start(), start + free.end())
            piece = _without_grammar(text, piece)
            if 0 < piece.end - piece.start <= _LONGEST:
                yield piece


def _without_grammar(text: str, piece: _Piece) -> _Piece:
    start, end = piece
    while start < end and text[start] in _NOTHING | _INTRODUCES:
        start += 1
    while start < end and text[end - 1] in _NOTHING:
        end -= 1
    return _Piece(start, end)


def _without_same_end(ours: str, piece: _Piece, theirs: str, rival: _Piece) -> tuple[_Piece, _Piece]:
    """Leave out characters that both end with: in 鲁迅写 and 老舍写 only the names differ."""
    end, rival_end = piece.end, rival.end
    while min(end - piece.start, rival_end - rival.start) > 1 and ours[end - 1] == theirs[rival_end - 1]:
        end, rival_end = end - 1, rival_end - 1
    return _Piece(piece.start, end), _Piece(rival.start, rival_end)


def _shared_before(ours: str, piece: _Piece, theirs: str, rival: _Piece) -> int | None:
    """Return how many characters both names begin with, after what introduces them; None if nothing does."""
    for shared in range(_LONGEST_SHARED + 1):
        one, other = piece.start - shared - 1, rival.start - shared - 1
        if one < 0 or other < 0 or ours[one] != theirs[other]:
            return None
        if ours[one] in _INTRODUCES:
            return shared
    return None


def _same_after(ours: str, piece: _Piece, theirs: str, rival: _Piece) -> bool:
    one, other = ours[piece.end : piece.end + 1], theirs[rival.end : rival.end + 1]
    return one == other or not (_HAN_RUN.match(one) or _HAN_RUN.match(other))
