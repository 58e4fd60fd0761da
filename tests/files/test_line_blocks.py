"""Lines read many at a time are what they are one by one: the same values, errors and numbers."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import InputError
from rag_evaluation_framework.files.json_scanner import MAX_DEPTH
from rag_evaluation_framework.files.strict_json import decode, encode, read_lines

_DEEPEST = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
_GOOD = [
    b"0",
    b'"a:b"',
    b'{"a":1,"b":{"a":[]}}',
    b'{"a":"\\u003a","b":"\\\\u003a"}',
    b' {"a" : "\xe2\x80\xa8"}\t',
    b"12345678901234567890123",
    _DEEPEST,
    b"[" + b"[]," * MAX_DEPTH + b"{}]",
]
_BAD = [
    b'{"a":1,"a":2}',
    b'{"a":{"b":1,"c:":2,"b":"\\u003A"}}',
    b"[" + _DEEPEST + b"]",
    b"NaN",
    b"1e999",
    b"1 2",
    b"1\r2",
    b"{} {}",
    b'{"a":',
    b"1}",
    b"[1,",
    b'"\\ud800"',
    b'"\xff"',
    b"\x0b",
]
_BLANK = [b"", b" \t"]
LINES = st.lists(st.sampled_from([*_GOOD, *_GOOD, *_BAD, *_BLANK]), max_size=8)
ENDS = st.sampled_from([b"\n", b"\r\n"])
SIZES = st.sampled_from([1, 2, 3, 7, 25, 1 << 20])


def one_by_one(data: bytes, *, longest: int) -> Iterator[tuple[int, Any]]:
    """Read lines in the plainest way: a number with its value, or with the words of an error."""
    for number, line in enumerate(data.split(b"\n"), start=1):
        if len(line) > longest:
            yield number, f"line {number}: expected a line of at most {longest:,} bytes, got more"
        elif line.strip(b" \t\r\n"):
            try:
                yield number, decode(line.rstrip(b"\r\n"), line=number)
            except InputError as error:
                yield number, str(error)


def together(data: bytes, *, longest: int) -> list[tuple[int, Any]]:
    errors: list[InputError] = []
    read = list(read_lines(data, max_line_bytes=longest, on_error=errors.append))
    refused = [(error.issues[0].line or 0, str(error)) for error in errors]
    return sorted(read + refused, key=lambda placed: placed[0])


@given(LINES, ENDS, SIZES, st.booleans())
def test_lines_read_together_are_what_they_are_one_by_one(
    lines: list[bytes], end: bytes, longest: int, has_last_end: bool
) -> None:
    data = end.join(lines) + (end if has_last_end else b"")
    assert together(data, longest=longest) == list(one_by_one(data, longest=longest))


def test_lines_longer_than_a_block_are_read_whole_and_in_their_place() -> None:
    values = [1, "x" * 200_000, {"a": "y" * 70_000}, 2, "z" * 65_535, 3]
    data = b"\n".join(map(encode, values))
    assert list(read_lines(data)) == list(enumerate(values, start=1))


def test_a_byte_order_mark_that_arrives_in_two_pieces_is_dropped() -> None:
    data = b"\xef\xbb\xbf1\n"
    assert list(read_lines(data, max_line_bytes=4)) == [(1, 1)]


def test_a_line_is_read_from_a_pipe_before_the_next_one_is_written() -> None:
    reading, writing = os.pipe()
    is_read = threading.Event()
    in_time = []

    def write() -> None:
        with os.fdopen(writing, "wb", buffering=0) as pipe:
            pipe.write(b'{"first":1}\n')
            in_time.append(is_read.wait(timeout=20))
            pipe.write(b'{"second":2}\n')

    writer = threading.Thread(target=write)
    writer.start()
    lines = read_lines(f"/dev/fd/{reading}")
    assert next(lines) == (1, {"first": 1})
    is_read.set()
    assert list(lines) == [(2, {"second": 2})]
    writer.join()
    os.close(reading)
    assert in_time == [True]
