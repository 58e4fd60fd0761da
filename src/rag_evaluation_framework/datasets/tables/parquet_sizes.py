"""What a Parquet file claims to hold, checked before anything of it is expanded.

The footer says how large each column is, and each page says how large it is itself. Both are read here, by
our own few lines: pyarrow would expand whole pages at once, and crashes on some damaged footers. A footer
that claims little while its pages expand to much is found out by the pages; one that leads to another file is
refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from rag_evaluation_framework.datasets.tables.thrift_compact import CompactReader, Struct
from rag_evaluation_framework.errors import Issue, LimitExceededError

MAGIC = b"PAR1"

MAX_PAGE_BYTES = 64 << 20
"""Writers make pages of a megabyte; only a single value can be larger than that."""

_MAX_FOOTER_BYTES = 32 << 20
# Headers of pages are some dozens of bytes; statistics of long texts can make them longer.
_HEADER_BYTES = 1 << 10
_LONGEST_HEADER = 1 << 20

# Field numbers in parquet.thrift.
_SCHEMA, _ROWS, _ROW_GROUPS = 2, 3, 4
_CHILDREN = 5
_COLUMNS, _GROUP_BYTES = 1, 2
_OTHER_FILE, _COLUMN_METADATA = 1, 3
_UNCOMPRESSED, _COMPRESSED, _DATA_OFFSET, _DICTIONARY_OFFSET = 6, 7, 9, 11
_PAGE_UNCOMPRESSED, _PAGE_COMPRESSED = 2, 3


def check_sizes(file: BinaryIO, *, allowed: int) -> None:
    """Raise unless the file is a Parquet file that claims no more than ``allowed`` bytes when expanded.

    What is too large is a :class:`LimitExceededError`, what is damaged a ``ValueError``.
    """
    size = file.seek(0, 2)
    try:
        footer = _footer(file, size)
        claimed = _claimed_bytes(footer)
        if claimed > allowed:
            raise expands_too_far(f"{claimed:,} bytes", allowed)
        expanded = 0
        for page in _all_pages(file, footer, size):
            expanded += page
            if page > MAX_PAGE_BYTES:
                expected = f"pages of at most {MAX_PAGE_BYTES:,} bytes when expanded"
                raise LimitExceededError([Issue("page-too-large", expected, f"one of {page:,}")])
            if expanded > allowed:
                raise expands_too_far(f"more than {expanded:,} bytes", allowed)
    except EOFError:
        raise ValueError("a file that is cut off") from None
    except (KeyError, TypeError, AttributeError):
        raise ValueError("a footer without what it must have") from None


def expands_too_far(found: str, allowed: int) -> LimitExceededError:
    """Build the error for a file that holds more than the limits allow."""
    return LimitExceededError([Issue("expands-too-far", f"at most {allowed:,} bytes when expanded", found)])


def _footer(file: BinaryIO, size: int) -> Struct:
    if size < 12:
        raise ValueError("a file that is too short")
    file.seek(size - 8)
    end = file.read(8)
    length = int.from_bytes(end[:4], "little")
    if end[4:] != MAGIC or length > size - 12:
        raise ValueError("a file without a footer")
    if length > _MAX_FOOTER_BYTES:
        expected = f"a footer of at most {_MAX_FOOTER_BYTES:,} bytes"
        raise LimitExceededError([Issue("footer-too-large", expected, f"one of {length:,}")])
    file.seek(size - 8 - length)
    footer = CompactReader(file.read(length)).struct()
    leaves = sum(1 for element in footer[_SCHEMA] if not element.get(_CHILDREN))
    for group in footer[_ROW_GROUPS]:
        if len(group[_COLUMNS]) != leaves:
            raise ValueError("a row group with other columns than the schema")
        if any(_OTHER_FILE in column for column in group[_COLUMNS]):
            raise ValueError("a column in another file")
    return footer


def _claimed_bytes(footer: Struct) -> int:
    """Add up what the columns claim to be when expanded; a row takes a bit at least, whatever it claims."""
    claimed: int = 0
    for group in footer[_ROW_GROUPS]:
        in_columns = sum(column[_COLUMN_METADATA][_UNCOMPRESSED] for column in group[_COLUMNS])
        claimed += max(group[_GROUP_BYTES], in_columns)
    return max(claimed, int(footer[_ROWS]) // 8)


def _all_pages(file: BinaryIO, footer: Struct, size: int) -> Iterator[int]:
    """Yield how large each page is when expanded."""
    for group in footer[_ROW_GROUPS]:
        for column in group[_COLUMNS]:
            metadata: Struct = column[_COLUMN_METADATA]
            # An offset of 0 stands for a page that there is not, as in a table without rows.
            offsets = (metadata[_DATA_OFFSET], metadata.get(_DICTIONARY_OFFSET, 0))
            start = min(filter(None, offsets), default=0)
            end = start + metadata[_COMPRESSED]
            if (start < len(MAGIC) and end > start) or end > size:
                raise ValueError("a column outside the file")
            yield from _pages(file, start, end)


def _pages(file: BinaryIO, position: int, end: int) -> Iterator[int]:
    while position < end:
        header, length = _page_header(file, position)
        expanded, stored = header[_PAGE_UNCOMPRESSED], header[_PAGE_COMPRESSED]
        if expanded < 0 or stored < 0:
            raise ValueError("a page of a negative size")
        yield expanded
        position += length + stored


def _page_header(file: BinaryIO, position: int) -> tuple[dict[int, Any], int]:
    size = _HEADER_BYTES
    while True:
        file.seek(position)
        reader = CompactReader(file.read(size))
        try:
            return reader.struct(), reader.position
        except EOFError:
            if len(reader.data) < size or size >= _LONGEST_HEADER:
                raise
            size *= 32
