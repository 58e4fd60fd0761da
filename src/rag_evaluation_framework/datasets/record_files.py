"""Files of records, one after the other: a record a line, an array, one object, or the rows of a table.

Reading tells the layout from the content, writing from the name. Lines and Parquet are read as streams; of
an array only the text is held, one record is decoded at a time; a CSV file is read row by row. Plain, gzip
and Zstandard.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from rag_evaluation_framework.datasets import csv_tables, parquet_tables
from rag_evaluation_framework.errors import InputError, Issue
from rag_evaluation_framework.files import access, strict_json
from rag_evaluation_framework.files.access import read_text
from rag_evaluation_framework.files.atomic import atomic_writer
from rag_evaluation_framework.files.json_scanner import after_space, line_of
from rag_evaluation_framework.files.strict_json import read_lines, write_lines
from rag_evaluation_framework.records.samples import Usage

RecordLayout = Literal["lines", "array", "object", "csv", "parquet"]

_LAYOUTS: dict[str, RecordLayout] = {
    ".jsonl": "lines",
    ".ndjson": "lines",
    ".json": "array",
    ".csv": "csv",
    ".parquet": "parquet",
}
_LONGEST_FIRST_LINE = 1 << 20
_scanner = json.JSONDecoder()


class PlacedRecord(msgspec.Struct, frozen=True):
    """A record and where it stands. ``text``, where there is one, lets an issue find its own line.

    ``took`` is what a log says beside the record of the answer's tokens, cost and time. ``number`` counts the
    records of an array from 1, where several stand on one line.
    """

    value: Any
    line: int | None
    within: str = ""
    text: str | None = None
    took: tuple[Usage | None, float | None] | None = None
    number: int | None = None

    def place(self, issue: Issue) -> Issue:
        """Return the issue with its line and its path from the beginning of the file."""
        line = self.line
        if self.text is not None and line is not None:
            line += (line_of(self.text, issue.path) or 1) - 1
        return issue.located(line=line, within=self.within)


def read_records(
    path: str | Path,
    *,
    columns: Callable[[], csv_tables.Columns] = csv_tables.Columns,
    prepare: Callable[[str], str] | None = None,
    on_error: Callable[[InputError], None],
) -> Iterator[PlacedRecord]:
    """Yield every record of a file; what cannot be read goes to ``on_error`` and reading goes on behind it.

    ``columns`` says how a table's cells are read; ``prepare`` is applied to the text of an array or object.
    """
    access.check_expansion(path)
    layout = layout_of(path)
    if layout == "lines":
        for line, value in read_lines(path, on_error=on_error):
            yield PlacedRecord(value, line)
    elif layout == "csv":
        yield from _rows(csv_tables.read_rows(path, columns(), on_error=on_error))
    elif layout == "parquet":
        yield from _rows(parquet_tables.read_rows(path, columns(), on_error=on_error))
    else:
        yield from _document_records(path, prepare, on_error)


def write_records(
    path: str | Path,
    records: Iterable[dict[str, Any]],
    *,
    columns: Callable[[], csv_tables.Columns] = csv_tables.Columns,
    default: RecordLayout = "lines",
) -> None:
    """Write records atomically in the layout that the name asks for, or in the default one."""
    layout = named_layout(path) or default
    if layout == "lines":
        write_lines(path, records)
    elif layout == "csv":
        csv_tables.write_rows(path, list(records), columns())
    elif layout == "parquet":
        parquet_tables.write_rows(path, list(records))
    else:
        _write_array(path, records)


def named_layout(path: str | Path) -> RecordLayout | None:
    """Tell from a name how a file to be *written* is laid out; ``None`` where the name does not say."""
    return _LAYOUTS.get(Path(access.plain_name(path)).suffix)


def layout_of(path: str | Path) -> RecordLayout:
    """Tell from its content how a file is laid out; the name decides only where the content allows both."""
    with access.open_reading(path) as stream:
        start = stream.read(_LONGEST_FIRST_LINE)
        if start.startswith(parquet_tables.MAGIC):
            return "parquet"
        start = start.removeprefix(b"\xef\xbb\xbf").lstrip()
        named = named_layout(path)
        if not start or (start.startswith(b"{") and named == "lines"):
            return "lines"
        if start.startswith((b"[", b"//")):
            return "array"
        if not start.startswith(b"{"):
            return "lines" if named == "lines" else "csv"
        first, _, rest = start.partition(b"\n")
        if len(first) < _LONGEST_FIRST_LINE and not _is_json(first):
            return "object"
        is_alone = not rest.strip() and not stream.read(1)
        return "object" if is_alone and named == "array" else "lines"


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _rows(rows: Iterator[tuple[int, dict[str, Any]]]) -> Iterator[PlacedRecord]:
    for line, record in rows:
        yield PlacedRecord(record, line)


def _document_records(
    path: str | Path, prepare: Callable[[str], str] | None, on_error: Callable[[InputError], None]
) -> Iterator[PlacedRecord]:
    """Yield the records of an array, or the one object of a file."""
    file = str(path)
    try:
        text = read_text(path)
        text = prepare(text) if prepare else text
        pieces = list(_pieces(text))
    except InputError as error:
        on_error(error)
        return
    except (ValueError, RecursionError):
        # The scanner only parts the records; what is wrong is for the strict reader to say.
        pieces = []
        try:
            strict_json.decode(text, file=file)
        except InputError as error:
            on_error(error)
            return
    is_array = text.startswith("[", after_space(text, 0))
    lines, position = [1], 0
    for start, _ in pieces:
        lines.append(lines[-1] + text.count("\n", position, start))
        position = start
    is_shared = len(set(lines[1:])) < len(pieces)
    for index, ((start, end), line) in enumerate(zip(pieces, lines[1:], strict=True)):
        within = f"[{index}]" if is_array else ""
        try:
            value = strict_json.decode(text[start:end], file=file, line=line)
        except InputError as error:
            on_error(error.located(within=within))
        else:
            number = index + 1 if is_shared else None
            yield PlacedRecord(value, line, within, text[start:end], number=number)


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each record of a JSON text begins and ends; raise ``ValueError`` where it is not one."""
    position = after_space(text, 0)
    if not text.startswith("[", position):
        end = _scanner.raw_decode(text, position)[1]
        _end_of_text(text, end)
        yield position, end
        return
    position = after_space(text, position + 1)
    if text.startswith("]", position):
        _end_of_text(text, position + 1)
        return
    while True:
        end = _scanner.raw_decode(text, position)[1]
        yield position, end
        position = after_space(text, end)
        if text.startswith("]", position):
            _end_of_text(text, position + 1)
            return
        if not text.startswith(",", position):
            raise ValueError("expected a comma")
        position = after_space(text, position + 1)


def _end_of_text(text: str, position: int) -> None:
    if after_space(text, position) != len(text):
        raise ValueError("expected the end of the text")


def _write_array(path: str | Path, records: Iterable[dict[str, Any]]) -> None:
    """Write an array as people do: indented, a record after the other."""
    with atomic_writer(path) as file, access.compressing(file, access.named_compression(path)) as stream:
        separator = b"[\n"
        for record in records:
            text = strict_json.encode(record, indent=2)
            stream.write(separator + b"  " + text.replace(b"\n", b"\n  "))
            separator = b",\n"
        stream.write(b"[]\n" if separator == b"[\n" else b"\n]\n")
