"""Evaluation at chunk level: how many of the relevant chunks were retrieved."""

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
from rag_evaluation_framework.metrics.chunks import ChunkLevelMetric


class ChunkLevelEvaluation(RetrievalEvaluation):
    """Compares the ids of the retrieved chunks with the relevant ones, which holds for one chunker only.

    A text that stands in several places is one chunk here, so k results are k different ones.
    """

    level = "chunk"

    def run(
        self,
        chunker: Chunker | PositionAwareChunker,
        embedder: Embedder,
        k: int = 5,
        vector_store: VectorStore | None = None,
        reranker: Reranker | None = None,
        metrics: Sequence[ChunkLevelMetric] | None = None,
        *,
        fetch_k: int | None = None,
        workers: int = 1,
    ) -> EvaluationResult:
        """Return chunk recall, precision and F1; the chunker must be the one that the truth was made with.

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
