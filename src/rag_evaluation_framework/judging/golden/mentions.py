"""Where a text names something.

Chinese names are found anywhere, since nothing separates words; others stand between the edges of words and
may carry a plural's ending. A name counts where the text states it (:mod:`.stances`), and where it does not
deny of it what was asked (:mod:`.clause_denials`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag_evaluation_framework.judging.golden.clause_denials import denies_asked, is_negated
from rag_evaluation_framework.judging.golden.shared_pieces import telling
from rag_evaluation_framework.judging.golden.stances import asks_for_denied, asks_for_name, stance_at
from rag_evaluation_framework.judging.words.comparable_text import (
    Piece,
    alternatives,
    comparable,
    is_unspaced,
)
from rag_evaluation_framework.judging.words.even_text import even_text

_IN_NUMBER = re.compile(r"\d[.:]\d")  # 2.5 is not named by 5
_ENDINGS = ("", "s", "es")


@dataclass(frozen=True, slots=True)
class Mention:
    """The characters ``[start, end)`` of a comparable text that name something."""

    start: int
    end: int


def mentions(text: str, name: str) -> Iterator[Mention]:
    """Yield where a comparable text has a comparable name.

    >>> [text[each.start : each.end] for text in ("two cities",) for each in mentions(text, "city")]
    ['cities']
    """
    yield from _with_endings(text, name, _ENDINGS)
    if name.endswith("y"):
        yield from _with_endings(text, name[:-1], ("ies",))


def is_stated(answer: str, name: str, *, asked: Sequence[Piece] = (), even_denied: bool = False) -> bool:
    """Tell whether a comparable answer states a name, "A/B" being either, or has it to deny it.

    ``asked`` is what a question asks of the name: who is not the mayor was not named as the mayor. A name
    that is a denial itself, "no pets", is not denied by its own words.
    """
    accepted = ("stated", "denied") if even_denied else ("stated",)
    return any(
        stance_at(answer, mention.start) in accepted
        and (even_denied or is_negated(each) or not denies_asked(answer, mention.start, asked))
        for each in alternatives(name)
        for mention in mentions(answer, each)
    )


def names_in(answer: str, names: Sequence[str], *, question: str = "") -> list[bool]:
    """Tell of each name whether the answer has it; a question may ask for what is denied, 她讨厌什么？.

    A name that the question has, or that it does not ask for, is named wherever the answer speaks of it. One
    with a number in it may be written in another way: twelve, 十二, 12.

    >>> names_in("玛拉妮很熱情，但不喜欢探险。", ["玛拉妮", "热情/直率", "探险"])
    [True, True, False]
    >>> names_in("Anna is not the mayor.", ["Anna"], question="Who is the mayor?")
    [False]
    """
    said, asked = comparable(answer), comparable(question)
    in_figures = even_text(answer).lower()
    even_denied, wanted = asks_for_denied(asked), telling(asked, asked) if asks_for_name(asked) else []

    def is_named(name: str) -> bool:
        of_name = () if is_stated(asked, name) else wanted
        return any(
            is_stated(text, each, asked=of_name, even_denied=even_denied)
            for text, each in ((said, name), (in_figures, even_text(name)))
        )

    return list(map(is_named, names))


def _with_endings(text: str, name: str, endings: Sequence[str]) -> Iterator[Mention]:
    start = text.find(name) if name else -1
    while start >= 0:
        end = _word_end(text, start + len(name), endings) if _begins_a_word(text, start) else None
        if end is not None:
            yield Mention(start, end)
        start = text.find(name, start + 1)


def _begins_a_word(text: str, start: int) -> bool:
    if start == 0 or not _is_spaced_letter(text[start]):
        return True
    return not _is_spaced_letter(text[start - 1]) and not _IN_NUMBER.match(text, start - 2)


def _word_end(text: str, end: int, endings: Sequence[str]) -> int | None:
    """Return where the word ends that a name ends in; ``None`` where the name is only a part of a word."""
    if not _is_spaced_letter(text[end - 1]):
        return end
    ends = (end + len(ending) for ending in endings if text.startswith(ending, end))
    return next((each for each in ends if _is_edge(text, each)), None)


def _is_edge(text: str, end: int) -> bool:
    return not _is_spaced_letter(text[end : end + 1]) and not _IN_NUMBER.match(text, end - 1)


def _is_spaced_letter(character: str) -> bool:
    return character.isalnum() and not is_unspaced(character)
