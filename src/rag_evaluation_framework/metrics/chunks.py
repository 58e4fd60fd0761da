"""Which chunks were retrieved: set recall, precision and F1 over chunk ids. A repeated id counts once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from rag_evaluation_framework.metrics.declaration import metric
from rag_evaluation_framework.metrics.views import HITS, NOTHING_RETRIEVED


@metric("chunk_recall", reads=HITS)
def chunk_recall(retrieved_ids: Sequence[str], relevant_ids: Sequence[str]) -> float:
    """What share of the relevant chunks was retrieved.

    Formula: |retrieved ∩ relevant| / |relevant|.

    Empty: 0 when nothing is relevant; a summary leaves such queries out.

    Source: chunk-level evaluation of retrieval; set recall.
    """
    expected = set(relevant_ids)
    return len(expected.intersection(retrieved_ids)) / len(expected) if expected else 0.0


def _nothing_retrieved(retrieved_ids: Sequence[str]) -> str | None:
    return None if retrieved_ids else NOTHING_RETRIEVED


@metric("chunk_precision", reads=HITS, unless=(_nothing_retrieved,))
def chunk_precision(retrieved_ids: Sequence[str], relevant_ids: Sequence[str]) -> float:
    """What share of the retrieved chunks is relevant.

    Formula: |retrieved ∩ relevant| / |retrieved|.

    Empty: 0 when nothing was retrieved; a summary leaves such queries out.

    Source: chunk-level evaluation of retrieval; set precision.
    """
    found = set(retrieved_ids)
    return len(found.intersection(relevant_ids)) / len(found) if found else 0.0


@metric("chunk_f1", reads=HITS)
def chunk_f1(retrieved_ids: Sequence[str], relevant_ids: Sequence[str]) -> float:
    """The harmonic mean of chunk recall and chunk precision.

    Formula: 2 × |retrieved ∩ relevant| / (|retrieved| + |relevant|).

    Empty: 0 when either side is empty; a summary leaves out queries without relevant chunks.

    Source: chunk-level evaluation of retrieval; van Rijsbergen, "Information Retrieval", 1979.
    """
    found, expected = set(retrieved_ids), set(relevant_ids)
    return 2 * len(found & expected) / (len(found) + len(expected)) if found and expected else 0.0


class ChunkLevelMetric(ABC):
    """A metric over chunk ids. It is called by position, so a subclass may rename the arguments."""

    @abstractmethod
    def calculate(self, retrieved: Sequence[str], ground_truth: Sequence[str]) -> float:
        """Score the retrieved chunk ids of one query against its relevant ones."""


class ChunkRecall(ChunkLevelMetric):
    """What share of the relevant chunks was retrieved."""

    def calculate(self, retrieved: Sequence[str], ground_truth: Sequence[str]) -> float:
        return chunk_recall(retrieved, ground_truth)


class ChunkPrecision(ChunkLevelMetric):
    """What share of the retrieved chunks is relevant."""

    def calculate(self, retrieved: Sequence[str], ground_truth: Sequence[str]) -> float:
        return chunk_precision(retrieved, ground_truth)


class ChunkF1(ChunkLevelMetric):
    """The harmonic mean of chunk recall and chunk precision."""

    def calculate(self, retrieved: Sequence[str], ground_truth: Sequence[str]) -> float:
        return chunk_f1(retrieved, ground_truth)
