"""A local embedder, a cross-encoder and an entailment model on the processor and on the GPU, and where memory
runs out.

``python -m benchmarks.devices [TEXTS]`` makes models of the size of all-MiniLM-L6-v2 and
ms-marco-MiniLM-L6-v2 (6 layers, 384 wide) with weights drawn at random: they cost what the real ones cost and
need no download. The texts are pieces of the handbook of the examples. Needs sentence-transformers.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from rag_evaluation_framework.adapters.pair_models import entailment
from rag_evaluation_framework.adapters.sentence_transformers import (
    CrossEncoderReranker,
    SentenceTransformerEmbedder,
)
from rag_evaluation_framework.judging.entailment import Pair
from rag_evaluation_framework.records.chunks import PositionAwareChunk, generate_pa_chunk_id
from rag_evaluation_framework.records.documents import DocumentId

HANDBOOK = Path(__file__).parents[1] / "examples" / "handbook" / "documents"
TEXTS, CANDIDATES, QUERIES = 20_000, 100, 50
_CHARACTERS = 400
_CLASSES = ("contradiction", "neutral", "entailment")


def texts(count: int) -> list[str]:
    """Return pieces of real text, 40 to 400 characters long; a number makes each another."""
    whole = "\n".join(path.read_text(encoding="utf-8") for path in sorted(HANDBOOK.glob("*.md")))
    lengths = itertools.cycle((400, 400, 300, 200, 400, 120, 40))
    found, place = [], 0
    for number, length in zip(range(count), lengths, strict=False):
        found.append(f"{number} {whole[place : place + length]}")
        place = (place + length) % (len(whole) - _CHARACTERS)
    return found


def write_models(folder: Path) -> tuple[Path, Path, Path]:
    """Write an embedder, a cross-encoder and an entailment model with weights drawn at random."""
    torch, library = import_module("torch"), import_module("sentence_transformers")
    transformers: Any = import_module("transformers")
    torch.manual_seed(0)
    letters = [chr(code) for code in range(33, 127)]
    words = sorted({word for text in texts(500) for word in text.lower().split() if word.isalpha()})
    vocabulary = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *letters,
        *(f"##{it}" for it in letters),
        *words,
    ]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.txt").write_text("\n".join(dict.fromkeys(vocabulary)), encoding="utf-8")
    tokenizer = transformers.BertTokenizerFast(vocab=str(folder / "vocab.txt"), model_max_length=256)
    size = {
        "vocab_size": len(tokenizer),
        "hidden_size": 384,
        "num_hidden_layers": 6,
        "num_attention_heads": 12,
        "intermediate_size": 1536,
    }
    for name, kind, more in (
        ("bare", "BertModel", {}),
        ("pairs", "BertForSequenceClassification", {"num_labels": 1}),
        ("support", "BertForSequenceClassification", {"id2label": dict(enumerate(_CLASSES))}),
    ):
        getattr(transformers, kind)(transformers.BertConfig(**size, **more)).save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    library.SentenceTransformer(str(folder / "bare"), device="cpu").save(str(folder / "sentences"))
    return folder / "sentences", folder / "pairs", folder / "support"


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = call()
    return time.perf_counter() - began, result


def main(count: int = TEXTS) -> None:
    """Print texts and pairs a second on each device, and what fits where there is little memory."""
    torch = import_module("torch")
    devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    given = texts(count)
    chunks = [
        PositionAwareChunk(generate_pa_chunk_id(text), text, DocumentId("d"), place, place + len(text))
        for place, text in enumerate(given[:CANDIDATES])
    ]
    with tempfile.TemporaryDirectory() as name:
        sentences, pairs, support = write_models(Path(name))
        vectors, chances = {}, {}
        for device in devices:
            for batch_size in (64,) if device == "cpu" else (64, 256, 1024):
                embedder = SentenceTransformerEmbedder(str(sentences), device=device, batch_size=batch_size)
                embedder.embed(given[:batch_size])
                some = given if device == "cuda" else given[: count // 10]
                seconds, vectors[device] = _timed(lambda it=embedder, some=some: it.embed(some))  # type: ignore[misc]
                print(
                    f"{embedder.device}: {len(some) / seconds:,.0f} texts/s, batches of {batch_size}",
                    flush=True,
                )
            reranker = CrossEncoderReranker(str(pairs), device=device, batch_size=CANDIDATES)
            reranker.rerank("fare", chunks, 5)
            queries = QUERIES if device == "cuda" else QUERIES // 10
            seconds, _ = _timed(
                lambda it=reranker, n=queries: [it.rerank(f"What is {q}?", chunks, 5) for q in range(n)]  # type: ignore[misc]
            )
            print(f"{reranker.device}: {queries * CANDIDATES / seconds:,.0f} pairs/s", flush=True)
            model = entailment(path=str(support), device=device, batch_size=CANDIDATES).model
            claimed = [Pair(text, "What is a fare?") for text in given[: queries * CANDIDATES]]
            model.chances(claimed[:CANDIDATES])
            seconds, chances[device] = _timed(lambda it=model, some=claimed: it.chances(some))  # type: ignore[misc]
            print(f"{model.device}: {len(claimed) / seconds:,.0f} claims/s by entailment", flush=True)
        if "cuda" in devices:
            both = len(vectors["cpu"])
            far = np.abs(vectors["cpu"] - vectors["cuda"][:both]).max()
            print(f"largest difference of a coordinate between the devices: {far:.1e}")
            _short_of_memory(str(sentences), given, vectors["cuda"])
            _entailment_short_of_memory(str(support), claimed, chances["cuda"])


def _entailment_short_of_memory(model: str, claimed: list[Pair], expected: Any) -> None:
    """Read pairs in batches too large for a share of the device's memory, then with next to none of it."""
    torch = import_module("torch")
    total = torch.cuda.get_device_properties(0).total_memory
    for megabytes, batch_size in ((1500, 4096), (64, 256)):
        torch.cuda.empty_cache()
        read: Any = entailment(path=model, device="cuda", batch_size=batch_size).model
        read.chances(claimed[:1])
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction(megabytes * 2**20 / total)
        seconds, found = _timed(lambda it=read: it.chances(claimed))  # type: ignore[misc]
        far = np.abs(np.array(found) - np.array(expected)).max()
        told = f"{read.device}, batches of {read.batch_size}, {seconds:.1f} s, differs by {far:.1e}"
        print(f"entailment, {megabytes} MB and batches of {batch_size}: {told}", flush=True)
        torch.cuda.set_per_process_memory_fraction(1.0)


def _short_of_memory(model: str, given: list[str], expected: Any) -> None:
    """Embed with batches too large for a share of the device's memory, and then with next to none of it."""
    torch = import_module("torch")
    total = torch.cuda.get_device_properties(0).total_memory
    for megabytes, batch_size in ((1500, 8192), (64, 256)):
        torch.cuda.empty_cache()
        embedder = SentenceTransformerEmbedder(model, device="cuda", batch_size=batch_size)
        embedder.embed(["a"])
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction(megabytes * 2**20 / total)
        seconds, vectors = _timed(lambda it=embedder: it.embed(given[:4096]))  # type: ignore[misc]
        far = np.abs(vectors - expected[:4096]).max()
        told = f"{embedder.device}, batches of {embedder.batch_size}, {seconds:.1f} s, differs by {far:.1e}"
        print(f"{megabytes} MB and batches of {batch_size}: {told}", flush=True)
        torch.cuda.set_per_process_memory_fraction(1.0)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
