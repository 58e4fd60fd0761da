"""The words by which a clause is told: a subject with its verb, and what holds it to another clause.

Only verbs are known that are common and hardly ever nouns, or no nouns beside certain other words. Chinese is
read in simplified characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PRONOUNS = _words("he it she there these they this those we you")
"""Subjects that need no verb to be known for one."""

PAIR_WORDS = _words("between both either neither")
"""What is followed by two things with a conjunction between them."""

OPENERS = _words("at by during for in on")
"""What begins a sentence with a time or a place, which holds for all of it."""

CLAUSE_OPENERS = _words("after as before consequently hence once since so therefore thus until")
"""What begins a sentence with a clause, or with a reason in another sentence, that holds for all of it."""

_VERBS = _words(
    """are can cannot could did does had has is may might must shall should was were will would accepts
    allows arrives became becomes began begins belongs came comes connects consists contains departs
    depends exists fell gave gets gives goes grew grows happens includes keeps lasts lies makes occurs
    operates produces provides receives rose seems sells serves sits takes tends took varies welcomes
    went wrote"""
)
_VERBS_OR_NOUNS = _words(
    """closes cost costs covers ends features holds hosts leaves needs offers opens requires runs starts
    uses"""
)
_AFTER_VERBS = _words("a an at daily every from its on the until")
_PLURAL_VERBS = _words(
    """arrive become begin close come contain cost cover depart depend differ do end get go have include
    leave live make need offer open provide range receive remain require run seem sell start take tend
    use vary work"""
)
_PLURALS = _words("people they we you")
_NO_PLURALS = _words("always does this thus")
# Each is followed by a clause of its own, or by what somebody says.
_HOLDERS = _words(
    """although because but how if that though unless what when whenever where whereas whether which while
    who whom whose why yet argued argues believe believed believes claimed claims explained explains
    finds found hoped hopes indicated indicates knew know knows mean means mentioned mentioning noted
    notes noting reported reporting reports said say says show showed shows stated states stating
    suggest suggested suggests think thinks thought"""
)
_BEGINS_NO_SUBJECT = _VERBS | _VERBS_OR_NOUNS
_BEGINS_NO_SUBJECT |= _words(
    """about after again also always as at before by during even for from hence in into just later less
    like made more most never not now of often on only other others over since so still than then
    therefore through thus to under until via with without"""
)
_NEVER_IN_SUBJECT = _words("after as before he it she since than they until we you")
_NEVER_BEFORE_VERB = _words("and but or to")
_LONGEST_SUBJECT = 12
_AROUND_WORDS = '.,:!?*_()"“”'

_PREDICATE = (
    r"位于|坐落|地处|成立于|创[立建办]于?|始?建于|建成|设[有在立]|现有|[拥共配备]有|没有|提供|属于|隶属|成为|担任|出生于|毕业于"
    r"|来自|负责|开放|关闭|营业|[免收]费|售价|需要?|必须|不得|禁止|可以|能够|不能|可[供在]|达到?(?=\d)|超过|[约共为占有](?=\d)"
    r"|获得|荣获|采用|使用|支持|停止|取消|(?<![但可还于总别其就而或])是(?!否)"
)
_CHINESE_CLAUSE = re.compile(
    "(?!其中|包[括含]|[例比]如|如(?!今)|若|因|以[便及]|从而|使(?!用)|让|除|即|尤其|特别|主要|直[到至]|当|随着|所以|于是|否则|那么"
    "|[则就才]|这[样意]|可见|根?据|通过|经过|按|作为|而是|不是|并非|无论|不[论管]|虽|尽管|只[要有]|甚至|至于|[对关]于)"
    f"(?=也?+[^，,；;。]{{4}})[^，,；;。]{{0,40}}?(?:{_PREDICATE})"
)
_PREDICATE_OR_HOLDER = re.compile(
    rf"(?P<predicate>(?:{_PREDICATE})(?!\w{{0,20}}的)|是)"  # 位于杭州的公司 says nothing of it yet
    "|如果|若(?!干)|因为|由于|虽然|尽管|即使|只[要有]|除非|为了|随着|无论|不[论管仅但只]|既|要是|假如|一旦|表示|认为|指出"
    "|说(?!明)|[声宣]称|据[称说报]|是否"
)


def begins_clause(words: Sequence[str]) -> bool:
    """Tell whether words begin with a subject and its verb.

    >>> begins_clause("entry to the pool is free".split()), begins_clause("people who are old".split())
    (True, False)
    """
    if not words or words[0] in _BEGINS_NO_SUBJECT or words[0].endswith(("ed", "ly")):
        return False
    for place, word in enumerate(words[: _LONGEST_SUBJECT + 1]):
        if place and _is_verb(words, place):
            return words[place - 1] not in _NEVER_BEFORE_VERB
        if word in _HOLDERS or word.endswith((",", ";", ":")) or (place and word in _NEVER_IN_SUBJECT):
            return False
    return False


def begins_chinese_clause(text: str, start: int) -> bool:
    """Tell whether there begins what has a predicate, and does not only qualify what stands before it."""
    return _CHINESE_CLAUSE.match(text, start) is not None


def bare_words(text: str) -> list[str]:
    """Return the words of a text in small letters, without the marks around them."""
    return [word.strip(_AROUND_WORDS).lower() for word in text.split()]


def verbs_and_holders(text: str) -> Iterator[bool]:
    """Yield True for each verb of a text, and False for each word that another clause follows.

    >>> list(verbs_and_holders("The man who sang was old"))
    [False, True]
    """
    words = bare_words(text)
    for place, word in enumerate(words):
        if _is_verb(words, place):
            yield True
        elif word in _HOLDERS or words[place : place + 2] == ["not", "only"]:
            yield False
    if not text.isascii():
        for found in _PREDICATE_OR_HOLDER.finditer(text):
            yield found["predicate"] is not None


def _is_verb(words: Sequence[str], place: int) -> bool:
    word = words[place]
    if word in _VERBS or word.endswith(("n't", "n’t")):
        return True
    if place and word in _PLURAL_VERBS and _is_plural(words[place - 1]):
        return True
    if word not in _VERBS_OR_NOUNS or place + 1 == len(words):
        return False
    following = words[place + 1]
    return following in _AFTER_VERBS or following.startswith(("$", "€", "£")) or following[:1].isdigit()


def _is_plural(word: str) -> bool:
    return word in _PLURALS or (len(word) > 3 and word.endswith("s") and word not in _NO_PLURALS)
