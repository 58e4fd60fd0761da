"""YAML: the same meaning as JSON, a line for every value, and no bombs."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import InputError, Issue
from rag_evaluation_framework.errors import LimitExceededError
from rag_evaluation_framework.files import yaml_documents
from rag_evaluation_framework.files.json_scanner import MAX_DEPTH
from rag_evaluation_framework.files.yaml_documents import YamlReader, decode, decode_with_lines, encode

TABLES = tables_beside(__file__)

# What the word on the left means, by the core schema of YAML 1.2.
WORDS: list[tuple[str, Any]] = TABLES["words"]


@pytest.mark.parametrize(("word", "value"), WORDS)
def test_a_plain_word_means_what_yaml_1_2_says(word: str, value: Any) -> None:
    read = decode(f"a: {word}\n")["a"]
    assert read == value
    assert type(read) is type(value)


REFUSED: list[tuple[str, str]] = [
    *TABLES["refused"],
    ("a: " + "1" * 4301, "an integer of at most 4300 digits"),
    ("\nb: \ud800", "s.yaml:2: expected the character escaped"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_json_could_not_mean_is_refused_with_file_and_line(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        decode(text, file="s.yaml")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_parser_without_libyaml_means_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_documents.yaml, "CSafeLoader", None)
    for word, value in WORDS:
        assert decode(f"a: {word}\n") == {"a": value}
    for text, message in REFUSED:
        with pytest.raises(InputError) as caught:
            decode(text, file="s.yaml")
        assert message in str(caught.value)
    with pytest.raises(LimitExceededError, match="at most 200 levels"):
        decode("[" * 1_000)


def test_bytes_that_are_not_utf8_are_refused_with_their_offset() -> None:
    with pytest.raises(InputError, match=r"s\.yaml:2: expected UTF-8 text, got .* \(byte 0xff at byte 8\)"):
        decode(b"a: 1\nb: \xff", file="s.yaml")


def test_an_empty_document_is_null() -> None:
    assert decode("") is None
    assert decode("# only a comment\n") is None
    assert decode("\ufeffa: 1") == {"a": 1}


def test_every_value_has_its_line_and_aliases_the_lines_of_what_they_stand_for() -> None:
    text = "# agent\nspec:\n  datasets:\n    - path: &p\n        [x,\n         y]\n    - path: *p\nname: z\n"
    value, lines = decode_with_lines(text)
    assert value == {"spec": {"datasets": [{"path": ["x", "y"]}, {"path": ["x", "y"]}]}, "name": "z"}
    assert lines == {
        (): 2,
        ("spec",): 3,
        ("spec", "datasets"): 4,
        ("spec", "datasets", 0): 4,
        ("spec", "datasets", 0, "path"): 4,
        ("spec", "datasets", 0, "path", 0): 5,
        ("spec", "datasets", 0, "path", 1): 6,
        ("spec", "datasets", 1): 7,
        ("spec", "datasets", 1, "path"): 4,
        ("spec", "datasets", 1, "path", 0): 5,
        ("spec", "datasets", 1, "path", 1): 6,
        ("name",): 8,
    }


def test_aliases_give_values_of_their_own() -> None:
    value = decode("a: &x {k: [1]}\nb: *x\nc: &x 5\nd: *x")
    assert value == {"a": {"k": [1]}, "b": {"k": [1]}, "c": 5, "d": 5}
    value["a"]["k"].append(2)
    assert value["b"] == {"k": [1]}


def test_an_alias_bomb_of_a_few_hundred_bytes_is_refused() -> None:
    levels = ["a0: &a0 [x,x,x,x,x,x,x,x,x]"]
    levels += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
    bomb = "\n".join(levels)
    assert len(bomb) < 500
    with pytest.raises(LimitExceededError, match="aliases that expand to at most 100,000 values, got more"):
        decode(bomb, file="bomb.yaml")


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_a_nesting_bomb_is_one_clear_error(opening: str) -> None:
    for depth in (MAX_DEPTH + 1, 5_000, 100_000):
        with pytest.raises(InputError, match=r"at most 200 levels of nesting|string keys"):
            decode(opening * depth)


# -- properties ---------------------------------------------------------------------------------------

TEXTS = (
    st.text(st.characters(exclude_categories=["Cs"]))
    | st.sampled_from(["-", *(word for word, _ in WORDS)])
    | st.text(st.sampled_from(" \n\t\r:#-'\"|>&*!%@`,[]{}?ab0.~\x85\u2028\ufeff\x00文😀"), max_size=12)
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
    | st.text(st.sampled_from("ab \n"), max_size=200),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_what_is_written_reads_back_equal(value: Any) -> None:
    text = encode(value)
    read, lines = decode_with_lines(text)
    assert read == value
    assert repr(read) == repr(value)
    assert max(lines.values()) <= text.count("\n")


@given(VALUES)
def test_yaml_1_1_readers_read_what_is_written_too(value: Any) -> None:
    assert yaml.safe_load(encode(value)) == value


@given(VALUES.filter(lambda value: "\x7f" not in str(value)))
@example(
    {"😀": r"\ud83d\ude00 \\ 😀😀"}
)  # of YAML alone, pairs of escapes are refused, and those in '' are text
def test_ascii_json_means_the_same_read_as_yaml(value: Any) -> None:
    text = json.dumps(value)
    if len(text) < 1000:
        assert decode(text) == value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [math.nan]}, r"a\[0\]: expected a finite number"),
        ({"a": "\ud800"}, "a: expected a string of Unicode characters"),
        ({1: 2}, "expected string keys"),
        ({"a": object}, "a: expected null, a boolean"),
    ],
)
def test_what_yaml_and_json_do_not_both_hold_is_not_written(value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        encode(value)


def test_written_yaml_is_pleasant_to_read() -> None:
    value = TABLES["value"]
    assert encode(value) == (
        "name: 文 é 😀\n'on': 'yes'\nnotes: |-\n  first\n  second\ndate: '2024-01-15'\n"
        "list:\n- 1\n- '1'\n- 1.5\n- null\n"
    )


def test_all_values_that_cannot_be_held_are_named_even_where_the_rest_cannot_be_read() -> None:
    with pytest.raises(InputError) as error:
        yaml_documents.decode("a: .nan\nb: [1, .inf]\nc: !!int x\nc: 2", file="s.yaml")
    assert [issue.line for issue in error.value.issues] == [1, 2, 3, 4]
    assert [issue.code for issue in error.value.issues[-2:]] == ["unknown-tag", "duplicate-key"]


def test_noted_values_stay_as_they_are_written() -> None:
    value, lines, issues = yaml_documents.decode_noting("a: .nan\nb: 2", file="s.yaml")
    assert (value, lines[("b",)]) == ({"a": ".nan", "b": 2}, 2)
    assert list(map(str, issues)) == ["s.yaml:1: a: expected a finite number, got '.nan'"]


# Values read from YAML by their paths: right ones as they are, wrong ones noted with their lines.

Reading = Callable[[YamlReader], Any]

TEXT = TABLES["text"]


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
        (lambda r: r.text("missing"), "", 'line 1: "missing" is missing; expected text'),
        (lambda r: r.text("blank"), "", "line 2: blank: expected text, got ' '"),
        (lambda r: r.optional_text("number"), None, "line 3: number: expected text, got 3"),
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
            "line 8: nothing: expected a mapping, got an empty mapping",
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
        (lambda r: r.share("missing"), 0.0, 'line 1: "missing" is missing; expected a number from 0 to 1'),
        (lambda r: r.true_or_false("number"), False, "line 3: number: expected true or false, got 3"),
        (
            lambda r: r.text("inner", "list", 0, "id"),
            "",
            'line 11: "inner.list[0].id" is missing; expected text',
        ),
    ],
)
def test_a_value_that_is_wrong_is_noted_once_with_its_line_and_read_as_its_default(
    reading: Reading, value: Any, problem: str
) -> None:
    assert read(reading) == (value, [problem])


KEYS = "wieght: 1\nwait: 1\nmetadata: 1\n"


@pytest.mark.parametrize(
    ("strict", "problems"), TABLES["unknown_keys_are_noted_where_none_is_allowed_and_else_only_slips"]
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
        "a.yaml:3: number: expected text, got 3",
    ]
