"""Records as rows of a CSV file, without loss.

The header names the fields: at least one that is known, and all that every record must have. A cell of text
is the text itself; a cell of any other kind (a list, an object, a number) is JSON; an empty cell means that
the record does not have the field. What a plain cell cannot say (an empty text, null, a field that is text
here and a number there) stands as one JSON object in the last column, ``extra_fields``. Columns the schema
does not know are text.

A text that a spreadsheet would take for a formula (it begins with ``=``, ``+``, ``-``, ``@``, a tab or a
return and is no number) stands behind an apostrophe, which is taken away again when the table is read.

Rows of other tools are read too: cells may be separated by semicolons or tabs, as spreadsheets do, and a list
or an object may be written as Python writes it (``['a', 'b']``), as ragas does, or numpy (``['a' 'b']``).
"""

from __future__ import annotations

import ast
import csv
import io
import re
import tokenize
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec

from rag_evaluation_framework.errors import InputError, Issue, counted, shown
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.access import compressing, foreign_text, named_compression, open_reading
from rag_evaluation_framework.files.atomic import atomic_writer
from rag_evaluation_framework.files.json_scanner import check_value, written_path

EXTRA_FIELDS = "extra_fields"
"""The column of what the other columns cannot say; an object's fields are the record's."""

CellKind = Literal["text", "json", "either"]
"""Content of a column's cells; ``either`` is text unless it reads as a JSON list or object."""

# A cell may hold every context of a sample; the csv module's own limit is 128 KiB.
_MAX_CELL = 64 << 20
_SEPARATORS = ",;\t"
_SHOWN_COLUMNS = 5
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_QUOTED_FORMULA = re.compile(r"'+[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_SEPARATOR_LINE = re.compile(r"sep=([,;\t|])\s*", re.IGNORECASE)  # as Excel writes it
_QUOTED = re.compile(r'"[^"]*"')
_ABSENT = object()


class Columns(msgspec.Struct, frozen=True):
    """The known columns in their order, with what their cells hold; all others are text.

    No table may lack one of those that are ``required``.
    """

    kinds: Mapping[str, CellKind] = {}
    required: tuple[str, ...] = ()
    unnamed: bool = False
    """True if a column may have no name, as the index of a frame; it is not read."""

    @classmethod
    def of_schema(cls, schema: Mapping[str, Any]) -> Columns:
        """Take the columns from a schema's properties."""
        kinds = {name: _cell_kind(rule) for name, rule in schema.get("properties", {}).items()}
        return cls(kinds, tuple(schema.get("required", ())))

    def kind(self, name: str) -> CellKind:
        return "json" if name == EXTRA_FIELDS else self.kinds.get(name, "text")

    def check_required(self, names: Sequence[str]) -> None:
        """Raise where a table has no column for a field that every record must have."""
        missing = [name for name in self.required if name not in names]
        if missing and EXTRA_FIELDS not in names:
            found = f"the columns {_listed(names)}"
            raise InputError(
                Issue("missing-column", "a column of this name", found, each) for each in missing
            )


ANY_COLUMNS = Columns()


def read_rows(
    path: str | Path, columns: Columns, *, on_error: Callable[[InputError], None]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line on which each row begins, and the row as a record."""
    file = str(path)
    header: list[str] | None = None
    with open_reading(path) as stream:
        for line, row in _rows(stream, on_error=lambda error: on_error(error.located(file))):
            try:
                if header is None:
                    header = _checked_header(row, columns)
                else:
                    yield line, _record(header, row, columns)
            except InputError as error:
                on_error(error.located(file, line))
                if header is None:
                    return


def header_of(stream: BinaryIO) -> list[str] | None:
    """Return the names in the first row, or ``None`` when it cannot be a header."""
    _, row = next(_rows(stream, on_error=lambda _: None), (1, None))
    try:
        return _checked_header(row, ANY_COLUMNS) if row else None
    except InputError:
        return None


def write_rows(path: str | Path, records: Sequence[Mapping[str, Any]], columns: Columns) -> None:
    """Write records as rows, atomically; a record that JSON could not hold is refused."""
    for index, record in enumerate(records):
        try:
            check_value(dict(record))
        except InputError as error:
            raise error.located(str(path), within=f"[{index}]") from None
    names = _named_columns(records, columns)
    with atomic_writer(path) as file, compressing(file, named_compression(path)) as stream:
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\r\n")
        writer.writerow(map(_harmless, names))
        for record in records:
            writer.writerow(_cells(record, names, columns))
            stream.write(text.getvalue().encode())
            text.seek(0)
            text.truncate()
        stream.write(text.getvalue().encode())


def _cell_kind(rule: Mapping[str, Any]) -> CellKind:
    types = rule.get("type", "object")
    allowed = {types} if isinstance(types, str) else set(types)
    if "string" not in allowed:
        return "json"
    return "either" if allowed & {"array", "object"} else "text"


def _record(header: Sequence[str], row: Sequence[str], columns: Columns) -> dict[str, Any]:
    if len(row) > len(header):
        found = f"{len(row)}"
        raise InputError([Issue("wrong-columns", f"{counted(len(header), 'cell')}, as in the header", found)])
    issues: list[Issue] = []
    record: dict[str, Any] = {}
    # A row that ends early lacks its last fields, as spreadsheets write it.
    for name, cell in zip(header, row, strict=False):
        if not name:
            continue
        try:
            value = _value(name, cell, columns.kind(name))
        except InputError as error:
            issues.extend(error.issues)
            continue
        if name == EXTRA_FIELDS and value is not _ABSENT:
            if not isinstance(value, dict):
                issues.append(Issue("wrong-type", "an object", shown(value), name))
                continue
            record.update(value)
        elif value is not _ABSENT:
            record[name] = value
    if issues:
        raise InputError(issues)
    return record


def _value(name: str, cell: str, kind: CellKind) -> Any:
    if not cell:
        return _ABSENT
    if kind == "text":
        return _format_cell(cell)
    if kind == "either" and not cell.lstrip().startswith(("[", "{")):
        return _format_cell(cell)
    try:
        return strict_json.decode(cell)
    except InputError as error:
        literal = python_value(cell)
        if literal is not None:
            return literal
        if kind == "either":
            return cell
        found = shown(cell)
        raise InputError([Issue("not-json", "JSON in this cell", found, written_path((name,)))]) from error


def python_value(cell: str) -> list[Any] | dict[str, Any] | None:
    """Read a list or dictionary as Python writes it, with numpy's arrays as lists; else ``None``."""
    try:
        tree = ast.parse(_with_commas(cell.strip()), mode="eval")
        value = ast.literal_eval(_ArraysAsLists().visit(tree))
        if isinstance(value, list | dict):
            check_value(value)
            return value
    except (ValueError, SyntaxError, RecursionError, MemoryError, InputError, tokenize.TokenError):
        pass
    return None


def _with_commas(cell: str) -> str:
    """Put a comma between texts side by side, which numpy writes so and Python would take for one."""
    if not _SIDE_BY_SIDE.search(cell):
        return cell
    lines = cell.splitlines(keepends=True)
    tokens = tokenize.generate_tokens(iter(lines).__next__)
    solid = [token for token in tokens if token.type not in (tokenize.NL, tokenize.NEWLINE)]
    for before, after in reversed(list(pairwise(solid))):  # from the end, so that places stay what they are
        if before.type == after.type == tokenize.STRING:
            row, column = before.end
            lines[row - 1] = lines[row - 1][:column] + "," + lines[row - 1][column:]
    return "".join(lines)


_SIDE_BY_SIDE = re.compile(r"""['"]\s+['"]""")


class _ArraysAsLists(ast.NodeTransformer):
    """Takes ``array(['a'], dtype=object)`` for ``['a']``."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        is_array = isinstance(node.func, ast.Name) and node.func.id == "array" and len(node.args) == 1
        return self.visit(node.args[0]) if is_array else node


def _named_columns(records: Sequence[Mapping[str, Any]], columns: Columns) -> list[str]:
    """Return the header: known columns that occur, unknown ones of text, and ``extra_fields`` if needed."""
    present = dict.fromkeys(name for record in records for name in record if name and name != EXTRA_FIELDS)
    known = [name for name in columns.kinds if name in present or name in columns.required]
    unknown = [
        name
        for name in present
        if name not in columns.kinds
        and all(_is_plain(name, record[name], columns) for record in records if name in record)
    ]
    names = [*known, *unknown]
    fits = all(
        name in names and _is_plain(name, value, columns)
        for record in records
        for name, value in record.items()
    )
    return names if fits and names else [*names, EXTRA_FIELDS]


def _cells(record: Mapping[str, Any], names: Sequence[str], columns: Columns) -> list[str]:
    plain = {name for name, value in record.items() if name in names and _is_plain(name, value, columns)} - {
        EXTRA_FIELDS
    }
    rest = {name: value for name, value in record.items() if name not in plain}
    cells = [_cell(record[name], columns.kind(name)) if name in plain else "" for name in names]
    if rest:
        cells[-1] = strict_json.encode(rest).decode()
    return cells


def _is_plain(name: str, value: Any, columns: Columns) -> bool:
    """Return True if a plain cell of this column represents this value and no other."""
    kind = columns.kind(name)
    if kind == "text":
        return isinstance(value, str) and value != ""
    if kind == "json":
        return value is not None
    try:
        read = _value(name, _cell(value, kind), kind)
    except InputError:
        return False
    return type(read) is type(value) and bool(read == value)


def _cell(value: Any, kind: CellKind) -> str:
    if isinstance(value, str) and kind != "json":
        return _harmless(value)
    return strict_json.encode(value).decode()


def _harmless(text: str) -> str:
    """Return a text as a cell that no spreadsheet takes for a formula; numbers stay numbers."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def _format_cell(cell: str) -> str:
    """Return the text that was written as this cell."""
    return cell[1:] if _QUOTED_FORMULA.match(cell) else cell


def _checked_header(row: Sequence[str], columns: Columns) -> list[str]:
    """Return the names in the first row; if none of them is known, it is no header, or not cut at commas."""
    names = [_format_cell(name) for name in row]
    known = [EXTRA_FIELDS, *columns.kinds]
    if columns.kinds and not set(names) & set(known):
        expected = (
            f"columns separated by commas, semicolons or tabs, including at least one of {_listed(known[1:])}"
        )
        raise InputError([Issue("unknown-columns", expected, shown(",".join(names)))])
    twice = [name for index, name in enumerate(names) if name and name in names[:index]]
    if twice:
        raise InputError([Issue("duplicate-column", "unique columns", f"duplicate {shown(twice[0])}")])
    if not all(names) and not (columns.unnamed and any(names)):
        raise InputError([Issue("unnamed-column", "a name for each column", "an empty name")])
    columns.check_required(names)
    return names


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN_COLUMNS]) + (", …" if len(names) > _SHOWN_COLUMNS else "")


def _rows(stream: BinaryIO, *, on_error: Callable[[InputError], None]) -> Iterator[tuple[int, list[str]]]:
    """Yield the line on which each row begins, and its cells; what cannot be read ends the rows."""
    # The limit on a cell's length is one for the whole process, so it is only raised.
    csv.field_size_limit(max(csv.field_size_limit(), _MAX_CELL))
    begins = 1
    try:
        reader = _reader(_lines(stream))
        for row in reader:
            if row:
                yield begins, row
            begins = reader.line_num + 1
    except csv.Error as error:
        on_error(InputError([Issue("csv-syntax", "a CSV row", str(error), line=begins)]))
    except InputError as error:
        on_error(error)


def _reader(lines: Iterator[str]) -> Any:
    """Read rows cut at the separator that the header has most of, or that a line before it names."""
    start = [next(lines, "")]
    while start[-1].isspace():
        start.append(next(lines, ""))
    if said := _SEPARATOR_LINE.fullmatch(start[-1]):
        start[-1] = "\n"  # so that lines are still counted
        return csv.reader(chain(start, lines), delimiter=said[1], strict=True)
    bare = _QUOTED.sub("", start[-1])
    separator = max(_SEPARATORS, key=bare.count)
    return csv.reader(chain(start, lines), delimiter=separator, strict=True)


def _lines(stream: BinaryIO) -> Iterator[str]:
    """Yield lines that end as they are written; a byte order mark is dropped."""
    for number, line in enumerate(stream, 1):
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            found = foreign_text(line, f" (byte 0x{line[error.start]:02x})")
            raise InputError([Issue("invalid-utf8", "UTF-8 text", found, line=number)]) from None
        yield text.removeprefix("\ufeff") if number == 1 else text
