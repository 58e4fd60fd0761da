"""Numbers written out, as figures: 三只 and "three of them" become 3只 and "3 of them".

So do halves of hours and times of day: 两个半小时 is 2.5小时, and 七点半 and "half past seven" are 7:30. Only
what is surely a number is written anew. 一起 and 五郎 are words, "one" and "first" mostly are, 两三 is a
guess, and dates, hours and "5 m" have more than one reading: all of them stay as they are.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

from rag_evaluation_framework.characters import HAN, HAN_CHARACTER, ONE_TO_TEN
from rag_evaluation_framework.judging.words.comparable_text import pieces
from rag_evaluation_framework.judging.words.measures import UNIT_NAMES
from rag_evaluation_framework.judging.words.number_words import COUNTED, NUMERALS, ORDINALS
from rag_evaluation_framework.judging.words.quantities import Quantity, written_numbers

MEASURE_WORDS = "个名位只条件种张本辆家座头匹枚颗把艘间台架部首篇封份套棵株朵根支幅口"
"""What stands between a number and a noun and says nothing by itself: 三只猫 are 3 cats."""
COUNTERS = f"{MEASURE_WORDS}{COUNTED}级章卷集回度"
"""What may stand right after a number: those, and what is counted itself."""
_COUNTED = (*COUNTERS, *UNIT_NAMES)
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
    if text.startswith(_COUNTED, quantity.end):
        return before not in _NAMED
    return not (HAN_CHARACTER.match(before) or HAN_CHARACTER.match(after))


def _figure(quantity: Quantity, text: str) -> str:
    ordinal = "第" if text[quantity.start] == "第" else ""
    percent = "%" if quantity.kind == "percent" else ""
    return f"{ordinal}{quantity.values[0]:.15g}{percent}"
