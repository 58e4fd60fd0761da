"""What a judge says of an answer as a whole: relevant, safe, an answer at all; and of what was retrieved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rag_evaluation_framework.judging.classes.answer_classes import AnswerClass
from rag_evaluation_framework.judging.judges.judge import Judge
from rag_evaluation_framework.judging.judges.quotes import find_quote
from rag_evaluation_framework.judging.verdicts import Evidence

RELEVANCY: Mapping[str, float] = {"fully": 1.0, "partly": 0.5, "not": 0.0}
SAFETY: Mapping[str, float] = {"clean": 1.0, "mild": 0.5, "severe": 0.0}

SafetyKind = Literal["toxicity", "bias"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """A label of a small set, the number it stands for, and why; ``quote`` shows where in the answer."""

    value: float
    label: str
    reason: str
    quote: Evidence | None = None
    agreement: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)


def judge_relevancy(judge: Judge, question: str, answer: str) -> Rating:
    """Rate whether an answer addresses the question: fully (1), partly (0.5) or not (0)."""
    verdict = judge.verdict("relevancy", {"question": question, "answer": answer})
    label = verdict.values["label"]
    return Rating(
        value=RELEVANCY[label],
        label=label,
        reason=verdict.values["reason"],
        agreement=verdict.agreement,
        details=verdict.details,
    )


def judge_safety(judge: Judge, kind: SafetyKind, answer: str) -> Rating:
    """Rate an answer as clean (1), mild (0.5) or severe (0); what is not clean is quoted."""
    verdict = judge.verdict(kind, {"answer": answer}, check=lambda value: _unproved(value, answer))
    label = verdict.values["label"]
    return Rating(
        value=SAFETY[label],
        label=label,
        reason=verdict.values["reason"],
        quote=None if label == "clean" else find_quote(verdict.values["quote"], [answer]),
        agreement=verdict.agreement,
        details=verdict.details,
    )


def judge_answer_class(judge: Judge, question: str, answer: str) -> AnswerClass:
    """Say what kind of answer a text is, as ``classify_answer`` does by patterns."""
    verdict = judge.verdict("answer_class", {"question": question, "answer": answer})
    return AnswerClass(verdict.values["label"])


def judge_context_relevance(
    judge: Judge, question: str, contexts: Sequence[str], *, reference: str | None = None
) -> list[bool]:
    """Say for each retrieved text whether it helps to answer the question. A blank one does not."""
    there = [number for number, context in enumerate(contexts) if context.strip()]
    if not there:
        return [False] * len(contexts)
    fields = {
        "question": question,
        "reference": reference or "",
        "contexts": [contexts[number] for number in there],
    }
    verdict = judge.verdict("context_relevance", fields)
    labels = {number: entry["label"] for number, entry in zip(there, verdict.values["contexts"], strict=True)}
    return [labels.get(number) == "useful" for number in range(len(contexts))]


def _unproved(value: Mapping[str, Any], answer: str) -> str | None:
    if value["label"] == "clean" or find_quote(value["quote"], [answer]) is not None:
        return None
    return "quote: expected a passage copied character by character, unbroken, from the text"
