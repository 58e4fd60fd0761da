"""Validates what stands in one document, or in a table that stands for one: datasets, results and so on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.checks.checked_documents import DocumentFile, read_document
from rag_evaluation_framework.datasets.checks.quality import quality_issues
from rag_evaluation_framework.datasets.checks.schema_validation import schema_issues
from rag_evaluation_framework.datasets.checks.validation import decoded_issues
from rag_evaluation_framework.datasets.dialects.evaluation_rows import read_dataset_document
from rag_evaluation_framework.datasets.results_files import read_results
from rag_evaluation_framework.errors import Issue
from rag_evaluation_framework.files.compression import plain_name

_TABLES = (".csv", ".parquet", ".h5", ".hdf5")


def document_issues(path: Path, kind: str, *, lenient: bool = False) -> Iterator[Issue]:
    """Yield every issue of a document with its file and line."""
    document = _document(path, kind)
    issues = document.place(_value_issues(kind, document.value, lenient=lenient))
    yield from (issue.located(str(path)) for issue in issues)


def _value_issues(kind: str, value: Any, *, lenient: bool) -> list[Issue]:
    """Return what is wrong with a value; the quality checks of a dataset include its rules."""
    if kind == "evaluation-dataset":
        return [*schema_issues(kind, value, lenient=lenient), *quality_issues(value)]
    return decoded_issues(kind, value, lenient=lenient)


def _document(path: Path, kind: str) -> DocumentFile:
    if kind == "evaluation-dataset":
        return read_dataset_document(path)
    if plain_name(path).endswith(_TABLES):
        return DocumentFile(str(path), _table_value(path, kind), dict.fromkeys)
    return read_document(path, lines=kind == "annotations")


def _table_value(path: Path, kind: str) -> Any:
    """Read a table of results or of benchmark data, whose rows the paths of a document do not tell."""
    if kind == "results":
        return read_results(path)
    from rag_evaluation_framework.datasets.benchmark_files import read_benchmark  # numpy, only when needed

    return read_benchmark(path)
