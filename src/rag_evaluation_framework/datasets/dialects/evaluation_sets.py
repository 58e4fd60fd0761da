"""Evaluation datasets: a head, queries with their relevant documents and citations, and the documents.

Written as JSON (``.eval.json``), YAML (``.eval.yaml``) or CSV (``.eval.csv``). The CSV file has a row per
query, its list cells as JSON. What belongs to the whole dataset has columns of its own, filled in the first
row only: ``dataset_id, name, version, description, created_at, dataset_metadata, documents`` (a JSON list)
and ``dataset_extra_fields``. So any tool for tables opens the file, and nothing is said twice.

A dataset that comes from a dialect without a head is named after its file, as version 1.0.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.checks.checked_documents import DocumentFile, write_document
from rag_evaluation_framework.datasets.checks.schema_validation import schema_issues
from rag_evaluation_framework.datasets.dialects.evaluation_queries import (
    decode_document,
    decode_query,
    encode_document,
    encode_query,
)
from rag_evaluation_framework.datasets.dialects.evaluation_rows import read_dataset_document, rows_of_dataset
from rag_evaluation_framework.datasets.dialects.residues import overlaid
from rag_evaluation_framework.datasets.tables import csv_tables
from rag_evaluation_framework.errors import InputError, Issue, UsageError
from rag_evaluation_framework.files.compression import plain_name
from rag_evaluation_framework.records.datasets import Dataset, Preview
from rag_evaluation_framework.records.samples import Origin, Sample

KIND = "evaluation-dataset"
DEFAULT_VERSION = "1.0.0"

_HEAD = ("dataset_id", "name", "version", "description", "created_at")
_CONTAINERS = ("metadata", "documents")
_KNOWN = frozenset({*_HEAD, *_CONTAINERS, "queries"})
_SUFFIXES = (".eval.json", ".eval.yaml", ".eval.yml", ".eval.csv")


class EvaluationSets:
    """The dialect of evaluation datasets."""

    name = KIND
    suffixes = _SUFFIXES
    holds = frozenset(
        {
            "id",
            "question",
            "reference",
            "relevant_documents",
            "relevant_spans",
            "relevant_spans.text",
            "relevant_spans.page",
            "relevant_spans.confidence",
            "relevant_spans.extra",
            "difficulty",
            "query_type",
            "expectation.refusal",
            "metadata",
            *(f"dataset.{name}" for name in (*_HEAD, "metadata", "documents")),
            "dataset.documents.title",
            "dataset.documents.metadata",
            "dataset.documents.extra",
        }
    )

    def recognises(self, preview: Preview) -> bool:
        if preview.layout == "table":
            return "query_id" in preview.record and "query_text" in preview.record
        # Documents may stand before the queries and be longer than what is seen of the file.
        signs = ("queries" in preview.record, {"dataset_id", "documents"} <= preview.record.keys())
        return preview.layout in ("object", "lines") and any(signs)

    def read(self, path: Path) -> Dataset:
        document = read_dataset_document(path)
        document.checked(KIND)
        return _decoded(document)

    def stream(self, path: Path) -> Iterator[Sample]:
        yield from self.read(path).samples

    def write(self, dataset: Dataset, path: Path) -> None:
        _check_name(path)
        value = encode_dataset(dataset, path)
        issues = [issue.located(str(path)) for issue in schema_issues(KIND, value)]
        if issues:
            raise InputError(issues)
        if plain_name(path).endswith(".csv"):
            rows, columns = rows_of_dataset(value)
            csv_tables.write_rows(path, rows, columns)
            return
        write_document(value, path)


EVALUATION_SETS = EvaluationSets()


def encode_dataset(dataset: Dataset, path: str | Path) -> dict[str, Any]:
    """Return the dataset as a plain value; what its head must have and has not comes from the file's name."""
    is_own = dataset.dialect == KIND
    named = _stem(path)
    value: dict[str, Any] = {
        name: getattr(dataset, name) for name in _HEAD if getattr(dataset, name) is not None
    }
    value = {
        "dataset_id": named,
        "name": value.get("dataset_id", named),
        "version": DEFAULT_VERSION,
        **value,
    }
    if dataset.metadata:
        value["metadata"] = dict(dataset.metadata)
    value["queries"] = [encode_query(sample) for sample in dataset.samples]
    if dataset.documents:
        value["documents"] = [encode_document(document) for document in dataset.documents]
    return overlaid(value, dataset.extra, replace=False) if is_own else value


def _decoded(document: DocumentFile) -> Dataset:
    """Turn a valid document into a dataset; what only the records find wrong is raised together."""
    value = document.value
    places = [f"queries[{index}]" for index in range(len(value["queries"]))]
    lines = document.lines_of(places)
    samples: list[Sample] = []
    issues: list[Issue] = []
    for place, query in zip(places, value["queries"], strict=True):
        try:
            samples.append(decode_query(query, Origin(KIND, document.file, lines[place])))
        except InputError as error:
            issues.extend(error.located(within=place).issues)
    if issues:
        raise InputError(document.place(issues)).located(document.file)
    # A container that is there but empty says nothing to a dataset, and is yet to be written back.
    extra = {
        name: item for name, item in value.items() if name not in _KNOWN or (name in _CONTAINERS and not item)
    }
    return Dataset(
        samples=tuple(samples),
        dialect=KIND,
        **{name: value.get(name) for name in _HEAD},
        documents=tuple(map(decode_document, value.get("documents", ()))),
        metadata=value.get("metadata", {}),
        extra=extra,
    )


def _check_name(path: Path) -> None:
    """Refuse a name that asks for another layout than there is; one without any suffix is JSON."""
    suffix = Path(plain_name(path)).suffix
    if suffix not in ("", ".json", ".yaml", ".yml", ".csv"):
        raise UsageError(f"{path}: {KIND} is written as .json, .yaml or .csv, not as {suffix}")


def _stem(path: str | Path) -> str:
    """Return a file's name without the endings that say what it is."""
    name = Path(path).name
    for suffix in (".gz", ".zst", ".json", ".yaml", ".yml", ".csv", ".eval"):
        if name.lower().endswith(suffix):
            name = name[: -len(suffix)]
    return name or "dataset"
