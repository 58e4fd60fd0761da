"""The language of components reads back what it writes."""

from __future__ import annotations

import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import UsageError
from rag_evaluation_framework.extensions import Specification, built, parse_specification

TABLES = tables_beside(__file__)


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        *TABLES["read"],
        (
            "semantic(embedder=openai(model=m), k=2)",
            "semantic",
            {"embedder": Specification("openai", {"model": "m"}), "k": 2},
        ),
    ],
)
def test_specifications_are_read(text: str, name: str, arguments: dict[str, Any]) -> None:
    assert parse_specification(text) == Specification(name, arguments)


@pytest.mark.parametrize(("text", "message"), TABLES["wrong"])
def test_a_wrong_specification_says_where(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_specification(text)


class Kettle:
    def __init__(
        self, litres: float, *, steps: int = 1, colour: str | None = None, clock: object = None
    ) -> None:
        self.said = (litres, steps, colour, clock)


def test_a_component_is_built_from_its_settings_and_from_what_is_given() -> None:
    kettle = built(Kettle, {"litres": 2, "colour": None}, of="kettle", given={"clock": "now"})
    assert kettle.said == (2, 1, None, "now")


def test_all_wrong_settings_of_a_component_are_named_with_those_it_has() -> None:
    arguments = {"liters": 1, "steps": True, "colour": 3, "clock": "x", "zzz": 1}
    with pytest.raises(UsageError) as caught:
        built(Kettle, arguments, of="kettle 'x'", given={"clock": "now"})
    assert str(caught.value).splitlines() == [
        "kettle 'x': there is no setting \"liters\". Did you mean litres?",
        "kettle 'x': there is no setting \"clock\". Did you mean colour?",
        "kettle 'x': there is no setting \"zzz\". There are colour, litres and steps.",
        "kettle 'x': expected the setting litres, got none",
        "kettle 'x': expected steps to be a whole number, got True",
        "kettle 'x': expected colour to be a text or none, got 3",
    ]


names = st.text(string.ascii_lowercase + "_", min_size=1).filter(
    lambda name: name not in ("true", "false", "none")
)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.builds(
        Specification, names, st.dictionaries(names, children, min_size=1, max_size=3)
    ),
    max_leaves=5,
)


@given(names, st.dictionaries(names, values, max_size=4))
def test_what_is_written_reads_back(name: str, arguments: dict[str, Any]) -> None:
    specification = Specification(name, arguments)
    again = parse_specification(str(specification))
    assert again == specification
    assert str(again) == str(specification)
    assert [type(value) for value in again.arguments.values()] == [
        type(value) for value in arguments.values()
    ]
