"""A JSON object written piece by piece, so that its long parts are never in memory as a whole.

The text is indented by two; an item of a streamed part is always one line, so that line-based tools can find
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from rag_evaluation_framework.files import strict_json


@dataclass(frozen=True, slots=True)
class Streamed:
    """A part that is made when it is written: the items of an array, or the pairs of an object."""

    pieces: Callable[[], Iterator[Any]]
    is_object: bool = False


def in_memory(value: Any) -> Any:
    """Return a value with its streamed parts read into memory."""
    if isinstance(value, Streamed):
        return dict(value.pieces()) if value.is_object else list(value.pieces())
    if isinstance(value, dict):
        return {name: in_memory(inner) for name, inner in value.items()}
    return value


def json_pieces(fields: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the text of an object whose values, or the values of whose values, may be streamed."""
    yield from _object(fields, b"\n")
    yield b"\n"


def _object(fields: Mapping[str, Any], indent: bytes) -> Iterator[bytes]:
    deeper = indent + b"  "
    opening = b"{"
    for name, value in fields.items():
        yield opening + deeper + strict_json.encode(name) + b": "
        opening = b","
        if isinstance(value, Streamed):
            yield from _streamed(value, deeper)
        elif isinstance(value, dict) and any(isinstance(inner, Streamed) for inner in value.values()):
            yield from _object(value, deeper)
        else:
            # JSON writes a line feed inside a string as \n, so each one here is between two parts.
            yield msgspec.json.format(strict_json.encode(value), indent=2).replace(b"\n", deeper)
    yield (opening if not fields else indent) + b"}"


def _streamed(part: Streamed, indent: bytes) -> Iterator[bytes]:
    opening, closing = (b"{", b"}") if part.is_object else (b"[", b"]")
    separator = opening
    for piece in part.pieces():
        yield separator + indent + b"  " + (_pair(*piece) if part.is_object else strict_json.encode(piece))
        separator = b","
    yield (opening if separator == opening else indent) + closing


def _pair(name: str, value: Any) -> bytes:
    return strict_json.encode(name) + b": " + strict_json.encode(value)
