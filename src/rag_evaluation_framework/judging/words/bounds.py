"""Numbers that leave room: *more than 200*, *less than 5*, *about 30*, *the 1990s*; 超过200, 5公里左右."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from rag_evaluation_framework.text.numbers import MEASURE_WORDS, Kind, Measure, Quantity, measure
from rag_evaluation_framework.text.scripts import HAN, ONE_TO_TEN
from rag_evaluation_framework.text.tokens import Word, sentence_words
from rag_evaluation_framework.text.vocabulary import STOP_CHARACTERS, STOP_WORDS

_BEFORE = re.compile(
    r"""(?:
    (?P<least>\b(?:(?:more|greater|higher|longer|larger)\ than|over|above|exceed(?:s|ed|ing)?|upwards?\ of
        |at\ least|not?\ (?:less|fewer)\ than|a\ minimum\ of)
        |超过|超過|多于|大于|高于|至少|最少|不少于|不低于|逾)
    |(?P<cap>\b(?:up\ to|at\ most|not?\ more\ than|a\ maximum\ of|within)|至多|最多|不超过|不超過|不多于)
    |(?P<most>\b(?:(?:less|fewer|lower|shorter|smaller)\ than|under|below)|不到|不足|少于|小于|低于)
    |(?P<near>\b(?:about|around|approximately|approx\.?|roughly|nearly|almost|close\ to|circa|some)|[~≈]
        |大约|大約|大概|将近|將近|接近|差不多|[约約近])
    )\s?[$€£¥]?\s?\Z""",
    re.VERBOSE | re.IGNORECASE,
)
_LONGEST_BEFORE = 24
_ODD = "多余餘"
# 三年多 and 两个多月 are more than that; 2019年多地 and 三天多云 have a word that begins with 多.
_DIGIT = rf"[\d〇零{ONE_TO_TEN[:9]}]"
_AFTER = re.compile(
    rf"""(?P<decade>s\b)
    |(?P<odd>[{_ODD}]|(?:个|(?<!{_DIGIT}{{4}})年|天|岁|元|块|倍|[公英]里|公斤|[千毫厘]?米|[千毫]?克|吨|个?小时|分钟)
        [{_ODD}](?![种次样数云地家人处项位下功媒边]))
    |\s?[{HAN}]{{0,3}}?(?:(?P<least>以上(?!海))|(?P<most>以下)|(?P<near>左右|上下)
        |(?P<cap>[以之][内內]|(?<=[天日周月年时時钟鐘里米])[内內](?![蒙容部])))
    |(?P<more>\+|(?:\s\w+)?\s(?:or|and)\s(?:more|above|over|older|longer)\b)
    |(?P<less>(?:\s\w+)?\s(?:or|and)\s(?:less|fewer|below|under|younger|shorter)\b)""",
    re.VERBOSE | re.IGNORECASE,
)
# "It was signed over 3 meetings": while they lasted. "It was founded over 100 years ago" has a bound.
_DURING = re.compile(
    r"""\b(?:is|are|was|were|be|been|being)\s
    (?:\w+ed|held|spread|split|paid|built|run|sold|taken|given|written|made|shown|sent)\sover\s\Z""",
    re.VERBOSE | re.IGNORECASE,
)
_AGO = re.compile(r"\s\w+\sago\b", re.IGNORECASE)
_YEAR = re.compile(r"[12]\d{3}")
_NO_YEAR_BEFORE = re.compile(
    r"(?:[$€£¥]|\b(?:is|are|was|were|be|been|has|have|had|of|at|for|by|costs?|totals?|reach(?:es|ed)?))\s?\Z",
    re.IGNORECASE,
)
_CAPITAL_AFTER = re.compile(r"\s[A-Z]")
_HOUR_BEFORE = re.compile(r"\b(?:at|from|until|till|to|by|before|after)\s\Z", re.IGNORECASE)
_HALF_OF_DAY = re.compile(r"\s(?:in the|at night)\b", re.IGNORECASE)
_LOOK_BACK = 40
_NEAR, _NEAR_YEARS = 0.1, 5  # of the number itself; of a year
_INFINITE = float("inf")
# Between a number and what it counts: "200 or more people", 200多名学生.
_BESIDE_NUMBERS = frozenset((*MEASURE_WORDS, *_ODD, "or", "more", "less", "fewer"))
_MOST_COUNTED, _LONGEST_COUNTED = 3, 60  # words, and characters
_PART_WORDS = frozenset(("and", "but", "while", "whereas"))


class Bounds(NamedTuple):
    """The least and the most that a number may stand for."""

    low: float
    high: float
    kind: Kind
    is_cap: bool = False
    """Whether it is what a rule allows, *up to 5*, and not what somebody knows of a number."""

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

    >>> from rag_evaluation_framework.text.numbers import quantities
    >>> text = "About 10 of more than 200."
    >>> [bounds(text, number)[:2] for number in quantities(text)]
    [(9.0, 11.0), (200.0, inf)]
    """
    sort = _sort(text, number)
    return Bounds(*_low_and_high(text, number, sort), number.kind, is_cap=sort == "cap")


def is_open(text: str, number: Quantity) -> bool:
    """Tell whether a number of a text leaves any room, so that :func:`admits` may hold."""
    return _is_hour(text, number) or bounds(text, number).leave_room


def admits(text: str, number: Quantity, other_text: str, others: Sequence[Quantity]) -> bool:
    """Tell whether a number leaves room for the one that another text has in its place.

    That is one of the same thing, in the clause that has most words of the first text. A limit is met by no
    other limit, and a cap by nothing else. An hour leaves room for its half of the day: *at 8*, 20:00.
    """
    if _is_hour(text, number) and any(_is_of_hour(number, other) for other in others):
        return True
    room = bounds(text, number)
    if not room.leave_room or room.is_cap:
        return False
    alike = [other for other in others if _are_alike(text, number, other_text, other)]
    shared = _shared_words(text, other_text, alike)
    most = max(shared, default=0)
    return any(
        count == most and _leaves_room(text, number, other_text, other)
        for count, other in zip(shared, alike, strict=True)
    )


def counted(text: str, number: Quantity) -> list[str]:
    """Return the words right after a number, as they are compared; a currency's sign is one of them.

    >>> from rag_evaluation_framework.text.numbers import quantities
    >>> text = "More than 200 young people paid $5."
    >>> [counted(text, number) for number in quantities(text)]
    [['young', 'person', 'pay'], ['dollar']]
    """
    first = max(0, number.start - len("$ "))
    start, end = number.start - first, number.end - first
    words = sentence_words(text[first : number.end + _LONGEST_COUNTED])
    place = next((at for at, word in enumerate(words) if word.end > start), len(words))
    after = [word for word in words[place:] if not start <= word.start < end]
    after = list(takewhile(lambda word: not word.is_after_break, after))
    while after and after[0].form in _BESIDE_NUMBERS:
        del after[0]
    return [word.key for word in takewhile(_has_content, after)][:_MOST_COUNTED]


def _are_alike(text: str, number: Quantity, other_text: str, other: Quantity) -> bool:
    """Tell whether two numbers are of the same kind, measure the same, or count the same."""
    if number.kind != other.kind or number.kind != "number":
        return number.kind == other.kind
    one, two = _measure(text, number), _measure(other_text, other)
    if one or two:
        return one is not None and two is not None and one[0] == two[0]
    years = _is_year(text, number), _is_year(other_text, other)
    if any(years):
        return all(years)
    said, held = counted(text, number), counted(other_text, other)
    return said[0] in held or held[0] in said if said and held else said == held


def _leaves_room(text: str, number: Quantity, other_text: str, other: Quantity) -> bool:
    if bounds(other_text, other).are_limit:
        return False
    one, two = _measure(text, number), _measure(other_text, other)
    if one and two:
        number, other = number._replace(values=one[1:]), other._replace(values=two[1:])
    return bounds(text, number).admit(other)


def _measure(text: str, number: Quantity) -> Measure | None:
    """Return what a number measures, also where its bound stands before the unit: 4000多米."""
    if number.measure or number.kind != "number" or text[number.end : number.end + 1] not in tuple(_ODD):
        return number.measure
    return measure(text, number.end + 1, number.values[-1])


def _shared_words(text: str, other_text: str, numbers: Sequence[Quantity]) -> list[int]:
    """Return how many words of a text stand in the clause around each of the numbers of another text."""
    said = {word.key for word in sentence_words(text) if _has_content(word)}
    starts, shared = [0], [set[str]()]
    for word in sentence_words(other_text):
        if word.is_after_break or word.form in _PART_WORDS:
            starts.append(word.start)
            shared.append(set())
        if word.key in said:
            shared[-1].add(word.key)
    return [len(shared[bisect_right(starts, number.start) - 1]) for number in numbers]


def _has_content(word: Word) -> bool:
    return not word.is_number and word.form not in STOP_WORDS and word.key not in STOP_CHARACTERS


def _is_year(text: str, number: Quantity) -> bool:
    if number.kind != "number" or number.measure or not _YEAR.fullmatch(text, number.start, number.end):
        return False
    if text.startswith(("年", "s"), number.end):
        return True
    bound = _bound_before(text, number)
    start = bound.start() if bound else number.start
    if _NO_YEAR_BEFORE.search(text, max(0, start - _LOOK_BACK), start):
        return False
    return not counted(text, number) or _CAPITAL_AFTER.match(text, number.end) is not None


def _is_hour(text: str, number: Quantity) -> bool:
    """Tell whether a number may be an hour, and its half of the day is not told."""
    value = number.values[0]
    return (
        number.kind == "number"
        and value in range(1, 25)
        and _HOUR_BEFORE.search(text, max(0, number.start - _LOOK_BACK), number.start) is not None
        and not _HALF_OF_DAY.match(text, number.end)
        and not counted(text, number)
    )


def _is_of_hour(hour: Quantity, time: Quantity) -> bool:
    minutes = 60 * hour.values[0]
    either = (minutes % 1440, (minutes + 720) % 1440) if hour.values[0] <= 12 else (minutes % 1440,)
    return time.kind == "time" and not set(time.values).isdisjoint(either)


def _sort(text: str, number: Quantity) -> str | None:
    """Return how a number is bounded."""
    first = max(0, number.start - _LOOK_BACK)
    if _DURING.search(text, first, number.start) and not _AGO.match(text, number.end):
        return None
    found = _bound_before(text, number) or _AFTER.match(text, number.end)
    return found.lastgroup if found is not None else None


def _bound_before(text: str, number: Quantity) -> re.Match[str] | None:
    return _BEFORE.search(text, max(0, number.start - _LONGEST_BEFORE), number.start)


def _low_and_high(text: str, number: Quantity, sort: str | None) -> tuple[float, float]:
    value = number.values[0]
    if sort in ("least", "more", "odd"):
        return value, _INFINITE
    if sort in ("most", "less", "cap"):
        return -_INFINITE, value
    if sort == "near":
        room = _NEAR_YEARS if _is_year(text, number) else _NEAR * value
        return value - room, value + room
    if sort == "decade":
        return value, value + (9 if value % 100 else 99)
    return value, value
