"""The line of a value in a JSON text, found by its path."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework.files.json_scanner import line_of, lines_of, written_path

TABLES = tables_beside(__file__)

TEXT = TABLES["text"]


@pytest.mark.parametrize(("path", "line"), TABLES["a value stands on the line where it begins"])
def test_a_value_stands_on_the_line_where_it_begins(path: str, line: int) -> None:
    assert line_of(TEXT, path) == line


def test_only_a_line_feed_ends_a_line() -> None:
    assert line_of('["\u2028\u0085",\r\n 1]', "[1]") == 2


values = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def lines_as_written(value: Any, path: tuple[str | int, ...], line: int) -> tuple[dict[str, int], int]:
    """Return the line of each value written with an indent, which gives each its own, and the last line."""
    found = {written_path(path): line}
    items = list(
        enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    )
    for key, item in items:
        inside, line = lines_as_written(item, (*path, key), line + 1)
        found |= inside
    return found, line + bool(items)


@given(values, st.booleans())
def test_every_path_has_the_line_where_its_value_was_written(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, indent=1, ensure_ascii=ascii_only)
    expected, _ = lines_as_written(value, (), 1)
    assert lines_of(text, expected) == expected


def test_what_is_skipped_on_the_way_may_hold_brackets_quotes_and_comments() -> None:
    text = """{"a": [{"x": "]}\\\\"}, // a bracket ] and a "quote
        ["\\"[", {}]],
    "b": {"c": "//[", "d": 1},
    "e": 2}"""
    assert (line_of(text, "b.d"), line_of(text, "e")) == (3, 4)
