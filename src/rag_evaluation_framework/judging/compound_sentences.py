"""Where a sentence is several statements side by side: "The pool is open daily, and entry is free".

It is cut at a semicolon; before a conjunction that a subject and its verb follow; and at a Chinese comma that
a clause with a predicate of its own follows. Before the cut there is a verb as well, so that a list of names
is never cut, and no condition, subordinate clause or reported speech that may hold both sides together. What
stands in quotes or brackets stays whole. A cut that is missed costs less than one in the wrong place.
An English clause that leaves its subject out ("and offers free parking") stays with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rag_evaluation_framework.characters import HAN
from rag_evaluation_framework.judging.words.clause_words import (
    CLAUSE_OPENERS,
    OPENERS,
    PAIR_WORDS,
    PRONOUNS,
    bare_words,
    begins_chinese_clause,
    begins_clause,
    verbs_and_holders,
)
from rag_evaluation_framework.judging.words.folded_text import simplified_characters

# The first character is matched by one set and looked back at, which is faster.
_JOINT = re.compile(
    r"[\s,;；，](?:(?<=\s)(?=(?P<bare>and|but|whereas)\s)"
    r"|(?<=,)\s*+(?=(?P<comma>and|but|while|whereas|yet)\s)"
    rf"|(?P<semicolon>(?<=[;；]))|(?P<chinese>(?:(?<=，)|(?<=,)(?=[{HAN}]))(?<![时后前来间中话].)))"
)
# HTML entities, quotes and brackets.
_WHOLE = re.compile(
    r"&#?\w{1,8};|\"[^\"]*+\"|“[^“”]*+”|‘[^‘’]*+’|「[^「」]*+」|『[^『』]*+』|《[^《》]*+》"
    r"|\([^()]*+\)|（[^（）]*+）|\[[^\[\]]*+\]|【[^【】]*+】"
)
_WORDS_ENOUGH = re.compile(rf"(?:[^\W\d_]+(?:['’]\w+)?\W+){{2}}\w|[{HAN}]\W*(?:[{HAN}\d]\W*){{3}}")
_LOOKED_AT = 120  # characters on each side of a joint


def statements_in(sentence: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each statement of a sentence.

    >>> sentence = "Apples, pears, and plums are sold, and the staff are kind."
    >>> [sentence[start:end] for start, end in statements_in(sentence)]
    ['Apples, pears, and plums are sold', 'and the staff are kind.']
    """
    begin = 0
    if _JOINT.search(sentence):
        plain = _plain(sentence)
        statement = _Statement(plain, 0)
        for joint in _JOINT.finditer(plain):
            at, end = joint.span()
            if (
                statement.may_end_at(joint)
                and _WORDS_ENOUGH.search(plain, max(begin, at - _LOOKED_AT), at)
                and _WORDS_ENOUGH.search(plain, end, end + _LOOKED_AT)
            ):
                yield _stripped(sentence, begin, at)
                begin, statement = end, _Statement(plain, joint.end(joint.lastgroup or 0))
    yield _stripped(sentence, begin, len(sentence))


def _plain(sentence: str) -> str:
    """Return a sentence with nothing to cut at in what stays whole, in simplified characters."""
    plain = _WHOLE.sub(_filled, sentence)
    return plain if plain.isascii() else plain.translate(simplified_characters())


def _filled(whole: re.Match[str]) -> str:
    return "x" * len(whole[0])


class _Statement:
    """What is said from the last cut on, as far as it is read."""

    def __init__(self, text: str, start: int) -> None:
        self._text, self._read = text, start
        opening = frozenset(bare_words(text[:_LOOKED_AT])[:1] if start == 0 else ())
        owes_clause = not opening.isdisjoint(CLAUSE_OPENERS)
        self._has_verb = False
        self._is_held = owes_clause or not opening.isdisjoint(OPENERS)
        self._verbs_owed = 1 + owes_clause  # one by itself, one by each word that another clause follows

    def may_end_at(self, joint: re.Match[str]) -> bool:
        """Tell whether another statement begins after a joint, and nothing holds the two together."""
        kind = joint.lastgroup or 0
        at, after = joint.start(), joint.end(kind)
        if kind == "semicolon":
            return True
        if kind == "chinese":
            return begins_chinese_clause(self._text, after) and self._is_free_at(at)
        words = self._text[after : after + _LOOKED_AT].split()
        if kind == "comma" and not PRONOUNS.isdisjoint(words[:1]):
            return self._owed_at(at) <= (not self._has_verb)  # its own verb may be one that is not known
        if not begins_clause(words):
            return False
        if kind == "comma":
            return self._owed_at(at) == 0
        return self._is_free_at(at) and not _is_pair(self._text[max(at - _LOOKED_AT, 0) : at].split(), words)

    def _is_free_at(self, place: int) -> bool:
        return self._owed_at(place) == 0 and not self._is_held

    def _owed_at(self, place: int) -> int:
        for is_verb in verbs_and_holders(self._text[self._read : place]):
            self._has_verb |= is_verb
            self._is_held |= not is_verb
            self._verbs_owed = max(self._verbs_owed - 1, 0) if is_verb else self._verbs_owed + 1
        self._read = place
        return self._verbs_owed


def _is_pair(before: Sequence[str], after: Sequence[str]) -> bool:
    """Tell whether a conjunction joins two names, or two things of which the words before it speak."""
    return all(word[0].isupper() for word in (*before[-1:], *after[:1])) or not PAIR_WORDS.isdisjoint(before)


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return end - len(piece.lstrip()), start + len(piece.rstrip())
