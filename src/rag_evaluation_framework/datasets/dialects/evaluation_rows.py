"""An evaluation dataset as rows: a row per query, and the head in columns that only the first row fills."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.checks.checked_documents import DocumentFile, read_document
from rag_evaluation_framework.datasets.checks.problems import FileProblems
from rag_evaluation_framework.datasets.dialects.record_files import layout_of
from rag_evaluation_framework.datasets.schemas import schema
from rag_evaluation_framework.datasets.tables import csv_tables
from rag_evaluation_framework.datasets.tables.csv_tables import CellKind, Columns
from rag_evaluation_framework.errors import Issue, shown
from rag_evaluation_framework.files.compression import open_reading, plain_name

_EXTRA_HEAD = "dataset_extra_fields"
# Fields of a query that are named like a column of the head.
_QUERY_FIELDS = "query_extra_fields"
_HEAD: Mapping[str, CellKind] = {
    "dataset_id": "text",
    "name": "text",
    "version": "text",
    "description": "text",
    "created_at": "text",
    "dataset_metadata": "json",
    "documents": "json",
    _EXTRA_HEAD: "json",
}


def rows_of_dataset(value: Mapping[str, Any]) -> tuple[list[dict[str, Any]], Columns]:
    """Lay a dataset out as rows; a dataset without queries has one row, of its head alone."""
    head: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for name, item in value.items():
        if name == "queries":
            continue
        column = "dataset_metadata" if name == "metadata" else name
        plain = column in _HEAD and column != _EXTRA_HEAD and not (_HEAD[column] == "text" and item == "")
        (head if plain else rest)[column if plain else name] = item
    if rest:
        head[_EXTRA_HEAD] = rest
    rows = [_row(query) for query in value["queries"]] or [{}]
    return [{**head, **rows[0]}, *rows[1:]], _columns()


def read_dataset_document(path: str | Path) -> DocumentFile:
    """Read an evaluation dataset as the plain value it is, from JSON, YAML or rows; it is not validated."""
    if not _is_table(path):
        return read_document(path)
    problems = FileProblems(str(path))
    value, lines = _dataset_of_rows(path, problems)
    problems.raise_if_any()
    return DocumentFile(
        str(path), value, lambda paths: {each: lines.get(each.partition("]")[0] + "]") for each in paths}
    )


def _is_table(path: str | Path) -> bool:
    if plain_name(path).endswith(".csv"):
        return True
    if layout_of(path) != "csv":
        return False
    with open_reading(path) as stream:
        return "query_id" in (csv_tables.header_of(stream) or ())


def _dataset_of_rows(path: str | Path, problems: FileProblems) -> tuple[dict[str, Any], dict[str, int]]:
    """Read rows back into a dataset; also return the line of each query by its path ``queries[3]``."""
    head: dict[str, Any] = {}
    queries: list[dict[str, Any]] = []
    lines: dict[str, int] = {}
    for line, row in csv_tables.read_rows(path, _columns(), on_error=problems.take):
        query = {name: item for name, item in row.items() if name not in _HEAD}
        for name in _HEAD:
            if name not in row:
                continue
            if head.setdefault(name, row[name]) != row[name]:
                expected = f"{shown(head[name])}, as in the rows above"
                problems.add(Issue("contradiction", expected, shown(row[name]), name, line=line))
        query.update(_object(query.pop(_QUERY_FIELDS, {}), _QUERY_FIELDS, problems, line=line))
        if query:
            lines[f"queries[{len(queries)}]"] = line
            queries.append(query)
    value = {"metadata" if name == "dataset_metadata" else name: item for name, item in head.items()}
    rest = _object(value.pop(_EXTRA_HEAD, {}), _EXTRA_HEAD, problems)
    return {**value, **rest, "queries": queries}, lines


def _object(value: Any, name: str, problems: FileProblems, *, line: int | None = None) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    problems.add(Issue("wrong-type", "an object", shown(value), name, line=line))
    return {}


def _row(query: Mapping[str, Any]) -> dict[str, Any]:
    """Return a query as a row; fields of the query that are named like a column of the head are set apart."""
    clashing = {name: item for name, item in query.items() if name in _HEAD or name == _QUERY_FIELDS}
    row = {name: item for name, item in query.items() if name not in clashing}
    return {**row, _QUERY_FIELDS: clashing} if clashing else row


def _columns() -> Columns:
    query = Columns.of_schema(schema("evaluation-dataset")["$defs"]["EvaluationQuery"])
    return replace(query, kinds={**query.kinds, _QUERY_FIELDS: "json", **_HEAD})
