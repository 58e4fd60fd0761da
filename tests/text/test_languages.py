"""In which language a text is: told where it is sure, and never of English or Chinese that it is another."""

from __future__ import annotations

import pytest
from benchmarks.languages import english_and_chinese_texts
from hypothesis import given
from hypothesis import strategies as st

import labelled_data
from cases import tables_beside
from rag_evaluation_framework.text import languages
from rag_evaluation_framework.text.languages import foreign_language, language_name, language_of

TABLES = tables_beside(__file__)
MEASURED = ("en", "zh")


@pytest.mark.parametrize("language", TABLES["sentences"])
def test_sentences_of_other_languages_are_told(language: str) -> None:
    assert {language_of(text) for text in TABLES["sentences"][language]} == {language}


def test_nine_in_ten_sentences_written_later_are_told_from_english_and_chinese() -> None:
    texts = [text for sentences in TABLES["later"].values() for text in sentences]
    found = [text for text in texts if foreign_language([text], MEASURED)]
    assert len(found) >= 0.9 * len(texts), set(texts) - set(found)


@pytest.mark.parametrize("text", TABLES["unsure"])
def test_names_numbers_and_scraps_are_not_told(text: str) -> None:
    assert language_of(text) is None


@pytest.mark.parametrize(
    ("text", "language"), TABLES["english_and_chinese_with_words_of_others_stay_what_they_are"]
)
def test_english_and_chinese_with_words_of_others_stay_what_they_are(text: str, language: str) -> None:
    assert language_of(text) == language


def test_one_text_in_a_measured_language_is_enough() -> None:
    german = "Die Brücke ist 340 Meter lang."
    assert foreign_language([german, "The bridge is 340 metres long."], MEASURED) is None
    assert foreign_language([german, "340"], MEASURED) == "German"
    assert foreign_language([], MEASURED) is None


def test_a_language_without_a_name_is_shown_by_its_code() -> None:
    assert language_name("de") == "German"
    assert language_name("xx") == "the language xx"


def test_hardly_any_english_or_chinese_text_is_taken_for_another_language() -> None:
    labelled_data.present("xstest")
    labelled_data.present("nomiracl")
    texts = english_and_chinese_texts(labelled_data.DATA)
    for language, found in texts.items():
        wrong = [text for text in found if foreign_language([text], MEASURED)]
        assert len(wrong) < 0.002 * len(found), (language, wrong[:5])


def test_the_model_is_not_asked_where_a_text_tells_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "_model", None)  # to ask it breaks
    plain, unsure = "The fee is due on the first of May.", "rice, olive oil, chicken stock, garlic salt"
    assert foreign_language([unsure, plain], MEASURED) is None
    with pytest.raises(TypeError):
        foreign_language([unsure], MEASURED)


@given(st.text(alphabet="ab Z'’9_.,-\n", max_size=40))
def test_words_of_typed_text_are_found_as_in_any_other(text: str) -> None:
    assert languages._words(text) == languages._WORD.findall(text)
