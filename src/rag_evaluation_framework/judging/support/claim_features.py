"""What a claim shares with the evidence and what it adds: the features of lexical support."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rag_evaluation_framework.judging.support.evidence_texts import (
    PREFIX,
    EvidenceText,
    Unit,
    number_set,
    readings,
)
from rag_evaluation_framework.judging.words.content_tokens import (
    ContentToken,
    content_tokens,
    forms_in,
    forms_of,
    keys_of,
    tokens_in,
    without_junctures,
)
from rag_evaluation_framework.judging.words.negation import DENIAL
from rag_evaluation_framework.judging.words.quantities import Quantity, quantities

HeldUnit = tuple[int, Unit]
"""The number of an evidence text, and one of its units."""

Shared = tuple[HeldUnit, frozenset[str]]
"""A unit, and the keys of a claim that it has."""

_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ClaimFeatures:
    """A claim beside the evidence. Positions are those of the claim's text."""

    tokens: tuple[ContentToken, ...]
    new: tuple[ContentToken, ...]
    """Tokens that stand neither in the evidence nor in the question."""
    new_names: int
    """How many of the new tokens are written with a capital inside the claim."""
    words: int
    new_forms: int
    """How many words of the claim do not stand in the evidence in this very form."""
    numbers: tuple[Quantity, ...]
    new_numbers: tuple[Quantity, ...]
    pairs: int
    parted_pairs: int
    """How many neighbouring tokens no unit of the evidence has together."""
    closest: tuple[HeldUnit, ...]
    """The units of evidence with most of what the question does not have; several where they have as much."""
    coverage: float
    """The share of the claim's different keys that stand in a closest unit or in the question.

    Of a claim that is nothing but numbers, the share of these that the evidence has.
    """
    is_of_records: bool
    """Whether there are records in the evidence: a sentence then joins what stands in many facts."""


def _parted(pairs: Sequence[tuple[str, str]], units: Sequence[frozenset[str]]) -> int:
    """Count the pairs that no unit has together; a key's places are the bits of a number."""
    places: dict[str, int] = {}
    for number, keys in enumerate(units):
        for key in keys:
            places[key] = places.get(key, 0) | 1 << number
    return sum(not places.get(one, 0) & places.get(other, 0) for one, other in pairs)


def _share_known(missing: int, count: int) -> float:
    return 1.0 - missing / count if count else 1.0


class EvidenceBody:
    """The evidence texts of one answer taken together, with the words of the question."""

    def __init__(self, texts: Sequence[EvidenceText], question: str = "") -> None:
        self.texts = texts
        asked = tokens_in(question)
        self._asked = frozenset(keys_of(asked))
        self._asked_numbers = number_set(question)
        self._has_records = any(text.is_record for text in texts)
        self._denied = _NONE.union(*(text.denied for text in texts))
        self._forms = frozenset(forms_of(asked)).union(*(text.forms for text in texts))
        self._keys = self._asked.union(*(text.keys for text in texts))

    def features(self, claim: str) -> ClaimFeatures:
        """Compare one claim with the evidence."""
        denied = self._denied if self._denied and DENIAL.search(claim) else _NONE
        tokens = content_tokens(claim)
        if not claim.isascii():
            tokens = without_junctures(tokens, self._keys | denied)
        keys = [token.key for token in tokens]
        new = tuple(token for token in tokens if token.key not in denied and not self._has(token.key))
        forms = forms_in(claim)
        numbers = tuple(quantity for quantity in quantities(claim, forms) if not quantity.is_vague)
        new_numbers = tuple(quantity for quantity in numbers if not self._has_number(quantity))
        pairs = list(pairwise(keys))
        distinct = frozenset(keys)
        sought = distinct - self._asked - denied
        shared = list(self._sharing(distinct))
        closest = self._closest(shared, sought or distinct)
        missing = sought - closest[0][1].keys if closest else sought
        return ClaimFeatures(
            tokens=tuple(tokens),
            new=new,
            new_names=sum(token.start > 0 and claim[token.start].isupper() for token in new),
            words=len(forms),
            new_forms=sum(form not in self._forms for form in forms),
            numbers=numbers,
            new_numbers=new_numbers,
            pairs=len(pairs),
            parted_pairs=_parted(pairs, [common for _, common in shared]),
            closest=closest,
            coverage=(
                _share_known(len(missing), len(distinct))
                if distinct
                else _share_known(len(new_numbers), len(numbers))
            ),
            is_of_records=self._has_records,
        )

    def _sharing(self, keys: frozenset[str]) -> Iterator[Shared]:
        for number, text in enumerate(self.texts):
            if keys.isdisjoint(text.keys):
                continue
            for unit in text.units:
                common = keys & unit.keys
                if common:
                    yield (number, unit), common

    def _closest(self, shared: Iterable[Shared], sought: frozenset[str]) -> tuple[HeldUnit, ...]:
        """Return the units that have most of what is sought.

        The shorter come first and then the text decides, so that the order of the contexts does not.
        """
        most = 1
        tied: list[HeldUnit] = []
        for held, common in shared:
            count = len(common & sought)
            if count > most:
                most, tied = count, [held]
            elif count == most:
                tied.append(held)
        return tuple(tied) if len(tied) < 2 else tuple(sorted(tied, key=self._written))

    def _written(self, held: HeldUnit) -> tuple[int, str, int]:
        number, unit = held
        return unit.end - unit.start, self.texts[number].text[unit.start : unit.end], number

    def _has(self, key: str) -> bool:
        """Tell whether the evidence or the question has this word, or one that begins alike."""
        if key in self._keys:
            return True
        return len(key) > PREFIX and any(key[:PREFIX] in text.prefixes for text in self.texts)

    def _has_number(self, quantity: Quantity) -> bool:
        return any(
            number in self._asked_numbers or any(number in text.numbers for text in self.texts)
            for number in readings(quantity)
        )
