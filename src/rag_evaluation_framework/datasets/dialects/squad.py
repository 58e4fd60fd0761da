"""SQuAD 1.1 and 2.0: articles of paragraphs, questions on each paragraph, answers as characters of it.

A paragraph becomes a document, ``<title>#<number>`` (of a second article of that title ``<title> (2)#0`` …).
A question is a sample whose relevant document is its paragraph; its answers are the relevant spans, the
first one the reference. A question that cannot be answered expects a refusal. What SQuAD has no field for is
written in one that other readers pass over: ``reference`` of a question, where it is not the first answer,
and ``document_id`` of a paragraph, where the document has another id than that above.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rag_evaluation_framework.datasets.checks.checked_documents import read_document
from rag_evaluation_framework.datasets.checks.problems import FileProblems
from rag_evaluation_framework.datasets.checks.schema_validation import schema_issues
from rag_evaluation_framework.datasets.dialects.squad_articles import NAME, decode_articles, encode_articles
from rag_evaluation_framework.errors import InputError
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.atomic import atomic_writer
from rag_evaluation_framework.files.compression import compressing, named_compression
from rag_evaluation_framework.records.datasets import Dataset, Preview
from rag_evaluation_framework.records.samples import Sample


class Squad:
    """The dialect of SQuAD files."""

    name = NAME
    suffixes = (".squad.json",)
    holds = frozenset(
        {
            "id",
            "question",
            "reference",
            "relevant_documents",
            "relevant_spans",
            "relevant_spans.text",
            "relevant_spans.extra",
            "expectation.refusal",
            "dataset.version",
            "dataset.documents",
            "dataset.documents.title",
        }
    )

    def recognises(self, preview: Preview) -> bool:
        data = preview.record.get("data")
        if preview.layout not in ("object", "lines") or not isinstance(data, list):
            return False
        return not data or (isinstance(data[0], Mapping) and "paragraphs" in data[0])

    def read(self, path: Path) -> Dataset:
        document = read_document(path)
        try:
            return _decoded(document.value, str(path))
        except InputError as error:
            raise InputError(document.place(error.issues)).located(str(path)) from None

    def stream(self, path: Path) -> Iterator[Sample]:
        yield from self.read(path).samples

    def write(self, dataset: Dataset, path: Path) -> None:
        problems = FileProblems(str(path))
        value: dict[str, Any] = {} if dataset.version is None else {"version": dataset.version}
        articles, issues = encode_articles(dataset)
        problems.extend(issues)
        problems.raise_if_any()
        value["data"] = articles
        if dataset.dialect == NAME:
            value.update({name: item for name, item in dataset.extra.items() if name not in value})
        problems.extend(schema_issues(NAME, value))
        problems.raise_if_any()
        with (
            atomic_writer(path) as file,
            compressing(file, named_compression(path)) as stream,
        ):
            stream.write(strict_json.encode(value) + b"\n")


SQUAD = Squad()


def _decoded(value: Any, file: str) -> Dataset:
    """Return the dataset, or raise every issue with its path."""
    issues = schema_issues(NAME, value)
    if issues:
        raise InputError(issues)
    documents, samples, articles, issues = decode_articles(value["data"], file)
    if issues:
        raise InputError(issues)
    version = value.get("version")
    known = {"data", "version"} if isinstance(version, str) else {"data"}
    extra = {name: item for name, item in value.items() if name not in known}
    if articles:
        extra["data"] = articles
    return Dataset(
        samples=tuple(samples),
        dialect=NAME,
        version=version if isinstance(version, str) else None,
        documents=tuple(documents),
        extra=extra,
    )
