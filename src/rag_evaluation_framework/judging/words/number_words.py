"""Words and characters that are numbers, with their values, and what numbers count."""

from __future__ import annotations


def _numbered(words: str, *, first: int = 0, step: int = 1) -> dict[str, int]:
    return {word: first + step * place for place, word in enumerate(words.split())}


UNITS = _numbered(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
)
TENS = _numbered("twenty thirty forty fifty sixty seventy eighty ninety", first=20, step=10)
SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
ABBREVIATED_SCALES = {"k": 1e3, "m": 1e6, "mn": 1e6, "bn": 1e9, "b": 1e9, "tn": 1e12}
ORDINALS = _numbered(
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth", first=1
)
COMMON_ORDINALS = frozenset(("first", "second", "third"))
"""Those that are more often words of grammar than numbers."""
TIMES = {"once": 1, "twice": 2, "thrice": 3}

CHINESE_DIGITS = {
    character: value
    for value, characters in enumerate(
        ("零〇", "一壹", "二两兩贰", "三叁", "四肆", "五伍", "六陆", "七柒", "八捌", "九玖")
    )
    for character in characters
}
CHINESE_SCALES = {"十": 10, "百": 100, "千": 1000, "拾": 10, "佰": 100, "仟": 1000}
CHINESE_MYRIADS = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
NUMERALS = "".join((*CHINESE_DIGITS, *CHINESE_SCALES, *CHINESE_MYRIADS))
"""Every Chinese numeral, between the brackets of a regular expression."""
PLAIN_NUMERALS = frozenset(NUMERALS) - frozenset("壹贰叁肆伍陆柒捌玖拾佰仟")
"""Those of everyday writing; the others are for cheques, and are words as well: 陆 is land."""

COUNTED = "次个個名位只隻条條件天年月日岁歲点點人米元块塊倍种種张張本辆輛层層楼樓家座"
"""What stands between a Chinese number and what it counts, or is counted itself: 三次, 两个."""
