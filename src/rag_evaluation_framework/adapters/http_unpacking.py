"""A reply's body put together piece by piece, unpacked with a limit on what comes out.

gzip shrinks zeros a thousandfold: a megabyte on the wire can be a gigabyte in memory. The unpacker inflates
in small steps and stops, giving back what it holds, as soon as the limit is passed.
"""

from __future__ import annotations

import zlib
from typing import Protocol

from rag_evaluation_framework.errors import TargetError

_GZIP_BITS = 16 + zlib.MAX_WBITS
_RAW_DEFLATE_BITS = -zlib.MAX_WBITS
# RFC 1950: the low four bits of a zlib stream's first byte are 8; raw deflate, which some servers send under
# the same name, never begins so in practice.
_ZLIB_METHOD = 8
_STEP_BYTES = 1 << 16


class _Inflater(Protocol):
    """What a zlib decompression object offers."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    @property
    def unconsumed_tail(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ...) -> bytes: ...


class Unpacker:
    """Collects the pieces of one body; :meth:`finished` returns it whole."""

    def __init__(self, encoding: str, max_bytes: int) -> None:
        self._encoding = encoding.strip().lower()
        if self._encoding not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise TargetError("unsupported-encoding", "expected a body in gzip, deflate or plain")
        self._max_bytes = max_bytes
        self._inflater: _Inflater | None = None
        self._pieces: list[bytes] = []
        self.size = 0

    def add(self, data: bytes) -> None:
        """Take the next piece from the wire; a body that grows beyond the limit is a ``TargetError``."""
        if self._encoding in ("", "identity"):
            self._keep(data)
            return
        try:
            self._inflate(data)
        except zlib.error:
            raise TargetError("damaged-body", f"the body is not {self._encoding}", retry=True) from None

    def finished(self) -> bytes:
        """Return the body; a compressed one that stops halfway is a ``TargetError``."""
        if self._inflater is not None and not self._inflater.eof:
            raise TargetError("truncated-body", "the compressed body ended halfway", retry=True)
        return b"".join(self._pieces)

    def too_large(self) -> TargetError:
        return TargetError(
            "body-too-large", f"expected a body of at most {self._max_bytes:,} bytes, got more"
        )

    def _inflate(self, data: bytes) -> None:
        waiting = bool(data)
        while waiting:
            if self._inflater is None or self._inflater.eof:  # gzip may have several members in a row
                self._inflater = self._new_inflater(data[0])
            piece = self._inflater.decompress(data, _STEP_BYTES)
            self._keep(piece)
            ended = self._inflater.eof
            data = self._inflater.unused_data if ended else self._inflater.unconsumed_tail
            # A full step may have left output inside zlib although all input was taken.
            waiting = bool(data) or (not ended and len(piece) == _STEP_BYTES)

    def _new_inflater(self, first_byte: int) -> _Inflater:
        if self._encoding == "deflate":
            is_zlib = first_byte & 0x0F == _ZLIB_METHOD
            return zlib.decompressobj(zlib.MAX_WBITS if is_zlib else _RAW_DEFLATE_BITS)
        return zlib.decompressobj(_GZIP_BITS)

    def _keep(self, piece: bytes) -> None:
        self.size += len(piece)
        if self.size > self._max_bytes:
            self._pieces.clear()
            raise self.too_large()
        self._pieces.append(piece)
