"""Numbers as values: ``1,000``, ``1000``, ``one thousand``, ``１０００`` and ``一千`` are the same number.

A quantity has a value, a kind that keeps unlike numbers apart (a plain number, a percentage, a time of day in
minutes) and its place. Months are read as words, so that ``2022-01-09`` meets ``January 9, 2022``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from math import prod
from string import ascii_lowercase
from typing import Literal, NamedTuple
from unicodedata import normalize

from rag_evaluation_framework.judging.words.measures import Measure, measure

Kind = Literal["number", "percent", "time"]


def _numbered(words: str, *, first: int = 0, step: int = 1) -> dict[str, int]:
    return {word: first + step * place for place, word in enumerate(words.split())}


MONTHS = tuple(
    _numbered("january february march april may june july august september october november december")
)
_UNITS = _numbered(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
)
_TENS = _numbered("twenty thirty forty fifty sixty seventy eighty ninety", first=20, step=10)
_ORDINALS = _numbered(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth", first=1
)
_TIMES = {"once": 1, "twice": 2, "thrice": 3}
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_ABBREVIATED = {"k": 1e3, "m": 1e6, "mn": 1e6, "bn": 1e9, "b": 1e9, "tn": 1e12}
_HAN_DIGITS = {
    character: value
    for value, characters in enumerate(
        ("零〇", "一壹", "二两兩贰", "三叁", "四肆", "五伍", "六陆", "七柒", "八捌", "九玖")
    )
    for character in characters
}
_HAN_SCALES = {"十": 10, "百": 100, "千": 1000, "拾": 10, "佰": 100, "仟": 1000}
_HAN_BIG = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}

# What stands between a number and what it counts, or is counted itself: 三次, 两个.
_COUNTED = frozenset("次个個名位只隻条條件天年月日岁歲点點人米元块塊倍种種张張本辆輛层層楼樓家座公小分秒周")

_NUMERALS = "零〇一二三四五六七八九十百千万萬亿億两兩壹贰叁肆伍陆柒捌玖拾佰仟"
# Where a number in digits or Chinese numerals may begin; trying the whole pattern everywhere is too slow.
_START = re.compile(rf"[\d\[第{_NUMERALS}]")
_ASCII_START = re.compile(r"[0-9\[]")
_NUMBER = re.compile(
    rf"""(?P<marker>\[\d[\d,，、;\s–-]{{0,60}}\])
    |(?P<date>\d{{4}}-\d{{1,2}}-\d{{1,2}}\b)
    |(?P<hour>\d{{1,2}})[:：](?P<minute>\d{{1,2}})(?::\d\d)?(?![\d:])(?:\s?(?P<half>[ap]\.?m\b))?
    |(?P<clock>\d{{1,2}})\s?(?P<day>[ap]\.?m\b)
    |(?P<digits>\d{{1,30}}(?:[,，]\d{{3}}){{0,9}}(?:\.\d{{1,30}})?)
       (?:(?:st|nd|rd|th)\b
         |\s?(?P<scale>thousand|million|billion|trillion|bn|mn|tn|[kmb](?=\b)|[十百千]?[万萬亿億]|[百千])(?![a-z])
         |\s?(?P<percent>%|％|percent\b|per\ cent\b))?
    |百分之(?P<hanpercent>[{_NUMERALS}]{{1,30}})
    |(?P<han>第?[{_NUMERALS}]{{1,30}})""",
    re.VERBOSE | re.IGNORECASE,
)
_NUMBER_WORDS = frozenset([*_UNITS, *_TENS, *_SCALES, *_ORDINALS, *_TIMES])
_WORD = "|".join([*_UNITS, *_TENS, *_SCALES])
# With which letters they begin is looked at first: most words begin with another.
_IN_WORDS = re.compile(
    rf"\b(?=[{''.join(sorted({word[0] for word in _NUMBER_WORDS}))}])(?:"
    rf"(?P<words>(?:{_WORD})(?:[\s-]+(?:and[\s-]+)?(?:{_WORD}))*)\b(?P<percent>\s(?:percent|per\scent)\b)?"
    rf"|(?P<ordinal>{'|'.join(_ORDINALS)})\b|(?P<times>{'|'.join(_TIMES)})\b)",
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
    """What it measures, where a unit follows."""


def quantities(text: str, forms: Iterable[str] | None = None) -> list[Quantity]:
    """Return the numbers of a text in reading order; the numbers of passages and steps are none.

    ``forms`` are the words of the text in lower case, where the caller has them.

    >>> [quantity.values for quantity in quantities("1,200 of 3 million, 25 % at 5:30 pm, 一千二百")]
    [(1200.0,), (3000000.0,), (25.0,), (1050.0,), (1200.0,)]
    """
    found = list(_in_digits(text))
    if not _NUMBER_WORDS.isdisjoint(_words(text.lower()) if forms is None else forms):
        taken = [(quantity.start, quantity.end) for quantity in found]
        in_words = _IN_SMALL_WORDS.finditer(text.lower()) if text.isascii() else _IN_WORDS.finditer(text)
        found += [
            _read_words(match)
            for match in in_words
            if not any(start <= match.start() < end for start, end in taken)  # the million of "3 million"
        ]
        found.sort(key=lambda quantity: quantity.start)
    return [_measured(quantity, text) for quantity in found]


def _words(text: str) -> list[str]:
    """Return the runs of small letters; cutting a text between them is faster than finding them."""
    return text.translate(_NO_LETTERS).split() if text.isascii() else _LETTERS.findall(text)


def _measured(quantity: Quantity, text: str) -> Quantity:
    found = measure(text, quantity.end, quantity.values[-1]) if quantity.kind == "number" else None
    return quantity._replace(measure=found) if found else quantity


def number_word(word: str) -> str:
    """Return the digits of a number written as one word, or nothing.

    >>> number_word("seven"), number_word("seventh")
    ('7', '')
    """
    value = _UNITS.get(word) or _TENS.get(word)
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
        scaled = value * (_SCALES.get(scale) or _ABBREVIATED.get(scale) or _han_scale(scale))
        # "5 m" may be millions or metres.
        values = (scaled, value) if scale == "m" else (scaled,)
        kind: Kind = "percent" if match["percent"] else "number"
        yield Quantity(values, kind, start, end, measure=("length", value) if scale == "m" else None)
    elif match["hanpercent"]:
        yield Quantity((_han_value(match["hanpercent"]),), "percent", start, end)
    else:
        numeral = match["han"].removeprefix("第")
        if numeral not in _HAN_BIG and numeral not in _HAN_SCALES:
            counts = numeral != "一" and match.string[end : end + 1] in _COUNTED
            is_vague = len(match["han"]) == 1 and not counts
            yield Quantity((_han_value(numeral),), "number", start, end, is_vague)


def _read_words(match: re.Match[str]) -> Quantity:
    start, end = match.span()
    if match["ordinal"]:
        word = match["ordinal"].lower()
        return Quantity((float(_ORDINALS[word]),), "number", start, end, word in ("first", "second"))
    if match["times"]:
        return Quantity((float(_TIMES[match["times"].lower()]),), "number", start, end, is_vague=True)
    kind: Kind = "percent" if match["percent"] else "number"
    return Quantity((_words_value(match["words"]),), kind, start, end, match["words"].lower() == "one")


def _value(digits: str) -> float:
    return float(normalize("NFKC", digits).replace(",", ""))


def _han_scale(scale: str) -> float:
    """Return what ``百万`` multiplies by; 1 for nothing."""
    return float(prod(_HAN_SCALES.get(character) or _HAN_BIG[character] for character in scale))


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
        if word in _UNITS or word in _TENS:
            current += _UNITS.get(word, 0) + _TENS.get(word, 0)
        elif word == "hundred":
            current = (current or 1) * 100
        elif word in _SCALES:
            total += (current or 1) * _SCALES[word]
            current = 0.0
    return total + current


@lru_cache(maxsize=1 << 12)
def _han_value(text: str) -> float:
    if not set(text) - _HAN_DIGITS.keys():
        return float("".join(str(_HAN_DIGITS[digit]) for digit in text))
    total = section = digit = 0
    for character in text:
        if character in _HAN_DIGITS:
            digit = _HAN_DIGITS[character]
        elif character in _HAN_SCALES:
            section += (digit or 1) * _HAN_SCALES[character]
            digit = 0
        else:
            total = (total + section + digit) * _HAN_BIG[character]
            section = digit = 0
    return float(total + section + digit)
