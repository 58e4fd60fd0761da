"""The agreement of an answer with its reference by words: recall of the reference, precision of the answer.

Words are compared by stems and Chinese by pairs of characters, numbers by value together with what they count
(*90 minutes*, *an hour and a half*), names in near spellings. What the question says
already counts little. A word that one side denies and the other does not is not the same word.
"""

from __future__ import annotations

import json
import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from importlib.resources import files
from itertools import chain, islice, product
from typing import Literal, NamedTuple
from unicodedata import normalize

from rag_evaluation_framework.startup import late_pattern
from rag_evaluation_framework.text.normalisation import cache_texts
from rag_evaluation_framework.text.numbers import even_text
from rag_evaluation_framework.text.scripts import HAN
from rag_evaluation_framework.text.vocabulary import (
    CHINESE_DIGITS,
    NUMERALS,
    STRUCTURE,
    TENS,
    TIMES,
    UNITS,
    stem,
)

_ASKED = 0.25  # what a word of the reference counts that the question has too
_NEAR = 0.8  # what a word counts in a near spelling
_HALF = 0.5  # of the words of a sentence: another with so many is about the same
CONTRARY = 1 / 3  # what is left where one says the contrary, or another number: less than even odds
_FULL_ANSWER = 10  # at so many words of the reference, precision has half the weight it has at most
_SHORTEST_NEAR, _LONGEST_NEAR = 5, 40
_KEPT, _LONGEST_KEPT, _MATCHES, _MOST_PAIRS = 512, 40, 64, 4096
# No answer takes a time that grows with the square of its length: what is compared with all is bounded.
_MOST_SAID = 64
_NONE: frozenset[str] = frozenset()

# Words that join others or deny them, which is seen apart; units with how many of the smallest are in each,
# by stems; and the ways to write a value that become one: fractions before numbers are read, the rest after.
_DATA = json.loads((files(__package__) / "data" / "reference_match.json").read_text(encoding="utf-8"))
_JOINING = frozenset(_DATA["joining"].split())
_PLAIN_NUMBERS = {word: f"{value}" for word, value in (UNITS | TENS | TIMES).items()}
_UNITS = {unit: (name, size) for name, sizes in _DATA["measures"].items() for unit, size in sizes.items()}
_DATES = {stem(word): kind for kind in ("months", "weekdays", "halves") for word in _DATA[kind].split()}
_YEAR = re.compile(r"1\d{3}|20\d\d")
# Fitted by `python -m benchmarks.cards`: the correctness with even odds, and with odds of nine to one.
_SCALE: tuple[float, ...] = (0.0, *_DATA["scale"], 1.0)
_SIMILARITIES = (0.0, 0.5, 0.8, 1.0)
# What a text must have for a pattern that has this to match: to look for it is faster.
_CUES = {
    "quarter": "quarter",
    "third": "third",
    "half": "half",
    "半": "半",
    "/h": "/h",
    r":\d": ":",
    "or (": "or ",
}


def _cue(pattern: str) -> str:
    return next((cue for part, cue in _CUES.items() if part in pattern), "")


_FRACTIONS = [(_cue(each), re.compile(each, re.IGNORECASE), value) for each, value in _DATA["fractions"]]
_REWRITTEN = [(_cue(each), re.compile(each), written) for each, written in _DATA["rewritten"]]
# A Chinese digit by itself: 六镑; 两三 is a guess.
_DIGIT = re.compile(rf"(?<![{NUMERALS}])[{''.join(CHINESE_DIGITS)}](?![{NUMERALS}])")
_ACCENTS = re.compile("[\u0300-\u036f]")
_LETTERS = rf"[^\W\d_{HAN}]+"
_ENDS = ("but", "however", "although", "though", "while", "whereas", "because")
_TOKEN = late_pattern(
    rf"(?P<figure>(?:(?<![\w-])-)?\d+(?:[.:]\d+)*)(?P<percent>\s?%)?|(?P<han>[{HAN}]+)"
    rf"|(?P<end>[,;:.!?，；：。！？]+|\b(?:{'|'.join(_ENDS)})\b)"
    rf"|{_LETTERS}(?:'{_LETTERS})*"
)
_HAN_PART = re.compile(rf"或者?|还是|[{''.join(STRUCTURE)}不没沒无無未]")
_DENIAL = re.compile(
    r"\b(?:not(?!\sonly)|no(?!\.?\s?\d)|never|neither|nor|cannot|except|(?:instead|rather)\s(?:of|than))\b"
    r"|n't\b|(?<!而)(?:不(?![仅但久断同过])|[没沒](?!落)|无(?![论锡])|無|未(?!来))|非(?![洲常])|除了"
)
# Denies what comes after it, not the clause; what is done without something is said of it all the same.
_WITHOUT = re.compile(r"\bwithout (?!\w+ing\b)([^,;:.!?]+)")
_DENIAL_CUES = ("no", "n't", "nei", "never", "except", "instead", "rather")


class _Word(NamedTuple):
    key: str
    amount: tuple[str, float] | None = None
    """Kind and amount of a number with its unit."""
    is_bound: bool = False
    """True if the word names the thing that the number before it counts."""
    is_denied: bool = False
    kind: str = ""
    """Kind of a number or a part of a date: others of this kind may stand in its place."""

    @property
    def value(self) -> tuple[str, float] | str:
        return self.amount or self.key


class _Sentence(NamedTuple):
    words: tuple[_Word, ...]
    keys: frozenset[str]
    amounts: tuple[tuple[str, float], ...]
    placed: tuple[tuple[_Word, tuple[str, ...]], ...]
    """Its numbers and dates, each with its kind and the words beside it."""
    without: frozenset[str]


class Match(NamedTuple):
    """The agreement of an answer and its reference."""

    recalled: tuple[float, ...]
    """Share of each claim of the reference that the answer makes."""
    has_figures: tuple[bool, ...]
    """For each claim of the reference, True if the answer has all its numbers."""
    agreed: tuple[float, ...]
    """Share of each claim of the answer that the reference or the question makes."""
    correctness: float
    """Recall and precision of all words in one figure, which recall leads where the reference is short."""


def match_claims(answer: Sequence[str], reference: Sequence[str], question: str = "") -> Match:
    """Compare the claims of an answer with those of its reference.

    >>> match_claims(["It can be returned within 30 days."], ["30 days"], "Can it be returned?").recalled
    (1.0,)
    >>> match_claims(["It can be returned within 90 days."], ["30 days"], "Can it be returned?").recalled
    (0.0,)
    >>> match_claims(["It opens at nine on 3 days."], ["It opens at 9.", "It opens on 5 days."]).has_figures
    (True, False)
    >>> match_claims(["It is n't here to stay."], ["It is n't here to stay."]).recalled
    (1.0,)
    >>> match_claims(["Call 713.306.7940 days and nights."], ["713.306.7940"]).recalled
    (1.0,)
    """
    asked = _asked(question)
    said, wanted = list(map(_sentence, answer)), list(map(_sentence, reference))
    told = _Told(said, asked, is_one=len(wanted) == 1)
    found = [told.hits(sentence.words) for sentence in wanted]
    recalled, weights = [], []
    for sentence, hits in zip(wanted, found, strict=True):
        weights.append(asked.weights(sentence.words))
        recalled.append(_mean(hits, weights[-1]))
    agreed, right, extra = _precision(said, wanted, asked)
    recall = _mean(recalled, list(map(sum, weights)))
    words = sum(len(sentence.words) for sentence in wanted)
    weight = words / (words + _FULL_ANSWER) / 2
    precision = right / (right + extra) if right else 1 / (1 + extra)
    missing = [
        [word for word, hit in zip(each.words, hits, strict=True) if not hit]
        for each, hits in zip(wanted, found, strict=True)
    ]
    correctness = recall ** (1 - weight) * precision**weight
    if any(map(told.denies, wanted)) or _has_contrary(said, wanted, missing, asked):
        correctness *= CONTRARY
    return Match(tuple(recalled), tuple(map(_has_figures, missing)), agreed, correctness)


def _has_contrary(
    said: Sequence[_Sentence], wanted: Sequence[_Sentence], missing: Iterable[Sequence[_Word]], asked: _Asked
) -> bool:
    """Return True if an answer has another number or date in the place of one of the reference.

    It stands between the same words, or it is new, and what the sentence says has the other one instead.
    """
    if not (placed := [each for sentence in wanted for each in sentence.placed]):
        return False
    said_at: dict[tuple[str, ...], set[tuple[str, float] | str]] = {}
    for word, place in chain.from_iterable(sentence.placed for sentence in said):
        said_at.setdefault(place, set()).add(word.value)
    if any(word.value not in said_at.get(place, {word.value}) for word, place in placed):
        return True
    known = {word.value for word, _ in placed} | asked.keys
    new = [(each, word.kind) for each in said for word, _ in each.placed if word.value not in known]
    lost = [
        (each, word.kind) for each, words in zip(wanted, missing, strict=True) for word in words if word.kind
    ]
    return any(
        _are_alike(one, other) and _is_about(each, sentence)
        for (sentence, one), (each, other) in islice(product(lost, new), _MOST_PAIRS)
    )


def _are_alike(one: str, other: str) -> bool:
    """Return True if kinds are the same, or one of two counts has no noun."""
    return one == other or (one[0] == other[0] == "#" and "#" in (one, other))


def _is_about(said: _Sentence, wanted: _Sentence) -> bool:
    """Return True if a sentence has half of another's words, without numbers and dates."""
    words = wanted.keys.difference([word.key for word, _ in wanted.placed])
    return len(words & said.keys) >= _HALF * len(words)


def _has_figures(missing: Iterable[_Word]) -> bool:
    return not any(word.amount is not None or word.key[:1].isdigit() for word in missing)


kept_match = lru_cache(maxsize=_MATCHES)(match_claims)
"""Returns the same for the same claims: what a metric found, blame asks for again."""


def similarity(correctness: float) -> float:
    """Return correctness on a scale that people's verdicts give: .5 is even odds, .8 nine right in ten.

    That is where as many answers are right as wrong; no word in common is 0, all of them and no other are 1.

    >>> [similarity(share) for share in (0.0, *_SCALE[1:3], 1.0)]
    [0.0, 0.5, 0.8, 1.0]
    """
    place = min(bisect(_SCALE, correctness), len(_SCALE) - 1)
    (low, high), (least, most) = _SCALE[place - 1 : place + 1], _SIMILARITIES[place - 1 : place + 1]
    return least + (most - least) * (correctness - low) / (high - low)


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    total = sum(weights)
    return (
        sum(value * weight for value, weight in zip(values, weights, strict=True)) / total if total else 0.0
    )


class _Asked:
    """The words of a question, and whether it asks for something that is not the case."""

    def __init__(self, question: str) -> None:
        self.keys = _sentence(question).keys
        self.denies = _DENIAL.search(_even(question)) is not None

    def weights(self, words: Sequence[_Word]) -> list[float]:
        """Return what each word counts; where all of them are asked about, as much as any."""
        weights = [_ASKED if word.key in self.keys else 1.0 for word in words]
        return weights if 1.0 in weights else [1.0] * len(words)


_asked = cache_texts(_KEPT)(_Asked)


class _Told:
    """The words of an answer, to be looked up."""

    def __init__(self, sentences: Sequence[_Sentence], asked: _Asked, *, is_one: bool) -> None:
        self._sentences, self._asked = sentences, asked
        # In a long text a denial is about anything: of one claim alone it can be told what it denies.
        self._is_strict = is_one and not asked.denies
        by_key: dict[str, list[_Word]] = {}
        for sentence in sentences:
            for word in sentence.words:
                by_key.setdefault(word.key, []).append(word)
        self._by_key = by_key
        self._amounts = {amount for sentence in sentences for amount in sentence.amounts}

    @cached_property
    def _near(self) -> frozenset[str]:
        """Return the shared forms of near spellings of the words."""
        return _NONE.union(*map(_shortened, self._by_key))

    def hits(self, words: Sequence[_Word]) -> list[float]:
        """Return how far the answer says each word; what a number counts, only with the number."""
        found: list[float] = []
        for word in words:
            if word.amount is not None and word.amount in self._amounts:
                hit = 1.0
            elif said := self._by_key.get(word.key, ()):
                hit = float(any(self._is_same(word, each) for each in said[:_MOST_SAID]))
            else:
                may_be_near = len(word.key) >= _SHORTEST_NEAR and not word.amount
                hit = _NEAR if may_be_near and not self._near.isdisjoint(_shortened(word.key)) else 0.0
            found.append(min(hit, found[-1]) if word.is_bound and found and not found[-1] else hit)
        return found

    def _is_same(self, word: _Word, said: _Word) -> bool:
        if word.amount and said.amount:  # which are not equal: 30 days, 30 hours
            return False
        return word.is_denied == said.is_denied or not self._is_strict

    def denies(self, wanted: _Sentence) -> bool:
        """Return True if one sentence has "without X" where the other has X."""
        return self._is_strict and any(
            (each.without ^ wanted.without) & each.keys & wanted.keys for each in self._sentences
        )


def _precision(
    said: Sequence[_Sentence], wanted: Sequence[_Sentence], asked: _Asked
) -> tuple[tuple[float, ...], int, int]:
    """Return what share of each claim is right, and how many words of all of them are right and are not."""
    told = _Told(wanted, asked, is_one=len(wanted) == 1)
    right: set[str] = set()
    extra: set[str] = set()
    agreed = []
    for sentence in said:
        words = [word for word in sentence.words if word[0] not in asked.keys]
        hits = told.hits(words)
        for word, hit in zip(words, hits, strict=True):
            (right if hit else extra).add(word[0])
        agreed.append(sum(hits) / len(hits) if hits else 1.0)
    return tuple(agreed), len(right), len(extra - right)


@lru_cache(maxsize=1 << 14)
def _shortened(word: str) -> frozenset[str]:
    """Return a word and what is left of it without a letter, each after its first: near spellings share that.

    Words that share one of these are a letter apart: put in, left out, changed, or swapped with the next.
    Short words and numbers have no near spellings, nor has what is too long for a word.
    """
    if not _SHORTEST_NEAR - 1 <= len(word) <= _LONGEST_NEAR + 1 or not word.isalpha():
        return _NONE
    first = word[0]
    return frozenset(
        (first + word, *(first + word[:place] + word[place + 1 :] for place in range(len(word))))
    )


# Reading a sentence.


@cache_texts(_KEPT)
def _sentence(text: str) -> _Sentence:
    even = _even(text)
    tokens = _tokens(even)
    words = tuple(_words(tokens))
    amounts = tuple([word[1] for word in words if word[1]])
    keys = [word[0] for word in words]
    beside = zip(words, ["", "", *keys], ["", *keys], [*keys[1:], ""], strict=False)
    placed = tuple([(word, (word.kind, *near)) for word, *near in beside if word.kind])
    without = _NONE.union(*([token[1] for token in _tokens(part)] for part in _WITHOUT.findall(even)))
    return _Sentence(words, frozenset(keys), amounts, placed, without)


def _may_have(even: str, cues: Iterable[str]) -> bool:
    """Return True if a text may match: it has one of the cues, or is not ASCII."""
    return not even.isascii() or any(cue in even for cue in cues)


def _even(text: str) -> str:
    """Return a text without accents, its numbers and dates written in one way."""
    small = text.lower()
    for cue, pattern, value in _FRACTIONS:
        if cue in small:
            text = pattern.sub(value, text)
    if not text.isascii():
        text = normalize("NFC", _ACCENTS.sub("", normalize("NFD", text)))
    even = even_text(text).replace("&", " and ")
    for cue, pattern, written in _REWRITTEN:
        if cue in even:
            even = pattern.sub(written, even)
    return even if even.isascii() else _DIGIT.sub(lambda found: str(CHINESE_DIGITS[found[0]]), even)


class _Token(NamedTuple):
    kind: Literal["word", "figure", "joining"]
    key: str
    is_denied: bool
    unit: str = ""


def _tokens(even: str) -> list[_Token]:
    """Return the words, figures and what joins them; what is denied is, up to the end of its clause."""
    denials = [each.start() for each in _DENIAL.finditer(even)] if _may_have(even, _DENIAL_CUES) else []
    pieces = even.split()
    is_plain = not denials and even.isascii() and " %" not in even
    if is_plain and max(map(len, pieces), default=0) <= _LONGEST_KEPT:
        return list(chain.from_iterable(map(_tokens_of_piece, pieces)))
    found = list(_TOKEN.finditer(even))
    ends = [each.start() for each in found if each.lastgroup == "end"] if denials else []
    denied = {bisect(ends, place) for place in denials}
    return [token for each in found for token in _read(each, bisect(ends, each.start()) in denied)]


@lru_cache(maxsize=1 << 14)
def _tokens_of_piece(piece: str) -> Sequence[_Token]:
    """Return those of what stands between spaces: the same pieces come again and again."""
    return [token for each in _TOKEN.finditer(piece) for token in _read(each, False)]


def _read(found: re.Match[str], is_denied: bool) -> Iterable[_Token]:
    kind = found.lastgroup
    if kind is None:
        return (_word_token(found[0], is_denied),)
    if kind == "han":
        return _han_tokens(found[0], is_denied)
    if kind == "end":
        return ()
    return (_Token("figure", found["figure"], is_denied, "%" if kind == "percent" else ""),)


@lru_cache(maxsize=1 << 14)
def _word_token(word: str, is_denied: bool) -> _Token:
    bare = word.removesuffix("'s").removesuffix("n't").replace("'", "")
    if bare in _PLAIN_NUMBERS:
        return _Token("figure", _PLAIN_NUMBERS[bare], is_denied)
    return _Token(
        "joining" if bare in _JOINING else "word", stem(bare) if bare.isascii() else bare, is_denied
    )


def _han_tokens(run: str, is_denied: bool) -> Iterator[_Token]:
    start = 0
    for found in (*_HAN_PART.finditer(run), None):
        part = run[start : found.start()] if found else run[start:]
        length = min(len(part), 2)
        for place in range(len(part) + 1 - length if length else 0):
            yield _Token("word", part[place : place + length], is_denied)
        if found:
            start = found.end()
            yield _Token("joining", found[0], is_denied)


def _words(tokens: Sequence[_Token]) -> Iterator[_Word]:
    """Yield figures with their units, and the words that do not only join others."""
    kept = [token.kind in ("word", "figure") for token in tokens]
    if not any(kept):
        kept = [True] * len(tokens)
    place = 0
    while place < len(tokens):
        token = tokens[place]
        if kept[place]:
            if token.kind == "figure":
                amount, used = _amount(tokens, place)
                kind = _kind_of_figure(tokens, place, used, amount)
                yield _Word(token.key, amount, False, token.is_denied, kind)
                place += used
                continue
            is_bound = place > 0 and tokens[place - 1].kind == "figure"
            yield _Word(token.key, None, is_bound, token.is_denied, _DATES.get(token.key, ""))
        place += 1


def _kind_of_figure(tokens: Sequence[_Token], place: int, used: int, amount: tuple[str, float] | None) -> str:
    key, after = tokens[place].key, tokens[place + used : place + used + 1]
    if ":" in key:
        return "clock"
    if place and tokens[place - 1].key.endswith("周"):
        return "weekdays"
    if _YEAR.fullmatch(key) and (amount is None or amount[0] == "months"):
        return "year"
    if amount is not None:
        return "time" if amount[0] == "months" else amount[0]
    return "#" + "".join(token.key for token in after if token.kind == "word")


def _amount(tokens: Sequence[_Token], place: int) -> tuple[tuple[str, float] | None, int]:
    """Return what a figure measures, with smaller units of it that follow, and how many tokens tell it."""
    total, measure, smallest, end = 0.0, "", 0.0, place
    while end < len(tokens) and tokens[end].kind == "figure":
        unit, used = _unit(tokens, end)
        if unit is None or (measure and (unit[0] != measure or unit[1] >= smallest)):
            break
        measure, smallest = unit
        total += smallest * float(tokens[end].key)
        end += used
        if end + 1 < len(tokens) and tokens[end].key == "and" and tokens[end + 1].kind == "figure":
            end += 1
    if not measure:
        return None, 1
    return (measure, round(total, 6)), end - place


def _unit(tokens: Sequence[_Token], place: int) -> tuple[tuple[str, float] | None, int]:
    token = tokens[place]
    if ":" in token.key or token.key.count(".") > 1:  # a time, a telephone number
        return None, 1
    if token.unit:
        return _UNITS[token.unit], 1
    following = tokens[place + 1].key if place + 1 < len(tokens) else ""
    return (_UNITS[following], 2) if following in _UNITS else (None, 1)
