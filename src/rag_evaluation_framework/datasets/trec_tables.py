"""Files of columns, such as TREC's: read line by line, or in blocks of bytes without an object a line.

The reader of lines is careful: it tells every problem with its line. The reader of blocks gives columns. A
block that is not plain (comments, blank lines, several spaces, words after the tag) is first written anew by
the reader of lines; a file in which something is wrong, or that is no table, is left to that reader.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import FileProblems, InputError, Issue, shown
from rag_evaluation_framework.files.access import open_reading
from rag_evaluation_framework.metrics.judged_columns import (
    MASKS,
    PADDING,
    WORD,
    Ids,
    NotPlain,
    Places,
    QrelColumns,
    RunBlock,
    Words,
)
from rag_evaluation_framework.metrics.judged_rankings import Booleans, Floats

Format = Literal["trec", "beir", "json"]

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_COMMENT = b"#"


def told_format(stream: BinaryIO, file: str) -> tuple[Format, Iterable[bytes]]:
    """Tell the format from the first line that is not blank; return every line, that one included.

    The file is not opened again: a pipe, such as ``<(zcat a.run)``, can be read once only.
    """
    start: list[bytes] = []
    for line in stream:
        start.append(line)
        text = line.removeprefix(BYTE_ORDER_MARK).strip()
        if text.startswith(_COMMENT):
            continue
        if text.startswith(b"{"):
            return "json", chain(start, stream)
        if text:
            return "beir" if len(text.split(b"\t")) == 3 else "trec", chain(start, stream)
    raise InputError([Issue("empty-file", "at least one line", "an empty file", file=file)])


@dataclass(frozen=True, slots=True)
class Layout:
    """Which columns a line has. BEIR ids may hold spaces, so only a tab parts them."""

    columns: tuple[str, ...]
    query: int
    document: int
    number: int
    separator: bytes | None = None
    header: bool = False
    open_end: bool = False
    """Whether more columns may follow, which nobody reads."""


TREC_QRELS = Layout(("query", "iteration", "document", "grade"), query=0, document=2, number=3)
TREC_RUN = Layout(
    ("query", "Q0", "document", "rank", "score", "tag"), query=0, document=2, number=4, open_end=True
)
BEIR_QRELS = Layout(
    ("query-id", "corpus-id", "score"), query=0, document=1, number=2, separator=b"\t", header=True
)


class Table:
    """Reads a file of columns into numbers by document by query, line by line."""

    def __init__(self, file: str, layout: Layout, number: Callable[[bytes], Any]) -> None:
        self.file, self.layout, self.number = file, layout, number
        self.problems = FileProblems(file)

    def read(self, lines: Iterable[bytes], *, may_be_empty: bool = False) -> dict[str, dict[str, Any]]:
        table: dict[str, dict[str, Any]] = {}
        layout, number = self.layout, self.number
        previous: bytes | None = None
        row: dict[str, Any] = {}
        for line_number, fields in self.rows(lines):
            try:
                if fields[layout.query] != previous:  # lines of one query stand together
                    row = table.setdefault(fields[layout.query].decode(), {})
                    previous = fields[layout.query]
                document = fields[layout.document].decode()
                value = number(fields[layout.number])
            except ValueError as error:
                self._wrong_value(line_number, fields, error)
                continue
            if document in row:
                found = f"{shown(document)} again for query {shown(fields[layout.query].decode())}"
                self.problems.add(
                    Issue("duplicate-document", "each document once per query", found, line=line_number)
                )
            row[document] = value
        if not table and not may_be_empty and not self.problems.has_issues:
            self.problems.add(Issue("empty-file", "at least one line of " + " ".join(layout.columns), "none"))
        self.problems.raise_if_any()
        return table

    def rows(self, lines: Iterable[bytes]) -> Iterator[tuple[int, list[bytes]]]:
        """Yield the lines that have the right number of columns, without blank lines, comments and header."""
        width, separator, open_end = len(self.layout.columns), self.layout.separator, self.layout.open_end
        header = [name.encode() for name in self.layout.columns] if self.layout.header else None
        for line_number, line in enumerate(lines, 1):
            if line_number == 1:
                line = line.removeprefix(BYTE_ORDER_MARK)
            fields = line.rstrip(b"\r\n").split(separator) if separator else line.split()
            if not separator and line.startswith(_COMMENT):
                continue
            if len(fields) == width or (open_end and len(fields) > width):
                if line_number == 1 and fields == header:
                    continue
                yield line_number, fields
            elif line.strip():
                expected = f"{width} columns ({' '.join(self.layout.columns)})"
                self.problems.add(Issue("wrong-columns", expected, f"{len(fields)}", line=line_number))

    def _wrong_value(self, line: int, fields: list[bytes], error: ValueError) -> None:
        if self.problems.is_full:
            self.problems.count()
        elif isinstance(error, UnicodeDecodeError):
            self.problems.add(Issue("not-utf8", "UTF-8 text", shown(error.object), line=line))
        else:
            column = self.layout.columns[self.layout.number]
            found = shown(fields[self.layout.number].decode(errors="replace"))
            self.problems.add(Issue("wrong-number", str(error), found, column, line=line))


def whole_number(text: bytes) -> int:
    try:
        if b"_" not in text:  # Python reads 1_000 as a number; nobody else does
            return int(text)
    except ValueError:
        pass
    raise ValueError("a whole number")


def finite_number(text: bytes) -> float:
    try:
        value = float(text)
        if isfinite(value) and b"_" not in text:
            return value
    except ValueError:
        pass
    raise ValueError("a finite number")


# The same columns, in blocks.

# Few enough that the columns of a block stay in the processor's cache.
_BLOCK_BYTES = 1 << 21
# A longer id would make the words of all others too many.
_LONGEST_ID = 512

_NEW_LINE, _SPACE, _TAB, _HASH = b"\n \t#"


class RunFile:
    """A run in a TREC file, read in blocks of whole queries."""

    def __init__(self, path: Path, *, format: Format | None = None) -> None:  # noqa: A002
        self._path, self._format = path, format
        self._queries: set[str] = set()

    def __contains__(self, query: object) -> bool:
        """Tell whether a query was met when the run was read."""
        return query in self._queries

    def blocks(self) -> Iterator[RunBlock]:
        """Yield what the queries retrieved, as they come."""
        if _told(self._path, self._format) != "trec":
            raise NotPlain
        with open_reading(self._path) as stream:
            lines = _Lines(stream)
            rest = b""
            while lines.has_more:
                table = _read_columns(lines.read(rest), TREC_RUN)
                starts = table.queries.changes()
                end, rest = len(table.queries), b""
                if lines.has_more and len(starts):
                    # The last query may go on in the next lines.
                    end, starts = int(starts[-1]), starts[:-1]
                    rest = table.data[int(table.queries.starts[end]) :]
                if len(starts):
                    counts = np.diff(starts, append=end)
                    names = [table.queries.bytes_of(row).decode() for row in starts.tolist()]
                    self._queries.update(names)
                    yield RunBlock(names, counts, table.documents[:end], _scores(table.numbers[:end], counts))


def read_qrel_columns(path: Path, *, format: Format | None = None) -> QrelColumns:  # noqa: A002
    """Read judgements from a TREC or BEIR file; :class:`NotPlain` where it is none, or something is wrong."""
    told = _told(path, format)
    if told == "json":
        raise NotPlain
    layout = BEIR_QRELS if told == "beir" else TREC_QRELS
    numbers: dict[str, int] = {}
    pieces: list[bytes] = []
    columns: list[tuple[Places, ...]] = []
    offset = 0
    with open_reading(path) as stream:
        lines = _Lines(stream, header="\t".join(layout.columns).encode() if layout.header else None)
        while lines.has_more:
            table = _read_columns(lines.read(b""), layout)
            starts = table.queries.changes()
            named = [table.queries.bytes_of(row).decode() for row in starts.tolist()]
            own = np.array([numbers.setdefault(name, len(numbers)) for name in named], dtype=np.int64)
            query = np.repeat(own, np.diff(starts, append=len(table.queries)))
            documents = table.documents
            columns.append((query, documents.starts + offset, documents.lengths, _grades(table.numbers)))
            pieces.append(table.data)
            offset += len(table.data)
    if not numbers:
        raise NotPlain
    query, starts, lengths, grades = (np.concatenate(each) for each in zip(*columns, strict=True))
    if (query[1:] < query[:-1]).any():
        order = np.argsort(query, kind="stable")
        query, starts, lengths, grades = query[order], starts[order], lengths[order], grades[order]
    documents = Ids(np.frombuffer(b"".join((*pieces, PADDING)), dtype=np.uint8), starts, lengths)
    return QrelColumns(numbers, np.bincount(query, minlength=len(numbers)), documents, grades)


def _told(path: Path, format_: Format | None) -> Format:
    """Tell the format of a file that can be read again, should it turn out not to be plain."""
    if not path.is_file():  # a pipe is read once only
        raise NotPlain
    if format_ is not None:
        return format_
    with open_reading(path) as stream:
        return told_format(stream, str(path))[0]


class _Lines:
    """A file in pieces of whole lines, without a byte order mark and without its header."""

    def __init__(self, stream: BinaryIO, *, header: bytes | None = None) -> None:
        self._stream, self._header = stream, header
        self._tail, self._is_first = b"", True
        self.has_more = True

    def read(self, rest: bytes) -> bytes:
        """Return what was left of the last piece and the lines that follow it, at least as much again."""
        size = max(_BLOCK_BYTES, len(rest))
        piece = self._stream.read(size)
        if self._is_first:
            piece = piece.removeprefix(BYTE_ORDER_MARK)
            first, _, others = piece.partition(b"\n")
            if self._header is not None and first.rstrip(b"\r") == self._header:
                piece = others
            self._is_first = False
        data = self._tail + piece
        # A stream may give less than was asked for before it ends, but then not nothing.
        self.has_more = bool(piece)
        end = data.rfind(b"\n") + 1 if self.has_more else len(data)
        self._tail = data[end:]
        whole = rest + data[:end]
        return whole if self.has_more or not whole or whole.endswith(b"\n") else whole + b"\n"


@dataclass(frozen=True, slots=True)
class _Columns:
    """The fields of a piece's lines that are read."""

    data: bytes
    queries: Ids
    documents: Ids
    numbers: Ids


def _read_columns(data: bytes, layout: Layout) -> _Columns:
    """Split lines into columns."""
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError:
            raise NotPlain from None
    ends = _ends(data, layout)
    if ends is None:
        data = _written_plainly(data, layout)
        ends = _ends(data, layout)
        if ends is None:
            raise NotPlain
    padded = np.frombuffer(data + PADDING, dtype=np.uint8)

    def column(place: int) -> Ids:
        starts = ends[place - 1] + 1
        if place == 0:
            starts[1:], starts[:1] = starts[:-1].copy(), 0
        return Ids(padded, starts, ends[place] - starts)

    read = _Columns(data, column(layout.query), column(layout.document), column(layout.number))
    if max(int(each.lengths.max(initial=0)) for each in (read.queries, read.documents)) > _LONGEST_ID:
        raise NotPlain
    return read


def _ends(data: bytes, layout: Layout) -> Places | None:
    """Return where the fields of each line end, a row for each column; ``None`` if a line is not plain."""
    each = np.frombuffer(data, dtype=np.uint8)
    in_line = [_TAB] if layout.separator else [_SPACE, _TAB]
    is_end = each <= _SPACE if layout.separator is None else (each == _TAB) | (each == _NEW_LINE)
    width = len(layout.columns)
    ends = np.flatnonzero(is_end)
    lines, left = divmod(len(ends), width)
    separators = sum(int(np.count_nonzero(each == mark)) for mark in in_line)
    if left or separators != lines * (width - 1):
        return None
    if lines and (ends[0] == 0 or (np.diff(ends) == 1).any()):
        return None
    columns = np.ascontiguousarray(ends.reshape(lines, width).T)
    if not (each[columns[-1]] == _NEW_LINE).all():
        return None
    if layout.separator is None:
        if lines and (each[0] == _HASH or (each[columns[-1][:-1] + 1] == _HASH).any()):
            return None
    elif b"\r" in data:
        return None
    return columns


def _written_plainly(data: bytes, layout: Layout) -> bytes:
    """Return the lines that are read, each with its columns and single separators."""
    table = Table("", layout, bytes)
    separator, width = layout.separator or b" ", len(layout.columns)
    # A blank line before them: what is particular about the first line of a file is done with.
    rows = [separator.join(fields[:width]) for _, fields in table.rows(chain((b"\n",), io.BytesIO(data)))]
    if table.problems.has_issues:
        raise NotPlain
    return b"".join(row + b"\n" for row in rows)


# Numbers from digits, eight at a time.

_DIGITS = np.uint64(0x3030303030303030)
_DOTS = np.uint64(0x2E2E2E2E2E2E2E2E)
_ONES = np.uint64(0x0101010101010101)
_HIGH_BITS = np.uint64(0x8080808080808080)
_ABOVE_NINE = np.uint64(0x7676767676767676)
# Whole parts below this leave room for eight decimals in the 53 bits of a float.
_MOST_EXACT = 90_000_000
# By how much a number of more digits may be off: a part of it, and digits after the sixteenth decimal.
_RELATIVE_ERROR, _ABSOLUTE_ERROR = 1e-15, 2e-16
_MOST_DECIMALS = 24


@dataclass(frozen=True, slots=True)
class _Decimals:
    """Numbers as written: those that are plain decimals are read, those of few digits exactly."""

    values: Floats
    is_exact: Booleans
    is_whole: Booleans
    is_plain: Booleans


def _decimals(fields: Ids) -> _Decimals:
    starts, lengths = fields.starts, fields.lengths
    is_negative = fields.data[starts] == ord("-")
    if is_negative.any():
        starts, lengths = starts + is_negative, lengths - is_negative
    first = Ids(fields.data, starts, lengths).word()
    dots = first ^ _DOTS
    dots = (dots - _ONES) & ~dots & _HIGH_BITS
    has_dot = dots != 0
    # The lowest bit set is in the first byte that is a dot; the bytes up to it are counted.
    up_to_dot = (((dots & -dots) - np.uint64(1)) & _ONES) * _ONES >> np.uint64(56)
    whole_digits = np.where(has_dot, up_to_dot.astype(np.int64) - 1, lengths)
    decimals = np.where(has_dot, lengths - whole_digits - 1, 0)
    is_plain = (whole_digits > 0) & (whole_digits <= WORD) & (decimals <= _MOST_DECIMALS)
    whole_digits = np.clip(whole_digits, 1, WORD)
    # To the right: zeros come before them.
    whole = _digits(
        first << ((WORD - whole_digits) * WORD).astype(np.uint64), whole_digits, is_plain, right=True
    )
    after = Ids(
        fields.data, np.minimum(starts + whole_digits + 1, len(fields.data) - WORD), np.maximum(decimals, 0)
    )
    parts = [_digits(after.word(), after.lengths, is_plain)]
    most = int(decimals.max(initial=0))
    if most > WORD:
        parts.append(_digits(after.word(1), after.lengths - WORD, is_plain))
    if most > 2 * WORD:
        _digits(after.word(2), after.lengths - 2 * WORD, is_plain)
    values = (whole * np.uint64(10**WORD) + parts[0]).astype(np.float64)
    if len(parts) > 1:
        values += parts[1] / 1e8
    values /= 1e8
    np.negative(values, out=values, where=is_negative)
    is_exact = (decimals <= WORD) & (whole < _MOST_EXACT)
    return _Decimals(values, is_exact, ~has_dot, is_plain)


def _digits(words: Words, count: Places, is_plain: Booleans, *, right: bool = False) -> Words:
    """Return the number that eight digits make; where not all are digits, unset ``is_plain``."""
    mask = MASKS[np.clip(count, 0, WORD)]
    if right:
        mask = mask.byteswap()
    digits = (words ^ _DIGITS) & mask
    is_plain &= ((digits | (digits + _ABOVE_NINE)) & _HIGH_BITS) == 0
    # Pairs of digits, then of these pairs, then of those: the first byte is the lowest and counts most.
    digits = (digits * np.uint64(2561)) >> np.uint64(8)
    digits = ((digits & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601)) >> np.uint64(16)
    return ((digits & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(42949672960001)) >> np.uint64(32)


def _grades(fields: Ids) -> Places:
    read = _decimals(fields)
    grades = read.values.astype(np.int64)
    for row in np.flatnonzero(~(read.is_plain & read.is_whole)).tolist():
        try:
            grades[row] = whole_number(fields.bytes_of(row))
        except (ValueError, OverflowError):
            raise NotPlain from None
    return grades


def _scores(fields: Ids, counts: Places) -> Floats:
    """Return scores that order as those that are written."""
    read = _decimals(fields)
    values = read.values
    _read_one_by_one(values, fields, np.flatnonzero(~read.is_plain))
    unsure = read.is_plain & ~read.is_exact
    if unsure.any():
        error = np.abs(values) * _RELATIVE_ERROR + _ABSOLUTE_ERROR
        with np.errstate(over="ignore"):
            turns = (values - error).astype(np.float32) != (values + error).astype(np.float32)
        ends = np.cumsum(counts)
        close = np.zeros(len(values) + 1, dtype=np.bool_)
        close[1:-1] = values[:-1] - values[1:] <= error[:-1] + error[1:]
        close[ends] = False  # the next query's first score is compared with nothing
        in_doubt = np.add.reduceat(close[:-1], ends - counts) > 0
        _read_one_by_one(values, fields, np.flatnonzero(unsure & (turns | np.repeat(in_doubt, counts))))
    return values


def _read_one_by_one(values: Floats, fields: Ids, rows: npt.NDArray[np.int64]) -> None:
    """Read some numbers as Python does, into ``values``."""
    for row in rows.tolist():
        try:
            values[row] = finite_number(fields.bytes_of(row))
        except ValueError:
            raise NotPlain from None
