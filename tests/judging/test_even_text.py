"""Dates, times of day, sums, units and names have one form, in whatever way they are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.text.numbers import (
    comparable_names,
    even_text,
    with_dates,
    with_times,
    with_units,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3 May 2024", "May 3 2024"),
        ("3 may 2024", "May 3 2024"),
        ("May 3rd, 2024", "May 3 2024"),
        ("the 3rd of may", "the May 3"),
        ("12 aug. 2025", "august 12 2025"),
        ("sept 1", "september 1"),
        ("march 1998", "march 1998"),
        ("2024-05-03", "May 3 2024"),
        ("2024/5/3", "May 3 2024"),
        ("2024.5.3", "May 3 2024"),
        ("2024年5月3日", "May 3 2024"),
        ("5月3号", "May 3"),
        ("在2024年5月开学", "在May 2024 开学"),
        ("12月份", "december"),
        ("2024-03", "march 2024"),
        ("2024/3", "march 2024"),
        ("2024-25", "2024-25"),  # two years
        ("3-5月", "march 到May"),
        ("3月-5月", "march 到May"),
        ("2024年3至5月", "march 2024 到May"),
        ("3、4月", "march、april"),
        ("1、2和3月", "january、february 和march"),
        ("in may", "in May"),
        ("may to july", "May to july"),
        ("may", "May"),
        ("you may go", "you may go"),
        ("3 may enter", "3 may enter"),
        ("march 5:30", "march 5:30"),
        ("2024-13-03", "2024-13-03"),  # no month
        ("5/3/2024", "5/3/2024"),  # two readings
        ("2.5月", "2.5月"),  # two and a half months
        ("3个月", "3个月"),
    ],
)
def test_a_date_has_one_form(text: str, expected: str) -> None:
    assert with_dates(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("下午3点", "3:00 pm"),
        ("下午3:30开", "3:30 pm 开"),
        ("网上7:30", "网上7:30"),
        ("上午9点到下午6点", "9:00 am 到6:00 pm"),
        ("下午3点至5点", "3:00 pm 至5:00 pm"),
        ("晚上12点", "12:00 am"),
        ("21点", "9:00 pm"),
        ("9点开门", "9:00开门"),  # the half of the day is left open
        ("3点建议", "3点建议"),
        ("9 in the morning", "9 am"),
        ("9:30 at night", "9:30 pm"),
        ("at noon", "at 12:00 pm"),
        ("in the afternoon", "in the afternoon"),
    ],
)
def test_a_time_of_day_has_one_form(text: str, expected: str) -> None:
    assert with_times(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("€200", "200 euro"),
        ("eur 200", "200 euro"),
        ("200欧元", "200 euro"),
        ("us$5", "5 dollar"),
        ("$5每天10元", "5 dollar 每天10 yuan"),
        ("$1.5m", "$1.5m"),
        ("5-dollar bill", "5 dollar bill"),
        ("人民币100元", "100 yuan"),
        ("100元人民币", "100 yuan"),
        ("30块钱", "30 yuan"),
        ("每天30块。", "每天30 yuan。"),
        ("30块蛋糕", "30块蛋糕"),  # pieces of cake
        ("2024元旦", "2024元旦"),  # New Year's Day
        ("费用¥100", "费用100 yuan"),
        ("¥100", "100 yen"),
        ("多少元", "多少yuan"),
        ("$5m", "$5m"),  # millions
        ("usd 5m", "usd 5m"),
        ("5 bucks", "5 dollar"),
        ("5 kilometers", "5 kilometre"),
        ("how many kilometers", "how many kilometres"),
        ("5 km", "5 kilometre"),
        ("5m", "5 metre"),
        ("2h", "2 hour"),
        ("2 kilos", "2 kilogram"),
        ("12 inches", "12 inch"),
        ("45 minutes", "45 minute"),
        ("one hour", "one hour"),
        ("1 second", "1 seconds"),
        ("one second", "one seconds"),  # "second" is an ordinal
        ("the second", "the second"),
        ("5公里", "5 kilometre"),
        ("10多公里", "10多 kilometre"),
        ("2个小时", "2 hour"),
        ("3个多小时", "3多 hour"),
        ("3个钟头", "3 hour"),
        ("几个小时", "几hour"),
        ("两三个小时", "两三hour"),
        ("十分钟", "10 minute"),
        ("十分钟情", "十分钟情"),  # very fond of
        ("5分", "5分"),  # minutes, or points
        ("3天", "3天"),
        ("4 kgx", "4 kgx"),
    ],
)
def test_sums_and_measures_have_one_form(text: str, expected: str) -> None:
    assert with_units(text) == expected


@pytest.mark.parametrize(
    ("beside", "expected"),
    [
        ("100元", "100 yuan"),
        ("100 RMB", "100 yuan"),
        ("RMB100", "100 yuan"),
        ("100 yen", "100 yen"),
        ("", "100 yen"),
    ],
)
def test_the_text_beside_tells_whose_money_it_is(beside: str, expected: str) -> None:
    assert even_text("￥100", beside=beside) == expected


@pytest.mark.parametrize(
    ("text", "beside", "expected"),
    [
        ("5分", "5分钟", "5 minute"),
        ("5分", "5 minutes", "5 minute"),
        ("3分", "第5分钟得了3分", "3分"),  # which has points too
        ("5分", "5分", "5分"),
    ],
)
def test_the_text_beside_tells_whether_they_are_minutes(text: str, beside: str, expected: str) -> None:
    assert even_text(text, beside=beside) == expected


@pytest.mark.parametrize(
    ("text", "beside", "expected"),
    [
        ("Ask IT about it.", "", "ask IT about it."),
        ("Will Smith will come.", "", "Will smith will come."),
        ("It will rain.", "", "it will rain."),
        ("It is in May.", "", "it is in May."),
        ("May I go? You may.", "", "may i go? you may."),
        ("IT IS OPEN", "", "it is open"),  # in capitals throughout
        ("IT", "", "IT"),
        ("It costs US$5.", "", "it costs us$5."),
        ("us", "US won.", "US"),  # without any capital
        ("They told us.", "US won.", "they told us."),
        ("In the us. It is big.", "", "in the US. it is big."),
        ("May won.", "", "may won."),
        ("May won.", "It was May.", "May won."),  # not the capital of the sentence alone
        ("MAY WON.", "It was May.", "May won."),
        ("May I help?", "It was May.", "may i help?"),
        ("In May he won.", "", "in May he won."),
    ],
)
def test_a_name_that_is_spelt_like_grammar_keeps_its_capitals(text: str, beside: str, expected: str) -> None:
    assert comparable_names(text, beside=beside) == expected


@given(st.text(alphabet="只个小是有的阿尤,。 abcxyz'", max_size=30))
def test_a_text_without_any_of_them_stays_as_it_is(text: str) -> None:
    assert even_text(text) == comparable_names(text)
