"""The one number reader: figures, words, Chinese numerals, money, dates, times, as values with spans."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from math import prod
from string import ascii_lowercase
from typing import Literal, NamedTuple
from unicodedata import normalize

from rag_evaluation_framework.startup import late_pattern
from rag_evaluation_framework.text.normalisation import EN_DASH, comparable, typed
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
_HOUR = late_pattern(r"\s?(?:[点點]|[时時](?![间間段]))(?:(?P<more>半|[一1三3]刻)|[钟鐘]|整(?!理))?")
_MORE = {"半": 30, "一刻": 15, "1刻": 15, "三刻": 45, "3刻": 45}
_TO = re.compile(r"\s?(?:[到至~～–—-]|直到)\s?")
_HOUR_SIGNS = frozenset("点點时時")


# Numbers as values: ``1,000``, ``1000``, ``one thousand``, ``１０００`` and ``一千`` are the same number.
# A quantity has a value, a kind that keeps unlike numbers apart (a plain number, a percentage, a time of
# day in minutes) and its place. Months are read as words, so that ``2022-01-09`` meets ``January 9,
# 2022``.

Kind = Literal["number", "percent", "time"]

Number = tuple[str, float]
"""``time`` for a time of day, else ``""``, and the value; a percentage may match a plain number."""

# What is counted in more than one character, by its first: 公里, 小时, 分钟.
_COUNTED = frozenset(COUNTED) | frozenset("公小分秒周")

# Where a number in digits or Chinese numerals may begin; trying the whole pattern everywhere is too slow.
_START = late_pattern(rf"[\d\[第{NUMERALS}]")
# 三点七五 has a point in it, and so has 三点五万; 三点五十 and 三点五分 are times of day.
_HAN_DIGITS = "".join(CHINESE_DIGITS)
_HAN_NUMBER = (
    rf"[{NUMERALS}]{{1,30}}(?:[点點][{_HAN_DIGITS}]{{1,30}}(?:[百千]?[万萬亿億]|(?![{NUMERALS}分刻])))?"
)
_NUMBER = late_pattern(
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
# The same for what is typed, in small letters. The first character is matched by one set and looked back at:
# so most of a text is passed over at the speed of a scan.
_TYPED_NUMBER = re.compile(
    rf"""[0-9\[](?:(?P<marker>(?<=\[)[0-9][0-9,;\s{EN_DASH}-]{{0,60}}\])
    |(?<=[0-9])(?:(?P<date>[0-9]{{3}}-[0-9]{{1,2}}-[0-9]{{1,2}}\b)
    |[0-9]?:[0-9]{{1,2}}(?::[0-9][0-9])?(?![0-9:])(?:\s?[ap]\.?m\b)?
    |[0-9]?\s?[ap]\.?m\b
    |[0-9]{{0,29}}(?:,[0-9]{{3}}){{0,9}}(?:\.[0-9]{{1,30}})?
       (?:(?:st|nd|rd|th)\b
         |\s?(?:thousand|million|billion|trillion|bn|mn|tn|[kmb]\b)(?![a-z])
         |\s?(?:%|percent\b|per\ cent\b))?))""",
    re.VERBOSE,
)
_HAN_POINT = late_pattern(rf"(.+)[点點]([{_HAN_DIGITS}]+)(.*)")
_NUMBER_WORDS = frozenset([*UNITS, *TENS, *SCALES, *ORDINALS, *TIMES])
# A number in words: two parts of a year, nineteen eighty-four; below a hundred; or with scales, after which
# "and" may stand. "Twenty and thirty" are two numbers; what goes on for longer than one does is several.
_NEXT, _SCALE = r"[\s-]+", f"(?:{'|'.join(SCALES)})"
_ONES = "|".join(word for word, value in UNITS.items() if 0 < value < 10)
_TEENS = "|".join(word for word, value in UNITS.items() if value >= 10)
_FROM_TWENTY = rf"(?:{'|'.join(TENS)})(?:{_NEXT}(?:{_ONES}))?"
_BELOW_HUNDRED = rf"(?:{_FROM_TWENTY}|{'|'.join(UNITS)})\b"
_SCALES = rf"{_SCALE}(?:{_NEXT}{_SCALE}){{0,9}}"
_COMMA = rf"(?:,(?={_NEXT}(?:{_ONES}){_NEXT}hundred\b))?"  # one thousand, nine hundred and six
_SCALED = rf"{_SCALES}(?:{_COMMA}{_NEXT}(?:and{_NEXT})?{_BELOW_HUNDRED}(?:{_NEXT}{_SCALES})?){{0,9}}"
_YEAR = rf"(?:{_TEENS}|twenty){_NEXT}(?:{_FROM_TWENTY}|{_TEENS})\b"
_WORDS = rf"{_YEAR}|{_BELOW_HUNDRED}(?:{_NEXT}{_SCALED})?|{_SCALED}"
# With which letters they begin is looked at first: most words begin with another.
_IN_SMALL = (
    rf"\b(?=[{''.join(sorted({word[0] for word in _NUMBER_WORDS}))}])(?:"
    rf"(?P<words>{_WORDS})\b(?P<percent>\s(?:(?:percent|per\scent)\b|%))?"
    rf"|(?P<ordinal>{'|'.join(ORDINALS)})\b|(?P<times>{'|'.join(TIMES)})\b)"
)
_IN_WORDS, _IN_SMALL_WORDS = late_pattern(_IN_SMALL, re.IGNORECASE), late_pattern(_IN_SMALL)  # faster
_LETTERS = re.compile(r"[a-z]+")
_TYPED_DIGIT = re.compile("[0-9]")
_NO_LETTERS = dict.fromkeys(set(range(128)) - set(map(ord, ascii_lowercase)), " ")
# "passages 2 and 3", "step 4": names of parts of a text, not numbers of anything.
_PARTS = ("passage", "context", "source", "document", "step")
_PART_BEFORE = late_pattern(
    rf"\b(?:{'|'.join(_PARTS)})s?\s(?:\d{{1,3}}(?:,\s?|,?\sand\s|\s?[&–{EN_DASH}-]\s?)){{0,5}}\Z",
    re.IGNORECASE,
)
# How that ends, white space apart; most numbers come after something else.
_ENDS_OF_PART_BEFORE = (*_PARTS, *(f"{part}s" for part in _PARTS), "and", ",", "&", "–", "-", EN_DASH)
_LONGEST_END = len("documents ")
_LOOK_BACK = 60
_MINUTES_OF_HALF_A_DAY = 720


class _Quantity(NamedTuple):
    values: tuple[float, ...]
    kind: Kind
    start: int
    end: int
    is_vague: bool = False
    """True if the word may not be a number at all: *one*, *first*, 一."""
    also: tuple[Kind, float] | None = None
    """Other number that it may be compared as: 三点 as a time of day, 下午3点 as the 3."""


class Quantity(_Quantity, Spanned):
    """A number in a text; ``values`` are two if the half of the day is unknown."""

    __slots__ = ()


def quantities(text: str, forms: Collection[str] | None = None) -> list[Quantity]:
    """Return the numbers of a text in reading order; the numbers of passages and steps are none.

    ``forms`` are the words of the text in lower case, where the caller has them.

    >>> [quantity.values for quantity in quantities("1,200 of 3 million, 25 % at 5:30 pm, 一千二百")]
    [(1200.0,), (3000000.0,), (25.0,), (1050.0,), (1200.0,)]
    """
    even = typed(text)
    is_typed = even.isascii()
    if is_typed and forms is not None and _NUMBER_WORDS.isdisjoint(forms) and not _TYPED_DIGIT.search(even):
        return []  # as most sentences
    small = even.lower()
    found = _in_typed_digits(small) if is_typed else list(_in_digits(text))
    if is_typed and forms is None:
        forms = small.translate(_NO_LETTERS).split()
    words = _NUMBER_WORDS.intersection(_LETTERS.findall(text.lower()) if forms is None else forms)
    if words:
        taken = {place for quantity in found for place in range(quantity.start, quantity.end)}
        in_words = _in_small_words(small, words) if is_typed else _IN_WORDS.finditer(text)
        found += [
            _read_words(match)
            for match in in_words
            if match.start() not in taken  # the million of "3 million"
        ]
        found.sort(key=lambda quantity: quantity.start)
    return found if is_typed or _HOUR_SIGNS.isdisjoint(text) else list(with_clock_times(found, text))


def _in_small_words(text: str, known: Collection[str]) -> Iterator[re.Match[str]]:
    """Yield the numbers in words where one of the known begins; most of the text is not looked at."""
    if "&" in text or _has_joined_numbers(text):  # what is read as one word may have two
        known = [word for word in _NUMBER_WORDS if word in text]
    starts, end = [], 0
    for word in known:
        start = text.find(word)
        while start >= 0:
            starts.append(start)
            start = text.find(word, start + 1)
    for start in sorted(starts):
        if start >= end and (match := _IN_SMALL_WORDS.match(text, start)):
            yield match
            end = match.end()


def number_set(text: str, forms: Collection[str] | None = None) -> frozenset[Number]:
    """Return the numbers of a text, every reading of each; ``forms`` are its words, where they are known."""
    return frozenset([number for quantity in quantities(text, forms) for number in readings(quantity)])


def readings(quantity: Quantity) -> list[Number]:
    """Return what a number may be compared as."""
    found = [_number(quantity.kind, value) for value in quantity.values]
    return [*found, _number(*quantity.also)] if quantity.also else found


def _number(kind: str, value: float) -> Number:
    return ("time" if kind == "time" else "", value)


def with_clock_times(found: Iterable[Quantity], text: str) -> Iterator[Quantity]:
    """Yield numbers, those that are hours and minutes in Chinese as times of day.

    Where the half of the day is not stated, 三点 may be three points: it stays a number that may be a time.
    """
    numbers = list(found)
    following = {each.start: each for each in numbers if each.kind == "number"}
    of_hours: dict[
        int, float | None
    ] = {}  # where the minutes of an hour stand, and the time if it is not told
    begins, is_told, last = _UNTOLD, False, 0
    for each in numbers:
        hour, sign = each.values[-1], _HOUR.match(text, each.end)
        if each.start in of_hours:
            if (time := of_hours[each.start]) is not None:
                yield each._replace(also=("time", time))
            continue
        if each.kind != "number" or sign is None or hour not in range(25):
            yield each
            continue
        start = _part_of_day(text, each.start)
        if start < each.start:
            begins, is_told = _BEGINS[text[start : start + 2]], True
        elif not _TO.fullmatch(text, last, each.start):
            begins, is_told = _UNTOLD, hour > 12
        begins = begins + (int(hour) - begins) % 12 if 0 < hour <= 12 else int(hour)
        time, last = 60.0 * (begins % 24) + _MORE.get(sign["more"], 0), sign.end()
        minutes = following.get(last)
        if minutes is not None and minutes.values[-1] in range(60):
            is_followed = text.startswith("分", minutes.end)
            if minutes.values[-1] >= 10 or is_followed:
                time, last = time + minutes.values[-1], minutes.end + is_followed
                of_hours[minutes.start] = None if is_told else time
        if is_told:
            yield Quantity((time,), "time", start, last, also=("number", hour))
        else:
            yield each._replace(also=("time", time))


def _part_of_day(text: str, hour_at: int) -> int:
    """Return where the part of the day before an hour starts, or where the hour does."""
    first = max(0, hour_at - _LONGEST_PART)
    start = first + len(text[first:hour_at].rstrip().removesuffix("的")) - 2
    return start if text[max(start, 0) : start + 2] in _BEGINS else hour_at


def _in_typed_digits(text: str) -> list[Quantity]:
    """Return the numbers in digits of a typed text in small letters."""
    found: list[Quantity] = []
    may_be_of_part = None
    for match in _TYPED_NUMBER.finditer(text):
        if match.lastgroup == "marker":
            continue
        start, end = match.span()
        if may_be_of_part is None:
            may_be_of_part = any(part in text for part in _PARTS)
        if not (may_be_of_part and _is_of_part(text, start)):
            for values, kind in _typed_values(match[0]):
                found.append(Quantity(values, kind, start, end))
    return found


def _has_joined_numbers(text: str) -> bool:
    """Return True if a number in words stands beside an apostrophe."""
    words, at = tuple(_NUMBER_WORDS), text.find("'")
    while at >= 0:
        if text.endswith(words, 0, at) or text.startswith(words, at + 1):
            return True
        at = text.find("'", at + 1)
    return False


@lru_cache(maxsize=1 << 12)
def _typed_values(number: str) -> tuple[tuple[tuple[float, ...], Kind], ...]:
    """Return what a number in typed digits says: the same numbers come again and again."""
    match = _NUMBER.fullmatch(number)
    return () if match is None else tuple([(each.values, each.kind) for each in _read(match)])


def _in_digits(text: str) -> Iterator[Quantity]:
    begin = 0
    while (start := _START.search(text, begin)) is not None:
        match = _NUMBER.match(text, start.start())
        if match is None:
            begin = start.end()
            continue
        begin = match.end()
        if match.lastgroup != "marker" and not _is_of_part(text, match.start()):
            yield from _read(match)


def _is_of_part(text: str, start: int) -> bool:
    """Return True if the number that starts here is that of a passage or a step."""
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
        yield Quantity(values, kind, start, end)
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


_MONEY = {"$": "dollar", "€": "euro", "£": "pound", "¥": "yuan"}
_SUM = late_pattern(r"([$€£¥]) ?(\d+(?:\.\d+)?)")
# 两三 is a guess, and 小五 and 老三 are names.
_GUESS = re.compile("一二|[二两]三|三四|三五|四五|五六|六七|七八|八九")
_NAMED = frozenset("小老阿")
# Digits that a space or an apostrophe groups: 12 000, 1'000, and a telephone number.
_GROUPED = late_pattern(
    r"(?<![\d.,:'-])(?:[1-9]\d{0,2}(?:[ '](?=\d{3}(?!\d))\d{3})+|0\d+(?:[ -]\d{3,})+)(?![.,]?\d|')"
)
_DATE = re.compile(r"(\d{4})-(\d\d?)-(\d\d?)")
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october"),
    *("november", "december"),
)
_CODE = re.compile(r"0\d\d")  # 007 is no 7
_ROUND_ZERO = late_pattern(rf"(?<=[{_HAN_DIGITS}○])○|○(?=[{_HAN_DIGITS}])")
_BELOW_ZERO = re.compile(rf"(?:\bminus |零下|−)(?=[\d{_HAN_DIGITS}])")


def even_text(text: str) -> str:
    """Return the comparable text with its numbers as values; what has several readings stays as it is.

    >>> even_text("二〇二四年五月三日下午三点,Ａ座"), even_text("On 3 May 2024 at 3 p.m., for €200")
    ('2024年5月3日3:00 pm,a座', 'on 3 may 2024 at 3:00 pm., for 200 euro')
    >>> even_text("2024-05-03: 12 000 of them, agent 007 on 020 7946 0958")
    'may 3, 2024: 12000 of them, agent 007 on 02079460958'
    """
    even, at = comparable(text), 0
    is_typed = even.isascii()
    if not is_typed or "minus " in even:
        even = _BELOW_ZERO.sub("-", _ROUND_ZERO.sub("〇", even))
    even = _GROUPED.sub(lambda found: re.sub("[ '-]", "", found[0]), even)
    parts: list[str] = []
    for number in quantities(even):
        if number.start >= at and _has_one_reading(number, even):
            space = " " * (number.kind == "time" and even[number.end : number.end + 1].isalnum())
            parts += [even[at : number.start], _figure(number, even), space]
            at = number.end
    even = "".join(parts) + even[at:]
    if is_typed and "$" not in even:
        return even
    return _SUM.sub(lambda found: f"{found[2]} {_MONEY[found[1]]}", even)


def _has_one_reading(number: Quantity, text: str) -> bool:
    written = text[number.start : number.end]
    before, after = text[max(0, number.start - 1) : number.start], text[number.end : number.end + 1]
    if len(number.values) > 1 or _GUESS.fullmatch(written) or _CODE.match(written):
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
    if date := _DATE.fullmatch(text, number.start, number.end):
        year, month, day = map(int, date.groups())
        return f"{_MONTHS[month - 1]} {day}, {year}" if 1 <= month <= len(_MONTHS) else date[0]
    return f"{'第' * text.startswith('第', number.start)}{value:.15g}{'%' * (number.kind == 'percent')}"
