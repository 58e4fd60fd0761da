"""Strict JSON: what is accepted, what is refused and how, and that nothing is lost on the way."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import InputError
from rag_evaluation_framework.errors import LimitExceededError
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.json_scanner import MAX_DEPTH, comment_issues, scan, without_comments
from rag_evaluation_framework.files.strict_json import decode, encode

TABLES = tables_beside(__file__)

# Bytes stand in the tables as characters of Latin-1.
ACCEPTED: list[tuple[bytes, Any]] = [
    *((text.encode("latin-1"), value) for text, value in TABLES["accepted"]),
    (b"9" * 4300, 10**4300 - 1),
]
REFUSED: list[tuple[bytes, str]] = [
    *((text.encode("latin-1"), message) for text, message in TABLES["refused"]),
    (b"1" * 4301, "4301 digits"),
]


@pytest.mark.parametrize(("text", "value"), ACCEPTED)
def test_json_is_read_to_the_value_it_writes(text: bytes, value: Any) -> None:
    for read in (decode(text), scan(text)):
        assert read == value
        assert type(read) is type(value)
        assert not isinstance(value, float) or math.copysign(1, read) == math.copysign(1, value)


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_is_not_strict_json_is_refused_in_one_clear_line(text: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        decode(text, file="data.json")
    assert message in str(caught.value)
    assert re.match(r"data\.json:\d+: ", str(caught.value))
    assert len(caught.value.issues) == 1
    with pytest.raises(InputError):
        scan(text)


def test_an_error_names_file_line_path_and_column() -> None:
    with pytest.raises(InputError) as caught:
        decode(b'{\n "queries": [\n  {"id": 1},\n  {"id": tru}\n]}', file="set.json")
    assert (
        str(caught.value) == "set.json:4: invalid JSON: expected a JSON value, got 'tru' at column 10"
    )  # two spaces, then {"id": and a space


def test_lines_of_an_error_count_from_the_line_given() -> None:
    with pytest.raises(InputError, match=r"^log\.jsonl:17: invalid JSON: expected .*'x' at column 2"):
        decode(b"[x]", file="log.jsonl", line=17)


def test_text_with_half_a_surrogate_pair_is_refused_with_its_place() -> None:
    with pytest.raises(InputError, match=r"line 2: .*a lone surrogate at character 3"):
        decode('[\n"\ud800"]')


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'[{"a":'])
def test_a_nesting_bomb_is_one_clear_error_whatever_its_depth(opening: bytes) -> None:
    for depth in (MAX_DEPTH + 1, 900, 1_100, 5_000, 1_000_000):
        with pytest.raises(LimitExceededError, match="expected at most 200 levels of nesting, got more"):
            decode(opening * depth)


def test_nesting_up_to_the_limit_is_read_and_beyond_it_refused() -> None:
    def nested(depth: int) -> bytes:
        return b"[" * depth + b'"]]\\"]"' + b"]" * depth

    assert encode(decode(nested(MAX_DEPTH))) == nested(MAX_DEPTH)
    with pytest.raises(LimitExceededError):
        decode(nested(MAX_DEPTH + 1))


def test_wide_documents_are_not_taken_for_deep_ones() -> None:
    wide = [{"a": [{"b": "[[{{"}, {"c\\": '"[['}]}] * 500
    assert decode(encode(wide)) == wide


# -- properties ---------------------------------------------------------------------------------------

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=-(10**60), max_value=10**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


@given(VALUES, st.booleans(), st.sampled_from([None, 2]))
def test_what_is_written_reads_back_equal(value: Any, sort_keys: bool, indent: int | None) -> None:
    data = encode(value, sort_keys=sort_keys, indent=indent)
    assert decode(data) == value
    assert scan(data) == value
    assert json.loads(data) == value
    assert encode(value, sort_keys=sort_keys, indent=indent) == data


def exact_oracle(data: bytes) -> Any:
    """Read with the standard library, which sees every pair of an object and every constant."""

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(items)) != len(items):
            raise ValueError("duplicate key")
        return dict(items)

    def finite(word: str) -> float:
        if math.isinf(float(word)):
            raise ValueError("out of range")
        return float(word)

    def constant(word: str) -> float:
        raise ValueError(word)

    text = data.decode("utf-8").removeprefix("\ufeff")
    value = json.loads(text, object_pairs_hook=pairs, parse_float=finite, parse_constant=constant)
    json.dumps(value, ensure_ascii=False).encode("utf-8")  # lone surrogates fail here
    return value


COLON_KEYS = st.sampled_from(["a", ":", "\\", '"', "\\u003a", "é", ""])


def spelled(text: str, spelling: int) -> str:
    """Write a string as JSON in one of several spellings, with its colons escaped or not."""
    written = json.dumps(text, ensure_ascii=spelling % 2 == 0)
    return written.replace(":", ["\\u003a", "\\u003A", ":", ":"][spelling % 4])


@st.composite
def texts_with_repeated_keys(draw: st.DrawFn, depth: int = 3) -> str:
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return spelled(draw(COLON_KEYS), draw(st.integers(0, 3)))
    inner = [draw(texts_with_repeated_keys(depth - 1)) for _ in range(draw(st.integers(0, 3)))]
    if draw(st.booleans()):
        return "[" + " ,".join(inner) + "]"
    pairs = [f"{spelled(draw(COLON_KEYS), draw(st.integers(0, 3)))} : {value}" for value in inner]
    return "{" + ",".join(pairs) + "}"


def assert_readers_agree(data: bytes) -> None:
    """Assert that both readers and the oracle accept the same text with the same value."""
    try:
        expected = exact_oracle(data)
    except ValueError:
        for read in (decode, scan):
            with pytest.raises(InputError):
                read(data)
    else:
        assert decode(data) == expected
        assert scan(data) == expected


@given(texts_with_repeated_keys())
def test_duplicate_keys_are_found_exactly_however_colons_are_written(text: str) -> None:
    assert_readers_agree(text.encode())


@given(VALUES, st.data())
def test_readers_agree_with_an_exact_oracle_on_damaged_texts(value: Any, data: st.DataObject) -> None:
    text = bytearray(encode(value))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(text)))
        piece = data.draw(
            st.sampled_from(
                [b"", b",", b":", b'"', b"\\", b"\\ud800", b"]", b"}", b"{", b"[", b"0", b"e", b"-"]
            )
            | st.binary(max_size=2)
        )
        text[place : place + data.draw(st.integers(0, 2))] = piece
    assert_readers_agree(bytes(text))


@given(st.from_regex(rb"-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,3})?", fullmatch=True))
def test_numbers_are_read_to_the_nearest_double_and_integers_exactly(text: bytes) -> None:
    assert_readers_agree(text)


# -- writing ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (math.nan, "expected a finite number, got nan"),
        ({"a": [1, math.inf]}, r"a\[1\]: expected a finite number, got inf"),
        ({"a": [None, -math.inf]}, r"a\[1\]: expected a finite number, got -inf"),
        ([np.float64("nan")], r"\[0\]: expected a finite number, got nan"),
        ({"a": {1: 2}}, "a: expected string keys, got 1"),
        ({None: 2}, "expected string keys, got None"),
        ({"a": "\ud800"}, "a: expected a string of Unicode characters"),
        ({"\udfff": 1}, "expected keys of Unicode characters"),
        ([b"x"], r"\[0\]: expected null, a boolean, .* got b'x' \(bytes\)"),
        ([{1, 2}], r"\[0\]: expected .* \(set\)"),
        ([np.int64(1)], r"\[0\]: expected .* \(int64\)"),
        ({"a.b": [object]}, r'\["a\.b"\]\[0\]: expected'),
        ([10**4300], r"\[0\]: expected an integer of at most 4300 digits"),
    ],
)
def test_what_json_cannot_hold_is_refused_with_its_path(value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        encode(value)


def test_a_value_that_contains_itself_is_refused_as_too_deep() -> None:
    endless: list[Any] = []
    endless.append({"a": endless})
    with pytest.raises(LimitExceededError, match="at most 200 levels"):
        encode(endless)
    deep: Any = 0
    for _ in range(MAX_DEPTH + 1):
        deep = [deep]
    with pytest.raises(LimitExceededError, match="at most 200 levels"):
        encode(deep)


def test_written_json_is_plain_utf8_without_white_space_unless_asked() -> None:
    value = {"b": "é文😀\u2028</", "a": (1, 2.5), "c": np.float64(0.5), "d": 10**40}
    assert encode(value).decode() == (
        '{"b":"é文😀\u2028</","a":[1,2.5],"c":0.5,"d":10000000000000000000000000000000000000000}'
    )
    assert encode({"b": [], "a": [1]}, indent=2, sort_keys=True) == (
        b'{\n  "a": [\n    1\n  ],\n  "b": []\n}'
    )


# Comments in JSON: only they go, and nothing moves.

COMMENTED = """[ // 第一
  {"url": "http://x//y", "quoted": "\\"// no\\\\"}, // it's "quoted" here
  //
  {"last": 1}
]//end"""


def test_comments_become_as_many_spaces_and_strings_stay() -> None:
    plain = without_comments(COMMENTED)
    assert json.loads(plain) == [{"url": "http://x//y", "quoted": '"// no\\'}, {"last": 1}]
    assert len(plain) == len(COMMENTED)
    assert [len(line) for line in plain.split("\n")] == [len(line) for line in COMMENTED.split("\n")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_comment_ends_with_its_line_and_only_there(end: str) -> None:
    text = f"[1 // a \u2028 b \u0085 c{end}, 2]"
    assert json.loads(without_comments(text)) == [1, 2]


def test_one_warning_tells_the_first_line_and_the_number() -> None:
    (issue,) = comment_issues("[\n1, // a\n2 // b\n]")
    assert (issue.code, issue.severity, issue.line) == ("json-comment", "warning", 2)
    assert issue.found == "2 // comments"


def test_an_error_behind_comments_keeps_its_line() -> None:
    with pytest.raises(InputError) as caught:
        strict_json.decode(without_comments('[ // a\n  // b\n  {"x": nope}]'))
    assert caught.value.issues[0].line == 3


@given(
    st.recursive(
        st.text() | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=10,
    ),
    st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])),
)
def test_any_value_reads_the_same_with_a_comment_on_every_line(value: object, comment: str) -> None:
    written = json.dumps(value, ensure_ascii=False, indent=1)
    commented = "\n".join(f"{line} //{comment}" for line in written.split("\n"))
    assert json.loads(without_comments(commented)) == value


@pytest.mark.parametrize(
    "text", ['["//' + '\\"' * 200_000 + "\\", '"' * 400_000 + "[//", '//\n"' + "\\" * 400_001]
)
def test_a_hostile_text_ends_in_one_pass(text: str) -> None:
    assert len(without_comments(text)) == len(text)  # quadratic, this would take an hour


def test_blank_lines_are_counted_however_many_stand_before_a_value() -> None:
    assert list(strict_json.read_lines(b"\n" * 200_000 + b" \r\n" * 50_000 + b'{"a": 1}\n')) == [
        (250_001, {"a": 1})
    ]
