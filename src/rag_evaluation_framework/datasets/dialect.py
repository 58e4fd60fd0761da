"""A dialect from two functions: residues, ids, which fields it holds."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.consistency import decoded_issues
from rag_evaluation_framework.datasets.csv_tables import Columns
from rag_evaluation_framework.datasets.record_files import (
    PlacedRecord,
    RecordLayout,
    named_layout,
    read_records,
    write_records,
)
from rag_evaluation_framework.datasets.schemas import FileProblems, schema
from rag_evaluation_framework.errors import InputError, Issue, UsageError
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.records.documents import Document
from rag_evaluation_framework.records.samples import (
    Dataset,
    Expectation,
    Origin,
    Preview,
    Refusal,
    Sample,
    Turn,
)

# What a record says beyond what a sample holds, kept so that writing it back loses nothing.
#
# A dialect's ``encode`` writes a sample's fields; what the record had besides is its *residue*: unknown
# fields at any depth of its objects, fields that are present but empty, and values that were read into
# something coarser. The residue travels in ``extra`` and is laid over the encoded record again.


def residue(record: Mapping[str, Any], encoded: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``record`` has and ``encoded`` has not, or has otherwise.

    >>> residue({"input": "a", "tags": [], "by": "me"}, {"input": "a"})
    {'tags': [], 'by': 'me'}
    >>> residue({"metrics": {"difficulty": "easy", "hops": 2}}, {"metrics": {"difficulty": "easy"}})
    {'metrics': {'hops': 2}}
    """
    rest: dict[str, Any] = {}
    for key, value in record.items():
        if key not in encoded:
            rest[key] = value
            continue
        other = encoded[key]
        if isinstance(value, dict) and isinstance(other, dict):
            if inner := residue(value, other):
                rest[key] = inner
        elif not _same(value, other):
            rest[key] = value
    return rest


def overlaid(encoded: Mapping[str, Any], rest: Mapping[str, Any], *, replace: bool) -> dict[str, Any]:
    """Lay a residue over a record; with ``replace`` it also wins over values that are there already."""
    whole = dict(encoded)
    for key, value in rest.items():
        if key not in whole:
            whole[key] = value
        elif isinstance(value, dict) and isinstance(whole[key], dict):
            whole[key] = overlaid(whole[key], value, replace=replace)
        elif replace:
            whole[key] = value
    return whole


def replaces(encoded: Mapping[str, Any], rest: Mapping[str, Any]) -> bool:
    """Tell whether a residue has a value for a field that the record has too."""
    for key, value in rest.items():
        if key in encoded:
            if not (isinstance(value, dict) and isinstance(encoded[key], dict)):
                return True
            if replaces(encoded[key], value):
                return True
    return False


def _same(value: Any, other: Any) -> bool:
    """Compare as JSON does: ``1``, ``1.0`` and ``true`` are written differently, so they differ."""
    if type(value) is not type(other):
        return False
    if isinstance(value, dict):
        return value.keys() == other.keys() and all(_same(value[key], other[key]) for key in value)
    if isinstance(value, list):
        return len(value) == len(other) and all(map(_same, value, other))
    return bool(value == other)


# Ids for samples of dialects that give them none.
#
# Rows of two runs pair by id, never by position, so such an id must survive a reordered or extended file.
# It is ``sample-`` and 12 hexadecimal digits of the SHA-256 of what is asked and what is expected: turns,
# reference, contexts, relevant documents, chunks and characters. Labels (tags, metadata) do not count:
# adding a tag keeps the id. Samples that are equal in all this get ``-2``, ``-3`` … in file order; since
# they are equal, it does not matter which is which. The same sample in another dialect has the same id.

UNNAMED = "sample"
"""The id that a dialect's ``decode`` gives where the record has none; it is replaced on reading."""

_NUMBERED = re.compile(r"-[1-9][0-9]*\Z")
_PREFIX = "sample-"
_DIGITS = 12


def content_id(sample: Sample) -> str:
    """Return the id that follows from what the sample asks and expects."""
    recorded = sample.recorded
    content = [
        [[turn.role, turn.content, turn.reference, _expected(turn.expectation)] for turn in sample.turns],
        sample.reference,
        [recorded.contexts, recorded.answer] if recorded and (recorded.contexts or recorded.answer) else None,
        sample.reference_contexts,
        dict(sample.relevant_documents),
        [[span.file, span.start, span.end, span.page] for span in sample.relevant_spans],
        sample.relevant_chunk_ids,
        _expected(sample.expectation),
    ]
    digest = hashlib.sha256(strict_json.encode_unchecked(content, order="deterministic")).hexdigest()
    return _PREFIX + digest[:_DIGITS]


def _expected(expectation: Expectation | None) -> list[Any] | None:
    return None if expectation is None else [type(expectation).__name__, asdict(expectation)]


def has_content_id(sample: Sample) -> bool:
    """Tell whether the sample's id is the one its content gives, and so need not be written down."""
    if not sample.id.startswith(_PREFIX):
        return sample.id == UNNAMED
    end = len(_PREFIX) + _DIGITS
    head, tail = sample.id[:end], sample.id[end:]
    return (not tail or _NUMBERED.match(tail) is not None) and head == content_id(sample)


class ContentIds:
    """Gives out content ids over one file, numbering the samples that are equal."""

    def __init__(self) -> None:
        self._given: Counter[str] = Counter()

    def name(self, sample: Sample) -> str:
        """Return the id for the next sample of the file."""
        base = content_id(sample)
        self._given[base] += 1
        count = self._given[base]
        return base if count == 1 else f"{base}-{count}"


def written_id(record: Mapping[str, Any]) -> str:
    """Return the ``id`` of a record that may have one, or :data:`UNNAMED`."""
    given = record.get("id")
    return given if isinstance(given, str) and given else UNNAMED


# A dialect made of two pure functions: one reads a record into a sample, the other writes it back.
#
# Everything else is the same for every dialect of records and stands here once: layouts, schema, all
# problems of a file in one error, ids, and keeping what the two functions do not know.

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
    the section on ids. Errors raised by ``decode`` name the path within the record:
    ``citations[0].end_char``.

    ``holds`` names what ``encode`` writes and ``decode`` reads back equal, in the names of
    the section on fields.
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


# The names of what a sample or dataset says, so that a dialect can declare which of them it holds.
#
# =============================  ===========================================================================
# name                           present when
# =============================  ===========================================================================
# ``id``                         the sample has an id of its own, not one made from its content
# ``question``                   there is one turn, of the user, and it has words
# ``turns``                      there is more than that; who holds ``turns`` holds ``question`` too
# ``reference``                  there is an expected answer
# ``recorded.contexts`` …        also ``.sources .retrieved .citations .prompt .answer``; ``recorded`` is all
# ``reference_contexts``         there are contexts that hold the truth
# ``relevant_documents``         there are relevant documents
# ``grades``                     a relevant document has another grade than 1
# ``relevant_spans``             there are relevant characters: file, start, end
# ``relevant_spans.text`` …      also ``.page .confidence .extra``: a span says more than its place
# ``relevant_chunk_ids``         there are relevant chunks
# ``expectation.refusal`` …      also ``.entities .relation .milestones``; ``expectation`` is all
# ``expectation.reason`` …       also ``.pattern``: why and how the system refuses; in ``expectation`` too
# ``category`` ``difficulty`` ``query_type`` ``tags`` ``metadata``
# ``extra.<field>``              its file said what has no place in a sample; only its dialect holds it
# ``dataset.<field>``            of a dataset: ``dataset_id name version description created_at metadata``
# ``dataset.documents``          there are documents: id and content
# ``dataset.documents.title`` …  also ``.metadata .extra``: a document says more than its content
# =============================  ===========================================================================

_RECORDED = ("contexts", "sources", "retrieved", "citations", "prompt", "answer")
_SPAN = ("text", "page", "confidence", "extra")
_LABELS = ("category", "difficulty", "query_type", "tags", "metadata")
_HEAD = ("dataset_id", "name", "version", "description", "created_at", "metadata")
_COVERING = ("recorded", "expectation")


def is_held(name: str, holds: frozenset[str]) -> bool:
    """Tell whether a dialect that declares ``holds`` keeps what the name stands for."""
    if name in holds or (name == "question" and "turns" in holds):
        return True
    first = name.partition(".")[0]
    return first in _COVERING and first in holds


def sample_fields(sample: Sample) -> Iterator[str]:
    """Yield the name of everything the sample says, each once, in the order of the table above."""
    if not has_content_id(sample):
        yield "id"
    yield from _asked(sample.turns)
    if sample.reference is not None:
        yield "reference"
    if sample.recorded is not None:
        yield from (f"recorded.{name}" for name in _RECORDED if _says(getattr(sample.recorded, name)))
    if sample.reference_contexts:
        yield "reference_contexts"
    if sample.relevant_documents:
        yield "relevant_documents"
        if any(grade != 1 for grade in sample.relevant_documents.values()):
            yield "grades"
    if sample.relevant_spans:
        yield "relevant_spans"
        for name in _SPAN:
            if any(_says(getattr(span, name)) for span in sample.relevant_spans):
                yield f"relevant_spans.{name}"
    if sample.relevant_chunk_ids:
        yield "relevant_chunk_ids"
    yield from _expected_field(sample)
    yield from (name for name in _LABELS if _says(getattr(sample, name)))
    yield from _extra_fields(sample.extra, "extra")


def dataset_fields(dataset: Dataset) -> Iterator[str]:
    """Yield the name of everything the dataset says beside its samples."""
    yield from (f"dataset.{name}" for name in _HEAD if _says(getattr(dataset, name)))
    if dataset.documents:
        yield "dataset.documents"
    names = {name: None for document in dataset.documents for name in _document_fields(document)}
    yield from (f"dataset.documents.{name}" for name in names)
    yield from _extra_fields(dataset.extra, "dataset.extra")


def _asked(turns: tuple[Turn, ...]) -> Iterator[str]:
    first = turns[0]
    if len(turns) > 1 or first != Turn(role="user", content=first.content):
        yield "turns"
    elif first.content:
        yield "question"


def _expected_field(sample: Sample) -> Iterator[str]:
    expectation = sample.expectation
    if expectation is None:
        return
    yield f"expectation.{type(expectation).__name__.lower()}"
    if isinstance(expectation, Refusal):
        if expectation.reason is not None:
            yield "expectation.reason"
        if expectation.pattern is not None:
            yield "expectation.pattern"


def _document_fields(document: Document) -> Iterator[str]:
    if document.title is not None:
        yield "title"
    if document.metadata:
        yield "metadata"
    yield from _extra_fields(document.extra, "extra")


def _extra_fields(extra: Mapping[str, Any], prefix: str) -> Iterator[str]:
    """Yield the fields that say something; one that is there but empty says nothing."""
    for name, value in extra.items():
        if isinstance(value, Mapping):
            yield from _extra_fields(value, f"{prefix}.{name}")
        elif _says(value):
            yield f"{prefix}.{name}"


def _says(value: Any) -> bool:
    """Tell whether a value says anything: text may be empty and yet be meant, containers not."""
    return value is not None and value != () and value != [] and value != {}
