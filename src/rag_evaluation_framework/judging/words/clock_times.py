"""Times of day as Chinese says them: 下午3点 is 15:00, 九点半 is 9:30, and 5点 in 下午3点至5点 is 17:00."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

# The hour from which a part of the day is reckoned: of two hours with the same name, the first after it.
_BEGINS = {
    **dict.fromkeys(("凌晨", "零晨"), 0),
    **dict.fromkeys(("清晨", "早上", "早晨", "上午"), 1),
    "中午": 10,
    "下午": 12,
    **dict.fromkeys(("傍晚", "晚上", "晚间", "晚間"), 16),
    **dict.fromkeys(("深夜", "半夜"), 20),
}
_UNTOLD = _BEGINS["上午"]
_LONGEST_PART = len("下午的 ")
_HOUR = re.compile(r"\s?(?:[点點]|[时時](?![间間段]))(?:(?P<more>半|[一1三3]刻)|[钟鐘]|整(?!理))?")
_MORE = {"半": 30, "一刻": 15, "1刻": 15, "三刻": 45, "3刻": 45}
_TO = re.compile(r"\s?(?:[到至~～–—-]|直到)\s?")
HOUR_SIGNS = frozenset("点點时時")
"""What stands after an hour."""


class ClockTime(NamedTuple):
    """A time of day at ``[start, end)``, in minutes after midnight."""

    start: int
    end: int
    time: float
    hour_at: int
    minutes_at: int | None
    is_told: bool
    """Whether the half of the day is told, and that it is a time of day: 三点 may be three points."""


def clock_times(text: str, numbers: Sequence[tuple[int, int, float]]) -> Iterator[ClockTime]:
    """Yield the times of day of a text, of whose numbers start, end and value are given.

    >>> [found.time for found in clock_times("下午3点20分至5点", [(2, 3, 3.0), (4, 6, 20.0), (8, 9, 5.0)])]
    [920.0, 1020.0]
    """
    following = {start: (end, value) for start, end, value in numbers}
    begins, is_told, last = _UNTOLD, False, 0
    for hour_at, end, hour in numbers:
        sign = _HOUR.match(text, end)
        if sign is None or hour not in range(25):
            continue
        start = _part_of_day(text, hour_at)
        if start < hour_at:
            begins, is_told = _BEGINS[text[start : start + 2]], True
        elif not _TO.fullmatch(text, last, hour_at):
            begins, is_told = _UNTOLD, hour > 12
        begins = _hour(int(hour), begins)
        minutes_at, last, minutes = None, sign.end(), float(_MORE.get(sign["more"], 0))
        if last in following:
            minutes_end, value = following[last]
            is_followed = text.startswith("分", minutes_end)
            if value in range(60) and (value >= 10 or is_followed):
                minutes_at, last, minutes = last, minutes_end + is_followed, value
        yield ClockTime(start, last, 60.0 * (begins % 24) + minutes, hour_at, minutes_at, is_told)


def _part_of_day(text: str, hour_at: int) -> int:
    """Return where the part of the day before an hour starts, or where the hour does."""
    first = max(0, hour_at - _LONGEST_PART)
    start = first + len(text[first:hour_at].rstrip().removesuffix("的")) - 2
    return start if text[max(start, 0) : start + 2] in _BEGINS else hour_at


def _hour(hour: int, begins: int) -> int:
    return begins + (hour - begins) % 12 if 0 < hour <= 12 else hour
