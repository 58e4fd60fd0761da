"""The dialects of the offline pipeline: raw records, and the splits built from them.

Citation tasks have the fields of question answering, and are read as such.

A raw record may say the same thing under several names (see :mod:`.split_mapping`); the writer puts it under
the first of them, with what retrieval did inside ``rag``. Relevant chunks are those that
``metadata.selected_chunk_ids`` names, the category is ``task_type``. Citations are kept as they are: what
they point at depends on who made them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from rag_evaluation_framework.datasets.dialect import Record, RecordDialect
from rag_evaluation_framework.datasets.split_mapping import (
    CHUNK_IDS,
    QUESTION_NAMES,
    REFERENCE_NAMES,
    first_text,
    is_texts,
)
from rag_evaluation_framework.errors import invalid
from rag_evaluation_framework.records.samples import (
    Recorded,
    Sample,
    Turn,
    is_refusal,
    marked_metadata,
    read_expected,
    written_reference,
)

_REFERENCE = REFERENCE_NAMES[0]
_RETRIEVAL_NAMES = ("contexts", "sources", "scores", "retrieved")
_HOLDS = (
    "id question reference recorded.contexts recorded.sources recorded.retrieved "
    "recorded.prompt relevant_chunk_ids expectation.refusal category metadata"
)


class _OfflineDialect(RecordDialect, frozen=True, kw_only=True):
    """Raw records, brought under the names that they are written with before they are read."""

    def sample(self, record: Mapping[str, Any]) -> Sample:
        return super().sample(_renamed(record))


def _renamed(record: Mapping[str, Any]) -> Record:
    """Return a raw record with everything under its first name, and what retrieval did inside ``rag``."""
    renamed = dict(record)
    for names in (QUESTION_NAMES, REFERENCE_NAMES):
        if not first_text(record, names[:1]) and (text := first_text(record, names)):
            renamed[names[0]] = text
            for name in names[1:]:
                if renamed.get(name) == text:
                    del renamed[name]
    rag = dict(record.get("rag", {}))
    for name in _RETRIEVAL_NAMES:
        if name in renamed and name not in rag:
            rag[name] = renamed.pop(name)
    if not rag.get("prompt") and renamed.get("rag_prompt"):
        rag["prompt"] = renamed.pop("rag_prompt")
    return renamed | ({"rag": rag} if rag else {})


def _decode_offline(record: Mapping[str, Any]) -> Sample:
    question = first_text(record, QUESTION_NAMES)
    if not question:
        raise invalid("instruction", "a question", record.get("instruction"), code="missing-field")
    rag = record.get("rag", {})
    reference = first_text(record, REFERENCE_NAMES) or None
    sample = _sample(record, question, reference, retrieval=rag, prompt=rag.get("prompt"))
    # Of a refusal it is kept that it was told by the word.
    return sample if sample.reference == reference else replace(sample, extra={_REFERENCE: reference})


def _encode_offline(sample: Sample) -> Record:
    record: Record = {**_name(sample, "qa"), "instruction": sample.question}
    if sample.reference is not None:
        record[_REFERENCE] = sample.reference
    recorded = sample.recorded or Recorded()
    rag: Record = {} if recorded.prompt is None else {"prompt": recorded.prompt}
    rag |= {name: values for name, values in _retrieval(recorded).items() if values}
    if rag:
        record["rag"] = rag
    metadata = _metadata(sample, is_told=is_refusal(sample.extra.get(_REFERENCE)))
    return record | ({"metadata": metadata} if metadata else {})


def _sample(
    record: Mapping[str, Any],
    question: str,
    reference: str | None,
    *,
    retrieval: Mapping[str, Any],
    prompt: str | None,
) -> Sample:
    recorded = Recorded(
        contexts=tuple(retrieval.get("contexts", ())),
        sources=tuple(retrieval.get("sources", ())),
        retrieved=tuple(retrieval.get("retrieved", ())),
        prompt=prompt,
    )
    expected = read_expected(reference, record.get("metadata"))
    metadata = dict(expected.metadata)
    chunk_ids: Sequence[str] = ()
    if is_texts(metadata.get(CHUNK_IDS)):
        chunk_ids = metadata.pop(CHUNK_IDS)
    return Sample(
        id=record["task_id"],
        turns=(Turn(role="user", content=question),),
        reference=expected.reference,
        recorded=None if recorded == Recorded() else recorded,
        relevant_chunk_ids=tuple(chunk_ids),
        expectation=expected.refusal,
        category=record["task_type"],
        metadata=metadata,
    )


def _split_dialect(name: str, *, kind: str, task_type: str, question: str, reference: str) -> RecordDialect:
    """Return the dialect of a split; ``question`` and ``reference`` are what it calls these fields."""

    def decode(record: Mapping[str, Any]) -> Sample:
        prompt = record["rag_prompt"] or None
        return _sample(record, record[question], record[reference], retrieval=record, prompt=prompt)

    def encode(sample: Sample) -> Record:
        """Return the record of a sample, with every field that a split must have."""
        recorded = sample.recorded or Recorded()
        record: Record = {**_name(sample, task_type), question: sample.question}
        if (text := written_reference(sample)) is not None:
            record[reference] = text
        return record | {
            "rag_prompt": recorded.prompt or "",
            **_retrieval(recorded),
            "citations": [],
            "metadata": _metadata(sample, is_told=sample.reference is None),
        }

    return RecordDialect(
        name=name, kind=kind, holds=frozenset(_HOLDS.split()), needs_ids=True, decode=decode, encode=encode
    )


def _decode_retrieval(record: Mapping[str, Any]) -> Sample:
    """Return the sample of a retrieval diagnostic, whose metadata are left as they are."""
    sample = _sample(
        {**record, "metadata": {}},
        record["question"],
        None,
        retrieval=record,
        prompt=record["rag_prompt"] or None,
    )
    return replace(
        sample, relevant_chunk_ids=tuple(record["relevant_chunk_ids"]), metadata=dict(record["metadata"])
    )


def _encode_retrieval(sample: Sample) -> Record:
    recorded = sample.recorded or Recorded()
    return {
        **_name(sample, "retrieval"),
        "question": sample.question,
        "relevant_chunk_ids": list(sample.relevant_chunk_ids),
        "rag_prompt": recorded.prompt or "",
        **_retrieval(recorded),
        "citations": [],
        "metadata": dict(sample.metadata),
    }


def _name(sample: Sample, task_type: str) -> Record:
    return {"task_id": sample.id, "task_type": sample.category or task_type}


def _retrieval(recorded: Recorded) -> Record:
    return {
        "contexts": list(recorded.contexts),
        "sources": list(recorded.sources),
        "retrieved": [dict(entry) for entry in recorded.retrieved],
    }


def _metadata(sample: Sample, *, is_told: bool) -> Record:
    chunk_ids = {CHUNK_IDS: list(sample.relevant_chunk_ids)} if sample.relevant_chunk_ids else {}
    return {**marked_metadata(sample, is_told=is_told), **chunk_ids}


OFFLINE_RECORDS = _OfflineDialect(
    name="offline-records",
    kind="offline-record",
    holds=frozenset(_HOLDS.split()),
    needs_ids=True,
    decode=_decode_offline,
    encode=_encode_offline,
)
QA_PAIRS = _split_dialect(
    "qa-pairs", kind="qa-pair", task_type="qa", question="question", reference="reference_answer"
)
SUMMARIES = _split_dialect(
    "summaries", kind="summary", task_type="summaries", question="instruction", reference="reference_summary"
)
RETRIEVAL_CASES = RecordDialect(
    name="retrieval-cases",
    kind="retrieval-case",
    holds=frozenset(_HOLDS.split()) - {"reference", "expectation.refusal"},
    needs_ids=True,
    decode=_decode_retrieval,
    encode=_encode_retrieval,
)
