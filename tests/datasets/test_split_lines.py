"""The quick way through a raw line says exactly what the general reader says."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.datasets.schemas import schema_issues
from rag_evaluation_framework.datasets.split_mapping import (
    SPLITS,
    _is_told_whole,
    _mapped,
    exact_record,
    split_line,
    typed_record,
)
from rag_evaluation_framework.errors import InputError, LimitExceededError

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["a: b", '": "', "\\", "[1]", "[2] x", "\u2028", "\r\n", "\0", "渡轮", "😀", "שלום"]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**25), 10**25)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=6,
)
OBJECTS = st.lists(st.dictionaries(TEXTS | st.just("index"), VALUES, max_size=3), max_size=3)
RETRIEVAL = {
    "contexts": st.lists(TEXTS, max_size=3),
    "scores": st.lists(st.none() | st.floats(-1e9, 1e9) | st.integers(), max_size=2),
    "citations": OBJECTS,
    "retrieved": OBJECTS,
}
WORDS = st.none() | TEXTS
RECORDS = st.fixed_dictionaries(
    {"task_id": TEXTS.filter(bool), "task_type": st.sampled_from(["qa", "summaries", "citations"])},
    optional={
        "instruction": WORDS,
        "question": WORDS,
        "expected_response": WORDS,
        "answer": WORDS,
        "response": WORDS,
        "rag": st.fixed_dictionaries({}, optional={**RETRIEVAL, "prompt": WORDS, "model": VALUES}),
        "rag_prompt": WORDS,
        "answer_citations": OBJECTS,
        "metadata": st.dictionaries(TEXTS, VALUES, max_size=3),
        "unknown": VALUES,
        **RETRIEVAL,
    },
)


def told(text: bytes | None) -> Any:
    return None if text is None else json.loads(text)


@given(RECORDS, st.booleans(), st.booleans())
def test_the_quick_way_maps_as_the_general_reader_does(record: Any, ascii_only: bool, compact: bool) -> None:
    separators = (",", ":") if compact else None
    line = json.dumps(record, ensure_ascii=ascii_only, separators=separators).encode()
    expected = _mapped(exact_record(line, file="x", number=1))[1]
    result = split_line(line, file="x", number=1)
    assert told(result.text) == told(expected.text)
    assert result[:2] + result[3:] == expected[:2] + expected[3:]


@given(RECORDS)
def test_a_key_said_twice_is_found_wherever_it_stands(record: Any) -> None:
    record = {"first": 1, **record, "metadata": {**record.get("metadata", {}), "marker": [{"inner": 1}]}}
    line = json.dumps(record, ensure_ascii=False).encode()
    for key in (b'"first": 1', b'"marker": [', b'"inner": 1'):
        twice = line.replace(key, b'"twice": 0, "twice": 0, ' + key)
        with pytest.raises(InputError, match="each key once"):
            split_line(twice, file="x", number=1)


def test_an_escaped_colon_does_not_hide_a_key_said_twice() -> None:
    line = (
        rb'{"task_id": "1", "task_type": "qa", "task_type": "qa", "instruction": "a\u003a b", "answer": "x"}'
    )
    with pytest.raises(InputError, match="x:4: expected each key once"):
        split_line(line, file="x", number=4)


ORDINARY = (
    b'{"task_id": "1", "task_type": "qa", "instruction": "when: now?", "expected_response": "at 8: [1]", '
    b'"rag": {"prompt": "a: \\"b\\"", "contexts": ["c: d"], "sources": ["e"], "scores": [1, null], '
    b'"citations": [{"index": 1, "at": {"page": 2}}], "retrieved": [{"f": [1.5, "g:"]}]}, '
    b'"metadata": {"h": "i:"}}'
)


@pytest.mark.parametrize("line", [ORDINARY, ORDINARY.replace(b'"qa"', b'"citations"')])
def test_an_ordinary_line_goes_the_quick_way(line: bytes) -> None:
    record = typed_record(line)
    assert record is not None
    mapped, result = _mapped(record)
    assert _is_told_whole(line, record, mapped, result.text)
    assert not _is_told_whole(line.replace(b"{", b'{"new": 1, ', 1), record, mapped, result.text)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "x:7: expected a key"),
        (b"[]", "x:7: expected an object, got an empty list"),
        (b"5", "x:7: expected an object, got 5"),
        (b'{"task_id": "1"}', "x:7: task_type: expected a value"),
        (b'{"task_id": "", "task_type": "qa"}', "x:7: task_id: expected at least 1 character"),
        (b'{"task_id": 5, "task_type": "qa"}', "x:7: task_id: expected text, got 5"),
        (b'{"task_id": "1", "task_type": "qa", "instruction": 5}', "x:7: instruction: expected text or null"),
        (b'{"task_id": "1", "task_type": "qa", "rag": []}', "x:7: rag: expected an object"),
        (
            b'{"task_id": "1", "task_type": "qa", "rag": {"prompt": 5}}',
            "x:7: rag.prompt: expected text or null",
        ),
        (
            b'{"task_id": "1", "task_type": "qa", "rag": {"contexts": [5]}}',
            r"x:7: rag.contexts\[0\]: expected text",
        ),
        (
            b'{"task_id": "1", "task_type": "qa", "rag": {"retrieved": [5]}}',
            r"x:7: rag.retrieved\[0\]: expected an object",
        ),
        (
            b'{"task_id": "1", "task_type": "qa", "rag": {"scores": ["a"]}}',
            r"x:7: rag.scores\[0\]: expected a number",
        ),
        (
            b'{"task_id": "1", "task_type": "qa", "metadata": {"a": NaN}}',
            "x:7: metadata.a: expected a JSON value, got 'NaN'",
        ),
        (
            b'{"task_id": "1", "task_type": "qa", "metadata": {"a": 1e999}}',
            "x:7: metadata.a: expected a number within",
        ),
        (b'{"task_id": "1", "task_type": "qa", "unknown": 1e999}', "x:7: unknown: expected a number within"),
        (
            b'{"task_id": "1", "task_type": "qa", "rag_prompt": "\xff"}',
            "x:7: expected UTF-8 text, got byte 0xff",
        ),
        (
            b'{"task_id": "1", "task_type": "qa", "unknown": "\xff"}',
            "x:7: expected UTF-8 text, got byte 0xff",
        ),
        (b'{"task_id": "1", "task_type": "qa", "rag_prompt": "\\ud800"}', "x:7: .*half a surrogate pair"),
        (
            b'{"task_id": "1", "task_type": "qa", "contexts": ["a"], "sources": ["b", "c"]}',
            "x:7: sources: expected one for each of the 1",
        ),
    ],
)
def test_a_malformed_line_is_named_with_its_place(line: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        split_line(line, file="x", number=7)


def test_all_that_is_wrong_with_a_line_is_said_at_once() -> None:
    line = b'{"task_type": 5, "metadata": [], "rag": {"contexts": "a"}}'
    with pytest.raises(InputError) as caught:
        split_line(line, file="x", number=1)
    assert {issue.path for issue in caught.value.issues} == {
        "task_id",
        "task_type",
        "metadata",
        "rag.contexts",
    }


def test_deep_metadata_pass_and_too_deep_ones_do_not() -> None:
    deep = '{"task_id": "1", "task_type": "citations", "metadata": {"a": %s}}'
    line = (deep % ("[" * 150 + "]" * 150)).encode()
    assert split_line(line, file="x", number=1).task_type == "citations"
    for depth in (300, 5000):
        with pytest.raises(LimitExceededError, match="levels of nesting"):
            split_line((deep % ("[" * depth + "]" * depth)).encode(), file="x", number=1)


@given(
    RECORDS,
    st.sampled_from(["task_id", "task_type", "instruction", "answer", "rag", "metadata", *RETRIEVAL]),
    VALUES,
)
def test_the_types_allow_nothing_that_the_schema_does_not(record: Any, field: str, value: Any) -> None:
    changed = {**record, field: value}
    if typed_record(json.dumps(changed).encode()) is not None:
        assert schema_issues("offline-record", changed) == []


def test_a_prompt_is_passed_on_as_it_is_written() -> None:
    line = (
        rb'{"task_id": "1", "task_type": "qa", "instruction": "q", "answer": "a", "rag_prompt": "\u6e21 \/"}'
    )
    text = split_line(line, file="x", number=1).text
    assert text is not None
    assert rb'"rag_prompt":"\u6e21 \/"' in text
    assert set(SPLITS) == {"qa", "summaries"}
    assert msgspec.json.decode(text)["rag_prompt"] == "渡 /"
