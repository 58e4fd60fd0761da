"""One form for what has several: numbers as figures, sums and units, dates, times of day, and some names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise

from rag_evaluation_framework.text.normalisation import comparable
from rag_evaluation_framework.text.numbers import (
    UNIT_GROUPS,
    UNIT_NAMES,
    Quantity,
    quantities,
    written_numbers,
)
from rag_evaluation_framework.text.scripts import HAN, HAN_CHARACTER, ONE_TO_TEN, has_unspaced_script
from rag_evaluation_framework.text.tokens import pieces
from rag_evaluation_framework.text.vocabulary import (
    COUNTED,
    MONTHS,
    NUMERALS,
    ORDINALS,
)

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


def rewritten(text: str, pattern: re.Pattern[str], written: Callable[[re.Match[str]], str]) -> str:
    """Return a text with other words for what a pattern finds, parted from what is beside them.

    Chinese before them is not parted: what it denies, it stands next to.

    >>> rewritten("3月5日共5公里路", re.compile("(.)公里"), lambda found: f"{found[1]} km")
    '3月5日共5 km 路'
    """

    def parted(found: re.Match[str]) -> str:
        start, end = found.span()
        before, after = text[max(0, start - 1) : start], text[end : end + 1]
        is_joined = before.isalnum() and not has_unspaced_script(before)
        return f"{' ' * is_joined}{written(found)}{' ' * after.isalnum()}"

    return pattern.sub(parted, text)


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
    written = quantity.of(text)
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
