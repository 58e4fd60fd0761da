"""A dialect made of two pure functions: one reads a record into a sample, the other writes it back.

Everything else is the same for every dialect of records and stands here once: layouts, schema, all problems
of a file in one error, ids, and keeping what the two functions do not know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.checks.problems import FileProblems
from rag_evaluation_framework.datasets.checks.validation import decoded_issues
from rag_evaluation_framework.datasets.dialects.record_files import (
    PlacedRecord,
    RecordLayout,
    named_layout,
    read_records,
    write_records,
)
from rag_evaluation_framework.datasets.dialects.residues import overlaid, replaces, residue
from rag_evaluation_framework.datasets.dialects.sample_ids import UNNAMED, ContentIds, has_content_id
from rag_evaluation_framework.datasets.schemas import schema
from rag_evaluation_framework.datasets.tables.csv_tables import Columns
from rag_evaluation_framework.errors import InputError, Issue, UsageError
from rag_evaluation_framework.records.datasets import Dataset, Preview
from rag_evaluation_framework.records.samples import Origin, Sample

Record = dict[str, Any]

_PREVIEWED_AS = {"lines": "lines", "array": "array", "object": "object", "csv": "table", "parquet": "table"}


@dataclass(frozen=True, kw_only=True)
class RecordDialect:
    """A dialect in which each sample is one record; it fulfils ``extensions.Dialect``.

    ``decode`` gets a record that schema and rules of its ``kind`` allow and returns a sample with whatever
    the sample has a field for; it neither sets ``origin`` nor collects unknown fields. ``encode`` writes
    those fields down again as plain lists and dictionaries, leaving out what is empty. What a record has
    beyond ``encode(decode(record))`` is kept in ``Sample.extra`` by itself, and written back. A record
    without an id is decoded with the id ``UNNAMED``, and a sample of that id is encoded without one; see
    :mod:`.sample_ids`. Errors raised by ``decode`` name the path within the record:
    ``citations[0].end_char``.

    ``holds`` names what ``encode`` writes and ``decode`` reads back equal, in the names of
    :mod:`.sample_fields`.
    """

    name: str
    kind: str
    suffixes: tuple[str, ...]
    holds: frozenset[str]
    decode: Callable[[Mapping[str, Any]], Sample]
    encode: Callable[[Sample], Record]
    signature: Callable[[Mapping[str, Any]], bool]
    """Tells whether a record is of this dialect; of a table it sees the columns, with ``None`` for values."""
    layouts: tuple[RecordLayout, ...] = ("lines", "array")
    """How its files may be laid out; the first is written where the file's name does not say."""
    needs_ids: bool = False
    """Whether every record must have an id; one that was made from the content is then written down too."""
    prepare: Callable[[str], str] | None = None
    """Applied to the text of an array before it is read, keeping its lines: removes comments, say."""

    def recognises(self, preview: Preview) -> bool:
        layouts = {_PREVIEWED_AS[layout] for layout in self.layouts}
        # A single record may stand alone in a file of lines or of an array.
        return preview.layout in {*layouts, "object"} and self.signature(preview.record)

    def read(self, path: Path) -> Dataset:
        return Dataset(samples=tuple(self.stream(path)), dialect=self.name)

    def stream(self, path: Path) -> Iterator[Sample]:
        """Yield the good samples; the problems of all the others are raised together at the end."""
        problems = FileProblems(str(path))
        content_ids = ContentIds()
        seen: set[str] = set()
        for placed in read_records(path, columns=self._columns, prepare=self.prepare, on_error=problems.take):
            sample = self._sample(placed, problems)
            if sample is None:
                continue
            id_ = content_ids.name(sample) if sample.id == UNNAMED else sample.id
            if id_ in seen:
                problems.add(placed.place(Issue("duplicate-id", "each sample id once", f"{id_!r} again")))
                continue
            seen.add(id_)
            yield replace(sample, id=id_, origin=Origin(self.name, str(path), placed.line))
        problems.raise_if_any()

    def write(self, dataset: Dataset, path: Path) -> None:
        self.write_samples(dataset.samples, path)

    def write_samples(self, samples: Iterable[Sample], path: Path) -> None:
        """Write samples one by one; as lines or an array, memory does not grow with their number."""
        layout = named_layout(path)
        if layout is not None and layout not in self.layouts:
            known = ", ".join(self.layouts)
            raise UsageError(f"{path}: {self.name} is written as {known}, not as {layout}")
        records = self._checked_records(samples, FileProblems(str(path)))
        write_records(path, records, columns=self._columns, default=self.layouts[0])

    def record(self, sample: Sample) -> Record:
        """Return the record of a sample, with what its own file said beyond the sample's fields."""
        if not self.needs_ids and has_content_id(sample):
            sample = replace(sample, id=UNNAMED)
        encoded = self.encode(sample)
        if not sample.extra or (sample.origin is not None and sample.origin.dialect != self.name):
            return encoded
        whole = overlaid(encoded, sample.extra, replace=True)
        if replaces(encoded, sample.extra) and not self._says_the_same(whole, sample):
            # The sample was changed since it was read: the change wins over what the file said.
            return overlaid(encoded, sample.extra, replace=False)
        return whole

    def sample(self, record: Mapping[str, Any]) -> Sample:
        """Return the sample of a valid record, with what is beyond its fields in ``extra``."""
        sample = self.decode(record)
        if rest := residue(record, self.encode(sample)):
            return replace(sample, extra=overlaid(sample.extra, rest, replace=True))
        return sample

    def _sample(self, placed: PlacedRecord, problems: FileProblems) -> Sample | None:
        issues = self._errors(placed.value)
        if not issues:
            try:
                return self.sample(placed.value)
            except InputError as error:
                issues = list(error.issues)
        problems.extend(issues, place=placed.place)
        return None

    def _errors(self, record: Any) -> list[Issue]:
        return [issue for issue in decoded_issues(self.kind, record) if issue.severity == "error"]

    def _says_the_same(self, record: Mapping[str, Any], sample: Sample) -> bool:
        try:
            read = self.decode(record)
        except InputError:
            return False
        return replace(read, extra=sample.extra, origin=sample.origin) == sample

    def _checked_records(self, samples: Iterable[Sample], problems: FileProblems) -> Iterator[Record]:
        """Yield records that schema and rules allow; what cannot be written is all named at the end."""
        for sample in samples:
            try:
                record = self.record(sample)
                issues = self._errors(record)
            except InputError as error:
                issues = list(error.issues)
            if not issues:
                yield record
            problems.extend(issue.located(within=f"sample {sample.id!r}") for issue in issues)
        problems.raise_if_any()

    @cached_property
    def _columns(self) -> Columns:
        return Columns.of_schema(schema(self.kind))
