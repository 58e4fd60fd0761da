"""Local models on devices with too little memory: batches are halved, then the processor takes over."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rag_evaluation_framework.adapters import pair_models
from rag_evaluation_framework.adapters import sentence_transformers as adapter
from rag_evaluation_framework.adapters.onnx_embedder import OnnxEmbedder
from rag_evaluation_framework.records.scores import Claim
from stored_texts import chunks_of
from tiny_models import write_counting_model, write_pair_tokenizer


class FewTexts:
    """A model whose device holds so many texts at a time; its processor holds all of them."""

    prompts: dict[str, str] = {}  # noqa: RUF012
    said = "CUDA out of memory. Tried to allocate 20.00 MiB"

    def __init__(self, most: int, device: str = "cuda:0") -> None:
        self.most, self.device = most, device
        self.asked: list[int] = []

    def to(self, device: str) -> None:
        self.device = device

    def encode(self, texts: Sequence[str], *, batch_size: int, **_: Any) -> np.ndarray[Any, Any]:
        self._hold(batch_size)
        return np.array([[len(text), 1.0] for text in texts], np.float32)

    def predict(self, pairs: Sequence[tuple[str, str]], *, batch_size: int, **_: Any) -> np.ndarray[Any, Any]:
        self._hold(batch_size)
        self.pairs = list(pairs)
        return np.array([len(text) for _, text in pairs], np.float32)

    def _hold(self, batch_size: int, device: str | None = None) -> None:
        self.asked.append(batch_size)
        if (device or self.device) != "cpu" and batch_size > self.most:
            raise RuntimeError(self.said)


@pytest.fixture
def emptied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stand in for the library and for torch, whose memory is emptied."""
    emptied: list[str] = []
    cuda = SimpleNamespace(empty_cache=lambda: emptied.append("x"), get_device_name=lambda device: "H200")
    cuda.is_available = lambda: True
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(adapter, "require_extra", lambda *given, **named: None)
    return emptied


@pytest.mark.parametrize(
    ("most", "asked", "device"),
    [
        (64, [64], "cuda (H200)"),
        (20, [64, 32, 16], "cuda (H200)"),
        (0, [64, 32, 16, 8, 4, 2, 1, 64], "cpu: not enough GPU memory"),
    ],
)
def test_a_batch_that_does_not_fit_is_halved_and_at_last_the_processor_works(
    emptied: list[str], most: int, asked: list[int], device: str
) -> None:
    embedder = adapter.SentenceTransformerEmbedder("m", query_prefix="", document_prefix="")
    assert embedder.device is None
    embedder.__dict__["_model"] = model = FewTexts(most)
    assert embedder.embed(["a", "abc"])[:, 0].tolist() == [1.0, 3.0]
    assert (model.asked, embedder.device, len(emptied)) == (asked, device, len(asked) - 1)
    embedder.embed(["ab"])
    assert model.asked[-1] == asked[-1], "what fitted is where it begins the next time"


def test_another_error_and_a_full_processor_are_not_tried_again(emptied: list[str]) -> None:
    embedder = adapter.SentenceTransformerEmbedder("m", batch_size=1, query_prefix="", document_prefix="")
    embedder.__dict__["_model"] = model = FewTexts(0, "cpu")
    model._hold = lambda batch_size: (_ for _ in ()).throw(RuntimeError("out of memory"))  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="out of memory"):
        embedder.embed(["a"])
    model._hold = lambda batch_size: (_ for _ in ()).throw(RuntimeError("shapes differ"))  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="shapes differ"):
        embedder.embed(["a"])
    assert emptied == []


def test_a_cross_encoder_reads_chunks_of_like_length_together_and_gives_each_its_own_score(
    emptied: list[str],
) -> None:
    reranker = adapter.CrossEncoderReranker("m", batch_size=2)
    reranker.__dict__["_model"] = model = FewTexts(1)
    chunks = chunks_of(["aaaa", "b", "ccc", "dd"])
    assert [chunk.content for chunk in reranker.rerank("q", chunks, 3)] == ["aaaa", "ccc", "dd"]
    assert [len(text) for _, text in model.pairs] == [1, 2, 3, 4]
    assert (model.asked, reranker.batch_size) == ([2, 1], 1)


def test_an_onnx_model_halves_its_batches_too(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder, few = OnnxEmbedder.__new__(OnnxEmbedder), FewTexts(3, "cuda")
    few.said = "Failed to allocate memory for requested buffer of size 100"
    given = {"batch_size": 8, "path": "m", "_prompts": SimpleNamespace(document="", roles={})}
    embedder.__dict__.update(given, _given={}, _model=few)
    monkeypatch.setattr(OnnxEmbedder, "_batch", lambda self, given: few.encode(given, batch_size=len(given)))
    monkeypatch.setattr(OnnxEmbedder, "__repr__", lambda self: "onnx")
    texts = ["a" * (7 - n) for n in range(7)]
    assert embedder.embed(texts)[:, 0].tolist() == [7, 6, 5, 4, 3, 2, 1]
    assert (few.asked, embedder.device) == ([7, 3, 3, 1], "cuda")


def test_an_entailment_model_is_loaded_or_goes_on_on_the_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few, real, moved = FewTexts(0, ""), pair_models.OnnxModel, "cpu: not enough GPU memory"
    made = lambda file, on, feature: few._hold(1, on or "cuda") or real(file, on, feature=feature)  # noqa: E731
    monkeypatch.setattr(pair_models, "OnnxModel", made)
    write_pair_tokenizer(tmp_path, "It is old.")
    write_counting_model(tmp_path, "two")
    support: Any = pair_models.entailment(path=str(tmp_path))
    expected = support.decide([Claim("old", 0, 3)] * 3, ["It is old."])
    assert (few.asked, support.device) == ([1, 1], moved)
    model, run = support.model._model, support.model._model.run
    model.device = "cuda"
    model.run = lambda given: few._hold(len(given["input_ids"]), model.device) or run(given)
    assert support.decide([Claim("old", 0, 3)] * 3, ["It is old."]) == expected
    assert (few.asked[2:], support.device) == ([3, 1, 3], moved)
