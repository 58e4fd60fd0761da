"""What a claim shares with its evidence and adds to it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from operator import and_
from typing import NamedTuple

from rag_evaluation_framework.judging.structured_evidence import Fact, decoded, facts_of, is_structured
from rag_evaluation_framework.records.scores import Evidence
from rag_evaluation_framework.text.normalisation import comparable
from rag_evaluation_framework.text.numbers import Quantity, quantities
from rag_evaluation_framework.text.scripts import HAN_CHARACTER
from rag_evaluation_framework.text.sentences import kept_sentence_spans, sentence_spans
from rag_evaluation_framework.text.tokens import (
    Token,
    Words,
    content_keys,
    content_tokens,
    forms_of,
    keys_of,
    tokens_with,
    without_junctures,
    words_in,
    words_of_parts,
)
from rag_evaluation_framework.text.vocabulary import DENIAL

# Which units of the evidence have a key: the bytes of a number, so that units are compared all at once. The
# sum of such numbers has in each byte how many of the keys that unit has.

# Units of one block are found in one small number: to change the numbers of a long text for each of its units
# would take time that grows with the square of its length.
_BLOCK = 32
_ENOUGH_PAIRED = 16
_MOST_SUMMED = 255  # how many keys a byte counts


class KeyPlaces(dict[str, int]):
    """The places of keys in several texts, whose units are counted on; 0 for a key that stands nowhere.

    Of each text the keys of its units are given. Those that are asked for are looked for together.

    >>> places = KeyPlaces([[frozenset({"rome", "old"}), frozenset({"rome", "port"})]])
    >>> [places[key] for key in ("rome", "old", "port", "ship")]
    [257, 1, 256, 0]
    """

    def __init__(self, texts: Iterable[Sequence[frozenset[str]]]) -> None:
        self.firsts = [0]
        """The place of the first unit of each text, and how many there are."""
        self._units: list[frozenset[str]] = []
        for units in texts:
            self._units += units
            self.firsts.append(len(self._units))
        self._most: dict[frozenset[str], tuple[int, int]] = {}

    def __missing__(self, key: str) -> int:
        self.look_up({key})
        return self[key]

    def look_up(self, keys: Iterable[str]) -> None:
        """Find the places of keys, as those of all claims of an answer."""
        sought = {key for key in keys if key not in self}
        if not sought:
            return
        self.update(dict.fromkeys(sought, 0))
        for first in range(0, len(self._units), _BLOCK):
            found: dict[str, int] = {}
            place = 1
            for unit in self._units[first : first + _BLOCK]:
                for key in sought & unit:
                    found[key] = found.get(key, 0) | place
                place <<= 8
            for key, places in found.items():
                self[key] |= places << 8 * first

    def with_most(self, keys: frozenset[str]) -> tuple[int, int]:
        """Return how many of the keys two units have together at most, and the units with most alone.

        What both units have counts once. There is no unit where no key stands anywhere. Claims of one shape
        have the same keys.
        """
        found = self._most.get(keys)
        if found is None:
            found = self._most[keys] = self._with_most(keys)
        return found

    def _with_most(self, keys: frozenset[str]) -> tuple[int, int]:
        held = list(map(self.__getitem__, keys))
        counts = self.counts(held)
        count = max(counts, default=0)
        if not count:
            return 0, 0
        units = _places(counts, count)
        found = len(held) - held.count(0)
        if count == found:
            return count, units
        return self._most_of_two(held, counts, found), units

    def most_alone(self, keys: frozenset[str]) -> int:
        """Return how many of the keys one unit has at most."""
        return max(self.counts(list(map(self.__getitem__, keys))), default=0)

    def closest(self, keys: frozenset[str]) -> int:
        """Return the units with most of the keys, as :meth:`with_most` does."""
        if keys in self._most:
            return self._most[keys][1]
        counts = self.counts(list(map(self.__getitem__, keys)))
        count = max(counts, default=0)
        return _places(counts, count) if count else 0

    def _most_of_two(self, held: Sequence[int], counts: Sequence[int], found: int) -> int:
        """Look for two units with most together: for the one with more, from the highest count down.

        Where very many units have different keys, those that are far behind are not looked at.
        """
        most = looked_at = 0
        for count in sorted(set(counts), reverse=True):
            most = max(most, count)
            # Of two units with more than was found, the one with more has this count or less.
            highest = min(found, 2 * count)
            if most >= highest or looked_at >= _ENOUGH_PAIRED:
                break
            for alike in _alike(_places(counts, count), held):
                looked_at += 1
                others = [each for each in held if not each & alike]
                most = max(most, count + max(self.counts(others)))
                if most >= highest:
                    break
        return most

    def counts(self, held: Sequence[int]) -> Sequence[int]:
        """Return how many of some keys every unit has, by the places of each."""
        size = self.firsts[-1]
        if len(held) <= _MOST_SUMMED:
            return sum(held).to_bytes(size, "little")
        parts = [held[first : first + _MOST_SUMMED] for first in range(0, len(held), _MOST_SUMMED)]
        return list(map(sum, zip(*map(self.counts, parts), strict=True)))

    def units(self, places: int) -> list[tuple[int, int]]:
        """Return the units at some places, each by the number of its text and its own in that."""
        flags = places.to_bytes(self.firsts[-1], "little")
        return [self.unit(place) for place, is_there in enumerate(flags) if is_there]

    def unit(self, place: int) -> tuple[int, int]:
        """Return the unit at a place."""
        text = bisect_right(self.firsts, place) - 1
        return text, place - self.firsts[text]


def _places(counts: Sequence[int], count: int) -> int:
    """Return the places of the units that have so many."""
    if isinstance(counts, bytes):
        return int.from_bytes(counts.translate(_ONLY[count]), "little")
    return int.from_bytes(bytes([each == count for each in counts]), "little")


# By a count: every byte that is this count becomes 1, and every other 0.
_ONLY = [bytes(count) + b"\1" + bytes(255 - count) for count in range(_MOST_SUMMED + 1)]


def _alike(units: int, held: Sequence[int]) -> Iterator[int]:
    """Yield the units in groups that have the same keys."""
    if not units & (units - 1):  # one alone, as most often
        yield units
        return
    while units:
        alike, first = units, units & -units
        for each in held:
            alike &= each if each & first else ~each
        yield alike
        units ^= alike


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


class EvidenceText:
    """One evidence text: its units, the keys of each, the forms of all its words."""

    __slots__ = ("_numbers", "_numbers_in", "forms", "keys", "record", "text", "units")

    def __init__(
        self,
        text: str,
        units: Sequence[Unit],
        words: Sequence[Sequence[Words]],
        *,
        numbers_in: Sequence[str] | None = None,
        record: Record | None = None,
    ) -> None:
        self.text, self.units, self.record = text, units, record
        self.keys = [frozenset(keys_of(each)) for each in words]
        self.forms = frozenset(forms_of(chain.from_iterable(words)))
        self._numbers: frozenset[Number] | None = None
        self._numbers_in = numbers_in

    @property
    def numbers(self) -> frozenset[Number]:
        """Its numbers, which are read where a claim has one."""
        if self._numbers is None:
            if self._numbers_in is None:
                self._numbers = number_set(self.text, self.forms)
            else:
                self._numbers = frozenset[Number]().union(*map(number_set, self._numbers_in))
        return self._numbers


@lru_cache(maxsize=_KEPT_TEXTS)
def evidence_text(text: str) -> EvidenceText:
    """Prepare a text; the latest few hundred are kept, for contexts are asked about again and again."""
    facts = facts_of(text) if is_structured(text) else None
    if facts:
        return _of_record(text, facts)
    units = kept_sentence_spans(text) if facts is None else []
    return EvidenceText(text, units, words_of_parts(text, units))


def _of_record(text: str, facts: Sequence[Fact]) -> EvidenceText:
    pieces = list(_fact_pieces(facts))
    return EvidenceText(
        text,
        [(start, end) for start, end, _, _ in pieces],
        [words_in(said) + words_in(around) for _, _, around, said in pieces],
        numbers_in=[said for _, _, _, said in pieces],
        record=_withheld(facts),
    )


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


class _Said(NamedTuple):
    """What a claim says, in reading order."""

    keys: Sequence[str]
    distinct: frozenset[str]
    forms: Sequence[str]
    distinct_forms: frozenset[str]
    numbers: Sequence[Quantity]
    readings: Sequence[frozenset[Number]]
    """What each of the numbers may be compared as."""
    has_han: bool


@lru_cache(maxsize=_KEPT_CLAIMS)
def _said(claim: str) -> _Said:
    words = words_in(claim)
    forms, keys = tuple(forms_of(words)), tuple(keys_of(words))
    numbers = tuple([quantity for quantity in quantities(claim, forms) if not quantity.is_vague])
    read = [frozenset(readings(each)) for each in numbers]
    has_han = not claim.isascii() and HAN_CHARACTER.search(claim) is not None
    return _Said(keys, frozenset(keys), forms, frozenset(forms), numbers, read, has_han)


claim_tokens = lru_cache(maxsize=_KEPT_CLAIMS)(content_tokens)
"""Returns the content tokens of a claim, which several metrics ask for."""


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
        self._forms = [text.forms for text in texts]
        self._places = KeyPlaces(text.keys for text in texts)
        # Where every word of a matter stands somewhere else in the evidence, a claim may be speaking of that.
        self._withheld = [
            matter
            for record in self._records
            for matter in record.withheld
            if not all(self._places[key] for key in matter)
        ]
        self._closest: dict[int, HeldUnit] = {}
        self._found: dict[str, ClaimFeatures] = {}

    def look_up(self, claims: Iterable[str]) -> None:
        """Find the words of claims that will be compared, all at once."""
        self._places.look_up(chain.from_iterable([_said(claim).distinct for claim in claims]))

    def features(self, claim: str) -> ClaimFeatures:
        """Compare one claim with the evidence, once."""
        found = self._found.get(claim)
        if found is None:
            found = self._found[claim] = self._features(claim)
        return found

    def bounds(self, claim: str) -> Iterator[ClaimFeatures]:
        """Yield features in which nothing lacks more than it does, then such in which nothing lacks less.

        They are found at a fraction of the cost: all units, then one, stand for the two with most together,
        and no new word, then every one, for a name. Both are exact where that is known already, of records,
        and of Chinese.
        """
        said = _said(claim)
        if claim in self._found or self._records or said.has_han or not said.distinct:
            yield self.features(claim)
            yield self.features(claim)
            return
        places, keys, forms = self._places, said.keys, said.forms
        asked = self._question if self._has_news(said) else _NOTHING_ASKED
        held = list(map(places.__getitem__, keys))
        sought, every = said.distinct - asked.keys, len(said.distinct)
        unknown = {key for key in sought if not places[key]} if 0 in held else _NONE
        new_forms = self._new_forms(said, asked)
        parted = list(map(and_, held, held[1:])).count(0)
        lacking = sum(map(forms.count, new_forms)) if new_forms else 0
        pairs, words = len(held) - 1, len(forms)
        least = 1.0 - len(unknown) / every
        yield ClaimFeatures(
            keys, (), 0, words, lacking, (), (), False, pairs, parted, None, least, False, False
        )
        names = sum(map(keys.count, unknown)) if unknown else 0
        numbers = said.numbers
        new = self._new_numbers(said, asked) if numbers else ()
        has_figure = bool(new) and any(_DIGIT.search(claim, each.start, each.end) for each in new)
        alone = places.most_alone(sought) if sought else 0
        most = 1.0 - (len(sought) - alone) / every
        yield ClaimFeatures(
            keys, (), names, words, lacking, numbers, new, has_figure, pairs, parted, None, most, False, False
        )

    def closest(self, claim: str) -> Evidence | None:
        """Return the unit of evidence with most of what the question does not have."""
        found, said = self._found.get(claim), _said(claim)
        if found is None and (self._records or said.has_han):
            found = self.features(claim)
        if found is not None:
            return None if found.closest is None else self.evidence(found.closest)
        asked = self._question if self._has_news(said) else _NOTHING_ASKED
        units = self._places.closest(said.distinct - asked.keys or said.distinct) if said.distinct else 0
        return self.evidence(self._first(units)) if units else None

    def _features(self, claim: str) -> ClaimFeatures:
        said, places = _said(claim), self._places
        keys, distinct, forms, numbers = said.keys, said.distinct, said.forms, said.numbers
        denied = self._denied if self._denied and DENIAL.search(claim) else _NONE
        asked = self._question if self._has_news(said) else _NOTHING_ASKED
        given = asked.keys | denied if denied else asked.keys
        tokens: Sequence[Token] = ()
        chinese: Sequence[str] = ()
        if said.has_han:
            known = {key for key in keys if places[key] or key in given}
            tokens = without_junctures(claim_tokens(claim), known)
            chinese = [token.text for token in tokens if HAN_CHARACTER.match(token.text)]
            keys = [token.text for token in tokens]
            distinct = frozenset(keys)
        held = list(map(places.__getitem__, keys))
        sought = distinct - given
        unknown = {key for key in sought if not places[key]} if 0 in held else _NONE
        new: Sequence[Token] = ()
        if unknown:
            new = [each for each in tokens if each[0] in unknown] if tokens else tokens_with(unknown, claim)
        new_numbers = self._new_numbers(said, asked) if numbers else ()
        closest, covered = 0, 0.0
        if distinct:
            of_two, closest = places.with_most(sought or distinct)
            # What share of the keys two units have, with what is given.
            covered = 1.0 - (len(sought) - of_two) / len(distinct) if sought else 1.0
        elif numbers:
            covered = 1.0 - len(new_numbers) / len(numbers)
        else:
            covered = float(self._has_words(claim, forms))
        new_forms = self._new_forms(said, asked)
        return ClaimFeatures(
            keys,
            new,
            sum([start > 0 and claim[start].isupper() for _, start, _ in new]) if new else 0,
            len(forms) + 2 * len(chinese),
            sum(map(forms.count, new_forms)) + sum([key in unknown for key in chinese]),
            numbers,
            new_numbers,
            has_new_figure=any(_DIGIT.search(claim, each.start, each.end) for each in new_numbers),
            pairs=max(len(keys) - 1, 0),
            parted_pairs=list(map(and_, held, held[1:])).count(0),
            closest=self._first(closest) if closest else None,
            covered=covered,
            is_of_record=bool(self._records) and self._is_of_record(closest),
            is_withheld=bool(self._withheld) and self._is_withheld(claim, distinct),
        )

    def _new_forms(self, said: _Said, asked: _Asked) -> frozenset[str]:
        new = said.distinct_forms - asked.forms
        for forms in self._forms:
            if not new:
                break
            new -= forms
        return new

    def _new_numbers(self, said: _Said, asked: _Asked) -> list[Quantity]:
        return [
            each
            for each, read in zip(said.numbers, said.readings, strict=True)
            if asked.numbers.isdisjoint(read) and not self._has_number(read)
        ]

    def _has_number(self, read: frozenset[Number]) -> bool:
        return any(not text.numbers.isdisjoint(read) for text in self.texts)

    def _is_of_record(self, closest: int) -> bool:
        if not closest:
            return len(self._records) == len(self.texts)
        return any(self.texts[number].record for number, _ in self._places.units(closest))

    def _is_withheld(self, claim: str, keys: frozenset[str]) -> bool:
        """Tell whether a claim that denies nothing has all words of something that a record withholds."""
        return any(matter <= keys for matter in self._withheld) and not DENIAL.search(claim)

    def _has_news(self, said: _Said) -> bool:
        """Tell whether the evidence has something of a claim that the question does not have."""
        places, asked = self._places, self._question
        for key in said.keys:
            if places[key] and key not in asked.keys:
                return True
        return any(self._has_number(read - asked.numbers) for read in said.readings)

    def _has_words(self, claim: str, forms: Sequence[str]) -> bool:
        """Tell whether the evidence has the very words of a claim, or the characters of one without words."""
        if forms:
            return _NONE.union(*self._forms).issuperset(forms)
        said = _MARKS.sub("", comparable(claim))
        return any(said in comparable(text.text) for text in self.texts)

    def evidence(self, unit: HeldUnit) -> Evidence:
        """Return a unit as it is written."""
        number, place = unit
        text = self.texts[number]
        start, end = text.units[place]
        return Evidence(number, start, end, text.text[start:end])

    def _first(self, closest: int) -> HeldUnit:
        """Return the first of several units; sentences of the same shape are as close to many claims."""
        if closest & (closest - 1) == 0:
            return self._places.unit(closest.bit_length() // 8)
        if closest not in self._closest:
            self._closest[closest] = min(self._places.units(closest), key=self._order)
        return self._closest[closest]

    def _order(self, unit: HeldUnit) -> tuple[int, int, str, int]:
        """Units with more of the question come first, then shorter ones, then the text decides.

        So the order of the contexts does not.
        """
        number, place = unit
        text = self.texts[number]
        start, end = text.units[place]
        asked = self._asked_counts[self._places.firsts[number] + place]
        return -asked, end - start, text.text[start:end], number

    @cached_property
    def _asked_counts(self) -> Sequence[int]:
        """How many words of the question each unit has."""
        places = self._places
        return places.counts([places[key] for key in self._question.keys])
