"""Embeddings by an ONNX model on this machine, without torch.

The folder holds ``model.onnx`` (or ``onnx/model.onnx``) and ``tokenizer.json``, as sentence-transformers
models are published. ``1_Pooling/config.json`` says how tokens become one vector (their mean without it);
how many tokens are read is the least that the model's settings name (512 where they name none).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.adapters.extras import (
    DeviceModel,
    OnnxModel,
    model_settings,
    require_extra,
    weights_digest,
)
from rag_evaluation_framework.errors import InputError, Issue, UsageError
from rag_evaluation_framework.extensions import Specification, extra_module
from rag_evaluation_framework.retrieval.embedders import (
    EmbedderByRole,
    Prompts,
    Role,
    given_prefixes,
    prompts_for,
)
from rag_evaluation_framework.retrieval.stores import Matrix, checked_vectors, unit_vectors

EXTRA = "onnx"

_FEATURE = "OnnxEmbedder"
_MODEL_FILES = ("model.onnx", "onnx/model.onnx")
_MAX_TOKENS = 512
_LIMITS = (
    ("sentence_bert_config.json", "max_seq_length"),
    ("tokenizer_config.json", "model_max_length"),
    ("config.json", "max_position_embeddings"),
)


class OnnxEmbedder(EmbedderByRole, DeviceModel):
    """A model in ONNX. ``path`` is the model's folder; it is loaded at the first text.

    Queries and documents are embedded with the prompts in ``config_sentence_transformers.json``, or with
    those that the model's name stands for; ``query_prefix`` and ``document_prefix`` are others, or ``""``
    for none.
    """

    engines = ("ray",)  # on one machine it uses all cores by itself

    def __init__(
        self,
        path: str | Path,
        *,
        batch_size: int = 32,
        query_prefix: str | None = None,
        document_prefix: str | None = None,
    ) -> None:
        require_extra("onnxruntime", feature=_FEATURE, extra=EXTRA)
        require_extra("tokenizers", feature=_FEATURE, extra=EXTRA)
        if batch_size < 1:
            raise UsageError(f"onnx: batch_size: expected at least 1, got {batch_size}")
        self.path = Path(path)
        self.batch_size = self._given_size = batch_size
        self._given = given_prefixes(query_prefix, document_prefix)
        self._model_file = next((self.path / it for it in _MODEL_FILES if (self.path / it).is_file()), None)
        if self._model_file is None or not (self.path / "tokenizer.json").is_file():
            raise UsageError(f"onnx: {self.path}: expected a folder with model.onnx and tokenizer.json")

    def __repr__(self) -> str:
        return str(Specification("onnx", {"path": self.path.as_posix(), **self._given}))

    @cached_property
    def _prompts(self) -> Prompts:
        own = model_settings(self.path / "config_sentence_transformers.json").get("prompts")
        name = model_settings(self.path / "config.json").get("_name_or_path") or self.path.name
        return prompts_for(str(name), own=own if isinstance(own, dict) else None, **self._given)

    @property
    def roles(self) -> dict[str, str]:
        """Return the prefix of each query and each document."""
        return self._prompts.roles

    @property
    def cache_key(self) -> str:
        """Return the hash of the model's weights, which is independent of the folder's name."""
        return f"onnx {weights_digest(self._model_file or self.path)}"

    def _embedded(self, texts: Sequence[str], role: Role) -> Matrix:
        texts = [getattr(self._prompts, role) + text for text in texts]
        # Texts of like length share a batch, so that little is padding; the order is restored at the end.
        order = sorted(range(len(texts)), key=lambda number: (len(texts[number]), texts[number]))
        read = self._in_batches([texts[number] for number in order], self._batch)
        vectors: list[Matrix | None] = [None] * len(texts)
        for number, vector in zip(order, read, strict=True):
            vectors[number] = vector
        return checked_vectors(vectors, f"embedder {self}", rows=len(texts))

    def _batch(self, texts: Sequence[str]) -> Matrix:
        encoded = self._tokenizer.encode_batch(list(texts))
        given = {
            "input_ids": np.array([it.ids for it in encoded], np.int64),
            "attention_mask": np.array([it.attention_mask for it in encoded], np.int64),
            "token_type_ids": np.array([it.type_ids for it in encoded], np.int64),
        }
        output = self._model.run(given)
        if output.ndim not in (2, 3) or len(output) != len(texts):
            found = f"an array of shape {output.shape}"
            expected = f"one vector per text ({len(texts)}) or per token"
            raise InputError([Issue("wrong-size", expected, found, f"embedder {self}")])
        return unit_vectors(output if output.ndim == 2 else self._pooled(output, given["attention_mask"]))

    def _pooled(self, tokens: Matrix, mask: npt.NDArray[np.int64]) -> Matrix:
        """Make one vector of a text's tokens, as the model was trained: their mean, or the first one."""
        if self._pools_first_token:
            return tokens[:, 0]
        weights = mask[:, :, None].astype(np.float32)
        return np.asarray((tokens * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1e-9))

    @cached_property
    def _pools_first_token(self) -> bool:
        pooling = model_settings(self.path / "1_Pooling" / "config.json")
        if pooling.get("pooling_mode_cls_token") or pooling.get("pooling_mode") == "cls":
            return True
        known = (pooling.get("pooling_mode", "mean") == "mean") and pooling.get(
            "pooling_mode_mean_tokens", True
        )
        if not known:
            raise UsageError(f"onnx: {self.path / '1_Pooling'}: expected mean pooling or first-token pooling")
        return False

    @cached_property
    def _model(self) -> Any:
        file = self._model_file or self.path
        try:
            return self._loaded_by(lambda device: OnnxModel(file, device, feature=_FEATURE))
        except Exception as error:  # the errors of the runtime have only this class in common
            raise UsageError(f"embedder {self}: cannot load the model: {error}") from error

    @cached_property
    def _tokenizer(self) -> Any:
        tokenizers = extra_module("tokenizers", feature=_FEATURE, extra=EXTRA)
        try:
            tokenizer = tokenizers.Tokenizer.from_file(str(self.path / "tokenizer.json"))
        except Exception as error:  # the library raises this class itself
            raise UsageError(f"embedder {self}: cannot load the tokenizer: {error}") from error
        limits = [model_settings(self.path / file).get(name) for file, name in _LIMITS]
        known = [limit for limit in limits if isinstance(limit, int) and limit > 0]
        tokenizer.enable_truncation(max_length=min(known, default=_MAX_TOKENS))
        padding = tokenizer.padding or {}
        tokenizer.enable_padding(
            pad_id=padding.get("pad_id", tokenizer.token_to_id("[PAD]") or 0),
            pad_token=padding.get("pad_token", "[PAD]"),
        )
        return tokenizer
