"""Numbers that leave room: *more than 200*, *at most 5*, *about 30*, *the 1990s*; 超过200, 5公里左右."""

from __future__ import annotations

import re
from typing import NamedTuple

from rag_evaluation_framework.characters import HAN
from rag_evaluation_framework.judging.words.quantities import Kind, Quantity

_BEFORE = re.compile(
    r"""(?:
    (?P<least>\b(?:(?:more|greater|higher|longer|larger)\ than|over|above|exceed(?:s|ed|ing)?|upwards?\ of
        |at\ least|not?\ (?:less|fewer)\ than|a\ minimum\ of)
        |超过|超過|多于|大于|高于|至少|最少|不少于|不低于|逾)
    |(?P<most>\b(?:(?:less|fewer|lower|shorter|smaller)\ than|under|below|up\ to|at\ most|not?\ more\ than
        |a\ maximum\ of)
        |不到|不足|少于|小于|低于|至多|最多|不超过|不超過|不多于)
    |(?P<near>\b(?:about|around|approximately|approx\.?|roughly|nearly|almost|close\ to|circa|some)|[~≈]
        |大约|大約|大概|将近|將近|接近|差不多|[约約近])
    )\s?[$€£¥]?\s?\Z""",
    re.VERBOSE | re.IGNORECASE,
)
_LONGEST_BEFORE = 24
_AFTER = re.compile(
    rf"""(?P<decade>s\b)
    |\s?[{HAN}]{{0,3}}?(?:(?P<least>以上|[多余餘])|(?P<most>以下|以内|以內)|(?P<near>左右|上下))
    |(?P<more>\+|(?:\s\w+)?\s(?:or|and)\s(?:more|above|over|older|longer)\b)
    |(?P<less>(?:\s\w+)?\s(?:or|and)\s(?:less|fewer|below|under|younger|shorter)\b)""",
    re.VERBOSE | re.IGNORECASE,
)
_NEAR = 0.1  # of the number itself
_INFINITE = float("inf")


class Bounds(NamedTuple):
    """The least and the most that a number may stand for."""

    low: float
    high: float
    kind: Kind

    @property
    def leave_room(self) -> bool:
        return self.low < self.high

    @property
    def are_limit(self) -> bool:
        return _INFINITE in (-self.low, self.high)

    def admit(self, other: Quantity) -> bool:
        """Tell whether another number may be meant."""
        return self.kind == other.kind and any(self.low <= value <= self.high for value in other.values)


def bounds(text: str, number: Quantity) -> Bounds:
    """Return the bounds of a number of a text; a plain one stands for itself.

    >>> from rag_evaluation_framework.judging.words.quantities import quantities
    >>> text = "About 10 of more than 200."
    >>> [bounds(text, number)[:2] for number in quantities(text)]
    [(9.0, 11.0), (200.0, inf)]
    """
    return Bounds(*_low_and_high(text, number), number.kind)


def admits(text: str, number: Quantity, other_text: str, other: Quantity) -> bool:
    """Tell whether a number leaves room for that of another text. Two limits are the same, or differ."""
    room = bounds(text, number)
    return room.leave_room and room.admit(other) and not bounds(other_text, other).are_limit


def _low_and_high(text: str, number: Quantity) -> tuple[float, float]:
    value = number.values[0]
    found = _BEFORE.search(text, max(0, number.start - _LONGEST_BEFORE), number.start)
    found = found or _AFTER.match(text, number.end)
    sort = found.lastgroup if found is not None else None
    if sort in ("least", "more"):
        return value, _INFINITE
    if sort in ("most", "less"):
        return -_INFINITE, value
    if sort == "near":
        return value - _NEAR * value, value + _NEAR * value
    if sort == "decade":
        return value, value + (9 if value % 100 else 99)
    return value, value
