"""One guarded way to open anything: inside its folder, regular, decompressed within limits."""

from __future__ import annotations

import io
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from gzip import BadGzipFile, GzipFile
from pathlib import Path
from typing import BinaryIO, Literal, cast

from rag_evaluation_framework.errors import (
    InputError,
    Issue,
    LimitExceededError,
    UsageError,
    refused,
)

# Reading and writing gzip and Zstandard, recognised by content, in bounded memory and within limits.
#
# A file's first bytes say what it is; its name does not. Decompression is streamed and counted: a bomb is
# a :class:`LimitExceededError` after a few megabytes, not a full disk. Plain files are not limited, since
# they cannot grow while being read.

if sys.version_info < (3, 14):
    from backports import zstd
else:
    from compression import zstd

Compression = Literal["gzip", "zstd"]

_SUFFIXES: dict[str, Compression] = {".gz": "gzip", ".zst": "zstd"}
_DEFAULT_LEVELS: dict[Compression, int] = {"gzip": 6, "zstd": 3}
_LEVELS: dict[Compression, range] = {"gzip": range(10), "zstd": range(-7, 23)}

# RFC 1952: 1f 8b, and 8 for deflate, the only method there is.
_GZIP_MAGIC = b"\x1f\x8b\x08"
# RFC 8878: a frame, or one of sixteen kinds of skippable frame (which parallel compressors put first).
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_SKIPPABLE_MAGICS = tuple(bytes([low]) + b"\x2a\x4d\x18" for low in range(0x50, 0x60))
# 128 MiB, what the zstd command itself accepts unasked; RFC 8878 asks for at least 8 MiB.
_MAX_WINDOW_LOG = 27

# What gzip and Zstandard say of bytes with which no member begins.
_NO_MEMBER = ("Not a gzipped file", "Unknown frame descriptor")

_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a compressed file may expand: bytes in all, and bytes out for each byte in.

    JSON lines with repeated contexts shrink fifty- to a hundredfold, gzip's most is 1,032, Zstandard's has
    no bound. The ratio counts once more than ``free_bytes`` have come out, since small files of one
    repeated record may shrink more and harm nobody.
    """

    max_bytes: int = 64 << 30
    max_ratio: float = 250.0
    free_bytes: int = 16 << 20


DEFAULT_LIMITS = Limits()


def recognise(start: bytes) -> Compression | None:
    """Tell from its first four bytes how a file is compressed; ``None`` means it is plain."""
    if start.startswith(_GZIP_MAGIC):
        return "gzip"
    if start.startswith((_ZSTD_MAGIC, *_SKIPPABLE_MAGICS)):
        return "zstd"
    return None


def named_compression(path: str | Path) -> Compression | None:
    """Tell from a name how a file to be *written* is to be compressed: ``.gz``, ``.zst``, else not."""
    return _SUFFIXES.get(Path(path).suffix.lower())


def plain_name(path: str | Path) -> str:
    """Return a file's name in lower case, without the suffix of a compression."""
    name = Path(path).name.lower()
    return name.rpartition(".")[0] if named_compression(path) else name


def open_reading(
    source: str | Path | bytes, *, limits: Limits = DEFAULT_LIMITS, file: str | None = None
) -> BinaryIO:
    """Open a file, or bytes, for reading what they hold once decompressed.

    ``file`` is the name for error messages; a path speaks for itself. A truncated or damaged stream is an
    :class:`InputError`, a limit passed a :class:`LimitExceededError`, both raised by the read that meets it.
    """
    if isinstance(source, bytes):
        stream: BinaryIO = io.BytesIO(source)
        start = source[:4]
    else:
        file = str(source) if file is None else file
        try:
            opened = Path(source).open("rb")  # noqa: SIM115  # the caller closes what is returned
            # Peeking rather than reading and going back: a pipe cannot go back.
            stream, start = opened, opened.peek(4)
        except (OSError, ValueError) as error:
            raise refused("read", source, error) from error
    compression = recognise(start)
    if compression is None:
        return stream
    return cast("BinaryIO", io.BufferedReader(_Expanding(stream, compression, limits, file), _PIECE))


def read_bytes(
    source: str | Path | bytes, *, limits: Limits = DEFAULT_LIMITS, file: str | None = None
) -> bytes:
    """Read a whole file, or bytes, decompressed."""
    with open_reading(source, limits=limits, file=file) as stream:
        try:
            return stream.read()
        except OSError as error:
            raise refused("read", str(file or source), error) from error


def check_expansion(path: str | Path, *, limits: Limits = DEFAULT_LIMITS) -> None:
    """Raise at once where a file is a bomb, not after a million small records have come out of it."""
    with open_reading(path, limits=limits) as stream:
        if isinstance(cast("io.BufferedReader", stream).raw, _Expanding):
            for _ in range(0, limits.free_bytes + _PIECE, _PIECE):
                stream.read(_PIECE)


def compress(data: bytes, compression: Compression = "gzip", *, level: int | None = None) -> bytes:
    """Compress bytes; the same bytes give the same result (no time, no name in the header)."""
    buffer = io.BytesIO()
    with compressing(buffer, compression, level=level) as stream:
        stream.write(data)
    return buffer.getvalue()


def compressing(stream: BinaryIO, compression: Compression | None, *, level: int | None = None) -> BinaryIO:
    """Wrap a stream for writing; closing the wrapper ends the compressed data and leaves ``stream`` open."""
    if compression is None:
        return cast("BinaryIO", _LeftOpen(stream))
    if compression not in _LEVELS:
        raise UsageError(f"expected a compression of gzip or zstd, got {compression!r}")
    level = _DEFAULT_LEVELS[compression] if level is None else level
    levels = _LEVELS[compression]
    if level not in levels:
        raise UsageError(f"expected a {compression} level from {levels[0]} to {levels[-1]}, got {level!r}")
    if compression == "gzip":
        return cast("BinaryIO", GzipFile("", "wb", level, stream, mtime=0))
    frame = zstd.ZstdFile(stream, "wb", level=level)
    # Without any write ZstdFile leaves an empty file, which is no Zstandard at all.
    frame.write(b"")
    return cast("BinaryIO", frame)


class _LeftOpen(io.BufferedIOBase):
    """Pass writes on to a stream, and do not close it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: bytes, /) -> int:  # type: ignore[override]  # bytes are all we are given
        return self._stream.write(data)


class _Counted(io.RawIOBase):
    """A stream that knows how many bytes were read from it."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.count = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        data = self._stream.read(size)
        self.count += len(data)
        return data


class _Expanding(io.RawIOBase):
    """The decompressed bytes of a stream, member after member, counted against the limits."""

    def __init__(self, stream: BinaryIO, compression: Compression, limits: Limits, file: str | None) -> None:
        self._stream, self._compression, self._limits, self._file = stream, compression, limits, file
        self._packed, self._bytes_out = _Counted(stream), 0
        self._unpacked: GzipFile | zstd.ZstdFile
        if compression == "gzip":
            self._unpacked = GzipFile(fileobj=self._packed, mode="rb")
        else:
            options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _MAX_WINDOW_LOG}
            self._unpacked = zstd.ZstdFile(self._packed, options=options)

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._stream.close()
        super().close()

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]  # as BufferedReader calls
        try:
            expanded = self._unpacked.read1(min(len(buffer), _PIECE))
        except EOFError:
            raise self._damaged(f"{self._compression} data to their end", "a file that is cut off") from None
        except (BadGzipFile, zlib.error, zstd.ZstdError) as error:
            raise self._unreadable(error) from error
        except OSError as error:
            raise refused("read", self._file or "the bytes given", error) from error
        self._count(len(expanded))
        buffer[: len(expanded)] = expanded
        return len(expanded)

    def _count(self, size: int) -> None:
        self._bytes_out += size
        limits = self._limits
        if self._bytes_out > limits.max_bytes:
            raise self._too_large(f"at most {limits.max_bytes:,} bytes once decompressed", "more")
        if self._bytes_out > max(limits.free_bytes, limits.max_ratio * self._packed.count):
            expected = f"data that decompress at most {limits.max_ratio:g} times their size"
            raise self._too_large(expected, f"{self._bytes_out:,} bytes from {self._packed.count:,} so far")

    def _too_large(self, expected: str, found: str) -> LimitExceededError:
        return LimitExceededError([Issue("decompression-limit", expected, found, file=self._file)])

    def _unreadable(self, error: Exception) -> InputError:
        # The first member was recognised, so that what begins otherwise stands behind one.
        if any(sign in str(error) for sign in _NO_MEMBER):
            return self._damaged(f"nothing after the {self._compression} data", "other bytes")
        return self._damaged(f"intact {self._compression} data", f"what cannot be read ({error})")

    def _damaged(self, expected: str, found: str) -> InputError:
        return InputError([Issue("damaged-compression", expected, found, file=self._file)])


# Text as it is stored.


def read_text(path: str | Path, *, limits: Limits = DEFAULT_LIMITS) -> str:
    """Read a UTF-8 file, compressed or not: a byte order mark is removed, line ends are left as they are."""
    return decode_text(read_bytes(path, limits=limits), file=str(path))


def decode_text(data: bytes, *, file: str | None = None, line: int = 1) -> str:
    """Decode strict UTF-8 without a byte order mark; an error names the first wrong byte.

    ``line`` is the number of the first line.
    """
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        found = f"byte 0x{data[error.start]:02x} at byte {error.start}"
        line += data.count(b"\n", 0, error.start)
        raise InputError([Issue("invalid-utf8", "UTF-8 text", found, file=file, line=line)]) from None


# The files of a folder that may be evaluation data, and those that must not be opened.
#
# A link inside a folder is followed only to a file of the same folder: anything else it leads to was not
# given by the user. Pipes and devices are never opened, since reading them may never end.

_DATA_SUFFIXES = frozenset(
    {".json", ".jsonl", ".ndjson", ".yaml", ".yml", ".csv", ".tsv", ".parquet"}
    | {".h5", ".hdf5", ".trec", ".qrels"}
)


def data_files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder whose names may be those of data, sorted; hidden ones are left out."""
    inside = folder.resolve()
    for directory, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(directory, name)
            if (
                not name.startswith(".")
                and Path(plain_name(path)).suffix in _DATA_SUFFIXES
                and not _repeats(path, inside)
            ):
                yield path


def check_regular(path: Path, *, within: Path | None = None) -> None:
    """Raise unless a path is a regular file and, with ``within``, one that really is in that folder."""
    try:
        mode = path.stat().st_mode
        leaves = within is not None and not path.resolve().is_relative_to(within.resolve())
    except (OSError, ValueError) as error:
        raise refused("read", path, error) from error
    if leaves:
        found = "a link that leads out of it"
        raise InputError([Issue("link-out-of-folder", "a file of the folder", found, file=str(path))])
    if not stat.S_ISREG(mode):
        raise InputError([Issue("not-a-file", "a regular file", _named(mode), file=str(path))])


def _repeats(path: Path, inside: Path) -> bool:
    """Tell whether a link leads to a file of the folder, which is met under its own name."""
    return path.is_symlink() and path.exists() and path.resolve().is_relative_to(inside)


def _named(mode: int) -> str:
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")
