"""The one number reader: figures, words, Chinese numerals, units, money, dates, times, as values with
spans.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from math import prod
from string import ascii_lowercase
from typing import Literal, NamedTuple
from unicodedata import normalize

from rag_evaluation_framework.text.normalisation import comparable, pieces, rewritten
from rag_evaluation_framework.text.scripts import HAN, HAN_CHARACTER, ONE_TO_TEN
from rag_evaluation_framework.text.vocabulary import (
    ABBREVIATED_SCALES,
    CHINESE_DIGITS,
    CHINESE_MYRIADS,
    CHINESE_SCALES,
    COUNTED,
    MONTHS,
    NUMERALS,
    ORDINALS,
    SCALES,
    TENS,
    TIMES,
    UNITS,
)

# What a number measures: ``2 hours`` and ``120 minutes`` are the same, ``5 km`` and ``5000 m`` too.

Measure = tuple[str, float]
"""What is measured, and the value in one unit of it."""

# Factors are exact by definition.
_UNITS: dict[str, dict[str, float]] = {
    "length": {
        "mm millimetre millimeter 毫米": 0.001,
        "cm centimetre centimeter 厘米": 0.01,
        "m metre meter 米": 1,
        "km kilometre kilometer 公里 千米": 1000,
        "inch inches": 0.0254,
        "ft foot feet 英尺": 0.3048,
        "yard": 0.9144,
        "mile 英里": 1609.344,
    },
    "mass": {
        "mg milligram 毫克": 0.001,
        "g gram 克": 1,
        "kg kilogram kilo 公斤 千克": 1000,
        "tonne 吨": 1_000_000,
        "lb pound": 453.59237,
    },
    "volume": {"ml millilitre milliliter 毫升": 0.001, "l litre liter 升": 1},
    "duration": {
        "sec second 秒": 1,
        "min minute 分钟": 60,
        "h hr hour 小时": 3600,
        "day 天": 86_400,
        "week 周": 604_800,
    },
}
_MEASURES = {
    name: (measured, factor)
    for measured, units in _UNITS.items()
    for names, factor in units.items()
    for name in names.split()
}
UNIT_NAMES = tuple(_MEASURES)
"""How units are written, English ones without an ending."""
UNIT_GROUPS = tuple(tuple(names.split()) for units in _UNITS.values() for names in units)
"""The same, each unit with all of its names."""
# A word that is longer than every unit is none, however long it is.
_AFTER = re.compile(rf"[\s-]?(\w{{1,{max(map(len, UNIT_NAMES)) + 2}}})")
_LONGEST_CHINESE = 2
# The same in other units, but for the last digits that a computer's fractions have.
_MEASURE_DIGITS = 6


def measure(text: str, end: int, value: float) -> Measure | None:
    """Return what a number that ends at ``end`` measures, where a unit follows it.

    >>> measure("2 hours", 1, 2.0), measure("120 minutes", 3, 120.0), measure("2 rooms", 1, 2.0)
    (('duration', 7200.0), ('duration', 7200.0), None)
    """
    after = _AFTER.match(text, end)
    found = _unit(after[1].lower()) if after is not None else None
    if found is None:
        return None
    measured, factor = found
    return measured, float(f"{value * factor:.{_MEASURE_DIGITS}g}")


def _unit(word: str) -> tuple[str, float] | None:
    """Return what a word is a unit of, and how many of the common one it is; Chinese goes on after a unit."""
    if HAN_CHARACTER.match(word):
        return _MEASURES.get(word[:_LONGEST_CHINESE]) or _MEASURES.get(word[0])
    return _MEASURES.get(word) or _MEASURES.get(word.removesuffix("s"))


# Sums and measures in one form: "€200", "EUR 200" and 200欧元 become ``200 euro``, "5 km" ``5
# kilometre``.
#
# What a number measures is told by one English word after it, so that "one hour" and "how many hours"
# have the same. ¥ is the sign of the yen, or of the yuan where Chinese or a word for it is near; 5分 are
# minutes where the text beside it has minutes alone.

# By the words for them: signs and codes, which stand before a number too, and names, which stand after it.
_MONEY = {
    "dollar": ("$ us$ usd", "dollar buck 美元 美金"),
    "euro": ("€ eur", "euro 欧元"),
    "pound": ("£ gbp", "pound quid 英镑"),
    "yuan": ("cny rmb 人民币", "yuan 元人民币 人民币 元 块钱"),
    "yen": ("jpy", "yen 日元 日圆"),
    "franc": ("chf", "franc 瑞士法郎 法郎"),
    "won": ("₩ krw", "won 韩元"),
    "rupee": ("₹ inr", "rupee 卢比"),
    "rouble": ("₽ rub", "rouble ruble 卢布"),
    "hkd": ("hk$ hkd", "港元 港币"),
}
CURRENCIES = tuple(_MONEY)
"""The words for money that stand after a number."""
_BEFORE = {sign: word for word, (signs, _) in _MONEY.items() for sign in signs.split()}
_MONEY_AFTER = {name: word for word, both in _MONEY.items() for names in both for name in names.split()}


def _word(names: tuple[str, ...]) -> str:
    """Return the English word for a unit; "second" alone would be an ordinal."""
    word = next((name for name in names if name.isascii() and len(name) > 3), names[0])
    return "seconds" if word == "second" else word


_UNIT_MEASURES = {
    name: _word(names)
    for names in UNIT_GROUPS
    for name in names
    if (len(name) > 1 or name.isascii()) and name not in _MONEY  # 米 and 天 are parts of words
} | {"钟头": "hour"}
_UNIT_AFTER = _MONEY_AFTER | _UNIT_MEASURES
_UNIT_NUMBER = r"\d+(?:\.\d+)?"


def _one_of(names: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(names, key=len, reverse=True)))


_SUM = re.compile(
    rf"(?<![a-z])(?P<before>{_one_of(_BEFORE)}|¥) ?(?P<sum>{_UNIT_NUMBER})"
    rf"(?:(?P<scale> ?[kmb]n?(?![a-z]))"
    rf"|(?![\da-z]|\.\d)(?: ?(?:{_one_of(_MONEY_AFTER)})(?:e?s)?(?![a-z]))?)"
    rf"|(?P<number>{_UNIT_NUMBER}[多余来]?|(?<![a-z])one(?= second\b))[ -]?"
    rf"(?P<after>{_one_of(_UNIT_AFTER)})(?:e?s)?(?![a-z旦宵素])"
)
_CHINESE = _one_of(name for name in _UNIT_MEASURES if not name.isascii())
_SURELY = "(?!分钟[情爱]|小时候)"  # 十分钟情 is "very fond of"
# 几公里 is asked, 两三公里 a guess.
_OPEN = re.compile(
    rf"(?<=[少几])(?:{_one_of(_UNIT_AFTER)})(?![a-z])|(?<=[数{NUMERALS}]){_SURELY}(?:{_CHINESE})"
)
_UNIT_TEN = re.compile(rf"(?<![几数{NUMERALS}\d])十{_SURELY}(?={_CHINESE}|个(?:小时|钟头))")
_EACH = re.compile(rf"(?<=[\d少几数{NUMERALS}])个(?=[多来]?(?:小时|钟头))")
_AMERICAN = re.compile(r"\b((?:kilo|centi|milli)?(?:met|lit))er(?=s?\b)")
_KILO = re.compile(r"\bkilo(?=s?\b)")
_MINUTES, _NO_MINUTES = re.compile(r"分钟|\bmin(?:ute)?s?\b"), re.compile("分(?!钟)")
_SHORT_MINUTES = re.compile(r"(?<=\d)分(?![钟\d之数])")
# 三十块 is money where nothing is counted: 三十块蛋糕 are pieces.
_PIECES_OF_MONEY = re.compile(r"(?<=\d)块(?=[1一每/]|[^\w]|\Z)")
_OF_YEN = re.compile(r"\b(?:yen|jpy)(?![a-z])|日[元圆]")
_OF_YUAN = re.compile(rf"\b(?:yuan|cny|rmb)(?![a-z])|{HAN_CHARACTER.pattern}")


def with_units(text: str, *, beside: str = "") -> str:
    """Return a comparable text with figures, its sums and measures in one form; ``beside`` may tell which.

    >>> with_units("it is $5 or 5 euros"), with_units("共5千米,人民币100元"), with_units("¥100")
    ('it is 5 dollar or 5 euro', '共5 kilometre,100 yuan', '100 yen')
    """
    other = beside.lower()
    near = f"{text} {other}"
    yuan_or_yen = "yuan" if _OF_YUAN.search(near) and not _OF_YEN.search(near) else "yen"

    def written(found: re.Match[str]) -> str:
        if found["scale"]:  # $5m
            return found[0]
        if found["before"]:
            return f"{found['sum']} {_BEFORE.get(found['before'], yuan_or_yen)}"
        return f"{found['number']} {_UNIT_AFTER[found['after']]}"

    if _MINUTES.search(other) and not _NO_MINUTES.search(other):
        text = _SHORT_MINUTES.sub("分钟", text)
    text = _KILO.sub("kilogram", _AMERICAN.sub(r"\1re", _EACH.sub("", _UNIT_TEN.sub("10", text))))
    text = rewritten(_PIECES_OF_MONEY.sub("元", text), _OPEN, lambda found: _UNIT_AFTER[found[0]])
    return rewritten(text, _SUM, written)


# Dates in one form: 2024年5月3日, ``2024-05-03`` and "the 3rd of May, 2024" become ``May 3 2024``.
#
# May alone has a capital, as no word of a comparable text but names like it: "you may" is no month.
# ``5/3/2024`` has two readings and stays as it is.

_NAMES = tuple("May" if month == "may" else month for month in MONTHS)
_BY_START = {name[:3].lower(): name for name in _NAMES}
_MONTH = rf"(?:{'|'.join(f'{month[:3]}(?:{month[3:]})?' for month in MONTHS if month != 'may')}|sept)\b\.?"
# A word for a month is one by its capital or by what stands beside it.
_DATE_NAMED = rf"(?:{_MONTH}|May\b|may(?=,? \d{{4}}\b))"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_DATE_YEAR = r"(?P<year>[12]\d{3})\b"
_DATES = tuple(
    re.compile(rf"(?<![\d.:/-]){date}")
    for date in (
        rf"{_DAY}(?: (?P<month>{_DATE_NAMED})| of (?P<of>{_MONTH}|[Mm]ay\b))(?:,? (?:of )?{_DATE_YEAR})?",
        rf"\b(?P<month>{_MONTH}|[Mm]ay) (?:the )?{_DAY}\b(?![:%.]\d|%| ?[ap]m\b)(?:,? (?:of )?{_DATE_YEAR})?",
        rf"\b(?P<month>{_MONTH}|[Mm]ay),? (?:of )?{_DATE_YEAR}",
        r"(?P<year>[12]\d{3})(?P<mark>[-/.])(?P<number>[01]?\d)(?P=mark)(?P<day>[0-3]?\d)(?!\d)",
        r"(?P<year>[12]\d{3})[-–/](?P<number>0?[1-9]|1[0-2])(?![\d/–-]|\.\d|[年月])",
        r"(?:(?P<year>[12]\d{3})年)?(?P<number>[01]?\d)月(?:份|(?P<day>[0-3]?\d)[日号])?",
    )
)
# 3-5月 and 3、4月: each number is that of a month.
_FROM_MONTH = re.compile(r"(?<![\d.:/-])([01]?\d)(?:月份?)?[-~–—至到](?=[01]?\d月)")
_AND_MONTH = re.compile(r"(?<![\d.:/-])[01]?\d(?=(?:[、和或及与][01]?\d)+月)")
# "In may", "may to july": a month, however it is written.
_OTHERS = "|".join(month for month in MONTHS if month != "may")
_MAY = re.compile(
    rf"(?:(?<=\bin )|(?<=\bof )|(?<=\bsince )|(?<=\buntil )|(?<=\bfrom )|(?<=\blast )|(?<=\bnext ))may\b"
    rf"|\bmay(?= (?:to|until|through|and|or) (?:{_OTHERS})\b)|\Amay(?=\W*\Z)"
)


def with_dates(text: str) -> str:
    """Return a comparable text with figures and its dates in one form.

    >>> with_dates("on the 3rd of may, 2024"), with_dates("2024年5月3日到会"), with_dates("2024-03, 3-5月")
    ('on the May 3 2024', 'May 3 2024 到会', 'march 2024, march 到May')
    """
    text = _AND_MONTH.sub(r"\g<0>月", _FROM_MONTH.sub(r"\1月到", text))
    for date in _DATES:
        text = rewritten(text, date, _written)
    return _MAY.sub("May", text)


def _written(date: re.Match[str]) -> str:
    parts = date.groupdict()
    name = parts.get("month") or parts.get("of")
    number = int(parts.get("number") or 0)
    if not name and not 1 <= number <= len(MONTHS):
        return date[0]
    month = _BY_START[name[:3].lower()] if name else _NAMES[number - 1]
    day = f" {int(parts['day'])}" if parts.get("day") else ""
    year = f" {parts['year']}" if parts.get("year") else ""
    return f"{month}{day}{year}"


# Times of day as Chinese says them: 下午3点 is 15:00, 九点半 is 9:30, and 5点 in 下午3点至5点 is
# 17:00.

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


# Numbers as values: ``1,000``, ``1000``, ``one thousand``, ``１０００`` and ``一千`` are the same
# number.
#
# A quantity has a value, a kind that keeps unlike numbers apart (a plain number, a percentage, a time of
# day in minutes) and its place. Months are read as words, so that ``2022-01-09`` meets ``January 9,
# 2022``.

Kind = Literal["number", "percent", "time"]

# What is counted in more than one character, by its first: 公里, 小时, 分钟.
_COUNTED = frozenset(COUNTED) | frozenset("公小分秒周")

# Where a number in digits or Chinese numerals may begin; trying the whole pattern everywhere is too slow.
_START = re.compile(rf"[\d\[第{NUMERALS}]")
_ASCII_START = re.compile(r"[0-9\[]")
# 三点七五 has a point in it, and so has 三点五万; 三点五十 and 三点五分 are times of day.
_HAN_DIGITS = "".join(CHINESE_DIGITS)
_HAN_NUMBER = (
    rf"[{NUMERALS}]{{1,30}}(?:[点點][{_HAN_DIGITS}]{{1,30}}(?:[百千]?[万萬亿億]|(?![{NUMERALS}分刻])))?"
)
_NUMBER = re.compile(
    rf"""(?P<marker>\[\d[\d,，、;\s–-]{{0,60}}\])
    |(?P<date>\d{{4}}-\d{{1,2}}-\d{{1,2}}\b)
    |(?P<hour>\d{{1,2}})[:：](?P<minute>\d{{1,2}})(?::\d\d)?(?![\d:])(?:\s?(?P<half>[ap]\.?m\b))?
    |(?P<clock>\d{{1,2}})\s?(?P<day>[ap]\.?m\b)
    |(?P<digits>\d{{1,30}}(?:[,，]\d{{3}}){{0,9}}(?:\.\d{{1,30}})?)
       (?:(?:st|nd|rd|th)\b
         |\s?(?P<scale>thousand|million|billion|trillion|bn|mn|tn|[kmb](?=\b)|[十百千]?[万萬亿億]|[百千])(?![a-z])
         |\s?(?P<percent>%|％|percent\b|per\ cent\b))?
    |百分之(?P<hanpercent>{_HAN_NUMBER})
    |(?P<han>第?{_HAN_NUMBER})""",
    re.VERBOSE | re.IGNORECASE,
)
_HAN_POINT = re.compile(rf"(.+)[点點]([{_HAN_DIGITS}]+)(.*)")
_NUMBER_WORDS = frozenset([*UNITS, *TENS, *SCALES, *ORDINALS, *TIMES])
# A number in words: two parts of a year, nineteen eighty-four; below a hundred; or with scales, after which
# "and" may stand. "Twenty and thirty" are two numbers; what goes on for longer than one does is several.
_NEXT, _SCALE = r"[\s-]+", f"(?:{'|'.join(SCALES)})"
_ONES = "|".join(word for word, value in UNITS.items() if 0 < value < 10)
_TEENS = "|".join(word for word, value in UNITS.items() if value >= 10)
_FROM_TWENTY = rf"(?:{'|'.join(TENS)})(?:{_NEXT}(?:{_ONES}))?"
_BELOW_HUNDRED = rf"(?:{_FROM_TWENTY}|{'|'.join(UNITS)})\b"
_SCALES = rf"{_SCALE}(?:{_NEXT}{_SCALE}){{0,9}}"
_SCALED = rf"{_SCALES}(?:{_NEXT}(?:and{_NEXT})?{_BELOW_HUNDRED}(?:{_NEXT}{_SCALES})?){{0,9}}"
_YEAR = rf"(?:{_TEENS}|twenty){_NEXT}(?:{_FROM_TWENTY}|{_TEENS})\b"
_WORDS = rf"{_YEAR}|{_BELOW_HUNDRED}(?:{_NEXT}{_SCALED})?|{_SCALED}"
# With which letters they begin is looked at first: most words begin with another.
_IN_WORDS = re.compile(
    rf"\b(?=[{''.join(sorted({word[0] for word in _NUMBER_WORDS}))}])(?:"
    rf"(?P<words>{_WORDS})\b(?P<percent>\s(?:percent|per\scent)\b)?"
    rf"|(?P<ordinal>{'|'.join(ORDINALS)})\b|(?P<times>{'|'.join(TIMES)})\b)",
    re.IGNORECASE,
)
_IN_SMALL_WORDS = re.compile(_IN_WORDS.pattern)  # the same for small letters, and faster
_LETTERS = re.compile(r"[a-z]+")
_NO_LETTERS = dict.fromkeys(set(range(128)) - set(map(ord, ascii_lowercase)), " ")
# "passages 2 and 3", "step 4": names of parts of a text, not numbers of anything.
_PARTS = ("passage", "context", "source", "document", "step")
_PART_BEFORE = re.compile(
    rf"\b(?:{'|'.join(_PARTS)})s?\s(?:\d{{1,3}}(?:,\s?|,?\sand\s|\s?[&–-]\s?)){{0,5}}\Z", re.IGNORECASE
)
# How that ends, white space apart; most numbers come after something else.
_ENDS_OF_PART_BEFORE = (*_PARTS, *(f"{part}s" for part in _PARTS), "and", ",", "&", "–", "-")
_LONGEST_END = len("documents ")
_LOOK_BACK = 60
_MINUTES_OF_HALF_A_DAY = 720


class Quantity(NamedTuple):
    """A number as written at ``[start, end)``; ``values`` are two where the half of the day is open."""

    values: tuple[float, ...]
    kind: Kind
    start: int
    end: int
    is_vague: bool = False
    """Whether the word may not be meant as a number at all: *one*, *first*, 一."""
    measure: Measure | None = None
    """What else it may be compared as: what it measures, where a unit follows; of 下午3点 also the 3."""


def quantities(text: str, forms: Iterable[str] | None = None) -> list[Quantity]:
    """Return the numbers of a text in reading order; the numbers of passages and steps are none.

    ``forms`` are the words of the text in lower case, where the caller has them.

    >>> [quantity.values for quantity in quantities("1,200 of 3 million, 25 % at 5:30 pm, 一千二百")]
    [(1200.0,), (3000000.0,), (25.0,), (1050.0,), (1200.0,)]
    """
    found = [_measured(quantity, text) for quantity in written_numbers(text, forms)]
    return found if text.isascii() or HOUR_SIGNS.isdisjoint(text) else list(_timed(found, text))


def written_numbers(text: str, forms: Iterable[str] | None = None) -> list[Quantity]:
    """Return the numbers of a text as they are written, whatever is before or after them."""
    found = list(_in_digits(text))
    if not _NUMBER_WORDS.isdisjoint(_words(text.lower()) if forms is None else forms):
        taken = {place for quantity in found for place in range(quantity.start, quantity.end)}
        in_words = _IN_SMALL_WORDS.finditer(text.lower()) if text.isascii() else _IN_WORDS.finditer(text)
        found += [
            _read_words(match)
            for match in in_words
            if match.start() not in taken  # the million of "3 million"
        ]
        found.sort(key=lambda quantity: quantity.start)
    return found


def _words(text: str) -> list[str]:
    """Return the runs of small letters; cutting a text between them is faster than finding them."""
    return text.translate(_NO_LETTERS).split() if text.isascii() else _LETTERS.findall(text)


def _measured(quantity: Quantity, text: str) -> Quantity:
    found = measure(text, quantity.end, quantity.values[-1]) if quantity.kind == "number" else None
    return quantity._replace(measure=found) if found else quantity


def _timed(found: Sequence[Quantity], text: str) -> Iterator[Quantity]:
    """Yield numbers, those that are hours and minutes in Chinese as times of day."""
    numbers = [(each.start, each.end, each.values[-1]) for each in found if each.kind == "number"]
    clocks = {
        place: clock for clock in clock_times(text, numbers) for place in (clock.hour_at, clock.minutes_at)
    }
    for each in found:
        clock = clocks.get(each.start)
        if clock is None:
            yield each
        elif not clock.is_told:
            yield each._replace(measure=("time", clock.time))
        elif each.start == clock.hour_at:
            number = ("", each.values[-1])
            yield Quantity((clock.time,), "time", clock.start, clock.end, measure=number)


def number_word(word: str) -> str:
    """Return the digits of a number written as one word, or nothing.

    >>> number_word("seven"), number_word("seventh")
    ('7', '')
    """
    value = UNITS.get(word) or TENS.get(word)
    return str(value) if value else ""


def _in_digits(text: str) -> Iterator[Quantity]:
    begin, starts = 0, _ASCII_START if text.isascii() else _START
    while (start := starts.search(text, begin)) is not None:
        match = _NUMBER.match(text, start.start())
        if match is None:
            begin = start.end()
            continue
        begin = match.end()
        if match.lastgroup != "marker" and not _is_of_part(text, match.start()):
            yield from _read(match)


def _is_of_part(text: str, start: int) -> bool:
    """Tell whether the number that starts here is that of a passage or a step."""
    end = text[max(0, start - _LONGEST_END) : start].rstrip().casefold()
    return (
        end.endswith(_ENDS_OF_PART_BEFORE)
        and _PART_BEFORE.search(text, max(0, start - _LOOK_BACK), start) is not None
    )


def _read(match: re.Match[str]) -> Iterator[Quantity]:
    start, end = match.span()
    if match.lastgroup == "digits":
        yield Quantity((_value(match["digits"]),), "number", start, end)
    elif match["date"]:
        year, _, day = match["date"].split("-")
        yield Quantity((float(year),), "number", start, end)
        yield Quantity((float(day),), "number", start, end)
    elif match["hour"]:
        yield Quantity(_times(match["hour"], match["minute"], match["half"]), "time", start, end)
    elif match["clock"]:
        yield Quantity(_times(match["clock"], "0", match["day"]), "time", start, end)
    elif match["digits"]:
        value = _value(match["digits"])
        scale = (match["scale"] or "").lower()
        scaled = value * (SCALES.get(scale) or ABBREVIATED_SCALES.get(scale) or _han_scale(scale))
        # "5 m" may be millions or metres.
        values = (scaled, value) if scale == "m" else (scaled,)
        kind: Kind = "percent" if match["percent"] else "number"
        yield Quantity(values, kind, start, end, measure=("length", value) if scale == "m" else None)
    elif match["hanpercent"]:
        yield Quantity((_han_value(match["hanpercent"]),), "percent", start, end)
    else:
        numeral = match["han"].removeprefix("第")
        if numeral not in CHINESE_MYRIADS and numeral not in CHINESE_SCALES:
            counts = numeral != "一" and match.string[end : end + 1] in _COUNTED
            is_vague = len(match["han"]) == 1 and not counts
            yield Quantity((_han_value(numeral),), "number", start, end, is_vague)


def _read_words(match: re.Match[str]) -> Quantity:
    start, end = match.span()
    if match["ordinal"]:
        word = match["ordinal"].lower()
        return Quantity((float(ORDINALS[word]),), "number", start, end, word in ("first", "second"))
    if match["times"]:
        return Quantity((float(TIMES[match["times"].lower()]),), "number", start, end, is_vague=True)
    kind: Kind = "percent" if match["percent"] else "number"
    return Quantity((_words_value(match["words"]),), kind, start, end, match["words"].lower() == "one")


def _value(digits: str) -> float:
    return float(normalize("NFKC", digits).replace(",", ""))


def _han_scale(scale: str) -> float:
    """Return what ``百万`` multiplies by; 1 for nothing."""
    return float(prod(CHINESE_SCALES.get(character) or CHINESE_MYRIADS[character] for character in scale))


def _times(hour: str, minute: str, half: str | None) -> tuple[float, ...]:
    """Return minutes after midnight; both readings where the half of the day is not said."""
    minutes = 60 * (int(hour) % 24) + int(minute)
    if half is None:
        is_open = 1 <= int(hour) <= 12
        return (
            (float(minutes), float((minutes + _MINUTES_OF_HALF_A_DAY) % 1440))
            if is_open
            else (float(minutes),)
        )
    minutes %= _MINUTES_OF_HALF_A_DAY
    return (float(minutes + (_MINUTES_OF_HALF_A_DAY if half[0] in "pP" else 0)),)


@lru_cache(maxsize=1 << 12)
def _words_value(words: str) -> float:
    total = current = 0.0
    for word in _LETTERS.findall(words.lower()):
        if word in UNITS or word in TENS:
            value = UNITS.get(word, 0) + TENS.get(word, 0)
            is_of_year = value >= 10 and 10 <= current <= 20  # eighty, after nineteen
            current = 100 * current + value if is_of_year else current + value
        elif word == "hundred":
            current = (current or 1.0) * 100
        elif word in SCALES:
            total += (current or 1) * SCALES[word]
            current = 0.0
    return total + current


@lru_cache(maxsize=1 << 12)
def _han_value(text: str) -> float:
    if point := _HAN_POINT.fullmatch(text):
        whole, digits, scale = point.groups()
        return float(f"{_han_value(whole):.0f}.{_figures(digits)}") * _han_scale(scale)
    if not set(text) - CHINESE_DIGITS.keys():
        return float(_figures(text))
    total = section = digit = 0
    for character in text:
        if character in CHINESE_DIGITS:
            digit = CHINESE_DIGITS[character]
        elif character in CHINESE_SCALES:
            section += (digit or 1) * CHINESE_SCALES[character]
            digit = 0
        else:
            total = (total + section + digit) * CHINESE_MYRIADS[character]
            section = digit = 0
    return float(total + section + digit)


def _figures(digits: str) -> str:
    return "".join(str(CHINESE_DIGITS[digit]) for digit in digits)


# Numbers written out, as figures: 三只 and "three of them" become 3只 and "3 of them".
#
# So do halves of hours and times of day: 两个半小时 is 2.5小时, and 七点半 and "half past seven" are
# 7:30. Only what is surely a number is written anew. 一起 and 五郎 are words, "one" and "first" mostly
# are, 两三 is a guess, and dates, hours and "5 m" have more than one reading: all of them stay as they
# are.

MEASURE_WORDS = "个名位只条件种张本辆家座头匹枚颗把艘间台架部首篇封份套棵株朵根支幅口"
"""What stands between a number and a noun and says nothing by itself: 三只猫 are 3 cats."""
COUNTERS = f"{MEASURE_WORDS}{COUNTED}级章卷集回度"
"""What may stand right after a number: those, and what is counted itself."""
_FIGURE_COUNTED = (*COUNTERS, *UNIT_NAMES)
_DIGITS = f"{ONE_TO_TEN[:9]}零〇"
# 十 alone, which may be a part of a word: 十分 is "very".
_TEN = re.compile(rf"(?<![{HAN}\d])十(?![{HAN}\d])|(?<![{NUMERALS}\d])十(?=[{COUNTERS}])(?!点[{_DIGITS}])")
# 小五, 老三 and 阿七 are names.
_NAMED = frozenset("小老阿")
_ROUND_ZERO = re.compile(rf"(?<=[{_DIGITS}○])○|○(?=[{_DIGITS}])")
ORDINAL = re.compile(rf"\d.*(?:st|nd|rd|th)|{'|'.join(ORDINALS)}")
"""A number that says which one: 3rd, third."""
_MINUS = re.compile(r"(?:\bminus |负|零下|−)(?=\d)")
# Halves of hours, times of day and scores, once their numbers are figures.
_OF_TWO_PARTS = (
    (re.compile(r"(?<![\d.])(\d+)(?:个半(?=小时|钟头|月)| and a half\b)"), r"\1.5"),
    (re.compile(r"半个?(?=小时|钟头)"), "0.5"),
    (re.compile(r"\bhalf past (\d\d?)\b(?!:)|(?<![\d.])(\d\d?)点半"), r"\1\2:30"),
    (re.compile(r"\bquarter past (\d\d?)\b(?!:)|(?<![\d.])(\d\d?)点[1一]刻"), r"\1\2:15"),
    (re.compile(r"(?<![\d.])(\d\d?)比(\d\d?)(?![\d.多少大小高低])"), r"\1:\2"),
    (re.compile(r"(?<![\d.])(\d\d?)点([0-5]\d)(?:分(?!钟)|(?![\d.]))"), r"\1:\2"),
    (re.compile(r"(?<=\d) ?([ap])\.?m\b"), r" \1m"),
)
_PAIR = re.compile(r"(?<![\d.:,])(\d+)[:,](\d+)(?![\d:,])")
_GUESS = re.compile(r"一二|[二两]三|三四|三五|四五|五六|六七|七八|八九")


def with_figures(text: str) -> str:
    """Return a comparable text with its numbers as figures.

    >>> with_figures("二〇二四年有三只,第十二章"), with_figures("twenty-one steps")
    ('2024年有3只,第12章', '21 steps')
    """
    even = _TEN.sub("10", _ROUND_ZERO.sub("〇", text))
    found = written_numbers(even)
    readings = Counter(quantity.start for quantity in found)
    parts: list[str] = []
    at = 0
    for quantity in found:
        if readings[quantity.start] == 1 and _is_figure(quantity, even):
            parts += [even[at : quantity.start], _figure(quantity, even)]
            at = quantity.end
    written = "".join(parts) + even[at:]
    for pattern, figures in _OF_TWO_PARTS:
        written = pattern.sub(figures, written)
    return _MINUS.sub("-", written)


def paired_as_in(other: str, text: str) -> str:
    """Return a text with figures in which two numbers that a colon or comma joins are joined as in another.

    A score is 3:2 or 3-2, a time 12:30 or 12.30, and 1,5 is 1.5.

    >>> paired_as_in("it was 3-2.", "3:2"), paired_as_in("it was 2-1.", "3:2")
    ('3 2', '3:2')
    """
    figures = [piece.text for piece in pieces(other) if piece.text[-1].isdigit()]
    known, neighbours = set(figures), set(pairwise(figures))

    def joined(pair: re.Match[str]) -> str:
        point = f"{float(f'{pair[1]}.{pair[2]}'):.15g}"
        if point in known:
            return point
        return f"{pair[1]} {pair[2]}" if pair.groups() in neighbours else pair[0]

    return _PAIR.sub(joined, text)


def _is_figure(quantity: Quantity, text: str) -> bool:
    written = text[quantity.start : quantity.end]
    if quantity.kind == "time" or len(quantity.values) > 1 or _GUESS.fullmatch(written):
        return False
    before, after = text[quantity.start - 1 : quantity.start], text[quantity.end : quantity.end + 1]
    if not HAN_CHARACTER.match(written):
        return not quantity.is_vague and not ORDINAL.fullmatch(written)
    if len(written) > 1:
        return True
    if text.startswith(_FIGURE_COUNTED, quantity.end):
        return before not in _NAMED
    return not (HAN_CHARACTER.match(before) or HAN_CHARACTER.match(after))


def _figure(quantity: Quantity, text: str) -> str:
    ordinal = "第" if text[quantity.start] == "第" else ""
    percent = "%" if quantity.kind == "percent" else ""
    return f"{ordinal}{quantity.values[0]:.15g}{percent}"


# Times of day in one form: 下午3点 and "3 in the afternoon" become ``3:00 pm``, 3点 becomes ``3:00``.

_WITH_COLON = re.compile(r"((?:[凌零清早]晨|[早晚]上|[上中下]午|傍晚|晚间|[深半]夜)的?\d\d?):(\d\d)")
_TIME_OPEN = re.compile(r"(?<![\d.:第])(\d\d?)点(?:[整钟]|(?=\W|\Z|[开关到至出起前后]))")
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
    text = _TIME_OPEN.sub(r"\1:00", _with_chinese_times(_WITH_COLON.sub(r"\1点\2分", text)))
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


# Names that are spelt like words of grammar keep their capitals: IT, US, May, Will Smith.
#
# Everything else in a comparable text is without. A capital that may be that of a sentence, "May won.",
# is that of a name where the text beside has the name; so is any letter of a text that is all small or
# all capital.

_NAME = re.compile(
    r"\b(?:IT|US|WHO)\b(?!\$)|\b(?:Will|Don|May)(?= [A-Z][a-z])"
    r"|(?<=[^.!?\s] )May\b|\bMay(?= \d|\W*\Z| (?:to|until|through|and|or)\b)"
)
# "May I go?" begins with none.
_SPELT_SO = re.compile(
    r"\b(?:(?<=[^.!?\s] )|(?!\w+ (?:I|you|he|she|it|we|they|the|there)\b))(?:IT|US|WHO|Will|Don|May)\b",
    re.IGNORECASE,
)
_THE_US = re.compile(r"(?<=\b[Tt]he )us\b(?!\$)")
_CAPITALS = "ITUSWHODM"
_KEPT = {ord(letter): chr(0xE100 + ord(letter)) for letter in _CAPITALS}  # which folding leaves as they are
_CAPITALS_AGAIN = {ord(kept): chr(letter) for letter, kept in _KEPT.items()}


def comparable_names(text: str, *, beside: str = "") -> str:
    """Return the comparable text, with the capitals of such names.

    >>> comparable_names("Ask IT. Will Smith may know it."), comparable_names("it", beside="IT did.")
    ('ask IT. Will smith may know it.', 'IT')
    """
    names = {name: name for name in (*_names(text), *_names(beside))}
    if text == text.lower() or _is_loud(text):
        names |= {form: name for name in names for form in (name.lower(), name.upper())}
    even = _THE_US.sub("US".translate(_KEPT), text)
    kept = _SPELT_SO.sub(lambda word: names.get(word[0], "").translate(_KEPT) or word[0], even)
    return comparable(kept).translate(_CAPITALS_AGAIN)


def _names(text: str) -> list[str]:
    """Return such names; what is written in capitals throughout has none, unless it is one."""
    return [] if _is_loud(text) else _NAME.findall(text)


def _is_loud(text: str) -> bool:
    return text.isupper() and len(text.split()) > 1


# Texts in which what has several spellings has one: numbers, dates, times of day, sums, units.


def even_text(text: str, *, beside: str = "") -> str:
    """Return the comparable text in that one way; ``beside`` is the text that it is compared with.

    >>> even_text("二〇二四年五月三日下午三点,Ａ座"), even_text("On 3 May 2024 at 3 p.m., for €200")
    ('May 3 2024 3:00 pm,a座', 'on May 3 2024 at 3 pm., for 200 euro')
    """
    written = with_figures(comparable_names(text, beside=beside))
    return with_units(with_times(with_dates(written)), beside=beside)
