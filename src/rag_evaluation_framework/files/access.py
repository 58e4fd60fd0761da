"""One guarded way to open anything: inside its folder, regular, decompressed within limits."""

from __future__ import annotations

import hashlib
import io
import os
import re
import select
import stat
import sys
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from gzip import BadGzipFile, GzipFile
from pathlib import Path
from typing import BinaryIO, Generic, Literal, TypeVar, cast

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.errors import InputError, Issue, LimitExceededError, UsageError, refused

# Reading and writing gzip and Zstandard, recognised by content, in bounded memory and within limits.
#
# A file's first bytes say what it is; its name does not. Decompression is streamed and counted: a bomb is
# a :class:`LimitExceededError` after a few megabytes, not a full disk. Plain files that are read as streams
# may be of any size, since they cannot grow while being read; their lines may not.

if sys.version_info < (3, 14):
    from backports import zstd as zstd
else:
    from compression import zstd as zstd

T = TypeVar("T")
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


class Limits(msgspec.Struct, frozen=True):
    """The limits on reading: bytes in all, and bytes out per byte in for a compressed file.

    JSON lines with repeated contexts shrink fifty- to a hundredfold, gzip's most is 1,032, Zstandard's has
    no bound. The ratio counts once more than ``free_bytes`` have come out, since small files of one
    repeated record may shrink more and harm nobody.
    """

    max_bytes: int = 64 << 30
    max_ratio: float = 250.0
    free_bytes: int = 16 << 20
    max_whole_bytes: int = 1 << 30
    """Maximum bytes in memory at once, compressed or not; streams have no such limit."""
    silence_seconds: float = 60.0
    """Maximum seconds to wait for the next bytes of a pipe."""


DEFAULT_LIMITS = Limits()

# A record with every context of a long conversation is well under a megabyte; the longest files that are
# written on one line, such as SQuAD's, have 42.
MAX_LINE_BYTES = 64 << 20


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
    source: str | Path | bytes,
    *,
    limits: Limits = DEFAULT_LIMITS,
    file: str | None = None,
    max_line_bytes: int | None = MAX_LINE_BYTES,
    pipe: bool = False,
) -> BinaryIO:
    """Open a regular file, or bytes, for reading what they hold once decompressed.

    ``file`` is the name for error messages; a path speaks for itself. A truncated or damaged stream is an
    :class:`InputError`, a limit passed a :class:`LimitExceededError`, both raised by the read that meets it:
    a line that is too long after ``max_line_bytes`` of it (``None`` where the bytes are no lines). With
    ``pipe`` a pipe that the shell hands over, as in ``<(zcat a.run)``, is read too; whoever reads it must
    open it once only.
    """
    if isinstance(source, bytes):
        stream: BinaryIO = io.BytesIO(source)
        start, size = source[:4], len(source)
    else:
        file = str(source) if file is None else file
        stream, size = _opened(source, limits, pipe=pipe)
        try:
            # Peeking rather than reading and going back: a pipe cannot go back.
            start = cast("io.BufferedReader", stream).peek(4)
        except OSError as error:
            raise refused("read", source, error) from error
    compression = recognise(start)
    if compression is not None:
        stream = _buffered(_Expanding(stream, compression, limits, file))
    elif max_line_bytes is not None and 0 < size <= max_line_bytes:
        return stream
    if max_line_bytes is None:
        return stream
    return _buffered(_ShortLines(stream, max_line_bytes, limits, file))


def open_stored(path: str | Path) -> BinaryIO:
    """Open a regular file for reading its bytes as they are stored, compressed or not."""
    return _opened(path, DEFAULT_LIMITS, pipe=False)[0]


def sha256(path: str | Path) -> str:
    """Return the digest of a file as it is stored."""
    with open_stored(path) as stream:
        try:
            return hashlib.file_digest(cast("io.BufferedReader", stream), "sha256").hexdigest()
        except OSError as error:
            raise refused("read", path, error) from error


def _opened(source: str | Path, limits: Limits, *, pipe: bool) -> tuple[BinaryIO, int]:
    """Open a regular file, or an inherited pipe where that is wanted; also return the size (0: not known).

    Opening does not wait: without that, a pipe that nobody writes to would hold the program for ever.
    """
    try:
        stream = open(source, "rb", opener=_without_waiting)  # noqa: SIM115  # closed by the caller
        state = os.fstat(stream.fileno())
    except (OSError, ValueError) as error:
        raise refused("read", source, error) from error
    if stat.S_ISREG(state.st_mode):
        return stream, state.st_size
    if pipe and stat.S_ISFIFO(state.st_mode) and str(source).startswith(_INHERITED):
        return _buffered(_Piped(stream, limits, str(source))), 0
    stream.close()
    raise _not_regular(source, state.st_mode)


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


# What a shell puts in place of <(command), and its standard input.
_INHERITED = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")


def _buffered(raw: io.RawIOBase) -> BinaryIO:
    return cast("BinaryIO", io.BufferedReader(raw, _PIECE))


def read_bytes(
    source: str | Path | bytes,
    *,
    limits: Limits = DEFAULT_LIMITS,
    file: str | None = None,
    max_line_bytes: int | None = MAX_LINE_BYTES,
) -> bytes:
    """Read a whole file, or bytes, decompressed, within ``limits.max_whole_bytes``."""
    whole = replace(limits, max_bytes=min(limits.max_bytes, limits.max_whole_bytes))
    name = file if file is not None or isinstance(source, bytes) else str(source)
    with open_reading(source, limits=whole, file=name, max_line_bytes=max_line_bytes) as stream:
        try:
            if not isinstance(source, bytes):
                _check_size(os.fstat(stream.fileno()).st_size, whole, name)
            return stream.read()
        except OSError as error:
            raise refused("read", str(file or source), error) from error


def _check_size(size: int, limits: Limits, file: str | None) -> None:
    if size > limits.max_bytes:
        expected = f"at most {limits.max_bytes:,} bytes (the file is read into memory at once)"
        raise LimitExceededError([Issue("file-too-large", expected, f"{size:,}", file=file)])


def check_expansion(path: str | Path) -> None:
    """Raise at once where a file is a bomb, not after a million small records have come out of it."""
    with open_reading(path, max_line_bytes=None) as stream:
        if isinstance(cast("io.BufferedReader", stream).raw, _Expanding):
            for _ in range(0, DEFAULT_LIMITS.free_bytes + _PIECE, _PIECE):
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
        raise UsageError(f"compression: expected gzip or zstd, got {compression!r}")
    level = _DEFAULT_LEVELS[compression] if level is None else level
    levels = _LEVELS[compression]
    if level not in levels:
        raise UsageError(f"level: expected {levels[0]} to {levels[-1]} for {compression}, got {level!r}")
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
        # What is read ahead counts as unpacked: little, though Python 3.12 and later ask for 128 KB.
        data = self._stream.read(min(size, 1 << 13))
        self.count += len(data)
        return data


class _Reading(io.RawIOBase):
    """The limited reader of a stream, which it closes with itself."""

    def __init__(self, stream: BinaryIO, limits: Limits, file: str | None) -> None:
        self._stream, self._limits, self._file = stream, limits, file

    def readable(self) -> bool:
        return True

    def readall(self) -> bytes:
        return b"".join(iter(lambda: self.read(_PIECE), b""))  # the pieces of io are an eighth of ours

    def close(self) -> None:
        self._stream.close()
        super().close()

    def fileno(self) -> int:
        return self._stream.fileno()


class _Expanding(_Reading):
    """The decompressed bytes of a stream, member after member, counted against the limits."""

    def __init__(self, stream: BinaryIO, compression: Compression, limits: Limits, file: str | None) -> None:
        super().__init__(stream, limits, file)
        self._compression = compression
        self._packed, self._bytes_out = _Counted(stream), 0
        self._unpacked: GzipFile | zstd.ZstdFile
        if compression == "gzip":
            self._unpacked = GzipFile(fileobj=self._packed, mode="rb")
        else:
            options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _MAX_WINDOW_LOG}
            self._unpacked = zstd.ZstdFile(self._packed, options=options)

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]  # as BufferedReader calls
        try:
            expanded = self._unpacked.read1(min(len(buffer), _PIECE))
        except EOFError:
            raise self._damaged(f"complete {self._compression} data", "a truncated file") from None
        except (BadGzipFile, zlib.error, zstd.ZstdError) as error:
            raise self._unreadable(error) from error
        except OSError as error:
            raise refused("read", self._file or "the given bytes", error) from error
        self._count(len(expanded))
        buffer[: len(expanded)] = expanded
        return len(expanded)

    def _count(self, size: int) -> None:
        self._bytes_out += size
        limits = self._limits
        if self._bytes_out > limits.max_bytes:
            raise self._too_large(f"at most {limits.max_bytes:,} bytes after decompression", "more")
        if self._bytes_out > max(limits.free_bytes, limits.max_ratio * self._packed.count):
            expected = f"a compression ratio of at most {limits.max_ratio:g}"
            raise self._too_large(expected, f"{self._bytes_out:,} bytes from {self._packed.count:,}")

    def _too_large(self, expected: str, found: str) -> LimitExceededError:
        return LimitExceededError([Issue("decompression-limit", expected, found, file=self._file)])

    def _unreadable(self, error: Exception) -> InputError:
        # The first member was recognised, so that what begins otherwise stands behind one.
        if any(sign in str(error) for sign in _NO_MEMBER):
            return self._damaged(f"the end of the file after the {self._compression} data", "other bytes")
        return self._damaged(f"intact {self._compression} data", f"damaged data ({error})")

    def _damaged(self, expected: str, found: str) -> InputError:
        return InputError([Issue("damaged-compression", expected, found, file=self._file)])


class _ShortLines(_Reading):
    """The bytes of a stream, as long as none of its lines is too long."""

    def __init__(self, stream: BinaryIO, longest: int, limits: Limits, file: str | None) -> None:
        super().__init__(stream, limits, file)
        self._longest, self._line, self._length = longest, 1, 0

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]  # as BufferedReader calls
        data = cast("io.BufferedReader", self._stream).read1(min(len(buffer), _PIECE))
        ends = data.count(b"\n")
        self._line += ends
        self._length = len(data) - data.rfind(b"\n") - 1 if ends else self._length + len(data)
        if self._length > self._longest:
            expected = f"a line of at most {self._longest:,} bytes"
            issue = Issue("line-too-long", expected, "more", file=self._file, line=self._line)
            raise LimitExceededError([issue])
        buffer[: len(data)] = data
        return len(data)


class _Piped(_Reading):
    """The bytes of a pipe; one that stays silent, or never ends, is given up."""

    _count = 0

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]  # as BufferedReader calls
        if not select.select([self._stream], [], [], self._limits.silence_seconds)[0]:
            expected = f"data from the pipe within {self._limits.silence_seconds:g} s"
            raise LimitExceededError([Issue("silent-pipe", expected, "a timeout", file=self._file)])
        data = os.read(self._stream.fileno(), len(buffer))
        self._count += len(data)
        if self._count > self._limits.max_bytes:
            expected = f"at most {self._limits.max_bytes:,} bytes from a pipe"
            raise LimitExceededError([Issue("file-too-large", expected, "more", file=self._file)])
        buffer[: len(data)] = data
        return len(data)


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
        found = foreign_text(data, f" (byte 0x{data[error.start]:02x} at byte {error.start})")
        line += data.count(b"\n", 0, error.start)
        raise InputError([Issue("invalid-utf8", "UTF-8 text", found, file=file, line=line)]) from None


# Chinese text in GBK is pairs of high bytes; in other encodings those seldom stand side by side.
_GBK_PAIR = re.compile(rb"[\xb0-\xf7][\xa1-\xfe]")
_HIGH_BYTE = re.compile(rb"[\x80-\xff]")
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_CHECKED_BYTES = 1 << 16
# With what bytes files begin that are no text, and what they are.
_BINARY = {b"%PDF-": "a PDF document", b"PK\3\4": "a ZIP archive (perhaps Word or Excel)"}
_OTHER = "binary data"


def foreign_text(data: bytes, where: str = "") -> str:
    """Return the likely kind of bytes that are not UTF-8, and the fix."""
    seen = _encoding_of(data)
    return f"{seen}{where}" if _is_binary(seen) else f"{seen}{where}; save it as UTF-8"


def _is_binary(seen: str) -> bool:
    return seen == _OTHER or seen in _BINARY.values()


def _encoding_of(data: bytes) -> str:
    start = data[:_CHECKED_BYTES]
    for begins, name in _BINARY.items():
        if start.startswith(begins):
            return name
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or max(start[:64:2].count(0), start[1:64:2].count(0)) > 8:
        return "UTF-16"
    if _CONTROLS.search(start):
        return _OTHER
    high = len(_HIGH_BYTE.findall(start))
    if high and 2 * len(_GBK_PAIR.findall(start)) >= 0.6 * high:
        return "GBK"
    return "another encoding (perhaps Windows-1252)"


def check_encoding(path: Path, *, texts_only: bool = False) -> None:
    """Refuse a text in another encoding than UTF-8 by the name of that encoding.

    With ``texts_only`` what is no text at all is let through.
    """
    with open_reading(path, max_line_bytes=None) as stream:
        start = stream.read(_CHECKED_BYTES)
    if not _decodes(start) or start[:64].count(0) > 8:
        if texts_only and _is_binary(_encoding_of(start)):
            return
        of_table = plain_name(path).endswith((".csv", ".tsv"))
        hint = " (in a spreadsheet: CSV UTF-8)" if of_table else ""
        found = f"{foreign_text(start)}{hint}"
        raise InputError([Issue("invalid-utf8", "UTF-8 text", found, file=str(path))])


def _decodes(data: bytes) -> bool:
    """Return True if bytes, which may end within a character, are UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return len(data) == _CHECKED_BYTES and error.start >= len(data) - 4
    return True


# The files of a folder that may be evaluation data, and those that must not be opened.
#
# A link inside a folder is followed only to a file of the same folder: anything else it leads to was not
# given by the user. Pipes and devices are never opened, since reading them may never end.

_DATA_SUFFIXES = frozenset(
    {".json", ".jsonl", ".ndjson", ".yaml", ".yml", ".csv", ".tsv", ".parquet"}
    | {".h5", ".hdf5", ".trec", ".qrels"}
)


def data_files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder whose names may be those of data, sorted.

    Hidden ones are left out, and so are the folders of runs, which only this program reads.
    """
    inside = folder.resolve()
    for directory, folders, names in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and not _holds_run(Path(directory, name))
        )
        for name in sorted(names):
            path = Path(directory, name)
            if (
                not name.startswith(".")
                and Path(plain_name(path)).suffix in _DATA_SUFFIXES
                and not _repeats(path, inside)
            ):
                yield path


def _holds_run(folder: Path) -> bool:
    return (folder / "head.json").is_file() and any(
        (folder / name).exists() for name in ("journal.jsonl", "samples.jsonl", "data.jsonl.zst")
    )


def is_there(path: str | Path) -> bool:
    """Return True if anything exists at a path; an impossible name leads nowhere."""
    try:
        Path(path).stat()
    except (OSError, ValueError):
        return False
    return True


def check_regular(path: Path, *, within: Path | None = None) -> None:
    """Raise unless a path is a regular file and, with ``within``, one that really is in that folder."""
    try:
        mode = path.stat().st_mode
        leaves = within is not None and not path.resolve().is_relative_to(within.resolve())
    except (OSError, ValueError) as error:
        raise refused("read", path, error) from error
    if leaves:
        found = "a link to a file outside it"
        raise InputError([Issue("link-out-of-folder", "a file inside the folder", found, file=str(path))])
    if not stat.S_ISREG(mode):
        raise _not_regular(path, mode)


def _repeats(path: Path, inside: Path) -> bool:
    """Return True if a link leads to a file of the folder, which is met under its own name."""
    return path.is_symlink() and path.exists() and path.resolve().is_relative_to(inside)


def _not_regular(path: str | Path, mode: int) -> InputError:
    return InputError([Issue("not-a-file", "a regular file", _named(mode), file=str(path))])


def _named(mode: int) -> str:
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


# Files that are asked for again and again are read once, as long as they are the same.

_MOST_READ = 8
# Within a tick of the file system's clock a file may change without a trace.
_TICK_NS = 20_000_000


def stamp_of(path: Path) -> list[int] | None:
    """Return what changes with every writing of a file; ``None`` if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    stamp = [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]
    return stamp if stat.S_ISREG(found.st_mode) else None


def is_settled(stamp: list[int], *, since: int = _TICK_NS) -> bool:
    """Return True if a file's last change is more than ``since`` nanoseconds ago."""
    return max(stamp[1:3]) < time.time_ns() - since


def settled_stamp(path: Path) -> list[int] | None:
    """Return the stamp of a file; ``None`` if it is no file, or was written just now."""
    stamp = stamp_of(path)
    return stamp if stamp and is_settled(stamp) else None


class ReadOnce(Generic[T]):
    """The contents of the latest files by path, valid while a file's size and times are the same.

    Callers must not change them.
    """

    def __init__(self) -> None:
        self._read: OrderedDict[tuple[Path, object], tuple[list[int], T]] = OrderedDict()

    def of(self, path: Path, read: Callable[[], T], *, key: object = None) -> T:
        """Return what was read of the file under this key, or read it."""
        stamp, kept = settled_stamp(path), self._read.get((path, key))
        if kept is not None and kept[0] == stamp:
            return kept[1]
        value = read()
        if stamp is not None:
            self._read[path, key] = stamp, value
            while len(self._read) > _MOST_READ:
                self._read.popitem(last=False)
        return value
