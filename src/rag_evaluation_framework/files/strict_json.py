"""Strict JSON values and lines, in and out, and paths into a value.

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
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from io import BufferedReader, BytesIO
from pathlib import Path
from types import EllipsisType
from typing import Any, BinaryIO, Literal, TypeAlias, cast

import msgspec

from rag_evaluation_framework.errors import InputError, Issue, LimitExceededError, invalid, refused
from rag_evaluation_framework.files.access import (
    DEFAULT_LIMITS,
    MAX_LINE_BYTES,
    Limits,
    compressing,
    named_compression,
    open_reading,
)
from rag_evaluation_framework.files.atomic import atomic_writer
from rag_evaluation_framework.files.json_scanner import MAX_DEPTH, check_value, scan, too_deep

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
    whole = data if isinstance(data, bytes) else _utf8(data, file=file, line=line)
    raw = whole.removeprefix(_BYTE_ORDER_MARK)
    try:
        value = _decoder.decode(raw)
        is_exact = not repeats_a_key(raw, value)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        is_exact = False
    if is_exact and (len(raw.translate(None, _ALL_BUT_OPENINGS)) <= MAX_DEPTH or not _is_too_deep(raw)):
        return value
    # Read once more, exactly, to raise what is wrong with its place. A value comes back only where the fast
    # decoder ran out of Python's stack in an already deep caller.
    try:
        return scan(whole, line=line or 1)
    except InputError as error:
        raise error.located(file) from None


def decode_lines(block: bytes, *, is_checked: bool = False) -> list[Any] | None:
    """Read many JSON texts at once, one in each line of a block; a key twice is looked for unless it was.

    ``None`` says that not every line is a good one, or that some are blank: what is wrong, and what is right
    beside it, is then for :func:`decode` to find out line by line.
    """
    try:
        values: list[Any] = _decoder.decode_lines(block)
        marks = block.translate(None, _ALL_BUT_OPENINGS_AND_LINE_FEEDS)
        # A value may span lines but not share one, so that as many values as lines are one in each.
        if len(values) != marks.count(b"\n") + (not block.endswith(b"\n")):
            return None
        if not is_checked and any(map(repeats_a_key, block.split(b"\n"), values)):
            return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if max(map(len, marks.split(b"\n"))) > MAX_DEPTH and _is_too_deep(block):
        return None
    return values


def encode(value: Any, *, indent: int | None = None, sort_keys: bool = False) -> bytes:
    """Write a value as UTF-8 JSON that :func:`decode` reads back equal; tuples come back as lists.

    The same value gives the same bytes. Without ``indent`` the text has no white space. Raises
    :class:`InputError`, naming the path, for what JSON cannot hold: NaN, infinities, keys that are not
    strings, lone surrogates, objects of other types.
    """
    data, _ = encode_and_tell(value, sort_keys=sort_keys)
    return data if indent is None else msgspec.json.format(data, indent=indent)


def encode_and_tell(value: Any, *, sort_keys: bool = False) -> tuple[bytes, bool]:
    """Write a value as :func:`encode` does, and tell whether nothing changes when it is read back."""
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
    return data, faithful


def drop_nulls(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an object that are not null."""
    return {name: value for name, value in fields.items() if value is not None}


def finite_number(value: object) -> float | None:
    """Return a JSON number as a float; ``None`` for anything else, and for what no float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # a whole number of 309 digits
        return None


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


def _utf8(text: str, *, file: str | None, line: int | None) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        number = (line or 1) + text.count("\n", 0, error.start)
        found = f"a lone surrogate at character {error.start}"
        issue = Issue("lone-surrogate", "a string of Unicode characters", found, file=file, line=number)
        raise InputError([issue]) from None


def repeats_a_key(raw: bytes, value: Any) -> bool:
    """Return True if an object of a valid text repeats a key; msgspec silently keeps the last."""
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
    """Return True if a valid text nests beyond the limit, by peeling brackets off it level by level."""
    without_escapes = raw.replace(b"\\\\", b"").replace(b'\\"', b"")
    marks = without_escapes.translate(_ONE_KIND_OF_BRACKET, _ALL_BUT_BRACKETS_AND_QUOTES)
    brackets = b"".join(marks.split(b'"')[::2])
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"")
        if not brackets:
            return False
    return True


# JSON lines: one value a line, read and written as a stream, so that memory does not grow with the file.
#
# Only ``\n`` (or ``\r\n``) ends a line: U+2028, U+0085 and the like inside strings do not. Blank lines are
# skipped but counted. gzip and Zstandard are recognised by content when reading, by name when writing.

# Lines are read together, a hundred records or so: enough to share the cost of a call, few enough to stay in
# the processor's cache.
_BLOCK_BYTES = 1 << 16
_WHITE_SPACE = b" \t\r\n"


def read_lines(
    source: str | Path | bytes,
    *,
    file: str | None = None,
    limits: Limits = DEFAULT_LIMITS,
    max_line_bytes: int = MAX_LINE_BYTES,
    on_error: Callable[[InputError], None] | None = None,
    is_own: bool = False,
) -> Iterator[tuple[int, Any]]:
    """Yield the 1-based line number and the value of every line that is not blank.

    A bad line raises :class:`InputError` with file and line. With ``on_error`` the error goes there
    instead and reading continues on the next line; damage to the compressed stream itself ends it. In a file
    that is our own, no key comes twice.
    """
    name = file if file is not None or isinstance(source, bytes) else str(source)
    number = 0
    with open_reading(source, limits=limits, file=name, max_line_bytes=None, pipe=True) as stream:
        for block in _blocks(stream, file=name, max_line_bytes=max_line_bytes):
            values = None
            if isinstance(block, bytes) and len(block) <= max_line_bytes:
                if _is_blank(block):
                    number += block.count(b"\n")
                    continue
                values = decode_lines(block, is_checked=is_own)
            if values is not None:
                yield from enumerate(values, number + 1)
                number += len(values)
                continue
            for line in _lines(block, max_line_bytes):
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


def numbered_lines(
    stream: BinaryIO, *, file: str | None, max_line_bytes: int = MAX_LINE_BYTES
) -> Iterator[tuple[int, bytes | InputError]]:
    """Yield the number and the bytes of each line that is not blank, or the error in its place."""
    number = 0
    for block in _blocks(stream, file=file, max_line_bytes=max_line_bytes):
        for line in _lines(block, max_line_bytes):
            number += 1
            if isinstance(line, InputError) or not _is_blank(line):
                yield number, line


def _blocks(stream: BinaryIO, *, file: str | None, max_line_bytes: int) -> Iterator[bytes | InputError]:
    """Yield some whole lines at a time; damage to the stream is the last.

    Of a line beyond the limit only the beginning is there. A byte order mark at the start is dropped.
    """
    begun: list[bytes] = []  # a line whose end is still to come
    size, mark = 0, _BYTE_ORDER_MARK
    while True:
        try:
            # One read of the operating system at most: readers of a pipe see each line as it comes.
            piece = cast("BufferedReader", stream).read1(_BLOCK_BYTES)
        except InputError as error:
            yield error
            return
        except OSError as error:
            raise refused("read", file or "the given bytes", error) from error
        end = piece.rfind(b"\n") + 1
        if end or not piece:
            if block := b"".join((*begun, piece[:end])):
                yield block.removeprefix(mark)
            begun, size, mark = [], 0, b""
        if not piece:
            return
        if end < len(piece) and size <= max_line_bytes:
            begun.append(piece[end:])
            size += len(piece) - end


def _lines(block: bytes | InputError, max_line_bytes: int) -> Iterator[bytes | InputError]:
    """Yield the lines of a block; one that is too long is an error."""
    if isinstance(block, InputError):
        yield block
        return
    issue = Issue("line-too-long", f"a line of at most {max_line_bytes:,} bytes", "more")
    for line in BytesIO(block):
        is_short = len(line) <= max_line_bytes or len(line.removesuffix(b"\n")) <= max_line_bytes
        yield line if is_short else LimitExceededError([issue])


def _is_blank(line: bytes) -> bool:
    return line[:1] in _WHITE_SPACE and not line.strip(_WHITE_SPACE)


def write_lines(path: str | Path, values: Iterable[Any]) -> int:
    """Write each value on a line of its own, atomically, and return how many there were.

    A name that ends in ``.gz`` or ``.zst`` is compressed. If anything fails, in the values too, the old file
    is as it was.
    """
    written = 0
    with atomic_writer(path) as file, compressing(file, named_compression(path)) as stream:
        for value in values:
            stream.write(encode(value) + b"\n")
            written += 1
    return written


# Paths into a JSON value: ``result.answer``, ``choices[0].message.content``, ``sources[*].text``.
#
# A name with dots or brackets in it is quoted: ``["a.b"]``. ``[-1]`` is the last item, ``[*]`` every
# item, which makes the outcome a list. A path is only ever looked up, never run.

_STEP = re.compile(
    r"""(?:(?P<dot>\.)?(?P<name>[^\s.\[\]"']+)
        |\[\s*(?:(?P<index>-?[0-9]{1,9})|(?P<all>\*)|"(?P<quoted>[^"]*)"|'(?P<single>[^']*)')\s*\])""",
    re.VERBOSE,
)


_Step: TypeAlias = str | int | EllipsisType
"""A name, a place in a list, or ``...`` for every item."""


class JsonPath(msgspec.Struct, frozen=True):
    """A path that was read from its text. ``str()`` gives the text back."""

    text: str
    steps: tuple[_Step, ...]

    @classmethod
    def parse(cls, text: str, *, field: str = "") -> JsonPath:
        """Read a path; ``field`` says in an error message where it was written."""
        steps: list[_Step] = []
        position = 0
        while position < len(text):
            match = _STEP.match(text, position)
            if match is None or (match["name"] is not None and bool(match["dot"]) != bool(steps)):
                raise invalid(field, "a path such as result.answers[0].text", text)
            steps.append(_step(match))
            position = match.end()
        if not steps:
            raise invalid(field, "a path such as result.answers[0].text", text)
        return cls(text, tuple(steps))

    def find(self, value: Any) -> Any:
        """Return what stands at the path, or ``None`` where there is no such place."""
        return _found(value, self.steps)

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=1024)
def _parsed(path: str) -> JsonPath:
    return JsonPath.parse(path)


def value_at(value: Any, path: str) -> Any:
    """Return what stands at a path that is well formed, or ``None`` where there is no such place.

    >>> value_at({"choices": [{"text": "Six."}]}, "choices[0].text")
    'Six.'
    """
    return _parsed(path).find(value)


def _step(match: re.Match[str]) -> _Step:
    if match["index"] is not None:
        return int(match["index"])
    if match["all"]:
        return ...
    return next(match[group] for group in ("name", "quoted", "single") if match[group] is not None)


def _found(value: Any, steps: tuple[_Step, ...]) -> Any:
    for place, step in enumerate(steps):
        if isinstance(step, str):
            if not isinstance(value, dict) or step not in value:
                return None
            value = value[step]
        elif not isinstance(value, list):
            return None
        elif isinstance(step, EllipsisType):
            found = [_found(item, steps[place + 1 :]) for item in value]
            return None if found and all(item is None for item in found) else found
        elif -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value
