"""Reading JSON out of replies: tolerant of the wrapping, strict about the content, fooled by nothing."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from chat_server import in_prose
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework.errors import ModelError
from rag_evaluation_framework.models.structured import fitting_value

TABLES = tables_beside(__file__)
KINDS = ("not-json", "off-schema", "ambiguous", "truncated")
LABELS = ("supported", "unsupported")
VERDICT = {"label": "supported", "quote": "in 1887"}
WRITTEN = json.dumps(VERDICT)
OTHER = '{"label": "unsupported", "quote": "in 1887"}'


def problem(value: Any) -> str | None:
    """Fit only objects with a known label and a quote."""
    fits = isinstance(value, dict) and set(value) == {"label", "quote"} and value["label"] in LABELS
    return None if fits else "label: expected supported or unsupported"


def read(text: str) -> Any:
    return fitting_value(text, problem=problem)


def outcome(text: str) -> Any:
    """Return the value, or the kind of the failure."""
    try:
        return read(text)
    except ModelError as error:
        return error.kind


@pytest.mark.parametrize("reply", TABLES["wrappings"])
def test_what_is_wrapped_around_the_value_does_not_matter(reply: str) -> None:
    assert read(reply.replace("$WRITTEN", WRITTEN).replace("$OTHER", OTHER)) == VERDICT


@pytest.mark.parametrize("mark", ["\n", "\t", "\r\n"])
def test_a_line_break_inside_a_string_is_read_as_one(mark: str) -> None:
    assert read(f'Well: {{"label": "supported", "quote": "a{mark}b"}}')["quote"] == f"a{mark}b"


def test_brackets_quotes_and_commas_inside_strings_are_text() -> None:
    quote = 'a {"label": "unsupported", "quote": ""} [1,] \\ "x" </think> ```'
    verdict = {"label": "supported", "quote": quote}
    assert read(in_prose(json.dumps(verdict))) == verdict


@pytest.mark.parametrize(("kind", "reply"), TABLES["failures"])
def test_what_is_not_one_value_that_fits_is_a_failure_of_its_kind(kind: str, reply: str) -> None:
    reply = reply.replace("$WRITTEN", WRITTEN).replace("$OTHER", OTHER)
    assert outcome(reply.replace("$DEEP", "[" * 300 + "]" * 300)) == kind


@pytest.mark.parametrize("end", range(1, len(WRITTEN)))
def test_a_reply_cut_off_anywhere_is_truncated(end: int) -> None:
    assert outcome(WRITTEN[:end]) == "truncated"


def test_the_last_value_that_does_not_fit_says_why() -> None:
    with pytest.raises(ModelError, match="off-schema: 3 is odd"):
        fitting_value("[2] [3]", problem=lambda value: f"{value[0]} is odd" if value[0] % 2 else "even")


hostile = st.text(alphabet='{}[]",:\\ \n<>/thinka1x-', max_size=40)


@given(before=hostile, between=hostile)
def test_a_verdict_that_is_quoted_never_replaces_the_one_that_follows(before: str, between: str) -> None:
    assert outcome(f"{before}{OTHER}{between}{WRITTEN}") in (VERDICT, *KINDS)


@given(before=hostile, after=hostile)
def test_whatever_surrounds_a_verdict_it_is_read_or_there_is_a_failure(before: str, after: str) -> None:
    assert outcome(before + WRITTEN + after) in (VERDICT, *KINDS)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(value=st.lists(json_values, max_size=3) | st.dictionaries(st.text(), json_values, max_size=3))
def test_every_json_value_is_read_as_it_was_written(value: Any) -> None:
    for written in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        assert fitting_value(f"So: {written} Done.", problem=lambda _: None) == value


@pytest.mark.parametrize(
    "unit", ["{", "[", '{"', '["', '{"a":', '["[', "[1,", '{"{" ', "[-", "[1] ", "{} ", '["a":{', "[ ", ',"[']
)
def test_hostile_replies_take_work_that_grows_with_their_length_alone(unit: str) -> None:
    tokens = []
    for length in (20_000, 40_000):
        reply = (unit * length)[:length]
        assert outcome(reply) in KINDS
        tokens.append(_work(reply))
    assert tokens[1] <= 2.2 * tokens[0] + 5_000


def _work(reply: str) -> int:
    """Count the function calls that reading takes: unlike time, they are the same on every machine."""
    count = 0

    def counting(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(counting)
    try:
        outcome(reply)
    finally:
        sys.setprofile(None)
    return count
