"""Benchmark data: ``.benchmark.json``, ``.benchmark.parquet`` and ``.benchmark.h5``, told apart by content.

The value is the same in all three: ``{"benchmark_id": …, "records": [{…}, …]}`` with whatever else belongs to
the whole. A Parquet file has a row a record; everything but the records is JSON in the column
``benchmark_head`` of the first row, with their number. :mod:`.hdf5_tables` describes the HDF5 file.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.checks.checked_documents import read_document, write_document
from rag_evaluation_framework.datasets.checks.problems import FileProblems
from rag_evaluation_framework.datasets.checks.validation import value_issues
from rag_evaluation_framework.datasets.tables import hdf5_tables, parquet_tables
from rag_evaluation_framework.errors import InputError, Issue, invalid, shown
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.atomic import write_bytes_atomically
from rag_evaluation_framework.files.compression import (
    compress,
    named_compression,
    open_reading,
    plain_name,
    read_bytes,
)

KIND = "benchmark"
HEAD = "benchmark_head"
"""The column of a Parquet file that holds, in the first row, everything but the records."""

_HDF5_SUFFIXES = (".h5", ".hdf5")


def read_benchmark(path: str | Path) -> dict[str, Any]:
    """Read benchmark data of any of the formats; every error of the file is raised at once."""
    with open_reading(path) as stream:
        start = stream.read(len(hdf5_tables.MAGIC))
    if start.startswith(parquet_tables.MAGIC):
        return _checked(_read_parquet(path), path)
    if start == hdf5_tables.MAGIC:
        head, records = hdf5_tables.read_table(read_bytes(path), file=str(path))
        return _checked({**head, "records": records}, path)
    benchmark: dict[str, Any] = read_document(path).checked(KIND)
    return benchmark


def write_benchmark(benchmark: Mapping[str, Any], path: str | Path) -> None:
    """Write benchmark data atomically, in the format that the name asks for; JSON where it does not say."""
    value = _checked(dict(benchmark), path)
    head = {name: item for name, item in value.items() if name != "records"}
    name = plain_name(path)
    if name.endswith(".parquet"):
        parquet_tables.write_rows(path, _rows(head, value["records"]))
    elif name.endswith(_HDF5_SUFFIXES):
        data, compression = hdf5_tables.table_bytes(head, value["records"]), named_compression(path)
        write_bytes_atomically(path, compress(data, compression) if compression else data)
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
    problems = FileProblems(str(path))
    records = [row for _, row in parquet_tables.read_rows(path, on_error=problems.take)]
    problems.raise_if_any()
    stated = records[0].pop(HEAD, None) if records else None
    if stated is None:
        return {"benchmark_id": plain_name(path).partition(".")[0], "records": records}
    head = strict_json.decode(stated, file=str(path)) if isinstance(stated, str) else None
    if not isinstance(head, dict):
        raise InputError([Issue("damaged-file", "a JSON object", shown(stated), HEAD, file=str(path))])
    count = head.pop("records", None)
    records = [] if count == 0 and records == [{}] else records
    if count != len(records):
        raise InputError([Issue("damaged-file", f"{shown(count)} rows", f"{len(records)}", file=str(path))])
    return {**head, "records": records}
