"""Questions that ask nearly the same, found by their embeddings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from rag_evaluation_framework.extensions import Embedder
from rag_evaluation_framework.retrieval.embedders import HashingEmbedder
from rag_evaluation_framework.retrieval.embedding import embedded
from rag_evaluation_framework.retrieval.vectors import unit_vectors
from rag_evaluation_framework.synthesis.drafts import Draft, Rejection

_NUMBER = re.compile(r"\d+")
_DIMENSIONS = 256
_BLOCK = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class NearDuplicates:
    """Rejects a question as like an earlier one as ``threshold`` (cosine), unless their numbers differ.

    "Revenue in 2023" and "revenue in 2024" are two questions.
    """

    threshold: float = 0.92
    embedder: Embedder = field(default_factory=lambda: HashingEmbedder(_DIMENSIONS))

    def rejections(self, drafts: Sequence[Draft]) -> Iterator[Rejection | None]:
        """Yield for each draft which earlier kept one it repeats, or ``None``."""
        vectors = unit_vectors(embedded(self.embedder, [draft.question for draft in drafts]))
        numbers = [_NUMBER.findall(draft.question) for draft in drafts]
        kept = np.ones(len(drafts), dtype=bool)
        for begin in range(0, len(drafts), _BLOCK):
            end = min(begin + _BLOCK, len(drafts))
            like = vectors[begin:end] @ vectors[:end].T >= self.threshold
            for row in range(begin, end):
                earlier = np.flatnonzero(like[row - begin, :row] & kept[:row]).tolist()
                repeated = next((place for place in earlier if numbers[place] == numbers[row]), None)
                if repeated is None:
                    yield None
                    continue
                kept[row] = False
                draft = drafts[row]
                yield Rejection("near-duplicate", draft.question, draft.origin, drafts[repeated].question)
