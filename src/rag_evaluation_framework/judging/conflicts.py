"""Where a claim contradicts the sentence it is closest to: another number, a denial, an opposite word."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from rag_evaluation_framework.judging.claim_features import ClaimFeatures
from rag_evaluation_framework.judging.english_stems import stem
from rag_evaluation_framework.judging.evidence_texts import EvidenceText, readings
from rag_evaluation_framework.judging.negation import DENIAL
from rag_evaluation_framework.judging.opening_hours import hour_conflicts
from rag_evaluation_framework.judging.quantities import Quantity, quantities
from rag_evaluation_framework.judging.record_conflicts import polar_conflicts

ConflictKind = Literal["record", "number", "negation", "opposite"]

_OPPOSITES = """
increase decrease; rise fall; rose fell; gain loss; more less; higher lower; highest lowest; high low; above
below; before after; first last; early late; north south; east west; northern southern; eastern western; win
lose; won lost; open closed; accept reject; accepted rejected; approve reject; allow prohibit; allowed
banned; legal illegal; guilty innocent; convicted acquitted; alive dead; male female; man woman; boy girl;
husband wife; father mother; buy sell; bought sold; include exclude; included excluded; true false; hot
cold; warm cold; big small; large small; long short; fast slow; old new; young old; rich poor; strong weak;
positive negative; success failure; agree disagree; agreed disagreed; support oppose; supported opposed;
love hate; cheap expensive; safe dangerous; indoor outdoor; inside outside; upstairs downstairs; maximum
minimum; majority minority; always never; import export; arrive leave; enter exit; start end; begin end;
public private; internal external; mostly partly
"""


def _antonyms(pairs: str) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for pair in pairs.split(";"):
        left, right = map(stem, pair.split())
        found[left] = found.get(left, frozenset()) | {right}
        found[right] = found.get(right, frozenset()) | {left}
    return found


_ANTONYMS = _antonyms(_OPPOSITES)

# A claim speaks of the same thing as a sentence when the sentence has this share of its content.
_SAME_MATTER = 0.5
# It says the same, but for one word, when each has this share of what both have together.
_SAME_STATEMENT = 0.7
_FEWEST_TOKENS = 3
# In a longer sentence a "not" most often denies something else.
_LONGEST_PLAIN = 10


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why a claim cannot be true if the evidence is."""

    kind: ConflictKind
    phrase: str


def record_conflicts(claim: str, text: EvidenceText) -> Iterator[Conflict]:
    """Yield what a record decides otherwise than the claim, or leaves open while the claim decides it."""
    for fact in polar_conflicts(claim, text.facts, said=text.keys):
        says = {True: "yes", False: "no", None: "nothing"}[fact.holds]
        yield Conflict("record", f"{fact.name}, evidence says {says}")
    for phrase in hour_conflicts(claim, text.week):
        yield Conflict("record", phrase)


def sentence_conflicts(claim: str, features: ClaimFeatures, sentence: str) -> Iterator[Conflict]:
    """Yield conflicts of a claim with the sentence of the evidence that is closest to it."""
    if features.best is None or features.coverage < _SAME_MATTER:
        return
    if len(features.tokens) + len(features.numbers) < _FEWEST_TOKENS:
        return
    if sentence in claim:
        return  # quoted, whatever else the claim says
    unit = features.best[1]
    yield from _number_conflicts(claim, features, sentence)
    keys = {token.key for token in features.tokens}
    opposites = list(_opposites(keys, unit.keys))
    yield from opposites
    is_plain = len(unit.keys) <= _LONGEST_PLAIN and keys == unit.keys
    if opposites or not is_plain:
        return
    denies, is_denied = DENIAL.search(claim) is not None, DENIAL.search(sentence) is not None
    if denies != is_denied:
        yield Conflict("negation", "affirmed, evidence denies" if is_denied else "denied, evidence affirms")


def _number_conflicts(claim: str, features: ClaimFeatures, sentence: str) -> Iterator[Conflict]:
    found = [quantity for quantity in quantities(sentence) if not quantity.is_vague]
    stated = {number for quantity in features.numbers for number in readings(quantity)}
    for quantity in features.new_numbers:
        rivals = [
            rival for rival in found if rival.kind == quantity.kind and stated.isdisjoint(readings(rival))
        ]
        if rivals:
            nearest = min(rivals, key=lambda rival: _distance(quantity, rival))
            yield Conflict(
                "number",
                f"number {claim[quantity.start : quantity.end]}, "
                f"evidence says {sentence[nearest.start : nearest.end]}",
            )


def _distance(one: Quantity, other: Quantity) -> tuple[float, int]:
    return abs(one.values[0] - other.values[0]), other.start


def _opposites(keys: set[str], evidence: frozenset[str]) -> Iterator[Conflict]:
    """Yield words of a claim for which the evidence has the opposite while the rest is nearly the same."""
    for key in sorted(keys - evidence):
        for opposite in sorted((_ANTONYMS.get(key, frozenset()) & evidence) - keys):
            together = (keys | evidence) - {key, opposite}
            if len(keys & evidence) >= _SAME_STATEMENT * len(together):
                yield Conflict("opposite", f"{key}, evidence says {opposite}")
