"""From a metric of answers and the methods that are set up to the scorer: the method decides which."""

from __future__ import annotations

from functools import lru_cache

from rag_evaluation_framework.evaluation.scorers.answer_verdicts import VerdictMemory
from rag_evaluation_framework.evaluation.scorers.claim_scorers import CLAIM_METRICS, ClaimScorer
from rag_evaluation_framework.evaluation.scorers.judged_scorers import (
    JudgedContexts,
    JudgedRelevancy,
    RubricScorer,
)
from rag_evaluation_framework.evaluation.scorers.likeness_scorers import EmbeddedRelevancy, LexicalRelevancy
from rag_evaluation_framework.evaluation.scorers.metric_scorer import DeclaredMetricScorer, NeedsJudge
from rag_evaluation_framework.evaluation.scorers.scoring_methods import ScoringMethods, chosen_method
from rag_evaluation_framework.evaluation.scorers.word_scorers import WordScorer
from rag_evaluation_framework.judging.judges.judge import Judge
from rag_evaluation_framework.judging.judges.judge_support import JudgeSupport
from rag_evaluation_framework.judging.support.lexical_support import LexicalSupport
from rag_evaluation_framework.metrics.declaration import BoundMetric


def answer_scorer(metric: BoundMetric, methods: ScoringMethods) -> DeclaredMetricScorer:
    """Return the scorer of a metric of answers."""
    method, name, judge = chosen_method(metric, methods), metric.metric.name, methods.judge
    if method is None:
        return NeedsJudge(metric)
    if method == "judge" and judge is not None:
        if name == "answer_relevancy":
            return JudgedRelevancy(metric, judge)
        if name == "context_precision":
            return JudgedContexts(metric, judge)
        if name in CLAIM_METRICS:
            return ClaimScorer(metric, _judged(judge), is_slow=True)
        return RubricScorer(metric, judge, methods.rubric)
    if name in CLAIM_METRICS:
        return ClaimScorer(metric, _lexical(), is_slow=False)
    if name == "answer_relevancy":
        if method == "embedding" and methods.embedder is not None:
            return EmbeddedRelevancy(metric, methods.embedder)
        return LexicalRelevancy(metric)
    return WordScorer(metric, _lexical())


@lru_cache(maxsize=1)
def _lexical() -> VerdictMemory:
    """Return the one memory of lexical verdicts, which all scorers share."""
    return VerdictMemory(LexicalSupport())


@lru_cache(maxsize=8)
def _judged(judge: Judge) -> VerdictMemory:
    """Return the memory of a judge's verdicts, which its scorers share."""
    return VerdictMemory(JudgeSupport(judge))
