"""Evaluation datasets: a head, queries with their relevant documents and citations, and the documents.

Written as JSON (``.eval.json``), YAML (``.eval.yaml``) or CSV (``.eval.csv``). The CSV file has a row per
query, its list cells as JSON. What belongs to the whole dataset has columns of its own, filled in the first
row only: ``dataset_id, name, version, description, created_at, dataset_metadata, documents`` (a JSON list)
and ``dataset_extra_fields``. So any tool for tables opens the file, and nothing is said twice.

A dataset that comes from a dialect without a head is named after its file, as version 1.0.0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets import csv_tables
from rag_evaluation_framework.datasets.evaluation_queries import (
    decode_document,
    decode_query,
    encode_document,
    encode_query,
)
from rag_evaluation_framework.datasets.evaluation_rows import dataset_of_rows, rows_of_dataset
from rag_evaluation_framework.datasets.locating import lines_of
from rag_evaluation_framework.datasets.problems import FileProblems
from rag_evaluation_framework.datasets.residues import overlaid
from rag_evaluation_framework.datasets.schema_validation import schema_issues
from rag_evaluation_framework.errors import InputError, Issue, UsageError
from rag_evaluation_framework.files import strict_json, yaml_documents
from rag_evaluation_framework.files.atomic import atomic_writer
from rag_evaluation_framework.files.compression import compressing, named_compression, read_bytes
from rag_evaluation_framework.files.text import decode_text
from rag_evaluation_framework.files.values import written_path
from rag_evaluation_framework.records.datasets import Dataset, Preview
from rag_evaluation_framework.records.documents import Document
from rag_evaluation_framework.records.samples import Origin, Sample

KIND = "evaluation-dataset"
DEFAULT_VERSION = "1.0.0"

_HEAD = ("dataset_id", "name", "version", "description", "created_at")
_CONTAINERS = ("metadata", "documents")
_KNOWN = frozenset({*_HEAD, *_CONTAINERS, "queries"})
_SUFFIXES = (".eval.json", ".eval.yaml", ".eval.yml", ".eval.csv")
_LAST_PART = re.compile(r"(?:\A|\.)[^.\[\]]+\Z|\[[^\[\]]*\]\Z|.\Z", re.DOTALL)
_Locate = Callable[[Sequence[str]], Mapping[str, int | None]]


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
        problems = FileProblems(str(path))
        value, locate = _read_value(path, problems)
        problems.raise_if_any()
        problems.extend(_placed(schema_issues(KIND, value), locate))
        problems.raise_if_any()
        dataset = _decoded(value, path, problems, locate)
        problems.raise_if_any()
        return dataset

    def stream(self, path: Path) -> Iterator[Sample]:
        yield from self.read(path).samples

    def write(self, dataset: Dataset, path: Path) -> None:
        value = encode_dataset(dataset, path)
        issues = [issue.located(str(path)) for issue in schema_issues(KIND, value)]
        if issues:
            raise InputError(issues)
        layout = _named_layout(path)
        if layout == "csv":
            rows, columns = rows_of_dataset(value)
            csv_tables.write_rows(path, rows, columns)
            return
        text = (
            yaml_documents.encode(value).encode()
            if layout == "yaml"
            else strict_json.encode(value, indent=2) + b"\n"
        )
        with (
            atomic_writer(path) as file,
            compressing(file, named_compression(path)) as stream,
        ):
            stream.write(text)


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


def _decoded(value: dict[str, Any], path: Path, problems: FileProblems, locate: _Locate) -> Dataset:
    file = str(path)
    lines = locate([f"queries[{index}]" for index in range(len(value["queries"]))])
    samples: list[Sample] = []
    for index, query in enumerate(value["queries"]):
        place = f"queries[{index}]"
        try:
            samples.append(decode_query(query, Origin(KIND, file, lines[place])))
        except InputError as error:
            problems.extend(_placed(error.located(within=place).issues, locate))
    documents: list[Document] = [decode_document(document) for document in value.get("documents", ())]
    problems.extend(_placed(_repeated("queries", "query_id", value), locate))
    problems.extend(_placed(_repeated("documents", "document_id", value), locate))
    problems.raise_if_any()
    # A container that is there but empty says nothing to a dataset, and is yet to be written back.
    extra = {
        name: item for name, item in value.items() if name not in _KNOWN or (name in _CONTAINERS and not item)
    }
    return Dataset(
        samples=tuple(samples),
        dialect=KIND,
        **{name: value.get(name) for name in _HEAD},
        documents=tuple(documents),
        metadata=value.get("metadata", {}),
        extra=extra,
    )


def _repeated(items: str, id_field: str, value: Mapping[str, Any]) -> Iterator[Issue]:
    seen: set[str] = set()
    for index, item in enumerate(value.get(items, ())):
        if item[id_field] in seen:
            path = f"{items}[{index}].{id_field}"
            yield Issue("duplicate-id", f"each {id_field} once", f"{item[id_field]!r} again", path)
        seen.add(item[id_field])


def _read_value(path: Path, problems: FileProblems) -> tuple[Any, _Locate]:
    """Return the whole file as a plain value, and what finds the lines of paths in it."""
    file = str(path)
    try:
        text = decode_text(read_bytes(path), file=file)
        if text.lstrip()[:1] in ("{", "["):
            return strict_json.decode(text, file=file), lambda paths: lines_of(text, paths)
        if not _is_csv(path, text):
            value, lines = yaml_documents.decode_with_lines(text, file=file)
            written = {written_path(place): line for place, line in lines.items()}
            return value, lambda paths: {place: _nearest(written, place) for place in paths}
    except InputError as error:
        problems.take(error)
        return None, _nowhere
    value, row_lines = dataset_of_rows(path, problems)
    return value, lambda paths: {place: row_lines.get(place.partition("]")[0] + "]") for place in paths}


def _placed(issues: Sequence[Issue] | Iterator[Issue], locate: _Locate) -> list[Issue]:
    """Add the line of the value, or of what stands around it, to each issue."""
    found = list(issues)
    lines = locate([issue.path for issue in found]) if found else {}
    return [issue.located(line=lines.get(issue.path)) for issue in found]


def _nearest(lines: Mapping[str, int], place: str) -> int | None:
    """Return the line of a value, or of the nearest one around it that is there."""
    while place and place not in lines:
        place = _LAST_PART.sub("", place)
    return lines.get(place)


def _nowhere(paths: Sequence[str]) -> Mapping[str, int | None]:
    return dict.fromkeys(paths)


def _is_csv(path: Path, text: str) -> bool:
    """Tell CSV from YAML: a header has commas before any colon."""
    if path.name.lower().removesuffix(".gz").removesuffix(".zst").endswith(".csv"):
        return True
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    return "," in first.partition(":")[0]


def _named_layout(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in (".gz", ".zst")]
    last = suffixes[-1] if suffixes else ".json"
    if last in (".yaml", ".yml"):
        return "yaml"
    if last in (".csv", ".json"):
        return last[1:]
    raise UsageError(f"{path}: {KIND} is written as .json, .yaml or .csv, not as {last}")


def _stem(path: str | Path) -> str:
    """Return a file's name without the endings that say what it is."""
    name = Path(path).name
    for suffix in (".gz", ".zst", ".json", ".yaml", ".yml", ".csv", ".eval"):
        if name.lower().endswith(suffix):
            name = name[: -len(suffix)]
    return name or "dataset"
