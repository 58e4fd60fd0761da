"""The language of components reads back what it writes."""

from __future__ import annotations

import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.extensions import Specification, built, parse_specification


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("recursive(chunk_size=200, overlap=50)", "recursive", {"chunk_size": 200, "overlap": 50}),
        ("bm25", "bm25", {}),
        ("bm25()", "bm25", {}),
        ("openai(model=text-embedding-3-small)", "openai", {"model": "text-embedding-3-small"}),
        ("openai(base_url='http://localhost:1/v1')", "openai", {"base_url": "http://localhost:1/v1"}),
        ("x(a=true, b=False, c=none)", "x", {"a": True, "b": False, "c": None}),
        ("x(a=0.5, b=-1, c=1e-3, d=.5)", "x", {"a": 0.5, "b": -1, "c": 0.001, "d": 0.5}),
        (' x ( a = "b \\" c" , d = "" ) ', "x", {"a": 'b " c', "d": ""}),
        ("x(a=分词)", "x", {"a": "分词"}),
        (
            "semantic(embedder=openai(model=m), k=2)",
            "semantic",
            {"embedder": Specification("openai", {"model": "m"}), "k": 2},
        ),
    ],
)
def test_specifications_are_read(text: str, name: str, arguments: dict[str, Any]) -> None:
    assert parse_specification(text) == Specification(name, arguments)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a name at character 1, got the end"),
        ("x(", "expected a name at character 3, got the end"),
        ("x(a)", "expected '=' after a at character 4"),
        ("x(a=)", "expected a value at character 5"),
        ("x(a=1 b=2)", r"expected ',' or '\)' at character 7"),
        ("x(a=1, a=2)", "each argument once, not a again"),
        ("x(a=1) y", "expected nothing more at character 8"),
        ("x(a='b)", "expected a name, a value or one of"),
        ("x(a=" * 40, "at most 20 levels"),
        ("x(a=1,)", "expected a name at character 7"),
    ],
)
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
        "kettle 'x': unknown setting 'liters'; did you mean litres or steps?",
        "kettle 'x': unknown setting 'clock'; did you mean colour?",
        "kettle 'x': unknown setting 'zzz'; known: colour, litres, steps",
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
