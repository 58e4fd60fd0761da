"""Results files (``.results.json``, ``.yaml``, ``.csv``, ``.parquet``) as plain values, without loss.

JSON and YAML hold the results as they are. A table has a row for each of ``query_results``: its fields are
the columns, and each of its ``individual_metrics`` has a column of its own (``individual_metrics.hit@3``), so
that a spreadsheet can sort by it. All the rest of the results stands as one JSON object in the column
``results_head`` of the first row, where ``query_results`` is the number of rows, so that a table cut short is
noticed. Results without queries have one row, of the head alone. A table without that column is read as rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.checks.checked_documents import read_document, write_document
from rag_evaluation_framework.datasets.checks.problems import FileProblems
from rag_evaluation_framework.datasets.schemas import schema
from rag_evaluation_framework.datasets.tables import csv_tables, parquet_tables
from rag_evaluation_framework.datasets.tables.csv_tables import Columns
from rag_evaluation_framework.errors import InputError, Issue, shown
from rag_evaluation_framework.files.compression import open_reading, plain_name

HEAD = "results_head"
"""The column that holds, in the first row, everything but the rows."""

_ROWS = "query_results"
_METRICS = "individual_metrics"
_METRIC = f"{_METRICS}."


def read_results(path: str | Path) -> dict[str, Any]:
    """Read results of any of the four formats; whether they fit the schema is for validation to say."""
    with open_reading(path) as stream:
        parquet = stream.read(len(parquet_tables.MAGIC)) == parquet_tables.MAGIC
    if parquet or plain_name(path).endswith(".csv"):
        return _read_table(path, parquet=parquet)
    value = read_document(path).value
    if not isinstance(value, dict):
        raise InputError(
            [Issue("wrong-type", "an object with the results of a run", shown(value), file=str(path))]
        )
    return value


def write_results(results: Mapping[str, Any], path: str | Path) -> None:
    """Write results atomically, in the format that the name asks for; JSON where it does not say."""
    name = plain_name(path)
    if name.endswith(".parquet"):
        parquet_tables.write_rows(path, results_rows(results))
    elif name.endswith(".csv"):
        rows = results_rows(results)
        csv_tables.write_rows(path, rows, _columns(name for row in rows for name in row))
    else:
        write_document(dict(results), path)


def results_rows(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Lay results out as the rows of a table."""
    head = dict(results)
    rows: list[dict[str, Any]] = []
    if _ROWS in head:
        rows = [_row(query, f"{_ROWS}[{index}]") for index, query in enumerate(_listed(head[_ROWS]))]
        head[_ROWS] = len(rows)
    first, *others = rows or [{}]
    return [{HEAD: head, **first}, *others]


def results_of_rows(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Put the rows of a table together again."""
    queries = list(rows)
    if not queries or HEAD not in queries[0]:
        return {_ROWS: [_query(row) for row in queries]}
    head = queries[0][HEAD]
    if not isinstance(head, dict):
        raise InputError([Issue("wrong-type", "an object", shown(head), HEAD)])
    queries[0] = {name: value for name, value in queries[0].items() if name != HEAD}
    expected = head.get(_ROWS)
    if not expected and queries == [{}]:
        queries = []
    if expected is None and not queries:
        return dict(head)
    if expected != len(queries):
        found = f"{len(queries)}: the table was cut or added to"
        raise InputError([Issue("wrong-count", f"{shown(expected)} rows, as {HEAD} says", found, HEAD)])
    return {
        name: [_query(row) for row in queries] if name == _ROWS else value for name, value in head.items()
    }


def _read_table(path: str | Path, *, parquet: bool) -> dict[str, Any]:
    problems = FileProblems(str(path))
    if parquet:
        rows = parquet_tables.read_rows(path, on_error=problems.take)
    else:
        with open_reading(path) as stream:
            columns = _columns(csv_tables.header_of(stream) or ())
        rows = csv_tables.read_rows(path, columns, on_error=problems.take)
    records = [row for _, row in rows]
    problems.raise_if_any()
    try:
        return results_of_rows(records)
    except InputError as error:
        raise error.located(str(path)) from None


def _columns(names: Iterable[str]) -> Columns:
    """Say what the columns hold: those of the schema, and JSON in the metrics' own and the head's."""
    kinds = dict(Columns.of_schema(schema("results")["$defs"]["QueryResult"]).kinds)
    kinds |= {name: "json" for name in names if name.startswith(_METRIC)}
    return Columns({**kinds, HEAD: "json"})


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise InputError([Issue("wrong-type", "a list", shown(value), _ROWS)])
    return value


def _row(query: Any, path: str) -> dict[str, Any]:
    if not isinstance(query, dict):
        raise InputError([Issue("wrong-type", "an object", shown(query), path)])
    row: dict[str, Any] = {}
    for name, value in query.items():
        if name in (HEAD, csv_tables.EXTRA_FIELDS) or name.startswith(_METRIC):
            expected = "a field that is not named like a column of ours"
            raise InputError([Issue("reserved-name", expected, shown(name), path)])
        if name == _METRICS and isinstance(value, dict) and value:
            row |= {f"{_METRIC}{metric}": score for metric, score in value.items()}
        else:
            row[name] = value
    return row


def _query(row: Mapping[str, Any]) -> dict[str, Any]:
    query: dict[str, Any] = {}
    for name, value in row.items():
        if name.startswith(_METRIC):
            query.setdefault(_METRICS, {})[name.removeprefix(_METRIC)] = value
        else:
            query[name] = value
    return query
