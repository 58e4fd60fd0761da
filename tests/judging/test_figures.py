"""Numbers that are written out become figures where they surely are numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.text.numbers import paired_as_in, with_figures


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("三只", "3只"),
        ("二〇二四年", "2024年"),
        ("二○二四年", "2024年"),
        ("第十二章", "第12章"),
        ("十只", "10只"),
        ("二十只", "20只"),
        ("十", "10"),
        ("三", "3"),
        ("百分之二十五", "25%"),
        ("三百二十万人", "3200000人"),
        ("1,000", "1000"),
        ("three million", "3000000"),
        ("twenty-one steps", "21 steps"),
        ("two thousand", "2000"),
        ("ten thousand people", "10000 people"),
        ("nineteen eighty-four", "1984"),
        ("2.50 kg", "2.5 kg"),
        ("百分之三点七五", "3.75%"),
        ("十点五", "10.5"),
        ("三台", "3台"),
        ("五公里", "5公里"),
        ("minus five", "-5"),
        ("零下五度", "-5度"),
        ("the twelfth", "the twelfth"),
        ("十分热情", "十分热情"),  # "very"
        ("一起", "一起"),
        ("五郎", "五郎"),
        ("小五只是孩子", "小五只是孩子"),
        ("两三只", "两三只"),  # two or three
        ("one of them", "one of them"),
        ("the first", "the first"),
        ("the 3rd", "the 3rd"),
        ("2024-01-02", "2024-01-02"),  # two numbers in one place
        ("5:30 pm", "5:30 pm"),
        ("at 9a.m.", "at 9 am."),
        ("5 m", "5 m"),  # metres or millions
        ("一个半小时", "1.5小时"),
        ("半小时,半个钟头", "0.5小时,0.5钟头"),
        ("两个半月", "2.5月"),
        ("two and a half hours", "2.5 hours"),
        ("七点半", "7:30"),
        ("七点三十分", "7:30"),
        ("九点一刻", "9:15"),
        ("half past twelve", "12:30"),
        ("quarter past 7", "7:15"),
        ("七点", "7点"),
        ("下午三点", "下午3点"),
        ("3比2", "3:2"),
        ("2021比2020多", "2021比2020多"),
        ("三点五", "3.5"),
        ("", ""),
    ],
)
def test_a_number_becomes_a_figure(text: str, expected: str) -> None:
    assert with_figures(text) == expected


@given(st.text(alphabet="只年个小是有的阿尤,。 abcxyz'", max_size=30))
def test_a_text_without_numbers_stays_as_it_is(text: str) -> None:
    assert with_figures(text) == text


@pytest.mark.parametrize(
    ("text", "other", "expected"),
    [
        ("3:2", "it was 3-2", "3 2"),
        ("3:16", "chapter 3, verse 16", "3 16"),
        ("3:2", "it was 2-3", "3:2"),  # the other way round
        ("3:2", "3:2", "3:2"),
        ("6:30", "5:30", "6:30"),
        ("9:30", "9 am", "9:30"),
        ("12:30", "12.3", "12.3"),
        ("1,5 kg", "1.5 kg", "1.5 kg"),
        ("1,2", "1 and 2", "1 2"),
        ("1,2,3", "1.2", "1,2,3"),
    ],
)
def test_two_numbers_that_are_joined_are_read_as_the_other_text_has_them(
    text: str, other: str, expected: str
) -> None:
    assert paired_as_in(other, text) == expected
