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

from rag_evaluation_framework.errors import InputError, LimitExceededError
from rag_evaluation_framework.files.json_scanner import MAX_DEPTH, scan
from rag_evaluation_framework.files.strict_json import decode, encode

ACCEPTED: list[tuple[bytes, Any]] = [
    (b"null", None),
    (b"true", True),
    (b"false", False),
    (b"0", 0),
    (b"-0", 0),
    (b"-0.0", -0.0),
    (b"7", 7),
    (b"-12", -12),
    (b"1.5", 1.5),
    (b"1e3", 1000.0),
    (b"1E+3", 1000.0),
    (b"1e-3", 0.001),
    (b"1e-999", 0.0),
    (b"1.7976931348623157e308", 1.7976931348623157e308),
    (b"5e-324", 5e-324),
    (b"9007199254740993", 9007199254740993),
    (b"18446744073709551616", 2**64),
    (b"1234567890123456789012345678901234567890123", 1234567890123456789012345678901234567890123),
    (b"9" * 4300, 10**4300 - 1),
    (b'""', ""),
    (b'"a"', "a"),
    (b'"\xe6\x96\x87"', "文"),
    (b'"\xf0\x9f\x98\x80"', "😀"),
    (b'"\\ud83d\\ude00"', "😀"),
    (b'"\\u0000"', "\0"),
    (b'"\\"\\\\\\/\\b\\f\\n\\r\\t"', '"\\/\b\f\n\r\t'),
    (b'"\\u00E9\\u00e9"', "éé"),
    (b'"\x7f"', "\x7f"),
    (b'"\xe2\x80\xa8\xc2\x85"', "\u2028\x85"),
    (b'"\xef\xbb\xbf"', "\ufeff"),
    (b"\xef\xbb\xbf[1]", [1]),
    (b"[]", []),
    (b"{}", {}),
    (b" \t\r\n[ 1 ,\n2 ] \n", [1, 2]),
    (b'{"":0}', {"": 0}),
    (b'{"a":{"a":1},"b":[{"a":1},{"a":2}]}', {"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]}),
    (b'{"a:b":"c:d","e\\u003af":"\\u003A"}', {"a:b": "c:d", "e:f": ":"}),
    (b'{"a":"\\\\u003a","b":1}', {"a": "\\u003a", "b": 1}),
    (b'{"a":"[[[[{{{{","b":"]]"}', {"a": "[[[[{{{{", "b": "]]"}),
]

REFUSED: list[tuple[bytes, str]] = [
    (b"", "the end of the text"),
    (b"   ", "the end of the text"),
    (b"\xef\xbb\xbf", "the end of the text"),
    (b"NaN", "'NaN'"),
    (b"Infinity", "'Infinity'"),
    (b"-Infinity", "'-Infinity'"),
    (b"[1,NaN]", "'NaN'"),
    (b"nan", "'nan'"),
    (b"None", "'None'"),
    (b"True", "'True'"),
    (b"tru", "'tru'"),
    (b"nulll", "'nulll'"),
    (b"undefined", "'undefined'"),
    (b"1e999", "range of a double"),
    (b"-1e999", "range of a double"),
    (b"[1E400]", "range of a double"),
    (b"1" * 4301, "4301 digits"),
    (b"01", "'01'"),
    (b"-01", "'-01'"),
    (b"+1", "'+1'"),
    (b".5", "'.5'"),
    (b"1.", "'1.'"),
    (b"1.e3", "'1.e3'"),
    (b"1e", "'1e'"),
    (b"1e+", "'1e+'"),
    (b"-", "'-'"),
    (b"--1", "'--1'"),
    (b"0x10", "'0x10'"),
    (b"1_000", "'1_000'"),
    (b"1 2", "the end after the JSON value"),
    (b"{} {}", "the end after the JSON value"),
    (b"[1]]", "the end after the JSON value"),
    (b"1,", "the end after the JSON value"),
    (b"[1", "',' or ']'"),
    (b"[1 2]", "',' or ']'"),
    (b"[1,", "a JSON value"),
    (b"[1,]", "a JSON value"),
    (b"[,1]", "a JSON value"),
    (b"[1,,2]", "a JSON value"),
    (b"[", "a JSON value"),
    (b"]", "a JSON value"),
    (b"[1}", "',' or ']'"),
    (b"{", "a key in double quotes"),
    (b"{,}", "a key in double quotes"),
    (b'{"a"', "':' after the key"),
    (b'{"a" 1}', "':' after the key"),
    (b'{"a":', "a JSON value"),
    (b'{"a":}', "a JSON value"),
    (b'{"a":1', "',' or '}'"),
    (b'{"a":1]', "',' or '}'"),
    (b'{"a":1,}', "a key in double quotes"),
    (b'{"a":1 "b":2}', "',' or '}'"),
    (b"{a:1}", "a key in double quotes"),
    (b"{'a':1}", "a key in double quotes"),
    (b"{1:2}", "a key in double quotes"),
    (b"{null:2}", "a key in double quotes"),
    (b"'a'", "a JSON value"),
    (b'"a', "a closing"),
    (b'"a\\', "one of"),
    (b'"a\\"', "a closing"),
    (b'"\\x41"', "one of"),
    (b'"\\u12"', "four hexadecimal digits"),
    (b'"\\u12g4"', "four hexadecimal digits"),
    (b'"\\U00000041"', "one of"),
    (b'"a\nb"', "no bare control character"),
    (b'"a\tb"', "no bare control character"),
    (b'"\x00"', "no bare control character"),
    (b'"\x1f"', "no bare control character"),
    (b'"\\ud800"', "half a surrogate pair"),
    (b'"\\ud800x"', "half a surrogate pair"),
    (b'"\\ud800\\u0041"', "half a surrogate pair"),
    (b'"\\ude00"', "half a surrogate pair"),
    (b'"\\ude00\\ud83d"', "half a surrogate pair"),
    (b'{"\\ud800":1}', "half a surrogate pair"),
    (b'"\xff"', "byte 0xff at byte 1"),
    (b'{"\xff":1}', "byte 0xff at byte 2"),
    (b'"\xc0\xaf"', "byte 0xc0 at byte 1"),
    (b'"\xed\xa0\x80"', "byte 0xed at byte 1"),
    (b'"\xf4\x90\x80\x80"', "byte 0xf4 at byte 1"),
    (b'"\xe2\x82"', "byte 0xe2 at byte 1"),
    (b"\xff\xfe1\x00", "byte 0xff at byte 0"),
    (b"\x0c1", "'\\x0c'"),
    (b"\xc2\xa01", "'\\xa0'"),
    (b"[1,\x0b2]", "'\\x0b'"),
    (b"// note\n1", "a JSON value"),
    (b"/* note */1", "a JSON value"),
    (b"[1] # note", "the end after the JSON value"),
    (b'{"a":1,"a":1}', "'a' again"),
    (b'{"a":1,"\\u0061":2}', "'a' again"),
    (b'{"a:b":1,"a\\u003ab":2}', "'a:b' again"),
    (b'{"x":[0,{"a":1,"b":2,"a":3}]}', "x[1]: expected each key once"),
    (b'{"a":{"b":1,"b":2},"a":0}', "'b' again"),
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
        str(caught.value) == "set.json:4: queries[1].id: expected a JSON value, got 'tru' at column 10"
    )  # two spaces, then {"id": and a space


def test_lines_of_an_error_count_from_the_line_given() -> None:
    with pytest.raises(InputError, match=r"^log\.jsonl:17: \[0\]: expected .*'x' at column 2"):
        decode(b"[x]", file="log.jsonl", line=17)


def test_text_with_half_a_surrogate_pair_is_refused_with_its_place() -> None:
    with pytest.raises(InputError, match=r"line 2: .*half a surrogate pair at character 3"):
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
        ({"a": {1: 2}}, "a: expected keys that are strings, got 1"),
        ({None: 2}, "expected keys that are strings, got None"),
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
