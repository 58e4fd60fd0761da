"""The profanity screen: what it finds, behind which disguises, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks._toxicity import chinese_rows
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework.judging.profanity import screen_profanity

TABLES = tables_beside(__file__)


def words(text: str) -> list[str]:
    return [word.text for word in screen_profanity(text).words]


@pytest.mark.parametrize(("text", "found"), TABLES["words_are_found_behind_the_usual_disguises"])
def test_words_are_found_behind_the_usual_disguises(text: str, found: list[str]) -> None:
    assert sorted(words(text)) == sorted(found)


@pytest.mark.parametrize("text", TABLES["clean_words_that_contain_others_are_left_alone"])
def test_clean_words_that_contain_others_are_left_alone(text: str) -> None:
    assert words(text) == []


def test_a_sentence_counts_once_however_many_words_it_has() -> None:
    # Four sentences; the second has two words of the lexicon, the fourth one.
    screening = screen_profanity("Hello there. Shit, you bitch! It rains. 王八蛋。")
    assert (screening.sentences, screening.flagged, len(screening.words)) == (4, 2, 3)


@given(st.text(max_size=200))
def test_the_words_found_stand_where_they_are_said_to(text: str) -> None:
    screening = screen_profanity(text)
    assert 0 <= screening.flagged <= screening.sentences
    for word in screening.words:
        assert text[word.start : word.end] == word.text


@pytest.mark.parametrize("unit", ["*", "a*", "a.", "a b ", "f*", "$", "s!", "aaaa"])
def test_a_hostile_text_is_screened_in_one_pass(unit: str) -> None:
    # Work that grew with the square of the length would take minutes here.
    assert screen_profanity(unit * (100_000 // len(unit))).words == ()


def test_chinese_sentences_of_our_own_are_flagged_as_the_card_says() -> None:
    flagged, clean = chinese_rows(Path())
    assert (flagged.n, clean.n) == (30, 30)
    assert flagged.value >= 0.6
    assert clean.value == 0.0
