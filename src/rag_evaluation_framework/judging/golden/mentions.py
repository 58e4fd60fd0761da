"""Where a text names something, and whether it does so only to deny it.

Chinese names are found anywhere, since nothing separates words; others stand between the edges of words and
may carry a plural's ending. A mention is denied when a negation comes directly before it, or with
nothing but light words between: ``不喜欢探险``, ``did not win``. Two negations cancel out. What is denied
further away, by irony or by a later sentence, is not seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag_evaluation_framework.judging.words.comparable_text import alternatives, comparable, is_unspaced

_NEGATIONS = frozenset(["没有", "没法", "无法", *"不没未无非"])
# What may stand between a negation and what it denies.
_LIGHT = """
喜欢 参加 参与 成为 属于 认识 认为 获得 得到 赢得 去过 可能 应该 可以 任何 这么 那么 怎么 什么 经常
一个 一位 一名 真正 是 叫 会 能 爱 太 很 够 算 再 曾 有 想 要 去 在 和 与 跟 对 像 被 把 将 为 得 他 她 它
的 们 个 位 好
"""
_STEPS = sorted((*_NEGATIONS, *_LIGHT.split()), key=len, reverse=True)
_LAST_CHARACTERS = frozenset(word[-1] for word in _STEPS)

_ENGLISH_NEGATIONS = frozenset(["not", "never", "no", "neither", "nor", "without", "cannot", "hardly"])
_ENGLISH_LIGHT = """
a an the be been being is was are were have has had do does did really very at all exactly actually even
that so as to like likes love loves his her their its any anyone longer ever in on with by of called named
become became get got win wins won good one
"""
_ENGLISH_STEPS = frozenset(_ENGLISH_LIGHT.split())
_BEHIND = 48  # characters: light words do not go on for longer

_ENDINGS = ("", "s", "es")


@dataclass(frozen=True, slots=True)
class Mention:
    """The characters ``[start, end)`` of a comparable text that name something."""

    start: int
    end: int
    denied: bool


def mentions(text: str, name: str, *, through: Sequence[str] = ()) -> Iterator[Mention]:
    """Yield where a comparable text has a comparable name; ``through`` are more light words."""
    start = text.find(name) if name else -1
    while start >= 0:
        end = start + len(name)
        if _begins_a_word(text, start) and (ending := _word_end(text, end)) is not None:
            yield Mention(start, ending, is_denied(text, start, through=through))
        start = text.find(name, start + 1)


def first_mention(answer: str, name: str) -> Mention | None:
    """Return the first mention that is not denied of a name, "A/B" being either, in a comparable answer."""
    found = [
        mention
        for each in alternatives(name)
        if (mention := next((one for one in mentions(answer, each) if not one.denied), None))
    ]
    return min(found, key=lambda mention: mention.start, default=None)


def names_in(answer: str, names: Sequence[str]) -> list[bool]:
    """Tell of each name whether the answer has it.

    >>> names_in("玛拉妮很熱情，但不喜欢探险。", ["玛拉妮", "热情/直率", "探险"])
    [True, True, False]
    """
    said = comparable(answer)
    return [first_mention(said, name) is not None for name in names]


def is_denied(text: str, start: int, *, through: Sequence[str] = ()) -> bool:
    """Tell whether what begins at a place of a comparable text is denied by what stands before it."""
    floor = max(0, start - _BEHIND)
    at, negations = start, 0
    while (step := _step_back(text, at, floor, through)) is not None:
        at, is_negation = step
        negations += is_negation
    return negations % 2 == 1


def _step_back(text: str, at: int, floor: int, through: Sequence[str]) -> tuple[int, bool] | None:
    """Return where the light word or negation before a place begins, and whether it is a negation."""
    if at > floor and text[at - 1] in _LAST_CHARACTERS:
        for word in _STEPS:
            if text.endswith(word, floor, at):
                return at - len(word), word in _NEGATIONS
    before = text[floor:at].rstrip(" ")
    end = floor + len(before)
    for name in through:
        if name and before.endswith(name):
            return end - len(name), False
    word = before.rpartition(" ")[2]
    if end == at or not word:  # words of spaced scripts are parted from what they deny
        return None
    if word in _ENGLISH_NEGATIONS or word.endswith("n't"):
        return end - len(word), True
    owner = word.removesuffix("'s")
    return (end - len(word), False) if owner in _ENGLISH_STEPS or owner in through else None


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
