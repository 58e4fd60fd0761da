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

_INDENT = b"\n  "


@dataclass(frozen=True, slots=True)
class Streamed:
    """An array whose items are made when they are written."""

    items: Callable[[], Iterator[Any]]


def in_memory(value: Any) -> Any:
    """Return a value; a streamed one is read into memory."""
    return list(value.items()) if isinstance(value, Streamed) else value


def json_pieces(fields: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the text of an object whose values may be streamed."""
    separator = b"{"
    for name, value in fields.items():
        yield separator + _INDENT + strict_json.encode(name) + b": "
        separator = b","
        if isinstance(value, Streamed):
            yield from _array(value)
        else:
            # JSON writes a line feed inside a string as \n, so each one here is between two parts.
            yield msgspec.json.format(strict_json.encode(value), indent=2).replace(b"\n", _INDENT)
    yield (b"\n}" if fields else b"{}") + b"\n"


def _array(part: Streamed) -> Iterator[bytes]:
    separator = b"["
    for item in part.items():
        yield separator + _INDENT + b"  " + strict_json.encode(item)
        separator = b","
    yield b"[]" if separator == b"[" else _INDENT + b"]"
