"""A shallow reading of English sentences, with its words.

There is no grammar here beyond word lists (``data/english_words.yaml``), so a sentence is read only where
they leave no doubt: one finite verb, a short subject without clauses of its own. Everything else is left to
rules that need no verb.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from itertools import pairwise
from typing import Any, Literal

import msgspec

from rag_evaluation_framework.text.vocabulary import SCALES, TENS, UNITS


def _words() -> dict[str, Any]:
    from rag_evaluation_framework.files.yaml_documents import decode  # slow to import

    words: dict[str, Any] = decode((files(__package__) / "data" / "english_words.yaml").read_bytes())
    return {
        name: frozenset(value.split()) if isinstance(value, str) else value for name, value in words.items()
    }


_WORDS = _words()
VERBS: frozenset[str] = _WORDS["verbs"]
NO_COMPARISON: frozenset[str] = _WORDS["no_comparison"]
NOUNS_TOO: frozenset[str] = _WORDS["nouns_too"]
DETERMINERS: frozenset[str] = _WORDS["determiners"]
POSSESSIVES: frozenset[str] = _WORDS["possessives"]
PRONOUNS: frozenset[str] = _WORDS["pronouns"]
PREPOSITIONS: frozenset[str] = _WORDS["prepositions"]
CONJUNCTIONS: frozenset[str] = _WORDS["conjunctions"]
RELATIVES: frozenset[str] = _WORDS["relatives"]
ADVERBS: frozenset[str] = _WORDS["adverbs"]
MODALS: frozenset[str] = _WORDS["modals"]
ABSTRACT: frozenset[str] = _WORDS["abstract"]
ASKED: frozenset[str] = _WORDS["asked"]
RELATIVE_ADJECTIVES: frozenset[str] = _WORDS["relative_adjectives"]
RELATIVE_NOUNS: frozenset[str] = _WORDS["relative_nouns"]
GENERIC: frozenset[str] = _WORDS["generic"]
OPEN: frozenset[str] = _WORDS["open"]
SAYING_NOTHING: frozenset[str] = _WORDS["saying_nothing"]
PARTS: frozenset[str] = _WORDS["parts"]
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

PLAIN_VERBS = VERBS - NOUNS_TOO
"""Verbs that are no nouns."""
_COMMON = DETERMINERS | POSSESSIVES | PRONOUNS | PREPOSITIONS | CONJUNCTIONS | ADVERBS
_FINITE = BE | MODALS | PLAIN_VERBS | {"has", "have", "had"}
_TOKEN = re.compile(r"[^\W_]+(?:[-'’.:,/][^\W_]+)*%?|[^\w\s]")
_LONGEST_SUBJECT = 9
_LOOK_AHEAD = 8
_SOMEBODY = frozenset({"you", "we", "it", "they", "i", "he", "she"})
_ENDS_SUBJECT = RELATIVES | (CONJUNCTIONS - {"and"}) | {"do", "does", "did"}
_BEFORE_NOUNS = DETERMINERS | POSSESSIVES | PREPOSITIONS | {"and", "or"}
_NO_SUBJECTS = (
    PREPOSITIONS
    | CONJUNCTIONS
    | {"what", "who", "where", "how", "why", "which", "not", "then", "either", "to", "only", "even", "see"}
) - {"past"}
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
MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)"
)
_WEEKDAY = r"(?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)s?"
_DATE = (
    rf"(?:{_CLOCK}|(?:\d{{1,2}} )?{MONTH}\b(?: \d{{1,2}}(?:st|nd|rd|th)?\b)?(?:,? \d{{4}})?"
    rf"|[12]\d{{3}}s?\b|{_WEEKDAY}\b"
    r"|(?:the )?(?:early |late )?(?:spring|summer|autumn|winter)(?: (?:of )?\d{4})?(?! \w+days?\b))"
)
DATED = re.compile(
    rf"\b(?P<preposition>in|on|at|from|since|until|by|before|after|between|during) "
    rf"{_DATE}(?: (?:and|to|or|until) {_DATE})?"
)
OFTEN = re.compile(
    rf"\b(?:in )?every (?:{_NUMBER} |second |other |third )?{_TIME_UNIT}\b(?: of the \w+)?"
    r"|\b(?:about |around |at least |at most |up to )?"
    rf"(?:once|twice|{_NUMBER} times) (?:a|an|every|each|per) \w+"
)
LASTING = re.compile(rf"\bfor {_SPELL}")
SPELL = re.compile(rf"{_SPELL}(?! (?:before|after|ahead|late|early|old|in\b))")
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
    r"(?P<verb>(?:be |been )?(?:kept|stored|located|found|situated|sold|placed|fitted|posted|parked|hung"
    r"|built|buried|published|born|installed|borrowed|issued|accepted|displayed|bought|moored|mounted) )?"
    r"(?P<place>(?:in|at|on|beside|behind|outside|inside|near|next to|opposite|below|above|between"
    r"|along|off) (?:the|its|our|your|their|each|either|[A-Z])"
    r"(?![^,;]* (?:(?:to|for|by|as) |(?:format|form|mode|state|order|style|way)\b))[^,;]*)\Z"
)
SUPERLATIVE = re.compile(r"the (?:\w{2,}est|most|least|only|first|last|main|best|worst)\b \w+ \w+")
PERSON = re.compile(r"(?:Mr|Mrs|Ms|Dr|Prof|Professor|Captain|Sir|Lady|President|King|Queen|Pope|Saint)\b")
REASON = re.compile(r",?\sbecause\s(?!of\b)(?P<clause>.+)", re.S)
MANNER = re.compile(r"\s(?P<manner>by (?:\w+ly )?\w+ing\b.+)\Z", re.S)
AGENT = re.compile(
    r"(?P<done>(?:been |be )?(?:originally |first )?(?:written|made|designed|developed|created|founded"
    r"|maintained|invented|published|built|composed|directed|drawn|painted|reported|discovered|led|translated|edited|owned))"
    r" by (?P<agent>[A-Z][\w.'’-]+(?: [A-Z][\w.'’-]+)*(?: and [A-Z][\w.'’ -]+)?)\Z"
)
PURPOSE = re.compile(r"(?P<be>be )?used (?P<purpose>(?:to [a-z]+|for [a-z]+ing) .+)\Z", re.S)
ENABLES = re.compile(
    r"(?P<whom>you|(?:the|an?) [\w-]+(?: [\w-]+){0,2}|(?:[\w-]+ ){0,2}[\w-]+s) to (?P<what>[a-z]+ [^,;]+)\Z",
    re.S,
)
MEANS = re.compile(
    r"(?P<lead>(?:The|An?|To) )?[\"“](?P<term>[^\"“”]{2,40})[\"”]"
    r"(?P<of> (?:for |of |to |in )?(?:a|an|the) \w+)? (?:shall )?"
    r"(?:means?|refers? to|denotes?|(?P<be>is(?= an? | the )|are(?= certain ))) (?P<meaning>.+)",
    re.S,
)
# Where a main clause ends: at a clause that follows, and never within what belongs to it.
JOINT = re.compile(r"[;:]\s|\s[–—-]\s|(?P<comma>,\s)|(?<!\ball)\sbut\s|\s(?:and|or)\s(?=(?P<next>\w+))")
LIST = re.compile(r"or |[^,;]{1,60}(?:,[^,;]{1,60})*,? (?:and|or|as well as) ")
_NEGATION = re.compile(
    r"\b(?:not|no(?! (?:more|less|fewer|longer|later|earlier) than\b)|nobody|nothing|none|nowhere|never"
    r"|neither|nor|zero|cannot|without|except|excluding|unless|hardly|rarely|seldom|barely|unable|impossible|fails?|lacks?|instead"
    r"|rather than)\b|n[’']t\b",
    re.I,
)
_CONDITION = re.compile(
    r"\b(?:if|unless|whether|when|whenever|wherever|where|while|whereas|until(?! (?:\d|(?-i:[A-Z])))|provided"
    r"|providing|assuming|otherwise|in case|depend(?:s|ing|ent)?|although|though|even|as long as|so long as"
    r"|in the event|subject to|suppose|supposing|once(?! (?:a|an|every|each|per|in)\b))\b",
    re.I,
)
CODE = re.compile(r"\w{26}|[=<>{}\\|*#@^~\[\]$]|://|--|\(\)|(?<!\w)[-/.]\w|\w/\w")
_POINTING = re.compile(
    r"\b(?:it|its|itself|they|their|them|she|her|he|his|him|this|that|these|those|such|here|there|both|former"
    r"|latter|same|other|others|another|then|now|above|below|following|previous|previously|preceding|next"
    r"|earlier|later|also|too|instead|however|therefore|thus|hence|respective|respectively|aforementioned|said|herein"
    r"|hereby|hereof|hereunder|thereof|therein|thereto|likewise|similarly|again|alternatively|still|remaining|subsequent"
    r"|resulting|corresponding|aforesaid)\b",
    re.I,
)
_ANSWERS_POINTING = re.compile(
    r"\b(?:it|itself|they|them|she|her|he|his|him|this|these|those|such|here|there|former|latter|same|above"
    r"|below|following|previous|preceding|as follows|aforementioned|herein|thereof|i|we|us|our|my|me)\b"
    r"|\ball (?:two|three|four|five|of them)\b|[.!]\s"
    r"|\bthat(?= \w+(?:[.,;]|\Z))|:(?!\d)|[\[\]<>{}|\\=]",
    re.I,
)
SPEAKING = re.compile(r"\b(?:I|we|us|our|ours|my|me|mine|let's)\b", re.I)
_HUMAN_NAME = re.compile(r"[A-Z][a-z]+(?: [A-Z][.\w-]*)* [A-Z][\w-]+\Z")
_ROLE = re.compile(
    r"(?:\S+ ){1,4}(?:author|chair|creator|designer|developer|director|editor|engineer|founder|inventor"
    r"|maintainer|manager|president|professor|scientist|writer)\b"
)


class Clause(msgspec.Struct, frozen=True):
    """``lead`` + ``subject`` + ``auxiliary`` or ``verb`` + ``rest``; ``verb`` is the base form.

    Of ``must be claimed within 28 days`` the auxiliary is ``must`` and the rest begins with ``be claimed``.
    """

    lead: str
    subject: str
    auxiliary: str
    verb: str
    form: str
    rest: str

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
        if self.form == "plain":
            return self.verb
        return "has" if self.verb == "have" else third_person(self.verb)


def clause_of(text: str, known: frozenset[str] = frozenset()) -> Clause | None:
    """Read a main clause without its final mark; ``None`` if it is not clear which word is the verb.

    ``known`` are the words that occur without a capital, and so are no names.

    >>> clause = clause_of("A lost card can be replaced at the quay")
    >>> clause.question("where", rest="be replaced")
    'where can a lost card be replaced'
    """
    lead = _LEAD.match(text)
    begin = lead.end() if lead is not None else 0
    opening = text[:begin].strip(" ,")
    tokens = [(match[0], match.start(), match.end()) for match in _TOKEN.finditer(text, begin)]
    words = [token[0].casefold() for token in tokens]
    place = _verb_place(words)
    if place is None or words[0] in _NO_SUBJECTS or words[0] in ADVERBS or not tokens[place][0].islower():
        return None
    if _SOMEBODY.intersection(words[1:place]) or _has_clause(words[:place]):
        return None  # "an explanation for the changes they propose": no subject
    if _is_telegram([token[0] for token in tokens[:place]], words, known):
        return None
    word = words[place]
    # A plural before its verb, as in "Dogs are", is no name.
    is_noun = place == 1 and is_plural(words[0]) and (word in VERBS or word in ("are", "were", "have"))
    subject = cased(text[tokens[0][1] : tokens[place - 1][2]], known | {words[0]} if is_noun else known)
    rest = text[tokens[place + 1][1] :] if place + 1 < len(tokens) else ""
    if is_auxiliary(words, place):
        return Clause(opening, subject, word, "", "", rest)
    base, form = verb_form(word)
    nouns = [each for each in words[:place] if each not in ADVERBS and not each.endswith("ly")]
    if form == "third" and is_plural(" ".join(nouns)):
        return None
    return Clause(opening, subject, "", base, form, rest)


def cased(phrase: str, known: frozenset[str] = frozenset()) -> str:
    """Return a phrase from a sentence's beginning as it stands within one: names keep their capitals.

    >>> cased("Rafts of Guillemot", frozenset({"rafts"}))
    'rafts of Guillemot'
    """
    first, _, others = phrase.partition(" ")
    lowered = first.casefold()
    is_common = lowered in _COMMON
    # A name of several words has capitals in the others too, and a made-up one within: "LangSmith".
    is_name = (others[:1].isupper() and not is_common) or first[1:] != first[1:].lower()
    if lowered != "i" and not is_name and (is_common or lowered in known):
        first = first[0].lower() + first[1:]
    return f"{first} {others}".strip()


def is_plural(noun: str) -> bool:
    """Return True if a noun phrase is plural, by the last word before what qualifies it."""
    words = noun.casefold().split()
    head = next((place for place, word in enumerate(words) if place and word in PREPOSITIONS), len(words))
    last = words[head - 1]
    return " and " in noun or last in _PLURAL_NOUNS or _ends_as_plural(last)


def _ends_as_plural(word: str) -> bool:
    return word.endswith("s") and not word.endswith(("ss", "us", "is", "'s", "’s"))


def _has_clause(subject: list[str]) -> bool:
    """Return True if a subject has a clause in it: ``the number of times the delay exceeded``."""
    joints = PREPOSITIONS | CONJUNCTIONS | DETERMINERS | {"to", "all", "both"}
    return any(word in ("the", "a", "an") and before not in joints for before, word in pairwise(subject))


def _is_telegram(before: list[str], words: list[str], known: frozenset[str]) -> bool:
    """Return True if the text before the verb may be an order or note: ``Add proposed patch``."""
    opening, place = words[0], len(before)
    if opening in DETERMINERS | POSSESSIVES | PRONOUNS or before[0][:1].isdigit():
        return False
    if place > 1 and all(word[:1].isupper() for word in before):
        return opening in PARTICIPLES  # a name, or "Fixed Mac OS build warnings"
    if words[place] in BE | MODALS:
        return place > 1 and (opening.endswith("ly") or opening in PLAIN_VERBS)
    if opening.endswith("ly") or opening in PARTICIPLES | VERBS:
        return True
    base = THIRD_PERSON.get(words[place]) or PAST.get(words[place])
    # A noun without article stands before what may be a noun too: "Short answers for the office".
    return base in NOUNS_TOO and (opening in known or place > 1)


def is_auxiliary(words: list[str], place: int) -> bool:
    """Return True if the verb at a place is an auxiliary, or *be*, which moves like one."""
    word = words[place]
    if word in BE or word in MODALS:
        return True
    following = next((each for each in words[place + 1 :] if each not in ADVERBS), "")
    if word in ("has", "have", "had"):
        return following in PARTICIPLES or (following.endswith("ed") and len(following) > 4)
    return False


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
        if word in _ENDS_SUBJECT or not word[0].isalnum():
            return None
        # "Complaints go past the queue and are answered": there is a verb before this one.
        if place > 1 and words[place - 1] in PLAIN_VERBS and words[place - 2] != "to":
            return None
        if is_auxiliary(words, place):
            return place
        if _is_finite(words, place):
            return None if _is_doubtful(words, place) or _is_noun(words, place) else place
    return None


def _is_finite(words: list[str], place: int) -> bool:
    word, before = words[place], words[place - 1]
    after = words[place + 1] if place + 1 < len(words) else ""
    if before in _BEFORE_NOUNS:
        return False
    if word in ("has", "have", "had"):
        return True
    base = THIRD_PERSON.get(word) or PAST.get(word) or (word if word in VERBS else None)
    if base is None:
        return False
    if base in NOUNS_TOO and (after in BE | MODALS | {"of", "has", "have", "had"} or not after):
        return False
    if word in VERBS and word not in PAST:
        before = next((each for each in reversed(words[:place]) if each not in ADVERBS), before)
        return before in _PLURAL_PRONOUNS or _ends_as_plural(before)
    if word in THIRD_PERSON:
        # "School visits are up": a plural noun is followed by another verb.
        return not any(each in BE or each in MODALS for each in words[place + 1 : place + 3])
    return True


def _is_noun(words: list[str], place: int) -> bool:
    """Return True if an apparent verb may be a noun before another: ``builds require``."""
    following = words[place + 1 : place + 2]
    if following and (following[0] in _FINITE or following[0] in THIRD_PERSON or following[0] in PAST):
        return True
    later = words[place + 1 :]
    if words[place] in ("has", "have", "had"):
        return "been" in later[:4]
    if BE.intersection(later[:3]) and not RELATIVES.intersection(later[:3]):
        return True
    base = THIRD_PERSON.get(words[place]) or words[place]
    if base not in NOUNS_TOO:
        return False
    is_verbal = any(word in BE or word in MODALS or word in ("has", "have") for word in later)
    return is_verbal or any(THIRD_PERSON.get(word, "") in PLAIN_VERBS for word in later[:3])


def _is_doubtful(words: list[str], place: int) -> bool:
    """Return True if a past form may be a participle: ``cards sold before April keep …`` has another verb."""
    if words[place] not in PAST or words[place] in THIRD_PERSON:
        return False
    following = words[place + 1] if place + 1 < len(words) else ""
    # cut, put, read: present or past; a participle is followed by a noun, or by what was done with it.
    if words[place] in VERBS or not (
        following in DETERMINERS | POSSESSIVES | {"in", "on", "at", "from", "for", "until"}
        or following[:1].isdigit()
    ):
        return True
    for later in range(place + 1, min(len(words), place + _LOOK_AHEAD)):
        if words[later] in CONJUNCTIONS | RELATIVES or not words[later][0].isalnum():
            return False
        if is_auxiliary(words, later) or (words[later] in PLAIN_VERBS and words[later - 1] != "to"):
            return True
    return False


SubjectKind = Literal["name", "thing", "kind"]
"""A name, one thing of its document (``the gangway``), or all of a kind (``a dog``, ``nets``)."""
_ARTICLES = ("the", "a", "an")
_COMPLEMENTS = frozenset({"of", "for", "in", "on", "at", "to", "from", "between"})
_SUBJECT_WORD = re.compile(r"[^\W_](?:[\w.:+'’-]*\w)?")
_LEANING = (DETERMINERS - {"the", "a", "an"}) | POSSESSIVES | CONJUNCTIONS | RELATIVES | ADVERBS | MODALS | BE
_NAME_FORM = re.compile(r"\A[A-Z]|[a-z][A-Z]|\d|_|\w[.:]\w")
_LONGEST_CORE = 4
_INNER = frozenset({"argument", "arguments", "parameter", "parameters", "field", "fields", "member", "value"})

# What can be asked for in a sentence: times, quantities, places, reasons, as patterns.


TAKES_TIME = frozenset({"last", "take", "need", "run", "wait", "stay", "spend", "require", "remain", ""})
"""Verbs whose object may be a length of time; the empty one is *be*."""

# What a statement must not have: its truth would not survive the turning, or it would not be understood.

_THERE = re.compile(r"\b(?:is|are|was|were) there\b")


def states(sentence: str) -> bool:
    """Return True if a sentence states a fact: neither denied nor conditional."""
    return _NEGATION.search(sentence) is None and _CONDITION.search(sentence) is None


def points(question: str) -> bool:
    """Return True if a question has words with a meaning outside of it."""
    return _POINTING.search(_THERE.sub("", question)) is not None


def is_clear_answer(answer: str) -> bool:
    """Return True if an answer is understood without the sentence before it."""
    return (
        bool(answer) and _ANSWERS_POINTING.search(answer) is None and answer.count("(") == answer.count(")")
    )


def subject_kind(subject: str, known: frozenset[str]) -> SubjectKind | None:
    """Tell what a subject names, by itself or in its document; ``None`` if it leans on what stands before.

    A subject is an article, at most three nouns and a phrase with *of*. A name has a capital, a digit or the
    form of a word of a program: ``the ENGINE interface``. Nothing in it compares (``the newer call``) or
    counts (``each action``), and its noun belongs to nothing that is not said (``the value``).

    >>> subject_kind("the ENGINE interface", frozenset()), subject_kind("the newer call", frozenset({"new"}))
    ('name', None)
    """
    words = subject.split()
    article = words[0].casefold() if words[0].casefold() in _ARTICLES else ""
    phrase = words[1:] if article else words
    if not phrase or phrase[0][0].isdigit() or not all(_SUBJECT_WORD.fullmatch(word) for word in phrase):
        return None
    lowered = [word.casefold() for word in phrase]
    if any(_leans(word, known) for word in lowered):
        return None
    place = next((place for place, word in enumerate(lowered) if word in PREPOSITIONS), len(phrase))
    core, rest = phrase[:place], phrase[place:]
    if not 1 <= len(core) <= _LONGEST_CORE or (rest and (rest[0] not in _COMPLEMENTS or len(rest) < 2)):
        return None
    is_bare = not article and not is_plural(" ".join(core)) and not is_name(core[-1])
    if (is_bare and len(core) > 1) or (not article and lowered[0].endswith("ing")):
        return None  # an order, a note without articles, or what somebody does
    if not article and not is_name(core[0]) and any(is_name(word) and word.isalpha() for word in core):
        return None  # "Tweak VMS"
    if any(is_name(word) and len(word) > 1 for word in core):
        # "the arg4 argument": of which function, the sections before say.
        is_inner = core[-1] in _INNER and not any(word[0].isupper() for word in core)
        is_inner = is_inner or (len(core) == 1 and lowered[0] in RELATIVE_NOUNS)  # "the NAME"
        return None if is_inner else "name"
    if core[-1] in RELATIVE_NOUNS | ABSTRACT and (not rest or rest[-1] in RELATIVE_NOUNS | ABSTRACT):
        return None
    if article in ("a", "an"):
        return "kind"
    if article == "the":
        return "thing"
    return "kind" if is_plural(" ".join(core)) else "thing"


def is_name(word: str) -> bool:
    """Return True if a word within a sentence is a name: with a capital or a digit, or a program's word."""
    return _NAME_FORM.search(word) is not None


def _leans(word: str, known: frozenset[str]) -> bool:
    if word in RELATIVE_ADJECTIVES or word in PRONOUNS or word in _LEANING:
        return True
    # "newer" where there is "new", and not "server".
    stem = re.sub(r"(?:er|est)\Z", "", word)
    return (
        stem != word
        and len(stem) > 2
        and (stem in known or f"{stem}e" in known)
        and word not in NO_COMPARISON
    )


def is_somebody(subject: str, told: str) -> bool:
    """Return True if a subject is a person's name, by the words after it."""
    return _HUMAN_NAME.match(subject) is not None and _ROLE.match(told) is not None
