"""Where a claim contradicts the sentence closest to it: another number or name, a denial, an opposite."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

from rag_evaluation_framework.judging.claim_features import (
    ClaimFeatures,
    EvidenceBody,
    EvidenceText,
    Record,
    readings,
)
from rag_evaluation_framework.judging.support.chinese_substitutions import (
    chinese_exclusive_substitutions,
    chinese_name_substitutions,
)
from rag_evaluation_framework.judging.support.denials import denial_conflict, denies_oddly, is_of_denial
from rag_evaluation_framework.judging.support.opening_hours import hour_conflicts
from rag_evaluation_framework.judging.support.record_conflicts import polar_conflicts
from rag_evaluation_framework.judging.support.record_numbers import number_conflicts
from rag_evaluation_framework.judging.support.substitutions import (
    Substitution,
    exclusive_substitutions,
    name_substitutions,
)
from rag_evaluation_framework.judging.words.bounds import admits, bounds, counted, is_open
from rag_evaluation_framework.judging.words.exclusive_words import exclusive_words
from rag_evaluation_framework.records.scores import Evidence
from rag_evaluation_framework.text.numbers import Quantity, quantities

ConflictKind = Literal["record", "number", "name", "negation", "opposite"]

# A claim speaks of the same thing as a sentence when the sentence has this share of its content.
_SAME_MATTER = 0.5
# It says the same, but for what is new in it, when no more than this share of the rest is missing.
_MOST_MISSING = 0.2
_FEWEST_TOKENS = 2
# Below this nothing is compared: two in five of the words are a quarter by weight where all are short ones.
_LEAST_COVERED = 0.25
# Longer texts, in characters, are no single statements; and of many sentences as close, some are enough.
_LONGEST_STATEMENT = 1_000
_MOST_COMPARED = 16


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why a claim cannot be true if the evidence is."""

    kind: ConflictKind
    phrase: str


def record_conflicts(claim: str, record: Record, new_numbers: Sequence[Quantity]) -> Iterator[Conflict]:
    """Yield what a record decides otherwise than the claim, or leaves open while the claim decides it."""
    for fact in polar_conflicts(claim, record.facts, said=record.keys):
        says = {True: "yes", False: "no", None: "nothing"}[fact.holds]
        yield Conflict("record", f"{fact.name}, evidence says {says}")
    for phrase in hour_conflicts(claim, record.week):
        yield Conflict("record", phrase)
    for phrase in number_conflicts(claim, new_numbers, record.numbers):
        yield Conflict("number", phrase)


class Comparison(NamedTuple):
    """A claim beside the evidence, the unit closest to it, and where the two conflict."""

    features: ClaimFeatures
    evidence: Evidence | None
    conflicts: list[Conflict]


def compared(claim: str, body: EvidenceBody) -> Comparison:
    """Compare a claim with the evidence; of several units as close, one without conflicts is preferred.

    A word of the claim whose opposite that unit denies is not new: *prohibited*, where it is *not permitted*.
    Nor is 下午 of 下午3点, where it has 15:00, nor the number of *more than 200*, where it has 240, nor that
    of *at 8*, where it has 8:00.
    """
    features = body.features(claim)
    evidence, conflicts = _closest_unit(claim, features, body)
    if evidence is not None and (features.new or features.new_numbers):
        meant = _of_known_times(features)
        opposites = frozenset(token.key for token in features.new if token.key in exclusive_words())
        if opposites and _opposites(claim, evidence.text).are_denied:
            meant |= opposites
        admitted = _admitted(claim, features, evidence.text, body) if features.new_numbers else ()
        if meant or admitted:
            features = body.features(claim, meant=meant, admitted=admitted)
    return Comparison(features, evidence, conflicts)


def _admitted(claim: str, features: ClaimFeatures, sentence: str, body: EvidenceBody) -> list[Quantity]:
    """Return the new numbers of a claim that leave room for one of the sentence, or of a record."""
    numbers = [number for number in features.new_numbers if is_open(claim, number)]
    held = _unstated(features, sentence) if numbers else []
    return [
        number
        for number in numbers
        if admits(claim, number, sentence, held) or _is_within_fact(claim, number, body.records)
    ]


def _of_known_times(features: ClaimFeatures) -> frozenset[str]:
    """Return the keys of new tokens that are parts of times of day that are not new."""
    times = [each for each in features.numbers if each.kind == "time" and each not in features.new_numbers]
    return frozenset(
        token.key
        for token in features.new
        if any(time.start < token.end and token.start < time.end for time in times)
    )


def _closest_unit(
    claim: str, features: ClaimFeatures, body: EvidenceBody
) -> tuple[Evidence | None, list[Conflict]]:
    first: tuple[Evidence | None, list[Conflict]] = (None, [])
    for unit in features.closest[:_MOST_COMPARED]:
        evidence = body.evidence(unit)
        conflicts = list(
            sentence_conflicts(
                claim,
                features,
                evidence.text,
                has=partial(body.has, unit),
                counts_otherwise=partial(counts_otherwise, claim, evidence=body.texts),
            )
        )
        if not conflicts:
            return evidence, []
        if first[0] is None:
            first = evidence, conflicts
    return first


def sentence_conflicts(
    claim: str,
    features: ClaimFeatures,
    sentence: str,
    *,
    has: Callable[[str], bool],
    counts_otherwise: Callable[[Quantity], bool],
) -> Iterator[Conflict]:
    """Yield conflicts of a claim with a sentence of the evidence close to it; ``has`` tells of its keys.

    ``counts_otherwise`` tells of a number that the evidence has, but of other things only.
    """
    if features.covered_by_one < _LEAST_COVERED or sentence in claim:
        return  # about something else; or quoted, whatever else the claim says
    keys = set(features.keys)
    rest = keys.difference(token.key for token in features.new)
    missing = [key for key in rest if not has(key)]
    is_of_more = len(features.keys) + len(features.numbers) >= _FEWEST_TOKENS
    if features.numbers and is_of_more and features.covered_by_one >= _SAME_MATTER:
        says_the_same = bool(rest) and not missing and not features.new
        new_numbers = set(features.new_numbers)
        doubted = [
            number
            for number in features.own_numbers
            if number in new_numbers or (says_the_same and counts_otherwise(number))
        ]
        if doubted:
            yield from _number_conflicts(claim, features, sentence, doubted)
    is_statement = max(len(claim), len(sentence)) <= _LONGEST_STATEMENT
    is_of_this = len(rest) >= _SAME_MATTER * len(keys) and len(missing) <= _MOST_MISSING * len(rest)
    if is_statement and is_of_this:
        is_covered = not missing and all(
            is_of_denial(claim[token.start : token.end]) for token in features.new
        )
        new = frozenset(token.start for token in features.new)
        yield from _word_conflicts(claim, sentence, new=new, is_covered=is_covered)


def _word_conflicts(
    claim: str, sentence: str, *, new: frozenset[int], is_covered: bool
) -> Iterator[Conflict]:
    """Yield what the claim has in the place of something else; denials where its words are all there."""
    names = list(name_substitutions(claim, sentence, new=new))
    found = _opposites(claim, sentence)
    if not found.substitutions and not claim.isascii() and not sentence.isascii():
        names += chinese_name_substitutions(claim, sentence)
    opposites = () if found.are_denied else found.substitutions
    yield from (Conflict("name", f"{each.said}, evidence says {each.evidence}") for each in names)
    yield from (Conflict("opposite", f"{each.said}, evidence says {each.evidence}") for each in opposites)
    if is_covered and not names and not opposites:
        phrase = denial_conflict(claim, sentence)
        if phrase:
            yield Conflict("negation", phrase)


class _Opposites(NamedTuple):
    substitutions: Sequence[Substitution]
    are_denied: bool
    """Whether one of both denies them, so that they say the same: "not open" and "closed"."""


def _opposites(claim: str, sentence: str) -> _Opposites:
    """Return the words of a claim that exclude what the sentence has in their place."""
    found = list(exclusive_substitutions(claim, sentence))
    if not claim.isascii() and not sentence.isascii():
        found += chinese_exclusive_substitutions(claim, sentence)
    if not found:
        return _Opposites((), are_denied=False)
    denies = denies_oddly(claim, besides=[each.said for each in found])
    return _Opposites(found, denies != denies_oddly(sentence, besides=[each.evidence for each in found]))


def _number_conflicts(
    claim: str, features: ClaimFeatures, sentence: str, doubted: Sequence[Quantity]
) -> Iterator[Conflict]:
    """Yield numbers that the sentence does not have, and what it has in their place."""
    had = {number for quantity in _stated(sentence) for number in readings(quantity)}
    unstated = _unstated(features, sentence)
    for quantity in doubted:
        rivals = [rival for rival in unstated if rival.kind == quantity.kind]
        if admits(claim, quantity, sentence, unstated):
            continue
        if rivals and had.isdisjoint(readings(quantity)):
            said = _unit(claim, quantity)
            nearest = min(
                rivals,
                key=lambda rival: (
                    _unit(sentence, rival) != said,
                    abs(quantity.values[0] - rival.values[0]),
                    rival.start,
                ),
            )
            yield Conflict(
                "number",
                f"number {claim[quantity.start : quantity.end]}, "
                f"evidence says {sentence[nearest.start : nearest.end]}",
            )


def _stated(sentence: str) -> list[Quantity]:
    return [quantity for quantity in quantities(sentence) if not quantity.is_vague]


def _unstated(features: ClaimFeatures, sentence: str) -> list[Quantity]:
    """Return the numbers of a sentence that the claim does not have."""
    stated = {number for quantity in features.numbers for number in readings(quantity)}
    return [quantity for quantity in _stated(sentence) if stated.isdisjoint(readings(quantity))]


def _is_within_fact(claim: str, number: Quantity, records: Sequence[Record]) -> bool:
    """Tell whether a number leaves room for that of a fact with the same name: *about $50*, price 49.99."""
    room = bounds(claim, number)
    if not room.leave_room or room.is_cap:
        return False
    of = counted(claim, number)
    return any(
        room.admit(fact.number) and not fact.stems.isdisjoint(of)
        for record in records
        for fact in record.numbers
    )


def counts_otherwise(claim: str, number: Quantity, evidence: Sequence[EvidenceText]) -> bool:
    """Tell whether a number of the claim counts something, and wherever the evidence has it, something else.

    In "Mooring costs 12 euros. Boats of 15 metres need a pilot." that holds for the number of "15 euros".
    """
    said = counted(claim, number)[:1]
    if not said:
        return False
    sought = set(readings(number))
    held = [
        counted(text.text, each)[:1]
        for text in evidence
        if not sought.isdisjoint(text.numbers)
        for each in quantities(text.text)
        if not sought.isdisjoint(readings(each))
    ]
    return bool(held) and all(each and each != said for each in held)


def _unit(text: str, number: Quantity) -> list[str]:
    """Return what a number is of: a length, a currency …; or what stands right after it."""
    return [number.measure[0]] if number.measure else counted(text, number)[:1]
