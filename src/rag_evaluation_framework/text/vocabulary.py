"""Stop words, stems, negation and question words, calendar: read from data."""

from __future__ import annotations

import re
from functools import lru_cache
from threading import Lock

from Stemmer import Stemmer

# The stem of an English word: Snowball's, with the irregular forms that no rule leads to it.
#
# Two words that people would call the same should meet (``citizens``, ``citizen``; ``took``, ``takes``),
# and a stem need not be a word.

_IRREGULAR_FORMS = {
    "go": "went gone goes",
    "child": "children",
    "person": "people",
    "man": "men",
    "woman": "women",
    "foot": "feet",
    "tooth": "teeth",
    "begin": "began begun",
    "bring": "brought",
    "buy": "bought",
    "build": "built",
    "catch": "caught",
    "choose": "chose chosen choice choices",
    "come": "came",
    "die": "death dead deaths",
    "drive": "drove driven",
    "eat": "ate eaten",
    "fall": "fell fallen",
    "find": "found",
    "fly": "flew flown flight flights",
    "get": "got gotten",
    "give": "gave given",
    "grow": "grew grown growth",
    "hold": "held",
    "keep": "kept",
    "know": "knew known knowledge",
    "lead": "led",
    "leave": "left",
    "lose": "lost loss losses",
    "make": "made",
    "meet": "met",
    "pay": "paid",
    "rise": "rose risen",
    "run": "ran",
    "say": "said",
    "see": "saw seen",
    "sell": "sold sale sales",
    "send": "sent",
    "serve": "service services",
    "sing": "sang sung",
    "speak": "spoke spoken speech",
    "spend": "spent",
    "stand": "stood",
    "take": "took taken",
    "teach": "taught",
    "tell": "told",
    "think": "thought thoughts",
    "win": "won winner winners",
    "use": "user users usage",
    "write": "wrote written writer writers",
}
_KEPT_WORDS = 1 << 15
_SNOWBALL = Stemmer("english", 0)
_ONE_AT_A_TIME = Lock()


@lru_cache(maxsize=_KEPT_WORDS)
def stem(word: str) -> str:
    """Return the stem of a lower-case English word.

    >>> [stem(word) for word in ("takes", "took", "taking", "cities", "city", "organized", "organization")]
    ['take', 'take', 'take', 'citi', 'citi', 'organiz', 'organiz']
    """
    return _IRREGULAR.get(word) or _regular_stem(word)


def _regular_stem(word: str) -> str:
    with _ONE_AT_A_TIME:
        return str(_SNOWBALL.stemWord(word))


_IRREGULAR = {
    form: _regular_stem(word) for word, forms in _IRREGULAR_FORMS.items() for form in forms.split()
} | {"business": "business", "businesses": "business"}  # which is not to be busy


# The words by which a sentence denies something.

NEGATIONS = ("not", "no", "never", "neither", "nor", "without", "cannot")
"""English words that deny what follows."""

CHINESE_NEGATIONS = "不没沒无無未非"
"""Characters that deny what follows, where they are no part of a word."""

CHINESE_NOT = "不(?![同过仅但少断久论管止错只光])|没(?!错|问题)|未(?!来)"
"""The expression of those of a comparable text that are no part of such a word: not of 不同, 没错, 未来."""

DENIAL = re.compile(
    rf"\b(?!not\sonly)(?:{'|'.join(NEGATIONS)}|none|unable|unavailable|closed|absence|den(?:y|ies|ied)"
    rf"|lack(?:s|ed|ing)?|fail(?:s|ed)?\sto)\b|n['’]t\b|[{CHINESE_NEGATIONS}]",
    re.IGNORECASE,
)


# The words by which a question asks for more than a yes or no, as expressions for comparable texts.

QUESTION_WORDS = "what|who|whom|whose|which|where|when|why|how"
CHINESE_QUESTION_WORDS = "什么|谁|哪(?!怕)|(?<!任)何|几(?!乎)|多少|怎[么样]"
"""Not those of 哪怕, 任何 and 几乎, which ask nothing."""


# The names of months, in their order.

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)


# Words and characters that are numbers, with their values, and what numbers count.


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


# Words and characters that state nothing by themselves: grammar, and talk about the sources.

_GRAMMAR = """
a about above according across after again against ago ain all almost along already also although always am
among an and another any anyone anything are aren't around as at away back be became because become becomes
been before behind being below beside besides between beyond both but by can can't cannot could couldn't did
didn't do does doesn't doing don don't done down due during each either else enough especially even ever
every everyone everything except far few fewer for from further furthermore get gets getting got had hadn't
has hasn't have haven't having he he'd he'll he's her here here's hers herself him himself his how how's
however i i'd i'll i'm i've if in indeed instead into is isn't it it'd it'll it's its itself just least less
let let's like likely made main mainly make makes making many may maybe me meanwhile might mine more
moreover most mostly much must my myself near nearly need needs neither nevertheless no nobody none
nonetheless nor not nothing now of off often on once one ones only onto or other others otherwise ought our
ours ourselves out over overall own per perhaps plus quite rather really regarding s same seem seems several
shall shan't she she'd she'll she's should shouldn't since so some someone something sometimes soon still
such t than that that's the their theirs them themselves then there there's therefore these they they'd
they'll they're they've thing things this those though through throughout thus to together too toward
towards typically under unless unlike until up upon us usually various very via was wasn't we we'd we'll
we're we've well were weren't what what's whatever when whenever where where's whereas wherever whether
which whichever while who who's whoever whole whom whose why will with within without won't would wouldn't
yet you you'd you'll you're you've your yours yourself yourselves
"""

# Said of the sources or of the answer itself, not of the world; and verbs that only report.
_TALK = """
absolutely actually additional additionally answer answers argue argued argues arguing article articles
author authors based certainly conclude concluded conclusion context contexts currently definitely
describe described describes describing despite detail detailed details discuss discussed discusses
discussing document documents e.g emphasize emphasized emphasizes emphasizing etc example examples
explain explained explaining explains express expressed expresses finally firstly follow followed
following follows given highlight highlighted highlighting highlights i.e important include included
includes including information instance key known lastly mention mentioned mentioning mentions namely
note noted notes overview particular particularly passage passages please possible provide provided
provides providing question questions refer referred refers regard regards related report reported
reportedly reports secondly source sources specific specifically state stated states stating suggest
suggested suggesting suggests summarize summarized summarizes summary text texts ultimately unable use
used uses using writer yeah yep yes
"""

# Verbs that tell little without what stands beside them: to take place, to give way, to come into force.
LIGHT_VERBS = frozenset(
    {"came", "come", "comes", "coming", "gave", "give", "gives", "giving", "go", "goes", "going", "gone"}
    | {"take", "taken", "takes", "taking", "took", "went"}
)

_COURTESIES = """
apologies apologize ask asking assist assistance clarification course dear feel free glad
great greetings happy hello help helped helpful helps hesitate hey hi hope know pleased query request sorry
sure thank thanks welcome
"""
COURTESIES = frozenset(_COURTESIES.split())
"""Words of greetings, thanks and offers of help: a sentence with no other content claims nothing."""

_BESIDE_NUMBERS = "a.m am p.m percent percentage pm"

_LISTED = (_GRAMMAR + _TALK + _BESIDE_NUMBERS).split()
STOP_WORDS = LIGHT_VERBS.union(_LISTED, UNITS, TENS, SCALES, COMMON_ORDINALS)

STRUCTURE = frozenset("的了着著在于於从從被把与與和之")
"""Chinese characters that only join others: of, aspect, prepositions, *and*."""

PARTICLES = STRUCTURE | frozenset("是或及给給其这這那您你我他她它们們个個吗嗎呢吧啊呀")
"""Chinese characters of grammar; also pronouns, *or*, what ends a question."""

# Numerals are compared as numbers. A pair of characters with one of these is grammar or a number more often
# than a word, so that it is left out.
STOP_CHARACTERS = PARTICLES | PLAIN_NUMERALS | frozenset("该該第")
