"""The language of components reads back what it writes."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import HttpAgent, UsageError
from rag_evaluation_framework.adapters.openai import OpenAIModel
from rag_evaluation_framework.components import TARGETS, target_from
from rag_evaluation_framework.evaluation.targets import PythonCallable, RecordedAnswers
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
        'kettle \'x\': unknown setting "liters". Did you mean "litres"?',
        'kettle \'x\': unknown setting "clock". Did you mean "colour"?',
        "kettle 'x': unknown setting \"zzz\". Available: colour, litres and steps.",
        "kettle 'x': the setting litres is missing",
        "kettle 'x': expected steps to be a whole number, got True",
        "kettle 'x': expected colour to be text or none, got 3",
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


# One text names the system under test.


def test_each_kind_of_text_names_its_kind_of_target(tmp_path: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    answers.write_text('{"id": "a", "answer": "A"}\n', encoding="utf-8")
    assert isinstance(target_from("http://localhost:4000"), HttpAgent)
    assert isinstance(target_from("http(url='http://h', protocol=openai-compatible)"), HttpAgent)
    assert isinstance(target_from(str(answers)), RecordedAnswers)
    assert isinstance(target_from("builtins:str.upper"), PythonCallable)
    assert isinstance(target_from("python(function='json:dumps')"), PythonCallable)
    assert isinstance(target_from('openai(model="m", base_url="http://h/v1")'), OpenAIModel)
    assert TARGETS.names() == ["http", "openai", "python", "recorded"]


@pytest.mark.parametrize(("text", "message"), TABLES["a_text_that_names_nothing_is_wrong_usage"])
def test_a_text_that_names_nothing_is_wrong_usage(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        target_from(text)
