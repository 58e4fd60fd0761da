"""A week's hours in a record, and claims about days and times: ``17:0-21:0`` is *5 pm to 9 pm*."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from rag_evaluation_framework.judging.structured_evidence import Fact
from rag_evaluation_framework.text.numbers import Quantity, quantities
from rag_evaluation_framework.text.vocabulary import DAYS

Week = Mapping[int, frozenset[tuple[float, float]]]
"""The hours of each day from Monday, 0, in minutes after midnight; a day without any is closed."""

_DAY = "|".join(DAYS)
_DAYS_NAMED = re.compile(
    rf"\b(?P<first>{_DAY})s?\s*(?:to|through|thru|until|-|–|—)\s*(?P<last>{_DAY})s?\b|\b(?P<day>{_DAY})s?\b"
    r"|\b(?P<workdays>weekdays?)\b|\b(?P<weekend>weekends?)\b"
    r"|\b(?P<all>every ?day|daily|(?:seven|7) days a week|all week)\b",
    re.IGNORECASE,
)
_GROUPS = {"workdays": range(5), "weekend": range(5, 7), "all": range(7)}
_CLOSED_BEFORE = re.compile(
    rf"\b(?:closed|except|not\sopen|rests?)\s(?:on\s|for\s)?(?:(?:{_DAY})s?(?:,\s|\sand\s|,\sand\s)){{0,6}}\Z",
    re.IGNORECASE,
)
_LOOK_BACK = 100
_WIDEST_BETWEEN = 6  # characters between the two times of a range: " to ", " until"


def week_of(facts: Sequence[Fact]) -> Week:
    """Return the hours of each day of the week that a record names, in minutes; empty where it is closed."""
    week: dict[int, frozenset[tuple[float, float]]] = {}
    for fact in facts:
        if len(fact.key) != 1 or fact.key[0] not in DAYS:
            continue
        times = [quantity.values[0] for quantity in quantities(fact.value) if quantity.kind == "time"]
        ranges = {pair for pair in zip(times[::2], times[1::2], strict=False) if pair[0] != pair[1]}
        if times or fact.meaning == "no":
            week[DAYS.index(fact.key[0])] = frozenset(ranges)
    return week


def hour_conflicts(claim: str, week: Week) -> list[str]:
    """Return what a claim says of days and hours that a week's hours deny."""
    if not week:
        return []
    named = list(_named_days(claim))
    days = [(place, day) for place, day, is_closed in named if not is_closed]
    times = [quantity for quantity in quantities(claim) if quantity.kind == "time"]
    found: list[str] = []
    for first, second, on_days in _open_hours(times, days):
        written = claim[first.start : second.end]
        fitting = {
            day
            for day, hours in week.items()
            for start, end in hours
            if start in first.values and end in second.values
        }
        if not fitting:
            found.append(f"hours {written}, evidence has other hours")
        elif on_days - fitting:
            names = ", ".join(DAYS[day].title() for day in sorted(on_days - fitting))
            found.append(f"hours {written}, evidence says otherwise for {names}")
    every = {day for _, day in days}
    closed = [DAYS[day].title() for day in sorted(every) if day in week and not week[day]]
    if closed and len(every) == 7 and not found:
        found.append(f"every day, evidence says closed on {', '.join(closed)}")
    opened = [DAYS[day].title() for _, day, is_closed in named if is_closed and week.get(day)]
    if opened:
        found.append(f"closed, evidence says open on {', '.join(opened)}")
    return found


def _open_hours(
    times: Sequence[Quantity], days: Sequence[tuple[int, int]]
) -> Iterator[tuple[Quantity, Quantity, set[int]]]:
    """Yield each range of times with the days it is said of: those before it, or all those after it."""
    if len(times) < 2:
        return
    after = bool(days) and days[0][0] > times[0].start
    place = 0
    while place + 1 < len(times):
        first, second = times[place], times[place + 1]
        if second.start - first.end > _WIDEST_BETWEEN:
            place += 1
            continue
        if after:
            begin = second.end
            end = times[place + 2].start if place + 2 < len(times) else days[-1][0] + 1
        else:
            begin, end = times[place - 1].end if place else 0, first.start
        yield first, second, {day for at, day in days if begin <= at < end}
        place += 2


def _named_days(claim: str) -> Iterator[tuple[int, int, bool]]:
    """Yield place and number of each day that a claim names, ranges in full, and whether as a day of rest."""
    for match in _DAYS_NAMED.finditer(claim):
        if match["day"]:
            numbers: Sequence[int] = (DAYS.index(match["day"].lower()),)
        elif match["first"]:
            first, last = DAYS.index(match["first"].lower()), DAYS.index(match["last"].lower())
            numbers = [(first + step) % 7 for step in range((last - first) % 7 + 1)]
        else:
            numbers = _GROUPS[match.lastgroup or ""]
        start = match.start()
        is_closed = _CLOSED_BEFORE.search(claim, max(0, start - _LOOK_BACK), start) is not None
        yield from ((start, number, is_closed) for number in numbers)
