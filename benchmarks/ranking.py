"""Ranking metrics against pytrec_eval, ir_measures and ranx: the same run, the same nine metrics.

Every way runs in a process of its own, so that its peak memory is its own. CPU time is of the evaluation
alone, conversion included, on the inputs each tool takes: pytrec_eval and ir_measures get dictionaries of
scores, ranx builds its Qrels and Run from them. The peers' imports and ranx's compilation are not counted.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.metrics.evaluate_ranking import evaluate_ranking

METRICS = (
    "hit@1", "hit@3", "hit@5", "ndcg@5", "ndcg@10", "mrr", "map@5", "precision@5", "recall@5",
)  # fmt: skip
DOCUMENTS = 100
CORPUS = 1_000_003  # a prime, so that no stride brings a list back to a document it has
SIZES = (10_000, 100_000)
# ir_measures and ranx take minutes at the larger size, and their cost per query does not change.
SLOW = ("ir_measures", "ranx")


@dataclass(frozen=True, slots=True)
class Inputs:
    """One run and its judgements: one to five relevant documents, of which four in five are retrieved."""

    ids: npt.NDArray[np.int32]
    relevant: npt.NDArray[np.int32]
    qrels: dict[str, dict[str, int]] = field(default_factory=dict)

    @classmethod
    def random(cls, queries: int) -> Inputs:
        generator = np.random.default_rng(7)
        start = generator.integers(0, CORPUS, size=(queries, 1))
        stride = generator.integers(1, CORPUS, size=(queries, 1))
        ids = ((start + stride * np.arange(DOCUMENTS)) % CORPUS).astype(np.int32)
        relevant = np.full((queries, 5), -1, dtype=np.int32)
        for row in range(queries):
            count = generator.integers(1, 6)
            ranks = np.unique(np.minimum(generator.geometric(0.12, size=count), DOCUMENTS)) - 1
            found = np.where(generator.random(len(ranks)) < 0.8, ids[row, ranks], 10**9 + ranks)
            relevant[row, : len(ranks)] = found
        qrels = {f"q{row}": {f"doc{d}": 1 for d in each if d >= 0} for row, each in enumerate(relevant.tolist())}
        return cls(ids, relevant, qrels)

    def lists(self) -> dict[str, list[str]]:
        return {f"q{row}": [f"doc{d}" for d in each] for row, each in enumerate(self.ids.tolist())}

    def scores(self) -> dict[str, dict[str, float]]:
        return {
            query: {document: 1.0 / rank for rank, document in enumerate(ranked, start=1)}
            for query, ranked in self.lists().items()
        }
