"""Evidence made ready for comparison, once a text: its sentences, or facts, as sets of keys and numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from rag_evaluation_framework.judging.support.key_places import Block, key_blocks
from rag_evaluation_framework.judging.support.structured_evidence import (
    Fact,
    decoded,
    facts_of,
    is_structured,
)
from rag_evaluation_framework.judging.words.calendar_words import MONTHS
from rag_evaluation_framework.judging.words.content_tokens import (
    content_keys,
    forms_of,
    words_in,
    words_of_parts,
)
from rag_evaluation_framework.judging.words.quantities import Quantity, quantities
from rag_evaluation_framework.retrieval.sentences import sentence_spans

Number = tuple[str, float]
"""What it is of, and the value: a time of day, a length …; a percentage may meet a plain number."""

Unit = tuple[int, int]
"""Start and end of a sentence or a fact in its text."""

Piece = tuple[int, int, str, str]
"""Start and end of a fact, the words of the keys around it, and what it says."""

_ISO_MONTH = re.compile(r"\b\d{4}-(\d{2})-\d{2}\b")
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
