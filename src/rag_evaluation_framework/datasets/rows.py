"""Rows as people have them: dictionaries, frames, datasets, JSON, CSV, Parquet and Excel files.

:func:`rows_at` reads a file, :func:`rows_in` what is in memory. A known format is read as such; what remains
is plain rows, whose fields are guessed (:mod:`rag_evaluation_framework.datasets.row_fields`). A cell of a
table holds plain text, JSON, or several contexts on lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from rag_evaluation_framework.datasets import row_sources
from rag_evaluation_framework.datasets.dialect import SIGNATURES, FieldMap
from rag_evaluation_framework.datasets.field_names import part_named
from rag_evaluation_framework.datasets.framework_results import pipeline_result, read_result
from rag_evaluation_framework.datasets.recognition import (
    beginning_records,
    described,
    lacking_fields,
    previews,
    recognise,
)
from rag_evaluation_framework.datasets.record_files import PlacedRecord, named_layout
from rag_evaluation_framework.datasets.row_fields import RowReading, reading_of
from rag_evaluation_framework.datasets.row_samples import samples_of
from rag_evaluation_framework.errors import FileProblems, InputError, Issue, UsageError, shown
from rag_evaluation_framework.extensions import Dialect
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.records.samples import ROWS, Dataset, Preview, Sample
from rag_evaluation_framework.structs import replace

_LOOKED_AT = 200
_SAID_BY_ANYTHING = frozenset({"question", "id", "tags", "category"})


# The door.


def rows_at(
    path: str | Path, *, format: str | None = None, map: FieldMap | None = None, needs_answer: bool = True
) -> tuple[Dialect, RowReading | None]:
    """Return what reads a file, and what was guessed of its fields; nothing was where its format is known.

    A format that does not know the answers which the rows hold is no reason not to read them.
    """
    path = Path(path)
    if format not in (None, ROWS):
        return recognise(path, format=format), None
    known: Dialect | None = None
    if format is None and not map:
        known = _known(path)
        if isinstance(known, PlainRows):
            known = None
        elif known is not None and (
            not needs_answer or _is_foreign(known) or _holds_answers(known.stream(path))
        ):
            return known, None
    try:
        dialect = plain_rows(path, map, needs_answer=needs_answer)
    except (UsageError, InputError):
        if known is None:
            raise
        return known, None
    return dialect, dialect.reading


def rows_in(
    data: Any, *, map: FieldMap | None = None, needs_answer: bool = True
) -> tuple[Dataset, RowReading | None]:
    """Return rows, a frame or samples as a dataset, and what was guessed of the fields."""
    given = list(row_sources.listed_rows(data))
    if not given:
        raise UsageError("data contains no rows")
    if all(isinstance(row, Sample) for row in given):
        return Dataset(samples=tuple(given), dialect=""), None
    rows = [row_sources.plain_row(_result(row, number)) for number, row in enumerate(given, 1)]
    if not map and (known := _known_rows(rows, needs_answer=needs_answer)) is not None:
        return known, None
    reading = reading_of(rows[:_LOOKED_AT], map, name=ROWS, needs_answer=needs_answer, in_memory=True)
    placed = (PlacedRecord(row, line) for line, row in enumerate(rows, 1))
    samples = samples_of(placed, reading, FileProblems(ROWS), file=None, is_table=row_sources.is_frame(data))
    return Dataset(samples=tuple(samples), dialect=ROWS), reading


def _result(row: Any, number: int) -> Mapping[Any, Any]:
    """Return a row as it is, and what a framework returned as one; a result must hold its question."""
    if isinstance(row, Mapping) and not all(isinstance(part, Mapping) for part in row.values()):
        return {name: pipeline_result(part) or part for name, part in row.items()}
    read = pipeline_result(row) if isinstance(row, Mapping) else read_result(row)
    if isinstance(row, str) or read is None:
        if isinstance(row, Mapping):
            return row
        raise UsageError(f"data: expected dictionaries, samples, a frame or a dataset, got {shown(row)}")
    if "question" not in read:
        raise UsageError(
            f"data: result {number} has no question. Use "
            f'{{"question": …, "result": …}} with the {type(row).__name__} as the result'
        )
    return read


class PlainRows(msgspec.Struct):
    """Rows with field names of your own: which field holds what is guessed, or given by --map."""

    reading: RowReading | None = None
    name: str = ROWS
    suffixes: tuple[str, ...] = ()
    holds: frozenset[str] = frozenset()

    def of(self, path: Path) -> RowReading:
        """Return where the parts of a file's rows stand."""
        return self.reading or self.at(path).of(path)

    def at(self, path: Path, given: FieldMap | None = None) -> PlainRows:
        """Return what reads a file as plain rows, their fields guessed except for those that are given."""
        return plain_rows(path, given, needs_answer=False)

    def at_sight(self, path: Path) -> PlainRows | None:
        """Return what reads a file as plain rows; nothing where something else is meant.

        A record that has nothing but fields of one format is of that format, and what it lacks is an error;
        except for an id, which rows seldom have. A single object with nothing but some text may be anything.
        """
        preview = next(previews(path), None)
        record = {} if preview is None or preview.layout in ("table", "folder") else preview.record
        if any(part_named(name) != "id" for name in lacking_fields(record)):
            return None
        try:
            rows = self.at(path)
        except (InputError, UsageError):
            return None
        fields = rows.of(path).fields
        is_more = fields.keys() - _SAID_BY_ANYTHING or named_layout(path) in ("lines", "csv")
        return rows if is_more or len(beginning_records(path)) > 1 else None

    def read(self, path: Path) -> Dataset:
        return Dataset(samples=tuple(self.stream(path)), dialect=ROWS)

    def stream(self, path: Path) -> Iterator[Sample]:
        """Yield the good samples; the problems of all the others are raised together at the end."""
        problems = FileProblems(str(path))
        placed = row_sources.placed_rows(path, problems.take)
        reading = self.of(path)
        yield from samples_of(placed, reading, problems, file=str(path), is_table=row_sources.is_table(path))

    def issues(self, path: Path) -> Iterator[Issue]:
        """Yield what is wrong with the rows."""
        try:
            for _ in self.stream(path):
                pass
        except InputError as error:
            yield from error.issues

    def write(self, dataset: Dataset, path: Path) -> None:
        raise UsageError(f"{path}: cannot write plain rows. Set the output format with format=… or --to")


ROW_FILES = PlainRows()


def dialect_of_run(
    configuration: Mapping[str, Any], path: str | Path, *, format: str | None = None
) -> Dialect:
    """Return what reads the data of a run again, as they were read then."""
    reading = RowReading.from_dict(configuration.get("reading"))
    return recognise(path, format=format) if reading is None or format is not None else PlainRows(reading)


# Files.


def _known(path: Path) -> Dialect | None:
    """Return the known format of a file; nothing where there is none."""
    try:
        return recognise(path)
    except InputError as error:
        if any(issue.code != "unknown-dialect" for issue in error.issues):
            raise
        if path.is_dir():
            expected = "a file of rows, or a folder in a known format"
            raise InputError(replace(issue, expected=expected) for issue in error.issues) from None
        return None


def _is_foreign(dialect: Dialect) -> bool:
    """Return True if a tool's format defines the answer field: nothing is guessed then."""
    return dialect.name in SIGNATURES and SIGNATURES[dialect.name].is_foreign


def _holds_answers(samples: Iterator[Sample]) -> bool:
    """Return True if one of the first samples has an answer, or retrieval with relevance."""
    with suppress(InputError):
        return any(
            sample.recorded is not None
            and (
                sample.recorded.answer is not None
                or (sample.recorded.retrieved and sample.relevant_chunk_ids)
            )
            for sample in islice(samples, _LOOKED_AT)
        )
    return False


def plain_rows(path: Path, given: FieldMap | None, *, needs_answer: bool) -> PlainRows:
    """Return what reads a file as plain rows: their fields are guessed, except for those that are given."""
    problems = FileProblems(str(path))
    first = [each.value for each in islice(row_sources.placed_rows(path, problems.take), _LOOKED_AT)]
    rows = [row for row in first if isinstance(row, dict)]
    if not rows:
        problems.raise_if_any()
        found = shown(first[0]) if first else described(path)
        raise InputError([Issue("unknown-dialect", "rows with named fields", found, file=str(path))])
    return PlainRows(reading_of(rows, given, name=path.name, needs_answer=needs_answer))


def _known_rows(rows: Sequence[row_sources.Row], *, needs_answer: bool) -> Dataset | None:
    """Return rows as a dataset of a known format, if they are in one and it knows their answers."""
    present = [{name: value for name, value in row.items() if value is not None} for row in rows]
    preview = Preview(Path(ROWS), "lines", present[0])
    if not any(signature.fits(preview) for signature in SIGNATURES.values()):
        return None
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        try:
            strict_json.write_lines(path, present)
            dialect = recognise(path)
            if needs_answer and not _is_foreign(dialect) and not _holds_answers(dialect.stream(path)):
                reading_of(rows[:_LOOKED_AT], None, name=ROWS, in_memory=True)
                return None
            read = dialect.read(path)
        except InputError as error:
            raise InputError([replace(issue, file=ROWS) for issue in error.issues]) from None
        except UsageError:
            read = dialect.read(path)
    return replace(read, samples=tuple(replace(sample, origin=None) for sample in read.samples))
