"""Where a text names something.

Chinese names are found anywhere, since nothing separates words; others stand between the edges of words and
may carry a plural's ending. A name counts where the text states it (:mod:`.stances`), and where it does not
deny of it what was asked (:mod:`.clause_denials`).
"""

from __future__ import annotations

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

    A name that the question has, or that it does not ask for, is named wherever the answer speaks of it.

    >>> names_in("玛拉妮很熱情，但不喜欢探险。", ["玛拉妮", "热情/直率", "探险"])
    [True, True, False]
    >>> names_in("Anna is not the mayor.", ["Anna"], question="Who is the mayor?")
    [False]
    """
    said, asked = comparable(answer), comparable(question)
    even_denied, wanted = asks_for_denied(asked), telling(asked, asked) if asks_for_name(asked) else []
    return [
        is_stated(said, name, asked=() if is_stated(asked, name) else wanted, even_denied=even_denied)
        for name in names
    ]


def _with_endings(text: str, name: str, endings: Sequence[str]) -> Iterator[Mention]:
    start = text.find(name) if name else -1
    while start >= 0:
        end = _word_end(text, start + len(name), endings) if _begins_a_word(text, start) else None
        if end is not None:
            yield Mention(start, end)
        start = text.find(name, start + 1)


def _begins_a_word(text: str, start: int) -> bool:
    return start == 0 or not (_is_spaced_letter(text[start]) and _is_spaced_letter(text[start - 1]))


def _word_end(text: str, end: int, endings: Sequence[str]) -> int | None:
    """Return where the word ends that a name ends in; ``None`` where the name is only a part of a word."""
    if not _is_spaced_letter(text[end - 1]):
        return end
    ends = (end + len(ending) for ending in endings if text.startswith(ending, end))
    return next((each for each in ends if not _is_spaced_letter(text[each : each + 1])), None)


def _is_spaced_letter(character: str) -> bool:
    return character.isalnum() and not is_unspaced(character)
