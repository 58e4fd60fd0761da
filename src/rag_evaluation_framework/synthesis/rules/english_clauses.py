"""A shallow reading of English sentences: where the subject ends and the verb begins.

There is no grammar here beyond word lists, so a sentence is read only where they leave no doubt: one finite
verb, a short subject without clauses of its own. Everything else is left to rules that need no verb.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rag_evaluation_framework.synthesis.rules.english_words import (
    ADVERBS,
    BE,
    CONJUNCTIONS,
    DETERMINERS,
    MODALS,
    NOUNS_TOO,
    PARTICIPLES,
    PAST,
    POSSESSIVES,
    PREPOSITIONS,
    PRONOUNS,
    RELATIVES,
    THIRD_PERSON,
    VERBS,
    past_of,
    third_person,
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

    @property
    def is_plural(self) -> bool:
        """Whether the subject is plural, as far as its words tell."""
        return self.auxiliary in ("are", "were") or self.form == "plain" or is_plural(self.subject)

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
