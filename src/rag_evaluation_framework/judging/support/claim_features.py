"""What a claim shares with the evidence and what it adds: the features of lexical support."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from rag_evaluation_framework.characters import HAN_CHARACTER
from rag_evaluation_framework.judging.support.evidence_texts import (
    EvidenceText,
    Number,
    number_set,
    readings,
)
from rag_evaluation_framework.judging.support.key_places import KeyPlaces
from rag_evaluation_framework.judging.verdicts import Evidence
from rag_evaluation_framework.judging.words.comparable_text import comparable
from rag_evaluation_framework.judging.words.content_tokens import (
    ContentToken,
    content_tokens,
    forms_of,
    keys_of,
    without_junctures,
    words_in,
)
from rag_evaluation_framework.judging.words.negation import DENIAL
from rag_evaluation_framework.judging.words.quantities import Quantity, quantities

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
    new: Sequence[ContentToken]
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
    closest: Sequence[HeldUnit]
    """The units of evidence with most of what the question does not have; several where they have as much."""
    covered_by_one: float
    """The share of the claim's different keys, by weight, that stand in a closest unit or in the question.

    Of a claim that is nothing but numbers, the share of these that the evidence has; of one without either,
    such as the letter of a choice, 1 where the evidence has its very words.
    """
    covered_by_two: float
    """The same of the two units that have most together."""
    is_of_record: bool
    """Whether a closest unit is of a record, or all of the evidence: a sentence joins what many facts say."""
    is_withheld: bool
    """Whether it says something that a record denies or leaves open."""


@lru_cache(maxsize=_KEPT_CLAIMS)
def _claim_words(claim: str) -> tuple[Sequence[str], Sequence[str], Sequence[Quantity]]:
    """Return the keys, the forms and the numbers of a claim, in reading order."""
    words = words_in(claim)
    forms = tuple(forms_of(words))
    numbers = tuple([quantity for quantity in quantities(claim, forms) if not quantity.is_vague])
    return tuple(keys_of(words)), forms, numbers


@lru_cache(maxsize=_KEPT_CLAIMS)
def _claim_tokens(claim: str) -> Sequence[ContentToken]:
    """Return what :func:`_claim_words` has the keys of, with places; asked for only where a word is new."""
    return tuple(content_tokens(claim))


def _powers(keys: Iterable[str]) -> dict[str, int]:
    """Return which power of two each key weighs: words of five letters and more tell more than short ones."""
    return {key: len(key) > 4 for key in keys}


def _weight(powers: Mapping[str, int]) -> int:
    return sum([1 << power for power in powers.values()])


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

    def features(self, claim: str) -> ClaimFeatures:
        """Compare one claim with the evidence."""
        denied = self._denied if self._denied and DENIAL.search(claim) else _NONE
        places = self._places
        keys, forms, numbers = _claim_words(claim)
        asked = self._question if self._has_news(keys, numbers) else _NOTHING_ASKED
        given = asked.keys | denied
        tokens: Sequence[ContentToken] = ()
        if not claim.isascii():
            known = {key for key in keys if places[key] or key in given}
            tokens = without_junctures(_claim_tokens(claim), known)
            keys = [token.key for token in tokens]
        distinct = frozenset(keys)
        unknown = {key for key in distinct if not (places[key] or key in given)}
        new = [each for each in tokens or _claim_tokens(claim) if each.key in unknown] if unknown else []
        new_numbers = [
            each
            for each in numbers
            if self._numbers.isdisjoint(readings(each)) and asked.numbers.isdisjoint(readings(each))
        ]
        chinese = [token.key for token in tokens if HAN_CHARACTER.match(token.key)]
        if distinct:
            closest, by_one, by_two = self._coverage(distinct, given)
        else:
            closest = []
            by_one = by_two = (
                1.0 - len(new_numbers) / len(numbers) if numbers else float(self._has_words(claim, forms))
            )
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
            parted_pairs=sum([not places[one] & places[other] for one, other in pairwise(keys)]),
            closest=closest if len(closest) < 2 else sorted(closest, key=self._order),
            covered_by_one=by_one,
            covered_by_two=by_two,
            is_of_record=self._is_of_record(closest),
            is_withheld=bool(self._records) and self._is_withheld(claim, distinct),
        )

    def _coverage(self, keys: frozenset[str], given: frozenset[str]) -> tuple[list[HeldUnit], float, float]:
        """Return the units closest to the keys, and what share one unit has with what is given, and two."""
        sought = keys - given
        powers = _powers(sought or keys)
        of_one, of_two, closest = self._places.with_most(powers)
        if not sought:
            return closest, 1.0, 1.0
        missing = _weight(powers)
        whole = missing if len(sought) == len(keys) else _weight(_powers(keys))
        return closest, 1.0 - (missing - of_one) / whole, 1.0 - (missing - of_two) / whole

    def _is_of_record(self, closest: Sequence[HeldUnit]) -> bool:
        if not closest:
            return len(self._records) == len(self.texts) > 0
        return bool(self._records) and any(self.texts[number].record for number, _ in closest)

    def _is_withheld(self, claim: str, keys: frozenset[str]) -> bool:
        """Tell whether a claim that denies nothing has all words of something that a record withholds.

        Where every one of these words stands somewhere else in the evidence, it may be speaking of that.
        """
        if DENIAL.search(claim):
            return False
        return any(
            matter <= keys and not all(self._places[key] for key in matter)
            for record in self._records
            for matter in record.withheld
        )

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
