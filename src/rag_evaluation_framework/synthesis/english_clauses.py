"""A shallow reading of English sentences, with its words.

There is no grammar here beyond word lists (``data/english_words.yaml``), so a sentence is read only where
they leave no doubt: one finite verb, a short subject without clauses of its own. Everything else is left to
rules that need no verb.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from rag_evaluation_framework.text.vocabulary import SCALES, TENS, UNITS


def _words() -> dict[str, Any]:
    from rag_evaluation_framework.files.yaml_documents import decode  # slow to import

    words: dict[str, Any] = decode((files(__package__) / "data" / "english_words.yaml").read_bytes())
    return {
        name: frozenset(value.split()) if isinstance(value, str) else value for name, value in words.items()
    }


_WORDS = _words()
VERBS: frozenset[str] = _WORDS["verbs"]
NOUNS_TOO: frozenset[str] = _WORDS["nouns_too"]
DETERMINERS: frozenset[str] = _WORDS["determiners"]
POSSESSIVES: frozenset[str] = _WORDS["possessives"]
PRONOUNS: frozenset[str] = _WORDS["pronouns"]
PREPOSITIONS: frozenset[str] = _WORDS["prepositions"]
CONJUNCTIONS: frozenset[str] = _WORDS["conjunctions"]
RELATIVES: frozenset[str] = _WORDS["relatives"]
ADVERBS: frozenset[str] = _WORDS["adverbs"]
MODALS: frozenset[str] = _WORDS["modals"]
UNFINISHED: frozenset[str] = _WORDS["unfinished"] | PREPOSITIONS | CONJUNCTIONS
"""Words with which no phrase ends."""
BE = frozenset({"is", "are", "was", "were"})
_IRREGULAR: Mapping[str, tuple[str, str]] = _WORDS["irregular"]


def third_person(base: str) -> str:
    """Return the form of he, she and it: ``carries``."""
    if base.endswith(("s", "x", "z", "ch", "sh", "o")):
        return base + "es"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + "s"


def past_of(base: str) -> str:
    """Return the past: ``carried``, ``took``."""
    if base in _IRREGULAR:
        return _IRREGULAR[base][0]
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ied"
    return base + "ed"


THIRD_PERSON: Mapping[str, str] = {third_person(base): base for base in sorted(VERBS)}
PAST: Mapping[str, str] = {past_of(base): base for base in sorted(VERBS)}
PARTICIPLES = frozenset(
    [*PAST, *(participle for _, participle in _IRREGULAR.values()), "been", "done", "had"]
)

_TOKEN = re.compile(r"[^\W_]+(?:[-'’.:,/][^\W_]+)*%?|[^\w\s]")
_LONGEST_SUBJECT = 9
_LOOK_AHEAD = 8
_NO_SUBJECTS = (
    PREPOSITIONS | CONJUNCTIONS | {"what", "who", "where", "how", "why", "which", "not", "then", "either"}
) - {"both", "past"}
_PLURAL_NOUNS = frozenset({"people", "children", "men", "women", "staff", "crew", "police", "both"})
_PLURAL_PRONOUNS = frozenset({"we", "you", "they", "these", "those", "i", "both"})
# What opens a sentence and is no part of its subject.
_LEAD = re.compile(
    r"(?:(?:In|On|At|From|By|During|With|For|Under|Since|Before|After|Until|Between|Within|Every|Each|Once"
    r"|Above|Below|Over|Through|Throughout|As of|As a result of|According to|Depending on|Today|Now|Here"
    r"|However|Therefore|Instead|Otherwise|Moreover|Furthermore|Additionally|Also|Then|Finally|Originally"
    r"|Initially|Currently|Usually|Normally|Typically|Generally|Often|Sometimes|Similarly|Consequently"
    r"|Meanwhile|Nevertheless|Nonetheless|Thus|Hence|Historically)\b[^,;:.]{0,60},\s+"
    r"|(?:In|Since|By|From) (?:\d{4})\s+)"
)


@dataclass(frozen=True, slots=True)
class Clause:
    """``lead`` + ``subject`` + ``auxiliary`` or ``verb`` + ``rest``; ``verb`` is the base form.

    Of ``must be claimed within 28 days`` the auxiliary is ``must`` and the rest begins with ``be claimed``.
    """

    lead: str
    subject: str
    auxiliary: str
    verb: str
    form: str
    rest: str
    is_negated: bool = False

    def question(self, wh: str = "", *, rest: str | None = None) -> str:
        """Return the clause with its verb before the subject, after a question word or by itself."""
        tail = self.rest if rest is None else rest
        if self.auxiliary:
            words = [wh, self.auxiliary, self.subject, tail]
        else:
            words = [wh, self.support, self.subject, self.verb, tail]
        return " ".join(" ".join(words).split())

    @property
    def support(self) -> str:
        """The form of *do* that a question without auxiliary needs."""
        if self.form == "past":
            return "did"
        return "does" if self.form == "third" else "do"

    @property
    def finite(self) -> str:
        """The verb as it stands after the subject, for a question about the subject."""
        if self.auxiliary:
            return self.auxiliary
        if self.form == "past":
            return "had" if self.verb == "have" else past_of(self.verb)
        return "has" if self.verb == "have" else third_person(self.verb)


def clause_of(text: str, known: frozenset[str] = frozenset()) -> Clause | None:
    """Read a main clause without its final mark; ``None`` if it is not clear which word is the verb.

    ``known`` are the words that occur without a capital, and so are no names.

    >>> clause = clause_of("A lost card cannot be replaced")
    >>> clause.question()
    'can a lost card be replaced'
    """
    lead = _LEAD.match(text)
    begin = lead.end() if lead is not None else 0
    opening = text[:begin].strip(" ,")
    tokens = [(match[0], match.start(), match.end()) for match in _TOKEN.finditer(text, begin)]
    words = [token[0].casefold() for token in tokens]
    place = _verb_place(words)
    if place is None or words[0] in _NO_SUBJECTS or (place == 1 and _is_bare(tokens[0][0], words, known)):
        return None
    word = words[place]
    # A plural before its verb, as in "Dogs are", is no name.
    is_noun = place == 1 and is_plural(words[0]) and (word in VERBS or word in ("are", "were", "have"))
    subject = cased(text[tokens[0][1] : tokens[place - 1][2]], known | {words[0]} if is_noun else known)
    after = place + 1
    is_negated = word == "cannot"
    while after < len(words) and words[after] in ("not", "never"):
        is_negated = True
        after += 1
    rest = text[tokens[after][1] :] if after < len(tokens) else ""
    if is_auxiliary(words, place):
        if word in ("does", "do", "did"):
            base = words[after] if after < len(words) else ""
            following = text[tokens[after + 1][1] :] if after + 1 < len(tokens) else ""
            form = {"does": "third", "do": "plain", "did": "past"}[word]
            return Clause(opening, subject, "", base, form, following, is_negated) if base else None
        auxiliary = "can" if word == "cannot" else word
        return Clause(opening, subject, auxiliary, "", "", rest, is_negated)
    base, form = verb_form(word)
    return Clause(opening, subject, "", base, form, rest, is_negated)


def cased(phrase: str, known: frozenset[str] = frozenset()) -> str:
    """Return a phrase from a sentence's beginning as it stands within one: names keep their capitals.

    >>> cased("Rafts of Guillemot", frozenset({"rafts"}))
    'rafts of Guillemot'
    """
    first, _, others = phrase.partition(" ")
    lowered = first.casefold()
    is_common = lowered in DETERMINERS | POSSESSIVES | PRONOUNS | PREPOSITIONS | CONJUNCTIONS | ADVERBS
    # A name of several words has capitals in the others too, and a made-up one within: "LangSmith".
    is_name = (others[:1].isupper() and not is_common) or first[1:] != first[1:].lower()
    if lowered != "i" and not is_name and (is_common or lowered in known):
        first = first[0].lower() + first[1:]
    return f"{first} {others}".strip()


def is_plural(noun: str) -> bool:
    """Tell whether a noun phrase is plural, by the last word before what qualifies it."""
    words = noun.casefold().split()
    head = next((place for place, word in enumerate(words) if place and word in PREPOSITIONS), len(words))
    last = words[head - 1]
    return (
        " and " in noun
        or last in _PLURAL_NOUNS
        or (last.endswith("s") and not last.endswith(("ss", "us", "is", "'s", "’s")))
    )


def _is_bare(first: str, words: list[str], known: frozenset[str]) -> bool:
    """Tell whether a noun without article stands before what may be a noun too: ``Short answers for``."""
    base = THIRD_PERSON.get(words[1]) or PAST.get(words[1])
    return base in NOUNS_TOO and first.casefold() in known and first.casefold() not in PRONOUNS


def is_auxiliary(words: list[str], place: int) -> bool:
    """Tell whether the verb at a place is an auxiliary, or *be*, which moves like one."""
    word = words[place]
    if word in BE or word in MODALS:
        return True
    following = next((each for each in words[place + 1 :] if each not in ADVERBS), "")
    if word in ("has", "have", "had"):
        return following in PARTICIPLES or (following.endswith("ed") and len(following) > 4)
    negated = words[place + 1 : place + 2] == ["not"]
    return word in ("does", "do", "did") and negated and following in VERBS | {"have"}


def verb_form(word: str) -> tuple[str, str]:
    """Return the base of a finite form, and which form it is: third, past or plain."""
    if word in ("has", "have", "had"):
        return "have", {"has": "third", "have": "plain", "had": "past"}[word]
    if word in THIRD_PERSON:
        return THIRD_PERSON[word], "third"
    if word in VERBS:
        return word, "plain"
    return PAST[word], "past"


def _verb_place(words: list[str]) -> int | None:
    for place in range(1, min(len(words), _LONGEST_SUBJECT + 1)):
        word = words[place]
        if word in RELATIVES or word in CONJUNCTIONS - {"and", "or"} or not word[0].isalnum():
            return None
        if is_auxiliary(words, place):
            return place
        if _is_finite(words, place):
            return None if _is_doubtful(words, place) else place
    return None


def _is_finite(words: list[str], place: int) -> bool:
    word, before = words[place], words[place - 1]
    after = words[place + 1] if place + 1 < len(words) else ""
    if before in DETERMINERS | POSSESSIVES | PREPOSITIONS:
        return False
    if word in ("has", "have", "had"):
        return True
    base = THIRD_PERSON.get(word) or PAST.get(word) or (word if word in VERBS else None)
    if base is None:
        return False
    if base in NOUNS_TOO and (after in BE | MODALS | {"of", "has", "have", "had"} or not after):
        return False
    if word in VERBS and word not in PAST:
        return before in _PLURAL_PRONOUNS or (
            before.endswith("s") and not before.endswith(("ss", "us", "is", "'s", "’s"))
        )
    if word in THIRD_PERSON:
        # "School visits are up": a plural noun is followed by another verb.
        return not any(each in BE | MODALS for each in words[place + 1 : place + 3])
    return True


def _is_doubtful(words: list[str], place: int) -> bool:
    """Tell whether a past form may be a participle: ``cards sold before April keep …`` has another verb."""
    if words[place] not in PAST or words[place] in THIRD_PERSON:
        return False
    following = words[place + 1] if place + 1 < len(words) else ""
    if words[place] in VERBS or following == "by":  # cut, put, read: present or past
        return True
    for later in range(place + 1, min(len(words), place + _LOOK_AHEAD)):
        if words[later] in CONJUNCTIONS | RELATIVES or not words[later][0].isalnum():
            return False
        if is_auxiliary(words, later) or (words[later] in VERBS - NOUNS_TOO and words[later - 1] != "to"):
            return True
        if _is_finite(words, later) and words[later] not in PAST:
            return True
    return False


# What can be asked for in a sentence: times, quantities, places, reasons, as patterns.

_NUMBER_WORD = (
    rf"(?:(?:{'|'.join(TENS)})(?:-(?:{'|'.join(UNITS)}))?|{'|'.join(UNITS)}|(?:a )?(?:{'|'.join(SCALES)}))"
)
_NUMBER = rf"(?:[£$€¥]\s?)?(?:\d[\d,.]*\d|\d|\b{_NUMBER_WORD}\b)(?: (?:{'|'.join(SCALES)})\b)?"
_ABOUT = (
    r"(?:(?:at least|at most|no more than|no less than|no longer than|up to|about|around|some|only|exactly"
    r"|over|more than|less than|fewer than|nearly|almost|approximately|an average of) )?"
)
_TIME_UNIT = r"(?:seconds?|minutes?|hours?|days?|nights?|weeks?|months?|years?|decades?|centuries|seasons?)"
_SPELL = rf"{_ABOUT}{_NUMBER} (?:(?:working|calendar|consecutive|full|whole|more|short|long) )?{_TIME_UNIT}\b"
_CLOCK = r"\d{1,2}:\d\d(?: ?[ap]\.?m\.?)?|\d{1,2}(?:\.\d\d)? ?[ap]\.?m\.?"
_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)"
)
_WEEKDAY = r"(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)s?"
_DATE = (
    rf"(?:{_CLOCK}|(?:\d{{1,2}} )?{_MONTH}\b(?: \d{{1,2}}(?:st|nd|rd|th)?\b)?(?:,? \d{{4}})?"
    rf"|[12]\d{{3}}s?\b|{_WEEKDAY}\b"
    r"|(?:the )?(?:early |late )?(?:spring|summer|autumn|winter)(?: of \d{4})?(?! \w+days?\b))"
)

DATED = re.compile(
    rf"\b(?P<preposition>in|on|at|from|since|until|by|before|after|between|during) "
    rf"{_DATE}(?: (?:and|to|or|until) {_DATE})?"
)
OFTEN = re.compile(
    rf"\b(?:in )?every (?:{_NUMBER} |second |other |third )?{_TIME_UNIT}\b(?: of the \w+)?"
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
PLACE = re.compile(
    r"(?P<verb>(?:be |been )?(?:kept|stored|located|found|situated|shown|printed|held|sold|made|placed|fitted"
    r"|displayed|recorded|posted|parked|hung|built|buried|published|born|issued) )?"
    r"(?P<place>(?:in|at|on|under|beside|behind|outside|inside|near|next to|opposite|below|above|between"
    r"|along|off) (?:the|a|an|its|our|your|their|each|either|[A-Z])[^,;]*)\Z"
)
SUPERLATIVE = re.compile(r"the (?:\w{2,}est|most|least|only|first|last|main|best|worst)\b \w+ \w+")
PERSON = re.compile(r"(?:Mr|Mrs|Ms|Dr|Prof|Professor|Captain|Sir|Lady|President|King|Queen|Pope|Saint)\b")
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
