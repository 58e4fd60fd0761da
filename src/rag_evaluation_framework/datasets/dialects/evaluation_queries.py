"""The queries, citations and documents of an evaluation dataset, as samples and documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rag_evaluation_framework.datasets.dialects.expected_refusals import (
    is_refusal,
    marked_metadata,
    read_expected,
)
from rag_evaluation_framework.datasets.dialects.residues import overlaid, replaces, residue
from rag_evaluation_framework.errors import InputError
from rag_evaluation_framework.records.citations import SpanCitation
from rag_evaluation_framework.records.documents import Document
from rag_evaluation_framework.records.identifiers import DocumentId
from rag_evaluation_framework.records.samples import Origin, Sample, Turn

_CITATION_FIELDS = {
    "file_name": "file",
    "start_char": "start",
    "end_char": "end",
    "page_number": "page",
    "confidence_score": "confidence",
    "text": "text",
}
_REFERENCE = "ground_truth_answer"
_FIELD_NAMES = {name: field for field, name in _CITATION_FIELDS.items()}
_DOCUMENT_FIELDS = frozenset({"document_id", "content", "metadata", "title"})


def decode_query(query: Mapping[str, Any], origin: Origin | None = None) -> Sample:
    """Read a query that the schema allows; errors name the path within it."""
    sample = _known(query, origin)
    rest = residue(query, _encode_known(sample))
    return replace(sample, extra=rest) if rest else sample


def encode_query(sample: Sample) -> dict[str, Any]:
    """Write a query, with what its own file said beyond the sample's fields."""
    encoded = _encode_known(sample)
    if sample.origin is not None and sample.origin.dialect != "evaluation-dataset":
        return encoded
    whole = overlaid(encoded, sample.extra, replace=True)
    if (
        replaces(encoded, sample.extra)
        and replace(_known(whole, sample.origin), extra=sample.extra) != sample
    ):
        # The sample was changed since it was read: the change wins over what the file said.
        return overlaid(encoded, sample.extra, replace=False)
    return whole


def decode_document(document: Mapping[str, Any]) -> Document:
    """Read a document that the schema allows."""
    metadata = document.get("metadata", {})
    extra = {name: value for name, value in document.items() if name not in _DOCUMENT_FIELDS}
    if "metadata" in document and not metadata:
        extra["metadata"] = metadata
    return Document(
        DocumentId(document["document_id"]), document["content"], metadata, document.get("title"), extra
    )


def encode_document(document: Document) -> dict[str, Any]:
    """Write a document, with what its own file said beyond the record's fields."""
    written: dict[str, Any] = {"document_id": document.id}
    if document.title is not None:
        written["title"] = document.title
    written["content"] = document.content
    if document.metadata:
        written["metadata"] = dict(document.metadata)
    return overlaid(written, document.extra, replace=False)


def _known(query: Mapping[str, Any], origin: Origin | None) -> Sample:
    said = query.get(_REFERENCE)
    expected = read_expected(said, query.get("metadata"))
    return Sample(
        id=query["query_id"],
        turns=(Turn(role="user", content=query["query_text"]),),
        reference=expected.reference,
        relevant_documents=dict.fromkeys(query["relevant_documents"], 1),
        relevant_spans=tuple(
            _decode_citation(index, citation) for index, citation in enumerate(query.get("citations", ()))
        ),
        difficulty=query.get("difficulty"),
        query_type=query.get("query_type"),
        expectation=expected.refusal,
        metadata=expected.metadata,
        origin=origin,
        # Of a refusal it is kept that it was told by the word.
        extra={} if expected.reference == said else {_REFERENCE: said},
    )


def _encode_known(sample: Sample) -> dict[str, Any]:
    query: dict[str, Any] = {
        "query_id": sample.id,
        "query_text": sample.question,
        "query_type": sample.query_type,
        "difficulty": sample.difficulty,
        "relevant_documents": list(sample.relevant_documents),
        _REFERENCE: sample.reference,
        "citations": [_encode_citation(span) for span in sample.relevant_spans] or None,
        "metadata": marked_metadata(sample, is_told=is_refusal(sample.extra.get(_REFERENCE))) or None,
    }
    return {name: value for name, value in query.items() if value is not None}


def _decode_citation(index: int, citation: Mapping[str, Any]) -> SpanCitation:
    known = {name: citation[field] for field, name in _CITATION_FIELDS.items() if field in citation}
    extra = {field: value for field, value in citation.items() if field not in _CITATION_FIELDS}
    if not isinstance(known.get("text", ""), str):
        extra["text"] = known.pop("text")  # the schema knows no such field, so it may be anything
    try:
        return SpanCitation(**known, extra=extra)
    except InputError as error:
        issue = error.issues[0]
        field = _FIELD_NAMES.get(issue.path, issue.path)
        raise InputError([replace(issue, path=f"citations[{index}].{field}")]) from None


def _encode_citation(span: SpanCitation) -> dict[str, Any]:
    known = {field: getattr(span, name) for field, name in _CITATION_FIELDS.items()}
    return {**span.extra, **{field: value for field, value in known.items() if value is not None}}
