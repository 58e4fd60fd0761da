"""Values read from YAML by their paths: right ones as they are, wrong ones noted with their lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rag_evaluation_framework import InputError, Issue
from rag_evaluation_framework.files.yaml_documents import YamlReader

Reading = Callable[[YamlReader], Any]

TEXT = """\
name: "  ferry "
blank: " "
number: 3
share: 0.25
flag: true
words: [a, b, " a"]
empty: []
nothing: {}
inner:
  list:
    - {name: x}
"""


def read(reading: Reading, text: str = TEXT) -> tuple[Any, list[str]]:
    """Return what a reading gives, and the problems it noted."""
    reader = YamlReader(text)
    return reading(reader), [str(issue) for issue in reader.issues]


@pytest.mark.parametrize(
    ("reading", "value"),
    [
        (lambda r: r.text("name"), "ferry"),
        (lambda r: r.text("inner", "list", 0, "name"), "x"),
        (lambda r: r.optional_text("missing"), None),
        (lambda r: r.texts("words", expected="a list of words"), ("a", "b")),
        (lambda r: r.items("inner", "list", expected="a list"), [{"name": "x"}]),
        (lambda r: r.mapping("missing"), {}),
        (lambda r: r.mapping("nothing"), {}),
        (lambda r: r.whole_number("number"), 3),
        (lambda r: r.whole_number("missing", default=1), 1),
        (lambda r: r.share("share"), 0.25),
        (lambda r: r.share("missing", default=0.5), 0.5),
        (lambda r: r.true_or_false("flag"), True),
        (lambda r: r.true_or_false("missing"), False),
        (lambda r: r.at("inner", "list", 5, "name"), None),
    ],
)
def test_a_value_that_is_right_is_read_without_a_problem(reading: Reading, value: Any) -> None:
    assert read(reading) == (value, [])


@pytest.mark.parametrize(
    ("reading", "value", "problem"),
    [
        (lambda r: r.text("missing"), "", "line 1: missing: expected a text, got nothing"),
        (lambda r: r.text("blank"), "", "line 2: blank: expected a text, got ' '"),
        (lambda r: r.optional_text("number"), None, "line 3: number: expected a text, got 3"),
        (
            lambda r: r.texts("empty", expected="a list of x"),
            (),
            "line 7: empty: expected a list of x, got an empty list",
        ),
        (lambda r: r.texts("name", expected="a list"), (), "line 1: name: expected a list, got '  ferry '"),
        (lambda r: r.mapping("number"), {}, "line 3: number: expected a mapping, got 3"),
        (
            lambda r: r.mapping("nothing", required=True),
            {},
            "line 8: nothing: expected a mapping, got nothing",
        ),
        (
            lambda r: r.whole_number("flag"),
            1,
            "line 5: flag: expected a whole number of at least 1, got True",
        ),
        (
            lambda r: r.whole_number("share"),
            1,
            "line 4: share: expected a whole number of at least 1, got 0.25",
        ),
        (lambda r: r.share("number"), 0.0, "line 3: number: expected a number from 0 to 1, got 3"),
        (lambda r: r.share("missing"), 0.0, "line 1: missing: expected a number from 0 to 1, got nothing"),
        (lambda r: r.true_or_false("number"), False, "line 3: number: expected true or false, got 3"),
        (
            lambda r: r.text("inner", "list", 0, "id"),
            "",
            "line 11: inner.list[0].id: expected a text, got nothing",
        ),
    ],
)
def test_a_value_that_is_wrong_is_noted_once_with_its_line_and_read_as_its_default(
    reading: Reading, value: Any, problem: str
) -> None:
    assert read(reading) == (value, [problem])


KEYS = "wieght: 1\nwait: 1\nmetadata: 1\n"


@pytest.mark.parametrize(
    ("strict", "problems"),
    [
        (False, ["line 1: there is no key wieght in the file. Did you mean weight?"]),
        (
            True,
            [
                "line 1: there is no key wieght in the file. Did you mean weight?",
                "line 2: there is no key wait in the file. Did you mean weight?",
                "line 3: there is no key metadata in the file. There are name, weight.",
            ],
        ),
    ],
)
def test_unknown_keys_are_noted_where_none_is_allowed_and_else_only_slips(
    strict: bool, problems: list[str]
) -> None:
    assert read(lambda r: r.check_keys(("name", "weight"), strict=strict), KEYS) == (None, problems)


def test_a_key_beside_the_one_it_resembles_is_no_slip() -> None:
    assert read(lambda r: r.check_keys(("metrics",)), "metrics: []\nmetric: 1\n") == (None, [])


def test_all_problems_are_raised_in_the_order_of_the_lines_with_the_file() -> None:
    reader = YamlReader(TEXT, file="a.yaml")
    reader.text("number")
    reader.problems(("name",), InputError([Issue("odd", "a ship", "a ferry")]))
    with pytest.raises(InputError) as caught:
        reader.raise_all()
    assert [str(issue) for issue in caught.value.issues] == [
        "a.yaml:1: name: expected a ship, got a ferry",
        "a.yaml:3: number: expected a text, got 3",
    ]
