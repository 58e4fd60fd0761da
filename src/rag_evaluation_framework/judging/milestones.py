"""The steps that an answer covers, and the number of places that they are from."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from rag_evaluation_framework.judging.mentions import is_denied, phrase, says, stance_at
from rag_evaluation_framework.text.normalisation import comparable, spellings
from rag_evaluation_framework.text.numbers import even_text
from rag_evaluation_framework.text.sentences import SENTENCE_END
from rag_evaluation_framework.text.tokens import pieces
from rag_evaluation_framework.text.vocabulary import STOP_WORDS, STRUCTURE, stem

# Which steps of a story an answer tells, and where it first tells each.
#
# A step is told where one sentence has at least three quarters of its units, in their order and close
# together: Chinese characters and kana one by one, other words by their stems, numbers by their value,
# words of grammar left out unless the step has no others. ``报名竞技场`` is told by 报名参加了竞技场试炼
# and not by 离开竞技场. A step of three units or fewer must be told whole, of a long one its beginning. One
# that is denied, "the item was not shipped", is not told, and one in quite other words is not recognised.

_SENTENCE = re.compile(rf"[^。!?;\n]+?(?:{SENTENCE_END.pattern}|\Z)")
# What a telling of a step may leave out or add.
_GRAMMAR = STOP_WORDS | STRUCTURE | frozenset("过到将并")

_BEFORE = 40  # characters: what is not done is told right before it
_MOST_UNITS = 100  # of a step are compared, for the time grows with their square

Unit = tuple[str, int]
"""A unit of comparison, and its position."""


def first_tellings(answer: str, steps: Sequence[str]) -> list[int | None]:
    """Return the character at which the comparable answer first tells each step; ``None`` for never.

    >>> first_tellings("旅行者报名参加了竞技场试炼，赢得了胜利。", ["初入纳塔", "报名竞技场", "赢得胜利"])
    [None, 3, 14]
    """
    said = even_text(answer)
    sentences = list(_sentences(said, _GRAMMAR))
    return [_first_telling(said, sentences, step) for step in steps]


def _sentences(said: str, idle: Collection[str]) -> Iterator[list[Unit]]:
    for found in _SENTENCE.finditer(said):
        yield list(_units(found[0], idle, found.start()))


def _units(text: str, idle: Collection[str], offset: int = 0) -> Iterator[Unit]:
    """Yield the units of a comparable text that are not idle."""
    for piece in pieces(text):
        if piece.text not in idle:
            unit = piece.text if piece.is_unspaced else stem(piece.text.lower().removesuffix("'s"))
            yield unit, offset + piece.start


def _first_telling(said: str, sentences: Sequence[Sequence[Unit]], step: str) -> int | None:
    found = []
    for text in map(even_text, spellings(step)):
        if wanted := [unit for unit, _ in _units(text, _GRAMMAR)]:
            found.append(_first_in(said, sentences, wanted[:_MOST_UNITS]))
        elif every := [unit for unit, _ in _units(text, ())]:
            found.append(_first_in(said, list(_sentences(said, ())), every[:_MOST_UNITS]))
    return min((place for place in found if place is not None), default=None)


def _first_in(said: str, sentences: Sequence[Sequence[Unit]], wanted: Sequence[str]) -> int | None:
    told = (each for sentence in sentences for each in _tellings(sentence, wanted))
    return next((first for first, last in told if _states(said, first, last)), None)


def _states(said: str, first: int, last: int) -> bool:
    """Return True if a text states the units from one to another, with no denial between them."""
    if stance_at(said, first) != "stated" or says("not_done", said[max(0, first - _BEFORE) : first]):
        return False
    between = phrase("clause_begin").split(phrase("quality").sub("", said[first:last]))
    is_only_later = phrase("until").match(said, last) is not None
    return is_only_later or not any(map(is_denied, (between[0], between[-1])))


def _tellings(sentence: Sequence[Unit], wanted: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where a sentence has enough of the wanted units, in order and close together: first and last."""
    enough = len(wanted) if len(wanted) <= 3 else -(-len(wanted) * 3 // 4)
    reach = 2 * len(wanted) + 6
    known = set(wanted)
    first = 0
    while first < len(sentence):
        begins = sentence[first][0] in known
        window = [unit for unit in sentence[first : first + reach] if unit[0] in known] if begins else []
        if len(window) >= enough and (common := _common_in_order(window, wanted))[-1] >= enough:
            yield sentence[first][1], window[common.index(common[-1])][1]
            first += enough  # what begins inside a telling is the same telling
        else:
            first += 1


def _common_in_order(window: Sequence[Unit], wanted: Sequence[str]) -> list[int]:
    """Return the lengths of the longest common subsequences from the first unit of a window to each."""
    begin = wanted.index(window[0][0])
    longest = [0] * (len(wanted) - begin)
    common = [1]
    for each, _ in window[1:]:
        before = 0
        for index in range(1, len(longest)):
            above = longest[index]
            if wanted[begin + index] == each:
                longest[index] = max(longest[index], before + 1)
            else:
                longest[index] = max(longest[index], longest[index - 1])
            before = above
        common.append(1 + (longest[-1] if len(longest) > 1 else 0))
    return common


# How many different places of the source the retrieved texts come from, as far as golden sets can tell.

# A snippet may be cut by the edge of a chunk; half of it is enough to call the place found.
_SHARE = 0.5
_GRAM = 8


def golden_places(contexts: Sequence[str], snippets: Sequence[str]) -> int:
    """Count the snippets of which a context holds at least half, by stretches of 8 characters."""
    texts = [comparable(context) for context in contexts]
    return sum(
        any(_holds(text, comparable(snippet)) for text in texts) for snippet in dict.fromkeys(snippets)
    )


def telling_places(contexts: Sequence[str], steps: Sequence[str]) -> int:
    """Count the contexts that tell one of the steps; one that lies within another is no place of its own."""
    texts = list(dict.fromkeys(map(comparable, contexts)))
    own = [text for text in texts if text and not any(text != other and text in other for other in texts)]
    return sum(any(place is not None for place in first_tellings(text, steps)) for text in own)


def _holds(text: str, snippet: str) -> bool:
    if len(snippet) <= _GRAM:
        return bool(snippet) and snippet in text
    grams = [snippet[at : at + _GRAM] for at in range(len(snippet) - _GRAM + 1)]
    return sum(gram in text for gram in grams) >= _SHARE * len(grams)
