"""What Chinese clauses deny: 不, 没有 and the like, where they are no part of a word such as 不同 or 未来."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from rag_evaluation_framework.judging.support.clauses import WHAT_WAS_SAID, Clause
from rag_evaluation_framework.text.normalisation import folded_with_places
from rag_evaluation_framework.text.scripts import HAN, HAN_CHARACTER
from rag_evaluation_framework.text.vocabulary import CHINESE_NEGATIONS, STOP_CHARACTERS

_CUE = re.compile(
    r"(?:没有|并非|不是|不能|不可以|不可|无法|不会|不得|不许|不准|不再|不要|从未|从不|尚未|未能|未曾|未|没|不|非)"
)
_WORDS_WITHOUT_DENIAL = re.compile(
    r"不同|不仅|不但|不过|不断|不久|不少|不错|不管|不论|不锈|不得不|无论|未来|非常|非洲|非遗|是非|除非|并不仅|不只|不止|不足|不满"
)
_MODAL = frozenset("能可以会得要应该许准被有再曾去把将")
_OF_DENIAL = _MODAL.union(CHINESE_NEGATIONS)
_CONDITION = re.compile(r"如果|除非|除了|只有|只要|之前|之后|以前|以后|以内|的时候|[若仅]|时(?=,)")
_CLAUSE_END = re.compile("[,;]")
_TOKEN = re.compile(rf"[{HAN}]+|[^\W_{HAN}]+")
# Between two clauses, or of whoever is spoken to.
_NO_CONTENT = STOP_CHARACTERS | frozenset("但而且并却则就也都还")


def chinese_clauses(text: str) -> list[Clause]:
    """Return the clauses of a Chinese text by their characters and pairs of them."""
    even = folded_with_places(text)[0]
    cues = _cues(even)
    ends = [0, *(match.end() for match in _CLAUSE_END.finditer(even)), len(even)]
    return [
        _clause(
            even[:start],
            even[start:end],
            [(one - start, other - start) for one, other in cues if start <= one < end],
        )
        for start, end in pairwise(ends)
    ]


def chinese_conditions(text: str) -> list[str]:
    """Return the words by which a Chinese text says when it holds."""
    return _CONDITION.findall(folded_with_places(text)[0])


def chinese_cues(text: str) -> list[str]:
    """Return the words by which a Chinese text denies."""
    even = folded_with_places(text)[0]
    return [even[start:end] for start, end in _cues(even)]


def is_of_chinese_denial(token: str) -> bool:
    """Tell whether a token has a character that denies or says that one may."""
    return not _OF_DENIAL.isdisjoint(token)


def _cues(text: str) -> list[tuple[int, int]]:
    words = [match.span() for match in _WORDS_WITHOUT_DENIAL.finditer(text)]
    return [
        match.span()
        for match in _CUE.finditer(text)
        if not any(start < match.end() and match.start() < end for start, end in words)
    ]


def _clause(before: str, text: str, cues: Sequence[tuple[int, int]]) -> Clause:
    denied: set[str] = set()
    meant = _topic(before, text) if cues else ""
    for start, end in cues:
        while text[end : end + 1] in _MODAL:
            end += 1
        has_object = _has_content(text[end:])
        denied.add("".join(_TOKEN.findall(text[end : end + 2])) if has_object else WHAT_WAS_SAID)
        if not has_object or not _has_content(text[:start]):
            meant = before
    words = tuple(_words(_affirmed(text, cues)))
    return Clause(words, frozenset(words), len(cues), frozenset(denied), frozenset(_words(meant)))


def _topic(before: str, text: str) -> str:
    """Return whom a clause may still speak of, before what it says anew: 本店 in 本店周一营业,周末不营业."""
    return "".join(takewhile(lambda character: character not in text, before))


def _affirmed(text: str, cues: Sequence[tuple[int, int]]) -> str:
    """Return a clause as it would be without its denials: 不可以 is 可以."""
    places = {start for start, _ in cues}
    return "".join(character for place, character in enumerate(text) if place not in places)


def _words(text: str) -> Iterator[str]:
    for token in _TOKEN.findall(text):
        if HAN_CHARACTER.match(token):
            yield from token
            yield from map("".join, pairwise(token))
        else:
            yield token


def _has_content(text: str) -> bool:
    return any(not _NO_CONTENT.issuperset(token) for token in _TOKEN.findall(text))
