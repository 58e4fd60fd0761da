"""A dialect from two functions: residues, ids, by what its files are recognised."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.datasets.csv_tables import ANY_COLUMNS, Columns
from rag_evaluation_framework.datasets.record_files import (
    PlacedRecord,
    RecordLayout,
    named_layout,
    read_records,
    write_records,
)
from rag_evaluation_framework.datasets.schemas import decoded_issues, schema
from rag_evaluation_framework.errors import FileProblems, InputError, Issue, UsageError
from rag_evaluation_framework.records.samples import (
    MADE_DIGITS,
    MADE_ID,
    Dataset,
    Layout,
    Origin,
    Preview,
    Recorded,
    Sample,
    is_made_id,
    is_refusal,
    question_key,
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


def with_residue(
    encoded: Mapping[str, Any], sample: Sample, *, dialect: str, decode: Callable[[Mapping[str, Any]], Sample]
) -> dict[str, Any]:
    """Return the record of a sample with what its own file said beyond the sample's fields.

    Where the sample was changed since it was read, the change wins over what the file said.
    """
    if not sample.extra or (sample.origin is not None and sample.origin.dialect != dialect):
        return dict(encoded)
    changed = overlaid(encoded, sample.extra, replace=False)
    whole = overlaid(encoded, sample.extra, replace=True)
    if _same(changed, whole):
        return whole
    try:
        read = replace(decode(whole), extra=sample.extra, origin=sample.origin)
    except InputError:
        return changed
    return whole if read == sample else changed


def _same(value: Any, other: Any) -> bool:
    """Compare as JSON does: ``1``, ``1.0`` and ``true`` are written differently, so they differ."""
    if type(value) is not type(other):
        return False
    if isinstance(value, dict):
        return value.keys() == other.keys() and all(_same(value[key], other[key]) for key in value)
    if isinstance(value, list):
        return len(value) == len(other) and all(map(_same, value, other))
    return bool(value == other)


# Ids for samples of dialects that give them none: ``sample-`` and the first digits of what is asked.
#
# Nothing of the answer, the contexts or the reference is in it, so that rows pair when these change. Samples
# that ask the same get ``-2``, ``-3`` … in file order. The same question in another dialect has the same id.

UNNAMED = "sample"
"""The id that a dialect's ``decode`` gives where the record has none; it is replaced on reading."""


def made_id(sample: Sample) -> str:
    """Return the id that follows from what the sample asks."""
    return MADE_ID + question_key(sample)[:MADE_DIGITS]


def needs_no_id(sample: Sample) -> bool:
    """Return True if the sample's id is made from its question, and so need not be saved."""
    if not is_made_id(sample.id):
        return sample.id == UNNAMED
    return sample.id.startswith(made_id(sample))


class MadeIds:
    """Gives out generated ids over one file, numbering the samples that ask the same."""

    def __init__(self) -> None:
        self._given: Counter[str] = Counter()

    def name(self, sample: Sample) -> str:
        """Return the id for the next sample of the file."""
        base = made_id(sample)
        self._given[base] += 1
        count = self._given[base]
        return base if count == 1 else f"{base}-{count}"


def written_id(record: Mapping[str, Any]) -> str:
    """Return the ``id`` of a record that may have one, or :data:`UNNAMED`."""
    given = record.get("id")
    return given if isinstance(given, str) and given else UNNAMED


def own_id(sample: Sample) -> str | None:
    """Return the id of a sample as its record has it; none of one that is :data:`UNNAMED`."""
    return None if sample.id == UNNAMED else sample.id


def own_contexts(sample: Sample) -> list[str] | None:
    """Return the contexts of a sample as its record has them; an empty list where nothing was retrieved."""
    recorded = sample.recorded
    is_there = recorded is not None and (recorded.contexts or recorded.retrieved_nothing)
    return list(recorded.contexts) if recorded is not None and is_there else None


def recorded_of(
    contexts: Sequence[str] | None, answer: str | None = None, *, sources: tuple[str, ...] = ()
) -> Recorded | None:
    """Return what a record says of an answer; ``None`` where it has neither contexts nor an answer."""
    if contexts is None and answer is None:
        return None
    is_empty = contexts is not None and not contexts
    return Recorded(
        contexts=tuple(contexts or ()), sources=sources, answer=answer, retrieved_nothing=is_empty
    )


# Finds ids that occur twice in a file of any length, in eight bytes an id.
#
# The first pass keeps a 64-bit digest of each id; where two digests are equal, a second pass over the
# file compares the few ids in question themselves, so that nothing is called a repetition by chance.

_MASK = (1 << 64) - 1


class IdDigests:
    """The digests of all ids of a file."""

    def __init__(self) -> None:
        self._digests = array("Q")

    def add(self, identifier: str) -> None:
        """Take in an id."""
        self._digests.append(digest_of(identifier))

    def repeated(self) -> frozenset[int]:
        """Return the digests that occur more than once."""
        if len(self._digests) < 2:
            return frozenset()
        import numpy as np  # sorts in place, eight bytes an id; loaded when there is something to sort

        digests = np.frombuffer(self._digests, dtype=np.uint64)
        digests.sort()
        return frozenset(digests[1:][digests[1:] == digests[:-1]].tolist())


def digest_of(identifier: str) -> int:
    """Return a number that two different texts hardly ever share; it holds within one process."""
    return hash(identifier) & _MASK


# What our dialects look like from outside, so that one is recognised without loading the others.


class Signature(msgspec.Struct, frozen=True):
    """The place of a dialect of ours, and the names, layouts and content of its files."""

    place: str
    """Its module in this room, and its name there."""
    keys: tuple[str, ...]
    """The keys of a record, parted by spaces; where there are several ways, each has an entry."""
    suffixes: tuple[str, ...] = ()
    layouts: tuple[Layout, ...] = ("lines", "array", "object")
    """Allowed layouts of its files. A single record may stand alone in a file of lines or of an array."""
    columns: tuple[str, ...] = ()
    """The columns of a table, for a dialect that may be one, as keys are given; ``*`` is any text."""
    without: str = ""
    """Keys that a record of this dialect never has."""
    shape: Callable[[Mapping[str, Any]], bool] = bool
    """Additional condition on the values of a record."""
    family: str = ""
    """Dialects of one family differ by so little that a file's name decides between them."""

    @property
    def is_foreign(self) -> bool:
        """Return True if another tool's, with its own fields for answer and expected answer."""
        return self.place.startswith("foreign_files:")

    def fits(self, preview: Preview) -> bool:
        """Return True if a file that begins like this is of this dialect."""
        has = preview.record.__contains__
        if preview.layout == "table":
            return any(
                all(any(fnmatchcase(each, name) for each in preview.record) for name in names.split())
                for names in self.columns
            )
        return (
            preview.layout in self.layouts
            and any(all(map(has, keys.split())) for keys in self.keys)
            and not any(map(has, self.without.split()))
            and self.shape(preview.record)
        )


_QUESTION = "id question ground_truth"
# Fields by which a record is one of a split, and no raw one.
_OF_SPLITS = (
    {"question", "reference_answer"},
    {"instruction", "reference_summary"},
    {"question", "relevant_chunk_ids"},
)
_OTHER_GOLDEN = "conversation relationship_triple timeline_milestones"
_golden = partial(Signature, family="golden")
_split = partial(Signature, family="splits")

SIGNATURES: Mapping[str, Signature] = {
    "agent-samples": Signature(
        "agent_samples:AGENT_SAMPLES", ("input expected", "input checks"), (".jsonl",)
    ),
    "beir": Signature(
        "beir:BEIR", ("queries.jsonl", "queries.jsonl.gz", "queries.jsonl.zst"), layouts=("folder",)
    ),
    "deepeval": Signature(
        "foreign_files:DEEPEVAL",
        (
            "input actual_output",
            "input expected_output",
            "input retrieval_context",
            "scenario turns",
            "testCases",
        ),
        (".deepeval.json", ".deepeval.jsonl"),
        columns=("input actual_output", "input retrieval_context", "scenario turns"),
        without="dataset_id datasetId expected ideal target",
    ),
    "evaluation-dataset": Signature(
        "evaluation_sets:EVALUATION_SETS",
        # Documents may stand before the queries and be longer than what is seen of the file.
        ("queries", "dataset_id documents"),
        (".eval.json", ".eval.yaml", ".eval.yml", ".eval.csv"),
        layouts=("object", "lines"),
        columns=("query_id query_text",),
    ),
    "golden-boundary": _golden(
        "golden_sets:BOUNDARY",
        (_QUESTION,),
        ("boundary_qa.json", "boundary_qa.jsonl"),
        without=_OTHER_GOLDEN,
        shape=lambda record: is_refusal(record["ground_truth"]) or _explains_refusal(record),
    ),
    "golden-factual": _golden(
        "golden_sets:FACTUAL",
        (_QUESTION,),
        ("factual_qa.json", "factual_qa.jsonl"),
        without=_OTHER_GOLDEN,
        shape=lambda record: not (is_refusal(record["ground_truth"]) or _explains_refusal(record)),
    ),
    "golden-multiturn": _golden(
        "golden_sets:MULTITURN", ("id conversation",), ("multiturn_qa.json", "multiturn_qa.jsonl")
    ),
    "golden-relationship": _golden(
        "golden_sets:RELATIONSHIP",
        (f"{_QUESTION} relationship_triple",),
        ("relationship_qa.json", "relationship_qa.jsonl"),
        without="conversation",
    ),
    "golden-tracking": _golden(
        "golden_sets:TRACKING",
        (f"{_QUESTION} timeline_milestones",),
        ("tracking_qa.json", "tracking_qa.jsonl"),
        without="conversation relationship_triple",
    ),
    "inspect": Signature(
        "foreign_files:INSPECT",
        ("input target", "eval plan", "header.json", "_journal/start.json"),
        (".inspect.jsonl", ".inspect.json", ".eval"),
        layouts=("lines", "array", "object", "folder"),
        columns=("input target",),
        without="expected ideal",
    ),
    "langfuse": Signature(
        "foreign_files:LANGFUSE",
        ("input expectedOutput", "input expected_output dataset_id", "data meta"),
        (".langfuse.jsonl", ".langfuse.json"),
        columns=("id input expectedOutput", "id input expected_output metadata"),
        without="testCases",
        shape=lambda record: "meta" not in record or _first_has(record["data"], "input"),
    ),
    "langsmith": Signature(
        "langsmith_examples:LANGSMITH",
        ("inputs outputs",),
        (".langsmith.jsonl", ".langsmith.json"),
        shape=lambda record: isinstance(record["inputs"], Mapping) and not _is_answered(record),
    ),
    "langsmith-export": Signature(
        "foreign_files:LANGSMITH_EXPORT",
        ("inputs outputs", "inputs run_type", "inputs dataset_id"),
        (".langsmith-export.jsonl",),
        columns=("inputs outputs", "inputs.* outputs.*", "inputs.* reference.*"),
        shape=lambda record: isinstance(record["inputs"], Mapping) and _is_answered(record),
    ),
    "offline-records": _split(
        "split_records:OFFLINE_RECORDS",
        ("task_id task_type",),
        ("offline_dataset.jsonl",),
        shape=lambda record: not any(record.keys() >= fields for fields in _OF_SPLITS),
    ),
    "openai-evals": Signature(
        "foreign_files:OPENAI_EVALS",
        ("input ideal", "spec", "item"),
        (".openai-evals.jsonl",),
        shape=lambda record: (
            all(isinstance(record.get(name, {}), Mapping) for name in ("spec", "item"))
            and ("spec" not in record or "run_id" in record["spec"])
        ),
    ),
    "phoenix": Signature(
        "foreign_files:PHOENIX",
        ("id input output", "example_id input output", "examples version_id", "data"),
        (".phoenix.jsonl", ".phoenix.json"),
        columns=("example_id input output", "example_id input_*"),
        shape=lambda record: (
            isinstance(record.get("input", {}), Mapping)
            and (
                "data" not in record or (isinstance(record["data"], Mapping) and "examples" in record["data"])
            )
        ),
    ),
    "promptfoo": Signature(
        "foreign_files:PROMPTFOO",
        ("vars", "tests prompts", "tests providers", "tests targets", "evalId results"),
        (".promptfoo.json", ".promptfoo.jsonl", "promptfooconfig.yaml"),
        columns=("__expected*",),
    ),
    "qa-pairs": _split("split_records:QA_PAIRS", ("task_id question reference_answer",), ("qa_pairs.jsonl",)),
    "ragas": Signature(
        "ragas:RAGAS", ("user_input",), (".jsonl", ".csv", ".parquet"), columns=("user_input",)
    ),
    "ragas-0.1": Signature(
        "foreign_files:RAGAS_OLD",
        ("question contexts ground_truth", "question contexts ground_truths"),
        (".ragas-0.1.jsonl", ".ragas-0.1.csv"),
        columns=("question contexts ground_truth*",),
        without="id task_id task_type",
    ),
    "retrieval-cases": _split(
        "split_records:RETRIEVAL_CASES", ("task_id question relevant_chunk_ids",), ("retrieval.jsonl",)
    ),
    "rows": Signature("rows:ROW_FILES", ()),  # what no other fits, guessed
    "squad": Signature(
        "squad:SQUAD",
        ("data",),
        (".squad.json",),
        layouts=("object", "lines"),
        shape=lambda record: record["data"] == [] or _first_has(record["data"], "paragraphs"),
    ),
    "squad-rows": Signature(
        "squad:SQUAD_ROWS",
        ("question context answers",),
        (".squad.jsonl", ".squad.csv", ".squad.parquet"),
        columns=("question context answers",),
        shape=lambda record: isinstance(record["answers"], Mapping) and "answer_start" in record["answers"],
    ),
    "summaries": _split(
        "split_records:SUMMARIES", ("task_id instruction reference_summary",), ("summaries.jsonl",)
    ),
    "traces": Signature(
        "traces:TRACES",
        ("resourceSpans", "resource_spans", "context attributes parent_id"),
        ("traces.jsonl", "traces.json", ".otlp.jsonl", ".otlp.json"),
        shape=lambda record: "context" not in record or _is_span_context(record["context"]),
    ),
    "trec": Signature("trec:TREC", (), (".qrels", ".trec"), columns=("query iteration document grade",)),
}
"""Every dialect of ours by name."""


def _explains_refusal(record: Mapping[str, Any]) -> bool:
    return "refusal_reason" in record or "expected_response_pattern" in record


def _first_has(rows: Any, name: str) -> bool:
    return isinstance(rows, list) and bool(rows) and isinstance(rows[0], Mapping) and name in rows[0]


def _is_answered(record: Mapping[str, Any]) -> bool:
    """Return True for an example with answers or a run, False for relevance labels only."""
    said = set(record["outputs"]) if isinstance(record.get("outputs"), Mapping) else set()
    return "run_type" in record or bool(said - {"relevant_chunk_ids", "spans", "metadata"})


def _is_span_context(context: Any) -> bool:
    return isinstance(context, Mapping) and "trace_id" in context


# A dialect made of two pure functions: one reads a record into a sample, the other writes it back.
#
# Everything else is the same for every dialect of records and stands here once: layouts, schema, all
# problems of a file in one error, ids, and keeping what the two functions do not know.

Record = dict[str, Any]
FieldMap: TypeAlias = Mapping[str, str | None]
"""Field of plain rows for each part; ``None`` for a part that is not read."""
OnError = Callable[[InputError], None]

PLACES = "read from"
"""Key of ``extra`` where ``decode`` records a field's place in the file, for ``encode``. It is no field."""


class RecordDialect(msgspec.Struct, frozen=True, kw_only=True, dict=True, weakref=True, eq=False):
    """A dialect in which each sample is one record; it fulfils ``extensions.Dialect``.

    ``decode`` gets a record that schema and rules of its ``kind`` allow and returns a sample with all values
    that the sample has a field for; it neither sets ``origin`` nor collects unknown fields. ``encode`` writes
    those fields down again as plain lists and dictionaries, leaving out what is empty. What a record has
    beyond ``encode(decode(record))`` is kept in ``Sample.extra`` by itself, and written back. A record
    without an id is decoded with the id ``UNNAMED``, and a sample of that id is encoded without one; see the
    section on ids. Errors raised by ``decode`` name the path within the record: ``citations[0].end_char``.

    ``holds`` names what ``encode`` writes and ``decode`` reads back equal, in the names of
    the section on fields.
    """

    name: str
    kind: str = ""
    """Its schema; without one, ``decode`` gets any value and finds itself what is wrong with it."""
    holds: frozenset[str]
    decode: Callable[[Mapping[str, Any]], Sample]
    encode: Callable[[Sample], Record]
    layouts: tuple[RecordLayout, ...] = ("lines", "array")
    """Allowed layouts of its files; the first is written if the file's name decides nothing."""
    needs_ids: bool = False
    """True if every record must have an id; one that was made from the content is then written too."""
    prepare: Callable[[str], str] | None = None
    """Applied to the text of an array before it is read, keeping its lines: removes comments, say."""
    cells: Columns = ANY_COLUMNS
    """The columns of its records as rows of a table, where no schema tells them."""
    rows: Callable[[Path, Columns, OnError], Iterator[PlacedRecord]] | None = None
    """Finds its records, where they are not simply those of the file."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        return SIGNATURES[self.name].suffixes

    def columns(self) -> Columns:
        """Return the columns of its records as rows of a table."""
        return Columns.of_schema(schema(self.kind)) if self.kind else self.cells

    def placed(self, path: Path, on_error: OnError) -> Iterator[PlacedRecord]:
        """Yield the records of a file; what cannot be read goes to ``on_error``."""
        if self.rows is not None:
            return self.rows(path, self.columns(), on_error)
        return read_records(path, columns=self.columns, prepare=self.prepare, on_error=on_error)

    def read(self, path: Path) -> Dataset:
        return Dataset(samples=tuple(self.stream(path)), dialect=self.name)

    def stream(self, path: Path) -> Iterator[Sample]:
        """Yield the good samples; the problems of all the others are raised together at the end."""
        problems = FileProblems(str(path))
        made_ids = MadeIds()
        seen: set[str] = set()
        for placed in self.placed(path, problems.take):
            sample = self._sample(placed, problems)
            if sample is None:
                continue
            id_ = made_ids.name(sample) if sample.id == UNNAMED else sample.id
            if id_ in seen:
                problems.add(placed.place(Issue("duplicate-id", "unique sample ids", f"duplicate {id_!r}")))
                continue
            seen.add(id_)
            yield replace(sample, id=id_, origin=Origin(self.name, str(path), placed.line, placed.number))
        problems.raise_if_any()

    def write(self, dataset: Dataset, path: Path) -> None:
        self.write_samples(dataset.samples, path)

    def write_samples(self, samples: Iterable[Sample], path: Path) -> None:
        """Write samples one by one; as lines or an array, memory does not grow with their number."""
        layout = named_layout(path)
        if layout is not None and layout not in self.layouts:
            known = ", ".join(self.layouts)
            raise UsageError(f"{path}: cannot write {self.name} as {layout}. Use {known}")
        records = self._checked_records(samples, FileProblems(str(path)))
        write_records(path, records, columns=self.columns, default=self.layouts[0])

    def record(self, sample: Sample) -> Record:
        """Return the record of a sample, with what its own file said beyond the sample's fields."""
        if not self.needs_ids and needs_no_id(sample):
            sample = replace(sample, id=UNNAMED)
        if sample.origin is not None and sample.origin.dialect != self.name:
            return self.encode(replace(sample, extra={}))
        own = replace(sample, extra={name: sample.extra[name] for name in sample.extra if name != PLACES})
        return with_residue(self.encode(sample), own, dialect=self.name, decode=self.decode)

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

    def issues(self, record: Any, *, lenient: bool = False) -> list[Issue]:
        """Return what schema and rules find in a record."""
        return decoded_issues(self.kind, record, lenient=lenient) if self.kind else []

    def _errors(self, record: Any) -> list[Issue]:
        return [issue for issue in self.issues(record) if issue.severity == "error"]

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
