"""Judgements and runs as Parquet files or Arrow tables, a row a document; scores of queries are written so.

=========  ========================================================  ========================
what       judgements                                                run
=========  ========================================================  ========================
query      ``query_id`` (or ``query-id``, ``qid``)                   the same
document   ``doc_id`` (or ``document_id``, ``corpus-id``, ``docno``)  the same
number     ``relevance`` (or ``grade``, ``label``, ``score``)        ``score``
=========  ========================================================  ========================

Ids are texts or whole numbers. A run whose rows of each query stand together is read in a few megabytes,
however many rows it has. Needs the extra ``parquet``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.datasets.parquet_tables import (
    arrow_batches,
    damaged,
    is_arrow,
    open_parquet,
    parts_of,
    required_pyarrow,
)
from rag_evaluation_framework.datasets.trec_tables import by_query, document_again
from rag_evaluation_framework.errors import FileProblems, InputError, Issue, shown
from rag_evaluation_framework.files.atomic import atomic_writer
from rag_evaluation_framework.metrics.judged_columns import (
    PADDING,
    Ids,
    NotPlain,
    Places,
    QrelColumns,
    RunBlock,
)

_QUERY = ("query_id", "query-id", "qid")
_DOCUMENT = ("doc_id", "document_id", "corpus-id", "docno")
_GRADE = ("relevance", "grade", "label", "score")
_SCORE = ("score",)

# Few enough that the columns of a batch stay near the processor.
_ROWS_AT_A_TIME = 1 << 16


class TableRun:
    """A run in a table, read in blocks of whole queries."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.queries: set[str] = set()

    def blocks(self) -> Iterator[RunBlock]:
        """Yield what the queries retrieved, as they come."""
        kept: list[_Rows] = []
        for batch in _batches(self._path, _SCORE):
            rows = _rows(batch)
            last, first = len(rows.names) - 1, 0
            if kept and kept[0].names[0] == rows.names[0]:
                kept.append(rows.part(0, 1))
                first = 1
            if first <= last:
                if kept:
                    yield self._block(_Rows.joined(kept))
                if first < last:
                    yield self._block(rows.part(first, last))
                kept = [rows.part(last, last + 1)]  # which may go on in the next batch
        if kept:
            yield self._block(_Rows.joined(kept))

    def _block(self, rows: _Rows) -> RunBlock:
        if not np.isfinite(rows.numbers).all():
            raise NotPlain
        scores = rows.numbers.astype(np.float64)
        self.queries.update(rows.names)
        return RunBlock(rows.names, np.diff(rows.starts, append=len(scores)), rows.documents, scores)


def table_qrels(path: Path) -> QrelColumns:
    """Read judgements from a table; :class:`NotPlain` where something is wrong."""
    numbers: dict[str, int] = {}
    queries: list[Places] = []
    documents: list[Ids] = []
    grades: list[Places] = []
    for batch in _batches(path, _GRADE):
        rows = _rows(batch)
        if rows.numbers.dtype.kind not in "iu":
            raise NotPlain
        own = np.array([numbers.setdefault(name, len(numbers)) for name in rows.names], dtype=np.int64)
        queries.append(np.repeat(own, np.diff(rows.starts, append=len(rows.numbers))))
        documents.append(rows.documents)
        grades.append(rows.numbers.astype(np.int64))
    if not numbers:
        raise NotPlain
    return by_query(numbers, np.concatenate(queries), Ids.joined(documents), np.concatenate(grades))


class _Rows(msgspec.Struct, frozen=True):
    """Rows of a table: the queries, where the rows of each begin, and the documents and numbers of all."""

    names: list[str]
    starts: Places
    documents: Ids
    numbers: Any

    def part(self, first: int, last: int) -> _Rows:
        """Return the rows of the queries from ``first`` up to ``last``."""
        start = int(self.starts[first])
        end = int(self.starts[last]) if last < len(self.starts) else len(self.numbers)
        starts = self.starts[first:last] - start
        return _Rows(self.names[first:last], starts, self.documents[start:end], self.numbers[start:end])

    @classmethod
    def joined(cls, several: list[_Rows]) -> _Rows:
        """Return rows of one query together."""
        if len(several) == 1:
            return several[0]
        documents = Ids.joined([each.documents for each in several])
        numbers = np.concatenate([each.numbers for each in several])
        return cls(several[0].names, several[0].starts, documents, numbers)


def _rows(batch: Any) -> _Rows:
    """Return a batch of a query, a document and a number a row; :class:`NotPlain` where one is missing."""
    queries, documents, numbers = batch.columns
    if any(column.null_count for column in batch.columns):
        raise NotPlain
    values = numbers.to_numpy(zero_copy_only=False)
    if values.dtype.kind not in "iuf":
        raise NotPlain
    pyarrow, _ = required_pyarrow()
    if pyarrow.types.is_dictionary(queries.type):
        number = queries.indices.to_numpy(zero_copy_only=False)
        starts = np.flatnonzero(np.concatenate([[True], number[1:] != number[:-1]]))
        names = _ids(queries.dictionary)[number[starts].astype(np.int64)].texts()
    else:
        ids = _ids(queries)
        starts = ids.changes()
        names = ids[starts].texts()
    return _Rows(names, starts, _ids(documents), values)


def _ids(column: Any) -> Ids:
    """Return a column of ids; what repeats stays a dictionary."""
    pyarrow, _ = required_pyarrow()
    kinds = pyarrow.types
    if kinds.is_dictionary(column.type):
        return _ids(column.dictionary)[column.indices.to_numpy(zero_copy_only=False).astype(np.int64)]
    if kinds.is_integer(column.type):
        column = column.cast(pyarrow.string())
    if not (kinds.is_string(column.type) or kinds.is_large_string(column.type)):
        raise NotPlain
    _, places, texts = column.buffers()
    width = np.int64 if kinds.is_large_string(column.type) else np.int32
    bounds = np.frombuffer(places, dtype=width)[column.offset : column.offset + len(column) + 1]
    ends: Places = bounds.astype(np.int64)
    first, last = int(ends[0]), int(ends[-1])
    data = np.zeros(last - first + len(PADDING), dtype=np.uint8)
    if last > first:
        data[: last - first] = np.frombuffer(texts, dtype=np.uint8)[first:last]
    lengths = np.diff(ends)
    if lengths.min(initial=1) < 1 or data[: last - first].min(initial=1) < 1:
        raise NotPlain
    return Ids(data, ends[:-1] - first, lengths)


def _batches(path: Path, number: tuple[str, ...]) -> Iterator[Any]:
    """Yield batches of three columns: query, document and number; parts follow one another as one table."""
    for part in parts_of(path) or [path]:
        yield from _batches_in(part, number)


def _batches_in(path: Path, number: tuple[str, ...]) -> Iterator[Any]:
    pyarrow, _ = required_pyarrow()
    what, every = "Arrow", arrow_batches(path)
    try:
        if not is_arrow(path):
            what, table = "Parquet", open_parquet(path, plain_as_texts=True)
            names = _column_names(path, table.schema_arrow.names, number)
            every = table.iter_batches(batch_size=_ROWS_AT_A_TIME, columns=names)
        for batch in _ahead(every):
            names = _column_names(path, batch.schema.names, number)
            _check_places(batch)
            for first in range(0, batch.num_rows, _ROWS_AT_A_TIME):
                yield batch.select(names).slice(first, _ROWS_AT_A_TIME)
    except (pyarrow.ArrowException, OSError, ValueError, KeyError) as error:
        if isinstance(error, InputError):
            raise
        raise damaged(error, what).located(str(path)) from None


def _check_places(batch: Any) -> None:
    """Raise :class:`ValueError` for a batch whose dictionaries lack a number, which reading does not see."""
    for column in batch.columns:
        if required_pyarrow()[0].types.is_dictionary(column.type) and column.null_count < len(column):
            numbers = column.indices.to_numpy(zero_copy_only=False)
            if np.nanmin(numbers) < 0 or np.nanmax(numbers) >= len(column.dictionary):
                raise ValueError("a dictionary index out of range")


def _ahead(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield batches while the next one is being read."""
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = reader.submit(next, batches, None)
            yield batch


def _column_names(path: Path, there: list[str], number: tuple[str, ...]) -> list[str]:
    names: list[str] = []
    problems = FileProblems(str(path))
    for wanted in (_QUERY, _DOCUMENT, number):
        found = next((name for name in wanted if name in there), None)
        if found is None:
            others = f" (or {', '.join(wanted[1:])})" if wanted[1:] else ""
            problems.add(Issue("missing-column", f"a column {wanted[0]}{others}", ", ".join(there)))
        else:
            names.append(found)
    problems.raise_if_any()
    return names


# Row by row, where something is wrong or the rows of a query do not stand together.


def read_table(path: Path, *, graded: bool) -> dict[str, dict[str, Any]]:
    """Read grades, or scores, by document by query; every problem has its row."""
    problems = FileProblems(str(path))
    table: dict[str, dict[str, Any]] = {}
    row = 0
    kinds, expected_number = ((int,), "a whole number") if graded else ((int, float), "a finite number")
    for batch in _batches(path, _GRADE if graded else _SCORE):
        names = batch.schema.names
        for query, document, number in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            row += 1
            for name, value, expected, is_right in (
                (names[0], query, "a query id", _is_id(query)),
                (names[1], document, "a document id", _is_id(document)),
                (names[2], number, expected_number, type(number) in kinds and isfinite(number)),
            ):
                if not is_right:
                    problems.add(Issue("wrong-type", expected, shown(value), name, line=row))
                    break
            else:
                documents = table.setdefault(str(query), {})
                if str(document) in documents:
                    problems.add(document_again(str(query), str(document), row))
                documents[str(document)] = number
    if not row:
        problems.add(Issue("empty-file", "at least one row", "an empty file"))
    problems.raise_if_any()
    return table


def _is_id(value: object) -> bool:
    return (isinstance(value, str) and value != "") or type(value) is int


def write_query_scores(
    path: Path, systems: Mapping[str, tuple[Sequence[str], Mapping[str, npt.NDArray[np.float64]]]]
) -> None:
    """Write a row for each query of each system: ``system``, ``query_id`` and a column a metric; atomically.

    The file is Parquet or, as its ending says, Arrow; a score that there is not is missing in it.
    """
    pyarrow, parquet = required_pyarrow()
    first = next(iter(systems.values()))[1]
    columns = {
        "system": [name for name, (queries, _) in systems.items() for _ in queries],
        "query_id": [query for queries, _ in systems.values() for query in queries],
        **{name: np.concatenate([values[name] for _, values in systems.values()]) for name in first},
    }
    table = pyarrow.table({name: pyarrow.array(values, from_pandas=True) for name, values in columns.items()})
    with atomic_writer(path) as stream:
        if path.suffix == ".parquet":
            parquet.write_table(table, stream, compression="zstd")
        else:
            with pyarrow.ipc.new_file(stream, table.schema) as writer:
                writer.write_table(table)
