"""Support, relevance, safety and classes by a judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from rag_evaluation_framework.judging.answer_classes import AnswerClass
from rag_evaluation_framework.judging.judge import Judge, Verdict, failed_votes
from rag_evaluation_framework.models.prompts import load_prompt
from rag_evaluation_framework.records.scores import Claim, ClaimVerdict, Evidence
from rag_evaluation_framework.text.search import find_quote


def quoted_evidence(
    quote: str, texts: Sequence[str], *, expected: int = 0, fewest_words: int = 1
) -> Evidence | None:
    """Return the passage of a text that a judge quotes; ``None`` where the quote stands in none."""
    found = find_quote(quote, texts, expected=expected, fewest_words=fewest_words)
    if found is None:
        return None
    number, place = found
    return Evidence(number, *place, place.of(texts[number]))


# Support by a judge: whether the evidence supports each claim, proved by a quote that stands in it.

CLAIMS_AT_ONCE = 20
"""Judges lose count in long lists, and a reply for more could be cut off."""

FEWEST_WORDS = 2
"""Minimum words of a quote: one word by itself is in too many places to prove a claim."""

_PROMPT = "claim_support"


class JudgeSupport:
    """Fulfils ``SupportMethod`` by asking a judge.

    A claim is *supported* or *contradicted* only with a quote that is found in the evidence, of two words or
    more or a whole sentence; a judge who gives none is asked once more, and then there is no verdict but a
    :class:`ModelError`. Evidence is never cut.
    """

    is_slow = True

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.name = judge.name
        self.version = load_prompt(_PROMPT).version

    def decide(
        self, claims: Sequence[Claim], evidence: Sequence[str], *, question: str = ""
    ) -> list[ClaimVerdict]:
        """Return a verdict for each claim, in order. Where there is no evidence, no claim is supported."""
        if not any(text.strip() for text in evidence):
            return [ClaimVerdict(claim=claim, label="unsupported") for claim in claims]
        batches = (claims[start : start + CLAIMS_AT_ONCE] for start in range(0, len(claims), CLAIMS_AT_ONCE))
        return [each for batch in batches for each in self._of_batch(batch, evidence, question)]

    def _of_batch(
        self, claims: Sequence[Claim], evidence: Sequence[str], question: str
    ) -> list[ClaimVerdict]:
        fields = {
            "question": question,
            "claims": [claim.text for claim in claims],
            "evidence": list(evidence),
        }
        verdict = self.judge.verdict(_PROMPT, fields, check=lambda value: _problem(value, evidence))
        entries = verdict.values["claims"]
        failed = failed_votes(verdict.details)
        shares = verdict.shares or (None,) * len(entries)
        return [
            replace(_verdict(claim, entry, evidence), agreement=share, failed_votes=failed)
            for claim, entry, share in zip(claims, entries, shares, strict=True)
        ]


def _problem(value: Mapping[str, Any], evidence: Sequence[str]) -> str | None:
    """Return the problem: the claims decided without a quote. Their words may be bait."""
    decided = [entry for entry in value["claims"] if entry["label"] != "unsupported"]
    nowhere = [str(entry["number"]) for entry in decided if not 1 <= entry["evidence"] <= len(evidence)]
    if nowhere:
        return f"claims {', '.join(nowhere)}: expected the number of an evidence text, 1 to {len(evidence)}"
    unproved = [str(entry["number"]) for entry in decided if _quoted(entry, evidence) is None]
    if not unproved:
        return None
    return (
        f"claims {', '.join(unproved)}: expected a quote copied character by character, unbroken, from the "
        f"evidence, of {FEWEST_WORDS} whole words or more; a claim without one is unsupported"
    )


def _quoted(entry: Mapping[str, Any], evidence: Sequence[str]) -> Evidence | None:
    expected = entry["evidence"] - 1
    return quoted_evidence(entry["quote"], evidence, expected=expected, fewest_words=FEWEST_WORDS)


def _verdict(claim: Claim, entry: Mapping[str, Any], evidence: Sequence[str]) -> ClaimVerdict:
    found = _quoted(entry, evidence)
    label = entry["label"]
    conflicts = (f"evidence says: {found.text}",) if label == "contradicted" and found is not None else ()
    return ClaimVerdict(claim=claim, label=label, evidence=found, conflicts=conflicts)


# What a judge says of an answer as a whole: relevant, safe, an answer at all; and of what was retrieved.

RELEVANCY: Mapping[str, float] = {"fully": 1.0, "partly": 0.5, "not": 0.0}
SAFETY: Mapping[str, float] = {"clean": 1.0, "mild": 0.5, "severe": 0.0}

SafetyKind = Literal["toxicity", "bias"]


class Rating(msgspec.Struct, frozen=True, kw_only=True):
    """A label of a small set, the number it stands for, and why; ``quote`` shows where in the answer."""

    value: float
    label: str
    reason: str
    quote: Evidence | None = None
    agreement: float | None = None
    details: Mapping[str, Any] = {}


class ContextRatings(msgspec.Struct, frozen=True, kw_only=True):
    """For each retrieved text whether it helps. ``details`` has what each model said of each; ``None`` of a
    blank one, about which nobody was asked."""

    useful: list[bool]
    agreement: float | None = None
    details: Mapping[str, Any] = {}


def panel_fields(agreement: float | None, details: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the votes were and how far they agreed; nothing where there was only one."""
    if agreement is None:
        return {}
    failed = failed_votes(details)
    told = {"failed_votes": failed} if failed else {}
    return {"agreement": round(agreement, 4), **told, "votes": details["votes"]}


def judge_relevancy(judge: Judge, question: str, answer: str) -> Rating:
    """Rate whether an answer addresses the question: fully (1), partly (0.5) or not (0)."""
    return _rating(judge.verdict("relevancy", {"question": question, "answer": answer}), RELEVANCY)


def judge_safety(judge: Judge, kind: SafetyKind, answer: str) -> Rating:
    """Rate an answer as clean (1), mild (0.5) or severe (0); what is not clean is quoted."""
    verdict = judge.verdict(kind, {"answer": answer}, check=lambda value: _unproved(value, answer))
    is_clean = verdict.values["label"] == "clean"
    return _rating(verdict, SAFETY, None if is_clean else quoted_evidence(verdict.values["quote"], [answer]))


def _rating(verdict: Verdict, values: Mapping[str, float], quote: Evidence | None = None) -> Rating:
    label, reason = verdict.values["label"], verdict.values["reason"]
    return Rating(
        value=values[label],
        label=label,
        reason=reason,
        quote=quote,
        agreement=verdict.agreement,
        details=verdict.details,
    )


def judge_answer_class(judge: Judge, question: str, answer: str) -> AnswerClass:
    """Return the class of an answer by a judge, as ``classify_answer`` does by patterns."""
    return AnswerClass(answer_class_verdict(judge, question, answer).values["label"])


def answer_class_verdict(judge: Judge, question: str, answer: str) -> Verdict:
    """Have the kind of an answer judged: ``label`` and ``reason`` are among the values of the verdict."""
    return judge.verdict("answer_class", {"question": question, "answer": answer})


def judge_context_relevance(
    judge: Judge, question: str, contexts: Sequence[str], *, reference: str | None = None
) -> ContextRatings:
    """Return, for each retrieved text, True if it helps to answer the question."""
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


GRADED_AT_ONCE = 10


class ContextGrades(msgspec.Struct, frozen=True, kw_only=True):
    """For each retrieved text how relevant it is, 0 to 3, and why; a blank one has 0 and no reason."""

    grades: list[float]
    reasons: list[str | None]
    agreement: float | None = None
    votes: list[Mapping[str, Any]] = []


def judge_relevance_grades(judge: Judge, question: str, contexts: Sequence[str]) -> ContextGrades:
    """Grade each retrieved text by its relevance to the question, without any reference.

    Votes are numbers, so of several the median counts.
    """
    there = [number for number, context in enumerate(contexts) if context.strip()]
    entries: dict[int, Mapping[str, Any]] = {}
    shares, votes = [], []
    for start in range(0, len(there), GRADED_AT_ONCE):
        places = there[start : start + GRADED_AT_ONCE]
        fields = {"question": question, "contexts": [contexts[place] for place in places]}
        verdict = judge.verdict("relevance_grade", fields)
        entries |= dict(zip(places, verdict.values["contexts"], strict=True))
        shares += [] if verdict.agreement is None else [verdict.agreement]
        votes += verdict.details["votes"]
    found = [entries.get(place, {"grade": 0, "reason": None}) for place in range(len(contexts))]
    return ContextGrades(
        grades=[float(entry["grade"]) for entry in found],
        reasons=[entry["reason"] for entry in found],
        agreement=sum(shares) / len(shares) if shares else None,
        votes=votes,
    )


def _placed(labels: Sequence[str], places: Sequence[int], count: int) -> list[str | None]:
    """Return ``count`` entries: the labels at their places, ``None`` at the others."""
    by_place = dict(zip(places, labels, strict=True))
    return [by_place.get(place) for place in range(count)]


def _unproved(value: Mapping[str, Any], answer: str) -> str | None:
    if value["label"] == "clean" or find_quote(value["quote"], [answer]) is not None:
        return None
    return "quote: expected a passage copied character by character, unbroken, from the text"
