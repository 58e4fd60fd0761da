"""An embedder that is asked for each text once, however many chunkings of a sweep have it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from rag_evaluation_framework.extensions import Embedder
from rag_evaluation_framework.retrieval.chunking import component_text
from rag_evaluation_framework.retrieval.embedding import check_texts, embedded
from rag_evaluation_framework.retrieval.vectors import Matrix

# So many texts between two words on how far it is; an embedder makes smaller batches of its own.
BATCH = 1024

OnTexts = Callable[[int], None]
"""Told how many texts were embedded since it was last told."""


class RememberingEmbedder:
    """Fulfils ``extensions.Embedder``. Keeps every vector in memory; its text is that of the embedder itself.

    ``seconds`` is the time that the embedder took, ``texts`` how many it was asked for.
    """

    def __init__(self, embedder: Embedder, *, on_texts: OnTexts | None = None) -> None:
        self.embedder = embedder
        self.seconds = 0.0
        self._on_texts = on_texts
        self._rows: dict[str, int] = {}
        self._matrix: Matrix | None = None

    def __repr__(self) -> str:
        return component_text(self.embedder)

    @property
    def texts(self) -> int:
        """How many different texts were embedded."""
        return len(self._rows)

    @property
    def dimensions(self) -> int | None:
        """The length of a vector; not known before the first text."""
        return None if self._matrix is None else int(self._matrix.shape[1])

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return one vector a text, in order; only texts never seen before go to the embedder."""
        check_texts(texts)
        new = list(dict.fromkeys(text for text in texts if text not in self._rows))
        if new:
            self._learn(new)
        if self._matrix is None:
            return np.zeros((0, 0), np.float32)
        return self._matrix[[self._rows[text] for text in texts]]

    def _learn(self, texts: Sequence[str]) -> None:
        begun = time.perf_counter()
        parts = [] if self._matrix is None else [self._matrix]
        for first in range(0, len(texts), BATCH):
            batch = texts[first : first + BATCH]
            dimensions = parts[0].shape[1] if parts else None
            parts.append(embedded(self.embedder, batch, dimensions=dimensions))
            if self._on_texts is not None:
                self._on_texts(len(batch))
        self._matrix = np.concatenate(parts)
        self._rows.update(zip(texts, range(len(self._rows), len(self._matrix)), strict=True))
        self.seconds += time.perf_counter() - begun
