"""Sums and measures in one form: "€200", "EUR 200" and 200欧元 become ``200 euro``, "5 kilometres" ``5 km``.

What a number measures is told by one word after it. ¥ is the sign of the yen, or of the yuan where
Chinese or a word for it is near.
"""

from __future__ import annotations

import re

from rag_evaluation_framework.characters import HAN_CHARACTER
from rag_evaluation_framework.judging.words.comparable_text import rewritten
from rag_evaluation_framework.judging.words.measures import UNIT_GROUPS

# By the words for them: signs and codes, which stand before a number too, and names, which stand after it.
_MONEY = {
    "dollar": ("$ us$ usd", "dollar 美元 美金"),
    "euro": ("€ eur", "euro 欧元"),
    "pound": ("£ gbp", "pound 英镑"),
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
_AFTER = {name: word for word, both in _MONEY.items() for names in both for name in names.split()}
_AFTER |= {
    name: names[0]
    for names in UNIT_GROUPS
    for name in names
    if len(name) > 1 and name not in _MONEY  # 米 and 天 are parts of words, and pounds may be money
}
_NUMBER = r"\d+(?:\.\d+)?"


def _one_of(names: dict[str, str]) -> str:
    return "|".join(map(re.escape, sorted(names, key=len, reverse=True)))


_SUM = re.compile(
    rf"(?:(?<![a-z])(?P<before>{_one_of(_BEFORE)}|¥) ?(?P<sum>{_NUMBER})(?![\da-z]|\.\d)"
    rf"(?: ?(?:{_one_of(_AFTER)})(?:e?s)?(?![a-z]))?"
    rf"|(?P<number>{_NUMBER})[ -]?(?P<after>{_one_of(_AFTER)})(?:e?s)?(?![a-z旦宵素]))"
)
# 三十块 is money where nothing is counted: 三十块蛋糕 are pieces.
_PIECES_OF_MONEY = re.compile(r"(?<=\d)块(?=[1一每/]|[^\w]|\Z)")
_OF_YEN = re.compile(r"\b(?:yen|jpy)\b|日[元圆]")
_OF_YUAN = re.compile(rf"\b(?:yuan|cny|rmb)\b|{HAN_CHARACTER.pattern}")
_ASKED = re.compile(rf"(?<=[少几])(?:{_one_of(_AFTER)})")


def with_units(text: str, *, beside: str = "") -> str:
    """Return a comparable text with figures, its sums and measures in one form; ``beside`` may tell of ¥.

    >>> with_units("it is $5 or 5 euros"), with_units("共5千米,人民币100元"), with_units("¥100")
    ('it is 5 dollar or 5 euro', '共5 km,100 yuan', '100 yen')
    """
    near = f"{text} {beside}"
    yuan_or_yen = "yuan" if _OF_YUAN.search(near) and not _OF_YEN.search(near) else "yen"

    def written(found: re.Match[str]) -> str:
        if found["before"]:
            return f"{found['sum']} {_BEFORE.get(found['before'], yuan_or_yen)}"
        return f"{found['number']} {_AFTER[found['after']]}"

    asked = rewritten(text, _ASKED, lambda found: _AFTER[found[0]])
    return rewritten(_PIECES_OF_MONEY.sub("元", asked), _SUM, written)
