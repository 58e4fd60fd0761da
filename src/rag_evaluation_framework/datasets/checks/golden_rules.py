"""What must hold in the records of golden sets, and what no JSON Schema can say.

================================  ========  ================================================================
code                              severity  meaning
================================  ========  ================================================================
``empty-question``                error     a question, or a turn of the user, without words
``empty-expectation``             error     a name, an end of a relation, a relation or a step without words
``not-a-refusal``                 error     a question to decline whose ground truth says something else
``nothing-asked``                 error     a conversation without a turn of the user
``empty-reference``               warning   a ground truth that is there and says nothing
``nothing-expected``              warning   a conversation that does not say what the assistant should answer
================================  ========  ================================================================

Each rule takes one record, and looks only at the parts that have the right type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from rag_evaluation_framework.datasets.checks.empty_texts import says_nothing
from rag_evaluation_framework.datasets.dialects.expected_refusals import REFUSAL, declines
from rag_evaluation_framework.errors import Issue, Severity, shown

Rule: TypeAlias = Callable[[Mapping[str, Any]], Iterator[Issue]]

_ENDS = {"subject": "who or what it is about", "relation": "a relation", "object": "who or what it is to"}


def golden_record_issues(kind: str, record: Mapping[str, Any]) -> Iterator[Issue]:
    """Yield every breach of the rules by one record of a golden set, in the order of its fields."""
    for rule in GOLDEN_RULES[kind]:
        yield from rule(record)


def _question(record: Mapping[str, Any]) -> Iterator[Issue]:
    yield from _empty(record.get("question"), "question", "a question", code="empty-question")


def _reference(record: Mapping[str, Any]) -> Iterator[Issue]:
    expected = f"an answer, or {REFUSAL}"
    yield from _empty(record.get("ground_truth"), "ground_truth", expected, "warning", code="empty-reference")


def _refusal(record: Mapping[str, Any]) -> Iterator[Issue]:
    truth = record.get("ground_truth")
    if isinstance(truth, str) and not declines(record):
        expected = f"{REFUSAL}, or a refusal_reason beside it"
        yield Issue("not-a-refusal", expected, shown(truth), "ground_truth")


def _names(record: Mapping[str, Any]) -> Iterator[Issue]:
    yield from _empty_items(
        _field(record.get("metrics"), "expected_entities"), "metrics.expected_entities", "a name"
    )


def _triple(record: Mapping[str, Any]) -> Iterator[Issue]:
    for field, expected in _ENDS.items():
        value = _field(record.get("relationship_triple"), field)
        yield from _empty(value, f"relationship_triple.{field}", expected)


def _milestones(record: Mapping[str, Any]) -> Iterator[Issue]:
    yield from _empty_items(record.get("timeline_milestones"), "timeline_milestones", "a step")


def _turns(record: Mapping[str, Any]) -> Iterator[Issue]:
    turns = record.get("conversation")
    if not isinstance(turns, list) or not turns:
        return
    for number, turn in enumerate(turns):
        path = f"conversation[{number}]"
        if _field(turn, "role") == "user":
            words = "what the user says"
            yield from _empty(turn.get("content"), f"{path}.content", words, code="empty-question")
        for issue in _reference(turn) if isinstance(turn, Mapping) else ():
            yield issue.located(within=path)
    roles = [_field(turn, "role") for turn in turns]
    if "user" not in roles:
        yield Issue("nothing-asked", "a turn of the user", "none", "conversation")
    if "assistant" not in roles:
        expected = "a turn of the assistant with its ground_truth"
        yield Issue("nothing-expected", expected, "none", "conversation", "warning")


def _empty_items(values: Any, path: str, expected: str) -> Iterator[Issue]:
    for number, value in enumerate(values if isinstance(values, list) else ()):
        yield from _empty(value, f"{path}[{number}]", expected)


def _empty(
    value: Any,
    path: str,
    expected: str,
    severity: Severity = "error",
    *,
    code: str = "empty-expectation",
) -> Iterator[Issue]:
    if isinstance(value, str) and says_nothing(value):
        yield Issue(code, expected, shown(value), path, severity)


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None


GOLDEN_RULES: Mapping[str, tuple[Rule, ...]] = {
    "golden-factual": (_question, _reference, _names),
    "golden-relationship": (_question, _reference, _names, _triple),
    "golden-tracking": (_question, _reference, _names, _milestones),
    "golden-multiturn": (_turns,),
    "golden-boundary": (_question, _refusal),
}
