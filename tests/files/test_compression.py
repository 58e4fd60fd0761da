"""Compression: recognised by content, bounded in size, ratio and memory, and the same bytes every time."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import textwrap
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peak_memory import PEAK_SOURCE
from rag_evaluation_framework import InputError, UsageError
from rag_evaluation_framework.errors import LimitExceededError, StorageError
from rag_evaluation_framework.files.access import (
    Compression,
    Limits,
    compress,
    decode_text,
    open_reading,
    read_bytes,
    read_text,
    recognise,
)

if sys.version_info < (3, 14):
    from backports import zstd
else:
    from compression import zstd

KINDS: tuple[Compression, ...] = ("gzip", "zstd")
MIB = 1 << 20


def bomb(kind: Compression, mebibytes: int) -> bytes:
    """Compress so many MiB of zeros without ever holding them."""
    if kind == "gzip":
        gzip_compressor = zlib.compressobj(9, wbits=31)
        return (
            b"".join(gzip_compressor.compress(bytes(MIB)) for _ in range(mebibytes)) + gzip_compressor.flush()
        )
    compressor = zstd.ZstdCompressor()
    return b"".join(compressor.compress(bytes(MIB)) for _ in range(mebibytes)) + compressor.flush()


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.binary(max_size=2000), times=st.integers(1, 200))
def test_what_is_compressed_reads_back_equal(kind: Compression, data: bytes, times: int) -> None:
    packed = compress(data * times, kind)
    assert recognise(packed) == kind
    assert read_bytes(packed) == data * times


@pytest.mark.parametrize("kind", KINDS)
def test_compression_is_told_by_content_and_not_by_name(kind: Compression, tmp_path: Path) -> None:
    disguised = tmp_path / "plain.json"
    disguised.write_bytes(compress(b'{"a":1}', kind))
    assert read_bytes(disguised) == b'{"a":1}'
    plain = tmp_path / "plain.json.gz"
    plain.write_bytes(b'{"a":1}')
    assert read_bytes(plain) == b'{"a":1}'


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_bytes_compress_to_the_same_bytes_without_time_or_name(kind: Compression) -> None:
    first = compress(b"evaluation" * 100, kind, level=5)
    assert compress(b"evaluation" * 100, kind, level=5) == first
    if kind == "gzip":
        assert first[3:8] == bytes(5)  # no flags (so no name), time zero


@pytest.mark.parametrize("kind", KINDS)
def test_concatenated_members_read_as_one_stream(kind: Compression) -> None:
    packed = b"".join(compress(part, kind) for part in (b"one,", b"", b"two,", b"x" * 200_000))
    assert read_bytes(packed) == b"one,two," + b"x" * 200_000


def test_zstandard_skippable_frames_are_skipped() -> None:
    skippable = b"\x53\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"extra"
    assert read_bytes(skippable + compress(b"data", "zstd") + skippable) == b"data"


def test_zeros_after_the_last_gzip_member_are_padding() -> None:
    assert read_bytes(gzip.compress(b"tape") + bytes(200_000)) == b"tape"


@pytest.mark.parametrize("kind", KINDS)
def test_other_bytes_after_the_data_are_an_error(kind: Compression) -> None:
    with pytest.raises(
        InputError, match=f"data.gz: expected the end of the file after the {kind} data, got other bytes"
    ):
        read_bytes(compress(b"data", kind) + b"junk", file="data.gz")


@pytest.mark.parametrize("kind", KINDS)
def test_every_way_to_cut_a_stream_off_is_an_error_that_names_the_file(
    kind: Compression, tmp_path: Path
) -> None:
    packed = compress(bytes(range(256)) * 4, kind)
    path = tmp_path / "cut"
    for length in range(4, len(packed)):
        path.write_bytes(packed[:length])
        with pytest.raises(InputError, match=r"cut: expected complete \w+ data, got a truncated file"):
            read_bytes(path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_bit_never_gives_other_data(kind: Compression) -> None:
    data = os.urandom(300)
    # A Zstandard frame is only checked where it carries a checksum, as the command-line tool writes it.
    if kind == "zstd":
        packed = zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1})
    else:
        packed = compress(data, kind)
    for place in range(10, len(packed)):
        damaged = bytearray(packed)
        damaged[place] ^= 0x10
        try:
            read = read_bytes(bytes(damaged))
        except InputError:
            continue
        assert read == data


@pytest.mark.parametrize("kind", KINDS)
def test_a_bomb_is_refused_by_its_ratio(kind: Compression) -> None:
    with pytest.raises(LimitExceededError, match="a compression ratio of at most 250") as caught:
        read_bytes(bomb(kind, 40), file="bomb")
    assert str(caught.value).count("\n") == 0


@pytest.mark.parametrize("kind", KINDS)
def test_limits_are_configurable(kind: Compression) -> None:
    packed = bomb(kind, 20)
    assert len(read_bytes(packed, limits=Limits(max_ratio=1e9), max_line_bytes=None)) == 20 * MIB
    with pytest.raises(LimitExceededError, match="at most 1,048,576 bytes after decompression"):
        read_bytes(packed, limits=Limits(max_bytes=MIB))
    small = compress(bytes(MIB), kind)
    assert len(read_bytes(small)) == MIB
    with pytest.raises(LimitExceededError, match="a compression ratio of at most 10"):
        read_bytes(small, limits=Limits(max_ratio=10, free_bytes=0))


def test_a_zstandard_window_beyond_128_mib_is_refused_without_being_allocated() -> None:
    options = {zstd.CompressionParameter.window_log: 30, zstd.CompressionParameter.content_size_flag: 0}
    compressor = zstd.ZstdCompressor(options=options)
    packed = compressor.compress(b"x") + compressor.flush()
    with pytest.raises(InputError, match=r"expected intact zstd data, got damaged data .*memory"):
        read_bytes(packed)


@pytest.mark.parametrize("kind", KINDS)
def test_a_bomb_of_hundreds_of_megabytes_takes_little_memory(kind: Compression, tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(bomb(kind, 300))
    assert path.stat().st_size < MIB
    program = f"""
        from rag_evaluation_framework.errors import LimitExceededError
        from rag_evaluation_framework.files.strict_json import read_lines
        from rag_evaluation_framework.files.access import Limits, open_reading, read_bytes
        for read in (read_bytes, lambda path: list(read_lines(path))):
            try:
                read({str(path)!r})
            except LimitExceededError as error:
                print(error)
        with open_reading({str(path)!r}, limits=Limits(max_ratio=1e9), max_line_bytes=None) as stream:
            print(sum(len(piece) for piece in iter(lambda: stream.read(1 << 20), b"")))
        print(peak_kib())
    """
    result = subprocess.run(
        [sys.executable, "-c", PEAK_SOURCE + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=True,
    )
    refused, refused_again, streamed, peak_kib = result.stdout.splitlines()
    assert "a compression ratio of at most 250" in refused
    assert "expected" in refused_again
    assert int(streamed) == 300 * MIB
    assert int(peak_kib) < 200 * 1024


def test_what_cannot_be_opened_is_a_storage_error_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"there is no file .*gone\.json"):
        open_reading(tmp_path / "gone.json")
    with pytest.raises(StorageError, match="expected a file, got the folder"):
        open_reading(tmp_path)
    with pytest.raises(StorageError, match="null byte"):
        open_reading("a\0b")


def test_impossible_levels_and_kinds_are_usage_errors() -> None:
    with pytest.raises(UsageError, match="level: expected 0 to 9 for gzip, got 10"):
        compress(b"", "gzip", level=10)
    with pytest.raises(UsageError, match="compression: expected gzip or zstd, got 'bz2'"):
        compress(b"", "bz2")  # type: ignore[arg-type]


# Text as it is stored.


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
    found = "another encoding (perhaps Windows-1252) (byte 0xe9 at byte 6)"
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
    with pytest.raises(LimitExceededError, match=r"data from the pipe within 0\.05 s, got a timeout"):
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
