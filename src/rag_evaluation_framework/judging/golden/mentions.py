"""Where a text names something.

Chinese names are found anywhere, since nothing separates words; others stand between the edges of words and
may carry a plural's ending. A name counts where the text states it (:mod:`.stances`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag_evaluation_framework.judging.golden.stances import asks_for_denied, stance_at
from rag_evaluation_framework.judging.words.comparable_text import alternatives, comparable, is_unspaced

_ENDINGS = ("", "s", "es")


@dataclass(frozen=True, slots=True)
class Mention:
    """The characters ``[start, end)`` of a comparable text that name something."""

    start: int
    end: int


def mentions(text: str, name: str) -> Iterator[Mention]:
    """Yield where a comparable text has a comparable name."""
    start = text.find(name) if name else -1
    while start >= 0:
        end = start + len(name)
        if _begins_a_word(text, start) and (ending := _word_end(text, end)) is not None:
            yield Mention(start, ending)
        start = text.find(name, start + 1)


def is_stated(answer: str, name: str, *, even_denied: bool = False) -> bool:
    """Tell whether a comparable answer states a name, "A/B" being either, or has it to deny it."""
    accepted = ("stated", "denied") if even_denied else ("stated",)
    return any(
        stance_at(answer, mention.start) in accepted
        for each in alternatives(name)
        for mention in mentions(answer, each)
    )


def names_in(answer: str, names: Sequence[str], *, question: str = "") -> list[bool]:
    """Tell of each name whether the answer has it; a question may ask for what is denied, 她讨厌什么？.

    >>> names_in("玛拉妮很熱情，但不喜欢探险。", ["玛拉妮", "热情/直率", "探险"])
    [True, True, False]
    """
    said = comparable(answer)
    even_denied = asks_for_denied(comparable(question))
    return [is_stated(said, name, even_denied=even_denied) for name in names]


def _begins_a_word(text: str, start: int) -> bool:
    return start == 0 or not (_is_spaced_letter(text[start]) and _is_spaced_letter(text[start - 1]))


def _word_end(text: str, end: int) -> int | None:
    """Return where the word ends that a name ends in; ``None`` where the name is only a part of a word."""
    if not _is_spaced_letter(text[end - 1]):
        return end
    after = end
    while after < len(text) and _is_spaced_letter(text[after]):
        after += 1
    return after if text[end:after] in _ENDINGS else None


def _is_spaced_letter(character: str) -> bool:
    return character.isalnum() and not is_unspaced(character)
