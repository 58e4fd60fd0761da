"""JSON lines: one value a line, read and written as a stream, so that memory does not grow with the file.

Only ``\\n`` (or ``\\r\\n``) ends a line: U+2028, U+0085 and the like inside strings do not. Blank lines are
skipped but counted. gzip and Zstandard are recognised by content when reading, by name when writing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO

from rag_evaluation_framework.errors import InputError, Issue, LimitExceededError
from rag_evaluation_framework.files.atomic import atomic_writer
from rag_evaluation_framework.files.compression import (
    DEFAULT_LIMITS,
    Limits,
    compressing,
    named_compression,
    open_reading,
)
from rag_evaluation_framework.files.refusals import refused
from rag_evaluation_framework.files.strict_json import decode, encode

# A record with every context of a long conversation is well under a megabyte.
MAX_LINE_BYTES = 64 << 20

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_WHITE_SPACE = b" \t\r\n"


def read_lines(
    source: str | Path | bytes,
    *,
    file: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    max_line_bytes: int = MAX_LINE_BYTES,
    on_error: Callable[[InputError], None] | None = None,
) -> Iterator[tuple[int, Any]]:
    """Yield the 1-based line number and the value of every line that is not blank.

    A bad line raises :class:`InputError` with file and line. With ``on_error`` the error goes there
    instead and reading continues on the next line; damage to the compressed stream itself ends it.
    """
    name = file if file is not None or isinstance(source, bytes) else str(source)
    with open_reading(source, limits=limits, file=name) as stream:
        for number, raw in numbered_lines(stream, file=name, max_line_bytes=max_line_bytes):
            try:
                if isinstance(raw, InputError):
                    raise raw.located(name, number)
                # Without its end: what is missing is missing on this line, not on the next.
                value = decode(raw.rstrip(b"\r\n"), file=name, line=number)
            except InputError as error:
                if on_error is None:
                    raise
                on_error(error)
            else:
                yield number, value


def write_lines(path: str | Path, values: Iterable[Any], *, overwrite: bool = True) -> int:
    """Write each value on a line of its own, atomically, and return how many there were.

    A name that ends in ``.gz`` or ``.zst`` is compressed. If anything fails, in the values too, the old file
    is as it was.
    """
    written = 0
    with (
        atomic_writer(path, overwrite=overwrite) as file,
        compressing(file, named_compression(path)) as stream,
    ):
        for value in values:
            stream.write(encode(value) + b"\n")
            written += 1
    return written


def numbered_lines(
    stream: BinaryIO, *, file: str | None, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[tuple[int, bytes | InputError]]:
    """Yield the number and the bytes of each line that is not blank, or the error in its place."""
    for number in count(1):
        try:
            raw = stream.readline(max_line_bytes + 1)
            whole = len(raw) <= max_line_bytes or raw.endswith(b"\n")
            while raw and not whole and not raw.endswith(b"\n"):
                raw = stream.readline(max_line_bytes + 1)
        except InputError as error:
            yield number, error
            return
        except OSError as error:
            raise refused("read", file or "the bytes given", error) from error
        if not whole:
            expected = f"a line of at most {max_line_bytes:,} bytes"
            yield number, LimitExceededError([Issue("line-too-long", expected, "more")])
            continue
        if not raw:
            return
        if number == 1:
            raw = raw.removeprefix(_BYTE_ORDER_MARK)
        if raw[:1] not in _WHITE_SPACE or raw.strip(_WHITE_SPACE):
            yield number, raw
