"""Scores answers claim by claim and context by context, whoever gives the verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rag_evaluation_framework.evaluation.scorers.answer_verdicts import AnswerVerdicts, VerdictMemory, flags
from rag_evaluation_framework.evaluation.scorers.metric_scorer import DeclaredMetricScorer
from rag_evaluation_framework.judging.verdicts import ClaimVerdict
from rag_evaluation_framework.metrics.declaration import BoundMetric
from rag_evaluation_framework.metrics.similarity import answer_similarity
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Score

# What each metric's function is called with.
_ARGUMENTS: Mapping[str, Callable[[AnswerVerdicts], tuple[Sequence[bool], ...]]] = {
    "faithfulness": lambda on: (flags(on.by_contexts),),
    "hallucination": lambda on: (flags(on.by_contexts),),
    "claim_precision": lambda on: (flags(on.by_reference),),
    "claim_recall": lambda on: (flags(on.recalled),),
    "claim_f1": lambda on: (flags(on.by_reference), flags(on.recalled)),
    "claim_hallucination": lambda on: (flags(on.by_reference), flags(on.by_contexts)),
    "self_knowledge": lambda on: (flags(on.by_reference), flags(on.by_contexts)),
    "context_utilization": lambda on: (flags(on.recalled), flags(on.retrieved)),
    "noise_sensitivity": lambda on: (flags(on.by_reference), on.misled),
    "answer_correctness": lambda on: (flags(on.by_reference), flags(on.recalled)),
    "context_precision": lambda on: (on.useful_contexts,),
    "context_recall": lambda on: (flags(on.attributed),),
}
# Which verdicts each metric asks for: as many questions to a judge, and more where claims are many.
_QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "faithfulness": ("by_contexts",),
    "hallucination": ("by_contexts",),
    "claim_precision": ("by_reference",),
    "claim_recall": ("recalled",),
    "claim_f1": ("by_reference", "recalled"),
    "claim_hallucination": ("by_reference", "by_contexts"),
    "self_knowledge": ("by_reference", "by_contexts"),
    "context_utilization": ("recalled", "retrieved"),
    "noise_sensitivity": ("by_reference", "useful_contexts", "misled"),
    "answer_correctness": ("by_reference", "recalled"),
    "context_precision": ("useful_contexts",),
    "context_recall": ("attributed",),
}
# Which verdicts are shown beside the value: those on the answer where it is judged, else on the truth.
_SHOWN: Mapping[str, Callable[[AnswerVerdicts], Sequence[ClaimVerdict]]] = {
    "faithfulness": lambda on: on.by_contexts,
    "hallucination": lambda on: on.by_contexts,
    "claim_precision": lambda on: on.by_reference,
    "claim_recall": lambda on: on.recalled,
    "context_recall": lambda on: on.attributed,
    "answer_correctness": lambda on: on.by_reference,
}
_ABOUT_THE_ANSWER = frozenset(
    {
        "faithfulness",
        "hallucination",
        "claim_precision",
        "claim_f1",
        "claim_hallucination",
        "self_knowledge",
        "noise_sensitivity",
    }
)

CLAIM_METRICS = frozenset(_ARGUMENTS)


class ClaimScorer(DeclaredMetricScorer):
    """Scores by the verdicts that one method gives on claims; scorers of one method share its memory."""

    def __init__(self, metric: BoundMetric, memory: VerdictMemory, *, is_slow: bool) -> None:
        method = memory.support.name
        if metric.metric.name == "answer_correctness":
            method += " + chrF"
        questions = _QUESTIONS[metric.metric.name] if is_slow else ()
        super().__init__(
            metric,
            method=method,
            method_version=memory.support.version,
            is_slow=is_slow,
            questions=questions,
        )
        self._memory = memory

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score the answer by the verdicts on its claims."""
        on = self._memory.verdicts_on(sample, response)
        name = self.metric.metric.name
        if name in _ABOUT_THE_ANSWER and not on.claims:
            return self.skipped(on.no_claims_because)
        options = (
            {"similarity": answer_similarity(on.answer, on.reference)} if name == "answer_correctness" else {}
        )
        value = self.metric(*_ARGUMENTS[name](on), **options)
        if value is None:
            return self.skipped(f"nothing to score: {self.metric.metric.empty}")
        shown = _SHOWN.get(name)
        return self.scored(value, {"claims": [verdict_fields(each) for each in shown(on)]} if shown else None)


def verdict_fields(verdict: ClaimVerdict) -> dict[str, Any]:
    """Return a verdict as plain values; texts are left out, for their characters are told."""
    found: dict[str, Any] = {
        "start": verdict.claim.start,
        "end": verdict.claim.end,
        "label": verdict.label,
    }
    if verdict.probability is not None:
        found["probability"] = round(verdict.probability, 4)
    if verdict.agreement is not None:
        found["agreement"] = round(verdict.agreement, 4)
    if verdict.evidence is not None:
        evidence = verdict.evidence
        found["evidence"] = {"number": evidence.number, "start": evidence.start, "end": evidence.end}
    if verdict.new_tokens:
        found["new_tokens"] = [[token.start, token.end] for token in verdict.new_tokens]
    if verdict.conflicts:
        found["conflicts"] = list(verdict.conflicts)
    return found
