"""The sources of rows: files of any layout, workbooks, frames, datasets, columns; each as JSON values."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from rag_evaluation_framework.datasets.csv_tables import Columns
from rag_evaluation_framework.datasets.field_names import part_named
from rag_evaluation_framework.datasets.framework_results import plain_object
from rag_evaluation_framework.datasets.parquet_tables import parts_of, read_rows
from rag_evaluation_framework.datasets.recognition import archive_names, asked_once
from rag_evaluation_framework.datasets.record_files import PlacedRecord, layout_of, read_records
from rag_evaluation_framework.datasets.value_files import HEAD
from rag_evaluation_framework.errors import InputError, Issue, LimitExceededError, UsageError, shown
from rag_evaluation_framework.extensions import extra_module
from rag_evaluation_framework.files.access import check_encoding, open_reading, plain_name

Row = dict[str, Any]

_DEEPEST = 16
_WRAPPERS = ("data", "rows", "records", "samples", "examples", "items", "results", "questions", "test_cases")
# What a damaged workbook makes openpyxl, and the parser below it, raise.
_DAMAGED = (LookupError, ValueError, TypeError, AttributeError, OSError, SyntaxError, EOFError, zlib.error)
_MOST_EXPANDED, _LARGEST_RATIO = 64 << 20, 200


def is_workbook(path: Path) -> bool:
    if not path.is_file():
        return False
    with open_reading(path, max_line_bytes=None) as stream:
        if stream.read(4) != b"PK\x03\x04":
            return False
    names = archive_names(path)  # an archive may be a log of another tool
    return plain_name(path).endswith(".xlsx") if names is None else "[Content_Types].xml" in names


def is_table(path: Path) -> bool:
    if asked_once(path, parts_of):
        return False
    return bool(asked_once(path, is_workbook) or asked_once(path, layout_of) == "csv")


def placed_rows(path: Path, on_error: Callable[[InputError], None]) -> Iterator[PlacedRecord]:
    """Yield the rows of a file with their places; those of parts are numbered as of one table."""
    if parts := asked_once(path, parts_of):
        every = chain.from_iterable(read_rows(part, _any_columns(), on_error=on_error) for part in parts)
        for number, (_, row) in enumerate(every, 1):
            row.pop(HEAD, None)  # of a results file, which is about no single row
            yield PlacedRecord(row, number)
        return
    if asked_once(path, is_workbook):
        yield from _workbook_rows(path)
        return
    layout = asked_once(path, layout_of)
    if layout != "parquet":
        asked_once(path, check_encoding)
    records = read_records(path, columns=_any_columns, on_error=on_error)
    if layout in ("object", "lines"):
        first, second = next(records, None), next(records, None)
        if first is not None and second is None:  # one object may hold all rows, however the file is called
            yield from _unwrapped(first)
            return
        yield from (each for each in (first, second) if each is not None)
    yield from records


def _any_columns() -> Columns:
    return Columns(unnamed=True)


def _workbook_rows(path: Path) -> Iterator[PlacedRecord]:
    """Yield the rows of the first sheet that has any, by the names in its first row."""
    openpyxl = extra_module("openpyxl", feature=f"reading {path.name}", extra="xlsx")
    try:
        with ZipFile(path) as packed:
            expanded = sum(each.file_size for each in packed.infolist())
        if expanded > max(_MOST_EXPANDED, _LARGEST_RATIO * path.stat().st_size):
            found = f"{expanded:,} bytes"
            raise LimitExceededError(
                [Issue("too-large", "a smaller workbook after decompression", found, file=str(path))]
            )
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            yield from next(filter(None, (list(_sheet_rows(sheet)) for sheet in book.worksheets)), [])
        finally:
            book.close()
    except (InputError, BadZipFile, *_DAMAGED) as error:
        if isinstance(error, InputError):
            raise
        expected = "an Excel workbook (.xlsx)"
        raise InputError([Issue("not-a-workbook", expected, "a damaged file", file=str(path))]) from error


def _sheet_rows(sheet: Any) -> Iterator[PlacedRecord]:
    header: list[str] = []
    for line, cells in enumerate(sheet.iter_rows(values_only=True), 1):
        if not header:
            header = ["" if cell is None else str(cell).strip() for cell in cells] if any(cells) else []
            continue
        row = {
            name: plain(cell) for name, cell in zip(header, cells, strict=False) if name and cell is not None
        }
        if row:
            yield PlacedRecord(row, line)


def _unwrapped(placed: PlacedRecord) -> Iterator[PlacedRecord]:
    """Yield the rows of a JSON object: those of the list in it, or of columns; else the object is one row."""
    rows = list(_rows_of_object(placed.value)) if isinstance(placed.value, dict) else []
    if not rows or (len(rows) == 1 and not rows[0][0]):
        yield placed
        return
    for within, row in rows:
        yield PlacedRecord(row, None, within)


def _rows_of_object(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    columns = value.get("columns")
    if isinstance(columns, list) and isinstance(value.get("data"), list):  # as pandas splits a frame
        for index, cells in enumerate(value["data"]):
            row = dict(zip(map(str, columns), cells, strict=False)) if isinstance(cells, list) else cells
            yield f"data[{index}]", row
        return
    lists = [name for name, each in value.items() if _are_rows(each) and part_named(name) is None]
    name = next((name for name in _WRAPPERS if name in lists), lists[0] if len(lists) == 1 else None)
    if name is not None and not any(
        part_named(each) in ("question", "answer") for each in value if each != name
    ):
        for index, row in enumerate(value[name]):
            is_wrapped = set(row) >= {"row_idx", "row"} and isinstance(row["row"], dict)
            yield f"{name}[{index}]", row["row"] if is_wrapped else row
    elif len(value) > 1 and (several := _rows_of_columns(value)) is not None:
        yield from ((f"[{index}]", row) for index, row in enumerate(several))
    else:
        yield "", dict(value)


def _are_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)


def _rows_of_columns(value: Mapping[str, Any]) -> list[Row] | None:
    """Return the rows of columns of one length, each a list or, as pandas writes them, an object by row."""
    columns = list(value.values())
    if all(isinstance(each, list) for each in columns) and len({len(each) for each in columns}) == 1:
        return [dict(zip(value, cells, strict=True)) for cells in zip(*columns, strict=True)]
    if (
        all(isinstance(each, dict) and each for each in columns)
        and len({tuple(each) for each in columns}) == 1
    ):
        return [{name: each[key] for name, each in value.items()} for key in columns[0]]
    return None


# What is in memory.


def is_frame(data: Any) -> bool:
    return any(hasattr(data, name) for name in ("collect_schema", "columns", "column_names"))


def listed_rows(data: Any) -> Iterable[Any]:
    """Return the rows of a container, recognized by its methods and not by its class name."""
    if isinstance(data, Mapping):
        return _of_mapping(data)
    if isinstance(data, str | bytes):
        raise UsageError(f"data: expected rows, got {shown(data)}")
    if callable(collect := getattr(data, "collect", None)) and hasattr(data, "collect_schema"):
        data = collect()  # a frame that is made only now
    if callable(by_name := getattr(data, "iter_rows", None)):  # polars
        return list(by_name(named=True))
    if hasattr(data, "columns") and callable(getattr(data, "to_dict", None)):  # pandas
        return list(data.to_dict("records"))
    if callable(made := getattr(data, "to_pylist", None)):  # an Arrow table or batch
        return list(made())
    if hasattr(data, "__arrow_c_stream__") and not hasattr(data, "column_names"):
        return list(_of_arrow(data))
    if not isinstance(data, Iterable):
        raise UsageError(f"data: expected dictionaries, samples, a frame or a dataset, got {shown(data)}")
    return data


def _of_mapping(data: Mapping[Any, Any]) -> Iterable[Any]:
    """Return the rows of columns by name, of the only split of a dataset, or the one row that it is."""
    splits = [name for name, each in data.items() if hasattr(each, "column_names")]
    if splits:
        if len(splits) > 1:
            named = ", ".join(map(str, splits))
            raise UsageError(f"data: expected one split, got {named}. Use data[{str(splits[0])!r}]")
        return list(data[splits[0]])
    row = plain_row(data)
    several = _rows_of_columns(row) if all(isinstance(each, list) for each in row.values()) else None
    return several or [data]


def _of_arrow(data: Any) -> Iterable[Any]:
    pyarrow = extra_module("pyarrow", feature="reading an Arrow stream", extra="parquet")
    return pyarrow.table(data).to_pylist()  # type: ignore[no-any-return]


def plain_row(row: Mapping[Any, Any]) -> Row:
    return {str(name): plain(value) for name, value in row.items()}


def plain(value: Any, depth: int = 0) -> Any:
    """Return a value as JSON has it; what is missing in a frame is ``None``, what is foreign stays."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, Decimal):
        return str(value) if value.is_finite() else None
    if depth > _DEEPEST:
        return value
    if isinstance(value, Mapping):
        return {str(name): plain(inner, depth + 1) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner, depth + 1) for inner in value]
    if type(value).__name__ in ("NAType", "NaTType"):  # what pandas calls missing
        return None
    for name in ("tolist", "to_list", "isoformat"):  # arrays, series and their scalars; dates
        if callable(method := getattr(value, name, None)):
            made = method()
            return made if made is value or type(made) is type(value) else plain(made, depth + 1)
    made = plain_object(value)
    return value if made is None else plain(made, depth + 1)
