"""Numbers written out, as figures: 三只 and "three of them" become 3只 and "3 of them".

Only what is surely a number is written anew. 一起 and 五郎 are words, "one" and "first" mostly are, 两三 is a
guess, and dates, times of day and "5 m" have more than one reading: all of them stay as they are.
"""

from __future__ import annotations

import re
from collections import Counter

from rag_evaluation_framework.judging.words.quantities import Quantity, quantities

_HAN = re.compile(r"[\u3400-\u9fff]")
_COUNTED = "次个名位只条件天年月日岁点人米元块倍种张本辆层楼家座头匹级章卷集回枚颗把艘间"
# 十 alone, which may be a part of a word: 十分 is "very".
_TEN = re.compile(
    rf"(?<![\u3400-\u9fff\d])十(?![\u3400-\u9fff\d])|(?<![零〇一二三四五六七八九十百千万亿\d])十(?=[{_COUNTED}])"
)
# 小五, 老三 and 阿七 are names.
_NAMED = frozenset("小老阿")
_ROUND_ZERO = re.compile(r"(?<=[一二三四五六七八九〇○])○|○(?=[一二三四五六七八九〇])")
_GUESS = re.compile(r"一二|[二两]三|三四|三五|四五|五六|六七|七八|八九")


def with_figures(text: str) -> str:
    """Return a comparable text with its numbers as figures.

    >>> with_figures("二〇二四年有三只,第十二章"), with_figures("twenty-one steps")
    ('2024年有3只,第12章', '21 steps')
    """
    even = _TEN.sub("10", _ROUND_ZERO.sub("〇", text))
    found = quantities(even)
    readings = Counter(quantity.start for quantity in found)
    parts: list[str] = []
    at = 0
    for quantity in found:
        if readings[quantity.start] == 1 and _is_figure(quantity, even):
            parts += [even[at : quantity.start], _figure(quantity, even)]
            at = quantity.end
    return "".join(parts) + even[at:]


def _is_figure(quantity: Quantity, text: str) -> bool:
    written = text[quantity.start : quantity.end]
    if quantity.kind == "time" or len(quantity.values) > 1 or _GUESS.fullmatch(written):
        return False
    before, after = text[: quantity.start][-1:], text[quantity.end : quantity.end + 1]
    if not _HAN.match(written):
        return not quantity.is_vague and not written.endswith(("st", "nd", "rd", "th"))
    if len(written) > 1:
        return True
    if after and after in _COUNTED:
        return before not in _NAMED
    return not (_HAN.match(before) or _HAN.match(after))


def _figure(quantity: Quantity, text: str) -> str:
    ordinal = "第" if text[quantity.start] == "第" else ""
    percent = "%" if quantity.kind == "percent" else ""
    return f"{ordinal}{quantity.values[0]:.15g}{percent}"
