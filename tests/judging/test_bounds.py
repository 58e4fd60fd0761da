"""A number may be said so that others are meant."""

from __future__ import annotations

import pytest

from rag_evaluation_framework.judging.words.bounds import admits, bounds
from rag_evaluation_framework.judging.words.quantities import quantities


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
    ],
)
def test_a_number_with_a_bound_admits_what_is_within_it(text: str, inside: float, outside: float) -> None:
    (number,) = quantities(text)
    room = bounds(text, number)
    assert room.leave_room
    assert room.admit(number._replace(values=(float(inside),)))
    assert not room.admit(number._replace(values=(float(outside),)))


@pytest.mark.parametrize("text", ["200", "exactly 200 people", "200人", "the 200 seats"])
def test_a_plain_number_admits_only_itself(text: str) -> None:
    (number,) = quantities(text)
    room = bounds(text, number)
    assert not room.leave_room
    assert room.admit(number)
    assert not room.admit(number._replace(values=(201.0,)))


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
    ],
)
def test_a_number_leaves_room_for_what_is_no_limit_itself(text: str, other: str, is_admitted: bool) -> None:
    (said,), (held,) = quantities(text), quantities(other)
    assert admits(text, said, other, held) is is_admitted
