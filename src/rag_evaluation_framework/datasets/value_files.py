"""Files that hold one value: results, configuration, compressed bytes."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from rag_evaluation_framework.datasets import csv_tables, parquet_tables
from rag_evaluation_framework.datasets.csv_tables import Columns
from rag_evaluation_framework.datasets.schemas import decoded_issues, schema
from rag_evaluation_framework.errors import FileProblems, InputError, Issue, Location, invalid, shown
from rag_evaluation_framework.files import strict_json, yaml_documents
from rag_evaluation_framework.files.access import (
    Limits,
    compress,
    compressing,
    named_compression,
    open_reading,
    plain_name,
    read_bytes,
    read_text,
    recognise,
)
from rag_evaluation_framework.files.atomic import atomic_writer
from rag_evaluation_framework.files.json_scanner import lines_of, nearest_line, parts_of
from rag_evaluation_framework.files.strict_json import read_lines
from rag_evaluation_framework.structs import replace

# JSON and YAML documents that hold one value of a kind, read with every problem in its line.
#
# A document is read as what it is; the name is asked only where the content leaves it open, and when
# writing. Some kinds may also be written a record a line.

_YAML_SUFFIXES = (".yaml", ".yml")
_ITEM = re.compile(r"\A\[(\d+)\]\.?")

LinesOf: TypeAlias = Callable[[Iterable[str]], Mapping[str, int | None]]
"""Finds the line of each path in a file: of the value there, or of the nearest one around it."""


class DocumentFile(msgspec.Struct, frozen=True):
    """A value as read from a file, and the way to find the line of a problem in it."""

    file: str
    value: Any
    lines_of: LinesOf
    record_a_line: bool = False
    """The value is a list and stands as its items, one a line, which need no index to be found."""

    def place(self, issues: Iterable[Issue]) -> list[Issue]:
        """Return the issues with their lines, in reading order."""
        found = list(issues)
        places = self.places([issue.path for issue in found])
        placed = [
            replace(issue, line=place.line, path=place.field)
            for issue, place in zip(found, places, strict=True)
        ]
        return sorted(placed, key=lambda issue: issue.line or 0)

    def places(self, paths: Sequence[str]) -> list[Location]:
        """Return where the values of these paths are."""
        lines = self.lines_of(paths) if paths else {}
        fields = [_ITEM.sub("", path, count=1) if self.record_a_line else path for path in paths]
        return [Location(self.file, lines[path], field) for path, field in zip(paths, fields, strict=True)]

    def checked(self, kind: str, *, on_warning: Callable[[Issue], None] | None = None) -> Any:
        """Return the value if it is one of the kind; else raise every error there is, with its line."""
        problems = FileProblems(self.file)
        for issue in self.place(decoded_issues(kind, self.value)):
            if issue.severity == "error":
                problems.add(issue)
            elif on_warning is not None:
                on_warning(issue.located(self.file))
        problems.raise_if_any()
        return self.value


def read_document(path: str | Path, *, lines: bool = False) -> DocumentFile:
    """Read a JSON or YAML document; with ``lines``, records on lines of their own are read as a list."""
    file, text = str(path), read_text(path)
    if not text.strip():
        raise InputError([Issue("empty-file", "a JSON or YAML document", "an empty file", file=file)])
    named_yaml, named_json = is_named_yaml(path), plain_name(path).endswith((".json", ".jsonl"))
    if not text.lstrip().startswith(("{", "[")) and (named_yaml or not named_json):
        return _yaml(text, file)
    try:
        value = strict_json.decode(text, file=file)
    except InputError:
        if lines and _first_line_is_whole(text):
            return _json_lines(text, file)
        if named_yaml:
            return _yaml(text, file)
        raise
    return DocumentFile(file, value, partial(lines_of, text))


def write_document(value: Any, path: str | Path) -> None:
    """Write a value atomically: YAML if the name says so, else JSON; compressed if the name says so."""
    if is_named_yaml(path):
        data = yaml_documents.encode(value).encode()
    else:
        data = strict_json.encode(value, indent=2) + b"\n"
    with atomic_writer(path) as file, compressing(file, named_compression(path)) as stream:
        stream.write(data)


def is_named_yaml(path: str | Path) -> bool:
    """Return True if a name, compressed or not, is that of a YAML file."""
    return plain_name(path).endswith(_YAML_SUFFIXES)


def _first_line_is_whole(text: str) -> bool:
    try:
        strict_json.decode(text.lstrip().partition("\n")[0])
    except InputError:
        return False
    return True


def _yaml(text: str, file: str) -> DocumentFile:
    value, lines = yaml_documents.decode_with_lines(text, file=file)
    return DocumentFile(
        file, value, lambda paths: {path: nearest_line(lines, parts_of(path)) for path in paths}
    )


def _json_lines(text: str, file: str) -> DocumentFile:
    numbered = every_row(file, partial(read_lines, text.encode(), file=file))

    def lines(paths: Iterable[str]) -> dict[str, int | None]:
        items = {path: _ITEM.match(path) for path in paths}
        return {path: item and numbered[int(item[1])][0] for path, item in items.items()}

    return DocumentFile(file, [value for _, value in numbered], lines, record_a_line=True)


# Results files (``.results.json``, ``.yaml``, ``.csv``, ``.parquet``) as plain values, without loss.
#
# JSON and YAML hold the results as they are. A table has a row for each of ``query_results``: its fields
# are the columns, and each of its ``individual_metrics`` has a column of its own
# (``individual_metrics.hit@3``), so that a spreadsheet can sort by it. All the rest of the results stands
# as one JSON object in the column ``results_head`` of the first row, where ``query_results`` is the
# number of rows, so that a table cut short is noticed. Results without queries have one row, of the head
# alone. A table without that column is read as rows.

HEAD = "results_head"
"""The column that holds, in the first row, everything but the rows."""

_ROWS = "query_results"
_METRICS = "individual_metrics"
_METRIC = f"{_METRICS}."


def read_results(path: str | Path) -> dict[str, Any]:
    """Return the results in a file of any of the four formats; the schema is not checked.

    Args:
        path: File of results.

    Returns:
        The results document.

    Raises:
        InputError: The file cannot be read.

    Example:
        >>> from rag_evaluation_framework import read_results, write_results
        >>> write_results({"evaluation_id": "sums", "query_results": []}, "sums.json")
        >>> read_results("sums.json")["evaluation_id"]
        'sums'
    """
    with open_reading(path) as stream:
        parquet = stream.read(len(parquet_tables.MAGIC)) == parquet_tables.MAGIC
    if parquet or plain_name(path).endswith(".csv"):
        return _read_table(path, parquet=parquet)
    value = read_document(path).value
    if not isinstance(value, dict):
        expected = "an object with the results of a run"
        raise invalid("", expected, value, code="wrong-type").located(str(path))
    return value


def results_in_parts(path: str | Path) -> tuple[dict[str, Any], Callable[[], Iterator[Any]]] | None:
    """Return results without their queries, and a function that begins to read these one by one.

    Memory does not grow with them. ``None`` where that cannot be: YAML, CSV, JSON that is not indented by
    two, results without queries.
    """
    with open_reading(path) as stream:
        parquet = stream.read(len(parquet_tables.MAGIC)) == parquet_tables.MAGIC
    if not parquet:
        return _json_in_parts(path) if plain_name(path).endswith(".json") else None
    _, first = next(parquet_tables.read_rows(path, on_error=lambda _: None), (0, dict[str, Any]()))
    head = first.get(HEAD)
    return (head, partial(_table_queries, path)) if isinstance(head, dict) and head.pop(_ROWS, 0) else None


def _table_queries(path: str | Path) -> Iterator[dict[str, Any]]:
    problems, found, expected = FileProblems(str(path)), 0, None
    for _, row in parquet_tables.read_rows(path, on_error=problems.take):
        expected = row.pop(HEAD, {}).get(_ROWS, expected)
        found += 1
        yield _query(row)
    problems.raise_if_any()
    if found != expected:
        raise _wrong_count(expected, found).located(str(path))


_QUERIES_BEGIN, _QUERIES_END = b'  "query_results": [\n', (b"  ],\n", b"  ]\n")


def _json_in_parts(path: str | Path) -> tuple[dict[str, Any], Callable[[], Iterator[Any]]] | None:
    with open_reading(path) as stream:
        before = b"".join(takewhile(_QUERIES_BEGIN.__ne__, stream))
        last = b"".join(deque(_query_texts(stream), maxlen=1))
        after = last.removeprefix(b"  ]") + stream.read()
    if last not in _QUERIES_END:
        return None
    head = strict_json.decode(before + b'  "query_results": null' + after, file=str(path))
    del head[_ROWS]
    return head, partial(_json_queries, path)


def _query_texts(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the text of each query, on one line or indented, and at last the line that ends them."""
    text = b""
    for line in lines:
        text += line
        if line in _QUERIES_END:
            yield line
            return
        if line.startswith(b"    }") or (line.startswith(b"    {") and line != b"    {\n"):
            yield text
            text = b""


def _json_queries(path: str | Path) -> Iterator[Any]:
    with open_reading(path) as stream:
        line = 2 + sum(1 for _ in takewhile(_QUERIES_BEGIN.__ne__, stream))
        for text in _query_texts(stream):
            if text not in _QUERIES_END:
                yield strict_json.decode(text.strip().removesuffix(b","), file=str(path), line=line)
            line += text.count(b"\n")


def write_results(results: Mapping[str, Any], path: str | Path) -> None:
    """Write results atomically, in the format of the file name; JSON if it has none.

    Args:
        results: The results document.
        path: File to write.

    Raises:
        InputError: The results have a value that the format cannot represent.
        StorageError: The file cannot be written.

    Example:
        >>> from rag_evaluation_framework import write_results
        >>> write_results({"evaluation_id": "sums", "query_results": []}, "sums.json")
    """
    name = plain_name(path)
    if name.endswith(".parquet"):
        parquet_tables.write_rows(path, partial(results_rows, results))
    elif name.endswith(".csv"):
        rows = list(results_rows(results))
        csv_tables.write_rows(path, rows, _columns(name for row in rows for name in row))
    else:
        write_document(dict(results), path)


def results_rows(results: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Lay results out as the rows of a table."""
    queries = _listed(results.get(_ROWS, []))
    rows = (_row(query, f"{_ROWS}[{index}]") for index, query in enumerate(queries))
    yield {HEAD: {**results, **({_ROWS: len(queries)} if _ROWS in results else {})}, **next(rows, {})}
    yield from rows


def results_of_rows(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Put the rows of a table together again."""
    queries = list(map(dict, rows))
    if not queries or HEAD not in queries[0]:
        return {_ROWS: list(map(_query, queries))}
    head = queries[0].pop(HEAD)
    if not isinstance(head, dict):
        raise InputError([Issue("wrong-type", "an object", shown(head), HEAD)])
    expected = head.get(_ROWS)
    if not expected and queries == [{}]:
        queries = []
    if expected is None and not queries:
        return head
    if expected != len(queries):
        raise _wrong_count(expected, len(queries))
    return {**head, _ROWS: list(map(_query, queries))}


def _wrong_count(expected: Any, rows: int) -> InputError:
    found = f"{rows}; the table is truncated or has extra rows"
    return InputError([Issue("wrong-count", f"{shown(expected)} rows, as {HEAD} says", found, HEAD)])


def every_row(path: str | Path, read: Callable[..., Iterable[Any]]) -> list[Any]:
    """Return all that is read of a file, or raise every problem of it."""
    problems = FileProblems(str(path))
    found = list(read(on_error=problems.take))
    problems.raise_if_any()
    return found


def _read_table(path: str | Path, *, parquet: bool) -> dict[str, Any]:
    read = partial(parquet_tables.read_rows, path)
    if not parquet:
        with open_reading(path) as stream:
            read = partial(csv_tables.read_rows, path, _columns(csv_tables.header_of(stream) or ()))
    records = [row for _, row in every_row(path, read)]
    try:
        return results_of_rows(records)
    except InputError as error:
        raise error.located(str(path)) from None


def _columns(names: Iterable[str]) -> Columns:
    """Return the types of the columns: the schema's, and JSON for others."""
    kinds = dict(Columns.of_schema(schema("results")["$defs"]["QueryResult"]).kinds)
    kinds |= {name: "json" for name in names if name.startswith(_METRIC)}
    return Columns({**kinds, HEAD: "json"})


def _listed(value: Any) -> Any:
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        raise InputError([Issue("wrong-type", "a list", shown(value), _ROWS)])
    return value


def _row(query: Any, path: str) -> dict[str, Any]:
    if not isinstance(query, dict):
        raise InputError([Issue("wrong-type", "an object", shown(query), path)])
    row: dict[str, Any] = {}
    for name, value in query.items():
        if name in (HEAD, csv_tables.EXTRA_FIELDS) or name.startswith(_METRIC):
            expected = "a field name that is not reserved"
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


# Configuration files (``.config.yaml``, ``.config.json``): settings by name, kept as they are.


def read_configuration(path: str | Path) -> dict[str, Any]:
    """Read a configuration; what it holds besides the known settings is kept."""
    configuration: dict[str, Any] = read_document(path).checked("configuration")
    return configuration


# Evaluation data as compressed bytes and back, in memory.

# The whole dataset stands in memory afterwards, several times as large, so less is allowed than on the disk.
IN_MEMORY_LIMITS = Limits(max_bytes=2 << 30)


class DataCompressor:
    """Compression and decompression of evaluation data.

    Example:
        >>> from rag_evaluation_framework import DataCompressor
        >>> packed = DataCompressor.compress_evaluation_data({"a": 1})
        >>> DataCompressor.decompress_evaluation_data(packed)
        {'a': 1}
    """

    @staticmethod
    def compress_evaluation_data(data: dict[str, Any], compression_level: int = 6) -> bytes:
        """Compress evaluation data with gzip, level 0 to 9; the same data give the same bytes."""
        return compress(strict_json.encode(data), "gzip", level=compression_level)

    @staticmethod
    def decompress_evaluation_data(
        compressed_data: bytes, *, limits: Limits = IN_MEMORY_LIMITS
    ) -> dict[str, Any]:
        """Decompress evaluation data, gzip or Zstandard.

        Data that expand beyond the limits (a "zip bomb") are a ``LimitExceededError`` after a few megabytes.
        """
        if recognise(compressed_data[:4]) is None:
            found = shown(compressed_data[:8])
            raise InputError([Issue("not-compressed", "gzip or Zstandard data", found)])
        value = strict_json.decode(read_bytes(compressed_data, limits=limits, max_line_bytes=None))
        if not isinstance(value, dict):
            raise InputError([Issue("wrong-type", "an object", shown(value))])
        return value

    @staticmethod
    def estimate_compression_ratio(original_data: dict[str, Any]) -> float:
        """Return how many times smaller the compressed data are than what ``json.dumps`` writes."""
        compressed_size = len(DataCompressor.compress_evaluation_data(original_data))
        return len(json.dumps(original_data).encode()) / compressed_size
