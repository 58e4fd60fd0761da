"""The numbers and names of an expected answer: what a retrieved passage must have for it to be seen there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from rag_evaluation_framework.errors import counted
from rag_evaluation_framework.startup import dataclass
from rag_evaluation_framework.text.normalisation import comparable
from rag_evaluation_framework.text.numbers import Number, number_set, quantities, readings
from rag_evaluation_framework.text.tokens import content_keys, content_tokens

_TITLE = re.compile(r"[《「『]([^》」』]{1,40})[》」』]")
_KEPT = 256


@dataclass(frozen=True, slots=True)
class Detail:
    """A number by its values, or a name by its key: that of a capitalized word, or a Chinese title."""

    text: str
    numbers: frozenset[Number] = frozenset()
    key: str = ""

    def is_in(self, text: str) -> bool:
        """Tell whether a text has it, written in whatever way."""
        if self.numbers:
            return not self.numbers.isdisjoint(_numbers(text))
        return self.key in _keys(text) or (not self.key.isascii() and self.key in comparable(text))


# The claims of one answer are held against the same few passages.
_numbers = lru_cache(_KEPT)(number_set)


@lru_cache(_KEPT)
def _keys(text: str) -> frozenset[str]:
    return frozenset(content_keys(text))


def find_details(claim: str) -> list[Detail]:
    """Return the numbers and names of a claim; the first word of a sentence is no name by its capital.

    >>> [detail.text for detail in find_details("The fare to Sund is 24.00.")]
    ['24.00', 'Sund']
    """
    numbers = [each for each in quantities(claim) if not each.is_vague]
    taken = {at for each in numbers for at in range(each.start, each.end)}
    words = [token for token in content_tokens(claim) if token.start not in taken]
    is_name_alone = all(claim[token.start].isupper() for token in words)
    return [
        *(Detail(claim[each.start : each.end], frozenset(readings(each))) for each in numbers),
        *(
            Detail(claim[token.start : token.end], key=token.text)
            for token in words
            if claim[token.start].isupper() and (token.start or is_name_alone)
        ),
        *(Detail(found[1], key=comparable(found[1])) for found in _TITLE.finditer(claim)),
    ]


def lacking_details(claim: str, *texts: str) -> list[Detail]:
    """Return the numbers and names of a claim that none of the texts has."""
    return [each for each in find_details(claim) if not any(each.is_in(text) for text in texts)]


def word_share(claim: str, text: str, question: str) -> float:
    """Return the share of the words of a claim, less those of the question, that a text has."""
    words = set(content_keys(claim)) - _keys(question)
    return len(words & _keys(text)) / len(words) if words else 1.0


def format_details(details: Iterable[Detail]) -> str:
    """Name details: ``number 24.00``, ``names Anna, Sund``."""
    parts = []
    for noun, is_number in (("number", True), ("name", False)):
        if texts := list(dict.fromkeys(each.text for each in details if bool(each.numbers) == is_number)):
            parts.append(f"{counted(len(texts), noun).split(' ', 1)[1]} {', '.join(texts[:3])}")
    return " and ".join(parts)
