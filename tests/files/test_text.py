"""Text as it is stored."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import InputError
from rag_evaluation_framework.errors import LimitExceededError
from rag_evaluation_framework.files.access import (
    Compression,
    Limits,
    compress,
    decode_text,
    open_reading,
    read_bytes,
    read_text,
)


def test_text_keeps_its_line_ends_and_loses_only_its_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "document.md"
    path.write_bytes("\ufeffone\r\ntwo\rthree\n文\u2028\x85\ufeff\x00".encode())
    assert read_text(path) == "one\r\ntwo\rthree\n文\u2028\x85\ufeff\x00"
    path.write_bytes(compress("é\r\n".encode(), "zstd"))
    assert read_text(path) == "é\r\n"


def test_text_that_is_not_utf8_is_refused_with_file_line_and_offset(tmp_path: Path) -> None:
    path = tmp_path / "latin.md"
    path.write_bytes("ok\ncafé".encode("latin-1"))
    with pytest.raises(InputError) as caught:
        read_text(path)
    found = "another encoding, perhaps Windows-1252 (byte 0xe9 at byte 6)"
    assert str(caught.value) == f"{path}:2: expected UTF-8 text, got {found}; save it as UTF-8"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_survives_being_stored(text: str) -> None:
    assert decode_text(b"\xef\xbb\xbf" + text.encode()) == text


def test_a_named_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="expected a regular file, got a pipe"):
        read_text(tmp_path / "pipe")


def test_a_device_is_refused() -> None:
    with pytest.raises(InputError, match="/dev/zero: expected a regular file, got a device"):
        read_text("/dev/zero")


def test_a_pipe_of_the_shell_is_read_only_where_it_is_opened_once() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"text\n")
    with pytest.raises(InputError, match="got a pipe"):
        read_text(f"/dev/fd/{reading}")
    os.close(writing)
    with open_reading(f"/dev/fd/{reading}", pipe=True) as stream:
        assert stream.read() == b"text\n"
    os.close(reading)


def test_a_pipe_that_stays_silent_is_given_up() -> None:
    reading, writing = os.pipe()
    with pytest.raises(LimitExceededError, match=r"says something within 0\.05 s, got silence"):
        open_reading(f"/dev/fd/{reading}", pipe=True, limits=Limits(silence_seconds=0.05))
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize("compression", [None, "gzip", "zstd"])
def test_a_line_that_is_too_long_is_refused_with_its_number(
    tmp_path: Path, compression: Compression | None
) -> None:
    data = b"short\n" * 3 + b"x" * 200_000 + b"\nshort\n"
    path = tmp_path / "long.txt"
    path.write_bytes(compress(data, compression) if compression else data)
    with pytest.raises(LimitExceededError, match=r"long\.txt:4: expected a line of at most 100,000 bytes"):
        read_bytes(path, max_line_bytes=100_000)
    assert read_bytes(path, max_line_bytes=200_000) == data
    assert read_bytes(path, max_line_bytes=None) == data


@pytest.mark.parametrize("compression", [None, "gzip"])
def test_a_file_that_is_read_whole_has_a_largest_size(
    tmp_path: Path, compression: Compression | None
) -> None:
    data = os.urandom(5000)
    path = tmp_path / "large"
    path.write_bytes(compress(data, compression) if compression else data)
    with pytest.raises(LimitExceededError, match="at most 4,999 bytes"):
        read_bytes(path, limits=Limits(max_whole_bytes=4999))
    assert read_bytes(path, limits=Limits(max_whole_bytes=5000 + 100)) == data
