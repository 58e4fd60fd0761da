"""The one number reader: figures, words, Chinese numerals, units, money, dates, times, as values with
spans.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import prod
from string import ascii_lowercase
from typing import Literal, NamedTuple
from unicodedata import normalize

from rag_evaluation_framework.text.normalisation import comparable
from rag_evaluation_framework.text.scripts import HAN_CHARACTER
from rag_evaluation_framework.text.spans import Spanned
from rag_evaluation_framework.text.vocabulary import (
    ABBREVIATED_SCALES,
    CHINESE_DIGITS,
    CHINESE_MYRIADS,
    CHINESE_SCALES,
    COUNTED,
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


class _ClockTime(NamedTuple):
    start: int
    end: int
    time: float
    hour_at: int
    minutes_at: int | None
    is_told: bool
    """Whether the half of the day is told, and that it is a time of day: 三点 may be three points."""


class ClockTime(_ClockTime, Spanned):
    """A time of day, in minutes after midnight."""

    __slots__ = ()


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


class _Quantity(NamedTuple):
    values: tuple[float, ...]
    kind: Kind
    start: int
    end: int
    is_vague: bool = False
    """Whether the word may not be meant as a number at all: *one*, *first*, 一."""
    measure: Measure | None = None
    """What else it may be compared as: what it measures, where a unit follows; of 下午3点 also the 3."""


class Quantity(_Quantity, Spanned):
    """A number as it is written; ``values`` are two where the half of the day is open."""

    __slots__ = ()


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


MEASURE_WORDS = "个名位只条件种张本辆家座头匹枚颗把艘间台架部首篇封份套棵株朵根支幅口"
"""What stands between a number and a noun and says nothing by itself: 三只猫 are 3 cats."""
COUNTERS = f"{MEASURE_WORDS}{COUNTED}级章卷集回度"
"""What may stand right after a number: those, and what is counted itself."""
_MONEY = {"$": "dollar", "€": "euro", "£": "pound", "¥": "yuan"}
CURRENCIES = tuple(_MONEY.values())
"""The words for money that stand after a number."""
_SUM = re.compile(r"([$€£¥]) ?(\d+(?:\.\d+)?)")
# 两三 is a guess, and 小五 and 老三 are names.
_GUESS = re.compile("一二|[二两]三|三四|三五|四五|五六|六七|七八|八九")
_NAMED = frozenset("小老阿")
_ROUND_ZERO = re.compile(rf"(?<=[{_HAN_DIGITS}○])○|○(?=[{_HAN_DIGITS}])")
_BELOW_ZERO = re.compile(rf"(?:\bminus |零下|−)(?=[\d{_HAN_DIGITS}])")


def even_text(text: str) -> str:
    """Return the comparable text with its numbers as values; what has several readings stays as it is.

    >>> even_text("二〇二四年五月三日下午三点,Ａ座"), even_text("On 3 May 2024 at 3 p.m., for €200")
    ('2024年5月3日3:00 pm,a座', 'on 3 may 2024 at 3:00 pm., for 200 euro')
    """
    even, at = _BELOW_ZERO.sub("-", _ROUND_ZERO.sub("〇", comparable(text))), 0
    parts: list[str] = []
    for number in quantities(even):
        if number.start >= at and _has_one_reading(number, even):
            space = " " * (number.kind == "time" and even[number.end : number.end + 1].isalnum())
            parts += [even[at : number.start], _figure(number, even), space]
            at = number.end
    return _SUM.sub(lambda found: f"{found[2]} {_MONEY[found[1]]}", "".join(parts) + even[at:])


def _has_one_reading(number: Quantity, text: str) -> bool:
    written = text[number.start : number.end]
    before, after = text[max(0, number.start - 1) : number.start], text[number.end : number.end + 1]
    if len(number.values) > 1 or _GUESS.fullmatch(written):
        return False
    if len(written) > 1 or written.isascii():
        return not number.is_vague
    stands_alone = not HAN_CHARACTER.match(before + after) and not HAN_CHARACTER.match(after)
    return stands_alone or (not number.is_vague and before not in _NAMED)


def _figure(number: Quantity, text: str) -> str:
    (value,) = number.values
    if number.kind == "time":
        hour, minute = divmod(int(value), 60)
        return f"{hour % 12 or 12}:{minute:02} {'ap'[hour >= 12]}m"
    return f"{'第' * text.startswith('第', number.start)}{value:.15g}{'%' * (number.kind == 'percent')}"
