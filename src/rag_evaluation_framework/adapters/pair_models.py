"""Models on this machine that say whether evidence supports a claim: loaded, asked in batches, read.

Three forms, detected from the model's own configuration: classifiers of a pair of texts (NLI cross-encoders
of two or three classes, detectors with one score), classifiers of tokens (LettuceDetect's form), and T5
models whose first word decides (MiniCheck) or whose first token is classified (HHEM 2). Weights are
safetensors or ONNX; a pickle is never loaded, and code that comes with a model is never run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.adapters.extras import (
    DeviceModel,
    OnnxModel,
    loaded_quietly,
    model_settings,
    require_extra,
    weights_digest,
)
from rag_evaluation_framework.errors import ModelError, UsageError, described
from rag_evaluation_framework.extensions import extra_module
from rag_evaluation_framework.files.access import open_stored
from rag_evaluation_framework.judging.entailment import Chances, EntailmentSupport, Pair

Array = npt.NDArray[Any]
Meaning = Literal["supported", "contradicted", "neither"]
Reads = Literal["classes", "tokens", "first word", "first token"]

_FEATURE = "entailment"
_ONNX_FILES = ("model.onnx", "onnx/model.onnx")
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "*.h5")
_FETCHED = ("*.json", "*.txt", "*.model", "tokenizer*")
_MAX_TOKENS, _MOST_TOKENS = 512, 4096
_LIMITS = (("tokenizer_config.json", "model_max_length"), ("config.json", "max_position_embeddings"))
_RESERVED_POSITIONS = {"roberta": 2, "xlm-roberta": 2, "camembert": 2}

_MEANINGS: Mapping[str, Meaning] = {
    **dict.fromkeys(("entailment", "entail", "entails", "entailed", "supported", "supports"), "supported"),
    **dict.fromkeys(("support", "consistent", "faithful", "factual", "grounded", "true", "o"), "supported"),
    **dict.fromkeys(("contradiction", "contradict", "contradicts", "contradicted"), "contradicted"),
    **dict.fromkeys(("contradictory", "refutes", "refuted", "refute"), "contradicted"),
    **dict.fromkeys(("neutral", "neither", "not_entailment", "non_entailment", "unsupported"), "neither"),
    **dict.fromkeys(("not_supported", "inconsistent", "unfaithful", "false", "nei"), "neither"),
    **dict.fromkeys(("hallucination", "hallucinated", "not_enough_info", "ungrounded"), "neither"),
}
_LETTERS = re.compile(r"[^a-z]+")
_NUMBERED = re.compile(r"label_?\d+\Z", re.IGNORECASE)

_MINICHECK = "{evidence}{end}{claim}"
_MINICHECK_T5 = "predict: {evidence}{end}{claim}"
_OF_QUESTION = (  # RAGTruth's words, by which token classifiers are trained
    "Briefly answer the following question:\n{question}\nBear in mind that your response should be strictly "
    "based on the following 1 passages:\npassage 1: {evidence}\nIn case the passages do not contain the "
    "necessary information to answer the question, please reply with: "
    '"Unable to answer based on given passages."\noutput:'
)


def entailment(
    model: str | None = None,
    path: str | None = None,
    *,
    labels: str | None = None,
    lexical: bool = False,
    threshold: float = 0.5,
    low: float | None = None,
    high: float | None = None,
    device: str | None = None,
    batch_size: int = 32,
    max_tokens: int | None = None,
) -> EntailmentSupport:
    """Return support by a local model: a name on the hub, or the ``path`` of a folder or an ONNX file.

    ``labels`` says what its classes mean, in order, where its configuration does not:
    ``unsupported,supported``. ``lexical`` adds lexical support in prose; ``threshold`` is what counts as
    supported, 0.5 unless labels say otherwise. With ``low`` and ``high``, which ``rag-eval calibrate`` finds,
    the model decides answers: it is sure at ``low`` or less and at ``high`` or more.
    """
    if (model is None) == (path is None):
        raise UsageError(
            "entailment: expected either model (a name on the hub) or path (a folder or an ONNX file)"
        )
    if batch_size < 1:
        raise UsageError(f"entailment: batch_size: expected at least 1, got {batch_size}")
    if max_tokens is not None and max_tokens < 32:
        raise UsageError(f"entailment: max_tokens: expected at least 32, got {max_tokens}")
    if (low is None) != (high is None):
        raise UsageError("entailment: expected both low and high, or neither")
    band = None if low is None or high is None else (low, high)
    place = _Place.of(model, path)
    pairs = LocalPairModel(place, labels=labels, device=device, batch_size=batch_size, max_tokens=max_tokens)
    return EntailmentSupport(pairs, lexical=lexical, threshold=threshold, band=band)


class _Place(msgspec.Struct, frozen=True):
    """The files of a model: the weights, and the folder of its configuration and tokenizer."""

    name: str
    weights: Path
    folder: Path

    @classmethod
    def of(cls, model: str | None, path: str | None) -> _Place:
        if model is not None:
            folder = _fetched(model)
            return cls(model, _weights_in(folder, model), folder)
        given = Path(path or "").expanduser()
        if given.is_dir():
            weights = _weights_in(given, str(given))
            return cls(f"{given.resolve().name}@{weights_digest(weights)[:8]}", weights, given)
        if not given.is_file():
            raise _refused(str(given), "a folder or an ONNX file", "a missing path")
        if given.suffix.lower() != ".onnx":
            found = f"a file {given.suffix}" if given.suffix else "a file without an extension"
            raise _refused(str(given), "an ONNX file or a model folder", found)
        has_settings = (given.parent / "tokenizer.json").is_file() or given.parent.name != "onnx"
        folder = given.parent if has_settings else given.parent.parent
        _check_start(given)
        return cls(f"{given.resolve().parent.name}/{given.name}@{weights_digest(given)[:8]}", given, folder)

    @property
    def is_onnx(self) -> bool:
        return self.weights.suffix.lower() == ".onnx"


def _refused(place: str, expected: str, found: str) -> UsageError:
    return UsageError(f"entailment: {place}: expected {expected}, got {found}")


def _weights_in(folder: Path, place: str) -> Path:
    """Return the weights of a folder: its safetensors, all of them where they are in parts, or its ONNX."""
    if any(folder.glob("*.safetensors")):
        for file in folder.glob("*.safetensors"):
            _check_start(file)
        return folder
    for name in _ONNX_FILES:
        if (folder / name).is_file():
            _check_start(folder / name)
            return folder / name
    pickles = sorted(file.name for pattern in _PICKLES for file in folder.glob(pattern))
    found = f"{pickles[0]}, a pickle, which is never loaded. Save it as safetensors" if pickles else "neither"
    raise _refused(place, "model.safetensors or model.onnx", found)


def _check_start(file: Path) -> None:
    """Refuse a file that cannot be what its name says, before any library opens it."""
    with open_stored(file) as opened:
        start = opened.read(9)
    if start[:2] == b"PK" or start[:1] == b"\x80":
        raise _refused(str(file), "safetensors or ONNX", "a pickle, which is never loaded")
    if file.suffix == ".safetensors":
        header = int.from_bytes(start[:8], "little")
        if len(start) < 9 or start[8:] != b"{" or header + 8 > file.stat().st_size:
            raise _refused(str(file), "safetensors", "a truncated file or a file of another type")
    elif not start:
        raise _refused(str(file), "an ONNX model", "an empty file")


def _fetched(name: str, *, weights: bool = True) -> Path:
    """Return the folder in which the hub keeps a model; only what is needed is fetched, never a pickle."""
    has_torch = find_spec("torch") is not None and find_spec("transformers") is not None
    hub = extra_module("huggingface_hub", feature=_FEATURE, extra="transformers")
    wanted = ("*.safetensors" if has_torch else "*model.onnx",) if weights else ()
    try:
        return Path(hub.snapshot_download(name, allow_patterns=[*_FETCHED, *wanted]))
    except Exception as error:  # the hub's errors, and those of the connection, have no class in common
        raise UsageError(f"entailment: {name}: cannot download the model: {described(error)}") from error


class _Form(msgspec.Struct, frozen=True):
    """The form of a model: the text around a pair, the classified tokens, the meaning of the classes."""

    reads: Reads
    meanings: tuple[Meaning, ...] = ()
    template: str | None = None
    """One text in place of a pair; ``{end}`` is the tokenizer's end of a text."""


def _form_of(place: _Place, settings: Mapping[str, Any], labels: str | None) -> _Form:
    architecture = str(next(iter(settings.get("architectures") or [""])))
    named = f"{place.name} {place.folder.name} {settings.get('_name_or_path', '')}".lower()
    if architecture.startswith("HHEM"):
        prompt = str(settings.get("prompt", ""))
        prompt = prompt.replace("{text1}", "{evidence}").replace("{text2}", "{claim}")
        if "{evidence}" not in prompt or "{claim}" not in prompt:
            raise _refused(place.name, "a prompt with {text1} and {text2} in config.json", "none")
        return _Form("first token", ("neither", "supported"), prompt)
    if architecture.endswith("ForConditionalGeneration"):
        return _Form("first word", ("neither", "supported"), _MINICHECK_T5)
    of_tokens = architecture.endswith("ForTokenClassification")
    if not of_tokens and not architecture.endswith("ForSequenceClassification") and not place.is_onnx:
        raise _refused(
            place.name, "a pair classifier or a token classifier", architecture or "no architecture"
        )
    if "auto_map" in settings and not place.is_onnx:
        raise _refused(place.name, "a model without custom code (custom code is never run)", "auto_map")
    template = _MINICHECK if "minicheck" in named and not of_tokens else None
    is_minicheck = template is not None
    meanings = _meanings(place, settings, labels, of_tokens=of_tokens, is_minicheck=is_minicheck)
    return _Form("tokens" if of_tokens else "classes", meanings, template)


def _meanings(
    place: _Place, settings: Mapping[str, Any], labels: str | None, *, of_tokens: bool, is_minicheck: bool
) -> tuple[Meaning, ...]:
    """Return what the classes mean: as is given, as the configuration names them, or as its kind has them."""
    by_number = settings.get("id2label")
    names = [by_number[key] for key in sorted(by_number, key=int)] if isinstance(by_number, dict) else []
    if not names:
        count = settings.get("num_labels", 2)
        names = [f"LABEL_{number}" for number in range(count if isinstance(count, int) else 2)]
    if labels is not None:
        names = [each.strip() for each in labels.split(",")]
    elif len(names) == 1:
        return ("supported",)
    elif len(names) == 2 and all(_NUMBERED.match(str(name)) for name in names):
        if of_tokens:
            return ("supported", "neither")
        names = ["unsupported", "supported"] if is_minicheck else names
    meanings = [_MEANINGS.get(_LETTERS.sub("_", str(name).lower()).strip("_")) for name in names]
    known = tuple(each for each in meanings if each is not None)
    if len(known) < len(names) or "supported" not in known:
        told = ", ".join(map(str, names))
        how = 'set labels="unsupported,supported" or "contradicted,neutral,supported", in the model order'
        raise _refused(place.name, "classes that include entailment or supported", f"{told}; {how}")
    return known


class LocalPairModel(DeviceModel):
    """A model and its tokenizer, loaded when the first pair comes. Fulfils ``PairModel``."""

    def __init__(
        self,
        place: _Place,
        *,
        labels: str | None,
        device: str | None,
        batch_size: int,
        max_tokens: int | None,
    ) -> None:
        self.name = place.name
        self.batch_size = self._given_size = batch_size
        self._place, self._device, self._max_tokens = place, device, max_tokens
        extra = "onnx" if place.is_onnx else "transformers"
        for package in ("onnxruntime", "tokenizers") if place.is_onnx else ("torch", "transformers"):
            require_extra(package, feature=_FEATURE, extra=extra)
        self._frames: dict[bool, int] = {}
        self._config = model_settings(place.folder / "config.json")
        self._form = _form_of(place, self._config, labels)
        if place.is_onnx and not (place.folder / "tokenizer.json").is_file():
            raise _refused(str(place.folder), "tokenizer.json next to the model", "no such file")

    def __repr__(self) -> str:
        return self.name

    @cached_property
    def max_tokens(self) -> int:
        """Return the maximum tokens of the model: the given number, or the least of its settings."""
        if self._max_tokens is not None:
            return self._max_tokens
        limits = [model_settings(self._place.folder / file).get(name) for file, name in _LIMITS]
        if isinstance(limits[1], int):
            limits[1] -= _RESERVED_POSITIONS.get(str(self._config.get("model_type")), 0)
        known = [limit for limit in limits if isinstance(limit, int) and 0 < limit <= 10**6]
        usual = 2048 if self._form.template == _MINICHECK_T5 else _MAX_TOKENS
        return min(_MOST_TOKENS, *known) if known else usual

    def room(self, claim: str, question: str) -> int:
        """Return how many tokens of evidence fit beside a claim."""
        taken = min(len(self._plain(claim).ids), self.max_tokens // 2)
        asked = question if self._form.reads == "tokens" else ""
        about = len(self._plain(asked).ids)
        return max(8, self.max_tokens - self._frame(bool(asked.strip())) - taken - about)

    def token_spans(self, text: str) -> Sequence[tuple[int, int]]:
        """Return the characters of each token of a text."""
        spans: Sequence[tuple[int, int]] = self._plain(text).offsets
        return spans

    def chances(self, pairs: Sequence[Pair]) -> list[Chances]:
        """Read the pairs, those of like length together, so that little is padding."""
        encoded = [self._encoded(pair) for pair in pairs]
        order = sorted(range(len(pairs)), key=lambda number: len(encoded[number].ids))
        said = self._in_batches([encoded[number] for number in order], self._batch)
        found = dict(zip(order, said, strict=True))
        return [found[number] for number in range(len(pairs))]

    def _batch(self, encoded: Sequence[Any]) -> list[Chances]:
        longest, padding = max(len(each.ids) for each in encoded), self._config.get("pad_token_id")
        if not isinstance(padding, int):
            padding = self._tokenizer.token_to_id("[PAD]") or 0
        given = {
            "input_ids": _padded([each.ids for each in encoded], longest, padding),
            "attention_mask": _padded([[1] * len(each.ids) for each in encoded], longest),
            "token_type_ids": _padded([each.type_ids for each in encoded], longest),
        }
        model = self._model
        try:
            logits = np.asarray(model.run(given), np.float64)
        except Exception as error:  # vendors' errors have no class in common
            raise ModelError("model-failed", f"entailment:{self.name}: {described(error)}") from error
        if not np.isfinite(logits).all():
            raise ModelError("model-failed", f"entailment:{self.name}: the model returned NaN or infinity")
        return self._read(logits, encoded)

    def _read(self, logits: Array, encoded: Sequence[Any]) -> list[Chances]:
        """Turn what the model gave into chances by what its classes mean."""
        if logits.ndim == 3 and self._form.reads == "first token":
            logits = logits[:, 0]
        meanings = np.array(self._form.meanings)
        expected = len(meanings) if self._form.reads != "first word" else 2
        if logits.shape[-1] != expected:
            raise ModelError(
                "model-failed", f"entailment:{self.name}: expected {expected} classes, got {logits.shape[-1]}"
            )
        raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
        chances = raised / raised.sum(axis=-1, keepdims=True)
        if expected == 1:
            chances = 1.0 / (1.0 + np.exp(-np.clip(logits, -60, 60)))
        supported = chances[..., meanings == "supported"].sum(axis=-1)
        if logits.ndim == 3:  # every token of the claim has to be supported
            return [
                Chances(float(row[_places_of_claim(each)].min(initial=1.0)))
                for row, each in zip(supported, encoded, strict=True)
            ]
        contradicted = chances[..., meanings == "contradicted"].sum(axis=-1)
        return [Chances(float(yes), float(no)) for yes, no in zip(supported, contradicted, strict=True)]

    def _encoded(self, pair: Pair) -> Any:
        """Encode a pair to the model's length; where it is longer all the same, the evidence gives way."""
        claim, evidence = pair.claim, pair.evidence
        half = self.max_tokens // 2
        spans = self.token_spans(claim)
        if len(spans) > half:
            claim = claim[: spans[half - 1][1]]
        encoded = self._whole(evidence, claim, pair.question)
        over = len(encoded.ids) - self.max_tokens
        if over > 0:
            spans = self.token_spans(evidence)
            left = max(1, len(spans) - over - 2)
            evidence = evidence[: spans[left - 1][1]] if spans else ""
            encoded = self._whole(evidence, claim, pair.question)
        return encoded

    def _whole(self, evidence: str, claim: str, question: str) -> Any:
        if self._form.template is None:
            if self._form.reads == "tokens" and question.strip():
                evidence = _OF_QUESTION.format(question=question, evidence=evidence)
            return self._tokenizer.encode(evidence, claim)
        # The template has marks of its own, which a text must not bring.
        texts = {"evidence": self._without_marks(evidence), "claim": self._without_marks(claim)}
        text = self._form.template.format(end=self._end, **texts)
        return self._of_template.encode(text)

    def _without_marks(self, text: str) -> str:
        for mark in self._marks:
            text = text.replace(mark, " ")
        return text

    def _plain(self, text: str) -> Any:
        return self._tokenizer.encode(text, add_special_tokens=False)

    @cached_property
    def _of_template(self) -> Any:
        """The tokenizer once more, which takes the words of a mark for the mark."""
        tokenizer = type(self._tokenizer).from_str(self._tokenizer.to_str())
        tokenizer.encode_special_tokens = False
        return tokenizer

    @cached_property
    def _marks(self) -> list[str]:
        return [each.content for each in self._tokenizer.get_added_tokens_decoder().values() if each.special]

    @cached_property
    def _end(self) -> str:
        known = model_settings(self._place.folder / "special_tokens_map.json") | model_settings(
            self._place.folder / "tokenizer_config.json"
        )
        named = known.get("eos_token") or known.get("sep_token") or "</s>"
        return str(named.get("content") if isinstance(named, dict) else named)

    def _frame(self, asked: bool) -> int:
        """Return how many tokens are neither evidence, claim nor question."""
        if asked not in self._frames:
            self._frames[asked] = len(self._whole("", "", "?" if asked else "").ids)
        return self._frames[asked]

    @cached_property
    def _tokenizer(self) -> Any:
        tokenizers = extra_module("tokenizers", feature=_FEATURE, extra="onnx")
        folder = self._place.folder
        if self._form.reads == "first token" and not (folder / "tokenizer.json").is_file():
            folder = _foundation(self._config)
        try:
            if (folder / "tokenizer.json").is_file():
                tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
            else:
                library = extra_module("transformers", feature=_FEATURE, extra="transformers")
                made = library.AutoTokenizer.from_pretrained(
                    folder, trust_remote_code=False, local_files_only=True
                )
                tokenizer = made.backend_tokenizer
        except Exception as error:  # the libraries raise this class itself
            told = f"cannot load the tokenizer: {described(error)}"
            raise UsageError(f"entailment:{self.name}: {told}") from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        # A text that has the words of a mark, such as [SEP], stays a text.
        tokenizer.encode_special_tokens = True
        return tokenizer

    @cached_property
    def _model(self) -> Any:
        place = self._place
        try:
            if place.is_onnx:
                return self._loaded_by(lambda device: OnnxModel(place.weights, device, feature=_FEATURE))
            return self._loaded_by(partial(_Torch, place.folder, self._config, self._form, self._words))
        except UsageError:
            raise
        except Exception as error:  # vendors' errors have no class in common
            told = f"cannot load the model: {described(error)}"
            raise UsageError(f"entailment:{self.name}: {told}") from error

    def _words(self) -> tuple[int, int]:
        """Return the tokens with which "0" and "1" begin, by which MiniCheck's T5 decides."""
        return self._plain("0").ids[0], self._plain("1").ids[0]


def _places_of_claim(encoded: Any) -> list[int]:
    """Return which tokens of an encoded pair are the claim's own."""
    parts = zip(encoded.sequence_ids, encoded.special_tokens_mask, strict=True)
    return [place for place, (part, is_mark) in enumerate(parts) if part == 1 and not is_mark]


def _foundation(config: Mapping[str, Any]) -> Path:
    """Return the folder of the model that HHEM 2 was made from: its shape and its tokenizer are there."""
    name = str(config.get("foundation") or "google/flan-t5-base")
    return Path(name) if Path(name).is_dir() else _fetched(name, weights=False)


class _Torch:
    """A model of transformers, from safetensors."""

    def __init__(
        self,
        folder: Path,
        config: Mapping[str, Any],
        form: _Form,
        words: Callable[[], tuple[int, int]],
        device: str | None,
    ) -> None:
        self._torch = extra_module("torch", feature=_FEATURE, extra="transformers")
        self._library = extra_module("transformers", feature=_FEATURE, extra="transformers")
        self._reads = form.reads
        with loaded_quietly("transformers"):
            model = self._hhem(folder, config) if form.reads == "first token" else self._of_folder(folder)
        wanted = device or ("cuda" if self._torch.cuda.is_available() else "cpu")
        self._model = model.to(wanted).eval()
        self.device = str(next(model.parameters()).device)
        self._words = words() if form.reads == "first word" else (0, 0)
        self._takes_types = "type_vocab_size" in config and config["type_vocab_size"] > 1

    def to(self, device: str) -> None:
        self._model.to(device)
        self.device = device

    def _of_folder(self, folder: Path) -> Any:
        kind = {
            "classes": "AutoModelForSequenceClassification",
            "tokens": "AutoModelForTokenClassification",
            "first word": "AutoModelForSeq2SeqLM",
        }[self._reads]
        model, found = getattr(self._library, kind).from_pretrained(
            folder,
            use_safetensors=True,
            trust_remote_code=False,
            local_files_only=True,
            output_loading_info=True,
        )
        if missing := sorted(found["missing_keys"]):
            raise _refused(str(folder), "the weights of a trained classifier", f"no weights for {missing[0]}")
        return model

    def _hhem(self, folder: Path, config: Mapping[str, Any]) -> Any:
        """Build HHEM 2 without the code that comes with it: a T5 encoder with two classes a token."""
        tensors = extra_module("safetensors.torch", feature=_FEATURE, extra="transformers")
        shape = self._library.T5Config.from_pretrained(_foundation(config), num_labels=2)
        model = self._library.T5ForTokenClassification(shape)
        state: dict[str, Any] = {}
        for file in sorted(folder.glob("*.safetensors")):
            state |= {name.removeprefix("t5."): each for name, each in tensors.load_file(file).items()}
        if "transformer.shared.weight" in state:  # both names are one tensor, which is saved once
            shared = state["transformer.shared.weight"]
            state.setdefault("transformer.encoder.embed_tokens.weight", shared)
        model.load_state_dict(state, strict=True)
        return model

    def run(self, given: Mapping[str, Array]) -> Array:
        torch = self._torch
        taken = {name: torch.from_numpy(value).to(self.device) for name, value in given.items()}
        if not self._takes_types:
            del taken["token_type_ids"]
        with torch.inference_mode():
            if self._reads == "first word":
                start = self._model.config.decoder_start_token_id or 0
                first = torch.full((len(taken["input_ids"]), 1), start, device=self.device)
                logits = self._model(**taken, decoder_input_ids=first).logits[:, 0, list(self._words)]
            else:
                logits = self._model(**taken).logits
        return np.asarray(logits.float().cpu().numpy())


def _padded(rows: Sequence[Sequence[int]], length: int, value: int = 0) -> Array:
    array = np.full((len(rows), length), value, np.int64)
    for number, row in enumerate(rows):
        array[number, : len(row)] = row
    return array
