"""Words and characters of one kind are listed once, whoever reads them."""

from __future__ import annotations

import pytest

from rag_evaluation_framework.judging.claims import claims_of
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.judging.mentions import stance_at
from rag_evaluation_framework.judging.milestones import first_tellings
from rag_evaluation_framework.records.scores import Claim
from rag_evaluation_framework.text.normalisation import simplified_characters
from rag_evaluation_framework.text.numbers import even_text, quantities
from rag_evaluation_framework.text.tokens import content_keys
from rag_evaluation_framework.text.vocabulary import (
    CHINESE_DIGITS,
    CHINESE_MYRIADS,
    CHINESE_NEGATIONS,
    CHINESE_SCALES,
    COUNTED,
    DENIAL,
    NEGATIONS,
    NUMERALS,
    PARTICLES,
    PLAIN_NUMERALS,
    STOP_CHARACTERS,
    STOP_WORDS,
    STRUCTURE,
)


@pytest.mark.parametrize("negation", [*NEGATIONS, *CHINESE_NEGATIONS])
def test_a_negation_denies_wherever_denials_are_read(negation: str) -> None:
    assert DENIAL.search(f"she has {negation} luck")
    if negation.isascii():
        assert stance_at(f"she is {negation} tall", len(f"she is {negation} ")) == "denied"


def test_what_denies_nothing_is_no_denial() -> None:
    assert not DENIAL.search("It is not only cheap: Chinese Negations are HINTS")
    assert not DENIAL.search("她很热情")


def test_a_record_that_denies_supports_a_denial_in_chinese() -> None:
    evidence = ['{"WiFi": false, "Parking": true}']
    denying, affirming = "这里没有 WiFi。", "这里提供 WiFi。"
    denied, affirmed = LexicalSupport().decide(
        [Claim(text, 0, len(text)) for text in (denying, affirming)], evidence
    )
    assert denied.probability is not None
    assert affirmed.probability is not None
    assert denied.probability > affirmed.probability


@pytest.mark.parametrize("numeral", NUMERALS)
def test_every_numeral_is_read_as_a_number(numeral: str) -> None:
    scale = {**CHINESE_SCALES, **CHINESE_MYRIADS}.get(numeral)
    text, value = (f"二{numeral}次", 2 * scale) if scale else (f"{numeral}次", CHINESE_DIGITS[numeral])
    assert [quantity.values for quantity in quantities(text)] == [(value,)]
    assert content_keys(f"第{numeral}") == [] or numeral not in PLAIN_NUMERALS


@pytest.mark.parametrize("counted", sorted(set(COUNTED) - {chr(place) for place in simplified_characters()}))
def test_what_is_counted_makes_a_figure_of_the_numeral_before_it(counted: str) -> None:
    assert even_text(f"有三{counted}") == f"有3{counted}"
    assert not quantities(f"有三{counted}")[0].is_vague


def test_structure_is_grammar_and_grammar_has_no_content() -> None:
    assert STRUCTURE < PARTICLES < STOP_CHARACTERS
    assert {"nineteen", "ninety", "trillion", "third", "percent", "the", "according"} <= STOP_WORDS
    assert STOP_WORDS.isdisjoint(("fourth", "twice", "january", "monday"))
    assert first_tellings("她报名了竞技场。", ["报名竞技场"]) == [1]


def test_rare_chinese_characters_are_chinese_everywhere() -> None:
    """𠮷 lies beyond the first 65,536 characters, and 々 repeats the one before it."""
    assert content_keys("𠮷野家") == ["𠮷野", "野家"]
    assert content_keys("佐々木") == ["佐々", "々木"]
    assert [claim.text for claim in claims_of("𠮷野家很大。𠮷𠮷𠮷𠮷。")] == ["𠮷野家很大。", "𠮷𠮷𠮷𠮷。"]


@pytest.mark.parametrize("mark", ["_", "」", "*", "”"])
def test_what_closes_after_a_question_mark_leaves_it_a_question(mark: str) -> None:
    assert claims_of(f"Is the old harbour open?{mark}") == ()
