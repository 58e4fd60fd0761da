"""Files of columns, such as TREC's: read line by line, or in blocks of bytes without an object a line.

The reader of lines is careful: it tells every problem with its line. The reader of blocks gives columns. A
block that is not plain (comments, blank lines, several spaces, words after the tag) is first written anew by
the reader of lines; a file in which something is wrong, or that is no table, is left to that reader.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec
import numpy as np

from rag_evaluation_framework.datasets.parquet_tables import ARROW_FILE, ARROW_STREAM, MAGIC, parts_of
from rag_evaluation_framework.errors import FileProblems, InputError, Issue, shown
from rag_evaluation_framework.files.access import open_reading, open_stored
from rag_evaluation_framework.metrics.judged_columns import (
    PADDING,
    WORD,
    Ids,
    NotPlain,
    Places,
    QrelColumns,
    RunBlock,
    Words,
    words_at,
)
from rag_evaluation_framework.metrics.judged_rankings import Booleans, Floats

Format = Literal["trec", "beir", "json"]

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_COMMENT = b"#"


def is_table(path: Path) -> bool:
    """Tell a Parquet or Arrow file by its first bytes, and a folder of Parquet parts by its files."""
    if not path.is_file():
        return path.is_dir() and bool(parts_of(path))
    with open_stored(path) as file:
        return file.read(len(ARROW_FILE)).startswith((MAGIC, ARROW_FILE, ARROW_STREAM))


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


class Layout(msgspec.Struct, frozen=True):
    """The columns of a line. BEIR ids may contain spaces, so only a tab separates them."""

    columns: tuple[str, ...]
    query: int
    document: int
    number: int
    separator: bytes | None = None
    header: bool = False
    open_end: bool = False
    """True if more columns may follow, which are not read."""


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
                self.problems.add(document_again(fields[layout.query].decode(), document, line_number))
            row[document] = value
        if not table and not may_be_empty and not self.problems.has_issues:
            self.problems.add(
                Issue("empty-file", "at least one line of " + " ".join(layout.columns), "an empty file")
            )
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


def document_again(query: str, document: str, line: int) -> Issue:
    """Return the issue of a document that is listed twice for a query."""
    found = f"duplicate {shown(document)} for query {shown(query)}"
    return Issue("duplicate-document", "unique documents per query", found, line=line)


def _reader(kind: Callable[[bytes], float], expected: str) -> Callable[[bytes], Any]:
    def read(text: bytes) -> float:
        try:
            value = kind(text)
            if b"_" not in text and (kind is int or isfinite(value)):
                return value  # Python reads 1_000 as a number; nobody else does
        except ValueError:
            pass
        raise ValueError(expected)

    return read


whole_number, finite_number = _reader(int, "a whole number"), _reader(float, "a finite number")


# The same columns, in blocks.

# Few enough that the columns of a block stay in the processor's cache.
_BLOCK_BYTES = 1 << 20
# A longer id would make the words of all others too many.
_LONGEST_ID = 512

_NEW_LINE, _SPACE, _TAB, _HASH = b"\n \t#"


class RunFile:
    """A run in a TREC file, read in blocks of whole queries."""

    def __init__(self, path: Path, *, format: Format | None = None) -> None:
        self._path, self._format = path, format
        self.queries: set[str] = set()

    def blocks(self) -> Iterator[RunBlock]:
        """Yield what the queries retrieved, as they come."""
        if _detect_format(self._path, self._format) != "trec":
            raise NotPlain
        with open_reading(self._path) as stream:
            lines = _Lines(stream)
            kept: Data = b""
            while lines.has_more:
                table = _read_columns(lines.read(kept), TREC_RUN)
                starts = table.queries.changes()
                end, kept = len(table.queries), b""
                if lines.has_more and len(starts):
                    # The last query may go on in the next lines.
                    end, starts = int(starts[-1]), starts[:-1]
                    kept = memoryview(table.lines)[int(table.queries.starts[end]) : table.size]
                if len(starts):
                    counts = np.diff(starts, append=end)
                    names = table.queries[starts].texts()
                    self.queries.update(names)
                    yield RunBlock(names, counts, table.documents[:end], _scores(table.numbers[:end], counts))


def read_qrel_columns(path: Path, *, format: Format | None = None) -> QrelColumns:
    """Read judgements from a TREC or BEIR file; :class:`NotPlain` where it is none, or something is wrong."""
    told = _detect_format(path, format)
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
            named = table.queries[starts].texts()
            own = np.array([numbers.setdefault(name, len(numbers)) for name in named], dtype=np.int64)
            query = np.repeat(own, np.diff(starts, append=len(table.queries)))
            documents = table.documents
            columns.append((query, documents.starts + offset, documents.lengths, _grades(table.numbers)))
            pieces.append(bytes(memoryview(table.lines)[: table.size]))
            offset += table.size
    if not numbers:
        raise NotPlain
    query, starts, lengths, grades = (np.concatenate(each) for each in zip(*columns, strict=True))
    documents = Ids(np.frombuffer(b"".join((*pieces, PADDING)), dtype=np.uint8), starts, lengths)
    return by_query(numbers, query, documents, grades)


def by_query(numbers: Mapping[str, int], query: Places, documents: Ids, grades: Places) -> QrelColumns:
    """Return judgements whose queries are given by their numbers, those of each query together."""
    if (query[1:] < query[:-1]).any():
        order = np.argsort(query, kind="stable")
        query, documents, grades = query[order], documents[order], grades[order]
    return QrelColumns(numbers, np.bincount(query, minlength=len(numbers)), documents, grades)


def _detect_format(path: Path, format_: Format | None) -> Format:
    """Tell the format of a file that can be read again, should it turn out not to be plain."""
    if not path.is_file():  # a pipe is read once only
        raise NotPlain
    if format_ is not None:
        return format_
    with open_reading(path) as stream:
        return told_format(stream, str(path))[0]


Data = bytes | bytearray | memoryview


class _Lines:
    """A file in pieces of whole lines, without a byte order mark and without its header."""

    def __init__(self, stream: BinaryIO, *, header: bytes | None = None) -> None:
        self._stream, self._header = stream, header
        self._tail: Data = b""
        self._is_first = self.has_more = True

    def read(self, kept: Data) -> tuple[bytearray, int]:
        """Return what was kept of the last piece and the lines after it, and where they end."""
        before = len(kept) + len(self._tail)
        size = max(_BLOCK_BYTES, before)
        data = bytearray(before + size + 1 + len(PADDING))
        data[: len(kept)], data[len(kept) : before] = kept, self._tail
        count = self._stream.readinto(memoryview(data)[before : before + size])  # type: ignore[attr-defined]
        # A stream may give less than was asked for before it ends, but then not nothing.
        self.has_more, filled = count > 0, before + count
        if self._is_first:
            self._is_first = False
            first = bytes(data[: data.find(b"\n") + 1 or filled]).removeprefix(BYTE_ORDER_MARK)
            skipped = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
            if self._header is not None and first.rstrip(b"\r\n") == self._header:
                skipped += len(first)
            del data[:skipped]
            filled -= skipped
        end = data.rfind(b"\n", 0, filled) + 1
        if not self.has_more and filled > end:
            data[filled] = _NEW_LINE
            end = filled = filled + 1
        self._tail = data[end:filled]
        data[end:filled] = bytes(filled - end)
        return data, end


class _Columns(msgspec.Struct, frozen=True):
    """The fields of lines that are read; the lines end at ``size``, and zeros follow."""

    lines: bytearray
    size: int
    queries: Ids
    documents: Ids
    numbers: Ids


def _read_columns(piece: tuple[bytearray, int], layout: Layout) -> _Columns:
    """Split lines into columns."""
    lines, size = piece
    if not lines.isascii():
        try:
            lines.decode()
        except UnicodeDecodeError:
            raise NotPlain from None
    ends = _ends(lines, size, layout)
    if ends is None:
        plain = _written_plainly(lines[:size], layout)
        lines, size = bytearray(plain + PADDING), len(plain)
        ends = _ends(lines, size, layout)
        if ends is None:
            raise NotPlain
    data = np.frombuffer(lines, dtype=np.uint8)

    def column(place: int) -> Ids:
        starts = ends[place - 1] + 1
        if place == 0:
            starts[1:], starts[:1] = starts[:-1].copy(), 0
        return Ids(data, starts, ends[place] - starts)

    read = _Columns(lines, size, column(layout.query), column(layout.document), column(layout.number))
    if max(int(each.lengths.max(initial=0)) for each in (read.queries, read.documents)) > _LONGEST_ID:
        raise NotPlain
    return read


def _ends(data: bytearray, size: int, layout: Layout) -> Places | None:
    """Return where the fields of each line end, a row for each column; ``None`` if a line is not plain."""
    each = np.frombuffer(data, dtype=np.uint8)[:size]
    width, by_tabs = len(layout.columns), layout.separator is not None
    ends = np.flatnonzero((each == _TAB) | (each == _NEW_LINE) if by_tabs else each <= _SPACE)
    lines, left = divmod(len(ends), width)
    if left or (lines and (ends[0] == 0 or int((ends[1:] - ends[:-1]).min(initial=2)) < 2)):
        return None
    columns = np.ascontiguousarray(ends.reshape(lines, width).T)
    last = columns[-1]
    # As many lines as line ends, and each where a line has to end: what ends other fields is no line end.
    if int(np.count_nonzero(each == _NEW_LINE)) != lines or not (each[last] == _NEW_LINE).all():
        return None
    if by_tabs:
        return None if b"\r" in data else columns
    # Of what is below a space, nothing but tabs and line ends may part fields.
    controls = int(np.count_nonzero(each < _SPACE)) - lines
    if controls and controls != data.count(b"\t"):
        return None
    if lines and (each[0] == _HASH or (each[last[:-1] + 1] == _HASH).any()):
        return None
    return columns


def _written_plainly(data: bytearray, layout: Layout) -> bytes:
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


class _Decimals(msgspec.Struct, frozen=True):
    """Numbers as written: those that are plain decimals are read, those of few digits exactly."""

    values: Floats
    is_exact: Booleans
    is_whole: Booleans
    is_plain: Booleans


def _decimals(fields: Ids) -> _Decimals:
    data, starts, lengths = fields.data, fields.starts, fields.lengths
    first = words_at(data, starts)
    is_negative = (first & np.uint64(0xFF)) == np.uint64(ord("-"))
    some_negative = bool(is_negative.any())
    if some_negative:
        starts, lengths = starts + is_negative, lengths - is_negative
        first = words_at(data, starts)
    dots = first ^ _DOTS
    dots = (dots - _ONES) & ~dots & _HIGH_BITS
    # The lowest bit set is in the first byte that is a dot; the bytes up to it are counted.
    before_dot = ((((dots & -dots) - np.uint64(1)) & _ONES) * _ONES >> np.uint64(56)).view(np.int64) - 1
    has_dot = (dots != 0) & (before_dot < lengths)
    wholes = np.where(has_dot, before_dot, lengths)
    decimals = lengths - wholes - has_dot
    most = int(decimals.max(initial=0))
    whole, wrong = _digits(first, wholes)
    parts = []
    for place in range(0, min(max(most, 1), _MOST_DECIMALS), WORD):
        behind = starts + (wholes + (1 + place))
        np.minimum(behind, len(data) - WORD, out=behind)
        digits, wrong_here = _digits(words_at(data, behind), np.clip(decimals - place, 0, WORD), left=True)
        parts.append(digits)
        wrong |= wrong_here
    is_plain = ((wrong & _HIGH_BITS) == 0) & (wholes > 0) & (wholes <= WORD)
    if most > _MOST_DECIMALS:
        is_plain &= decimals <= _MOST_DECIMALS
    values = (whole * np.uint64(10**WORD) + parts[0]).astype(np.float64)
    if most > WORD:
        values += parts[1] / 1e8
    values /= 1e8
    if some_negative:
        np.negative(values, out=values, where=is_negative)
    is_exact = (decimals <= WORD) & (whole < _MOST_EXACT)
    return _Decimals(values, is_exact, ~has_dot, is_plain)


def _digits(words: Words, count: Places, *, left: bool = False) -> tuple[Words, Words]:
    """Return the number that the first so many bytes make, of eight digits, and high bits where one is none.

    The number has zeros before it or, if it is to the left, after it.
    """
    unused = ((WORD - count) * WORD).view(np.uint64)
    digits = (words ^ _DIGITS) << unused
    if left:
        digits >>= unused
    wrong = digits | (digits + _ABOVE_NINE)
    # Pairs of digits, then of these pairs, then of those: the first byte is the lowest and counts most.
    digits = (digits * np.uint64(2561)) >> np.uint64(8)
    digits = ((digits & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601)) >> np.uint64(16)
    return ((digits & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(42949672960001)) >> np.uint64(32), wrong


def _grades(fields: Ids) -> Places:
    read = _decimals(fields)
    grades = read.values.astype(np.int64)
    _read_one_by_one(grades, fields, np.flatnonzero(~(read.is_plain & read.is_whole)), whole_number)
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


def _read_one_by_one(
    values: Floats | Places, fields: Ids, rows: Places, number: Callable[[bytes], float] = finite_number
) -> None:
    """Read some numbers as Python does, into ``values``."""
    for row, text in zip(rows.tolist(), fields[rows].texts(), strict=True):
        try:
            values[row] = number(text.encode())
        except (ValueError, OverflowError):
            raise NotPlain from None
