"""Evaluation data as compressed bytes."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import DataCompressor, InputError, UsageError
from rag_evaluation_framework.errors import LimitExceededError
from rag_evaluation_framework.files.access import Limits

texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(texts, values, max_size=4), st.integers(0, 9))
def test_what_is_compressed_comes_back_equal_at_every_level(data: dict[str, Any], level: int) -> None:
    packed = DataCompressor.compress_evaluation_data(data, level)
    assert DataCompressor.decompress_evaluation_data(packed) == data
    assert packed == DataCompressor.compress_evaluation_data(data, compression_level=level)


def test_the_ratio_is_the_size_as_json_over_the_size_compressed() -> None:
    data = {"queries": [{"query_id": "q", "query_text": "the same text again"}] * 500}
    packed = DataCompressor.compress_evaluation_data(data)
    assert DataCompressor.estimate_compression_ratio(data) == len(json.dumps(data)) / len(packed)
    assert DataCompressor.estimate_compression_ratio(data) > 10


def test_a_bomb_is_refused_before_it_has_grown() -> None:
    bomb = gzip.compress(b'{"a":"' + b" " * (64 << 20) + b'"}')
    with pytest.raises(LimitExceededError, match="expected a compression ratio of at most 250"):
        DataCompressor.decompress_evaluation_data(bomb)
    with pytest.raises(LimitExceededError, match="at most 1,000 bytes"):
        DataCompressor.decompress_evaluation_data(bomb, limits=Limits(max_bytes=1000))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "expected gzip or Zstandard data"),
        (b'{"a": 1}', "expected gzip or Zstandard data"),
        (gzip.compress(b"[1]", mtime=0), "expected an object, got \\[1\\]"),
        (gzip.compress(b'{"a": NaN}', mtime=0), "line 1: invalid JSON: expected"),
        (gzip.compress(b'{"a": 1}', mtime=0)[:-6], "truncated"),
    ],
)
def test_what_is_no_compressed_dataset_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        DataCompressor.decompress_evaluation_data(data)


def test_what_json_cannot_hold_and_unknown_levels_are_refused() -> None:
    with pytest.raises(InputError, match="score: expected a finite number"):
        DataCompressor.compress_evaluation_data({"score": float("nan")})
    with pytest.raises(UsageError, match="level"):
        DataCompressor.compress_evaluation_data({}, 12)
