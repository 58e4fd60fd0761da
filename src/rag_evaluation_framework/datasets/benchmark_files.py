"""Benchmark data as JSON, Parquet, HDF5.

The value is the same in all three: ``{"benchmark_id": …, "records": [{…}, …]}`` with the other values of
the whole. A Parquet file has a row per record; everything but the records is JSON in the column
``benchmark_head`` of the first row, with their number. The HDF5 file is described below.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.datasets import parquet_tables
from rag_evaluation_framework.datasets.schemas import value_issues
from rag_evaluation_framework.datasets.value_files import every_row, read_document, write_document
from rag_evaluation_framework.errors import InputError, Issue, LimitExceededError, counted, invalid, shown
from rag_evaluation_framework.extensions import extra_module
from rag_evaluation_framework.files import access, strict_json
from rag_evaluation_framework.files.access import read_bytes
from rag_evaluation_framework.files.atomic import write_bytes_atomically

# Records as the columns of an HDF5 file, without loss and without trust. Needs the extra ``hdf5``.
#
# ``/head`` holds JSON as bytes: ``{"head": {…}, "rows": 3, "columns": [{"name": "p95", "kind":
# "numbers"}]}``. Column 0 is ``/columns/0``, and so on. Kinds: ``integers`` (64 bits), ``numbers`` (doubles),
# ``truths`` (bytes 0 and 1), ``texts`` and ``json``. The last two are UTF-8, all rows after one another in
# ``/columns/0/bytes``, with the end of each row in ``/columns/0/ends``. A column that lacks rows or mixes
# kinds is of the kind ``json``, where an empty text is a field that the record does not have.
#
# An HDF5 file can point into other files (external links and storage, virtual datasets), claim sizes that
# it does not have, name filters that load code, and share one long text among a million rows. So nothing
# is opened by a name that the file chose; only plain datasets of the types above are read; what they
# claim is checked before anything is allocated.

MAGIC = b"\x89HDF\r\n\x1a\n"

_ABSENT = object()
_INT64 = range(-(1 << 63), 1 << 63)
_NUMERIC: Mapping[str, npt.DTypeLike] = {"integers": np.int64, "numbers": np.float64, "truths": np.uint8}
_TEXTUAL = ("texts", "json")
# Deflate, shuffle and a checksum, which HDF5 itself brings; any other may be a library to load.
_KNOWN_FILTERS = frozenset({1, 2, 3})
# About what a value takes in a Python dictionary, and an empty dictionary itself.
_BYTES_A_CELL = 64


def table_bytes(head: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> bytes:
    """Return an HDF5 file of flat records, and of a head that says what they are."""
    names = list(dict.fromkeys(name for record in records for name in record))
    kinds = [_kind([record.get(name, _ABSENT) for record in records]) for name in names]
    columns = [{"name": name, "kind": kind} for name, kind in zip(names, kinds, strict=True)]
    stated = strict_json.encode({"head": head, "rows": len(records), "columns": columns})
    buffer = io.BytesIO()
    with _h5py().File(buffer, "w") as file:
        file["head"] = np.frombuffer(stated, dtype=np.uint8)
        group = file.create_group("columns")
        for index, (name, kind) in enumerate(zip(names, kinds, strict=True)):
            if kind in _NUMERIC:
                group[str(index)] = np.array([record[name] for record in records], dtype=_NUMERIC[kind])
                continue
            rows = [_encoded(record.get(name, _ABSENT), kind) for record in records]
            group[f"{index}/bytes"] = np.frombuffer(b"".join(rows), dtype=np.uint8)
            group[f"{index}/ends"] = np.cumsum([len(row) for row in rows], dtype=np.int64)
    return buffer.getvalue()


def read_table(data: bytes, *, file: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the head and the records of an HDF5 file."""
    limits = access.DEFAULT_LIMITS
    allowed = min(limits.max_bytes, max(limits.free_bytes, int(len(data) * limits.max_ratio)))
    h5py = _h5py()
    with _explain_damage(file), h5py.File(io.BytesIO(data), "r") as opened:
        reader = _Reader(h5py, opened, allowed)
        match strict_json.decode(reader.array("head", np.uint8).tobytes(), file=file):
            case {"head": dict(head), "rows": int(rows), "columns": list(columns)}:
                records: list[dict[str, Any]] = [{} for _ in range(reader.checked_rows(rows, len(columns)))]
                for index, column in enumerate(columns):
                    name, values = reader.column(index, column, rows)
                    for record, value in zip(records, values, strict=True):
                        if value is not _ABSENT:
                            record[name] = value
                return head, records
        raise _refused("a header with rows and columns", "another structure", "/head")


class _Reader:
    """Reads plain datasets by names of our own, and counts what they claim to hold."""

    def __init__(self, h5py: Any, opened: Any, allowed: int) -> None:
        self.h5py, self.opened, self.allowed = h5py, opened, allowed
        self.claimed = 0

    def checked_rows(self, rows: int, columns: int) -> int:
        """Raise an error if the cells exceed the limits, whichever values the columns hold."""
        if rows < 0:
            raise _refused("a number of rows", str(rows), "/head")
        self.claim(rows * (columns + 1) * _BYTES_A_CELL, "/head")
        return rows

    def column(self, index: int, stated: Any, rows: int) -> tuple[str, list[Any]]:
        match stated:
            case {"name": str(name), "kind": str(kind)} if kind in _NUMERIC:
                array = self.array(f"columns/{index}", _NUMERIC[kind])
                values: list[Any] = (array == 1 if kind == "truths" else array).tolist()
            case {"name": str(name), "kind": str(kind)} if kind in _TEXTUAL:
                values = self.texts(f"columns/{index}", str if kind == "texts" else _decoded)
            case _:
                raise _refused("a column with a name and a known kind", shown(stated), "/head")
        if len(values) != rows:
            raise _refused(counted(rows, "row"), f"{len(values)}", f"/columns/{index}")
        return name, values

    def texts(self, path: str, decoded: Callable[[str], Any]) -> list[Any]:
        data, ends = self.array(f"{path}/bytes", np.uint8).tobytes(), self.array(f"{path}/ends", np.int64)
        starts = np.concatenate(([0], ends[:-1])) if len(ends) else ends
        if (starts > ends).any() or (len(ends) and ends[-1] != len(data)):
            raise _refused("ascending end positions up to the last byte", "other values", f"/{path}/ends")
        pieces = (data[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True))
        return [decoded(piece.decode()) for piece in pieces]

    def array(self, path: str, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Read one dataset, if it is a plain one of this type and within the limits."""
        dataset = self.dataset(path)
        if dataset.ndim != 1 or dataset.dtype != dtype:
            found = f"{dataset.dtype} of shape {dataset.shape}"
            raise _refused(f"a list of {np.dtype(dtype)}", found, f"/{path}")
        self.claim(dataset.nbytes, f"/{path}")
        if dataset.chunks and math.prod(dataset.chunks) * dataset.dtype.itemsize > self.allowed:
            self.claim(self.allowed + 1, f"/{path}")
        array: npt.NDArray[Any] = dataset[()]
        return array

    def dataset(self, path: str) -> Any:
        """Walk to a dataset over hard links only, and refuse what takes its data from elsewhere."""
        place = self.opened
        for name in path.split("/"):
            link = place.get(name, getlink=True) if isinstance(place, self.h5py.Group) else None
            if not isinstance(link, self.h5py.HardLink):
                found = "nothing" if link is None else f"a link ({type(link).__name__})"
                raise _refused("a part of this file", found, f"/{path}")
            place = place[name]
        if not isinstance(place, self.h5py.Dataset):
            raise _refused("a dataset", type(place).__name__, f"/{path}")
        if place.external or place.is_virtual:
            raise _refused("data in this file", "data in other files", f"/{path}")
        creation = place.id.get_create_plist()
        filters = {creation.get_filter(index)[0] for index in range(creation.get_nfilters())}
        if not filters <= _KNOWN_FILTERS:
            raise _refused("no filters except deflate and shuffle", shown(sorted(filters)), f"/{path}")
        return place

    def claim(self, size: int, path: str) -> None:
        self.claimed += size
        if self.claimed > self.allowed:
            expected = f"at most {self.allowed:,} bytes when expanded"
            raise LimitExceededError([Issue("expands-too-far", expected, f"{self.claimed:,} or more", path)])


def _kind(values: Sequence[Any]) -> str:
    """Name the kind of column that holds all of these values exactly."""
    if all(isinstance(value, str) for value in values):
        return "texts"
    if all(isinstance(value, bool) for value in values):
        return "truths"
    if all(type(value) is int and value in _INT64 for value in values):
        return "integers"
    if all(type(value) is float for value in values):
        return "numbers"
    return "json"


def _encoded(value: Any, kind: str) -> bytes:
    if value is _ABSENT:
        return b""
    return value.encode() if kind == "texts" else strict_json.encode(value)


def _decoded(text: str) -> Any:
    return strict_json.decode(text) if text else _ABSENT


def _refused(expected: str, found: str, path: str) -> InputError:
    return InputError([Issue("damaged-file", expected, found, path)])


@contextmanager
def _explain_damage(file: str) -> Iterator[None]:
    """Turn what the HDF5 library raises on damaged files into one line, and add the file's name to ours."""
    try:
        yield
    except InputError as error:
        raise error.located(file) from None
    except (OSError, RuntimeError, LookupError, TypeError, ValueError, OverflowError, MemoryError) as error:
        found = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError([Issue("damaged-file", "a readable HDF5 file", found, file=file)]) from error


def _h5py() -> Any:
    return extra_module("h5py", feature="HDF5", extra="hdf5")


KIND = "benchmark"
HEAD = "benchmark_head"
"""The column of a Parquet file that holds, in the first row, everything but the records."""

_HDF5_SUFFIXES = (".h5", ".hdf5")


def read_benchmark(path: str | Path) -> dict[str, Any]:
    """Read benchmark data of any of the formats; every error of the file is raised at once."""
    with access.open_reading(path) as stream:
        start = stream.read(len(MAGIC))
    if start.startswith(parquet_tables.MAGIC):
        return _checked(_read_parquet(path), path)
    if start == MAGIC:
        head, records = read_table(read_bytes(path, max_line_bytes=None), file=str(path))
        return _checked({**head, "records": records}, path)
    benchmark: dict[str, Any] = read_document(path).checked(KIND)
    return benchmark


def write_benchmark(benchmark: Mapping[str, Any], path: str | Path) -> None:
    """Write benchmark data atomically, in the format that the name asks for; JSON where it does not say."""
    value = _checked(dict(benchmark), path)
    head = {name: item for name, item in value.items() if name != "records"}
    name = access.plain_name(path)
    if name.endswith(".parquet"):
        parquet_tables.write_rows(path, _rows(head, value["records"]))
    elif name.endswith(_HDF5_SUFFIXES):
        data, compression = table_bytes(head, value["records"]), access.named_compression(path)
        write_bytes_atomically(path, access.compress(data, compression) if compression else data)
    else:
        write_document(value, path)


def _checked(value: dict[str, Any], path: str | Path) -> dict[str, Any]:
    issues = value_issues(KIND, value)
    if issues:
        raise InputError(issues).located(str(path))
    return value


def _rows(head: Mapping[str, Any], records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for index, record in enumerate(records):
        if HEAD in record:
            raise invalid(f"records[{index}].{HEAD}", "another name for this field in Parquet", record[HEAD])
    stated = strict_json.encode({**head, "records": len(records)}).decode()
    first, *rest = records or [{}]
    return [{HEAD: stated, **first}, *rest]


def _read_parquet(path: str | Path) -> dict[str, Any]:
    """Read rows; a table of another tool, without a head, is a benchmark named after its file."""
    records = [row for _, row in every_row(path, partial(parquet_tables.read_rows, path))]
    stated = records[0].pop(HEAD, None) if records else None
    if stated is None:
        return {"benchmark_id": access.plain_name(path).partition(".")[0], "records": records}
    head = strict_json.decode(stated, file=str(path)) if isinstance(stated, str) else None
    if not isinstance(head, dict):
        raise InputError([Issue("damaged-file", "a JSON object", shown(stated), HEAD, file=str(path))])
    count = head.pop("records", None)
    records = [] if count == 0 and records == [{}] else records
    if count != len(records):
        raise InputError([Issue("damaged-file", f"{shown(count)} rows", f"{len(records)}", file=str(path))])
    return {**head, "records": records}
