"""Scores whether the sources support what an answer claims, and its citations from every side at once."""

from __future__ import annotations

from rag_evaluation_framework.evaluation.scorers.flag_counts import flag_counts
from rag_evaluation_framework.evaluation.scorers.shared_verdicts import SupportScorer
from rag_evaluation_framework.metrics.citations import DEFAULT_TOLERANCE
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Score


class ConsistencyScorer(SupportScorer):
    """Scores the claims of an answer against its sources, whatever it cites."""

    asks = ("consistency",)

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score the claims; without any, or without sources, the sample is skipped."""
        verdicts = self.verdicts.citations.of(sample, response)
        if reason := verdicts.not_held_because:
            return self.skipped(reason)
        found = verdicts.consistency
        return self.scored(
            self.metric([each.is_supported for each in found]),
            {
                "claims": [each.shown_in(response.text or "") for each in found],
                **flag_counts([not each.is_supported for each in found], "hallucinated_claims"),
                "mean_consistency": verdicts.mean_consistency,
            },
        )


class OverallScorer(ConsistencyScorer):
    """Puts together the parts of the overall figure."""

    def measured(self, sample: Sample, response: Response) -> Score:
        """Score the parts; where one of them has no value, the sample is skipped for its reason."""
        verdicts = self.verdicts.citations.of(sample, response)
        if missing := verdicts.missing_parts:
            return self.skipped("; ".join(dict.fromkeys(missing.values())))
        consistent = [each.is_supported for each in verdicts.consistency]
        parts = verdicts.overall_parts(tolerance_chars=DEFAULT_TOLERANCE, consistent=consistent)
        return self.scored(self.metric(parts), parts)
