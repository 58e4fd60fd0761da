"""Evaluation at chunk level: how many of the relevant chunks were retrieved."""

from __future__ import annotations

from rag_evaluation_framework.evaluation.levels.retrieval_evaluation import RetrievalEvaluation
from rag_evaluation_framework.metrics.spans import ChunkLevelMetric


class ChunkLevelEvaluation(RetrievalEvaluation[ChunkLevelMetric]):
    """Compares the ids of the retrieved chunks with the relevant ones: chunk recall, precision and F1.

    The chunker must be the one that the truth was made with. A text that occurs in several places is one
    chunk here, so k results are k different ones.
    """

    level = "chunk"
