"""JSON lines: streamed, numbered, located, and written all or nothing."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peak_memory import PEAK_SOURCE
from rag_evaluation_framework import InputError
from rag_evaluation_framework.files.access import compress, recognise
from rag_evaluation_framework.files.strict_json import read_lines, write_lines

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
    with pytest.raises(InputError, match="line 1: not JSON: expected the end after the JSON value"):
        list(read_lines(b"1\r2\n"))
    with pytest.raises(InputError, match="line 1"):
        list(read_lines(b"\x0b\n"))


def test_an_error_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "rag.jsonl"
    path.write_bytes(b'{"a":1}\n\n{"a":1,"a":2}\n')
    with pytest.raises(InputError) as caught:
        list(read_lines(path))
    assert str(caught.value).startswith(f"{path}:3: expected each key once in an object, got 'a' again")


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
        f"f.gz:{len(read) + 1}: expected gzip data to their end, got a file that is cut off"
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
