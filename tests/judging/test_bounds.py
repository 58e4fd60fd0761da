"""A number may be said so that others are meant."""

from __future__ import annotations

from time import perf_counter

import pytest

from rag_evaluation_framework.judging.words.bounds import admits, bounds
from rag_evaluation_framework.text.numbers import quantities


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("more than 200", 240, 150),
        ("over $200", 240, 150),
        ("no less than 200", 240, 150),
        ("200 people or more", 240, 150),
        ("200+", 240, 150),
        ("less than 200", 150, 240),
        ("no more than 200", 150, 240),
        ("200 or fewer", 150, 240),
        ("up to two hundred", 150, 240),
        ("about 200", 195, 240),
        ("~200", 205, 150),
        ("the 1990s", 1994, 1989),
        ("the 1900s", 1950, 2001),
        ("超过200人", 240, 150),
        ("不超过200人", 150, 240),
        ("200多人", 240, 150),
        ("200人以上", 240, 150),
        ("不到200人", 150, 240),
        ("约200人", 195, 240),
        ("200公里左右", 205, 150),
        ("3年多", 3.5, 2),
        ("两个多月", 2.5, 1),
        ("3天内", 2, 5),
        ("within 3 days", 2, 5),
        ("over 100 years ago", 120, 80),
        ("since about 1950", 1952, 1995),
        ("around 1450", 1447, 1380),
        ("约1950年", 1953, 1960),
        ("about 1500 people", 1400, 1300),
        ("was about 1500", 1400, 1300),
    ],
)
def test_a_number_with_a_bound_admits_what_is_within_it(text: str, inside: float, outside: float) -> None:
    (number,) = quantities(text)
    room = bounds(text, number)
    assert room.leave_room
    assert room.admit(number._replace(values=(float(inside),)))
    assert not room.admit(number._replace(values=(float(outside),)))


@pytest.mark.parametrize(
    "text",
    [
        "200",
        "exactly 200 people",
        "200人",
        "the 200 seats",
        "2019年多地出现暴雨",
        "二〇一九年多地出现暴雨",
        "3天多云",
        "2019年以上海为中心",
        "It was signed over 3 meetings.",
    ],
)
def test_a_plain_number_admits_only_itself(text: str) -> None:
    (number,) = quantities(text)
    room = bounds(text, number)
    assert not room.leave_room
    assert room.admit(number)
    assert not room.admit(number._replace(values=(number.values[0] + 1,)))


def test_a_percentage_admits_no_plain_number() -> None:
    (percent,), (number,) = quantities("more than 20 %"), quantities("30")
    assert not bounds("more than 20 %", percent).admit(number)


@pytest.mark.parametrize(
    ("text", "other", "is_admitted"),
    [
        ("more than 200", "240", True),
        ("more than 200", "about 240", True),
        ("more than 200", "more than 240", False),
        ("longer than 12 metres", "up to 15 metres", False),
        ("240", "240", False),
        # What is measured is compared in one unit, and only with the same measure.
        ("over 2 hours", "140 minutes", True),
        ("over 2 hours", "95 minutes", False),
        ("over 2 hours", "95 rooms", False),
        ("4000多米", "4200米", True),
        ("4000多米", "3200米", False),
        # What is counted is the same, whatever is said of it.
        ("more than 300 employees", "340 full-time employees in 12 countries", True),
        ("about 40 people", "37 houses", False),
        ("about 40 people", "37", False),
        ("200 or more people", "240 people", True),
        ("2000多名学生", "2300名学生", True),
        ("200多名教师", "2300名学生", False),
        ("less than $5", "4.99 dollars", True),
        ("less than $5", "4.99 euros", False),
        # Of several, the one in the clause that speaks of the same counts.
        ("门票不到100元", "门票120元，索道80元", False),
        ("索道不到100元", "门票120元，索道80元", True),
        ("Adults pay less than 100.", "Adults pay 120 and children pay 80.", False),
        ("Children pay less than 100.", "Adults pay 120 and children pay 80.", True),
        # A cap is what a rule allows: it is the same, or another.
        ("up to $500", "$300", False),
        ("不超过20公里", "5公里", False),
        ("5天以内", "3天内", False),
        ("less than 5 days", "within 3 days", False),
        # Years have a few years of room.
        ("founded around 1900", "founded in 1903 by Lang", True),
        ("founded around 1900", "founded in 1876 by Lang", False),
        ("opened in the 1980s", "opened in 1987", True),
        ("opened in the 1980s", "In 1987 Lang opened it.", True),
        ("opened in the 1980s", "1985 seats", False),
        # An hour may be one of both halves of the day.
        ("opens at 8 on Sundays", "8:00-14:00", True),
        ("opens at 8 on Sundays", "20:00", True),
        ("closes at 14", "8:00-14:00", True),
        ("opens at 9 on Sundays", "8:00-14:00", False),
        ("opens at 8 in the morning", "20:00", False),
        ("sold at 8 shops", "8:00", False),
    ],
)
def test_a_number_leaves_room_for_what_is_said_of_the_same(text: str, other: str, is_admitted: bool) -> None:
    (said,) = quantities(text)
    assert admits(text, said, other, quantities(other)) is is_admitted


def test_a_text_of_many_numbers_is_read_once() -> None:
    text = ", ".join(f"{number} people in room {number}" for number in range(1_000, 3_000))
    (said,) = quantities(claim := "More than 9,999 people attended")
    start = perf_counter()
    assert not admits(claim, said, text, quantities(text))
    assert perf_counter() - start < 2
