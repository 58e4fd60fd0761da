"""Dialect: evaluation datasets as document and as rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from rag_evaluation_framework.datasets import csv_tables
from rag_evaluation_framework.datasets.csv_tables import CellKind, Columns
from rag_evaluation_framework.datasets.dialect import SIGNATURES, RecordDialect, overlaid
from rag_evaluation_framework.datasets.record_files import layout_of
from rag_evaluation_framework.datasets.schemas import schema, schema_issues
from rag_evaluation_framework.datasets.value_files import DocumentFile, read_document, write_document
from rag_evaluation_framework.errors import FileProblems, InputError, Issue, UsageError, shown
from rag_evaluation_framework.files.access import open_reading, plain_name
from rag_evaluation_framework.files.strict_json import drop_nulls
from rag_evaluation_framework.records.citations import SpanCitation
from rag_evaluation_framework.records.documents import Document, DocumentId
from rag_evaluation_framework.records.samples import (
    Dataset,
    Origin,
    Sample,
    Turn,
    is_refusal,
    marked_metadata,
    read_expected,
)

# The queries, citations and documents of an evaluation dataset, as samples and documents.

KIND = "evaluation-dataset"
DEFAULT_VERSION = "1.0.0"

_CITATION_FIELDS = {
    "file": "file_name",
    "start": "start_char",
    "end": "end_char",
    "page": "page_number",
    "confidence": "confidence_score",
    "text": "text",
}
_REFERENCE = "ground_truth_answer"
_DOCUMENT_FIELDS = frozenset({"document_id", "content", "metadata", "title"})
_HOLDS = (
    "id question reference relevant_documents relevant_spans relevant_spans.text "
    "relevant_spans.page relevant_spans.confidence relevant_spans.extra difficulty query_type "
    "expectation.refusal checks metadata dataset.dataset_id dataset.name dataset.version "
    "dataset.description dataset.created_at dataset.metadata dataset.documents "
    "dataset.documents.title dataset.documents.metadata dataset.documents.extra"
)


def decode_document(document: Mapping[str, Any]) -> Document:
    """Read a document that the schema allows."""
    metadata = document.get("metadata", {})
    extra = {name: value for name, value in document.items() if name not in _DOCUMENT_FIELDS}
    if "metadata" in document and not metadata:
        extra["metadata"] = metadata
    return Document(
        DocumentId(document["document_id"]), document["content"], metadata, document.get("title"), extra
    )


def _encode_document(document: Document) -> dict[str, Any]:
    """Write a document, with what its own file said beyond the record's fields."""
    written = {
        "document_id": document.id,
        "title": document.title,
        "content": document.content,
        "metadata": dict(document.metadata) or None,
    }
    return overlaid(drop_nulls(written), document.extra, replace=False)


def _decode_query(query: Mapping[str, Any]) -> Sample:
    said = query.get(_REFERENCE)
    expected = read_expected(said, query.get("metadata"))
    return Sample(
        id=query["query_id"],
        turns=(Turn(role="user", content=query["query_text"]),),
        reference=expected.reference,
        relevant_documents=dict.fromkeys(query["relevant_documents"], 1),
        relevant_spans=tuple(map(decode_citation, query.get("citations", ()))),
        difficulty=query.get("difficulty"),
        query_type=query.get("query_type"),
        expectation=expected.refusal,
        checks=query.get("checks", ()),
        metadata=expected.metadata,
        # Of a refusal it is kept that it was told by the word.
        extra={} if expected.reference == said else {_REFERENCE: said},
    )


def _encode_query(sample: Sample) -> dict[str, Any]:
    query = {
        "query_id": sample.id,
        "query_text": sample.question,
        "query_type": sample.query_type,
        "difficulty": sample.difficulty,
        "relevant_documents": list(sample.relevant_documents),
        _REFERENCE: sample.reference,
        "checks": sample.checks or None,
        "citations": [encode_citation(span) for span in sample.relevant_spans] or None,
        "metadata": marked_metadata(sample, is_told=is_refusal(sample.extra.get(_REFERENCE))) or None,
    }
    return drop_nulls(query)


def decode_citation(
    citation: Mapping[str, Any], fields: Mapping[str, str] = _CITATION_FIELDS
) -> SpanCitation:
    """Read a citation that the schema allows; ``fields`` are its names by those of a ``SpanCitation``."""
    known: dict[str, Any] = {
        name: citation[field] for name, field in fields.items() if citation.get(field) is not None
    }
    extra = {field: value for field, value in citation.items() if field not in fields.values()}
    if not isinstance(known.get("text", ""), str):
        extra["text"] = known.pop("text")  # the schema knows no such field, so it may be anything
    # JSON Schema takes 5.0 for an integer, and so do we.
    known |= {name: int(known[name]) for name in ("start", "end", "page") if name in known}
    return SpanCitation(**known, extra=extra)


def encode_citation(span: SpanCitation, fields: Mapping[str, str] = _CITATION_FIELDS) -> dict[str, Any]:
    """Write a citation, with what its own file said beyond the record's fields."""
    return {**span.extra, **drop_nulls({field: getattr(span, name) for name, field in fields.items()})}


_QUERY = RecordDialect(
    name=KIND,
    kind=KIND,
    holds=frozenset(_HOLDS.split()),
    decode=_decode_query,
    encode=_encode_query,
    needs_ids=True,
)


# An evaluation dataset as rows: a row per query, and the head in columns that only the first row fills.

_EXTRA_HEAD = "dataset_extra_fields"
# Fields of a query that are named like a column of the head.
_QUERY_FIELDS = "query_extra_fields"
_ROW_HEAD: Mapping[str, CellKind] = {
    "dataset_id": "text",
    "name": "text",
    "version": "text",
    "description": "text",
    "created_at": "text",
    "dataset_metadata": "json",
    "documents": "json",
    _EXTRA_HEAD: "json",
}


def rows_of_dataset(value: Mapping[str, Any]) -> tuple[list[dict[str, Any]], Columns]:
    """Lay a dataset out as rows; a dataset without queries has one row, of its head alone."""
    head: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for name, item in value.items():
        if name == "queries":
            continue
        column = "dataset_metadata" if name == "metadata" else name
        kind = None if column == _EXTRA_HEAD else _ROW_HEAD.get(column)
        plain = kind is not None and (kind, item) != ("text", "")
        (head if plain else rest)[column if plain else name] = item
    if rest:
        head[_EXTRA_HEAD] = rest
    rows = [_row(query) for query in value["queries"]] or [{}]
    return [{**head, **rows[0]}, *rows[1:]], _columns()


def read_dataset_document(path: str | Path) -> DocumentFile:
    """Read an evaluation dataset as the plain value it is, from JSON, YAML or rows; it is not validated."""
    return _dataset_of_rows(path) if _is_table(path) else read_document(path)


def _is_table(path: str | Path) -> bool:
    if plain_name(path).endswith(".csv"):
        return True
    if layout_of(path) != "csv":
        return False
    with open_reading(path) as stream:
        return "query_id" in (csv_tables.header_of(stream) or ())


def _dataset_of_rows(path: str | Path) -> DocumentFile:
    """Read rows back into a dataset, with the line of each query by its path ``queries[3]``."""
    problems = FileProblems(str(path))
    head: dict[str, Any] = {}
    queries: list[dict[str, Any]] = []
    lines: dict[str, int] = {}
    for line, row in csv_tables.read_rows(path, _columns(), on_error=problems.take):
        query = {name: item for name, item in row.items() if name not in _ROW_HEAD}
        for name in filter(row.__contains__, _ROW_HEAD):
            if head.setdefault(name, row[name]) != row[name]:
                expected = f"{shown(head[name])}, as in the rows above"
                problems.add(Issue("contradiction", expected, shown(row[name]), name, line=line))
        query.update(_object(query.pop(_QUERY_FIELDS, {}), _QUERY_FIELDS, problems, line=line))
        if query:
            lines[f"queries[{len(queries)}]"] = line
            queries.append(query)
    value = {"metadata" if name == "dataset_metadata" else name: item for name, item in head.items()}
    value |= _object(value.pop(_EXTRA_HEAD, {}), _EXTRA_HEAD, problems)
    problems.raise_if_any()
    return DocumentFile(
        str(path),
        {**value, "queries": queries},
        lambda paths: {each: lines.get(each.partition("]")[0] + "]") for each in paths},
    )


def _object(value: Any, name: str, problems: FileProblems, *, line: int | None = None) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    problems.add(Issue("wrong-type", "an object", shown(value), name, line=line))
    return {}


def _row(query: Mapping[str, Any]) -> dict[str, Any]:
    """Return a query as a row; fields of the query that are named like a column of the head are set apart."""
    clashing = {name: item for name, item in query.items() if name in _ROW_HEAD or name == _QUERY_FIELDS}
    row = {name: item for name, item in query.items() if name not in clashing}
    return {**row, _QUERY_FIELDS: clashing} if clashing else row


def _columns() -> Columns:
    query = Columns.of_schema(schema("evaluation-dataset")["$defs"]["EvaluationQuery"])
    return replace(query, kinds={**query.kinds, _QUERY_FIELDS: "json", **_ROW_HEAD})


# Evaluation datasets: a head, queries with their relevant documents and citations, and the documents.
#
# Written as JSON (``.eval.json``), YAML (``.eval.yaml``) or CSV (``.eval.csv``). The CSV file has a row per
# query, its list cells as JSON. What belongs to the whole dataset has columns of its own, filled in the first
# row only: ``dataset_id, name, version, description, created_at, dataset_metadata, documents`` (a JSON list)
# and ``dataset_extra_fields``. So any tool for tables opens the file, and nothing is said twice.
#
# A dataset that comes from a dialect without a head is named after its file, as version 1.0.0.

_HEAD = ("dataset_id", "name", "version", "description", "created_at")
_CONTAINERS = ("metadata", "documents")
_KNOWN = frozenset({*_HEAD, *_CONTAINERS, "queries"})


class EvaluationSets:
    """The dialect of evaluation datasets."""

    name = KIND
    suffixes = SIGNATURES[name].suffixes
    holds = _QUERY.holds

    def read(self, path: Path) -> Dataset:
        document = read_dataset_document(path)
        document.checked(KIND)
        return _decoded(document)

    def stream(self, path: Path) -> Iterator[Sample]:
        yield from self.read(path).samples

    def write(self, dataset: Dataset, path: Path) -> None:
        suffix = Path(plain_name(path)).suffix
        if suffix not in ("", ".json", ".yaml", ".yml", ".csv"):  # one without any is JSON
            raise UsageError(f"{path}: cannot write {KIND} as {suffix}. Use .json, .yaml or .csv")
        value = encode_dataset(dataset, path)
        issues = [issue.located(str(path)) for issue in schema_issues(KIND, value)]
        if issues:
            raise InputError(issues)
        if suffix == ".csv":
            rows, columns = rows_of_dataset(value)
            csv_tables.write_rows(path, rows, columns)
            return
        write_document(value, path)


EVALUATION_SETS = EvaluationSets()


def encode_dataset(dataset: Dataset, path: str | Path) -> dict[str, Any]:
    """Return the dataset as a plain value; what its head must have and has not comes from the file's name."""
    is_own = dataset.dialect == KIND
    named = _stem(path)
    head = drop_nulls({name: getattr(dataset, name) for name in _HEAD})
    value = {"dataset_id": named, "name": head.get("dataset_id", named), "version": DEFAULT_VERSION, **head}
    value |= {"metadata": dict(dataset.metadata)} if dataset.metadata else {}
    value["queries"] = [_QUERY.record(sample) for sample in dataset.samples]
    if dataset.documents:
        value["documents"] = [_encode_document(document) for document in dataset.documents]
    return overlaid(value, dataset.extra, replace=False) if is_own else value


def _decoded(document: DocumentFile) -> Dataset:
    """Turn a valid document into a dataset."""
    value = document.value
    places = [f"queries[{index}]" for index in range(len(value["queries"]))]
    lines = document.lines_of(places)
    shared = len(set(lines.values())) < len(lines)
    samples = tuple(
        replace(
            _QUERY.sample(query), origin=Origin(KIND, document.file, lines[place], number if shared else None)
        )
        for number, (place, query) in enumerate(zip(places, value["queries"], strict=True), 1)
    )
    # A container that is there but empty says nothing to a dataset, and is yet to be written back.
    extra = {
        name: item for name, item in value.items() if name not in _KNOWN or (name in _CONTAINERS and not item)
    }
    return Dataset(
        samples=samples,
        dialect=KIND,
        **{name: value.get(name) for name in _HEAD},
        documents=tuple(map(decode_document, value.get("documents", ()))),
        metadata=value.get("metadata", {}),
        extra=extra,
    )


def _stem(path: str | Path) -> str:
    """Return a file's name without its format suffixes."""
    name = Path(path).name
    for suffix in (".gz", ".zst", ".json", ".yaml", ".yml", ".csv", ".eval"):
        if name.lower().endswith(suffix):
            name = name[: -len(suffix)]
    return name or "dataset"
