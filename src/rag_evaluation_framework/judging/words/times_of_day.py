"""Times of day in one form: 下午3点 and "3 in the afternoon" become ``3:00 pm``, 3点 becomes ``3:00``."""

from __future__ import annotations

import re

from rag_evaluation_framework.characters import HAN_CHARACTER
from rag_evaluation_framework.judging.words.quantities import quantities

_WITH_COLON = re.compile(r"((?:[凌零清早]晨|[早晚]上|[上中下]午|傍晚|晚间|[深半]夜)的?\d\d?):(\d\d)")
_OPEN = re.compile(r"(?<![\d.:第])(\d\d?)点(?:[整钟]|(?=\W|\Z|[开关到至出起前后]))")
_ENGLISH = re.compile(
    r"(?<![\d.:])(?P<clock>\d\d?(?::[0-5]\d)?)(?: o'clock)?,? "
    r"(?:in the (?:(?P<am>morning)|afternoon|evening)|at night)\b"
)
_NOON, _MIDNIGHT = re.compile(r"\b(?:noon|midday)\b|正午"), re.compile(r"\bmidnight\b|午夜")


def with_times(text: str) -> str:
    """Return a comparable text with figures and its times of day in one form.

    >>> with_times("下午3点开,晚上12点关"), with_times("at 9:30 in the morning"), with_times("3点")
    ('3:00 pm 开,12:00 am 关', 'at 9:30 am', '3:00')
    """
    text = _OPEN.sub(r"\1:00", _with_chinese_times(_WITH_COLON.sub(r"\1点\2分", text)))
    text = _ENGLISH.sub(lambda time: f"{time['clock']} {'am' if time['am'] else 'pm'}", text)
    return _NOON.sub("12:00 pm", _MIDNIGHT.sub("12:00 am", text))


def _with_chinese_times(text: str) -> str:
    parts: list[str] = []
    at = 0
    for found in quantities(text):
        if found.kind == "time" and HAN_CHARACTER.search(text, found.start, found.end):
            hour, minute = divmod(int(found.values[0]), 60)
            before = " " * text[max(0, found.start - 1) : found.start].isdigit()
            after = " " * text[found.end : found.end + 1].isalnum()
            clock = f"{hour % 12 or 12}:{minute:02} {'pm' if hour >= 12 else 'am'}"
            parts += [text[at : found.start], before, clock, after]
            at = found.end
    return "".join(parts) + text[at:]
