"""What a text talks about: stems, Chinese pairs, and what has no content."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework.text.tokens import (
    content_keys,
    content_tokens,
    tokens_with,
    without_junctures,
    words_in,
    words_of_parts,
)
from rag_evaluation_framework.text.vocabulary import stem

TABLES = tables_beside(__file__)


@pytest.mark.parametrize("forms", TABLES["forms_of_a_word_have_one_stem"])
def test_forms_of_a_word_have_one_stem(forms: str) -> None:
    assert len({stem(form) for form in forms.split()}) == 1


@pytest.mark.parametrize("words", ["business bus", "castle cast", "planet plane", "seat sea", "horse horn"])
def test_different_words_keep_different_stems(words: str) -> None:
    assert len({stem(word) for word in words.split()}) == 2


@pytest.mark.parametrize(
    ("text", "expected"), TABLES["content_is_what_remains_without_grammar_talk_markers_and_numbers"]
)
def test_content_is_what_remains_without_grammar_talk_markers_and_numbers(
    text: str, expected: list[str]
) -> None:
    assert [text[token.start : token.end] for token in content_tokens(text)] == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [("ＡＢＣ Tower", "abc tower"), ("龍的國家", "龙的国家"), ("CITY’s", "city's"), ("Ｃａｔ", "cats")],
)
def test_width_case_and_the_two_ways_of_writing_chinese_do_not_count(one: str, other: str) -> None:
    assert content_keys(one) == content_keys(other) != []


@given(st.text(alphabet=st.sampled_from("aBé'’ 1[]th.罗马的龍Ａ２&;")))
def test_tokens_stand_where_they_say_and_agree_with_the_keys(text: str) -> None:
    tokens = content_tokens(text)
    assert [token.text for token in tokens] == content_keys(text)
    for token in tokens:
        assert content_keys(text[token.start : token.end]) == [token.text]


# Where an ASCII text is cut, what stands beside a mark, and what has marks inside.
ASCII = st.text(alphabet=st.sampled_from("abStT '1234[]&;#_.,-/\n\x1c(\"th"))


@given(ASCII)
def test_an_ascii_text_is_read_as_if_there_were_other_characters_beside_it(text: str) -> None:
    *tokens, last = content_tokens(f"{text} café")
    assert (tokens, last.text) == (content_tokens(text), "café")


@given(st.one_of(ASCII, st.text(alphabet=st.sampled_from("aé 罗马.[1]"))), st.data())
def test_the_words_of_parts_are_those_of_each_part_alone(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    parts = list(pairwise(cuts))
    assert words_of_parts(text, parts) == [words_in(text[start:end]) for start, end in parts]


@given(st.one_of(ASCII, st.text(alphabet=st.sampled_from("aé 罗马.[1]"))), st.data())
def test_tokens_of_some_keys_are_those_of_all(text: str, data: st.DataObject) -> None:
    tokens = content_tokens(text)
    keys = data.draw(st.sets(st.sampled_from([token.text for token in tokens] or ["rome"])))
    assert tokens_with(keys, text) == [token for token in tokens if token.text in keys]


def test_pairs_that_only_join_known_and_new_characters_are_left_out() -> None:
    # 玛拉 and 拉妮 are known, and 热情; between them only 性格 is a word.
    tokens = content_tokens("玛拉妮性格热情")
    known = {"玛拉", "拉妮", "热情"}
    assert [token.text for token in without_junctures(tokens, known)] == ["玛拉", "拉妮", "性格", "热情"]
    # One new character alone is told by the pair it ends.
    assert [
        token.text for token in without_junctures(content_tokens("伙伴叫阿尤"), {"伙伴", "伴叫", "叫阿"})
    ] == [*("伙伴", "伴叫", "叫阿", "阿尤")]
