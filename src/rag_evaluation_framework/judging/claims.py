"""The claims of a text.

A claim keeps its characters: ``text[claim.start:claim.end] == claim.text``. What states nothing is left out:
headings, table headers and rules, code blocks, questions, a bare yes or no, sentences of nothing but grammar
("It is what it is"), greetings and offers of help, lines that only announce a list, citations
that stand alone (``Source: [1].``), and a list of sources at the end. A single letter or character states
something: which choice it is. A citation inside a claim is among its characters; whoever reads only what is
said takes the claims of ``said_in(text)``, which stand at the same places.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rag_evaluation_framework.judging.answer_text import is_courtesy, said_in
from rag_evaluation_framework.records.scores import Claim
from rag_evaluation_framework.text.normalisation import simplified_characters
from rag_evaluation_framework.text.numbers import quantities
from rag_evaluation_framework.text.scripts import CLOSERS, HAN, ONE_TO_TEN
from rag_evaluation_framework.text.sentences import sentence_spans
from rag_evaluation_framework.text.tokens import words_in
from rag_evaluation_framework.text.vocabulary import LIGHT_VERBS, PARTICLES

# The words by which a clause is told: a subject with its verb, and what holds it to another clause.
#
# Only verbs are known that are common and hardly ever nouns, or no nouns beside certain other words.
# Chinese is read in simplified characters.


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


# Where a sentence is several statements side by side: "The pool is open daily, and entry is free".
#
# It is cut at a semicolon; before a conjunction that a subject and its verb follow; and at a Chinese
# comma that a clause with a predicate of its own follows. Before the cut there is a verb as well, so that
# a list of names is never cut, and no condition, subordinate clause or reported speech that may hold both
# sides together. What stands in quotes or brackets stays whole. A cut that is missed costs less than one
# in the wrong place. An English clause that leaves its subject out ("and offers free parking") stays with
# it.

# The first character is matched by one set and looked back at, which is faster.
_JOINT = re.compile(
    r"[\s,;；，](?:(?<=\s)(?=(?P<bare>and|but|whereas)\s)"
    r"|(?<=,)\s*+(?=(?P<comma>and|but|while|whereas|yet)\s)"
    rf"|(?P<semicolon>(?<=[;；]))|(?P<chinese>(?:(?<=，)|(?<=,)(?=[{HAN}]))(?<![时后前来间中话].)))"
)
# HTML entities, quotes and brackets.
_WHOLE = re.compile(
    r"&#?\w{1,8};|\"[^\"]*+\"|“[^“”]*+”|‘[^‘’]*+’|「[^「」]*+」|『[^『』]*+』|《[^《》]*+》"
    r"|\([^()]*+\)|（[^（）]*+）|\[[^\[\]]*+\]|【[^【】]*+】"
)
_WORDS_ENOUGH = re.compile(rf"(?:[^\W\d_]+(?:['’]\w+)?\W+){{2}}\w|[{HAN}]\W*(?:[{HAN}\d]\W*){{3}}")
_LOOKED_AT = 120  # characters on each side of a joint


def statements_in(sentence: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each statement of a sentence.

    >>> sentence = "Apples, pears, and plums are sold, and the staff are kind."
    >>> [sentence[start:end] for start, end in statements_in(sentence)]
    ['Apples, pears, and plums are sold', 'and the staff are kind.']
    """
    begin = 0
    if _JOINT.search(sentence):
        plain = _plain(sentence)
        statement = _Statement(plain, 0)
        for joint in _JOINT.finditer(plain):
            at, end = joint.span()
            if (
                statement.may_end_at(joint)
                and _WORDS_ENOUGH.search(plain, max(begin, at - _LOOKED_AT), at)
                and _WORDS_ENOUGH.search(plain, end, end + _LOOKED_AT)
            ):
                yield _stripped(sentence, begin, at)
                begin, statement = end, _Statement(plain, joint.end(joint.lastgroup or 0))
    yield _stripped(sentence, begin, len(sentence))


def _plain(sentence: str) -> str:
    """Return a sentence with nothing to cut at in what stays whole, in simplified characters."""
    plain = _WHOLE.sub(_filled, sentence)
    return plain if plain.isascii() else plain.translate(simplified_characters())


def _filled(whole: re.Match[str]) -> str:
    return "x" * len(whole[0])


class _Statement:
    """What is said from the last cut on, as far as it is read."""

    def __init__(self, text: str, start: int) -> None:
        self._text, self._read = text, start
        opening = frozenset(bare_words(text[:_LOOKED_AT])[:1] if start == 0 else ())
        owes_clause = not opening.isdisjoint(CLAUSE_OPENERS)
        self._has_verb = False
        self._is_held = owes_clause or not opening.isdisjoint(OPENERS)
        self._verbs_owed = 1 + owes_clause  # one by itself, one by each word that another clause follows

    def may_end_at(self, joint: re.Match[str]) -> bool:
        """Tell whether another statement begins after a joint, and nothing holds the two together."""
        kind = joint.lastgroup or 0
        at, after = joint.start(), joint.end(kind)
        if kind == "semicolon":
            return True
        if kind == "chinese":
            return begins_chinese_clause(self._text, after) and self._is_free_at(at)
        words = self._text[after : after + _LOOKED_AT].split()
        if kind == "comma" and not PRONOUNS.isdisjoint(words[:1]):
            return self._owed_at(at) <= (not self._has_verb)  # its own verb may be one that is not known
        if not begins_clause(words):
            return False
        if kind == "comma":
            return self._owed_at(at) == 0
        return self._is_free_at(at) and not _is_pair(self._text[max(at - _LOOKED_AT, 0) : at].split(), words)

    def _is_free_at(self, place: int) -> bool:
        return self._owed_at(place) == 0 and not self._is_held

    def _owed_at(self, place: int) -> int:
        for is_verb in verbs_and_holders(self._text[self._read : place]):
            self._has_verb |= is_verb
            self._is_held |= not is_verb
            self._verbs_owed = max(self._verbs_owed - 1, 0) if is_verb else self._verbs_owed + 1
        self._read = place
        return self._verbs_owed


def _is_pair(before: Sequence[str], after: Sequence[str]) -> bool:
    """Tell whether a conjunction joins two names, or two things of which the words before it speak."""
    return all(word[0].isupper() for word in (*before[-1:], *after[:1])) or not PAIR_WORDS.isdisjoint(before)


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return end - len(piece.lstrip()), start + len(piece.rstrip())


_FENCE = re.compile(r"^[^\S\n]*(```|~~~)[^\n]*\n.*?(?:^[^\S\n]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
# What stands before a statement without being part of it: list markers, quote marks, emphasis.
_LEAD = re.compile(
    r"(?:\s|>|[-*+•·‣◦▪](?=\s)|\d{1,3}[.)、](?=\D)|[A-Z]\d{1,3}[.)、](?=\s)"
    r"|[①-⒛❶-➓](?![①-⒛❶-➓、，和与與及是])"
    r"|(?P<emphasis>[*_]{1,3})[A-Z]?\d{1,3}(?:[.)、](?P=emphasis)|(?P=emphasis)[.)、])(?=\s)"
    rf"|[（(](?:\d{{1,3}}|[a-zA-Z]|[{ONE_TO_TEN}]{{1,3}})[)）]|[{ONE_TO_TEN}]{{1,3}}、)*+"
)
_MARKER = re.compile(r"\[[^\[\]]{1,200}\]|【[^【】]{1,200}】|［[^［］]{1,200}］")
_LETTER = re.compile(r"[^\W_]")
_HAN = re.compile(rf"[{HAN}]")
_TABLE_RULE = re.compile(r"\|?[\s|:-]*-[\s|:-]*\Z")
_UNDERLINED = re.compile(r"[^\n]+\n[^\S\n]*(?:-{3,}|={3,})\Z")
_ENDS_AS_QUESTION = re.compile(rf"[?？][\s{CLOSERS}]*\Z")
# Nothing is said after a colon: at most what is left of "Source: [1] and [2]." without its citations.
_ANNOUNCEMENT = re.compile(r"[:：](?:[\s*_.,;&。，；、]|and|[和及与與])*+\Z")
_LONGEST_ANNOUNCEMENT = 120
# What is said by such a word stands in the question alone.
_BARE_REPLY = re.compile(
    r"(?:yes|no|yep|nope|是的?|不是的?|对的?|對的?|不|否|没有|沒有)[\s.!。！]*\Z", re.IGNORECASE
)


def claims_of(text: str) -> list[Claim]:
    """Return the claims of a text in reading order.

    >>> [claim.text for claim in claims_of("Hello! Rome is old; it was never a port. Is it? [1]")]
    ['Rome is old', 'it was never a port.']
    """
    said = said_in(text)
    return [
        Claim(text[start:end], start, end)
        for first, last in _outside_code(said)
        for start, end in _claims_between(said, first, last)
    ]


def _outside_code(text: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for fence in _FENCE.finditer(text) if "```" in text or "~~~" in text else ():
        yield begin, fence.start()
        begin = fence.end()
    yield begin, len(text)


def _claims_between(text: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    part = text[first:last]
    spans = sentence_spans(part)
    for number, (start, end) in enumerate(spans):
        lead = _LEAD.match(part, start, end)
        if _UNDERLINED.match(part, start, end) and (lead is None or lead.end() == start):
            continue  # a heading; below an item stands a rule
        if lead is not None and (lead.end() < end or len(spans) > 1):  # an answer may be "(b)" alone
            start = lead.end()
        sentence = part[start:end]
        if sentence.startswith("|") and number + 1 < len(spans):
            following = part[slice(*spans[number + 1])]
            if _TABLE_RULE.match(following):
                continue  # the head of a table
        if not _states_something(sentence):
            continue
        for piece_start, piece_end in statements_in(sentence):
            yield first + start + piece_start, first + start + piece_end


def _states_something(sentence: str) -> bool:
    bare = _MARKER.sub("", sentence).strip()
    if bare.startswith("#") or _TABLE_RULE.match(bare):
        return False
    if ("?" in bare or "？" in bare) and _ENDS_AS_QUESTION.search(bare):
        return False
    if len(bare) <= _LONGEST_ANNOUNCEMENT and _ANNOUNCEMENT.search(bare):
        return False
    return _has_content(bare) and not _BARE_REPLY.match(bare) and not is_courtesy(bare)


def _has_content(sentence: str) -> bool:
    """Tell whether a sentence is more than grammar and talk of the sources; a letter alone is a choice."""
    if any(word.keys or not LIGHT_VERBS.isdisjoint(word.forms) for word in words_in(sentence)):
        return True
    letters = _LETTER.findall(sentence)
    if len(letters) == 1 or quantities(sentence):
        return True
    return any(_HAN.match(letter) and letter not in PARTICLES for letter in letters)
