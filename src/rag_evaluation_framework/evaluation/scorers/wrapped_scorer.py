"""What a scorer around another one has of it: its name, method and needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag_evaluation_framework.evaluation.scorers.named_scorers import MetricScorer


class WrappedScorer:
    """The base of what fulfils ``MetricScorer`` under another scorer's name."""

    def __init__(self, scorer: MetricScorer) -> None:
        self.name = scorer.name
        self.method = scorer.method
        self.version = scorer.version
        self.higher_is_better = scorer.higher_is_better
        self.needs = scorer.needs
        self.is_slow = getattr(scorer, "is_slow", False)
        self.questions: frozenset[str] = getattr(scorer, "questions", frozenset())
        self._scorer = scorer
