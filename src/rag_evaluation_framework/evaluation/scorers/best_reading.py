"""A reference that reads in several ways: in golden sets "A/B" means either, and dots stand for what is not
written. Which way a reference is read is told by the dialect of its sample, whoever asks for the score.
"""

from __future__ import annotations

from dataclasses import replace

from rag_evaluation_framework.datasets.golden_sets import GOLDEN_DIALECTS
from rag_evaluation_framework.evaluation.scorers.metric_scorer import WrappedScorer
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Score
from rag_evaluation_framework.text.normalisation import variants


def readings_of(sample: Sample) -> list[str]:
    """Return the texts that the reference of a sample allows; outside of golden sets it is the one."""
    reference = sample.reference or ""
    is_golden = sample.origin is not None and sample.origin.dialect in GOLDEN_DIALECTS
    return variants(reference) if is_golden else [reference]


class BestReading(WrappedScorer):
    """A scorer around another one: each reading of the reference is scored, and the best counts."""

    def score(self, sample: Sample, response: Response) -> Score:
        """Score every reading of the reference; where none has a score, the first says why."""
        readings = readings_of(sample)
        if readings == [sample.reference]:  # as nearly all are: no copy is made
            return self._scorer.score(sample, response)
        scores = [self._scorer.score(replace(sample, reference=text), response) for text in readings]
        valued = [score for score in scores if score.value is not None]
        if not valued:
            return scores[0]
        sign = 1 if self.higher_is_better else -1
        return max(valued, key=lambda score: sign * (score.value or 0.0))
