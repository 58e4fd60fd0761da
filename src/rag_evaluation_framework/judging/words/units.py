"""Sums and measures in one form: "€200", "EUR 200" and 200欧元 become ``200 euro``, "5 km" ``5 kilometre``.

What a number measures is told by one English word after it, so that "one hour" and "how many hours" have the
same. ¥ is the sign of the yen, or of the yuan where Chinese or a word for it is near; 5分 are minutes where
the text beside it has minutes alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rag_evaluation_framework.characters import HAN_CHARACTER
from rag_evaluation_framework.judging.words.comparable_text import rewritten
from rag_evaluation_framework.judging.words.measures import UNIT_GROUPS
from rag_evaluation_framework.judging.words.number_words import NUMERALS

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


_MEASURES = {
    name: _word(names)
    for names in UNIT_GROUPS
    for name in names
    if (len(name) > 1 or name.isascii()) and name not in _MONEY  # 米 and 天 are parts of words
} | {"钟头": "hour"}
_AFTER = _MONEY_AFTER | _MEASURES
_NUMBER = r"\d+(?:\.\d+)?"


def _one_of(names: Iterable[str]) -> str:
    return "|".join(map(re.escape, sorted(names, key=len, reverse=True)))


_SUM = re.compile(
    rf"(?<![a-z])(?P<before>{_one_of(_BEFORE)}|¥) ?(?P<sum>{_NUMBER})"
    rf"(?:(?P<scale> ?[kmb]n?(?![a-z]))"
    rf"|(?![\da-z]|\.\d)(?: ?(?:{_one_of(_MONEY_AFTER)})(?:e?s)?(?![a-z]))?)"
    rf"|(?P<number>{_NUMBER}[多余来]?|(?<![a-z])one(?= second\b))[ -]?"
    rf"(?P<after>{_one_of(_AFTER)})(?:e?s)?(?![a-z旦宵素])"
)
_CHINESE = _one_of(name for name in _MEASURES if not name.isascii())
_SURELY = "(?!分钟[情爱]|小时候)"  # 十分钟情 is "very fond of"
# 几公里 is asked, 两三公里 a guess.
_OPEN = re.compile(rf"(?<=[少几])(?:{_one_of(_AFTER)})(?![a-z])|(?<=[数{NUMERALS}]){_SURELY}(?:{_CHINESE})")
_TEN = re.compile(rf"(?<![几数{NUMERALS}\d])十{_SURELY}(?={_CHINESE}|个(?:小时|钟头))")
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
        return f"{found['number']} {_AFTER[found['after']]}"

    if _MINUTES.search(other) and not _NO_MINUTES.search(other):
        text = _SHORT_MINUTES.sub("分钟", text)
    text = _KILO.sub("kilogram", _AMERICAN.sub(r"\1re", _EACH.sub("", _TEN.sub("10", text))))
    text = rewritten(_PIECES_OF_MONEY.sub("元", text), _OPEN, lambda found: _AFTER[found[0]])
    return rewritten(text, _SUM, written)
