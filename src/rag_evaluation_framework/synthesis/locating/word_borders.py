"""Where words and numbers begin and end, so that no passage begins or ends within one."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias

from rag_evaluation_framework.characters import OTHER_UNSPACED
from rag_evaluation_framework.metrics.tokens import has_unspaced_script

Span: TypeAlias = tuple[int, int]
"""The characters ``[start, end)`` of a text."""

_OTHER_UNSPACED = re.compile(f"[{OTHER_UNSPACED}]")


def is_whole(text: str, start: int, end: int) -> bool:
    """Tell whether a place cuts no word and no number.

    >>> is_whole("costs 4.50", 6, 7), is_whole("costs 4.50", 6, 10)
    (False, True)
    """
    return _is_border(text, start) and _is_border(text, end)


def whole_words(text: str, start: int, end: int) -> Span:
    """Return a place in whole words: one that its end cuts is in if most of it is."""
    before, after = _borders_around(text, start)
    start = before if after - start >= start - before else after
    before, after = _borders_around(text, end)
    end = after if end - before >= after - end else before
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def _borders_around(text: str, at: int) -> Span:
    before = after = at
    while not _is_border(text, before):
        before -= 1
    while not _is_border(text, after):
        after += 1
    return before, after


def _is_border(text: str, at: int) -> bool:
    """Tell whether no word and no number goes on across a position."""
    if at == 0 or at == len(text):
        return True
    before, after = text[at - 1], text[at]
    if _is_letter(before) and _is_letter(after):
        return False
    # 4 is no passage of 4.50, and neither is .50
    if before.isdigit() and after in ".,":
        return not text[at + 1 : at + 2].isdigit()
    return not (before in ".," and after.isdigit() and text[at - 2 : at - 1].isdigit())


@lru_cache(maxsize=1 << 14)
def _is_letter(character: str) -> bool:
    if character.isascii():
        return character.isalnum()
    spaced = not has_unspaced_script(character) and _OTHER_UNSPACED.match(character) is None
    return character.isalnum() and spaced
