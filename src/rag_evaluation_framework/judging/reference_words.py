"""What words tell of an answer beside its references: it says one, or a part, contradicts all, or nothing.

Precision comes before coverage: whatever is less than plain is undecided, with what it looks like. An answer
matches if it has the text of a reference and neither denies it nor leaves it open, or has nearly all its
words and all its numbers. It contradicts if, beside every reference, it has another number of the same kind
and unit, a no for a yes, or denies the same words. A reference that replies yes or no is compared with what
the answer's first clause replies. What offers a second value, runs on, or copies a passage is undecided.
``python -m benchmarks.answer_verdicts`` tells how often people agree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple
from unicodedata import normalize

from rag_evaluation_framework.judging import mentions
from rag_evaluation_framework.judging.answer_verdicts import class_by_patterns
from rag_evaluation_framework.judging.claims import said_in
from rag_evaluation_framework.judging.expected_points import statements_of
from rag_evaluation_framework.judging.reference_match import Match, kept_match
from rag_evaluation_framework.judging.turn_matching import reply_in
from rag_evaluation_framework.startup import dataclass, late_pattern
from rag_evaluation_framework.text.normalisation import comparable, plain, simplified_characters, typed
from rag_evaluation_framework.text.numbers import Quantity, even_text, quantities
from rag_evaluation_framework.text.scripts import HAN, HAN_CHARACTER, UNSPACED
from rag_evaluation_framework.text.tokens import content_keys
from rag_evaluation_framework.text.vocabulary import (
    CHINESE_NEGATIONS,
    NEGATIONS,
    NUMERALS,
    ORDINALS,
    STOP_WORDS,
    stem,
)

Kind = Literal["matches", "partly_matches", "contradicts"]

_WHOLE, _NEARLY_ALL, _MOST, _ENOUGH, _HALF = 0.99, 0.9, 0.8, 0.6, 0.5
_NEAREST = 3  # of many references, so many are held against an answer word by word
_BEST_FIRST = ("matches", "partly_matches", "undecided", "contradicts")
_KEPT = 512


@dataclass(frozen=True, slots=True)
class WordFinding:
    """What the words of an answer tell beside its references, and why; if nothing, what it looks like."""

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
    'another number than the reference: 14.00'
    """
    said, wanted = said_in(answer), [each for each in dict.fromkeys(references) if each.strip()]
    if not wanted or not _read(said).joined.strip():
        return WordFinding("undecided", "there are no words to compare")
    even = plain(said)
    if any(plain(each) == even for each in wanted):
        return WordFinding("matches", "the same text as the reference", share=1.0)
    if class_by_patterns(answer, question).kind != "answered":
        return WordFinding("undecided", "declines or asks back")
    if reply_in(comparable(wanted[0])) is None:
        return _compare(said, wanted, question, contexts)
    found = [_compare_reply(said, each, question, contexts) for each in wanted]
    return min(found, key=lambda each: _BEST_FIRST.index(each.kind))


def _compare(said: str, wanted: Sequence[str], question: str, contexts: Sequence[str]) -> WordFinding:
    doubt = ""
    for reference, why_open in _contained(said, wanted, question):
        limit = why_open or exceeds_limits(said, wanted, [reference], question, contexts)
        if limit is None:
            return WordFinding("matches", "contains the reference", share=1.0)
        doubt = doubt or limit
    if doubt:
        return WordFinding("undecided", doubt, "matches", 1.0)
    nearest = _nearest(said, wanted, question)
    share = nearest[0][0]
    for part, reference in nearest:
        if (part >= _HALF or _numbers(reference)) and _has_words(said, reference, question):
            if limit := exceeds_limits(said, wanted, [reference], question, contexts):
                return WordFinding("undecided", limit, "matches", part)
            share = max(part, *_match(said, reference, question).recalled)
            return WordFinding("matches", "has the words and numbers of the reference", share=share)
    contrary = _contradiction(said, wanted[0], question)
    if contrary and all(_contradiction(said, each, question) for each in wanted[1:]):
        return WordFinding("contradicts", contrary, share=share)
    if share and any(_is_part(said, each, question) for _, each in nearest):
        return WordFinding("partly_matches", "states a part of the reference and nothing else", share=share)
    leaning = _leaning(said, nearest[0][1], share, question)
    return WordFinding("undecided", "words cannot tell", leaning, share)


def _leaning(said: str, reference: str, share: float, question: str) -> Kind:
    if share < _HALF or _differ_in_denial(said, reference):
        return "contradicts"
    has_figures = _match(said, reference, question).has_figures
    if share >= _MOST and all(has_figures):
        return "matches"
    return "partly_matches" if any(has_figures) else "contradicts"


# Whether an answer has the text of a reference, or its words.


class _Text(NamedTuple):
    """A text with case kept, its words as they are compared, and where each begins and ends."""

    text: str
    joined: str
    places: Sequence[tuple[int, int]]


_WORD = late_pattern(rf"(?:(?<![\w-])-)?\d+(?:[.:]\d+)*%?|[{UNSPACED}]|[^\W_{UNSPACED}]+")
_LEFT_OUT = frozenset(("a", "an", "the", "and"))
_ACCENTS = re.compile("[\u0300-\u036f]")
_NAME_OR_NUMBER = re.compile(r"\b[A-Z][\w-]+|\d+(?:[.:,]\d+)*")
_SENTENCE_END = re.compile(r"[.!。！]\s*\Z")
_SHORT, _LONGEST_NAME = 3, 4
_RESERVED = re.compile(r"\b(?:only|except|unless|without|hardly|rarely|seldom)\b|仅|只[有要能]|除非|除了")


@lru_cache(maxsize=_KEPT)
def _read(text: str) -> _Text:
    if not text.isascii():
        even = _ACCENTS.sub("", normalize("NFD", normalize("NFKC", typed(text))))
        text = normalize("NFC", even).translate(simplified_characters())
    small = text.replace("'s ", "   ").lower()
    words, places = [], []
    for found in _WORD.finditer(small):
        word = found[0]
        if word not in _LEFT_OUT:
            is_plural = len(word) > 3 and word[-1] == "s" and word[-2] not in "sui"
            words.append(word[:-1] if is_plural else word)
            places.append(found.span())
    return _Text(text, f" {' '.join(words)} ", places)


def _places(text: _Text, wanted: _Text) -> Iterator[tuple[int, int]]:
    """Yield where a text has all the words of another, side by side."""
    needle, at = wanted.joined, text.joined.find(wanted.joined)
    while at >= 0 and needle.strip():
        first = text.joined.count(" ", 0, at)
        yield text.places[first][0], text.places[first + len(wanted.places) - 1][1]
        at = text.joined.find(needle, at + 1)


def _contained(said: str, wanted: Sequence[str], question: str) -> Iterator[tuple[str, str | None]]:
    """Yield the references that an answer has as they are, numbers by value, and what leaves them open."""
    forms: Sequence[Callable[[str], str]] = (str, even_text) if quantities(comparable(said)) else (str,)
    texts = [(_read(form(said)), form) for form in forms]
    for reference in wanted:
        for text, form in texts:
            if found := list(_places(text, _read(form(reference)))):
                yield reference, _doubt(text, found, reference, question) or _reserve(said, reference)
                break


def _has_words(said: str, reference: str, question: str) -> bool:
    """Tell whether an answer has a reference in other order, or less a word with none put in its place."""
    match = _match(said, reference, question)
    if min(match.recalled, default=0.0) < _MOST or not all(match.has_figures):
        return False
    claims = [_nearest_claim(said, each.text) for each in statements_of(said_in(reference))]
    nearest = " ".join(dict.fromkeys(claims))
    told = _telling_words(reference)
    is_amount = min(match.recalled) > _WHOLE and bool(_numbers(reference))  # 90 minutes, an hour and a half
    is_whole = is_amount or (bool(told) and told <= _telling_words(nearest))
    if not is_whole and (len(told) <= _SHORT or _keys(nearest) - _keys(reference) - _keys(question)):
        return False
    return (
        _agree_in_counts(nearest, reference, question)
        and _agree_in_units(nearest, reference)
        and _in_one_order(nearest, reference)
        and _agree_in_reserve(nearest, reference)
    )


def _agree_in_counts(claim: str, reference: str, question: str) -> bool:
    """Tell whether the numbers that may be words or names, such as *twice* and 周三, are the same."""
    found = [quantities(comparable(text)) for text in (claim, reference, question)]
    has, wanted, asked = ({value for each in numbers for value in each.values} for numbers in found)
    vague, sought = ({each.values[0] for each in numbers if each.is_vague} for numbers in found[:2])
    return sought <= has | asked and vague <= wanted | asked | {1.0}


def _agree_in_units(claim: str, reference: str) -> bool:
    """Tell whether no number of a reference stands with another unit in a claim: 12 km, 12 miles."""
    for wanted in _numbers(reference):
        units = {each.unit for each in _numbers(claim) if not set(each.values).isdisjoint(wanted.values)}
        if wanted.unit and units and not units & {wanted.unit, ""}:
            return False
    return True


def _telling_words(text: str) -> set[str]:
    """Return the words that are more than grammar, as they are written; of Chinese, pairs of characters."""
    words = {each for each in _read(text).joined.split() if not HAN_CHARACTER.match(each)} - STOP_WORDS
    return words if text.isascii() else words.union(filter(HAN_CHARACTER.match, content_keys(text)))


def _nearest_claim(said: str, reference: str) -> str:
    wanted = _keys(reference)
    claims = [each.text for each in statements_of(said)]
    return max(claims, key=lambda each: len(_keys(each) & wanted), default=said)


def _in_one_order(claim: str, reference: str) -> bool:
    """Tell whether names and numbers of a sentence stand in one order: they may have been swapped.

    Of two names, where one of the texts is passive, in the opposite order.
    """
    if not _is_sentence(reference):
        return True
    first, second = _NAME_OR_NUMBER.findall(claim), _NAME_OR_NUMBER.findall(reference)
    is_turned = (" by " in claim) != (" by " in reference) and len(set(first) & set(second)) == 2
    return _in_order(first, second[::-1] if is_turned else second)


def _in_order(first: Sequence[str], second: Sequence[str]) -> bool:
    """Tell whether what two sequences share stands in the same order in both."""
    shared = set(first) & set(second)
    return [each for each in first if each in shared] == [each for each in second if each in shared]


def _agree_in_reserve(claim: str, reference: str) -> bool:
    """Tell whether both deny or neither does, and a reserve of one is one of the other."""
    small, other = comparable(claim), comparable(reference)
    lost = set(_QUALIFIED.findall(other)) - set(_QUALIFIED.findall(small))
    is_same = set(_RESERVED.findall(small)) == set(_RESERVED.findall(other))
    return not lost and is_same and mentions.is_denied(small) == mentions.is_denied(other)


def _is_sentence(reference: str) -> bool:
    return _SENTENCE_END.search(reference) is not None or len(_read(reference).places) > _LONGEST_NAME


def _reserve(said: str, reference: str) -> str | None:
    """Return the reserve under which an answer has a sentence that knows none: only managers may."""
    if not _is_sentence(reference):
        return None
    found = set(_RESERVED.findall(comparable(_nearest_claim(said, reference))))
    added = sorted(found - set(_RESERVED.findall(comparable(reference))))
    return f"has the reference with a reserve: {added[0]}" if added else None


def _match(said: str, reference: str, question: str) -> Match:
    claims = [tuple([claim.text for claim in statements_of(each)]) for each in (said, said_in(reference))]
    return kept_match(claims[0], claims[1], question)


def _nearest(said: str, wanted: Sequence[str], question: str) -> list[tuple[float, str]]:
    """Return the references of which an answer has the largest shares of words, with these."""
    has, asked = _keys(said), _keys(question)
    shares = []
    for reference in wanted:
        keys = _keys(reference)
        news = keys - asked or keys
        shares.append((len(news & has) / len(news) if news else 0.0, reference))
    return sorted(shares, key=lambda each: -each[0])[:_NEAREST]


@lru_cache(maxsize=_KEPT)
def _keys(text: str) -> frozenset[str]:
    """Return the content of a text and its numbers."""
    return frozenset(content_keys(text)) | {f"{value}" for each in _numbers(text) for value in each.values}


# What leaves open, or does not mean, what comes after it or before it.
_OPEN = re.compile(
    r"(?:\b(?:if|unless|assuming|whether|used to be)\b|如果|假如|要是|以前是)[^,.;:!?，。；！？\n]*\Z",
    re.IGNORECASE,
)
_OTHER_THAN = re.compile(
    r"(?:\b(?:unlike|other than|except(?: for)?|apart from|instead of|rather than|confused with|mistaken for)"
    r"(?: the| an?)?\s*|除了|而非)\Z",
    re.IGNORECASE,
)
_ASKED = re.compile(r"[^.!?。！？\n]*[?？]")
_RANGE = re.compile(r"(?:day|[从自由周期月日号点年][^\s，。]{0,6}) ?(?:to|through|until|[-–到至]) ?\Z")
_LARGER = re.compile(r"\b(?:New|North|South|East|West|Northern|Southern|Eastern|Western|Great|Saint) \Z")


def _doubt(text: _Text, found: Sequence[tuple[int, int]], reference: str, question: str) -> str | None:
    """Return why the words of a reference are not stated where an answer has them."""
    if len(reference.strip()) == 1 and reference.isascii() and not reference.isdigit():
        return "one letter may stand for anything"
    small, asked = text.text.lower(), comparable(question)
    of_name = mentions.telling(asked, asked) if mentions.asks_for_name(asked) else []
    if mentions.says("denies", comparable(reference)) or mentions.asks_for_denied(asked):
        return None
    for start, end in found:
        before = text.text[:start]
        if _LARGER.search(before) and (word := before.split()[-1]) not in question:
            return f"names another: {word} {text.text[start:end]}"
        stance = mentions.stance_at(small, start)
        if stance == "denied" or mentions.denies_asked(small, start, of_name):
            return "has the reference and denies it"
        if stance == "open" or _OPEN.search(before) or _ASKED.match(text.text, end):
            return "has the reference and leaves it open"
        if _RANGE.search(before):
            return "has the reference as the end of a range"
        if _OTHER_THAN.search(before):
            return "has the reference as what is not meant"
    return None


# Limits that hold for matched keys as for matched references. An answer of at most 60 words is no passage;
# of a longer one, most that is copied may be.

_MOST_WORDS, _TIMES_THE_REFERENCE = 60, 5
_COPIED, _LONG_PASSAGE, _STRETCH = 0.8, 100, 5
_CHARACTERS_OF_A_WORD = 1.6  # as people divided a treebank (UD Chinese GSD): no segmenter is needed to count


def exceeds_limits(
    answer: str, references: Sequence[str], keys: Sequence[str], question: str, contexts: Sequence[str] = ()
) -> str | None:
    """Return why an answer that has ``keys`` may still be no answer, or ``None``.

    >>> exceeds_limits("There are 7 or 9 islands.", ["7"], ["7"], "How many islands are there?")
    'offers a second value: 9'
    """
    said = said_in(answer)
    length = _words(said)
    if length > _MOST_WORDS:
        if _is_copied(said, contexts):
            return "copies a retrieved passage"
        most = _TIMES_THE_REFERENCE * max(_words(" ".join(keys)), *map(_words, references), 0)
        if _words_outside(said, keys) > most:
            return f"{length} words, of which most are beside the reference"
    other = contains_second_value(said, references, keys, question)
    return None if other is None else f"offers a second value: {other}"


def contains_second_value(
    answer: str, references: Sequence[str], keys: Sequence[str], question: str
) -> str | None:
    """Return what an answer offers beside its keys that is of their kind and no reference contains."""
    known = (*references, *keys, question)
    if alternative := _ALTERNATIVE.search(answer):
        return alternative[0]
    found = _other_number(answer, keys, known, question) or _other_item(answer, known)
    if found is not None:
        return found
    joined = (other for key in keys for other in _joined_values(_read(answer), key))
    return next((other for other in joined if not _is_known(other, known)), None)


def _words(text: str) -> int:
    """Return the number of words; of Chinese, as many as its characters usually are."""
    words = _WORD.findall(text)
    unspaced = 0 if text.isascii() else sum(HAN_CHARACTER.match(word) is not None for word in words)
    return len(words) - unspaced + round(unspaced / _CHARACTERS_OF_A_WORD)


def _words_outside(said: str, keys: Sequence[str]) -> int:
    """Return the number of words outside the claims that match the keys."""
    claims = [claim.text for claim in statements_of(said)]
    wanted = frozenset[str]().union(*map(_keys, keys))
    shares = [len(_keys(claim) & wanted) for claim in claims]
    return sum(_words(claim) for claim, share in zip(claims, shares, strict=True) if share < max(shares))


def _is_copied(said: str, contexts: Sequence[str]) -> bool:
    words = _read(said).joined.split()
    runs = [" ".join(words[start : start + _STRETCH]) for start in range(len(words) - _STRETCH + 1)]
    passages = (_read.__wrapped__(context).joined for context in contexts if _words(context) > _LONG_PASSAGE)
    return any(sum(f" {run} " in each for run in runs) >= _COPIED * len(runs) for each in passages)


_ITEM_ENDS = re.compile(r"\s*(?:[\n;；/、]|(?<!\d)[,，]|[,，](?!\d))\s*(?:(?:and|or|以及|和|或者?)\s*)?")
_ITEM_MARK = re.compile(r"\A(?:[-*•]|\d+[.)])\s*")
_ALTERNATIVE = re.compile(
    r"\b(?:alternatively|(?:could|may|might) also be|others? (?:say|claim|believe|think)"
    r"|another (?:possibility|possible answer|candidate))\b|也可能|也有人|另一种说法",
    re.IGNORECASE,
)
_EITHER = re.compile(r"\beither\b|要么", re.IGNORECASE)
_JOINT = r"\s*,?\s*(?:\b(?:or|and)\b|[/&、]|或者?|还是|以及|[和与])\s*"
_LIGHT = r"(?:(?:also|even|perhaps|either|by|in|at|on|to|the|an?) )*"
_END = r"[^,.;:!?，。；：！？、\n()]"
_AFTER = re.compile(rf"(?:\s*\([^)]*\))?{_JOINT}{_LIGHT}(?P<other>{_END}+)")
_LISTED_AFTER = re.compile(r", (?P<other>[\w'-]+(?: [\w'-]+){0,3}?),? (?:and|or) \w")
_BEFORE = re.compile(rf"(?P<other>[^\s,.;:!?，。；：！？、()]+){_JOINT}{_LIGHT}\Z")
_LOOK_BACK = 60
_NAMES = re.compile(r"[A-Z][\w'-]+(?: [A-Z][\w'-]+)*")


def _other_item(answer: str, known: Sequence[str]) -> str | None:
    """Return an item that nobody knows, of an answer that is no more than a list."""
    items = [_ITEM_MARK.sub("", each) for each in _ITEM_ENDS.split(answer.strip()) if each.strip()]
    is_list = len(items) > 2 or (len(items) == 2 and re.search(r"[\n;；/、]", answer.strip()))
    longest = _LONGEST_NAME if len(items) > 2 else 2
    if not is_list or any(len(_read(each).places) > longest for each in items):
        return None
    if not STOP_WORDS.isdisjoint(word for each in items[1:] for word in _read(each).joined.split()):
        return None
    return next((each.strip(" .。") for each in items if not _is_known(each, known)), None)


def _is_known(value: str, known: Sequence[str]) -> bool:
    """Tell whether one of some texts has a word of a value."""
    if HAN_CHARACTER.match(value):
        return any(value[:2] in each for each in known)
    words = set(_read(value).joined.split()) - STOP_WORDS
    return not words or any(not words.isdisjoint(_read(each).joined.split()) for each in known)


def _joined_values(text: _Text, key: str) -> Iterator[str]:
    """Yield what *and*, *or* and their like join to a key, or to a name in it that stands by itself."""
    places = [(place, key[0].isupper()) for place in _places(text, _read(key))]
    if not places:
        places = [(place, True) for name in _NAMES.findall(key) for place in _places(text, _read(name))]
    for (start, end), may_be_name in places:
        is_name = may_be_name and text.text[start].isupper()
        if either := _EITHER.search(_sentence_around(text.text, start, end)):
            yield either[0]
        after = _AFTER.match(text.text, end), _LISTED_AFTER.match(text.text, end)
        for found in (*after, _BEFORE.search(text.text, max(0, start - _LOOK_BACK), start)):
            if found and (other := _value_in(found["other"], is_name=is_name)):
                yield other


def _sentence_around(text: str, start: int, end: int) -> str:
    first = max(text.rfind(mark, 0, start) for mark in ".!?。！？\n") + 1
    ends = [place for mark in ".!?。！？\n" if (place := text.find(mark, end)) >= 0]
    return text[first : min(ends, default=len(text))]


def _value_in(text: str, *, is_name: bool) -> str | None:
    """Return the value that a text begins with, if it is of the kind: names are like names."""
    if HAN_CHARACTER.match(text):
        return text[:2]
    for place, word in enumerate(text.split()[:3]):
        if word.lower() in STOP_WORDS and not word[0].isupper():
            return None
        if word[0].isupper() or word[0].isdigit():
            return word if is_name else None
        if not is_name and place == 0:
            return word
    return None


# Numbers by kind and unit.


class _Number(NamedTuple):
    values: tuple[float, ...]
    kind: str
    unit: str
    written: str


_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b"
)
_MONTH_BEFORE, _MONTH_AFTER = re.compile(rf"\b{_MONTH}\.? \Z"), re.compile(rf"(?: of)? {_MONTH}")
_UNIT = late_pattern(rf"[\s-]?(?:(?P<word>[a-z]+)|(?P<long>小时|分钟|公[里斤分]|千[克米])|(?P<han>[{HAN}]))")
_CURRENCY = {"$": "dollar", "€": "euro", "£": "pound", "¥": "yuan"}
_MONEY = frozenset((*_CURRENCY.values(), "cent", "pence", "元", "块", "镑"))


@lru_cache(maxsize=_KEPT)
def _numbers(text: str) -> Sequence[_Number]:
    """Return the numbers of a text that are plainly meant as numbers."""
    even = comparable(text)
    return [_number(even, each) for each in quantities(even) if not each.is_vague]


def _number(even: str, found: Quantity) -> _Number:
    written, values = even[found.start : found.end], found.values
    after = _UNIT.match(even, found.end)
    unit = (after["long"] or after["han"] or after["word"]) if after else ""
    before = even[max(0, found.start - _LOOK_BACK) : found.start]
    if found.kind != "number":
        return _Number(values, found.kind, "", written)
    if even.startswith("s", found.end):
        return _Number(values, "decade", "", written)
    if (month := _MONTH_BEFORE.search(before) or _MONTH_AFTER.match(even, found.end)) and values[0] <= 31:
        return _Number(values, "day", month[0].removeprefix(" of").strip()[:3], written)
    if written in ORDINALS or written.endswith(("st", "nd", "rd", "th")) or written.startswith("第"):
        return _Number(values, "ordinal", "", written)
    if (sign := before.rstrip()[-1:]) in _CURRENCY:
        return _Number(values, "number", _CURRENCY[sign], written)
    is_year = len(written) == 4 and 1000 <= values[0] <= 2100 and values[0].is_integer()
    if is_year and (unit in ("", "年") or unit in STOP_WORDS):
        return _Number(values, "year", "", written)
    unit = "" if unit in STOP_WORDS else stem(unit) if unit.isascii() else unit
    return _Number(values, "number", unit, written)


def _same_kind(one: _Number, other: _Number, question: str) -> bool:
    """Tell whether two numbers are of one kind and unit; what the question counts need not be said again."""
    if one.kind != other.kind or one.unit == other.unit:
        return one.kind == other.kind
    told = {one.unit, other.unit} - {""}
    return len(told) == 1 and (told <= _MONEY or told <= _keys(question))


def _values(texts: Iterable[str]) -> frozenset[float]:
    return frozenset(value for text in texts for each in _numbers(text) for value in each.values)


def _other_number(answer: str, keys: Sequence[str], known: Sequence[str], question: str) -> str | None:
    asked = _values([question])
    wanted = [each for key in keys for each in _numbers(key) if asked.isdisjoint(each.values)]
    told = _values(known) if wanted else frozenset()
    for each in _numbers(answer) if wanted else ():
        if told.isdisjoint(each.values) and any(_same_kind(each, one, question) for one in wanted):
            return each.written
    return None


# What no reference allows.

_BOUND = re.compile(
    r"\b(?:more than|less than|fewer than|at least|at most|up to|over|under|above|below|minimum|maximum)\b"
    r"|至少|最多|最少|不超过|以上|以下|以内"
)
_ABOUT = re.compile(
    r"\b(?:about|around|approximately|roughly|nearly|almost|some|circa)\b|大约|大概|左右|[约近]"
)
_NEAR, _ROUNDED, _LARGE = 0.05, 0.15, 100  # how far numbers may be apart and be the same, rounded
_BRIEF = 12  # words of an answer whose number can only be the one that is asked for
_DENIALS = frozenset((*NEGATIONS, *CHINESE_NEGATIONS))
# "No later than 15 November" and "there is no doubt" deny nothing.
_NO_DENIAL = re.compile(
    r"\b(?:no|not) (?:later|earlier|sooner|more|less|fewer|longer) than\b|\bno doubt\b|\bnot only\b"
    r"|不[过超晚迟早少]"
)
_QUALIFIED = re.compile(
    r"\b(?:but|unless|except|only|however|although|though|until|before|after|instead|rather|without)\b"
    r"|但|除|不过|只[有要能]|仅|之[前后]"
)


def _contradiction(said: str, reference: str, question: str) -> str | None:
    """Return how an answer contradicts a reference, if it plainly does."""
    if (number := _contrary_number(said, reference, question)) is not None:
        return f"another number than the reference: {number}"
    is_reverse = _is_reverse(said, reference, question)
    return "denies what the reference says, or the reverse" if is_reverse else None


def _contrary_number(said: str, reference: str, question: str) -> str | None:
    asked = _values([question])
    wanted = [each for each in _numbers(reference) if asked.isdisjoint(each.values)]
    given = [each for each in _numbers(said) if asked.isdisjoint(each.values)]
    if not wanted or not given or set(_BOUND.findall(said)) != set(_BOUND.findall(reference)):
        return None
    if all(_match(said, reference, question).has_figures):
        return None
    known, told = _values([reference]), _values([said])
    is_rounded = _ABOUT.search(said + reference) is not None
    is_same = _without(said, _is_figure) == _without(reference, _is_figure)
    contrary = None
    for each in wanted:
        is_right = not told.isdisjoint(each.values)
        others = [one for one in given if known.isdisjoint(one.values) and _same_kind(one, each, question)]
        if not others or (is_right and is_same):
            continue
        if is_right or len(others) > 1 or _is_near(others[0], each, is_rounded=is_rounded):
            return None  # one of two amounts is right, or may be
        if is_same or _is_about(said, others[0], reference, question):
            contrary = contrary or others[0].written
    return contrary


def _without(text: str, is_left_out: Callable[[str], bool]) -> list[str]:
    return [each for each in _read(text).joined.split() if not is_left_out(each)]


def _is_figure(word: str) -> bool:
    return word[-1].isdigit() or word in NUMERALS


def _is_no_figure(word: str) -> bool:
    return not _is_figure(word)


def _is_near(one: _Number, other: _Number, *, is_rounded: bool) -> bool:
    if one.kind in ("year", "day", "time", "ordinal"):
        return is_rounded
    first, second = one.values[0], other.values[0]
    share = abs(first - second) / max(abs(first), abs(second), 1)
    return share <= _ROUNDED if is_rounded else share <= _NEAR and max(first, second) >= _LARGE


def _is_about(said: str, number: _Number, reference: str, question: str) -> bool:
    """Tell whether the claim with a number says what the reference says, the number apart."""
    claim = next((each.text for each in statements_of(said) if number.written in comparable(each.text)), said)
    asked, has = frozenset(content_keys(question)), frozenset(content_keys(claim))
    wanted = frozenset(content_keys(reference)) - {number.unit}
    if news := wanted - asked:
        is_beside = len(has - wanted - asked) > _HALF * len(has)
        return len(news & has) >= _ENOUGH * len(news) and not is_beside
    return _words(said) <= _BRIEF or len(asked & has) >= _HALF * len(asked) > 0


def _differ_in_denial(said: str, reference: str) -> bool:
    """Tell whether one of a reference and the nearest claim denies something and the other does not."""
    return _is_denied(_nearest_claim(said, reference)) != _is_denied(reference)


def _is_denied(claim: str) -> bool:
    return mentions.is_denied(_NO_DENIAL.sub("", comparable(claim)))


def _is_reverse(said: str, reference: str, question: str) -> bool:
    """Tell whether two texts have the same words and one denies them."""
    wanted, has, asked = _keys(reference), _keys(said), _keys(question)
    has_all = len(wanted & has) >= 2 and wanted <= has | asked and len(has - wanted - asked) <= 1
    if not has_all and _without(said, _DENIALS.__contains__) != _without(reference, _DENIALS.__contains__):
        return False
    small, other = comparable(said), comparable(reference)
    deny = [mentions.says("denies", each) for each in (small, other)]
    if all(deny) or mentions.says("denies", comparable(question)) or _QUALIFIED.search(small + other):
        return False
    return len(statements_of(said)) == 1 and _differ_in_denial(said, reference)


def _is_part(said: str, reference: str, question: str) -> bool:
    """Tell whether an answer has some claims of a reference as they are, not others, and nothing else."""
    if len(statements_of(said_in(reference))) < 2:
        return False
    match = _match(said, reference, question)
    if min(match.agreed, default=0.0) < _NEARLY_ALL:
        return False
    told = zip(match.recalled, match.has_figures, strict=True)
    has_one = any(share >= _MOST and has_figures for share, has_figures in told)
    is_known = _values([said]) <= _values([reference, question])
    return has_one and min(match.recalled) < _HALF and is_known and not _differ_in_denial(said, reference)


def _compare_reply(said: str, reference: str, question: str, contexts: Sequence[str]) -> WordFinding:
    """Compare a yes or no, and what the reference says beside it, with those of an answer."""
    reply = reply_in(comparable(reference))
    if reply is None:
        return _compare(said, [reference], question, contexts)
    given, rest = reply_in(comparable(said)), comparable(reference)[reply.end :].strip(" ,.;:!，。；！")
    if given and given.is_yes != reply.is_yes:
        if mentions.says("denies", comparable(question)) or _QUALIFIED.search(comparable(said)):
            return WordFinding("undecided", "the other reply, with a reserve", "contradicts")
        why = "yes, where the reference says no" if given.is_yes else "no, where the reference says yes"
        return WordFinding("contradicts", why)
    if given and not _keys(rest) - _keys(question):
        limit = exceeds_limits(said, [reference], [reference], question, contexts)
        if limit or _QUALIFIED.search(comparable(said)):
            return WordFinding("undecided", limit or "the same reply, with a reserve", "matches", 1.0)
        return WordFinding("matches", f"{given.words}, as the reference says", share=1.0)
    if not rest or not _keys(rest):
        return WordFinding("undecided", "neither a plain yes nor a plain no")
    return _compare(said, [rest], question, contexts)
