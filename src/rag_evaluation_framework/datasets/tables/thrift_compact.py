"""Thrift's compact protocol, in which Parquet writes its footer and the header of each page.

A struct is read as its values by field number: whole numbers, bytes, lists and structs. What is not
the protocol is a ``ValueError``; data that end too early are an ``EOFError``.
"""

from __future__ import annotations

from typing import Any

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_WHOLE_NUMBERS = frozenset({_I16, _I32, _I64})
_MAX_DEPTH = 16

Struct = dict[int, Any]


class CompactReader:
    """Reads one struct from the beginning of ``data``; ``position`` is then where it ended."""

    def __init__(self, data: bytes) -> None:
        self.data, self.position = data, 0

    def struct(self, depth: int = 0) -> Struct:
        if depth > _MAX_DEPTH:
            raise ValueError("a struct that nests too deep")
        values: Struct = {}
        field = 0
        while head := self._byte():
            delta, kind = head >> 4, head & 15
            field = field + delta if delta else self._zigzag()
            # A truth value stands in the type itself.
            values[field] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return values

    def _value(self, kind: int, depth: int) -> Any:
        if kind in _WHOLE_NUMBERS:
            return self._zigzag()
        if kind in (_TRUE, _FALSE, _BYTE):
            return self._byte()
        if kind == _BINARY:
            return self._bytes(self._varint())
        if kind == _DOUBLE:
            return self._bytes(8)
        if kind in (_LIST, _SET):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._varint()
            return self._values(count, (head & 15,), depth)
        if kind == _MAP:
            count = self._varint()
            kinds = self._byte() if count else 0
            return self._values(count, (kinds >> 4, kinds & 15), depth)
        if kind == _STRUCT:
            return self.struct(depth + 1)
        raise ValueError("a value of an unknown type")

    def _values(self, count: int, kinds: tuple[int, ...], depth: int) -> list[Any]:
        # Each value takes a byte at least, except where the type is unknown.
        if count > len(self.data) or depth > _MAX_DEPTH:
            raise ValueError("a list that is longer than the data")
        return [self._value(kind, depth + 1) for _ in range(count) for kind in kinds]

    def _byte(self) -> int:
        if self.position >= len(self.data):
            raise EOFError
        byte = self.data[self.position]
        self.position += 1
        return byte

    def _bytes(self, count: int) -> bytes:
        start, self.position = self.position, self.position + count
        if self.position > len(self.data):
            raise EOFError
        return self.data[start : self.position]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise ValueError("a number that is too long")

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
