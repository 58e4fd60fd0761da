"""Agent samples: a JSON object a line, ``{"input": …, "expected": …, "context": […], …}``.

A line may have an ``id``; where it has none, the sample's content gives it one. ``relevant_documents`` is a
list of ids, which gives each the grade 1, or an object of grades by id; ``relevant_chunk_ids`` is a list.
``expected`` is ``Refusal`` where the question should be declined; ``references`` are answers that are as
right as ``expected``. ``checks`` may stand beside ``expected`` or in its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rag_evaluation_framework.datasets.dialect import UNNAMED, Record, RecordDialect, written_id
from rag_evaluation_framework.records.samples import (
    Recorded,
    Sample,
    Turn,
    marked_metadata,
    read_expected,
    written_reference,
)

_DOCUMENTS = "relevant_documents"
_NUGGETS = "nuggets"


def _decode(record: Mapping[str, Any]) -> Sample:
    context, documents = record.get("context"), record.get(_DOCUMENTS, ())
    grades = _grades(documents)
    expected = read_expected(record.get("expected"), record.get("metadata"))
    return Sample(
        id=written_id(record),
        turns=(Turn(role="user", content=record["input"]),),
        reference=expected.reference,
        references=tuple(record.get("references", ())),
        recorded=None
        if context is None
        else Recorded(contexts=tuple(context), retrieved_nothing=not context),
        reference_contexts=tuple(record.get("reference_contexts", ())),
        relevant_documents=grades,
        relevant_chunk_ids=tuple(record.get("relevant_chunk_ids", ())),
        expectation=expected.refusal,
        checks=record.get("checks", ()),
        tags=tuple(record.get("tags", ())),
        metadata=expected.metadata,
        # Of grades that are all 1 it is kept that they were written out.
        extra={
            **({_DOCUMENTS: {}} if isinstance(documents, dict) and not _are_graded(grades) else {}),
            **({_NUGGETS: record[_NUGGETS]} if _NUGGETS in record else {}),
        },
    )


def _grades(documents: Iterable[str] | Mapping[str, int]) -> dict[str, int]:
    if isinstance(documents, Mapping):
        return {document: int(grade) for document, grade in documents.items()}
    return dict.fromkeys(documents, 1)


def _are_graded(grades: Mapping[str, int]) -> bool:
    return any(grade != 1 for grade in grades.values())


def _encode(sample: Sample) -> Record:
    record: Record = {} if sample.id == UNNAMED else {"id": sample.id}
    record["input"] = sample.question
    if (reference := written_reference(sample)) is not None:
        record["expected"] = reference
    if sample.checks:
        record["checks"] = sample.checks
    if sample.references:
        record["references"] = list(sample.references)
    if sample.recorded and (sample.recorded.contexts or sample.recorded.retrieved_nothing):
        record["context"] = list(sample.recorded.contexts)
    if sample.reference_contexts:
        record["reference_contexts"] = list(sample.reference_contexts)
    if sample.relevant_documents:
        grades = dict(sample.relevant_documents)
        are_written = _are_graded(grades) or isinstance(sample.extra.get(_DOCUMENTS), Mapping)
        record[_DOCUMENTS] = grades if are_written else list(grades)
    if sample.relevant_chunk_ids:
        record["relevant_chunk_ids"] = list(sample.relevant_chunk_ids)
    if _NUGGETS in sample.extra:
        record[_NUGGETS] = sample.extra[_NUGGETS]
    if sample.tags:
        record["tags"] = list(sample.tags)
    if metadata := marked_metadata(sample, is_told=sample.reference is None):
        record["metadata"] = metadata
    return record


_HOLDS = (
    "id question reference references recorded.contexts reference_contexts relevant_documents grades "
    "relevant_chunk_ids expectation.refusal checks tags metadata"
)


AGENT_SAMPLES = RecordDialect(
    name="agent-samples", kind="agent-sample", holds=frozenset(_HOLDS.split()), decode=_decode, encode=_encode
)
