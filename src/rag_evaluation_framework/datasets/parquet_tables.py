"""Records as Parquet, within limits checked before anything expands."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from rag_evaluation_framework.datasets.csv_tables import ANY_COLUMNS, EXTRA_FIELDS, Columns
from rag_evaluation_framework.errors import InputError, Issue, LimitExceededError, UsageError, refused, shown
from rag_evaluation_framework.extensions import extra_module
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.access import (
    DEFAULT_LIMITS,
    Limits,
    check_regular,
    named_compression,
    open_stored,
)
from rag_evaluation_framework.files.atomic import atomic_writer
from rag_evaluation_framework.files.json_scanner import check_value

# Thrift's compact protocol, in which Parquet writes its footer and the header of each page.
#
# A struct is read as its values by field number: whole numbers, bytes, lists and structs. What is not the
# protocol is a ``ValueError``; data that end too early are an ``EOFError``.

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
            raise ValueError("a struct that is nested too deep")
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


# What a Parquet file claims to hold, checked before anything of it is expanded.
#
# The footer says how large each column is, and each page says how large it is itself. Both are read here,
# by our own few lines: pyarrow would expand whole pages at once, and crashes on some damaged footers. A
# footer that claims little while its pages expand to much is found out by the pages; one that leads to
# another file is refused.

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


def check_sizes(file: BinaryIO, *, allowed: int) -> set[int]:
    """Raise unless the file is a Parquet file that claims no more than ``allowed`` bytes when expanded.

    What is too large is a :class:`LimitExceededError`, what is damaged a ``ValueError``. Returned are the
    numbers of the columns with a dictionary: pyarrow, asked for them, ends the program where a file is
    damaged in certain ways.
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
                raise LimitExceededError([Issue("page-too-large", expected, f"a page of {page:,} bytes")])
            if expanded > allowed:
                raise expands_too_far(f"more than {expanded:,} bytes", allowed)
        numbered = [each for group in footer[_ROW_GROUPS] for each in enumerate(group[_COLUMNS])]
        return {number for number, column in numbered if column[_COLUMN_METADATA].get(_DICTIONARY_OFFSET)}
    except EOFError:
        raise ValueError("a truncated file") from None
    except (KeyError, TypeError, AttributeError):
        raise ValueError("an incomplete footer") from None


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
        raise LimitExceededError([Issue("footer-too-large", expected, f"a footer of {length:,} bytes")])
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
    """Return the claimed size of the expanded columns, with at least a bit per row."""
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


# Records as rows of a Parquet file, read in pieces and within limits. Needs the extra ``parquet``.
#
# A column of texts, of lists of texts, of whole numbers, of numbers or of truth values is stored as such;
# a missing value is a field that the record does not have. What no column can say exactly (objects, null,
# mixed kinds) stands as one JSON object in the column ``extra_fields``, as in a CSV file.
#
# A file says in its footer and before each page how large it is when expanded; one that claims more than
# the limits allow is refused before anything is expanded, and what really comes out is counted as well.

_BUFFER_BYTES = 1 << 20
_ROWS_AT_A_TIME = 256
_BATCH_BYTES = 8 << 20
_BATCHES_IN_A_GROUP = 16
_INT64 = range(-(1 << 63), 1 << 63)
_RUNS = re.compile(r"([0-9]+)").split
ARROW_FILE, ARROW_STREAM = b"ARROW1", b"\xff\xff\xff\xff"


def parts_of(path: Path) -> list[Path]:
    """Return the files of a folder of Parquet parts in the order of their numbers, or the Arrow file given.

    Spark and Dask write ``part-00000….parquet``, with notes of their own in files that begin with ``_`` or
    ``.``. Of anything else there is nothing: files of other names may be a dataset each.
    """
    if not path.is_dir():
        return [path] if path.is_file() and is_arrow(path) else []
    parts = [each for each in path.iterdir() if not each.name.startswith(("_", "."))]
    if any(each.suffix != ".parquet" or not each.name.startswith("part") for each in parts):
        return []
    for each in parts:
        check_regular(each, within=path)
    return sorted(parts, key=lambda each: [int(run) if run.isdecimal() else run for run in _RUNS(each.name)])


def is_arrow(path: Path) -> bool:
    """Tell an Arrow file or stream by its first bytes."""
    with open_stored(path) as file:
        return file.read(len(ARROW_FILE)).startswith((ARROW_FILE, ARROW_STREAM))


def column_names(path: str | Path) -> list[str]:
    """Return the names of the columns."""
    names: list[str] = open_parquet(path).schema_arrow.names
    return names


def read_rows(
    path: str | Path,
    columns: Columns = ANY_COLUMNS,
    *,
    limits: Limits = DEFAULT_LIMITS,
    on_error: Callable[[InputError], None],
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the 1-based number of each row, and the row as a record; an Arrow file or stream is read too."""
    file = str(path)
    try:
        what, batches = "Arrow", arrow_batches(Path(path))
        if not is_arrow(Path(path)):
            table = open_parquet(path, limits)
            columns.check_required(table.schema_arrow.names)
            what, batches = "Parquet", table.iter_batches(batch_size=_ROWS_AT_A_TIME, use_threads=False)
        allowed = _allowed_bytes(Path(path).stat().st_size, limits)
        expanded = 0
        for number, row in enumerate(_values(batches, what), 1):
            expanded += _size(row)
            if expanded > allowed:
                raise expands_too_far(f"more than {allowed:,} bytes", allowed).located(file, number)
            try:
                record = _record(row)
            except InputError as error:
                on_error(error.located(file, number))
            else:
                yield number, record
    except InputError as error:
        on_error(error.located(file))


Records = Iterable[Mapping[str, Any]]


def write_rows(path: str | Path, records: Records | Callable[[], Records]) -> None:
    """Write records as rows, atomically; a record that JSON could not hold is refused.

    They may be a function that begins to make them, which is called twice: to see what the columns hold, and
    to write some thousands at a time.
    """
    began = records if callable(records) else lambda: records
    if named_compression(path):
        raise UsageError(
            f"{path}: Parquet files are already compressed. Remove {Path(path).suffix} from the name"
        )
    pyarrow, parquet = required_pyarrow()
    kinds: dict[str, str | None] = {}
    longest = 1
    for index, record in enumerate(began()):
        try:
            check_value(dict(record))
        except InputError as error:
            raise error.located(str(path), within=f"[{index}]") from None
        longest = max(longest, _size(record))
        for name, value in record.items():
            kind = _kind(value)
            kinds[name] = kind if kinds.get(name, kind) == kind else None
    types = {
        "text": pyarrow.string(),
        "texts": pyarrow.list_(pyarrow.string()),
        "integer": pyarrow.int64(),
        "number": pyarrow.float64(),
        "truth": pyarrow.bool_(),
    }
    plain = {name: types[kind] for name, kind in kinds.items() if kind and name != EXTRA_FIELDS}
    rest = {EXTRA_FIELDS: types["text"]} if not plain or len(plain) < len(kinds) else {}
    layout = pyarrow.schema({**plain, **rest})
    # Pages end between batches: short ones keep pages of long texts within what is read back.
    batch = min(_ROWS_AT_A_TIME, max(1, _BATCH_BYTES // longest))
    left = iter(began())
    with (
        atomic_writer(path) as stream,
        parquet.ParquetWriter(stream, layout, compression="zstd", write_batch_size=batch) as writer,
    ):
        while group := [_cells(record, plain) for record in islice(left, _BATCHES_IN_A_GROUP * batch)]:
            writer.write_table(pyarrow.Table.from_pylist(group, layout))


def _cells(record: Mapping[str, Any], plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record by its columns: what has none is one text of JSON."""
    rest = {name: value for name, value in record.items() if name not in plain}
    return {**record, EXTRA_FIELDS: strict_json.encode(rest).decode() if rest else None}


def required_pyarrow() -> tuple[Any, Any]:
    """Return pyarrow and its module for Parquet, or raise the error that names the extra."""
    pyarrow, parquet = (
        extra_module(name, feature="Parquet", extra="parquet") for name in ("pyarrow", "pyarrow.parquet")
    )
    return pyarrow, parquet


def open_parquet(path: str | Path, limits: Limits = DEFAULT_LIMITS, *, plain_as_texts: bool = False) -> Any:
    """Open a file after checking what its footer and its pages claim.

    Texts stay a dictionary until their row is read: expanded, a batch of those that repeat could be of any
    size. With ``plain_as_texts`` those that are not stored as a dictionary are texts at once.
    """
    pyarrow, parquet = required_pyarrow()
    try:
        with open_stored(path) as file:
            with_dictionary = check_sizes(file, allowed=_allowed_bytes(Path(path).stat().st_size, limits))
        metadata = parquet.read_metadata(path)
        texts = [
            column.path
            for index, column in enumerate(map(metadata.schema.column, range(metadata.num_columns)))
            if column.physical_type == "BYTE_ARRAY" and (index in with_dictionary or not plain_as_texts)
        ]
        return parquet.ParquetFile(
            path, metadata=metadata, read_dictionary=texts, pre_buffer=False, buffer_size=_BUFFER_BYTES
        )
    except InputError as error:
        raise error.located(str(path)) from None
    except pyarrow.ArrowException as error:
        raise damaged(error).located(str(path)) from None
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno:
            raise refused("read", path, error) from error
        raise damaged(error).located(str(path)) from None


def _allowed_bytes(size: int, limits: Limits) -> int:
    return min(limits.max_bytes, max(limits.free_bytes, int(size * limits.max_ratio)))


def arrow_batches(path: Path) -> Iterator[Any]:
    """Yield the batches of an Arrow file or stream, each only where it does not point outside itself.

    The first is empty: it tells the columns where there are no others.
    """
    pyarrow, _ = required_pyarrow()
    # One of Python's files would be read by threads of Arrow's, which Python stops halfway when it ends.
    options = pyarrow.ipc.IpcReadOptions(use_threads=False)
    with pyarrow.OSFile(str(path)) as file:
        if file.read(len(ARROW_FILE)) == ARROW_FILE:
            reader = pyarrow.ipc.open_file(file, options=options)
            batches = map(reader.get_batch, range(reader.num_record_batches))
        else:
            file.seek(0)
            batches = reader = pyarrow.ipc.open_stream(file, options=options)
        yield reader.schema.empty_table()
        for batch in batches:
            batch.validate(full=True)
            yield batch


def _values(batches: Iterable[Any], what: str) -> Iterator[dict[str, Any]]:
    """Yield the rows as Python values, a few at a time."""
    pyarrow, _ = required_pyarrow()
    try:
        for batch in batches:
            for index in range(batch.num_rows):
                yield batch.slice(index, 1).to_pylist(maps_as_pydicts="strict")[0]
    except (pyarrow.ArrowException, OSError, ValueError, KeyError) as error:
        raise damaged(error, what) from None


def _record(row: Mapping[str, Any]) -> dict[str, Any]:
    """Turn a row into a record: what is missing is left out, NaN included, since pandas writes it so."""
    record: dict[str, Any] = {}
    for name, value in row.items():
        if value is None or (isinstance(value, float) and math.isnan(value)):
            continue
        if name == EXTRA_FIELDS:
            fields = strict_json.decode(value) if isinstance(value, str) else value
            if not isinstance(fields, dict):
                raise InputError([Issue("wrong-type", "an object", shown(fields), name)])
            record.update(fields)
        else:
            record[name] = value
    check_value(record)
    return record


def _size(value: Any) -> int:
    """Count roughly the bytes of a value."""
    if isinstance(value, str | bytes):
        return len(value) + 8
    if isinstance(value, Mapping):
        return sum(_size(key) + _size(inner) for key, inner in value.items())
    if isinstance(value, list | tuple):
        return 8 + sum(map(_size, value))
    return 8


def _kind(value: Any) -> str | None:
    """Name the kind of column that holds a value exactly; ``None`` when there is none."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, list):
        return "texts" if all(isinstance(item, str) for item in value) else None
    if isinstance(value, bool):
        return "truth"
    if type(value) is int:
        return "integer" if value in _INT64 else None
    return "number" if type(value) is float else None


def damaged(error: Exception, what: str = "Parquet") -> InputError:
    found = str(error).splitlines()[0] if str(error) else type(error).__name__
    return InputError([Issue("damaged-file", f"a readable {what} file", found)])
