"""Scores answers claim by claim and context by context, whoever gives the verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rag_evaluation_framework.evaluation.scorers.answer_verdicts import AnswerVerdicts
from rag_evaluation_framework.evaluation.scorers.shared_verdicts import SharedVerdicts, SupportScorer
from rag_evaluation_framework.metrics.declaration import BoundMetric
from rag_evaluation_framework.metrics.texts import answer_similarity
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import ClaimVerdict, Score


class _Claims(NamedTuple):
    """Which of the :class:`AnswerVerdicts`, by their names, a metric is computed from.

    A judge is asked for each of them, and for those it ``also_asks``: more than once where claims are many.
    ``shown`` are the verdicts beside the value. Without the claims that it ``needs``, a metric has no value.
    """

    verdicts: tuple[str, ...]
    shown: str | None = None
    needs: tuple[str, ...] = ("claims",)
    also_asks: tuple[str, ...] = ()


_OF_REFERENCE = ("reference_claims",)
_OF_BOTH = ("claims", "reference_claims")

_METRICS: Mapping[str, _Claims] = {
    "faithfulness": _Claims(("by_contexts",), "by_contexts"),
    "hallucination": _Claims(("by_contexts",), "by_contexts"),
    "claim_precision": _Claims(("by_reference",), "by_reference", _OF_BOTH),
    "claim_recall": _Claims(("reference_by_answer",), "reference_by_answer", _OF_REFERENCE),
    "claim_f1": _Claims(("by_reference", "reference_by_answer"), needs=_OF_BOTH),
    "claim_hallucination": _Claims(("by_reference", "by_contexts")),
    "self_knowledge": _Claims(("by_reference", "by_contexts")),
    "context_utilization": _Claims(("reference_by_answer", "reference_by_contexts"), needs=_OF_REFERENCE),
    "noise_sensitivity": _Claims(
        ("by_reference", "by_useful_contexts"), needs=_OF_BOTH, also_asks=("useful_contexts",)
    ),
    "answer_correctness": _Claims(("by_reference", "reference_by_answer"), "by_reference", _OF_REFERENCE),
    "context_precision": _Claims(("useful_contexts",), needs=("sought_claims",)),
    "context_recall": _Claims(("truth_by_contexts",), "truth_by_contexts", needs=()),
}

CLAIM_METRICS = frozenset(_METRICS)


class ClaimScorer(SupportScorer):
    """Scores by the verdicts that one method gives on claims."""

    def __init__(self, metric: BoundMetric, verdicts: SharedVerdicts) -> None:
        self._claims = _METRICS[metric.metric.name]
        self.asks = self._claims.verdicts + self._claims.also_asks
        super().__init__(metric, verdicts)
        self.counts_nothing_retrieved = metric.metric.name == "context_recall"
        self._adds_similarity = metric.metric.name == "answer_correctness"
        if self._adds_similarity:
            self.method += " + chrF"

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score the answer by the verdicts on its claims."""
        on = self.verdicts.answers.of(sample, response)
        if missing := next((name for name in self._claims.needs if not getattr(on, name)), None):
            return self.skipped(_missing(missing, on))
        options = {"similarity": answer_similarity(on.answer, on.reference)} if self._adds_similarity else {}
        value = self.metric(*(_flags(getattr(on, name)) for name in self._claims.verdicts), **options)
        if value is None:
            return self.skipped(self.metric.metric.empty.partition(";")[0])
        if self._claims.shown is None:
            return self.scored(value)
        return self.scored(value, {"claims": [*map(verdict_fields, getattr(on, self._claims.shown))]})


def _missing(claims: str, on: AnswerVerdicts) -> str:
    if claims == "reference_claims":
        return "the reference claims nothing"
    reason = on.no_claims_because
    return reason if claims == "claims" else f"nothing to look for in the contexts: {reason}"


def _flags(verdicts: Iterable[ClaimVerdict | bool]) -> list[bool]:
    return [each if isinstance(each, bool) else each.is_supported for each in verdicts]


def verdict_fields(verdict: ClaimVerdict) -> dict[str, Any]:
    """Return a verdict as plain values; texts are left out, since their characters are there."""
    found: dict[str, Any] = {
        "start": verdict.claim.start,
        "end": verdict.claim.end,
        "label": verdict.label,
    }
    if verdict.probability is not None:
        found["probability"] = round(verdict.probability, 4)
    if verdict.agreement is not None:
        found["agreement"] = round(verdict.agreement, 4)
    if verdict.failed_votes:
        found["failed_votes"] = verdict.failed_votes
    if verdict.evidence is not None:
        evidence = verdict.evidence
        found["evidence"] = {"number": evidence.number, "start": evidence.start, "end": evidence.end}
    if verdict.new_tokens:
        found["new_tokens"] = [[token.start, token.end] for token in verdict.new_tokens]
    if verdict.conflicts:
        found["conflicts"] = list(verdict.conflicts)
    return found
