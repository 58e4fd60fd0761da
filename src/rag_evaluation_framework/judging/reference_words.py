"""The verdict of words on an answer beside its references: match, part, contradiction, or undecided.

Precision comes before coverage: a case that is less than plain is undecided, with its likely state. An answer
matches if it has the text of a reference and neither denies it nor leaves it open, or has its words and
numbers in their order. It contradicts if, beside every reference, it has another number of the same kind and
unit, a no for a yes, or denies the same words. A reference that replies yes or no is compared with what
the answer's first clause replies. What offers a second value, runs on, or copies a passage is undecided.
``python -m benchmarks.answer_verdicts`` tells how often people agree.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import Literal, NamedTuple
from unicodedata import normalize

import msgspec

from rag_evaluation_framework.judging import mentions
from rag_evaluation_framework.judging.answer_verdicts import class_by_patterns
from rag_evaluation_framework.judging.claims import said_in
from rag_evaluation_framework.judging.expected_points import statements_of
from rag_evaluation_framework.judging.turn_matching import reply_in
from rag_evaluation_framework.startup import late_pattern
from rag_evaluation_framework.text.normalisation import (
    cache_texts,
    comparable,
    plain,
    simplified_characters,
    typed,
)
from rag_evaluation_framework.text.numbers import even_text
from rag_evaluation_framework.text.scripts import CHARACTERS_OF_A_WORD, HAN, HAN_CHARACTER, UNSPACED
from rag_evaluation_framework.text.tokens import content_keys
from rag_evaluation_framework.text.vocabulary import NUMERALS, PARTICLES, STOP_WORDS, stem

Kind = Literal["matches", "partly_matches", "contradicts"]

_MOST, _HALF, _KEPT = 0.8, 0.5, 512
_BEST_FIRST = ("matches", "partly_matches", "undecided", "contradicts")


class WordFinding(msgspec.Struct, frozen=True):
    """The verdict of words on an answer beside its references, with the reason, or its likely state."""

    kind: Literal["matches", "partly_matches", "contradicts", "undecided"]
    why: str
    leaning: Kind | None = None
    share: float = 0.0
    """The share of the words of the nearest reference that the answer has."""


def compare_with_references(
    answer: str, references: Sequence[str], question: str, contexts: Sequence[str] = ()
) -> WordFinding:
    """Return what the words of an answer tell beside its references, of which the best counts.

    >>> compare_with_references("It is Rome, on the Tiber.", ["Rome"], "What is the capital?").kind
    'matches'
    >>> compare_with_references("It is Rome or Milan.", ["Rome"], "What is the capital?").why
    'offers a second value: Milan'
    >>> compare_with_references("A return costs 14.00.", ["24.00"], "What does a return cost?").why
    'another number than the reference: 14'
    """
    said, wanted = said_in(answer), [each for each in dict.fromkeys(references) if each.strip()]
    if not wanted or not _read(said).starts:
        return WordFinding("undecided", "there are no words to compare")
    if _same_text(said) in map(_same_text, wanted):
        return WordFinding("matches", "the same text as the reference", share=1.0)
    if class_by_patterns(answer, question).kind != "answered":
        return WordFinding("undecided", "declines or asks back")
    if reply_in(comparable(wanted[0])) is None:
        return _compare(said, wanted, question, contexts)
    found = [_compare_reply(said, each, question, contexts) for each in wanted]
    return min(found, key=lambda each: _BEST_FIRST.index(each.kind))


def _compare(said: str, wanted: Sequence[str], question: str, contexts: Sequence[str]) -> WordFinding:
    doubt = None
    for reference in wanted:
        text, places = _find(said, reference)
        if places:
            found = _find_doubt(text, places, reference, question)
            found = found or exceeds_limits(said, wanted, [reference], question, contexts)
            if found is None:
                return WordFinding("matches", "contains the reference", share=1.0)
            doubt = doubt or found
    if doubt is None and (reference := next((one for one in wanted if _has_words(said, one, question)), "")):
        doubt = exceeds_limits(said, wanted, [reference], question, contexts)
        if doubt is None:
            return WordFinding("matches", "has the words and numbers of the reference", share=1.0)
    if doubt is not None:
        return WordFinding("undecided", doubt, "matches", 1.0)
    news = [_keys(each) - _keys(question) or _keys(each) for each in wanted]
    share = max(len(each & _keys(said)) / max(len(each), 1) for each in news)
    contrary = _find_contradiction(said, wanted[0], question)
    if contrary and all(_find_contradiction(said, each, question) for each in wanted[1:]):
        return WordFinding("contradicts", contrary, share=share)
    if any(_is_part(said, each) for each in wanted):
        return WordFinding("partly_matches", "states a part of the reference and nothing else", share=share)
    leaning: Kind = "matches" if share >= _MOST else "partly_matches" if share >= _HALF else "contradicts"
    return WordFinding("undecided", "word overlap cannot decide", leaning, share)


def _compare_reply(said: str, reference: str, question: str, contexts: Sequence[str]) -> WordFinding:
    """Compare a yes or no, and what the reference says beside it, with those of an answer."""
    if (reply := reply_in(comparable(reference))) is None:
        return _compare(said, [reference], question, contexts)
    given, rest = reply_in(comparable(said)), comparable(reference)[reply.end :].strip(" ,.;:!，。；！")
    has_reserve = _reserves(said)
    if given and given.is_yes != reply.is_yes:
        if has_reserve or mentions.says("denies", comparable(question)):
            return WordFinding("undecided", "the other reply, with a reserve", "contradicts")
        why = "yes, where the reference says no" if given.is_yes else "no, where the reference says yes"
        return WordFinding("contradicts", why)
    if given and not _keys(rest) - _keys(question):
        limit = exceeds_limits(said, [reference], [reference], question, contexts)
        if limit or has_reserve:
            return WordFinding("undecided", limit or "the same reply, with a reserve", "matches", 1.0)
        return WordFinding("matches", f"{given.words}, as the reference says", share=1.0)
    if not _keys(rest):
        return WordFinding("undecided", "neither a plain yes nor a plain no")
    return _compare(said, [rest], question, contexts)


# Whether an answer has the text of a reference, or its words.


class _Text(NamedTuple):
    """A text with case kept, its words as they are compared, and where each begins and ends."""

    text: str
    joined: str
    starts: Sequence[int]
    ends: Sequence[int]


class _Number(NamedTuple):
    value: str
    unit: str
    written: str


_WORD = late_pattern(rf"(?:(?<![\w-])-)?\d+(?:[.:]\d+)*%?|[{UNSPACED}]|[^\W_{UNSPACED}]+")
_NUMBER = late_pattern(
    rf"(?<![a-z\d.:])(-?\d+(?:[.:]\d+)*%?)(?:(?:[\s-]|'(?=s\b))?([a-z]+)|(公[里斤分]|小时|分钟|千[克米]|[{HAN}]))?"
)
# What marks a number beside its figures: 1.5 is not 15, nor 10% 10.
_MARK, _DECIMAL_COMMA = re.compile(r"(?<=\d)[^\w\s,'](?=\d)|-(?=\d)|%"), re.compile(r",(?=\d\d?\b)")
_NUMERAL_GOES_ON = late_pattern(rf"[{NUMERALS}]{{2}}")  # 二十 does not stand in 二十五
_LONGEST_NAME, _BRIEF = 4, 8
# No answer takes a time that grows with the square of its length: each claim is compared with each only in
# texts of so many, so many places are looked at, and around each so many characters are read.
_MOST_COMPARED, _MOST_PLACES, _LONGEST_CLAUSE = 1 << 14, 200, 400
_GRAMMAR = STOP_WORDS.union(PARTICLES) - {"may"}  # which is a month too
_RESERVE = re.compile(
    r"\b(?:but|unless|except|only|however|although|though|until|before|after|instead|rather|without"
    r"|hardly|rarely|seldom|once|twice|by)\b|但|除|不过|只[有要能]|仅|之[前后]|被"
)
_WITHOUT = re.compile(r"\bwithout\b|而[不无没未]")


@cache_texts(_KEPT)
def _read(text: str) -> _Text:
    if not text.isascii():
        text = normalize("NFKC", typed(text)).translate(simplified_characters())
    words, starts, ends = [], array("I"), array("I")
    for found in _WORD.finditer(text.replace("'s ", "   ").lower()):
        if (word := found[0]) not in ("a", "an", "the", "and"):
            is_plural = len(word) > 3 and word[-1] == "s" and word[-2] not in "sui"
            words.append(word[:-1] if is_plural else word)
            starts.append(found.start())
            ends.append(found.end())
    return _Text(text, f" {' '.join(words)} ", starts, ends)


_even = cache_texts(_KEPT)(even_text)


def _same_text(text: str) -> tuple[str, Sequence[str]]:
    """Return what two texts that are the same share: plain words, and the marks of their numbers."""
    return plain(text), _MARK.findall(_DECIMAL_COMMA.sub(".", comparable(text)))


def _places(text: _Text, wanted: _Text) -> Iterator[tuple[int, int]]:
    """Yield the first places where a text has all the words of another, side by side."""
    at = text.joined.find(wanted.joined) if wanted.starts else -1
    first = counted = 0
    for _ in range(_MOST_PLACES):
        if at < 0:
            break
        first, counted = first + text.joined.count(" ", counted, at), at
        start, end = text.starts[first], text.ends[first + len(wanted.starts) - 1]
        if not any(_NUMERAL_GOES_ON.match(text.text, edge - 1) for edge in (start, end) if edge):
            yield start, end
        at = text.joined.find(wanted.joined, at + 1)


def _find(said: str, reference: str) -> tuple[_Text, list[tuple[int, int]]]:
    """Return where an answer has a reference as it is, or with its numbers by value."""
    text, even = _read(said), _read(_even(said)) if _numbers(said) else None
    places = list(_places(text, _read(reference)))
    if places or even is None:
        return text, places
    return even, list(_places(even, _read(_even(reference))))


def _has_words(said: str, reference: str, question: str) -> bool:
    """Return True if an answer makes each claim of a reference, with other words between."""
    points = [each.text for each in statements_of(said_in(reference))] if _is_sentence(reference) else []
    if len(points) * len(statements_of(said)) > _MOST_COMPARED:
        return False
    return all(_makes_claim(_nearest_claim(said, each), each, question) for each in points) and bool(points)


def _makes_claim(claim: str, point: str, question: str) -> bool:
    words, rest = _telling_words(point), iter(_telling_words(claim))
    return (
        not set(words) <= set(_telling_words(question))
        and all(each in rest for each in words)  # in their order
        and {each[:2] for each in _numbers(point)} <= {each[:2] for each in _numbers(claim)}
        and _find_reserve(claim, point) is None
    )


@cache_texts(_KEPT)
def _telling_words(text: str) -> Sequence[str]:
    """Return the words that are more than grammar, in their order, numbers by value."""
    return [each for each in _read(_even(text)).joined.split() if each not in _GRAMMAR]


@cache_texts(_KEPT)
def _numbers(text: str) -> Sequence[_Number]:
    """Return the numbers of a text that are plainly meant as numbers; of times, without their half."""
    numbers = []
    for found in _NUMBER.finditer(_even(text)):
        value, word, counted = found.groups()
        written = found[0] if word in ("am", "pm") else value
        unit = counted or ("" if word is None or word in STOP_WORDS else stem(word))
        unit = "decade" if word == "s" else "percent" if value[-1] == "%" else unit
        hour, _, minute = value.partition(":")
        if minute and hour.isdigit():
            value, unit = f"{int(hour) % 12}:{minute}", "time"
        elif unit in ("", "年") and re.fullmatch(r"1\d{3}|20\d\d", value):
            unit = "calendar year"
        numbers.append(_Number(value, unit, written))
    return numbers


def _values(text: str) -> set[str]:
    return {each.value for each in _numbers(text)}


@cache_texts(_KEPT)
def _keys(text: str) -> frozenset[str]:
    """Return the content of a text and its numbers."""
    return frozenset(content_keys(text)) | _values(text)


def _nearest_claim(said: str, reference: str) -> str:
    claims = [each.text for each in statements_of(said)]
    return max(claims, key=lambda each: len(_keys(each) & _keys(reference)), default=said)


def _reserves(text: str) -> set[str]:
    return set(_RESERVE.findall(comparable(text)))


# What leaves open, or does not mean, what comes after it; and what tells of another place.
_LEFT_OPEN = re.compile(
    r"(?i:\b(?:if|unless|whether|used to be|unlike|other than|except|apart from|instead of|rather than"
    r"|confused with)\b|如果|假如|要是|以前是|除了|而非)[^,.;:!?，。；：！？\n]*\Z"
    r"|(?:day (?:to|through|until) |[从自由周期月日号点年][^\s，。]{0,6}[-–到至])\Z"
    r"|\b(?:New|Great|Saint|(?:North|South|East|West)(?:ern)?) \Z"
)
_LEFT_OPEN_AFTER = re.compile(r"[^.!?。！？\n]*[?？]|[^,.;:!?，。；：！？\n]*(?:\b(?:until|till)\b|为止)")


def _find_doubt(text: _Text, places: Sequence[tuple[int, int]], reference: str, question: str) -> str | None:
    """Return why the words of a reference are not stated where an answer has them."""
    small, asked = text.text.lower(), comparable(question)
    if re.fullmatch("[A-Za-z]", reference.strip()):
        return "one letter may stand for anything"
    if mentions.says("denies", comparable(reference)) or mentions.asks_for_denied(asked):
        return None
    of_name = mentions.telling(asked, asked) if mentions.asks_for_name(asked) else []
    for start, end in places:
        stance = mentions.stance_at(small, start)
        if stance == "denied" or mentions.denies_key(small, start, of_name):
            return "has the reference and denies it"
        left_open = _LEFT_OPEN.search(text.text, max(0, start - _LONGEST_CLAUSE), start)
        left_open = left_open or _LEFT_OPEN_AFTER.match(text.text, end, end + _LONGEST_CLAUSE)
        if stance == "open" or left_open:
            return "has the reference and leaves it open"
    return _find_reserve(_nearest_claim(text.text, reference), reference) if _is_sentence(reference) else None


def _is_sentence(text: str) -> bool:
    return len(_read(text).starts) > _LONGEST_NAME or text.rstrip().endswith((".", "。"))


def _find_reserve(claim: str, reference: str) -> str | None:
    """Return the reserve that only one of two texts has, or that only one denies: only managers may.

    "Without" behind all that the reference says takes nothing back.
    """
    head = _WITHOUT.split(comparable(claim), maxsplit=1)[0]
    claim = head if _keys(reference) <= _keys(head) else claim
    if reserves := _reserves(claim) ^ _reserves(reference):
        return f"has the reference with another reserve: {min(reserves)}"
    return "has the reference and denies it" if _differ_in_denial(claim, reference) else None


# Limits that hold for matched keys as for matched references. An answer of at most 60 words is no passage;
# of a longer one, most that is copied may be.

_MOST_WORDS, _TIMES_THE_REFERENCE, _COPIED, _LONG_PASSAGE, _STRETCH = 60, 5, 0.8, 100, 5


def exceeds_limits(
    answer: str, references: Sequence[str], keys: Sequence[str], question: str, contexts: Sequence[str] = ()
) -> str | None:
    """Return why an answer that has ``keys`` may still be no answer, or ``None``.

    >>> exceeds_limits("There are 7 or 9 islands.", ["7"], ["7"], "How many islands are there?")
    'offers a second value: 9'
    """
    said = said_in(answer)
    length = _count_words(said)
    if length > _MOST_WORDS:
        if _is_copied(said, contexts):
            return "copies a retrieved passage"
        most = _TIMES_THE_REFERENCE * max(_count_words(" ".join(keys)), *map(_count_words, references), 0)
        if _count_words_outside(said, keys) > most:
            return f"{length} words, of which most are beside the reference"
    other = _find_second_value(said, keys, (*references, *keys, question), question)
    return None if other is None else f"offers a second value: {other}"


def _count_words(text: str) -> int:
    """Return the number of words; of Chinese, as many as its characters usually are."""
    words = _WORD.findall(text)
    unspaced = 0 if text.isascii() else sum(HAN_CHARACTER.match(word) is not None for word in words)
    return len(words) - unspaced + round(unspaced / CHARACTERS_OF_A_WORD)


def _count_words_outside(said: str, keys: Sequence[str]) -> int:
    """Return the number of words outside the claims that match the keys."""
    wanted = _keys(" ".join(keys))
    shares = [(len(_keys(claim.text) & wanted), claim.text) for claim in statements_of(said)]
    most = max(shares)[0]
    return sum(_count_words(claim) for share, claim in shares if share < most)


def _is_copied(said: str, contexts: Sequence[str]) -> bool:
    runs = _runs(said)
    passages = [set(_runs(each)) for each in contexts if _count_words(each) > _LONG_PASSAGE]
    return any(sum(run in each for run in runs) >= _COPIED * len(runs) for each in passages)


def _runs(text: str) -> list[tuple[str, ...]]:
    words = _read(text).joined.split()
    return list(zip(*(words[start:] for start in range(_STRETCH)), strict=False))


_BETWEEN_ITEMS = re.compile(
    r"(?:(?:(?<!\s)\s++)?(?:[;；/、]|[,，](?!\d))|(?:(?<!\s)[^\S\n]++)?\n)\s*+(?:[-*•]|\d+[.)]|(?:and|or)\b|和|或者?)?\s*"
)
_ALTERNATIVE = re.compile(r"\b(?:alternatively|(?:may|might) also be|others? say)\b|也可能", re.IGNORECASE)
_JOINT = r"\s*,?\s*(?:\b(?:or|and)\b|[/&、]|或者?|还是|以及|[和与])\s*(?:(?:also|by|in|at|on|to|the|an?) )*"
_AFTER = re.compile(
    rf"(?:\s*\([^)]*\)|, [\w'-]+(?: [\w'-]+){{0,2}}?)?{_JOINT}(?P<other>[^,.;:!?，。；：！？、\n()]+)"
)
_BEFORE = re.compile(rf"(?P<other>[{HAN}]{{2}}|[^\s,.;:!?，。；：！？、(){HAN}]+){_JOINT}\Z")


def _find_second_value(said: str, keys: Sequence[str], known: Sequence[str], question: str) -> str | None:
    """Return what an answer offers beside its keys that is of their kind and not known."""
    if alternative := _ALTERNATIVE.search(said):
        return alternative[0]
    told, units = _values(" ; ".join(known)), {each.unit for key in keys for each in _numbers(key)}
    units |= _keys(question) if "" in units else set()
    others = (each.written for each in _numbers(said) if each.unit in units and each.value not in told)
    if number := next(others, None):
        return number
    items = [each for each in _BETWEEN_ITEMS.split(said.strip(" -*.。")) if each]
    is_list = len(items) > 1 + ("\n" not in said) and max(each.count(" ") for each in items) < 3
    joined = (other for key in keys for other in _joined_values(_read(said), key))
    return next((each for each in (*(items if is_list else ()), *joined) if not _is_known(each, known)), None)


def _is_known(value: str, known: Sequence[str]) -> bool:
    """Return True if one of some texts has a word of a value."""
    if HAN_CHARACTER.match(value):
        return any(value[:2] in each for each in known)
    words = set(_read(value).joined.split()) - STOP_WORDS
    return not words or not words.isdisjoint(_words_of(tuple(known)))


@lru_cache(maxsize=2)
def _words_of(texts: tuple[str, ...]) -> frozenset[str]:
    return frozenset(word for each in texts for word in _read(each).joined.split())


def _joined_values(text: _Text, key: str) -> Iterator[str]:
    """Yield what *and*, *or* and their like join to a key, and a name that stands in its place."""
    places = list(_places(text, _read(key)))
    for start, end in places:
        is_name = text.text[start].isupper() and key[0].isupper()
        head, stop = max(0, start - 60), end + _LONGEST_CLAUSE
        around = [_AFTER.match(text.text, end, stop), _BEFORE.search(text.text, head, start)]
        if is_name or HAN_CHARACTER.match(key):
            around.append(mentions.phrase("set_against").match(text.text, end, stop))
            around.append(mentions.phrase("former").search(text.text, head, start))
        for found in filter(None, around):
            if other := _find_value(found["other"], is_name=is_name):
                yield other
    if key[0].isupper() and " " not in key:
        find = mentions.phrase("forename").search
        longer = [find(text.text, max(0, start - 60), start + 1) for start, _ in places]
        yield from (name["other"] for name in longer if name and all(longer))


def _find_value(text: str, *, is_name: bool) -> str | None:
    """Return the value that a text begins with, if it is of the kind: names are like names."""
    if HAN_CHARACTER.match(text):
        return text[:2]
    words = list(takewhile(lambda word: word not in STOP_WORDS, text.split()[: 3 if is_name else 1]))
    return next((word for word in words if word[0].isupper() == is_name), None)


# What no reference allows.


def _find_contradiction(said: str, reference: str, question: str) -> str | None:
    """Return how an answer contradicts a reference, if it plainly does."""
    if number := _find_contrary_number(said, reference, question):
        return f"another number than the reference: {number}"
    if _is_reverse(said, reference, question):
        return "denies what the reference says, or the reverse"
    return None


def _find_contrary_number(said: str, reference: str, question: str) -> str | None:
    """Return the number that an answer has in the place of another of its kind, all else being the same."""
    texts, both = (said, reference), comparable(f"{said} ; {reference}")
    is_unsure = mentions.says("inexact", both) or mentions.says("written_unsurely", both)
    if is_unsure or _reserves(said) != _reserves(reference):
        return None
    asked, known = _values(question), _values(reference)
    given, wanted = ([one for one in _numbers(each) if one.value not in asked] for each in texts)
    words = [[word for word in _read(_even(each)).joined.split() if not word[-1].isdigit()] for each in texts]
    if words[0] != words[1]:
        given = [each for each in given if each.value not in known]
        if len(wanted) != 1 or not _is_about(said, reference, question):
            return None
    pairs = [pair for pair in zip(given, wanted, strict=False) if pair[0].value != pair[1].value]
    is_plain = pairs and len(given) == len(wanted) and known.isdisjoint(one.value for one, _ in pairs)
    is_plain = is_plain and all(one.unit == other.unit and not _is_near(one, other) for one, other in pairs)
    return pairs[0][0].written if is_plain else None


def _is_near(one: _Number, other: _Number) -> bool:
    """Return True if two large numbers may be the same one, rounded."""
    is_exact = one.unit in ("calendar year", "decade", "time") or len(one.value) < 3
    return not is_exact and len(one.value) == len(other.value) and one.value[:2] == other.value[:2]


def _is_about(said: str, reference: str, question: str) -> bool:
    """Return True if an answer is one brief claim equal to the reference, numbers apart."""
    wanted, has, asked = (_keys(text) - _values(text) for text in (reference, said, question))
    is_brief = len(statements_of(said)) == 1 and _count_words(said) <= _BRIEF + _count_words(reference)
    return is_brief and wanted <= has | asked


def _differ_in_denial(claim: str, reference: str) -> bool:
    """Return True if one of two texts denies something and the other does not."""
    return mentions.is_denied(comparable(claim)) != mentions.is_denied(comparable(reference))


def _is_reverse(said: str, reference: str, question: str) -> bool:
    """Return True if two texts have the same words and one denies them."""
    negation, texts = mentions.phrase("negation"), (comparable(said), comparable(reference))
    words, others = (_read(negation.sub(" ", each)).joined for each in texts)
    is_open = _reserves(said) or mentions.says("denies", comparable(question))
    return words == others and not is_open and _differ_in_denial(said, reference)


def _is_part(said: str, reference: str) -> bool:
    """Return True if an answer makes some claims of a reference unchanged, and no other."""
    claims, points = (
        {plain(each.text) for each in statements_of(text)} for text in (said, said_in(reference))
    )
    return claims < points
