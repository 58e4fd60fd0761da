"""JSON lines: one value a line, read and written as a stream, so that memory does not grow with the file.

Only ``\\n`` (or ``\\r\\n``) ends a line: U+2028, U+0085 and the like inside strings do not. Blank lines are
skipped but counted. gzip and Zstandard are recognised by content when reading, by name when writing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from rag_evaluation_framework.errors import InputError
from rag_evaluation_framework.files.atomic import atomic_writer
from rag_evaluation_framework.files.compression import (
    DEFAULT_LIMITS,
    Limits,
    compressing,
    named_compression,
    open_reading,
)
from rag_evaluation_framework.files.line_blocks import line_blocks
from rag_evaluation_framework.files.strict_json import decode, decode_lines, encode

# A record with every context of a long conversation is well under a megabyte.
MAX_LINE_BYTES = 64 << 20

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
    number = 0
    with open_reading(source, limits=limits, file=name) as stream:
        for block in line_blocks(stream, file=name, max_line_bytes=max_line_bytes):
            if isinstance(block, bytes) and (values := decode_lines(block)) is not None:
                yield from enumerate(values, number + 1)
                number += len(values)
                continue
            for line in _lines(block):
                number += 1
                try:
                    if isinstance(line, InputError):
                        raise line.located(name, number)
                    if _is_blank(line):
                        continue
                    # Without its end: what is missing is missing on this line, not on the next.
                    value = decode(line.rstrip(b"\r\n"), file=name, line=number)
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
    number = 0
    for block in line_blocks(stream, file=file, max_line_bytes=max_line_bytes):
        for line in _lines(block):
            number += 1
            if isinstance(line, InputError) or not _is_blank(line):
                yield number, line


def _lines(block: bytes | InputError) -> Iterable[bytes | InputError]:
    return [block] if isinstance(block, InputError) else BytesIO(block)


def _is_blank(line: bytes) -> bool:
    return line[:1] in _WHITE_SPACE and not line.strip(_WHITE_SPACE)
