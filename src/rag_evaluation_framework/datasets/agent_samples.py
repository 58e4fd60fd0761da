"""Agent samples: a JSON object a line, ``{"input": …, "expected": …, "context": […], …}``.

A line may have an ``id``; where it has none, the sample's content gives it one. ``relevant_documents`` is a
list of ids, which gives each the grade 1, or an object of grades by id; ``relevant_chunk_ids`` is a list.
``expected`` is ``Refusal`` where the question should be declined; ``references`` are answers that are as
right as ``expected``. ``checks`` may stand beside ``expected`` or in its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rag_evaluation_framework.datasets.dialect import (
    Record,
    RecordDialect,
    own_contexts,
    own_id,
    recorded_of,
    written_id,
)
from rag_evaluation_framework.files.strict_json import drop_nulls
from rag_evaluation_framework.records.samples import (
    Sample,
    Turn,
    marked_metadata,
    read_expected,
    written_reference,
)

_DOCUMENTS = "relevant_documents"
_NUGGETS = "nuggets"


def _decode(record: Mapping[str, Any]) -> Sample:
    documents = record.get(_DOCUMENTS, ())
    grades = _grades(documents)
    expected = read_expected(record.get("expected"), record.get("metadata"))
    return Sample(
        id=written_id(record),
        turns=(Turn(role="user", content=record["input"]),),
        reference=expected.reference,
        references=tuple(record.get("references", ())),
        recorded=recorded_of(record.get("context")),
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
    grades = dict(sample.relevant_documents)
    are_written = _are_graded(grades) or isinstance(sample.extra.get(_DOCUMENTS), Mapping)
    return drop_nulls(
        {
            "id": own_id(sample),
            "input": sample.question,
            "expected": written_reference(sample),
            "checks": sample.checks or None,
            "references": list(sample.references) or None,
            "context": own_contexts(sample),
            "reference_contexts": list(sample.reference_contexts) or None,
            _DOCUMENTS: (grades if are_written else list(grades)) or None,
            "relevant_chunk_ids": list(sample.relevant_chunk_ids) or None,
            _NUGGETS: sample.extra.get(_NUGGETS),
            "tags": list(sample.tags) or None,
            "metadata": marked_metadata(sample, is_told=sample.reference is None) or None,
        }
    )


_HOLDS = (
    "id question reference references recorded.contexts reference_contexts relevant_documents grades "
    "relevant_chunk_ids expectation.refusal checks tags metadata"
)


AGENT_SAMPLES = RecordDialect(
    name="agent-samples", kind="agent-sample", holds=frozenset(_HOLDS.split()), decode=_decode, encode=_encode
)
