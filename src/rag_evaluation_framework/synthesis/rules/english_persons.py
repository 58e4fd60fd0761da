"""Who speaks: what a company writes of itself and its readers, as a reader would ask it."""

from __future__ import annotations

import re

from rag_evaluation_framework.synthesis.rules.english_words import (
    ADVERBS,
    BE,
    CONJUNCTIONS,
    MODALS,
    PAST,
    PREPOSITIONS,
    THIRD_PERSON,
    VERBS,
)

_WORDS = re.compile(r"[\w'’-]+|[^\w\s]|\s+")
_SWAPPED = {"we": "you", "our": "your", "ours": "yours", "us": "you", "your": "my", "yours": "mine"}
_SUPPORTS = BE | MODALS | {"do", "does", "did", "have", "has", "had"}
_AGREEING = {"are": "am", "were": "was"}


def asked_by_reader(text: str) -> str:
    """Return a text with its persons changed: what *we* do is asked as *you*, what *you* do as *I*.

    >>> asked_by_reader("what may you choose if we cancel your sailing")
    'what may I choose if you cancel my sailing'
    """
    pieces = _WORDS.findall(text)
    places = [number for number, piece in enumerate(pieces) if not piece.isspace()]
    written = list(pieces)
    for order, number in enumerate(places):
        word = pieces[number].casefold()
        if word in _SWAPPED:
            written[number] = _SWAPPED[word]
        elif word == "you":
            before = places[order - 1] if order else None
            after = places[order + 1] if order + 1 < len(places) else None
            if _is_subject(
                pieces[before].casefold() if before is not None else "",
                pieces[after].casefold() if after is not None else "",
            ):
                written[number] = "I"
                for neighbour in (before, after):
                    if neighbour is not None and pieces[neighbour].casefold() in _AGREEING:
                        written[neighbour] = _AGREEING[pieces[neighbour].casefold()]
            else:
                written[number] = "me"
    return "".join(written)


def _is_subject(before: str, after: str) -> bool:
    if before in PREPOSITIONS - {"before", "after", "until", "since", "than", "as"}:
        return False
    if before in _SUPPORTS | CONJUNCTIONS or after in _SUPPORTS:
        return True
    return (
        after in VERBS or after in PAST or after in ADVERBS or (after in THIRD_PERSON and before not in VERBS)
    )
