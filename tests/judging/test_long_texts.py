"""Reading a text takes a time in proportion to its length, whatever stands in it again and again."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import pytest

from rag_evaluation_framework.judging.claims import claims_of
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.judging.mentions import names_in
from rag_evaluation_framework.judging.turn_matching import match_reference
from rag_evaluation_framework.records.scores import Claim
from rag_evaluation_framework.text.numbers import quantities

SECONDS = 5  # for 100,000 characters; where it grows with the square it is more


def _decide(text: str) -> object:
    claim = f"Mara {text} Tobin!"
    return LexicalSupport().decide([Claim(claim, 0, len(claim))], ["Mara is a friend. 闻伯是师父。"])


def _names(text: str) -> object:
    return names_in(text, ["a"], question="Who is the mayor?")


def _matched(text: str) -> object:
    return match_reference(text, "Mara is not the mayor.", "Who is she?")


def _replied(text: str) -> object:
    return match_reference(text, "Yes, Mara is.", "Is Mara the mayor?")


@pytest.mark.parametrize(
    ("read", "piece"),
    [
        (claims_of, "三点五"),  # a unit may follow each number
        (claims_of, "1; "),  # places to cut at with nothing to cut
        (claims_of, "that cats and dogs are "),  # clauses that may be statements, and are held together
        (quantities, "3 one "),  # words that may belong to a number in figures
        (_decide, "师父"),  # known characters between others
        (_decide, "10 "),  # numbers that the evidence does not have
        (_names, "a"),  # a name that may be a part of a word
        (_matched, "mayor of one of the towns by the sea with "),  # a clause without an end
        (_replied, "谁"),  # words that tell nothing
    ],
)
def test_a_long_text_is_read_in_proportion_to_its_length(read: Callable[[str], object], piece: str) -> None:
    text = piece * (100_000 // len(piece))
    began = process_time()
    read(text)
    assert process_time() - began < SECONDS
