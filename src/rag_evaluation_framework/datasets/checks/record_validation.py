"""Validates a file of records as a stream: memory grows by eight bytes a record, for finding repeated ids."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.checks.repeated_ids import IdDigests, repetitions
from rag_evaluation_framework.datasets.checks.validation import decoded_issues
from rag_evaluation_framework.datasets.dialects.record_dialect import RecordDialect
from rag_evaluation_framework.datasets.dialects.record_files import PlacedRecord, read_records
from rag_evaluation_framework.datasets.schemas import schema
from rag_evaluation_framework.datasets.tables.csv_tables import Columns
from rag_evaluation_framework.errors import InputError, Issue, shown

_ID_FIELDS = ("task_id", "id", "_id")


def record_file_issues(path: Path, dialect: RecordDialect, *, lenient: bool = False) -> Iterator[Issue]:
    """Yield every issue of a file in reading order, and at the end the ids that occur twice."""
    unread: list[Issue] = []
    digests = IdDigests()
    count = 0
    for placed in _placed_records(path, dialect, unread):
        if unread:
            yield from _taken(unread)
        count += 1
        if issues := _record_issues(placed.value, dialect, lenient=lenient):
            yield from map(placed.place, issues)
        if identifier := _identifier(placed.value):
            digests.add(identifier)
    if not count and not unread:
        yield Issue("empty-file", "at least one record", "none")
    yield from _taken(unread)
    if repeated := digests.repeated():
        yield from _repetitions(path, dialect, repeated)


def _record_issues(record: Any, dialect: RecordDialect, *, lenient: bool) -> list[Issue]:
    issues = decoded_issues(dialect.kind, record, lenient=lenient)
    if all(issue.severity != "error" for issue in issues):
        try:
            dialect.decode(record)  # what is valid can be read: nothing is left to find out later
        except InputError as error:
            issues += error.issues
    return issues


def _repetitions(path: Path, dialect: RecordDialect, repeated: frozenset[int]) -> Iterator[Issue]:
    identified = (
        (placed.line, identifier)
        for placed in _placed_records(path, dialect, [])
        if (identifier := _identifier(placed.value))
    )
    for line, identifier, first in repetitions(identified, repeated):
        found = f"{shown(identifier)} again, first in line {first}"
        yield Issue("duplicate-id", "each id once", found, line=line)


def _placed_records(path: Path, dialect: RecordDialect, unread: list[Issue]) -> Iterator[PlacedRecord]:
    """Yield the records that can be read; the issues of the others are put on a list."""
    columns = Columns.of_schema(schema(dialect.kind))
    return read_records(
        path, columns=columns, prepare=dialect.prepare, on_error=lambda error: unread.extend(error.issues)
    )


def _taken(issues: list[Issue]) -> Iterator[Issue]:
    yield from issues
    issues.clear()


def _identifier(record: Any) -> str | None:
    """Return the id that a record states, if it states one."""
    if isinstance(record, dict):
        for field in _ID_FIELDS:
            if isinstance(identifier := record.get(field), str):
                return identifier
    return None
