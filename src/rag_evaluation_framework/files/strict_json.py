"""Strict JSON: what is not JSON, or would not survive being read, is an error that says where.

Refused: NaN and infinities, numbers beyond a double, duplicate keys, lone surrogates, text that is not
UTF-8, bare control characters, anything after the value, nesting beyond
:data:`~rag_evaluation_framework.files.values.MAX_DEPTH`. Integers are exact up to 4,300 digits. A byte
order mark at the start is dropped.

Reading runs at the speed of msgspec's decoder, which is strict about all of this except duplicate keys
and depth; both are checked on the bytes by counting. Many short texts are read faster together than one by
one: :func:`decode_lines`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from rag_evaluation_framework.errors import InputError, Issue
from rag_evaluation_framework.files.json_scanner import scan
from rag_evaluation_framework.files.values import MAX_DEPTH, Lines, check_value, too_deep

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_ALL_BUT_COLONS_AND_OPENINGS = bytes(byte for byte in range(256) if byte not in b":[{")
_ALL_BUT_THOSE_AND_LINE_FEEDS = _ALL_BUT_COLONS_AND_OPENINGS.replace(b"\n", b"")
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
        marks = raw.translate(None, _ALL_BUT_COLONS_AND_OPENINGS)
        colons = marks.count(b":")
        # Re-encoding writes each key that survived, and each character, once. It has fewer colons than the
        # text exactly when a key was repeated and its earlier value dropped.
        if colons > 1 and colons + _escaped_colons(raw) != encode_unchecked(value).count(b":"):
            return _read_exactly(raw, file=file, line=line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _read_exactly(raw, file=file, line=line)
    if len(marks) - colons > MAX_DEPTH and _is_too_deep(raw):
        return _read_exactly(raw, file=file, line=line)
    return value


def decode_lines(block: bytes) -> list[Any] | None:
    """Read many JSON texts at once, one in each line of a block.

    ``None`` says that not every line is a good one, or that some are blank: what is wrong, and what is right
    beside it, is then for :func:`decode` to find out line by line.
    """
    try:
        values: list[Any] = _decoder.decode_lines(block)
        marks = block.translate(None, _ALL_BUT_THOSE_AND_LINE_FEEDS)
        # A value may span lines but not share one, so that as many values as lines are one in each.
        if len(values) != marks.count(b"\n") + (not block.endswith(b"\n")):
            return None
        if marks.count(b":") + _escaped_colons(block) != encode_unchecked(values).count(b":"):
            return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    openings = marks.translate(None, b":")
    if max(map(len, openings.split(b"\n"))) > MAX_DEPTH and _is_too_deep(block):
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


def _escaped_colons(raw: bytes) -> int:
    """Count the colons that the strings of a valid text hold as escapes."""
    if b"\\" not in raw or b"\\u003" not in raw:
        return 0
    # Without the escaped backslashes, every backslash left begins an escape of another kind.
    escapes = raw.replace(b"\\\\", b"")
    return escapes.count(b"\\u003a") + escapes.count(b"\\u003A")


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
