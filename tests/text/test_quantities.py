"""Numbers are compared as values, however they are written."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework.text.normalisation import comparable
from rag_evaluation_framework.text.numbers import even_text, quantities

TABLES = tables_beside(__file__)


@pytest.mark.parametrize(("text", "values"), TABLES["a_number_has_one_value_however_it_is_written"])
def test_a_number_has_one_value_however_it_is_written(text: str, values: list[float]) -> None:
    assert [quantity.values for quantity in quantities(text)] == [(float(value),) for value in values]


def test_an_m_is_a_million_or_a_metre() -> None:
    assert [quantity.values for quantity in quantities("2m")] == [(2_000_000.0, 2.0)]


def test_number_words_that_go_on_and_on_have_values_that_are_numbers() -> None:
    found = quantities("hundred " * 1000 + "million one " * 1000)
    assert found
    assert all(math.isfinite(value) for quantity in found for value in quantity.values)


@pytest.mark.parametrize(
    "text", ["25%", "25 %", "25 percent", "25 per cent", "twenty-five percent", "百分之二十五"]
)
def test_percentages_are_a_kind_of_their_own(text: str) -> None:
    assert [(quantity.values, quantity.kind) for quantity in quantities(text)] == [((25.0,), "percent")]


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("5 pm", [(17 * 60,)]),
        ("5:30PM", [(17 * 60 + 30,)]),
        ("12 am", [(0,)]),
        ("12 p.m.", [(12 * 60,)]),
        ("17:0-21:0", [(17 * 60,), (21 * 60,)]),
        ("9:30", [(9 * 60 + 30, 21 * 60 + 30)]),  # morning or evening is not said
        ("19:18:59", [(19 * 60 + 18,)]),
    ],
)
def test_times_of_day_are_minutes_with_both_readings_where_the_half_is_open(
    text: str, readings: list[tuple[int, ...]]
) -> None:
    found = quantities(text)
    assert [quantity.values for quantity in found] == readings
    assert {quantity.kind for quantity in found} == {"time"}


@pytest.mark.parametrize("text", ["[1]", "[1, 2]", "passage 3", "Passages 2 and 3", "step 4", "none", "万"])
def test_markers_and_numbers_of_passages_are_no_numbers(text: str) -> None:
    assert quantities(text) == []


@pytest.mark.parametrize("text", ["one", "First", "一"])
def test_words_that_may_not_be_meant_as_numbers_are_vague(text: str) -> None:
    assert [quantity.is_vague for quantity in quantities(text)] == [True]


@given(st.integers(0, 10**12))
def test_commas_do_not_change_a_number(number: int) -> None:
    assert quantities(f"{number:,}")[0].values == quantities(str(number))[0].values == (float(number),)


@given(st.text(alphabet=st.sampled_from("0159,.:-%apm kbnoe三百万亿第[] ２")))
def test_values_are_finite_and_places_exact(text: str) -> None:
    for quantity in quantities(text):
        assert all(math.isfinite(value) for value in quantity.values)
        assert 0 <= quantity.start < quantity.end <= len(text)


@pytest.mark.parametrize(
    ("text", "times"),
    [
        *TABLES["chinese_hours_with_the_part_of_the_day_are_times"],
        ("下午3点", [15 * 60]),
        ("下午 3 点钟", [15 * 60]),
        ("晚上九点半", [21 * 60 + 30]),
        ("早上8点一刻", [8 * 60 + 15]),
        ("上午9点30分", [9 * 60 + 30]),
        ("下午三点五分", [15 * 60 + 5]),
        ("上午9点至下午6点", [9 * 60, 18 * 60]),
        ("下午3点20分到5点", [15 * 60 + 20, 17 * 60]),
        ("中午12点", [12 * 60]),
        ("中午1点", [13 * 60]),
        ("深夜两点", [2 * 60]),
        ("18時30分", [18 * 60 + 30]),
    ],
)
def test_chinese_hours_with_the_part_of_the_day_are_times(text: str, times: list[int]) -> None:
    found = [quantity for quantity in quantities(text) if quantity.kind == "time"]
    assert [quantity.values for quantity in found] == [(float(time),) for time in times]
    assert all(quantity.also and quantity.also[0] == "number" for quantity in found)


def test_a_chinese_time_has_all_its_characters_and_the_hour_that_is_written() -> None:
    (time,) = quantities("泳池下午3点20分开放")
    assert ((time.start, time.end), time.also) == ((2, 9), ("number", 3.0))


def test_chinese_hours_alone_are_numbers_that_may_be_times() -> None:
    assert [(each.kind, each.values, each.also) for each in quantities("3点10分")] == [
        ("number", (3.0,), ("time", 190.0)),
        ("number", (10.0,), ("time", 190.0)),
    ]


@pytest.mark.parametrize(("text", "expected"), TABLES["a_number_is_written_as_its_value"])
def test_a_number_is_written_as_its_value(text: str, expected: str) -> None:
    assert even_text(text) == expected


@given(st.text(alphabet="abc 。，是的"))
def test_a_text_without_numbers_is_only_made_comparable(text: str) -> None:
    assert even_text(text) == comparable(text)
