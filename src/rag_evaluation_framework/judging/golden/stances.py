"""Whether a text states what stands at one of its places, denies it, or leaves it open.

- *Denied*: a negation or a verb of lack or dislike comes directly before it, or with nothing but light words
  between: ``不喜欢探险``, ``缺乏热情``, ``did not win``. Two negations cancel out. What a text asks only to
  say no, and instead of what it names something else, it denies too.
- *Open*: the clause says that it is not shown or not known, ``没有证据表明她们是朋友``, ``hard to say``;
  or it is a guess among others or by one who is not sure: ``我不确定，可能是阿尤或者别的``. A
  guess that the answer settles on is a statement: ``可能是阿尤``, ``我不确定，但应该是阿尤``.

What is denied further away, by irony or by a later sentence, is not seen.
"""

from __future__ import annotations

from typing import Literal

from rag_evaluation_framework.judging.golden.phrases import phrase, says, words_of
from rag_evaluation_framework.judging.words.comparable_text import SENTENCE_END
from rag_evaluation_framework.judging.words.negation import CHINESE_NEGATIONS, NEGATIONS

Stance = Literal["stated", "denied", "open"]

_NEGATIONS = words_of("lack_zh").union(("没有", "没法", "无法"), CHINESE_NEGATIONS)
_STEPS = sorted(_NEGATIONS | words_of("light_zh"), key=lambda word: (-len(word), word))
_LAST_CHARACTERS = frozenset(word[-1] for word in _STEPS)
_ENGLISH_NEGATIONS = words_of("lack").union(NEGATIONS)
_ENGLISH_STEPS = words_of("light")
_BEHIND = 48  # characters: light words do not go on for longer
_HEAD, _TAIL = 160, 80


def stance_at(text: str, start: int, *, through: tuple[str, ...] = ()) -> Stance:
    """Return the stance of a comparable text on what begins at a place; ``through`` are more light words.

    >>> [stance_at(text, text.index("热情")) for text in ("很热情", "缺乏热情", "没有证据表明她热情")]
    ['stated', 'denied', 'open']
    """
    head, tail = _around(text, start)
    if says("not_shown", head) or says("not_so", tail):
        return "open"
    is_negated = _is_negated(text, start, through) != says("rhetorical", head)
    if is_negated or says("lacked_too", head) or says("dismissed", head):
        return "denied"
    if says("towards", head) and says("no_interest", tail):
        return "denied"
    if phrase("asked_then_no").match(text, start + len(tail)):
        return "denied"
    return "open" if _is_a_guess(text, start, head, tail) else "stated"


def asks_for_name(question: str) -> bool:
    """Tell whether a comparable question asks who or what, and not for a yes or no."""
    return says("asks_for", question)


def asks_for_denied(question: str) -> bool:
    """Tell whether a comparable question asks for what is denied: 她讨厌什么？, "What did he not see?"."""
    return asks_for_name(question) and says("denies", question)


def stands_bare(text: str, start: int) -> bool:
    """Tell whether nothing is said before a place of a comparable text: it only names what was asked."""
    return phrase("bare").fullmatch(text[max(0, start - 16) : start]) is not None


def _around(text: str, start: int) -> tuple[str, str]:
    """Return the sentence before a place and the rest of the clause after it, as far as they matter."""
    head = text[max(0, start - _HEAD) : start]
    ends = [found.end() for found in SENTENCE_END.finditer(head)]
    tail = text[start : start + _TAIL]
    end = phrase("comma_or_end").search(tail)
    return head[ends[-1] if ends else 0 :], tail[: end.start()] if end else tail


def _is_a_guess(text: str, start: int, head: str, tail: str) -> bool:
    """Tell whether what begins at a place is one guess among others, or a guess by one who is not sure."""
    clause = head.rpartition(",")[2]
    maybe = phrase("maybe").search(clause)
    if says("or_else", tail):
        return True
    if not (maybe or says("likely", clause) or says("likely", tail) or says("or", clause + tail)):
        return False
    following = text[start + len(tail) : start + len(tail) + _TAIL]
    if maybe and (says("or", clause[maybe.end() :] + tail) or phrase("or_next").match(following)):
        return True
    if tail.endswith("吧") and says("or", clause + tail):
        return True
    if clause.startswith("也可能") or phrase("unsure_after").match(following):
        return True
    before = text[max(0, start - _HEAD) : start - len(clause)]
    return says("unsure_before", before) and not phrase("but").match(clause)


def _is_negated(text: str, start: int, through: tuple[str, ...]) -> bool:
    floor = max(0, start - _BEHIND)
    at, negations = start, 0
    while (step := _step_back(text, at, floor, through)) is not None:
        at, is_negation = step
        negations += is_negation
    return negations % 2 == 1


def _step_back(text: str, at: int, floor: int, through: tuple[str, ...]) -> tuple[int, bool] | None:
    """Return where the light word or negation before a place begins, and whether it is a negation."""
    if at > floor and text[at - 1] in _LAST_CHARACTERS:
        for word in _STEPS:
            if text.endswith(word, floor, at):
                return at - len(word), word in _NEGATIONS
    before = text[floor:at].rstrip(" ")
    end = floor + len(before)
    if before.endswith(through):  # of very many, all at once
        return end - next(len(name) for name in through if before.endswith(name)), False
    word = before.rpartition(" ")[2]
    if end == at or not word:  # words of spaced scripts are parted from what they deny
        return None
    if word in _ENGLISH_NEGATIONS or word.endswith("n't"):
        return end - len(word), True
    owner = word.removesuffix("'s")
    return (end - len(word), False) if owner in _ENGLISH_STEPS or owner in through else None
