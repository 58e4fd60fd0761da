"""Evaluation at token level: how many of the relevant characters were retrieved."""

from __future__ import annotations

from rag_evaluation_framework.evaluation.levels.retrieval_evaluation import RetrievalEvaluation
from rag_evaluation_framework.metrics.spans import TokenLevelMetric


class TokenLevelEvaluation(RetrievalEvaluation[TokenLevelMetric]):
    """Compares the characters of the retrieved chunks with the relevant ones, whatever the chunker.

    The metrics are span recall, precision, IoU and F1, and the best precision that the chunking allows.
    Overlapping spans are merged, so that each character counts once. A chunker without positions is wrapped.
    """

    level = "token"
