"""What a claim shares with its evidence and adds to it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from typing import NamedTuple

from rag_evaluation_framework.judging.structured_evidence import Fact, decoded, facts_of, is_structured
from rag_evaluation_framework.records.scores import Evidence
from rag_evaluation_framework.text.normalisation import comparable
from rag_evaluation_framework.text.numbers import Quantity, quantities
from rag_evaluation_framework.text.scripts import HAN_CHARACTER
from rag_evaluation_framework.text.sentences import sentence_spans
from rag_evaluation_framework.text.tokens import (
    Token,
    Words,
    content_keys,
    content_tokens,
    forms_of,
    keys_of,
    without_junctures,
    words_in,
    words_of_parts,
)
from rag_evaluation_framework.text.vocabulary import DENIAL

# Which units of the evidence have a key: the bits of a number, so that units are compared all at
# once.

# Units of one block have their bits in one number. Of a long text there are several blocks, for the numbers
# of all its keys together would grow with the square of its length.
_BLOCK = 256
_ENOUGH_PAIRED = 16

Block = Mapping[str, int]


def key_blocks(units: Iterable[Iterable[Words]]) -> tuple[Block, ...]:
    """Return the places of the keys of a text from the words of its units, in reading order.

    >>> from rag_evaluation_framework.text.tokens import words_in
    >>> key_blocks([words_in("Rome is old."), words_in("Rome has a port.")])
    ({'rome': 3, 'old': 1, 'port': 2},)
    """
    blocks: list[dict[str, int]] = []
    for number, words in enumerate(units):
        place = number % _BLOCK
        if place == 0:
            block: dict[str, int] = {}
            blocks.append(block)
        bit = 1 << place
        for word in words:
            for key in word.keys:
                if key in block:
                    block[key] |= bit
                else:
                    block[key] = bit
    return tuple(blocks)


class KeyPlaces(dict[str, int]):
    """The places of keys in several texts, whose units are counted on; 0 for a key that stands nowhere.

    Of each text the number of its units is given, and its blocks. They are put together for a key when it is
    first asked for.
    """

    def __init__(self, texts: Iterable[tuple[int, Sequence[Block]]]) -> None:
        self._firsts = [0]
        self._blocks: list[tuple[int, Block]] = []
        for count, blocks in texts:
            first = self._firsts[-1]
            self._blocks += [(first + number * _BLOCK, block) for number, block in enumerate(blocks)]
            self._firsts.append(first + count)

    def __missing__(self, key: str) -> int:
        places = 0
        for first, block in self._blocks:
            if key in block:
                places |= block[key] << first
        self[key] = places
        return places

    def with_most(self, keys: Collection[str]) -> tuple[int, list[tuple[int, int]]]:
        """Return how many of the keys two units have together at most, and the units with most alone.

        What both units have counts once. A unit is told by the number of its text, and by its own in that;
        there is none where no key stands anywhere.
        """
        digits = self._counts(keys)
        count, units = _highest(digits)
        closest = [self._unit(place) for place in _bits(units)]
        return self._most_of_two(keys, digits, count, units), closest

    def _most_of_two(self, keys: Collection[str], digits: Sequence[int], count: int, units: int) -> int:
        """Look for two units with most together: for the one with more, from the highest count down.

        Where very many units have different keys, those that are far behind are not looked at.
        """
        found = sum([self[key] > 0 for key in keys])
        most, left, looked_at = count, -1, 0
        # Of two units with more than was found, the one with more has this count or less.
        while most < min(found, 2 * count) and looked_at < _ENOUGH_PAIRED:
            left &= ~units
            for alike in self._alike(units, keys):
                looked_at += 1
                others = [key for key in keys if not self[key] & alike]
                most = max(most, count + _highest(self._counts(others))[0])
            count, units = _highest(digits, left)
        return most

    def _alike(self, units: int, keys: Iterable[str]) -> Iterator[int]:
        """Yield the units in groups that have the same of the keys."""
        while units:
            alike, first = units, units & -units
            for key in keys:
                alike &= self[key] if self[key] & first else ~self[key]
            yield alike
            units ^= alike

    def _counts(self, keys: Iterable[str]) -> list[int]:
        """Return how many keys every unit has, in binary: the lowest digits of all of them first."""
        digits = [0]
        for key in keys:
            carried, power = self[key], 0
            while carried:
                if power == len(digits):
                    digits.append(0)
                digits[power], carried = digits[power] ^ carried, digits[power] & carried
                power += 1
        return digits

    def count(self, unit: tuple[int, int], keys: Iterable[str]) -> int:
        """Return how many of the keys a unit has."""
        text, number = unit
        place = self._firsts[text] + number
        return sum([self[key] >> place & 1 for key in keys])

    def _unit(self, place: int) -> tuple[int, int]:
        text = bisect_right(self._firsts, place) - 1
        return text, place - self._firsts[text]


def _bits(number: int) -> Iterator[int]:
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest


def _highest(digits: Sequence[int], units: int = -1) -> tuple[int, int]:
    """Return the highest count that any of the units has, and those that have it, unless it is 0."""
    count = 0
    for power in reversed(range(len(digits))):
        if units & digits[power]:
            units &= digits[power]
            count += 1 << power
    return count, units if count else 0


# Evidence made ready for comparison, once a text: its sentences, or facts, as sets of keys and
# numbers.

Number = tuple[str, float]
"""Whether it is a time of day, and the value; a percentage may meet a plain number."""

Unit = tuple[int, int]
"""Start and end of a sentence or a fact in its text."""

Piece = tuple[int, int, str, str]
"""Start and end of a fact, the words of the keys around it, and what it says."""

_KEPT_TEXTS = 256


class Record(NamedTuple):
    """What a record names and does not grant, in keys."""

    denied: frozenset[str]
    """Of all that it denies: no support for saying it, but for denying it."""
    withheld: frozenset[frozenset[str]]
    """Of each thing that it denies or leaves open."""


class EvidenceText(NamedTuple):
    """One evidence text."""

    text: str
    units: tuple[Unit, ...]
    blocks: tuple[Block, ...]
    """Which units have a key."""
    forms: frozenset[str]
    numbers: frozenset[Number]
    record: Record | None


@lru_cache(maxsize=_KEPT_TEXTS)
def evidence_text(text: str) -> EvidenceText:
    """Prepare a text; the latest few hundred are kept, for contexts are asked about again and again."""
    facts = facts_of(text) if is_structured(text) else None
    if facts:
        return _of_record(text, facts)
    units = tuple(sentence_spans(text)) if facts is None else ()
    words = words_of_parts(text, units)
    forms = frozenset(forms_of(chain.from_iterable(words)))
    blocks = key_blocks(words)
    return EvidenceText(text, units, blocks, forms, number_set(text, forms), None)


def _of_record(text: str, facts: Sequence[Fact]) -> EvidenceText:
    pieces = list(_fact_pieces(facts))
    words = [words_in(said) + words_in(around) for _, _, around, said in pieces]
    forms = frozenset(forms_of(chain.from_iterable(words)))
    blocks = key_blocks(words)
    numbers = frozenset[Number]().union(*(number_set(said) for _, _, _, said in pieces))
    units = tuple((start, end) for start, end, _, _ in pieces)
    return EvidenceText(text, units, blocks, forms, numbers, _withheld(facts))


def _withheld(facts: Iterable[Fact]) -> Record:
    """Return what a record withholds; the words of a key may be written as one: *wi fi*, *WiFi*."""
    withheld = {
        fact: [frozenset(content_keys(joint.join(fact.key))) for joint in (" ", "")]
        for fact in facts
        if fact.meaning in ("no", "nothing")
    }
    denied = [keys for fact, matters in withheld.items() if fact.meaning == "no" for keys in matters]
    matters = frozenset(chain.from_iterable(withheld.values()))
    return Record(frozenset(chain.from_iterable(denied)), matters - {frozenset()})


def number_set(text: str, forms: Iterable[str] | None = None) -> frozenset[Number]:
    """Return the numbers of a text, every reading of each; ``forms`` are its words, where they are known."""
    return frozenset([number for quantity in quantities(text, forms) for number in readings(quantity)])


def readings(quantity: Quantity) -> list[Number]:
    """Return what a number may be compared as."""
    found = [_number(quantity.kind, value) for value in quantity.values]
    return [*found, _number(*quantity.also)] if quantity.also else found


def _number(kind: str, value: float) -> Number:
    return ("time" if kind == "time" else "", value)


def _fact_pieces(facts: Sequence[Fact]) -> Iterator[Piece]:
    """Yield what a record says. What it leaves empty says nothing; what it denies is no support for it."""
    for fact in facts:
        around = " ".join((*fact.around, *fact.key))
        if fact.meaning == "yes":
            yield fact.start, fact.end, around, ""
        elif fact.meaning == "text":
            value, places = decoded(fact.value)
            spans = sentence_spans(value)
            if len(spans) <= 1:
                yield fact.start, fact.end, around, value
                continue
            for start, end in spans:
                first, last = (start, end) if places is None else (places[start], places[end])
                yield fact.value_start + first, fact.value_start + last, around, value[start:end]


# What a claim shares with the evidence and what it adds: the features of lexical support.

HeldUnit = tuple[int, int]
"""The number of an evidence text, and that of one of its units."""

_NONE: frozenset[str] = frozenset()
_MARKS = re.compile(r"[\W_]+")
_DIGIT = re.compile(r"\d")
# An answer's claims and its question are held against several bodies of evidence, one after the other.
_KEPT_CLAIMS, _KEPT_QUESTIONS = 256, 16


class ClaimFeatures(NamedTuple):
    """A claim beside the evidence. Positions are those of the claim's text."""

    keys: Sequence[str]
    """What the claim says, in reading order."""
    new: Sequence[Token]
    """Tokens that stand neither in the evidence nor in the question."""
    new_names: int
    """How many of the new tokens are written with a capital inside the claim."""
    words: int
    """How many words there are, with those of grammar; in Chinese, twice the pairs of characters."""
    new_forms: int
    """How many of these do not stand in the evidence in this very form."""
    numbers: Sequence[Quantity]
    new_numbers: Sequence[Quantity]
    has_new_figure: bool
    """Whether one of these is written in digits; *two of them* may have been counted."""
    pairs: int
    parted_pairs: int
    """How many neighbouring tokens no unit of the evidence has together."""
    closest: HeldUnit | None
    """The unit of evidence with most of what the question does not have."""
    covered: float
    """The share of the claim's different keys in the question or in the two units with most together.

    Of a claim that is nothing but numbers, the share of these that the evidence has; of one without either,
    such as the letter of a choice, 1 where the evidence has its very words.
    """
    is_of_record: bool
    """Whether a unit as close is of a record, or all of them are: a sentence joins what many facts say."""
    is_withheld: bool
    """Whether it says something that a record denies or leaves open."""


@lru_cache(maxsize=_KEPT_CLAIMS)
def _claim_words(claim: str) -> tuple[Sequence[str], Sequence[str], Sequence[Quantity]]:
    """Return the keys, the forms and the numbers of a claim, in reading order."""
    words = words_in(claim)
    forms = tuple(forms_of(words))
    numbers = tuple([quantity for quantity in quantities(claim, forms) if not quantity.is_vague])
    return tuple(keys_of(words)), forms, numbers


class _Asked(NamedTuple):
    """What a question says."""

    keys: frozenset[str] = _NONE
    forms: frozenset[str] = _NONE
    numbers: frozenset[Number] = frozenset()


_NOTHING_ASKED = _Asked()


@lru_cache(maxsize=_KEPT_QUESTIONS)
def _asked(question: str) -> _Asked:
    words = words_in(question)
    return _Asked(frozenset(keys_of(words)), frozenset(forms_of(words)), number_set(question))


class EvidenceBody:
    """The evidence texts of one answer taken together, with the words of the question.

    What was asked counts as given, but only where a claim adds something that the evidence has: a claim that
    says no more than the question did, or that adds what is nowhere, has nothing from the evidence.
    """

    def __init__(self, texts: Sequence[EvidenceText], question: str = "") -> None:
        self.texts = texts
        self._question = _asked(question)
        self._records = [text.record for text in texts if text.record is not None]
        self._denied = _NONE.union(*(record.denied for record in self._records))
        self._forms = _NONE.union(*(text.forms for text in texts))
        self._numbers = frozenset[Number]().union(*(text.numbers for text in texts))
        self._places = KeyPlaces((len(text.units), text.blocks) for text in texts)
        # Where every word of a matter stands somewhere else in the evidence, a claim may be speaking of that.
        self._withheld = [
            matter
            for record in self._records
            for matter in record.withheld
            if not all(self._places[key] for key in matter)
        ]

    def features(self, claim: str) -> ClaimFeatures:
        """Compare one claim with the evidence."""
        denied = self._denied if self._denied and DENIAL.search(claim) else _NONE
        places = self._places
        keys, forms, numbers = _claim_words(claim)
        asked = self._question if self._has_news(keys, numbers) else _NOTHING_ASKED
        given = asked.keys | denied
        tokens: Sequence[Token] = ()
        if not claim.isascii():
            known = {key for key in keys if places[key] or key in given}
            tokens = without_junctures(content_tokens(claim), known)
            keys = [token.text for token in tokens]
        distinct = frozenset(keys)
        held = [places[key] for key in keys]
        unknown = {key for key, units in zip(keys, held, strict=True) if not units and key not in given}
        new: Sequence[Token] = ()
        if unknown:
            new = [each for each in tokens if each.text in unknown] or content_tokens(claim, unknown)
        new_numbers = [
            each
            for each in numbers
            if self._numbers.isdisjoint(readings(each)) and asked.numbers.isdisjoint(readings(each))
        ]
        chinese = [token.text for token in tokens if HAN_CHARACTER.match(token.text)]
        if distinct:
            closest, covered = self._coverage(distinct, given)
        elif numbers:
            closest, covered = [], 1.0 - len(new_numbers) / len(numbers)
        else:
            closest, covered = [], float(self._has_words(claim, forms))
        return ClaimFeatures(
            keys=keys,
            new=new,
            new_names=sum([token.start > 0 and claim[token.start].isupper() for token in new]),
            words=len(forms) + 2 * len(chinese),
            new_forms=sum([form not in self._forms and form not in asked.forms for form in forms])
            + sum([key in unknown for key in chinese]),
            numbers=numbers,
            new_numbers=new_numbers,
            has_new_figure=any(_DIGIT.search(claim, each.start, each.end) for each in new_numbers),
            pairs=max(len(keys) - 1, 0),
            parted_pairs=sum([not one & other for one, other in pairwise(held)]),
            closest=min(closest, key=self._order) if len(closest) > 1 else next(iter(closest), None),
            covered=covered,
            is_of_record=self._is_of_record(closest),
            is_withheld=bool(self._withheld) and self._is_withheld(claim, distinct),
        )

    def _coverage(self, keys: frozenset[str], given: frozenset[str]) -> tuple[list[HeldUnit], float]:
        """Return the units closest to the keys, and what share two units have with what is given."""
        sought = keys - given
        of_two, closest = self._places.with_most(sought or keys)
        return closest, 1.0 - (len(sought) - of_two) / len(keys) if sought else 1.0

    def _is_of_record(self, closest: Sequence[HeldUnit]) -> bool:
        if not closest:
            return len(self._records) == len(self.texts) > 0
        return bool(self._records) and any(self.texts[number].record for number, _ in closest)

    def _is_withheld(self, claim: str, keys: frozenset[str]) -> bool:
        """Tell whether a claim that denies nothing has all words of something that a record withholds."""
        return any(matter <= keys for matter in self._withheld) and not DENIAL.search(claim)

    def _has_news(self, keys: Iterable[str], numbers: Iterable[Quantity]) -> bool:
        """Tell whether the evidence has something of a claim that the question does not have."""
        asked = self._question
        if any(self._places[key] for key in keys if key not in asked.keys):
            return True
        told = (frozenset(readings(each)) - asked.numbers for each in numbers)
        return any(not self._numbers.isdisjoint(each) for each in told)

    def _has_words(self, claim: str, forms: Sequence[str]) -> bool:
        """Tell whether the evidence has the very words of a claim, or the characters of one without words."""
        if forms:
            return self._forms.issuperset(forms)
        said = _MARKS.sub("", comparable(claim))
        return any(said in comparable(text.text) for text in self.texts)

    def evidence(self, unit: HeldUnit) -> Evidence:
        """Return a unit as it is written."""
        number, place = unit
        text = self.texts[number]
        start, end = text.units[place]
        return Evidence(number, start, end, text.text[start:end])

    def _order(self, unit: HeldUnit) -> tuple[int, int, str, int]:
        """Units with more of the question come first, then shorter ones, then the text decides.

        So the order of the contexts does not.
        """
        number, place = unit
        text = self.texts[number]
        start, end = text.units[place]
        return -self._places.count(unit, self._question.keys), end - start, text.text[start:end], number
