"""A body is unpacked whole however it arrives, and never beyond the limit."""

from __future__ import annotations

import gzip
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.adapters.http_client import Unpacker
from rag_evaluation_framework.errors import TargetError

LIMIT = 1_000_000


def packed(data: bytes, encoding: str) -> bytes:
    if encoding == "identity":
        return data
    bits = {"gzip": 31, "x-gzip": 31, "deflate": 15, "raw deflate": -15}[encoding]
    packer = zlib.compressobj(9, zlib.DEFLATED, bits)
    return packer.compress(data) + packer.flush()


def unpacked(wire: bytes, encoding: str, cuts: list[int] | None = None, limit: int = LIMIT) -> bytes:
    unpacker = Unpacker(encoding, limit)
    edges = sorted({0, len(wire), *(cut % (len(wire) + 1) for cut in cuts or [])})
    for start, end in pairwise(edges):
        unpacker.add(wire[start:end])
    return unpacker.finished()


@given(
    data=st.one_of(
        st.binary(max_size=2000),
        st.builds(lambda byte, size: byte * size, st.binary(min_size=1, max_size=3), st.integers(0, 200_000)),
    ),
    encoding=st.sampled_from(["identity", "gzip", "x-gzip", "deflate", "raw deflate"]),
    cuts=st.lists(st.integers(0, 1 << 20), max_size=5),
)
def test_a_body_is_the_same_however_it_was_cut_into_pieces(
    data: bytes, encoding: str, cuts: list[int]
) -> None:
    named = encoding.removeprefix("raw ")
    assert unpacked(packed(data, encoding), named, cuts) == data


def test_gzip_of_several_members_is_one_body() -> None:
    assert unpacked(gzip.compress(b"one ") + gzip.compress(b"two"), "gzip", [3, 30]) == b"one two"


@pytest.mark.parametrize("encoding", ["identity", "gzip", "deflate"])
def test_a_body_of_exactly_the_limit_passes_and_one_byte_more_does_not(encoding: str) -> None:
    assert len(unpacked(packed(b"0" * LIMIT, encoding), encoding)) == LIMIT
    with pytest.raises(TargetError, match="body-too-large"):
        unpacked(packed(b"0" * (LIMIT + 1), encoding), encoding)


def test_a_bomb_is_given_up_at_the_limit() -> None:
    unpacker = Unpacker("gzip", LIMIT)
    with pytest.raises(TargetError, match="body-too-large"):
        unpacker.add(packed(b"0" * 50_000_000, "gzip"))
    assert unpacker.size <= LIMIT + (1 << 16)


def test_a_compressed_body_that_ends_halfway_is_truncated() -> None:
    whole = packed(b"some text of some length", "gzip")
    with pytest.raises(TargetError, match="truncated-body"):
        unpacked(whole[:-9], "gzip")


def test_an_encoding_that_was_not_asked_for_is_refused() -> None:
    with pytest.raises(TargetError, match="unsupported-encoding"):
        Unpacker("br", LIMIT)
