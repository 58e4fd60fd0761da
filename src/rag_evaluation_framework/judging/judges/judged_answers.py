"""What a judge says of an answer as a whole: relevant, safe, an answer at all; and of what was retrieved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rag_evaluation_framework.judging.classes.answer_classes import AnswerClass
from rag_evaluation_framework.judging.judges.judge import Judge, Verdict, failed_votes
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRatings:
    """For each retrieved text whether it helps. ``details`` has what each model said of each; ``None`` of a
    blank one, about which nobody was asked."""

    useful: list[bool] = field(hash=False)
    agreement: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)


def panel_fields(agreement: float | None, details: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the votes were and how far they agreed; nothing where there was only one."""
    if agreement is None:
        return {}
    failed = failed_votes(details)
    told = {"failed_votes": failed} if failed else {}
    return {"agreement": round(agreement, 4), **told, "votes": details["votes"]}


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
    return AnswerClass(answer_class_verdict(judge, question, answer).values["label"])


def answer_class_verdict(judge: Judge, question: str, answer: str) -> Verdict:
    """Have the kind of an answer judged: ``label`` and ``reason`` are among the values of the verdict."""
    return judge.verdict("answer_class", {"question": question, "answer": answer})


def judge_context_relevance(
    judge: Judge, question: str, contexts: Sequence[str], *, reference: str | None = None
) -> ContextRatings:
    """Say for each retrieved text whether it helps to answer the question. A blank one does not."""
    there = [number for number, context in enumerate(contexts) if context.strip()]
    if not there:
        return ContextRatings(useful=[False] * len(contexts))
    fields = {
        "question": question,
        "reference": reference or "",
        "contexts": [contexts[number] for number in there],
    }
    verdict = judge.verdict("context_relevance", fields)
    labels = _placed([entry["label"] for entry in verdict.values["contexts"]], there, len(contexts))
    votes = [
        {**vote, "value": _placed(vote["value"], there, len(contexts))} if "value" in vote else vote
        for vote in verdict.details["votes"]
    ]
    return ContextRatings(
        useful=[label == "useful" for label in labels], agreement=verdict.agreement, details={"votes": votes}
    )


def _placed(labels: Sequence[str], places: Sequence[int], count: int) -> list[str | None]:
    """Return ``count`` entries: the labels at their places, ``None`` at the others."""
    by_place = dict(zip(places, labels, strict=True))
    return [by_place.get(place) for place in range(count)]


def _unproved(value: Mapping[str, Any], answer: str) -> str | None:
    if value["label"] == "clean" or find_quote(value["quote"], [answer]) is not None:
        return None
    return "quote: expected a passage copied character by character, unbroken, from the text"
