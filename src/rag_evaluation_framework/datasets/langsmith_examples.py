"""LangSmith examples: ``{"inputs": {"query": …}, "outputs": {"relevant_chunk_ids": […]}, "metadata": {…}}``.

JSON lines or an array. ``outputs.spans`` has the characters behind the chunks, where they are known. The
metadata stand beside ``outputs`` or, as older files have it, within; they are written where they were found.
Their ``source_docs`` are the relevant documents. An example may have an ``id``; where it has none, the
sample's content gives it one. ``expectation: refusal`` in the metadata marks a question to decline.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rag_evaluation_framework.datasets.dialect import UNNAMED, Record, RecordDialect, written_id
from rag_evaluation_framework.datasets.split_mapping import is_texts
from rag_evaluation_framework.files.strict_json import drop_nulls
from rag_evaluation_framework.records.citations import SpanCitation
from rag_evaluation_framework.records.samples import Sample, Turn, marked_metadata, read_expected

_SPAN_FIELDS = frozenset({"doc_id", "start", "end", "text"})


def _decode(record: Mapping[str, Any]) -> Sample:
    outputs = record["outputs"]
    within_outputs = "metadata" not in record and bool(outputs.get("metadata"))
    metadata = dict((outputs if within_outputs else record).get("metadata") or {})
    source_docs: Any = metadata.get("source_docs")
    documents: dict[str, int] = {}
    if is_texts(source_docs) and len(set(source_docs)) == len(source_docs):
        documents = dict.fromkeys(metadata.pop("source_docs"), 1)
    expected = read_expected(None, metadata)
    return Sample(
        id=written_id(record),
        turns=(Turn(role="user", content=record["inputs"]["query"]),),
        relevant_chunk_ids=tuple(outputs["relevant_chunk_ids"]),
        relevant_spans=tuple(map(_span, outputs.get("spans", ()))),
        relevant_documents=documents,
        expectation=expected.refusal,
        metadata=expected.metadata,
        extra=_place_of_metadata(record, within_outputs=within_outputs),
    )


def _place_of_metadata(record: Mapping[str, Any], *, within_outputs: bool) -> Record:
    """Record the place of the metadata, which their content does not show."""
    if within_outputs:
        return {"outputs": {"metadata": {}}}
    return {"metadata": {}} if "metadata" in record and "metadata" in record["outputs"] else {}


def _span(span: Mapping[str, Any]) -> SpanCitation:
    extra = {name: value for name, value in span.items() if name not in _SPAN_FIELDS}
    start, end = int(span["start"]), int(span["end"])
    return SpanCitation(span["doc_id"], start, end, text=span.get("text"), extra=extra)


def _encode(sample: Sample) -> Record:
    record: Record = {} if sample.id == UNNAMED else {"id": sample.id}
    outputs: Record = {"relevant_chunk_ids": list(sample.relevant_chunk_ids)}
    record.update(inputs={"query": sample.question}, outputs=outputs)
    if sample.relevant_spans:
        outputs["spans"] = [_written_span(span) for span in sample.relevant_spans]
    metadata = marked_metadata(sample)
    if sample.relevant_documents:
        metadata["source_docs"] = list(sample.relevant_documents)
    if metadata:
        (outputs if _stand_within_outputs(sample) else record)["metadata"] = metadata
    return record


def _stand_within_outputs(sample: Sample) -> bool:
    if sample.origin is not None and sample.origin.dialect != "langsmith":
        return False
    outputs = sample.extra.get("outputs")
    return "metadata" not in sample.extra and isinstance(outputs, Mapping) and outputs.get("metadata") == {}


def _written_span(span: SpanCitation) -> Record:
    written = {"doc_id": span.file, "start": span.start, "end": span.end, "text": span.text}
    return {**span.extra, **drop_nulls(written)}


_HOLDS = (
    "id question relevant_chunk_ids relevant_spans relevant_spans.text relevant_spans.extra "
    "relevant_documents expectation.refusal metadata"
)


LANGSMITH = RecordDialect(
    name="langsmith",
    kind="langsmith-example",
    holds=frozenset(_HOLDS.split()),
    decode=_decode,
    encode=_encode,
)
