"""JSON lines: streamed, numbered, located, and written all or nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peak_memory import PEAK_SOURCE
from rag_evaluation_framework import InputError
from rag_evaluation_framework.files.access import compress, recognise
from rag_evaluation_framework.files.json_scanner import MAX_DEPTH
from rag_evaluation_framework.files.strict_json import decode, encode, read_lines, write_lines

VALUES = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.text(st.characters(exclude_categories=["Cs"])) | st.integers() | st.none(),
)


@given(st.lists(VALUES), st.sampled_from(["d.jsonl", "d.jsonl.gz", "d.jsonl.zst"]))
def test_lines_that_are_written_read_back_equal(values: list[Any], name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        assert write_lines(path, iter(values)) == len(values)
        assert list(read_lines(path)) == list(enumerate(values, start=1))
        assert recognise(path.read_bytes()) == {".jsonl": None, ".gz": "gzip", ".zst": "zstd"}[path.suffix]


def test_blank_lines_are_skipped_but_counted_and_both_line_ends_are_read() -> None:
    data = b'\xef\xbb\xbf\r\n{"a":1}\r\n\n   \n[2]\n3'
    assert list(read_lines(data)) == [(2, {"a": 1}), (5, [2]), (6, 3)]
    assert list(read_lines(b"")) == []


def test_only_line_feeds_end_lines() -> None:
    text = '"a\u2028b\u2029c\x85d"\n'.encode()
    assert list(read_lines(text)) == [(1, "a\u2028b\u2029c\x85d")]
    with pytest.raises(InputError, match="line 1: invalid JSON: expected the end after the JSON value"):
        list(read_lines(b"1\r2\n"))
    with pytest.raises(InputError, match="line 1"):
        list(read_lines(b"\x0b\n"))


def test_an_error_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "rag.jsonl"
    path.write_bytes(b'{"a":1}\n\n{"a":1,"a":2}\n')
    with pytest.raises(InputError) as caught:
        list(read_lines(path))
    assert str(caught.value).startswith(f"{path}:3: expected unique keys in an object, got duplicate 'a'")


def test_all_the_errors_of_a_file_can_be_collected() -> None:
    errors: list[InputError] = []
    data = b'1\nNaN\n{"a":"\\ud800"}\n2\n"\xff"\n' + b"[" * 5000 + b"\n" + b"9" * 500 + b"\n3\n"
    read = list(read_lines(data, file="f.jsonl", max_line_bytes=6000, on_error=errors.append))
    assert [number for number, _ in read] == [1, 4, 7, 8]
    assert [issue.line for error in errors for issue in error.issues] == [2, 3, 5, 6]
    assert all(str(error).startswith("f.jsonl:") for error in errors)


def test_damage_to_the_compressed_stream_ends_reading_with_one_error() -> None:
    packed = compress(b"".join(b"%d\n" % number for number in range(50_000)))
    errors: list[InputError] = []
    read = list(read_lines(packed[: len(packed) // 2], file="f.gz", on_error=errors.append))
    assert [value for _, value in read] == list(range(len(read)))
    assert 0 < len(read) < 50_000
    assert [str(error) for error in errors] == [
        f"f.gz:{len(read) + 1}: expected complete gzip data, got a truncated file"
    ]


def test_a_failure_among_the_values_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl.gz"
    write_lines(path, [1, 2])
    before = path.read_bytes()

    def failing() -> Iterator[Any]:
        yield {"a": 1}
        yield {"b": float("nan")}

    with pytest.raises(InputError, match="b: expected a finite number"):
        write_lines(path, failing())
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["data.jsonl.gz"]


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "large.jsonl.gz"
    program = f"""
        from rag_evaluation_framework.files.strict_json import read_lines, write_lines
        record = {{"context": ["passage " * 40, "other " * 40]}}
        def turn(count):
            write_lines({str(path)!r}, ({{"id": number, **record}} for number in range(count)))
            return sum(1 for _ in read_lines({str(path)!r}))
        turn(1_000)
        first = peak_kib()
        print(turn(30_000), peak_kib() - first)
    """
    result = subprocess.run(
        [sys.executable, "-c", PEAK_SOURCE + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=True,
    )
    count, growth_kib = map(int, result.stdout.split())
    assert count == 30_000
    assert growth_kib < 5_000  # the records are 17,000 KiB


# Lines read many at a time are what they are one by one: the same values, errors and numbers.

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
