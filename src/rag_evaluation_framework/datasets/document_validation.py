"""Validates what stands in one document, or in a table that stands for one: datasets, results and so on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.checked_documents import plain_name, read_document
from rag_evaluation_framework.datasets.evaluation_rows import dataset_of_rows
from rag_evaluation_framework.datasets.problems import FileProblems
from rag_evaluation_framework.datasets.quality import quality_issues
from rag_evaluation_framework.datasets.schema_validation import schema_issues
from rag_evaluation_framework.datasets.validation import value_issues
from rag_evaluation_framework.errors import Issue

_TABLES = (".csv", ".parquet", ".h5", ".hdf5")


def document_issues(path: Path, kind: str, *, lenient: bool = False) -> Iterator[Issue]:
    """Yield every issue of a document with its file and line."""
    if plain_name(path).endswith(_TABLES):
        issues = _table_issues(path, kind, lenient=lenient)
    else:
        document = read_document(path, lines=kind == "annotations")
        issues = document.place(_value_issues(kind, document.value, lenient=lenient))
    in_reading_order = sorted(issues, key=lambda issue: issue.line or 0)
    yield from (issue.located(str(path)) for issue in in_reading_order)


def _value_issues(kind: str, value: Any, *, lenient: bool) -> list[Issue]:
    """Return what is wrong with a value; the quality checks of a dataset include its rules."""
    if kind == "evaluation-dataset":
        return [*schema_issues(kind, value, lenient=lenient), *quality_issues(value)]
    return value_issues(kind, value, lenient=lenient)


def _table_issues(path: Path, kind: str, *, lenient: bool) -> list[Issue]:
    """Return the issues of a document that is laid out as rows; a query's line is that of its row."""
    if kind == "evaluation-dataset":
        problems = FileProblems(str(path))
        value, lines = dataset_of_rows(path, problems)
        problems.raise_if_any()
        found = _value_issues(kind, value, lenient=lenient)
        return [replace(issue, line=lines.get(issue.path.partition("]")[0] + "]")) for issue in found]
    return _value_issues(kind, _table_value(path, kind), lenient=lenient)


def _table_value(path: Path, kind: str) -> Any:
    if kind == "results":
        from rag_evaluation_framework.datasets.results_files import read_results

        return read_results(path)
    from rag_evaluation_framework.datasets.benchmark_files import read_benchmark

    return read_benchmark(path)
