"""A stream read in blocks of whole lines, which costs a tenth of reading it line by line.

Only ``\\n`` ends a line. A block is what one read brought, up to its last line end; lines longer than a block
come in one of their own, in memory bounded by the longest line allowed. Nothing is waited for beyond what a
pipe has to give.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BufferedReader
from typing import BinaryIO, cast

from rag_evaluation_framework.errors import InputError, Issue, LimitExceededError
from rag_evaluation_framework.files.refusals import refused

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
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
