"""Strict JSON values and lines, in and out; comments blanked; paths to values.

Refused: NaN and infinities, numbers beyond a double, duplicate keys, lone surrogates, text that is not
UTF-8, bare control characters, anything after the value, nesting beyond
:data:`~rag_evaluation_framework.files.json_scanner.MAX_DEPTH`. Integers are exact up to 4,300 digits. A byte
order mark at the start is dropped.

Reading runs at the speed of msgspec's decoder, which is strict about all of this except duplicate keys
and depth; both are checked afterwards. Many short texts are read faster together than one by
one: :func:`decode_lines`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

import msgspec

from rag_evaluation_framework.errors import InputError, Issue, LimitExceededError, refused
from rag_evaluation_framework.files.access import (
    DEFAULT_LIMITS,
    Limits,
    compressing,
    named_compression,
    open_reading,
)
from rag_evaluation_framework.files.atomic import atomic_writer
from rag_evaluation_framework.files.json_scanner import MAX_DEPTH, Lines, check_value, scan, too_deep

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_ALL_BUT_OPENINGS = bytes(byte for byte in range(256) if byte not in b"[{")
_ALL_BUT_OPENINGS_AND_LINE_FEEDS = _ALL_BUT_OPENINGS.replace(b"\n", b"")
_ALL_BUT_BRACKETS_AND_QUOTES = bytes(byte for byte in range(256) if byte not in b'[]{}"')
_ONE_KIND_OF_BRACKET = bytes.maketrans(b"{}", b"[]")

_decoder = msgspec.json.Decoder()


def decode(data: bytes | str, *, file: str | None = None, line: int | None = None) -> Any:
    """Read one JSON text.

    ``file`` and ``line`` (the number of the text's first line in that file) go into the error messages.
    """
    raw = _utf8(data, file=file, line=line)
    try:
        value = _decoder.decode(raw)
        if _repeats_a_key(raw, value):
            return _read_exactly(raw, file=file, line=line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _read_exactly(raw, file=file, line=line)
    if len(raw.translate(None, _ALL_BUT_OPENINGS)) > MAX_DEPTH and _is_too_deep(raw):
        return _read_exactly(raw, file=file, line=line)
    return value


def decode_lines(block: bytes) -> list[Any] | None:
    """Read many JSON texts at once, one in each line of a block.

    ``None`` says that not every line is a good one, or that some are blank: what is wrong, and what is right
    beside it, is then for :func:`decode` to find out line by line.
    """
    try:
        values: list[Any] = _decoder.decode_lines(block)
        marks = block.translate(None, _ALL_BUT_OPENINGS_AND_LINE_FEEDS)
        # A value may span lines but not share one, so that as many values as lines are one in each.
        if len(values) != marks.count(b"\n") + (not block.endswith(b"\n")):
            return None
        if any(map(_repeats_a_key, block.split(b"\n"), values)):
            return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if max(map(len, marks.split(b"\n"))) > MAX_DEPTH and _is_too_deep(block):
        return None
    return values


def decode_with_lines(data: bytes | str, *, file: str | None = None) -> tuple[Any, Lines]:
    """Read one JSON text, and also return the 1-based line of every value by its path.

    A path is a tuple such as ``("queries", 0, "query_id")``. This is many times slower than
    :func:`decode`: call it when there is a problem to locate.
    """
    try:
        return scan(_utf8(data, file=file, line=None))
    except InputError as error:
        raise error.located(file) from None


def encode(value: Any, *, indent: int | None = None, sort_keys: bool = False) -> bytes:
    """Write a value as UTF-8 JSON that :func:`decode` reads back equal; tuples come back as lists.

    The same value gives the same bytes. Without ``indent`` the text has no white space. Raises
    :class:`InputError`, naming the path, for what JSON cannot hold: NaN, infinities, keys that are not
    strings, lone surrogates, objects of other types.
    """
    try:
        data = encode_unchecked(value, order="deterministic" if sort_keys else None)
        faithful = _decoder.decode(data) == value
    except (TypeError, ValueError, RecursionError, OverflowError):
        check_value(value)
        raise
    # msgspec writes NaN as null, a date as a string, the key 1 as "1": equal values show it did not.
    if not faithful:
        check_value(value)
    if data.count(b"[") + data.count(b"{") > MAX_DEPTH and _is_too_deep(data):
        raise too_deep()
    return data if indent is None else msgspec.json.format(data, indent=indent)


def encode_unchecked(value: Any, *, order: Literal["deterministic"] | None = None) -> bytes:
    """Write a value that is known to have come from :func:`decode`, without looking at it again."""
    return (_encoder if order is None else _ordering_encoder).encode(value)


def _plain(value: Any) -> int | float | str:
    """Turn an instance of a subclass (numpy's ``float64`` is a ``float``) into the plain type."""
    for plain in (str, float, int):
        if isinstance(value, plain):
            return plain(value)
    raise TypeError(f"{type(value).__name__} is not a JSON value")


_encoder = msgspec.json.Encoder(enc_hook=_plain)
_ordering_encoder = msgspec.json.Encoder(enc_hook=_plain, order="deterministic")


def _utf8(data: bytes | str, *, file: str | None, line: int | None) -> bytes:
    if isinstance(data, bytes):
        return data.removeprefix(_BYTE_ORDER_MARK)
    try:
        return data.encode("utf-8").removeprefix(_BYTE_ORDER_MARK)
    except UnicodeEncodeError as error:
        number = (line or 1) + data.count("\n", 0, error.start)
        found = f"half a surrogate pair at character {error.start}"
        issue = Issue("lone-surrogate", "a string of Unicode characters", found, file=file, line=number)
        raise InputError([issue]) from None


def _repeats_a_key(raw: bytes, value: Any) -> bool:
    """Tell whether an object of a valid text has a key twice: msgspec keeps the last and does not say so."""
    if msgspec.json.format(raw, indent=-1) == _encoder.encode(value):
        return False  # the value says all that the text says; escapes and odd numbers are looked at closely
    try:
        _pairs_decoder.decode(raw.decode("utf-8"))
    except _RepeatedKeyError:
        return True
    return False


class _RepeatedKeyError(ValueError):
    """An object has a key twice."""


def _distinct(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) != len(pairs):
        raise _RepeatedKeyError


_pairs_decoder = json.JSONDecoder(object_pairs_hook=_distinct)


def _is_too_deep(raw: bytes) -> bool:
    """Tell whether a valid text nests beyond the limit, by peeling brackets off it level by level."""
    without_escapes = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    marks = without_escapes.translate(_ONE_KIND_OF_BRACKET, _ALL_BUT_BRACKETS_AND_QUOTES)
    brackets = b"".join(marks.split(b'"')[::2])
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"")
        if not brackets:
            return False
    return True


def _read_exactly(raw: bytes, *, file: str | None, line: int | None) -> Any:
    """Read with the exact scanner, which raises what is wrong with its place.

    It returns a value only where the fast decoder ran out of Python's stack in an already deep caller.
    """
    try:
        return scan(raw, line=line or 1)[0]
    except InputError as error:
        raise error.located(file) from None


# JSON that people wrote by hand, with ``//`` comments: the comments are blanked out and reported.
#
# A comment begins with ``//`` outside a string and runs to the end of its line. It is replaced by as many
# spaces, so every position, column and line of what remains is that of the file. Only the comments are
# looked at here: whether the rest is JSON is for the strict reader to say.

# A string is passed over whole, escapes included. One that is never closed ends with its line, where the
# strict reader will stop. Possessive, so that no text makes the search slow.
_STRING_OR_COMMENT = re.compile(r'"[^"\\\r\n]*+(?:\\.[^"\\\r\n]*+)*+"?+|(?P<comment>//[^\r\n]*+)')


def without_comments(text: str) -> str:
    """Return the text with spaces in the place of every comment.

    >>> without_comments('{"url": "http://x"} // why')
    '{"url": "http://x"}       '
    """
    if "//" not in text:
        return text
    return _STRING_OR_COMMENT.sub(lambda found: " " * len(found[0]) if found["comment"] else found[0], text)


def comment_lines(text: str) -> list[int]:
    """Return the 1-based line of every comment."""
    if "//" not in text:
        return []
    lines: list[int] = []
    line, counted = 1, 0
    for found in _STRING_OR_COMMENT.finditer(text):
        if found["comment"]:
            line += text.count("\n", counted, found.start())
            counted = found.start()
            lines.append(line)
    return lines


def comment_issues(text: str) -> list[Issue]:
    """Return one warning where a text has comments, with the line of the first; none where it has none."""
    lines = comment_lines(text)
    if not lines:
        return []
    found = "a // comment" if len(lines) == 1 else f"{len(lines):,} // comments"
    expected = "JSON without comments (they are passed over, and lost when the file is written)"
    return [Issue("json-comment", expected, found, severity="warning", line=lines[0])]


# A stream read in blocks of whole lines, which costs a tenth of reading it line by line.
#
# Only ``\n`` ends a line. A block is what one read brought, up to its last line end; lines longer than a
# block come in one of their own, in memory bounded by the longest line allowed. Nothing is waited for
# beyond what a pipe has to give.

# A hundred records or so: enough to share the cost of a call, few enough to stay in the processor's cache.
_BLOCK_BYTES = 1 << 16


def line_blocks(stream: BinaryIO, *, file: str | None, max_line_bytes: int) -> Iterator[bytes | InputError]:
    """Yield the bytes of some whole lines at a time, or an error in the place of one line.

    The last line may have no end. A byte order mark at the start is dropped.
    """
    blocks = _blocks(_pieces(stream, file=file, size=min(_BLOCK_BYTES, max_line_bytes)), max_line_bytes)
    start = next(blocks, b"")
    yield start.removeprefix(_BYTE_ORDER_MARK) if isinstance(start, bytes) else start
    yield from blocks


def _pieces(stream: BinaryIO, *, file: str | None, size: int) -> Iterator[bytes | InputError]:
    """Yield what the stream gives, piece by piece; damage to it is the last."""
    while True:
        try:
            # One read of the operating system at most: readers of a pipe see each line as it comes.
            piece = cast("BufferedReader", stream).read1(size)
        except InputError as error:
            yield error
            return
        except OSError as error:
            raise refused("read", file or "the bytes given", error) from error
        if not piece:
            return
        yield piece


def _blocks(pieces: Iterator[bytes | InputError], max_line_bytes: int) -> Iterator[bytes | InputError]:
    """Put the pieces of lines together; no piece is longer than a line may be."""
    begun: list[bytes] = []  # the line whose end is still to come, unless it is too long already
    size = 0
    for piece in pieces:
        if isinstance(piece, InputError):
            yield piece
            return
        start, end = 0, piece.rfind(b"\n") + 1
        if end:
            if size + piece.index(b"\n") > max_line_bytes:
                yield _too_long(max_line_bytes)
                begun.clear()
                start = piece.index(b"\n") + 1
            if start < end:
                yield b"".join([*begun, memoryview(piece)[start:end]])
            begun.clear()
            size = 0
        size += len(piece) - end
        if size > max_line_bytes:
            begun.clear()
        elif end < len(piece):
            begun.append(piece[end:])
    if size > max_line_bytes:
        yield _too_long(max_line_bytes)
    elif size:
        yield b"".join(begun)


def _too_long(max_line_bytes: int) -> LimitExceededError:
    return LimitExceededError([Issue("line-too-long", f"a line of at most {max_line_bytes:,} bytes", "more")])


# JSON lines: one value a line, read and written as a stream, so that memory does not grow with the
# file.
#
# Only ``\n`` (or ``\r\n``) ends a line: U+2028, U+0085 and the like inside strings do not. Blank lines
# are skipped but counted. gzip and Zstandard are recognised by content when reading, by name when
# writing.

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
