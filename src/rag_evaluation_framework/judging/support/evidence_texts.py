"""Evidence made ready for comparison, once a text: its sentences, or facts, as sets of keys and numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from rag_evaluation_framework.judging.support.opening_hours import Week, week_of
from rag_evaluation_framework.judging.support.record_conflicts import PolarFact, polar_facts
from rag_evaluation_framework.judging.support.structured_evidence import (
    Fact,
    decoded,
    facts_of,
    is_structured,
)
from rag_evaluation_framework.judging.words.content_tokens import (
    content_keys,
    forms_of,
    keys_of,
    tokens_in,
)
from rag_evaluation_framework.judging.words.quantities import MONTHS, Quantity, quantities
from rag_evaluation_framework.retrieval.sentences import sentence_spans

Number = tuple[str, float]
"""What it is of, and the value: a time of day, a length …; a percentage may meet a plain number."""

Piece = tuple[int, int, str, str]
"""Start and end in the text, the words of the keys around it, and what it says."""

_ISO_MONTH = re.compile(r"\b\d{4}-(\d{2})-\d{2}\b")
# Words of more letters than this that begin alike are taken for forms of one word.
PREFIX = 5
_KEPT_TEXTS = 256
_NO_KEYS: frozenset[str] = frozenset()


class Unit(NamedTuple):
    """A sentence or a fact at ``[start, end)`` of its text."""

    start: int
    end: int
    keys: frozenset[str]


@dataclass(frozen=True, slots=True)
class EvidenceText:
    """One evidence text; ``facts`` and ``week`` are what a record decides, where it is one."""

    text: str
    units: tuple[Unit, ...]
    keys: frozenset[str]
    forms: frozenset[str]
    prefixes: frozenset[str]
    numbers: frozenset[Number]
    is_record: bool
    denied: frozenset[str]
    """Keys of what a record denies: no support for saying it, but for denying it."""
    facts: tuple[PolarFact, ...]
    week: Week


@lru_cache(maxsize=_KEPT_TEXTS)
def evidence_text(text: str) -> EvidenceText:
    """Prepare a text; the latest few hundred are kept, for contexts are asked about again and again."""
    facts: Sequence[Fact] = ()
    if is_structured(text):
        facts = facts_of(text)
        pieces = _fact_pieces(facts)
    else:
        pieces = ((start, end, "", text[start:end]) for start, end in sentence_spans(text))
    units: list[Unit] = []
    tokens: set[str] = set()
    numbers: set[Number] = set()
    for start, end, around, said in pieces:
        written = tokens_in(said)
        if around:
            written += tokens_in(around)
        units.append(Unit(start, end, frozenset(keys_of(written))))
        tokens.update(written)
        if facts:
            numbers |= number_set(said)
    forms = frozenset(forms_of(tokens))
    keys = _NO_KEYS.union(*(unit.keys for unit in units))
    return EvidenceText(
        text,
        tuple(units),
        keys,
        forms,
        frozenset(key[:PREFIX] for key in keys if len(key) > PREFIX),
        frozenset(numbers) if facts else number_set(text, forms),
        bool(facts),
        frozenset(content_keys(" ".join(key for fact in facts if fact.meaning == "no" for key in fact.key))),
        polar_facts(facts),
        week_of(facts),
    )


def number_set(text: str, forms: Iterable[str] | None = None) -> frozenset[Number]:
    """Return the numbers of a text, every reading of each; ``forms`` are its words, where they are known."""
    return frozenset(number for quantity in quantities(text, forms) for number in readings(quantity))


def readings(quantity: Quantity) -> list[Number]:
    """Return what a number may be compared as."""
    of = "time" if quantity.kind == "time" else ""
    found = [(of, value) for value in quantity.values]
    return [*found, quantity.measure] if quantity.measure else found


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
                yield fact.start, fact.end, around, _with_months(value)
                continue
            for start, end in spans:
                first, last = (start, end) if places is None else (places[start], places[end])
                yield (
                    fact.value_start + first,
                    fact.value_start + last,
                    around,
                    _with_months(value[start:end]),
                )


def _with_months(value: str) -> str:
    """Add the month's name to a date of digits, so that both ways of writing it meet."""
    months = _ISO_MONTH.findall(value) if "-" in value else ()
    return " ".join((value, *(MONTHS[int(month) - 1] for month in months if 1 <= int(month) <= 12)))
