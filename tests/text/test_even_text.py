"""Numbers have one form, their value, in whatever way they are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.text.normalisation import comparable
from rag_evaluation_framework.text.numbers import even_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("二〇二四年有三只", "2024年有3只"),
        ("第十二章", "第12章"),
        ("twenty-one steps", "21 steps"),
        ("1,200 of them", "1200 of them"),
        ("百分之五", "5%"),
        ("下午3点20分", "3:20 pm"),
        ("at 15:20", "at 3:20 pm"),
        ("at 5:30 pm", "at 5:30 pm"),
        ("at 5:30", "at 5:30"),  # of which half of the day is not told
        ("€120", "120 euro"),
        ("三月十五日", "3月15日"),
        ("March 4th", "march 4"),
        # words, names and guesses
        ("一起走", "一起走"),
        ("小五来了", "小五来了"),
        ("两三天", "两三天"),
        ("the first one", "the first one"),
    ],
)
def test_a_number_is_written_as_its_value(text: str, expected: str) -> None:
    assert even_text(text) == expected


@given(st.text(alphabet="abc 。，是的"))
def test_a_text_without_numbers_is_only_made_comparable(text: str) -> None:
    assert even_text(text) == comparable(text)
