"""Scores whether the sources bear out what an answer claims, and its citations from every side at once."""

from __future__ import annotations

import math

from rag_evaluation_framework.evaluation.scorers.citation_verdicts import CitationMemory
from rag_evaluation_framework.evaluation.scorers.metric_scorer import DeclaredMetricScorer
from rag_evaluation_framework.judging.verdicts import ClaimVerdict
from rag_evaluation_framework.metrics.declaration import BoundMetric
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Score

_QUESTIONS = ("consistency",)


class ConsistencyScorer(DeclaredMetricScorer):
    """Scores the claims of an answer against its sources, whatever it cites."""

    def __init__(self, metric: BoundMetric, memory: CitationMemory, *, is_slow: bool) -> None:
        super().__init__(
            metric,
            method=memory.support.name,
            method_version=memory.support.version,
            is_slow=is_slow,
            questions=_QUESTIONS if is_slow else (),
        )
        self.memory = memory

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score the claims; without any, or without sources, the sample is skipped."""
        verdicts = self.memory.verdicts_on(sample, response)
        if reason := verdicts.nothing_claimed_because or verdicts.no_evidence_because:
            return self.skipped(reason)
        found = verdicts.consistency()
        return self.scored(
            self.metric([each.is_supported for each in found]),
            {"claims": [_shown(each, response) for each in found]},
        )


class OverallScorer(ConsistencyScorer):
    """Puts together what the scorers of the parts say: of the cited spans, and of validity."""

    def __init__(
        self,
        metric: BoundMetric,
        memory: CitationMemory,
        *,
        spans: DeclaredMetricScorer,
        validity: DeclaredMetricScorer,
        is_slow: bool,
    ) -> None:
        super().__init__(metric, memory, is_slow=is_slow)
        self._spans, self._validity = spans, validity

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score the parts; where one of them has no value, the sample is skipped for its reason."""
        verdicts = self.memory.verdicts_on(sample, response)
        reason = verdicts.nothing_claimed_because or verdicts.unusable_because or verdicts.no_evidence_because
        spans = self._spans.measured(sample, response)
        if reason or spans.value is None:
            return self.skipped(reason or spans.reason or "")
        claims = verdicts.consistency()
        parts: dict[str, float | None] = {
            "tolerance_jaccard": spans.value,
            # Missing citations count against an answer that claims something.
            "citation_validity": self._validity.measured(sample, response).value or 0.0,
            "mean_consistency": math.fsum(map(_consistency, claims)) / len(claims),
            "no_hallucination": sum(each.is_supported for each in claims) / len(claims),
        }
        return self.scored(self.metric(parts), parts)


def _consistency(verdict: ClaimVerdict) -> float:
    return float(verdict.is_supported) if verdict.probability is None else verdict.probability


def _shown(verdict: ClaimVerdict, response: Response) -> dict[str, object]:
    start, end = verdict.claim.start, verdict.claim.end
    return {"text": (response.text or "")[start:end], "start": start, "end": end, "label": verdict.label}
