"""A reference that reads in several ways: "A/B" means either, and dots stand for what is not written."""

from __future__ import annotations

from dataclasses import replace

from rag_evaluation_framework.evaluation.scorers.metric_scorer import WrappedScorer
from rag_evaluation_framework.judging.words.comparable_text import variants
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Score


class BestReading(WrappedScorer):
    """A scorer around another one: each reading of the reference is scored, and the best counts."""

    def score(self, sample: Sample, response: Response) -> Score:
        """Score every reading of the reference; where none has a score, the first says why."""
        readings = variants(sample.reference or "") or [""]
        scores = [self._scorer.score(replace(sample, reference=text), response) for text in readings]
        valued = [score for score in scores if score.value is not None]
        if not valued:
            return scores[0]
        sign = 1 if self.higher_is_better else -1
        return max(valued, key=lambda score: sign * (score.value or 0.0))
