"""The five golden sets: facts, relations, tracking over chapters, conversations, and questions to decline.

Each is a JSON array written by hand. ``//`` comments are accepted (validation warns of them) and are lost
when the file is written; every field is kept. The ground truth ``Refusal`` is an expectation, never a text;
a snippet of dots alone is one that has still to be filled in, and counts as missing. What must not be empty
is in :mod:`.consistency`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec

from rag_evaluation_framework.datasets.consistency import says_nothing
from rag_evaluation_framework.datasets.dialect import Record, RecordDialect
from rag_evaluation_framework.errors import InputError, invalid
from rag_evaluation_framework.files.json_scanner import without_comments
from rag_evaluation_framework.files.strict_json import drop_nulls
from rag_evaluation_framework.metrics.safety import REFUSALS
from rag_evaluation_framework.records.samples import (
    REFUSAL,
    Entities,
    Expectation,
    Milestones,
    Refusal,
    Relation,
    Sample,
    Turn,
    declines,
    is_refusal,
    refusal_or_answer,
)

_TURN_FIELDS = ("role", "content", "ground_truth", "context_needs")


_FILE_FIELDS = ("file", "file_name", "path", "source", "source_path")
"""Names of the field with the file of a golden context; the first that is there counts."""


class GoldenContext(msgspec.Struct, frozen=True):
    """The place of an expected passage: a snippet under a header of a file, or the whole section.

    What is missing is ``None``; ``is_open`` is a snippet that has still to be filled in.
    """

    file: str | None
    header: str | None
    snippet: str | None
    file_field: str
    header_field: str
    path: str
    """Path in its record: ``golden_context[1]``."""
    is_open: bool = False


def contexts_of_record(record: Mapping[str, Any]) -> list[GoldenContext]:
    """Return the golden contexts of a record, which may have one object, a list of them, or none."""
    value = record.get("golden_context", [])
    if isinstance(value, Mapping):
        return [_context(value, "golden_context")]
    return [_context(context, f"golden_context[{index}]") for index, context in enumerate(value)]


def golden_contexts(sample: Sample) -> list[GoldenContext]:
    """Return the golden contexts of a sample as its file has them; samples of other dialects have none."""
    dialect = GOLDEN_DIALECTS.get(sample.origin.dialect) if sample.origin else None
    return contexts_of_record(dialect.record(sample)) if dialect else []


def _context(context: Mapping[str, Any], path: str) -> GoldenContext:
    snippet = context.get("snippet")
    header = "scene_header" if "scene_header" in context else "scene"
    named = (name for name in _FILE_FIELDS if isinstance(context.get(name), str) and context[name])
    file_field = next(named, "file")
    is_open = snippet is not None and says_nothing(snippet)
    return GoldenContext(
        file=context.get(file_field) or None,
        header=context.get(header) or None,
        snippet=None if is_open else snippet,
        file_field=file_field,
        header_field=header,
        path=path,
        is_open=is_open,
    )


def _decode_question(record: Mapping[str, Any], *, expected: type[Expectation]) -> Sample:
    """Read a record that asks one question; ``expected`` is what this golden set is about."""
    truth = _object(record)["ground_truth"]
    refuses = declines(record) if expected is Refusal else is_refusal(truth)
    return Sample(
        id=record["id"],
        turns=(Turn(role="user", content=record["question"]),),
        reference=None if refuses or (record.get("checks") and not truth) else truth,
        expectation=_refusal(record) if refuses else _expectation(record, expected),
        checks=record.get("checks", ()),
        **_described(record),
    )


def _encode_question(sample: Sample, *, expected: type[Expectation]) -> Record:
    turn = sample.turns[0]
    if len(sample.turns) > 1 or turn.role != "user":
        roles = ", ".join(turn.role for turn in sample.turns)
        raise invalid("question", "one turn of the user", roles, code="not-held")
    record: Record = {"id": sample.id, "question": turn.content}
    if (truth := refusal_or_answer(sample, "ground_truth")) is not None:
        record["ground_truth"] = truth
    if sample.checks:
        record = {"ground_truth": "", **record, "checks": sample.checks}
    if isinstance(sample.expectation, (expected, Refusal)):
        record |= _encoded_expectation(sample.expectation)
    return _with_description(record, sample)


def _decode_conversation(record: Mapping[str, Any]) -> Sample:
    turns = []
    for index, turn in enumerate(_object(record)["conversation"]):
        try:
            turns.append(_decoded_turn(turn))
        except InputError as error:
            raise error.located(within=f"conversation[{index}]") from None
    return Sample(id=record["id"], turns=tuple(turns), **_described(record))


def _encode_conversation(sample: Sample) -> Record:
    conversation = [_encoded_turn(turn) for turn in sample.turns]
    return _with_description({"id": sample.id, "conversation": conversation}, sample)


def _decoded_turn(turn: Mapping[str, Any]) -> Turn:
    truth = turn.get("ground_truth")
    refuses = is_refusal(truth)
    return Turn(
        role=turn["role"],
        content=turn.get("content"),
        reference=None if refuses else truth,
        needs=tuple(turn.get("context_needs", ())),
        expectation=Refusal() if refuses else None,
        extra={key: value for key, value in turn.items() if key not in _TURN_FIELDS},
    )


def _encoded_turn(turn: Turn) -> Record:
    truth = turn.reference if turn.expectation is None else REFUSAL
    values = (turn.role, turn.content, truth, list(turn.needs) or None)
    return drop_nulls(dict(zip(_TURN_FIELDS, values, strict=True))) | dict(turn.extra)


def _object(record: Any) -> Mapping[str, Any]:
    # The schema is that of a file, which may be a list; a list within a list is not a record.
    if not isinstance(record, Mapping):
        raise invalid("", "an object", record, code="wrong-type")
    return record


def _described(record: Mapping[str, Any]) -> dict[str, Any]:
    """Read what all five sets have in common."""
    contexts = contexts_of_record(record)
    return {
        "reference_contexts": tuple(context.snippet for context in contexts if context.snippet is not None),
        "relevant_documents": {context.file: 1 for context in contexts if context.file is not None},
        "category": record.get("category"),
        "difficulty": record.get("metrics", {}).get("difficulty"),
    }


def _with_description(record: Record, sample: Sample) -> Record:
    """Write what all five sets have in common, the metrics joined with those there are."""
    metrics = {**record.get("metrics", {}), **drop_nulls({"difficulty": sample.difficulty})}
    snippets, files = sample.reference_contexts, list(sample.relevant_documents)
    own = sample.extra.get("golden_context")
    if isinstance(own, Mapping) and files == [own[name] for name in _FILE_FIELDS if name in own]:
        files = []  # its own file calls it by another name, which is kept
    contexts: Record | list[Record]
    if len(snippets) <= 1 and len(files) <= 1:
        contexts = dict(zip(("file",), files, strict=False)) | dict(zip(("snippet",), snippets, strict=False))
    else:
        # Which snippet stands in which file is not known here, so nothing is said of it.
        contexts = [{"snippet": snippet} for snippet in snippets] + [{"file": file} for file in files]
    described = {"category": sample.category, "metrics": metrics or None, "golden_context": contexts or None}
    return record | drop_nulls(described)


def _refusal(record: Mapping[str, Any]) -> Refusal:
    return Refusal(reason=record.get("refusal_reason"), pattern=record.get("expected_response_pattern"))


def _expectation(record: Mapping[str, Any], expected: type[Expectation]) -> Expectation | None:
    if expected is Entities and "expected_entities" in record.get("metrics", {}):
        return Entities(names=tuple(record["metrics"]["expected_entities"]))
    if expected is Relation:
        triple = record["relationship_triple"]
        return Relation(subject=triple["subject"], relation=triple["relation"], object=triple["object"])
    if expected is Milestones:
        hops = record.get("context_hops")
        return Milestones(
            steps=tuple(record["timeline_milestones"]), hops=None if hops is None else int(hops)
        )
    return None


def _encoded_expectation(expectation: Expectation) -> Record:
    match expectation:
        case Entities(names=names):
            return {"metrics": {"expected_entities": list(names)}}
        case Relation(subject=subject, relation=relation, object=object_):
            return {"relationship_triple": {"subject": subject, "relation": relation, "object": object_}}
        case Milestones(steps=steps, hops=hops):
            return {"timeline_milestones": list(steps)} | ({} if hops is None else {"context_hops": hops})
        case Refusal(reason=reason, pattern=pattern):
            return drop_nulls({"refusal_reason": reason, "expected_response_pattern": pattern})


_COMMON = frozenset({"id", "reference_contexts", "relevant_documents", "category", "difficulty"})
_QUESTION = _COMMON | {"question", "checks"}
_REFUSAL = frozenset({"expectation.refusal", "expectation.reason", "expectation.pattern"})


_SETTINGS: Mapping[str, Any] = {"layouts": ("array", "lines"), "needs_ids": True, "prepare": without_comments}

_TEXT = _QUESTION | {"reference"}
FACTUAL, RELATIONSHIP, TRACKING, BOUNDARY = [
    RecordDialect(
        name=name,
        kind=name,
        holds=holds,
        decode=partial(_decode_question, expected=expected),
        encode=partial(_encode_question, expected=expected),
        **_SETTINGS,
    )
    for name, expected, holds in (
        ("golden-factual", Entities, _TEXT | _REFUSAL | {"expectation.entities"}),
        ("golden-relationship", Relation, _TEXT | {"expectation.relation"}),
        ("golden-tracking", Milestones, _TEXT | {"expectation.milestones"}),
        ("golden-boundary", Refusal, _QUESTION | _REFUSAL),
    )
]
MULTITURN = RecordDialect(
    name="golden-multiturn",
    kind="golden-multiturn",
    holds=_COMMON | {"turns", "turns.checks"},
    decode=_decode_conversation,
    encode=_encode_conversation,
    **_SETTINGS,
)

GOLDEN_DIALECTS: Mapping[str, RecordDialect] = {
    dialect.name: dialect for dialect in (FACTUAL, RELATIONSHIP, TRACKING, MULTITURN, BOUNDARY)
}


_SPANS = "span_recall span_precision"
_STEPS = "milestone_recall milestone_order hop_coverage"


class Split(msgspec.Struct, frozen=True):
    """One of the five golden sets: what its dialect is called, and what it is scored by."""

    name: str
    dialect: str
    metrics: tuple[str, ...]

    @property
    def file(self) -> str:
        """Return the usual name of its file."""
        return GOLDEN_DIALECTS[self.dialect].suffixes[0]


SPLITS: Mapping[str, Split] = {
    name: Split(name, f"golden-{kind}", (*metrics.split(), *REFUSALS))
    for name, kind, metrics in (
        ("facts", "factual", f"entity_coverage answer_similarity token_f1 faithfulness {_SPANS}"),
        ("relations", "relationship", f"relation_match answer_similarity token_f1 faithfulness {_SPANS}"),
        ("tracking", "tracking", f"{_STEPS} answer_similarity faithfulness {_SPANS}"),
        ("multiturn", "multiturn", "turn_correctness context_turn_correctness faithfulness"),
        ("boundary", "boundary", ""),
    )
}
