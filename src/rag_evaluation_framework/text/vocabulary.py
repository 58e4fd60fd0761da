"""Stop words, stems, negation and question words, calendar: read from data."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib.resources import files
from threading import Lock

from Stemmer import Stemmer

# The lines of each file of words, without comments.
_LINES = {
    name: [
        line
        for line in files(__package__).joinpath("data", f"{name}.txt").read_text("utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    for name in ("courtesies", "irregular_words", "stop_words")
}


# The stem of an English word: Snowball's, with the irregular forms that no rule leads to it.
#
# Two words that people would call the same should meet (``citizens``, ``citizen``; ``took``, ``takes``),
# and a stem need not be a word.

_KEPT_WORDS = 1 << 15
_SNOWBALL = Stemmer("english", 0)
_ONE_AT_A_TIME = Lock()


@lru_cache(maxsize=_KEPT_WORDS)
def stem(word: str) -> str:
    """Return the stem of a lower-case English word.

    >>> [stem(word) for word in ("takes", "took", "taking", "cities", "city", "organized", "organization")]
    ['take', 'take', 'take', 'citi', 'citi', 'organiz', 'organiz']
    """
    return _irregular().get(word) or _regular_stem(word)


def _regular_stem(word: str) -> str:
    with _ONE_AT_A_TIME:
        return str(_SNOWBALL.stemWord(word))


@cache
def _irregular() -> dict[str, str]:
    return {
        form: _regular_stem(word)
        for word, _, forms in (line.partition(":") for line in _LINES["irregular_words"])
        for form in forms.split()
    } | {"business": "business", "businesses": "business"}  # which is not to be busy


# The words by which a sentence denies something.

NEGATIONS = ("not", "no", "never", "neither", "nor", "without", "cannot")
"""English words that deny what follows."""

CHINESE_NEGATIONS = "不没沒无無未非"
"""Characters that deny what follows, where they are no part of a word."""

DENIAL = re.compile(
    rf"\b(?!not\sonly)(?:{'|'.join(NEGATIONS)}|none|unable|unavailable|closed|absence|den(?:y|ies|ied)"
    rf"|lack(?:s|ed|ing)?|fail(?:s|ed)?\sto)\b|n['’]t\b|[{CHINESE_NEGATIONS}]",
    re.IGNORECASE,
)


# Words and characters that are numbers, with their values, and what numbers count.


_words = str.split

UNITS = {
    word: value
    for value, word in enumerate(
        _words(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
            "sixteen seventeen eighteen nineteen"
        )
    )
}
TENS = {
    word: 10 * tens
    for tens, word in enumerate(_words("twenty thirty forty fifty sixty seventy eighty ninety"), start=2)
}
SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
ABBREVIATED_SCALES = {"k": 1e3, "m": 1e6, "mn": 1e6, "bn": 1e9, "b": 1e9, "tn": 1e12}
ORDINALS = {
    word: value
    for value, word in enumerate(
        _words("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"), start=1
    )
}
COMMON_ORDINALS = frozenset(("first", "second", "third"))
"""Ordinals that are more often words of grammar than numbers."""
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
"""Numerals of everyday writing; the others are for cheques, and are words as well: 陆 is land."""

COUNTED = "次个個名位只隻条條件天年月日岁歲点點人米元块塊倍种種张張本辆輛层層楼樓家座"
"""Chinese measure words after a number, and nouns that are counted themselves: 三次, 两个."""


# Words and characters that state nothing by themselves: grammar, and talk about the sources.


# Verbs that tell little without what stands beside them: to take place, to give way, to come into force.
LIGHT_VERBS = frozenset(
    {"came", "come", "comes", "coming", "gave", "give", "gives", "giving", "go", "goes", "going", "gone"}
    | {"take", "taken", "takes", "taking", "took", "went"}
)

COURTESIES = frozenset(" ".join(_LINES["courtesies"]).split())
"""Words of greetings, thanks and offers of help: a sentence with no other content claims nothing."""

STOP_WORDS = LIGHT_VERBS.union(" ".join(_LINES["stop_words"]).split(), UNITS, TENS, SCALES, COMMON_ORDINALS)

STRUCTURE = frozenset("的了着著在于於从從被把与與和之")
"""Chinese characters that only join others: of, aspect, prepositions, *and*."""

PARTICLES = STRUCTURE | frozenset("是或及给給其这這那您你我他她它们們个個吗嗎呢吧啊呀")
"""Chinese characters of grammar; also pronouns, *or*, what ends a question."""

# Numerals are compared as numbers. A pair of characters with one of these is grammar or a number more often
# than a word, so that it is left out.
STOP_CHARACTERS = PARTICLES | PLAIN_NUMERALS | frozenset("该該第")
