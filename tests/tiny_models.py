"""Models of a few thousand weights, made here, in the shape in which large ones are published."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

WORDS = "the of to and leave parental server patched expense report days laptop lunch noon employee journey"
DIMENSIONS = 16


def write_tokenizer(folder: Path) -> int:
    """Write a lower-casing WordPiece tokenizer that knows a few words and all letters; return its size."""
    from transformers import BertTokenizerFast

    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    pieces = [*letters, *(f"##{letter}" for letter in letters), *WORDS.split()]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(vocabulary), encoding="utf-8")
    tokenizer = BertTokenizerFast(vocab=str(folder / "vocab.txt"), model_max_length=64)
    tokenizer.save_pretrained(folder)
    return len(vocabulary)


def bert_configuration(vocabulary_size: int, **more: Any) -> Any:
    from transformers import BertConfig

    return BertConfig(
        vocab_size=vocabulary_size,
        hidden_size=DIMENSIONS,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        **more,
    )


def write_sentence_model(folder: Path) -> None:
    """Write a sentence-transformers model: a transformer, mean pooling, and the same as ONNX."""
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers import BertModel

    torch.manual_seed(0)
    bare = folder.with_name(f"{folder.name}-bare")
    model = BertModel(bert_configuration(write_tokenizer(bare)))
    model.save_pretrained(bare)
    SentenceTransformer(str(bare)).save(str(folder))  # a bare transformer is given mean pooling
    export_onnx(BertModel.from_pretrained(bare, attn_implementation="eager"), folder / "model.onnx")


def export_onnx(model: Any, path: Path) -> None:
    """Write a model's last hidden state as ONNX, for any number of texts and tokens."""
    import torch

    class Tokens(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
            given = {"attention_mask": attention_mask, "token_type_ids": token_type_ids}
            return self.model(input_ids=input_ids, **given).last_hidden_state

    example = torch.ones(2, 7, dtype=torch.long)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    axes = {name: {0: "texts", 1: "tokens"} for name in [*names, "last_hidden_state"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch announces its next exporter, which needs yet another package
        torch.onnx.export(
            Tokens().eval(),
            (example, example, example),
            str(path),
            input_names=names,
            output_names=["last_hidden_state"],
            dynamic_axes=axes,
            dynamo=False,
        )


def write_cross_encoder(folder: Path) -> None:
    """Write a cross-encoder that gives a query and a text one score."""
    import torch
    from transformers import BertForSequenceClassification

    torch.manual_seed(1)
    configuration = bert_configuration(write_tokenizer(folder), num_labels=1)
    BertForSequenceClassification(configuration).save_pretrained(folder)
