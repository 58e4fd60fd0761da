"""Agent samples: a JSON object a line, ``{"input": …, "expected": …, "context": […], …}``.

A line may have an ``id``; where it has none, the sample's content gives it one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rag_evaluation_framework.datasets.dialects.record_dialect import Record, RecordDialect
from rag_evaluation_framework.datasets.dialects.sample_ids import UNNAMED, written_id
from rag_evaluation_framework.records.samples import Recorded, Sample, Turn


def _decode(record: Mapping[str, Any]) -> Sample:
    context = record.get("context")
    return Sample(
        id=written_id(record),
        turns=(Turn(role="user", content=record["input"]),),
        reference=record["expected"],
        recorded=Recorded(contexts=tuple(context)) if context else None,
        reference_contexts=tuple(record.get("reference_contexts", ())),
        tags=tuple(record.get("tags", ())),
        metadata=record.get("metadata", {}),
    )


def _encode(sample: Sample) -> Record:
    record: Record = {} if sample.id == UNNAMED else {"id": sample.id}
    record["input"] = sample.question
    if sample.reference is not None:
        record["expected"] = sample.reference
    if sample.recorded and sample.recorded.contexts:
        record["context"] = list(sample.recorded.contexts)
    if sample.reference_contexts:
        record["reference_contexts"] = list(sample.reference_contexts)
    if sample.tags:
        record["tags"] = list(sample.tags)
    if sample.metadata:
        record["metadata"] = dict(sample.metadata)
    return record


AGENT_SAMPLES = RecordDialect(
    name="agent-samples",
    kind="agent-sample",
    suffixes=(".jsonl",),
    holds=frozenset(
        {"id", "question", "reference", "recorded.contexts", "reference_contexts", "tags", "metadata"}
    ),
    decode=_decode,
    encode=_encode,
    signature=lambda record: "input" in record and "expected" in record,
)
