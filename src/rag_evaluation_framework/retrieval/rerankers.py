"""The reranker that needs nothing: words in common, weighed within the candidates, beside the rank they had.

Candidates are scored by BM25 with the candidates as the collection, so a word that all of them share says
nothing. That ranking, counted twice, is fused by reciprocal rank with the one they came in. Measured on 472
questions over five corpora, of 20 candidates: the first five held 79 % of the relevant characters instead of
71 % after hashed n-grams, and 82 % instead of 74 % after all-MiniLM-L6-v2.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from rag_evaluation_framework.errors import UsageError, shown
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.retrieval.bm25 import BM25Index
from rag_evaluation_framework.retrieval.embedding import check_texts
from rag_evaluation_framework.retrieval.lexical_tokens import lexical_tokens
from rag_evaluation_framework.retrieval.vectors import check_k
from rag_evaluation_framework.specifications import Specification

# Smaller than the 60 that fuses whole rankings: among a few dozen candidates the first places must differ.
CONSTANT = 10
_WEIGHT_OF_WORDS = 2.0
_TEXTS_REMEMBERED = 1 << 14


class LexicalReranker:
    """Fulfils ``extensions.Reranker``. Of equal sums, the one with the better words is first."""

    def __init__(self, constant: float = CONSTANT) -> None:
        if not 0 <= constant < float("inf"):
            raise UsageError(f"lexical: constant: expected a number of at least 0, got {shown(constant)}")
        self.constant = constant

    def __repr__(self) -> str:
        return str(Specification("lexical", {"constant": self.constant}))

    def rerank(self, query: str, chunks: Sequence[PositionAwareChunk], k: int) -> list[PositionAwareChunk]:
        """Return the best k of the candidates, which come best first."""
        check_k(k)
        check_texts([query])
        scores = BM25Index(_tokens(chunk.content) for chunk in chunks).scores(lexical_tokens(query))
        given = np.arange(len(chunks))
        lexical = np.empty(len(chunks), np.intp)
        lexical[np.argsort(-scores, kind="stable")] = given
        fused = _WEIGHT_OF_WORDS / (self.constant + 1 + lexical) + 1.0 / (self.constant + 1 + given)
        return [chunks[number] for number in np.lexsort((lexical, -fused))[:k].tolist()]


@lru_cache(maxsize=_TEXTS_REMEMBERED)
def _tokens(text: str) -> tuple[str, ...]:
    """Split a candidate into words; the same chunks come up for many queries."""
    return tuple(lexical_tokens(text))
