"""A reference that reads in several ways: "A/B" means either, and dots stand for what is not written."""

from __future__ import annotations

from dataclasses import replace

from rag_evaluation_framework.evaluation.scorers.named_scorers import MetricScorer
from rag_evaluation_framework.judging.words.comparable_text import variants
from rag_evaluation_framework.records.responses import Response
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.records.scores import Score


class BestReading:
    """Fulfils ``MetricScorer`` with another scorer's name: each reading is scored, and the best counts."""

    def __init__(self, scorer: MetricScorer) -> None:
        self.name = scorer.name
        self.method = scorer.method
        self.version = scorer.version
        self.higher_is_better = scorer.higher_is_better
        self.needs = scorer.needs
        self.is_slow = getattr(scorer, "is_slow", False)
        self.questions: frozenset[str] = getattr(scorer, "questions", frozenset())
        self._scorer = scorer

    def score(self, sample: Sample, response: Response) -> Score:
        """Score every reading of the reference; where none has a score, the first says why."""
        readings = variants(sample.reference or "") or [""]
        scores = [self._scorer.score(replace(sample, reference=text), response) for text in readings]
        valued = [score for score in scores if score.value is not None]
        if not valued:
            return scores[0]
        sign = 1 if self.higher_is_better else -1
        return max(valued, key=lambda score: sign * (score.value or 0.0))
