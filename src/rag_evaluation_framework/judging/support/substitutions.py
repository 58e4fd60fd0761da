"""One thing said in the place of another: *Sydney* where the evidence has *Canberra*, *closed* for *open*.

A claim and a sentence are laid beside each other by their words. What stands in the same place, between the
same neighbours, and in only one of the two, is a substitution. Of names it is a conflict, and of words that
exclude each other; any other word may be a paraphrase. Chinese is in :mod:`chinese_substitutions`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple
from unicodedata import normalize

from rag_evaluation_framework.judging.words.exclusive_words import exclusive_words
from rag_evaluation_framework.text.sentences import COMMON_TITLES
from rag_evaluation_framework.text.tokens import Word, sentence_words
from rag_evaluation_framework.text.vocabulary import DAYS, MONTHS, STOP_WORDS

_TITLES = COMMON_TITLES | {
    *("miss", "professor", "sir", "madam", "lord", "lady", "president", "saint", "mayor")
}
_CALENDAR = frozenset((*MONTHS, *DAYS))
# Endings of nouns that most often have a capital only because they begin a sentence.
_COMMON_ENDINGS = ("s", "ion", "ing", "ment", "ness", "ity", "ance", "ence", "ship")
# How many neighbours must be the same: two in all, on one side or on both.
_SAME_PLACE = 2
_LIKE_LETTERS = 4


class Substitution(NamedTuple):
    """What the claim says, and what the sentence has in its place."""

    said: str
    evidence: str


class _Run(NamedTuple):
    """The words ``[first, last)`` of a sentence."""

    first: int
    last: int


def name_substitutions(claim: str, sentence: str, *, new: frozenset[int]) -> Iterator[Substitution]:
    """Yield the names of a claim that are ``new``, by where they begin, with what the sentence has instead.

    Where each has one name only, and inside the sentence, one neighbour is enough: *in Lyon the workshop …*,
    *the workshop in Paris*.
    """
    said, written = sentence_words(claim), sentence_words(sentence)
    known = {word.key for word in said}
    ours = list(_names(said, [word.start in new for word in said]))
    theirs = list(_names(written, [word.key not in known for word in written]))
    is_only = len(ours) == len(theirs) == 1 and ours[0].first and theirs[0].first
    least = 1 if is_only else _SAME_PLACE
    for run in ours:
        for rival in theirs:
            one, other = said[run.first : run.last], written[rival.first : rival.last]
            if _same_neighbours(said, run, written, rival) >= least and _are_different(one, other):
                yield Substitution(
                    claim[one[0].start : one[-1].end], sentence[other[0].start : other[-1].end]
                )
                break


def exclusive_substitutions(claim: str, sentence: str) -> Iterator[Substitution]:
    """Yield the words of a claim that exclude what stands in the same place of the sentence."""
    said, written = sentence_words(claim), sentence_words(sentence)
    known, evidence = {word.key for word in said}, {word.key for word in written}
    # Of two that are compared either may come first: A is faster than B, B is slower than A.
    least = _SAME_PLACE + ("than" in known & evidence)
    for place, word in enumerate(said):
        excluded = exclusive_words().get(word.key)
        if excluded is None or word.key in evidence or evidence.isdisjoint(excluded):
            continue
        for at, rival in enumerate(written):
            if rival.key not in excluded or rival.key in known:
                continue
            if _number_before(said, place) != _number_before(written, at):
                continue
            alike = _same_neighbours(
                said, _Run(place, place + 1), written, _Run(at, at + 1), edges_count=True
            )
            if alike >= least:
                yield Substitution(word.form, rival.form)
                break


def _names(words: Sequence[Word], unmatched: Sequence[bool]) -> Iterator[_Run]:
    """Yield the longest runs of unmatched words that are written as names."""
    is_sought = [unmatched[place] and _is_name(words, place) for place in range(len(words))]
    for sought, places in groupby(range(len(words)), key=is_sought.__getitem__):
        if sought:
            first, *rest = places
            yield _Run(first, first + 1 + len(rest))


def _is_name(words: Sequence[Word], place: int) -> bool:
    word = words[place]
    if not word.is_capital or word.form in STOP_WORDS or word.form in _TITLES:
        return False
    return place > 0 or not word.form.endswith(_COMMON_ENDINGS)


def _number_before(words: Sequence[Word], place: int) -> str:
    """Return the number right before a word, or nothing: 5 km are not 5 m, but they may be 5,000 m."""
    return words[place - 1].key if place and words[place - 1].is_number else ""


def _same_neighbours(
    said: Sequence[Word], run: _Run, written: Sequence[Word], rival: _Run, *, edges_count: bool = False
) -> int:
    """Count the neighbours that are the same, outwards from both; the edge of both sentences may be one."""
    before = _same_steps(_before(said, run.first), _before(written, rival.first), edges_count)
    after = _same_steps(_after(said, run.last), _after(written, rival.last), edges_count)
    return before + after


def _before(words: Sequence[Word], place: int) -> Sequence[Word]:
    return words[max(place - _SAME_PLACE, 0) : place][::-1]


def _after(words: Sequence[Word], place: int) -> Sequence[Word]:
    return words[place : place + _SAME_PLACE]


def _same_steps(ours: Sequence[Word], theirs: Sequence[Word], edges_count: bool) -> int:
    steps = 0
    for step in range(_SAME_PLACE):
        if step >= len(ours) or step >= len(theirs):
            return steps + (edges_count and len(ours) == len(theirs))
        if ours[step].key != theirs[step].key:
            return steps
        steps += 1
    return steps


def _are_different(ours: Sequence[Word], theirs: Sequence[Word]) -> bool:
    """Tell whether two names cannot be one: no abbreviation, no other spelling, not a day and a place."""
    if {word.form in _CALENDAR for word in ours} != {word.form in _CALENDAR for word in theirs}:
        return False
    one, other = ([_bare(word.form) for word in words] for words in (ours, theirs))
    if _initials(one) == "".join(other) or _initials(other) == "".join(one):
        return False
    return not any(_begin_alike(left, right) for left in one for right in other)


def _begin_alike(one: str, other: str) -> bool:
    """Tell whether two words have the same first letters, or one is an initial of the other."""
    letters = 1 if 1 in (len(one), len(other)) else _LIKE_LETTERS
    return one[:letters] == other[:letters]


def _bare(form: str) -> str:
    return "".join(letter for letter in normalize("NFKD", form) if letter.isalnum())


def _initials(forms: Sequence[str]) -> str:
    return "".join(form[:1] for form in forms)
