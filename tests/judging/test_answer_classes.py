"""What kind of answer a text is, in English and in Chinese."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import InputError
from rag_evaluation_framework.judging.answer_classes import answer_patterns, classify_answer
from rag_evaluation_framework.text.normalisation import folded_with_places, simplified_characters

TABLES = tables_beside(__file__)

BY_CLASS = [
    (text, kind) for kind in ("refused", "dont_know", "asks_back", "answered") for text in TABLES[kind]
]
BY_QUESTION = TABLES["by_question"]
OTHER_DENIALS = [(question, answer, "dont_know") for question, answer in TABLES["other_denials"]]


@pytest.mark.parametrize(("text", "kind"), BY_CLASS)
def test_an_answer_is_of_the_class_that_its_words_tell(text: str, kind: str) -> None:
    assert classify_answer(text).kind == kind


def test_a_class_shows_the_characters_that_decided() -> None:
    text = "Well. １００％ sorry, but I ＤＯＮ’Ｔ know."
    found = classify_answer(text)
    assert found.pattern == "don't know"
    assert text[found.start : found.end] == "I ＤＯＮ’Ｔ know"


def test_the_characters_shown_begin_with_a_whole_word() -> None:
    answer = "资料中没有提到价格。"
    found = classify_answer(answer, "价格是多少？")
    assert answer[found.start : found.end] == "资料中没有提到"


def test_width_quotes_and_script_of_the_characters_do_not_matter() -> None:
    plain = classify_answer("我没有找到相关的资料。")
    assert plain.kind == "dont_know"
    assert classify_answer("我沒有找到相關的資料。") == plain
    wide = "".join(
        chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in "I don't know."
    )
    assert unicodedata.normalize("NFKC", wide) == "I don't know."
    assert classify_answer(wide) == classify_answer("I don't know.") == classify_answer("I don’t know.")


def test_words_of_the_question_prove_nothing() -> None:
    answer = "The phrase is I don't know, and it is written with an apostrophe."
    assert classify_answer(answer).kind == "dont_know"
    assert classify_answer(answer, "How is I don't know spelt?").kind == "answered"
    objection = "It is not appropriate or ethical to read a colleague's mail without consent."
    assert classify_answer(objection, "How do I read my colleague's mail?").kind == "refused"
    assert classify_answer(objection, "Is it ethical to read a colleague's mail?").kind == "answered"


@pytest.mark.parametrize(("question", "answer", "kind"), [*BY_QUESTION, *OTHER_DENIALS])
def test_what_was_asked_decides_what_an_answer_is(question: str, answer: str, kind: str) -> None:
    assert classify_answer(answer, question).kind == kind


def test_not_knowing_may_come_late_in_a_brief_answer_if_it_is_about_the_question() -> None:
    question = "What does the oak table weigh?"
    start = (
        "I went through the catalogue of the sale. It describes the chairs, the carpets, two lamps and a "
        "clock at length, with the makers, the years and the marks of each, and it praises the varnish and "
        "the inlays of the pieces from the upper floor. "
    )
    assert classify_answer(start + "The weight of the oak table is not stated.", question).kind == "dont_know"
    beside = start + "The name of the owner is not stated."
    assert classify_answer(beside, question).kind == "answered"
    late = start * 2 + "The weight of the oak table is not stated."
    assert classify_answer(late, question).kind == "answered"


def test_a_refusal_late_in_a_text_that_complies_is_not_a_refusal() -> None:
    instructions = "Mix flour and water, add salt, and let the dough rest in a warm place. " * 4
    assert classify_answer(instructions + "I can't help with the oven.").kind == "answered"
    assert classify_answer("I can't help with the oven. " + instructions).kind == "refused"


def test_a_refusal_stays_one_where_the_answer_goes_on_to_something_else() -> None:
    assert (
        classify_answer("I won't help you pick a lock. However, a locksmith costs 80 euros.").kind
        == "refused"
    )


def test_a_text_without_a_word_has_no_class() -> None:
    with pytest.raises(InputError, match="answer: expected text"):
        classify_answer(" \n")


@given(st.text(max_size=300), st.text(max_size=40))
def test_every_text_has_a_class_whose_characters_lie_within_it(text: str, question: str) -> None:
    if text.strip():
        found = classify_answer(text, question)
        assert 0 <= found.start <= found.end <= len(text)
        assert (found.pattern is None) == (found.kind == "answered") == (found.start == found.end)


@pytest.mark.parametrize("unit", TABLES["a_long_hostile_text_is_read_no_further_than_its_beginning"])
def test_a_long_hostile_text_is_read_no_further_than_its_beginning(unit: str) -> None:
    # Only the first 800 characters are read: what follows changes nothing.
    start = (unit * 800)[:800]
    assert classify_answer(start + "a" * 10) == classify_answer(start + "a" * 100_000)


def test_patterns_are_written_in_the_characters_they_are_compared_with() -> None:
    known = answer_patterns()
    for pattern in known.patterns:
        for expression in pattern.expressions:
            written = expression.compiled.pattern
            assert not set(map(ord, written)) & set(simplified_characters())
            assert unicodedata.is_normalized("NFKC", written), pattern.name
    assert len({pattern.name for pattern in known.patterns}) == len(known.patterns)


def test_every_expression_has_an_example_above() -> None:
    answers = [text for text, kind in BY_CLASS if kind != "answered"]
    answers += [answer for _, answer, _ in [*BY_QUESTION, *OTHER_DENIALS]]
    folded = [folded_with_places(answer)[0] for answer in answers]
    tried = [(text, answer_patterns().worth_trying(text)) for text in folded]
    unused = [
        f"{pattern.name}: {expression.line}"
        for pattern in answer_patterns().patterns
        for expression in pattern.expressions
        if not any(expression in those and expression.compiled.search(text) for text, those in tried)
    ]
    assert unused == []


def question_and_answer(tail: str) -> tuple[str, str]:
    if tail.isascii():
        return "What is the fee?", f"The fee is 50 euros. {tail}"
    return "运费是多少？", f"标准运费是8元。{tail}"


@pytest.mark.parametrize("courtesy", TABLES["courtesies"])
def test_a_courtesy_at_the_end_asks_nothing_back(courtesy: str) -> None:
    question, answer = question_and_answer(courtesy)
    assert classify_answer(answer, question).kind == "answered"


@pytest.mark.parametrize("asked_back", TABLES["questions_back"])
def test_a_question_that_must_be_answered_first_asks_back(asked_back: str) -> None:
    question, _ = question_and_answer(asked_back)
    assert classify_answer(asked_back, question).kind == "asks_back"


@pytest.mark.parametrize(
    ("question", "answer"), [*TABLES["people_who_do_not_know"], *TABLES["facts_that_deny"]]
)
def test_that_somebody_else_does_not_know_or_a_fact_that_denies_is_an_answer(
    question: str, answer: str
) -> None:
    assert classify_answer(answer, question).kind == "answered"


@pytest.mark.parametrize(("question", "answer", "kind"), TABLES["no_answers"])
def test_who_declines_for_himself_does_not_answer(question: str, answer: str, kind: str) -> None:
    assert classify_answer(answer, question).kind == kind
