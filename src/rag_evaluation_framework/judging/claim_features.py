"""What a claim shares with its evidence and adds to it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from functools import cached_property, lru_cache
from itertools import chain
from operator import and_
from typing import NamedTuple

from rag_evaluation_framework.judging.key_places import KeyPlaces
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

# Evidence made ready for comparison, once a text: its sentences, or facts, as sets of keys and numbers.

Number = tuple[str, float]
"""Whether it is a time of day, and the value; a percentage may meet a plain number."""

Unit = tuple[int, int]
"""Start and end of a sentence or a fact in its text."""

Piece = tuple[int, int, str, str]
"""Start and end of a fact, the words of the keys around it, and what it says."""

# Chunks come again with other questions; of longer texts (14 bytes a character), only the latest are kept.
_CHUNK, _KEPT_CHUNKS, _KEPT_TEXTS = 2_000, 2_048, 64


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


def evidence_text(text: str) -> EvidenceText:
    """Prepare a text; the latest are kept, for contexts are asked about again and again."""
    return _chunk(text) if len(text) <= _CHUNK else _long_text(text)


def _prepared(text: str) -> EvidenceText:
    has_marks = ":" in text or "[" in text or "{" in text  # as every record has
    facts = facts_of(text) if has_marks and is_structured(text) else None
    if facts:
        return _of_record(text, facts)
    units = kept_sentence_spans(text) if facts is None else []
    return EvidenceText(text, units, words_of_parts(text, units))


_chunk, _long_text = lru_cache(maxsize=_KEPT_CHUNKS)(_prepared), lru_cache(maxsize=_KEPT_TEXTS)(_prepared)


def _of_record(text: str, facts: Sequence[Fact]) -> EvidenceText:
    pieces = list(_fact_pieces(facts))
    return EvidenceText(
        text,
        [(start, end) for start, end, _, _ in pieces],
        [(*words_in(said), *words_in(around)) for _, _, around, said in pieces],
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


def number_set(text: str, forms: Collection[str] | None = None) -> frozenset[Number]:
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


def claim_tokens_beside(known: Set[str], claim: str) -> list[Token]:
    """Return the content tokens of a claim whose keys are not known."""
    new = _said(claim).distinct - known
    return tokens_with(new, claim) if new else []


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

    def features(self, claim: str) -> ClaimFeatures:
        """Compare one claim with the evidence, once."""
        found = self._found.get(claim)
        if found is None:
            found = self._found[claim] = self._features(claim)
        return found

    def least_lacking(self, claim: str) -> tuple[float, float, float, int] | None:
        """Return what lacks at least, at a fraction of the cost of features, and how many keys there are.

        These are the shares of forms, of pairs and of keys. ``None`` where features are known already, or
        are no more than that: of records, of Chinese.
        """
        said = _said(claim)
        if self._records or said.has_han or not said.distinct or claim in self._found:
            return None
        held = list(map(self._places.__getitem__, said.keys))
        parted = list(map(and_, held, held[1:])).count(0)
        unknown = 0
        if 0 in held:
            unknown = list(map(self._places.__getitem__, said.distinct - self._question.keys)).count(0)
        new_forms = len(self._new_forms(said, self._question))
        keys = len(held)
        return new_forms / (len(said.forms) + 3), parted / (keys + 1), unknown / len(said.distinct), keys

    def features_at_worst(self, claim: str) -> ClaimFeatures:
        """Return features in which nothing lacks less than it does, where :meth:`least_lacking` is known.

        One unit stands for the two with most together, and every new word for a name.
        """
        said, places = _said(claim), self._places
        keys, forms, numbers = said.keys, said.forms, said.numbers
        asked = self._question if self._has_news(said) else _NOTHING_ASKED
        held = list(map(places.__getitem__, keys))
        sought = said.distinct - asked.keys
        names = sum([key in sought and not places[key] for key in keys]) if 0 in held else 0
        new_forms = self._new_forms(said, asked)
        new = self._new_numbers(said, asked) if numbers else ()
        alone = places.most_alone(sought) if sought else 0
        return ClaimFeatures(
            keys,
            (),
            names,
            len(forms),
            sum(map(forms.count, new_forms)) if new_forms else 0,
            numbers,
            new,
            has_new_figure=bool(new) and any(_DIGIT.search(claim, each.start, each.end) for each in new),
            pairs=len(held) - 1,
            parted_pairs=list(map(and_, held, held[1:])).count(0),
            closest=None,
            covered=1.0 - (len(sought) - alone) / len(said.distinct),
            is_of_record=False,
            is_withheld=False,
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
