"""Evaluation at token level: how many of the relevant characters were retrieved."""

from __future__ import annotations

from collections.abc import Sequence

from rag_evaluation_framework.evaluation.levels.evaluation_result import EvaluationResult
from rag_evaluation_framework.evaluation.levels.retrieval_evaluation import RetrievalEvaluation
from rag_evaluation_framework.extensions import (
    Chunker,
    Embedder,
    PositionAwareChunker,
    Reranker,
    VectorStore,
)
from rag_evaluation_framework.metrics.spans import TokenLevelMetric


class TokenLevelEvaluation(RetrievalEvaluation):
    """Compares the characters of the retrieved chunks with the relevant ones, whatever the chunker.

    Spans that overlap are merged, so that each character counts once. A chunker without positions is wrapped.
    """

    level = "token"

    def run(
        self,
        chunker: Chunker | PositionAwareChunker,
        embedder: Embedder,
        k: int = 5,
        vector_store: VectorStore | None = None,
        reranker: Reranker | None = None,
        metrics: Sequence[TokenLevelMetric] | None = None,
        *,
        fetch_k: int | None = None,
        workers: int = 1,
    ) -> EvaluationResult:
        """Return span recall, precision, IoU and F1, and the precision that the chunking allows at best.

        ``vector_store`` is by default Chroma where it is installed, else the exact one; the run says which.
        With a reranker, ``fetch_k`` candidates (4 k by default) are fetched. ``metrics`` replaces the list.
        """
        return self._run(
            chunker,
            embedder,
            k=k,
            vector_store=vector_store,
            reranker=reranker,
            metrics=metrics,
            fetch_k=fetch_k,
            workers=workers,
        )
