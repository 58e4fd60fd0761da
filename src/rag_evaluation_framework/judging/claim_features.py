"""The features of a claim beside its evidence: its shared and its new words."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import cache, cached_property, lru_cache
from itertools import chain, groupby
from operator import and_
from typing import NamedTuple

from rag_evaluation_framework.judging.claim_edits import NumberPlaces, Side, find_edits, sides_of
from rag_evaluation_framework.judging.key_places import KeyPlaces
from rag_evaluation_framework.judging.structured_evidence import Fact, decoded, facts_of, is_structured
from rag_evaluation_framework.records.scores import Edit, Evidence
from rag_evaluation_framework.text.normalisation import cache_texts, comparable
from rag_evaluation_framework.text.numbers import Number, Quantity, number_set, quantities, readings
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

Unit = tuple[int, int]
"""Start and end of a sentence or a fact in its text."""

Piece = tuple[int, int, str, str]
"""Start and end of a fact, the words of the keys around it, and what it says."""

# Chunks come again with other questions; of longer texts (14 bytes a character), only the latest are kept.
_CHUNK, _KEPT_CHUNKS, _KEPT_TEXTS = 2_000, 2_048, 64


class Record(NamedTuple):
    """The keys that a record has, and those that it denies or leaves open."""

    denied: frozenset[str]
    """Keys of all that it denies: they support a denial of it only."""
    withheld: frozenset[frozenset[str]]
    """Keys of each thing that it denies or leaves open."""


class EvidenceText:
    """One evidence text: its units, the keys of each, the forms of all its words."""

    __slots__ = ("_number_places", "_numbers", "_numbers_in", "forms", "keys", "record", "text", "units")

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
        self._number_places: NumberPlaces | None = None
        self._numbers_in = numbers_in

    @property
    def numbers(self) -> frozenset[Number]:
        """Its numbers, which are read where a claim has one."""
        if self._numbers is None:
            if self._numbers_in is None:
                self._numbers = frozenset(self.number_places.starts)
            else:
                self._numbers = frozenset[Number]().union(*map(number_set, self._numbers_in))
        return self._numbers

    @property
    def number_places(self) -> NumberPlaces:
        """Return the places of its numbers."""
        if self._number_places is None:
            self._number_places = NumberPlaces(self.text, quantities(self.text, self.forms))
        return self._number_places

    def keys_at(self, starts: Iterable[int]) -> Sequence[frozenset[str]]:
        """Return the keys of the units at some places."""
        units = {bisect_right(self.units, (start, len(self.text))) - 1 for start in starts}
        return [self.keys[unit] for unit in units if unit >= 0]


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
# A word with a capital inside a sentence; abbreviations are written in several ways.
_NAME = re.compile(r"[a-z,;] [A-Z][^\W\d_]*[a-z]")
# A copy lacks two of the words with content, or a third of them.
_FEW, _FEW_OF = 2, 3
# A number that stands in more places than these is not told apart by what stands beside it.
_MOST_PLACES = 64
# So many new content words in a row are an addition; in Chinese, overlapping pairs of six characters.
_NEW_WORDS, _NEW_PAIRS = 3, 5
# An answer's claims and its question are held against several bodies of evidence, one after the other.
_KEPT_CLAIMS, _KEPT_QUESTIONS = 256, 16


class ClaimFeatures(NamedTuple):
    """A claim beside the evidence. Positions are those of the claim's text."""

    keys: Sequence[str]
    """Keys of the claim, in reading order."""
    new: Sequence[Token]
    """Tokens that stand neither in the evidence nor in the question."""
    new_names: int
    """Number of new tokens with a capital inside the claim."""
    words: int
    """Number of words, with those of grammar; in Chinese, twice the pairs of characters."""
    new_forms: int
    """Number of these words that are not in the evidence in the same form."""
    numbers: Sequence[Quantity]
    new_numbers: Sequence[Quantity]
    has_addition: bool
    """True if the claim adds a figure, a name or several words in a row, which no length makes up for.

    A figure is written in digits; *two of them* may have been counted. Beside records only figures count,
    for prose says in words what keys say.
    """
    pairs: int
    parted_pairs: int
    """Number of neighboring tokens that no unit of the evidence has together."""
    closest: HeldUnit | None
    """The unit of evidence with most of what the question does not have."""
    covered: float
    """The share of the claim's different keys in the question or in the two units with most together.

    Of a claim that is nothing but numbers, the share of these that the evidence has; of one without either,
    such as the letter of a choice, 1 where the evidence has its very words.
    """
    is_of_record: bool
    """True if a unit as close is of a record, or all are: a sentence may join the facts of several."""
    is_withheld: bool
    """True if the claim states something that a record denies or leaves open."""


class _Said(NamedTuple):
    """The words and numbers of a claim, in reading order."""

    keys: Sequence[str]
    distinct: frozenset[str]
    forms: Sequence[str]
    distinct_forms: frozenset[str]
    numbers: Sequence[Quantity]
    readings: Sequence[frozenset[Number]]
    """The numbers that each number may be compared as."""
    has_han: bool


@cache_texts(_KEPT_CLAIMS)
def _read_claim(claim: str) -> _Said:
    words = words_in(claim)
    forms, keys = tuple(forms_of(words)), tuple(keys_of(words))
    numbers = tuple([quantity for quantity in quantities(claim, forms) if not quantity.is_vague])
    read = [frozenset(readings(each)) for each in numbers]
    has_han = not claim.isascii() and HAN_CHARACTER.search(claim) is not None
    return _Said(keys, frozenset(keys), forms, frozenset(forms), numbers, read, has_han)


claim_tokens = cache_texts(_KEPT_CLAIMS)(content_tokens)
"""Returns the content tokens of a claim, which several metrics ask for."""


def claim_tokens_beside(known: Set[str], claim: str) -> list[Token]:
    """Return the content tokens of a claim whose keys are not known."""
    new = _read_claim(claim).distinct - known
    return tokens_with(new, claim) if new else []


class _Asked(NamedTuple):
    """The words and numbers of a question."""

    keys: frozenset[str] = _NONE
    forms: frozenset[str] = _NONE
    numbers: frozenset[Number] = frozenset()


@lru_cache(maxsize=_KEPT_QUESTIONS)
def _read_question(question: str) -> _Asked:
    words = words_in(question)
    return _Asked(frozenset(keys_of(words)), frozenset(forms_of(words)), number_set(question))


class EvidenceBody:
    """The evidence texts of one answer taken together; the words of the question count as given."""

    def __init__(self, texts: Sequence[EvidenceText], question: str = "") -> None:
        self.texts = texts
        self._question = _read_question(question)
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
        self._edits: dict[str, Sequence[Edit]] = {}

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
        said = _read_claim(claim)
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

    def edits(self, claim: str) -> Sequence[Edit]:
        """Return what a claim changes in the sentence closest to it, if it copies that; records have none."""
        features = self.features(claim)
        if features.closest is None or not self._may_be_copied(claim, features.closest):
            return ()
        if claim not in self._edits:
            new = [(start, end) for _, start, end in features.new]
            new += [(each.start, each.end) for each in features.new_numbers]
            found = find_edits(claim, self.evidence(features.closest).text, new)
            self._edits[claim] = [
                each for each in found if each.kind != "number" or not self._is_said_elsewhere(claim, each)
            ]
        return self._edits[claim]

    def _is_said_elsewhere(self, claim: str, edit: Edit) -> bool:
        """Return True if a number of an edit stands beside the same words somewhere else."""
        said = _read_claim(claim)
        return any(
            not read.isdisjoint(readings(other))
            for number, read in zip(said.numbers, said.readings, strict=True)
            if edit.start < number.end and number.start < edit.end
            for sides in [sides_of(number, claim)]
            for text in self.texts
            if text.record is None
            for other in text.number_places.beside(sides)
        )

    def _may_be_copied(self, claim: str, unit: HeldUnit) -> bool:
        """Return True if claim and sentence share nearly all words of the shorter one."""
        text, said = self.texts[unit[0]], _read_claim(claim).distinct
        keys = text.keys[unit[1]]
        least = min(len(said), len(keys))
        return text.record is None and least - len(said & keys) <= max(_FEW, least / _FEW_OF)

    def numbers_of_others(self, claim: str) -> Iterator[Edit]:
        """Yield the numbers of a claim that the evidence has, but only of something else.

        Beside the same words it has another number, in a sentence with more of what the claim is about.
        """
        said, closest = _read_claim(claim), self.features(claim).closest
        if self._records or closest is None:
            return
        shared_with = cache(lambda keys: len(said.distinct & keys))  # many numbers may stand in one unit
        most = shared_with(self.texts[closest[0]].keys[closest[1]])
        for number, read in zip(said.numbers, said.readings, strict=True):
            own = [(text, text.number_places.starts_of(read)) for text in self.texts]
            if sum(len(starts) for _, starts in own) > _MOST_PLACES:
                continue
            units = chain.from_iterable(text.keys_at(starts) for text, starts in own)
            shared = max(map(shared_with, units), default=0)
            if shared >= most:
                continue
            if other := self._other_number(sides_of(number, claim), read, shared_with, shared):
                yield Edit("number", number.start, number.end, other)

    def _other_number(
        self, sides: Sequence[Side], read: Set[Number], shared_with: Callable[[Set[str]], int], least: int
    ) -> str | None:
        """Return the number that stands beside words, if that is another and its sentence shares more."""
        found = [(text, other) for text in self.texts for other in text.number_places.beside(sides)]
        if any(not read.isdisjoint(readings(other)) for _, other in found):
            return None
        more = [
            text.text[each.start : each.end]
            for text, each in found[:_MOST_PLACES]
            if any(shared_with(keys) > least for keys in text.keys_at([each.start]))
        ]
        return min(more, default=None)

    def closest(self, claim: str) -> Evidence | None:
        """Return the unit of evidence with most of what the question does not have."""
        found, said = self._found.get(claim), _read_claim(claim)
        if found is None and (self._records or said.has_han):
            found = self.features(claim)
        if found is not None:
            return None if found.closest is None else self.evidence(found.closest)
        sought = said.distinct - self._question.keys or said.distinct
        units = self._places.with_most(sought)[1] or self._places.with_most(said.distinct)[1]
        return self.evidence(self._first(units)) if units else None

    def _features(self, claim: str) -> ClaimFeatures:
        said, places = _read_claim(claim), self._places
        keys, distinct, forms, numbers = said.keys, said.distinct, said.forms, said.numbers
        denied = self._denied if self._denied and DENIAL.search(claim) else _NONE
        asked = self._question
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
            closest = closest or places.with_most(distinct)[1]  # all that it adds stands nowhere
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
            sum(map(new_forms.__contains__, forms)) + sum([key in unknown for key in chinese]),
            numbers,
            new_numbers,
            has_addition=any(_DIGIT.search(claim, each.start, each.end) for each in new_numbers)
            or (bool(new) and not self._records and self._adds_a_name_or_words(claim, keys, new)),
            pairs=max(len(keys) - 1, 0),
            parted_pairs=list(map(and_, held, held[1:])).count(0),
            closest=self._first(closest) if closest else None,
            covered=covered,
            is_of_record=bool(self._records) and self._is_of_record(closest),
            is_withheld=bool(self._withheld) and self._is_withheld(claim, distinct),
        )

    def _adds_a_name_or_words(self, claim: str, keys: Sequence[str], new: Sequence[Token]) -> bool:
        unknown = {token.text for token in new}
        least = _NEW_PAIRS if HAN_CHARACTER.match(new[0].text) else _NEW_WORDS
        if len(new) >= least and any(
            len(list(run)) >= least for is_new, run in groupby(keys, unknown.__contains__) if is_new
        ):
            return True
        return any(_NAME.match(claim, max(start - 2, 0), end) is not None for _, start, end in new)

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
        """Return True if a claim without denial has all words of a withheld fact."""
        return any(matter <= keys for matter in self._withheld) and not DENIAL.search(claim)

    def _has_words(self, claim: str, forms: Sequence[str]) -> bool:
        """Return True if the evidence has the exact words, or characters, of a claim."""
        if forms:
            return _NONE.union(*self._forms).issuperset(forms)
        said = _MARKS.sub("", comparable(claim))
        return any(said in comparable(text.text) for text in self.texts)

    def evidence(self, unit: HeldUnit) -> Evidence:
        """Return a unit of the evidence with its original text."""
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
        """Return the number of words of the question in each unit."""
        places = self._places
        return places.counts([places[key] for key in self._question.keys])
