"""ragas columns: ``user_input, retrieved_contexts, response, reference, reference_contexts`` and their like.

Read and written as JSON lines, CSV and Parquet. ``user_input`` is a question, or the messages of a
conversation (``{"content": …, "type": "human"}``). A row may have an ``id``; where it has none, the sample's
content gives it one. Messages of tools, and fields that ragas has and a sample has not, are kept as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rag_evaluation_framework.datasets.dialect import (
    Record,
    RecordDialect,
    own_contexts,
    own_id,
    recorded_of,
    written_id,
)
from rag_evaluation_framework.datasets.field_names import message_of, turns_of
from rag_evaluation_framework.errors import invalid
from rag_evaluation_framework.files.strict_json import drop_nulls
from rag_evaluation_framework.records.samples import Sample, Turn, read_expected, refusal_or_answer

_TYPES: Mapping[str, str] = {"user": "human", "assistant": "ai", "system": "system"}


def _decode(record: Mapping[str, Any]) -> Sample:
    chunk_ids = record.get("reference_context_ids") or ()
    expected = read_expected(record.get("reference"))
    return Sample(
        id=written_id(record),
        turns=_turns(record["user_input"]),
        reference=expected.reference,
        recorded=recorded_of(record.get("retrieved_contexts"), record.get("response")),
        reference_contexts=tuple(record.get("reference_contexts") or ()),
        expectation=expected.refusal,
        relevant_chunk_ids=tuple(chunk_ids) if all(isinstance(item, str) for item in chunk_ids) else (),
    )


def _turns(user_input: Any) -> tuple[Turn, ...]:
    if isinstance(user_input, str):
        return (Turn(role="user", content=user_input),)
    turns = turns_of(message_of(message) for message in user_input if isinstance(message.get("content"), str))
    if not any(turn.role == "user" for turn in turns):
        raise invalid(
            "user_input", "at least one message of type 'human' with its content as text", user_input
        )
    return turns


def _encode(sample: Sample) -> Record:
    messages = [
        {"content": turn.reference or "" if turn.content is None else turn.content, "type": _TYPES[turn.role]}
        for turn in sample.turns
    ]
    return drop_nulls(
        {
            "id": own_id(sample),
            "user_input": sample.question if len(messages) == 1 else messages,
            "retrieved_contexts": own_contexts(sample),
            "response": sample.recorded and sample.recorded.answer,
            "reference": refusal_or_answer(sample, "reference"),
            "reference_contexts": list(sample.reference_contexts) or None,
            "reference_context_ids": list(sample.relevant_chunk_ids) or None,
        }
    )


_HOLDS = (
    "id question reference recorded.contexts recorded.answer reference_contexts "
    "relevant_chunk_ids expectation.refusal"
)


RAGAS = RecordDialect(
    name="ragas",
    kind="ragas-record",
    holds=frozenset(_HOLDS.split()),
    decode=_decode,
    encode=_encode,
    layouts=("lines", "csv", "parquet", "array"),
)
