"""What can be asked for in a sentence: times, quantities, places, reasons, as patterns."""

from __future__ import annotations

import re

from rag_evaluation_framework.synthesis.rules.english_words import (
    MONTH,
    NUMBER_WORD,
    TIME_UNIT,
    WEEKDAY,
    word_set,
)

_THOUSANDS = r"(?: (?:hundred|thousand|million|billion|trillion)\b)?"
_NUMBER = rf"(?:[£$€¥]\s?)?(?:\d[\d,.]*\d|\d|\b{NUMBER_WORD}\b){_THOUSANDS}"
_ABOUT = (
    r"(?:(?:at least|at most|no more than|no less than|no longer than|up to|about|around|some|only|exactly"
    r"|over|more than|less than|fewer than|nearly|almost|approximately|an average of) )?"
)
_SPELL = rf"{_ABOUT}{_NUMBER} (?:(?:working|calendar|consecutive|full|whole|more|short|long) )?{TIME_UNIT}\b"
_CLOCK = r"\d{1,2}:\d\d(?: ?[ap]\.?m\.?)?|\d{1,2}(?:\.\d\d)? ?[ap]\.?m\.?"
_DATE = (
    rf"(?:{_CLOCK}|(?:\d{{1,2}} )?{MONTH}\b(?: \d{{1,2}}(?:st|nd|rd|th)?\b)?(?:,? \d{{4}})?"
    rf"|[12]\d{{3}}s?\b|{WEEKDAY}\b"
    r"|(?:the )?(?:early |late )?(?:spring|summer|autumn|winter)(?: of \d{4})?(?! \w+days?\b))"
)

DATED = re.compile(
    rf"\b(?P<preposition>in|on|at|from|since|until|by|before|after|between|during) "
    rf"{_DATE}(?: (?:and|to|or|until) {_DATE})?"
)
OFTEN = re.compile(
    rf"\b(?:in )?every (?:{_NUMBER} |second |other |third )?{TIME_UNIT}\b(?: of the \w+)?"
    rf"|\b(?:once|twice|{_NUMBER} times) (?:a|an|every|each|per) \w+"
)
LASTING = re.compile(rf"\bfor {_SPELL}")
SPELL = re.compile(rf"{_SPELL}(?! (?:before|after|ahead|late|early|old|in\b))")
TAKES_TIME = frozenset({"last", "take", "need", "run", "wait", "stay", "spend", "require", "remain", ""})
"""Verbs whose object may be a length of time; the empty one is *be*."""
WITHIN = re.compile(rf"\b(?:within|inside) {_SPELL}(?: of [\w ]+)?")
BEFORE = re.compile(
    rf"\b{_SPELL} "
    r"(?:(?P<order>before|after) (?P<event>[\w' -]+)|(?P<ahead>ahead|in advance|late|early|old)\b)"
)
QUANTITY = re.compile(
    rf"(?P<verb>(?:be |been )?[a-z]+ )?(?P<number>{_ABOUT}{_NUMBER})(?![\d%])"
    r"(?P<noun>(?: [a-z][\w-]*){0,4})(?P<tail>.*)",
    re.S,
)
MONEY = re.compile(r"[£$€¥]|\d\.\d\d\b")
CHANGED = re.compile(
    r"\b(?:lowered|raised|shortened|lengthened|extended|increased|reduced|cut|changed|goes|went|rose|fell|grew"
    r"|dropped|rises|falls|risen|fallen|grown)\b [\w %]*?(?P<change>from [^,;]+? to [^,;]+)"
)
PLACE = re.compile(
    r"(?P<verb>(?:be |been )?(?:kept|stored|located|found|situated|shown|printed|held|sold|made|placed|fitted"
    r"|displayed|recorded|posted|parked|hung|built|buried|published|born|issued) )?"
    r"(?P<place>(?:in|at|on|under|beside|behind|outside|inside|near|next to|opposite|below|above|between"
    r"|along|off) (?:the|a|an|its|our|your|their|each|either|[A-Z])[^,;]*)\Z"
)
PURPOSE = re.compile(
    r"\s(?:in order )?to (?=(?:keep|avoid|prevent|protect|ensure|reduce|increase|allow|make|save|improve|help"
    r"|enable|support|stop|let|cover|meet|give|show|find|maintain|provide)\b)"
)
TAKES_INFINITIVE = word_set(
    "able likely unlikely supposed allowed used required expected essential important necessary possible "
    "easy hard going ready willing free due made asked told want wants need needs have has had trying"
)
"""Words after which *to* does not introduce a purpose."""
MANNER = re.compile(r"\bby (?P<how>\w+ing\b[^,;]*)")
SUPERLATIVE = re.compile(r"the (?:\w{2,}est|most|least|only|first|last|main|best|worst)\b \w+ \w+")
PERSON = re.compile(
    r"(?:Mr|Mrs|Ms|Dr|Prof|Professor|Captain|Sir|Lady|President|King|Queen|Pope|Saint)\b"
    r"|.*\b(?:manager|director|master|officer|captain|keeper|warden|curator|engineer|president|minister|king"
    r"|queen|teacher|author|scientist|chair(?:man|woman|person)?|crew|staff|team|committee|board|council"
    r"|superintendent|driver|doctor|nurse|secretary|treasurer|inspector|owner|editor|founder|emperor|general|researchers?"
    r"|scholars?|passengers?|visitors?|members?|students?|employees?|users?|customers?)\Z",
    re.I,
)
OPENING_CLAUSE = re.compile(
    r"(?P<word>If|When|Whenever|Once(?! (?:a|an|every|each|per|in)\b)|Because|Where|As|Since|While|Although"
    r"|Though|Unless|Until|After|Before)\s"
    r"(?P<clause>[^,;]{8,120}),\s(?P<main>.+)",
    re.S,
)
CLOSING_CLAUSE = re.compile(
    r",?\s(?P<word>because|so that|when|whenever|if|unless|until|while|whereas|although|though)\s"
    r"(?P<clause>.+)",
    re.S,
)
JOINT = re.compile(r"[,:](?!\d)|[;(]|\s[–—-]\s|\s(?:and|but|or)\s(?=(?P<next>\w+))")
END_OF_PHRASE = re.compile(
    r"[,:](?!\d)|[;(]|\s[–—]\s|\s(?:but|than|which|who|that|before|without)\s|(?<!\d)\sand\s|\sand\s(?!\d)"
)
NEGATIVE = re.compile(
    r"\b(?:no(?! (?:more|less|fewer|longer|later|earlier)\b)|nobody|nothing|none|never|neither)\b", re.I
)
POINTING = re.compile(
    r"\b(?:it|its|they|their|them|she|her|he|his|him|this|that|these|those|such|here|there|both|former|latter"
    r"|same|other|others|then)\b",
    re.I,
)
GROUP = re.compile(r".*\b(?:crew|staff|team|committee|board|council|company)\Z", re.I)
TAKES_PREPOSITION = re.compile(
    r"(?:consist of|depend on|belong to|lead to|refer to|rely on|come from|result (?:in|from)|apply to"
    r"|relate to|differ from|correspond to|contribute to|originate (?:in|from)|stem from|derive from"
    r"|look after|deal with)\b"
)
"""Verbs that ask for their preposition: ``what does it depend on``."""
