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


def export_onnx(model: Any, path: Path, *, output: str = "last_hidden_state") -> None:
    """Write what a model gives under a name as ONNX, for any number of texts and tokens."""
    import torch

    class Wanted(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
            given = {"attention_mask": attention_mask, "token_type_ids": token_type_ids}
            return getattr(self.model(input_ids=input_ids, **given), output)

    example = torch.ones(2, 7, dtype=torch.long)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    axes = {name: {0: "texts", 1: "tokens"} for name in [*names, output]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch announces its next exporter, which needs yet another package
        torch.onnx.export(
            Wanted().eval(),
            (example, example, example),
            str(path),
            input_names=names,
            output_names=[output],
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


# Models that read evidence and claim together. Those in ONNX are made without torch: they count which tokens
# of the claim stand in the evidence, so that what they say can be worked out by hand.


def write_pair_tokenizer(folder: Path, texts: str) -> None:
    """Write a tokenizer of whole words that knows those of some texts and joins two texts as BERT does."""
    import json

    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    words = dict.fromkeys(texts.lower().replace(".", " ").replace(",", " ").split())
    vocabulary = {word: number for number, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Whitespace(), pre_tokenizers.Punctuation("removed")]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 64}), encoding="utf-8")


def write_counting_model(folder: Path, kind: str, *, labels: list[str] | None = None) -> Path:
    """Write an ONNX model whose log-odds grow with the share of the claim's tokens that the evidence has.

    ``kind`` is ``score`` (one logit), ``two``, ``three`` (the first of three says contradiction, where the
    claim has [UNK]) or ``tokens`` (two classes a token, the second for what the evidence has not).
    """
    import json

    import numpy as np
    from onnx import TensorProto, checker, helper, numpy_helper, save

    constants = {
        "one": np.array(1, np.int64),
        "last": np.array([2], np.int64),
        "middle": np.array([1], np.int64),
        "unknown": np.array(1, np.int64),
        "few": np.array(3, np.int64),
        "scale": np.array(8, np.float32),
        "shift": np.array(6, np.float32),
        "token_shift": np.array(4, np.float32),
        "tiny": np.array(1e-6, np.float32),
        "far": np.array(9, np.float32),
        "axes": np.array([1], np.int64),
        "of_pairs": np.array([2], np.int64),
        "end": np.array([-1], np.int64),
    }
    node = helper.make_node
    nodes = [
        node("Equal", ["token_type_ids", "one"], ["in_claim_all"]),
        node("Greater", ["input_ids", "few"], ["is_word_known"]),
        node("Equal", ["input_ids", "unknown"], ["is_unknown"]),
        node("Or", ["is_word_known", "is_unknown"], ["is_word"]),
        node("And", ["in_claim_all", "is_word"], ["in_claim"]),
        node("Not", ["in_claim_all"], ["in_evidence_all"]),
        node("And", ["in_evidence_all", "is_word_known"], ["in_evidence"]),
        node("Unsqueeze", ["input_ids", "last"], ["down"]),
        node("Unsqueeze", ["input_ids", "middle"], ["across"]),
        node("Equal", ["down", "across"], ["same"]),
        node("Unsqueeze", ["in_evidence", "middle"], ["of_evidence"]),
        node("And", ["same", "of_evidence"], ["matched"]),
        node("Cast", ["matched"], ["matched_float"], to=TensorProto.FLOAT),
        node("ReduceMax", ["matched_float", "of_pairs"], ["found"], keepdims=0),
        node("Cast", ["in_claim"], ["claim_float"], to=TensorProto.FLOAT),
        node("Mul", ["found", "claim_float"], ["found_claim"]),
        node("ReduceSum", ["found_claim", "axes"], ["count_found"], keepdims=1),
        node("ReduceSum", ["claim_float", "axes"], ["count_claim"], keepdims=1),
        node("Add", ["count_claim", "tiny"], ["count"]),
        node("Div", ["count_found", "count"], ["share"]),
        node("Mul", ["share", "scale"], ["scaled"]),
        node("Sub", ["scaled", "shift"], ["odds"]),
        node("Neg", ["odds"], ["against"]),
        node("And", ["in_claim", "is_unknown"], ["unknown_claim"]),
        node("Cast", ["unknown_claim"], ["unknown_float"], to=TensorProto.FLOAT),
        node("ReduceMax", ["unknown_float", "axes"], ["has_unknown"], keepdims=1),
        node("Mul", ["has_unknown", "far"], ["contradicted"]),
        node("Sub", ["one_float", "found"], ["missing"]),
        node("Mul", ["missing", "scale"], ["missing_scaled"]),
        node("Sub", ["missing_scaled", "token_shift"], ["token_odds"]),
        node("Unsqueeze", ["token_odds", "end"], ["wrong"]),
        node("Neg", ["wrong"], ["right"]),
    ]
    constants["one_float"] = np.array(1, np.float32)
    last = {
        "score": node("Identity", ["odds"], ["logits"]),
        "two": node("Concat", ["against", "odds"], ["logits"], axis=1),
        "three": node("Concat", ["contradicted", "against", "odds"], ["logits"], axis=1),
        "tokens": node("Concat", ["right", "wrong"], ["logits"], axis=2),
    }[kind]
    inputs = ["input_ids", "attention_mask", "token_type_ids"]
    graph = helper.make_graph(
        [*nodes, last],
        kind,
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"]) for name in inputs],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [None] * (3 if kind == "tokens" else 2))],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    checker.check_model(model)
    folder.mkdir(parents=True, exist_ok=True)
    save(model, str(folder / "model.onnx"))
    named = {
        "score": ["score"],
        "two": ["not_entailment", "entailment"],
        "three": ["contradiction", "neutral", "entailment"],
        "tokens": ["LABEL_0", "LABEL_1"],
    }[kind]
    form = "Token" if kind == "tokens" else "Sequence"
    config = {
        "architectures": [f"BertFor{form}Classification"],
        "id2label": {str(number): name for number, name in enumerate(labels or named)},
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def write_pair_classifier(folder: Path, labels: list[str], *, of_tokens: bool = False) -> Any:
    """Write a BERT that classifies a pair of texts, or its tokens; return it."""
    import torch
    from transformers import BertForSequenceClassification, BertForTokenClassification

    torch.manual_seed(len(labels) + 5 * of_tokens)
    names = dict(enumerate(labels))
    configuration = bert_configuration(
        write_tokenizer(folder),
        num_labels=len(labels),
        id2label=names,
        label2id={name: number for number, name in names.items()},
        initializer_range=0.6,
    )
    kind = BertForTokenClassification if of_tokens else BertForSequenceClassification
    model = kind(configuration).eval()
    model.save_pretrained(folder)
    return model


def write_t5(folder: Path, *, as_hhem: bool = False) -> Any:
    """Write a T5 that answers with a word, as MiniCheck does, or one in the shape of HHEM 2; return it."""
    import json

    import torch
    from safetensors.torch import save_file
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import T5Config, T5ForConditionalGeneration, T5ForTokenClassification

    vocabulary = {
        each: number
        for number, each in enumerate(["<pad>", "</s>", "<unk>", "0", "1", "predict", ":", *WORDS.split()])
    }
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer.add_special_tokens(["<pad>", "</s>", "<unk>"])
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    torch.manual_seed(3)
    configuration = T5Config(
        vocab_size=len(vocabulary),
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=1,
        num_heads=2,
        decoder_start_token_id=0,
        num_labels=2,
    )
    if not as_hhem:
        model = T5ForConditionalGeneration(configuration).eval()
        model.save_pretrained(folder)
        return model
    model = T5ForTokenClassification(configuration).eval()
    foundation = folder / "foundation"
    configuration.save_pretrained(foundation)
    state = {f"t5.{name}": each.contiguous() for name, each in model.state_dict().items()}
    state = {name: each for name, each in state.items() if "embed_tokens" not in name}
    save_file(state, str(folder / "model.safetensors"))
    config = {
        "architectures": ["HHEMv2ForSequenceClassification"],
        "auto_map": {"AutoModelForSequenceClassification": "modeling_hhem_v2.HHEMv2"},
        "foundation": str(foundation),
        "prompt": "<pad> premise : {text1} hypothesis : {text2}",
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return model
