"""Records as rows of a Parquet file, read in pieces and within limits. Needs the extra ``parquet``.

A column of texts, of lists of texts, of whole numbers, of numbers or of truth values is stored as such; a
missing value is a field that the record does not have. What no column can say exactly (objects, null, mixed
kinds) stands as one JSON object in the column ``extra_fields``, as in a CSV file.

A file says in its footer and before each page how large it is when expanded; one that claims more than the
limits allow is refused before anything is expanded, and what really comes out is counted as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.tables.csv_tables import ANY_COLUMNS, EXTRA_FIELDS, Columns
from rag_evaluation_framework.datasets.tables.parquet_sizes import MAGIC, check_sizes, expands_too_far
from rag_evaluation_framework.errors import (
    InputError,
    Issue,
    MissingExtraError,
    UsageError,
    shown,
)
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.atomic import atomic_writer
from rag_evaluation_framework.files.compression import DEFAULT_LIMITS, Limits, named_compression
from rag_evaluation_framework.files.refusals import refused
from rag_evaluation_framework.files.values import check_value

__all__ = ["MAGIC", "column_names", "read_rows", "write_rows"]

_BUFFER_BYTES = 1 << 20
_ROWS_AT_A_TIME = 256
_BATCH_BYTES = 8 << 20
_INT64 = range(-(1 << 63), 1 << 63)


def column_names(path: str | Path) -> list[str]:
    """Return the names of the columns."""
    names: list[str] = _opened(path, DEFAULT_LIMITS).schema_arrow.names
    return names


def read_rows(
    path: str | Path,
    columns: Columns = ANY_COLUMNS,
    *,
    limits: Limits = DEFAULT_LIMITS,
    on_error: Callable[[InputError], None],
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the 1-based number of each row, and the row as a record."""
    file = str(path)
    try:
        table = _opened(path, limits)
        columns.check_required(table.schema_arrow.names)
        allowed = _allowed_bytes(Path(path).stat().st_size, limits)
        expanded = 0
        for number, row in enumerate(_values(table), 1):
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


def write_rows(path: str | Path, records: Sequence[Mapping[str, Any]]) -> None:
    """Write records as rows, atomically; a record that JSON could not hold is refused."""
    if named_compression(path):
        raise UsageError(f"{path}: a Parquet file is compressed within; leave out {Path(path).suffix}")
    pyarrow, parquet = _pyarrow()
    for index, record in enumerate(records):
        try:
            check_value(dict(record))
        except InputError as error:
            raise error.located(str(path), within=f"[{index}]") from None
    names = list(dict.fromkeys(name for record in records for name in record))
    kinds = {name: _kind([record[name] for record in records if name in record]) for name in names}
    plain = [name for name in names if kinds[name] and name != EXTRA_FIELDS]
    types = {
        "text": pyarrow.string(),
        "texts": pyarrow.list_(pyarrow.string()),
        "integer": pyarrow.int64(),
        "number": pyarrow.float64(),
        "truth": pyarrow.bool_(),
    }
    columns = {
        name: pyarrow.array([record.get(name) for record in records], types[kinds[name] or ""])
        for name in plain
    }
    rest = [{name: value for name, value in record.items() if name not in columns} for record in records]
    if any(rest) or not columns:
        extra = [strict_json.encode(fields).decode() if fields else None for fields in rest]
        columns[EXTRA_FIELDS] = pyarrow.array(extra, pyarrow.string())
    # Pages end between batches: short ones keep pages of long texts within what is read back.
    longest = max(map(_size, records), default=1)
    batch = min(_ROWS_AT_A_TIME, max(1, _BATCH_BYTES // longest))
    with atomic_writer(path) as stream:
        parquet.write_table(pyarrow.table(columns), stream, compression="zstd", write_batch_size=batch)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("Parquet", "parquet") from error
    return pyarrow, parquet


def _opened(path: str | Path, limits: Limits) -> Any:
    """Open a file after checking what its footer and its pages claim."""
    pyarrow, parquet = _pyarrow()
    try:
        with Path(path).open("rb") as file:
            check_sizes(file, allowed=_allowed_bytes(Path(path).stat().st_size, limits))
        metadata = parquet.read_metadata(path)
        # Texts that repeat stay a dictionary until their row is read: expanded, a batch could be of any size.
        columns = (metadata.schema.column(index) for index in range(metadata.num_columns))
        texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
        return parquet.ParquetFile(
            path, metadata=metadata, read_dictionary=texts, pre_buffer=False, buffer_size=_BUFFER_BYTES
        )
    except InputError as error:
        raise error.located(str(path)) from None
    except pyarrow.ArrowException as error:
        raise _damaged(error).located(str(path)) from None
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno:
            raise refused("read", path, error) from error
        raise _damaged(error).located(str(path)) from None


def _allowed_bytes(size: int, limits: Limits) -> int:
    return min(limits.max_bytes, max(limits.free_bytes, int(size * limits.max_ratio)))


def _values(table: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows as Python values, a few at a time."""
    pyarrow, _ = _pyarrow()
    try:
        for batch in table.iter_batches(batch_size=_ROWS_AT_A_TIME, use_threads=False):
            for index in range(batch.num_rows):
                yield batch.slice(index, 1).to_pylist(maps_as_pydicts="strict")[0]
    except (pyarrow.ArrowException, OSError, ValueError, KeyError) as error:
        raise _damaged(error) from None


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


def _kind(values: Sequence[Any]) -> str | None:
    """Name the kind of column that holds all of these values exactly; ``None`` when there is none."""
    if all(isinstance(value, str) for value in values):
        return "text"
    if all(isinstance(value, list) and all(isinstance(item, str) for item in value) for value in values):
        return "texts"
    if all(isinstance(value, bool) for value in values):
        return "truth"
    if all(type(value) is int and value in _INT64 for value in values):
        return "integer"
    if all(type(value) is float for value in values):
        return "number"
    return None


def _damaged(error: Exception) -> InputError:
    found = str(error).splitlines()[0] if str(error) else type(error).__name__
    return InputError([Issue("damaged-file", "a readable Parquet file", found)])
