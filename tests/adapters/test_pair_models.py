"""Local models that say whether evidence supports a claim: every form, from disk, and what is refused."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rag_evaluation_framework import UsageError, evaluate
from rag_evaluation_framework.adapters.pair_models import entailment
from rag_evaluation_framework.judging.entailment import Chances, EntailmentSupport, Pair
from rag_evaluation_framework.judging.lexical_support import LexicalSupport
from rag_evaluation_framework.records.scores import Claim, ClaimVerdict, SupportMethod
from tiny_models import WORDS, write_counting_model, write_pair_classifier, write_pair_tokenizer, write_t5

EVIDENCE = (
    "The bridge was built in 1890 by Clara Weiss. It is long and old. Trams cross the river every hour."
)
SUPPORTED, MIXED, OTHER = "Clara Weiss built the bridge in 1890.", "Trams cross Vienna.", "Cats purr."


def claims(*texts: str) -> list[Claim]:
    return [Claim(text, 0, len(text)) for text in texts]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pairs")
    for kind in ("score", "two", "three", "tokens"):
        write_pair_tokenizer(path / kind, EVIDENCE)
        write_counting_model(path / kind, kind)
    return path


# Of the words of a claim, those in the evidence: 7 of 7, 2 of 3, 0 of 2. Log-odds are 8 · share - 6; two
# classes have them on both sides; with three, an unknown word says contradiction by e^9; tokens by ±4.
@pytest.mark.parametrize(
    ("kind", "labels", "chances"),
    [
        ("score", ["supported", "unsupported", "unsupported"], [0.8808, 0.3392, 0.0025]),
        ("two", ["supported", "unsupported", "unsupported"], [0.982, 0.2086, 0.0]),
        ("three", ["supported", "contradicted", "contradicted"], [0.8668, 0.0001, 0.0]),
        ("tokens", ["supported", "unsupported", "unsupported"], [0.9997, 0.0003, 0.0003]),
    ],
)
def test_every_form_is_read_as_its_configuration_says(
    folders: Path, kind: str, labels: list[str], chances: list[float]
) -> None:
    support = entailment(path=str(folders / kind))
    assert isinstance(support, SupportMethod)
    found = support.decide(claims(SUPPORTED, MIXED, OTHER), [EVIDENCE])
    assert [each.label for each in found] == labels
    assert [each.probability for each in found] == pytest.approx(chances, abs=1e-4)
    assert found[0].evidence is not None
    assert found[0].evidence.text == "The bridge was built in 1890 by Clara Weiss."
    assert (support.device, support.name.partition("@")[0]) == ("cpu", f"entailment:{kind}")


def test_an_onnx_file_and_names_of_classes_that_are_given(folders: Path, tmp_path: Path) -> None:
    shutil.copytree(folders / "two", tmp_path / "plain" / "deep")
    (tmp_path / "plain" / "deep" / "config.json").write_text('{"id2label": {"0": "LABEL_0", "1": "LABEL_1"}}')
    file = str(tmp_path / "plain" / "deep" / "model.onnx")
    with pytest.raises(UsageError, match=r"got LABEL_0, LABEL_1; set labels=\"unsupported,supported\""):
        entailment(path=file)
    found = entailment(path=file, labels="unsupported, supported").decide(claims(SUPPORTED), [EVIDENCE])
    swapped = entailment(path=file, labels="supported,unsupported").decide(claims(SUPPORTED), [EVIDENCE])
    assert [found[0].label, swapped[0].label] == ["supported", "unsupported"]


def test_batches_and_threads_give_the_scores_of_one_by_one(folders: Path) -> None:
    texts = [" ".join(WORDS.split()[:n]) + f" bridge {n} Trams" for n in range(1, 40)] + [SUPPORTED, MIXED]
    alone = entailment(path=str(folders / "three"), batch_size=1)
    single = [alone.decide(claims(text), [EVIDENCE])[0] for text in texts]
    together = entailment(path=str(folders / "three"), batch_size=16)
    assert together.decide(claims(*texts), [EVIDENCE]) == single
    with ThreadPoolExecutor(8) as pool:
        threads = list(pool.map(lambda text: together.decide(claims(text), [EVIDENCE])[0], texts))
    assert threads == single


def test_long_evidence_is_packed_by_the_words_of_the_claim(folders: Path) -> None:
    # The model reads 64 tokens; what supports the claim stands far behind, in two places far apart.
    filler = "Trams cross the river every hour. " * 40
    long = f"{filler} Clara Weiss built the bridge. {filler} It was old in 1890. {filler}"
    support = entailment(path=str(folders / "two"))
    (found,) = support.decide(claims("Clara Weiss built the old bridge in 1890."), [long])
    assert found.label == "supported"
    whole = "The bridge was old " * 60  # a sentence longer than the model is cut into pieces
    assert support.decide(claims("The bridge was old."), [whole])[0].label == "supported"
    claim = "The bridge was built in 1890 by Clara Weiss. " * 9  # so is a claim that leaves no room
    assert support.decide(claims(claim), [EVIDENCE])[0].label == "supported"


def test_marks_of_the_tokenizer_in_a_text_are_words(folders: Path) -> None:
    told = "[SEP] Cats purr."  # as a mark, it would end the evidence and begin a claim of its own
    support = entailment(path=str(folders / "two"))
    plain, marked = support.decide(claims(OTHER, told), [f"{EVIDENCE} [SEP]"])
    assert not plain.is_supported
    assert not marked.is_supported


class Sure(EntailmentSupport):
    """A model that says the same of everything, and keeps what it was asked."""

    def __init__(self, chance: float, **settings: Any) -> None:
        self.asked: list[Pair] = []
        super().__init__(_Constant(chance, self.asked), **settings)


class _Constant:
    name, device = "constant", "cpu"

    def __init__(self, chance: float, asked: list[Pair]) -> None:
        self.chance, self.asked = chance, asked

    def room(self, claim: str, question: str) -> int:
        return 500

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        return [(place, place + 1) for place in range(0, len(text), 5)]

    def chances(self, pairs: list[Pair]) -> list[Chances]:
        del self.asked[:]
        self.asked.extend(pairs)
        return [Chances(self.chance)] * len(pairs)


def test_records_stay_with_the_reader_of_records_and_odds_are_added_in_prose() -> None:
    record = json.dumps({"name": "Lido", "OutdoorSeating": False, "stars": 4})
    statements = claims("The Lido has 4 stars.", "The Lido has 9 stars.")
    refuses = Sure(0.01)
    assert refuses.decide(statements, [record]) == LexicalSupport().decide(statements, [record])
    assert refuses.asked == []
    mixed = refuses.decide(statements, [record, EVIDENCE])
    assert [each.label for each in mixed] == ["supported", "unsupported"]
    assert {pair.evidence for pair in refuses.asked} == {EVIDENCE}
    # In prose: log-odds of the model (0, by 0.5) and of words, each from its own threshold, are added.
    words = LexicalSupport().decide(claims(SUPPORTED, OTHER), [EVIDENCE])
    both = Sure(0.5, lexical=True).decide(claims(SUPPORTED, OTHER), [EVIDENCE])
    assert [each.label for each in both] == [each.label for each in words] == ["supported", "unsupported"]
    assert Sure(0.9999, lexical=True).decide(claims(OTHER), [EVIDENCE])[0].is_supported
    assert Sure(0.9, threshold=0.95).decide(claims(SUPPORTED), [EVIDENCE])[0].label == "unsupported"
    assert Sure(0.9).decide(claims(SUPPORTED), ["  "])[0].label == "unsupported"


class _NoWords:
    def decide(self, claims: list[Claim], evidence: list[str], *, question: str) -> list[ClaimVerdict]:
        return [ClaimVerdict(claim=claim, label="unsupported") for claim in claims]


def test_memory_is_bounded_at_100_000_claims() -> None:
    support = Sure(0.7)
    support._words = _NoWords()  # type: ignore[assignment]  # which keep nothing, and take a minute
    held: list[int] = []
    put = support._together._model.chances
    support._together._model.chances = lambda pairs: (held.append(len(pairs)), put(pairs))[1]  # type: ignore
    found = support.decide(claims("Trams cross.") * 100_000, [EVIDENCE])
    assert (len(found), sum(held)) == (100_000, 100_000)
    assert max(held) <= 256  # of all the pairs there are at any time


@pytest.mark.parametrize(
    ("files", "name", "message"),
    [
        ({}, "", "expected model.safetensors or model.onnx, got neither"),
        ({}, "model.onnx", "expected a folder or an ONNX file, got a missing path"),
        ({"w.pt": b"x"}, "w.pt", "expected an ONNX file or a model folder, got a file .pt"),
        (
            {"pytorch_model.bin": b"\x80"},
            "",
            "got pytorch_model.bin, a pickle, which is never loaded. Save it as",
        ),
        ({"model.safetensors": b"\x80\x04K."}, "", "expected safetensors or ONNX, got a pickle, which is"),
        ({"model.safetensors": b"PK\x03\x04zip"}, "", "got a pickle, which is never loaded"),
        (
            {"model.safetensors": b"\xff" * 40},
            "",
            "expected safetensors, got a truncated file or a file of another type",
        ),
        ({"model.onnx": b"\x80\x04K."}, "", "got a pickle, which is never loaded"),
        ({"model.onnx": b""}, "", "expected an ONNX model, got an empty file"),
        ({"model.onnx": b"x", "config.json": b'{"id2label": {"0": "a"}}'}, "", "expected tokenizer.json"),
        ({"model.onnx": b"x", "config.json": b'{"id2label": {"0": "a", "1": "b"}}'}, "", "got a, b; set"),
    ],
)
def test_wrong_files_are_refused_in_one_line(
    files: dict[str, bytes], name: str, message: str, tmp_path: Path
) -> None:
    for file, content in files.items():
        (tmp_path / file).write_bytes(content)
    with pytest.raises(UsageError) as told:
        entailment(path=str(tmp_path / name))
    assert message in str(told.value)
    assert "\n" not in str(told.value)


def test_damaged_weights_and_settings_are_clear_errors(folders: Path, tmp_path: Path) -> None:
    shutil.copytree(folders / "two", tmp_path / "two")
    (tmp_path / "two" / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(UsageError, match="cannot load the model"):
        entailment(path=str(tmp_path / "two")).decide(claims(SUPPORTED), [EVIDENCE])
    runs, rows = tmp_path / "runs", [{"question": "?", "answer": SUPPORTED, "contexts": [EVIDENCE]}]
    with pytest.raises(UsageError, match="cannot load the model"):  # before anybody is asked
        evaluate(rows, support=f'entailment(path="{tmp_path / "two"}")', runs_directory=runs)
    assert not runs.exists()
    for wrong in (
        {},
        {"model": "a", "path": "b"},
        {"path": "x", "batch_size": 0},
        {"path": "x", "max_tokens": 5},
    ):
        with pytest.raises(UsageError, match="entailment: "):
            entailment(**wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="threshold: expected a number above 0 and below 1"):
        entailment(path=str(folders / "two"), threshold=1.0)


def test_a_run_is_scored_by_it_and_says_so(folders: Path, tmp_path: Path) -> None:
    rows = [
        {"question": "Who built it?", "answer": f"{SUPPORTED} {OTHER}", "contexts": [EVIDENCE]},
        {"question": "What crosses?", "answer": "Trams cross the river.", "contexts": [EVIDENCE]},
    ]
    run = evaluate(
        rows,
        metrics=["faithfulness", "hallucination"],
        support=f'entailment(path="{folders / "three"}")',
        runs_directory=tmp_path,
    )
    assert run.metrics["faithfulness"].value == pytest.approx(0.75)
    (head,) = [json.loads(file.read_text()) for file in tmp_path.rglob("head.json")]
    method = head["configuration"]["metrics"]["faithfulness"]
    assert method.startswith("entailment:three@")
    assert head["configuration"]["support"] == {"method": method, "device": "cpu"}
    support = entailment(path=str(folders / "three"))
    assert support.device is None  # nothing is loaded just to tell
    again = evaluate(run, metrics=["faithfulness"], support=support)
    assert again.head.configuration["support"] == {"method": method, "device": "cpu"}


TORCH = pytest.mark.vendors("torch", "transformers", "safetensors", "onnxruntime", "onnx")
NLI = ["contradiction", "neutral", "entailment"]
PAIRS = [("the server", "parental leave"), ("lunch at noon " * 9, "laptop"), ("x", "the expense report")]


@TORCH
@pytest.mark.parametrize(
    ("labels", "of_tokens"),
    [
        (["score"], False),
        (["not_entailment", "entailment"], False),
        (NLI, False),
        (["O", "unsupported"], True),
    ],
)
def test_weights_of_bert_from_disk_in_torch_and_onnx(
    labels: list[str], of_tokens: bool, tmp_path: Path
) -> None:
    import torch
    from transformers import AutoTokenizer

    from tiny_models import export_onnx

    model = write_pair_classifier(tmp_path / "m", labels, of_tokens=of_tokens)
    support = entailment(path=str(tmp_path / "m"), batch_size=2)
    pairs = [Pair(*each) for each in PAIRS]
    found = support.model.chances(pairs)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "m")
    for pair, chances in zip(pairs, found, strict=True):
        given = tokenizer(pair.evidence, pair.claim, return_tensors="pt")
        with torch.inference_mode():
            logits = model(**given).logits[0].double()
        if of_tokens:
            said = [place for place, part in enumerate(given.sequence_ids(0)) if part == 1]
            expected = logits.softmax(-1)[said, 0].min()
        else:
            expected = logits.sigmoid()[0] if len(labels) == 1 else logits.softmax(-1)[-1]
        assert chances.supported == pytest.approx(float(expected), abs=1e-5)
        if len(labels) == 3:
            assert chances.contradicted == pytest.approx(float(logits.softmax(-1)[0]), abs=1e-5)
    onnx = tmp_path / "onnx"
    shutil.copytree(tmp_path / "m", onnx, ignore=shutil.ignore_patterns("*.safetensors"))
    export_onnx(model, onnx / "model.onnx", output="logits")
    again = entailment(path=str(onnx)).model.chances(pairs)
    assert [each.supported for each in again] == pytest.approx([each.supported for each in found], abs=1e-5)


@TORCH
def test_weights_of_t5_as_minicheck_and_hhem_have_them(tmp_path: Path) -> None:
    import torch

    evidence, claim = "the server and the laptop", "parental leave"
    for as_hhem in (False, True):
        folder = tmp_path / str(as_hhem)
        model = write_t5(folder, as_hhem=as_hhem)
        support = entailment(path=str(folder))
        (found,) = support.model.chances([Pair(evidence, claim)])
        text = f"<pad> premise : {evidence} hypothesis : {claim}"
        text = text if as_hhem else f"predict: {evidence}</s>{claim}"
        (loaded,) = [support.model._of_template.encode(text).ids]
        with torch.inference_mode():
            ids = torch.tensor([loaded])
            if as_hhem:
                logits = model(input_ids=ids).logits[0, 0]
            else:
                first = torch.zeros(1, 1, dtype=torch.long)
                logits = model(input_ids=ids, decoder_input_ids=first).logits[0, 0, [3, 4]]
        assert found.supported == pytest.approx(float(logits.double().softmax(-1)[1]), abs=1e-5)
        assert 1 in loaded[:-1] or as_hhem  # the end of a text stands between evidence and claim


@TORCH
def test_what_torch_is_not_given(tmp_path: Path) -> None:
    from transformers import BertModel

    model = write_pair_classifier(tmp_path, NLI)
    BertModel(model.config).save_pretrained(tmp_path)  # a body without the head that classifies
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(
        json.dumps({**config, "architectures": ["BertForSequenceClassification"]})
    )
    with pytest.raises(UsageError, match=r"weights of a trained classifier, got no weights for class"):
        entailment(path=str(tmp_path)).decide(claims(SUPPORTED), [EVIDENCE])
    (tmp_path / "config.json").write_text(json.dumps({**config, "architectures": ["BertForMaskedLM"]}))
    with pytest.raises(
        UsageError, match="expected a pair classifier or a token classifier, got BertForMaskedLM"
    ):
        entailment(path=str(tmp_path))
    own = {**config, "architectures": ["NewForSequenceClassification"], "auto_map": {"AutoModel": "x.Y"}}
    (tmp_path / "config.json").write_text(json.dumps(own))
    with pytest.raises(UsageError, match=r"custom code is never run.*auto_map"):
        entailment(path=str(tmp_path))
