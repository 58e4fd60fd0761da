"""``rag-eval retrieval``: sweeps at every level, result files, and figures by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from acceptance.outside import HANDBOOK, Commands, kept, read_json
from acceptance.projects import write_corpus

CORPUS = HANDBOOK / "documents"
QUESTIONS = HANDBOOK / "questions.eval.json"
CHUNKERS = (
    "recursive(chunk_size=500, overlap=50)",
    "fixed(tokens=100)",
    "sentence(chunk_size=400)",
    "markdown(chunk_size=1000)",
    "semantic(embedder=hashing)",
)


def cells(document: dict[str, Any]) -> dict[str, dict[str, float]]:
    return {
        cell["configuration"]["chunker"]: {name: figure["value"] for name, figure in cell["metrics"].items()}
        for cell in document["cells"]
    }


@pytest.fixture
def tiny(folder: Path) -> list[str]:
    write_corpus(folder)
    return ["retrieval", "documents", "--dataset", "tiny.eval.json"]


def test_a_sweep_over_chunkers_is_as_before_and_leaves_its_files(rag_eval: Commands, folder: Path) -> None:
    options = [part for chunker in CHUNKERS for part in ("--chunker", chunker)]
    asked = ("retrieval", CORPUS, "--dataset", QUESTIONS, "--store", "exact", "-k", "5")
    said = rag_eval(*asked, *options, "--json", "--out", "out")
    document = said.ok().json
    assert len(document["cells"]) == 5
    recalls = [cell["metrics"]["span_recall"]["value"] for cell in document["cells"]]
    assert recalls == sorted(recalls, reverse=True)
    kept("retrieval-sweep", document, folder)
    files = sorted(path.name for path in (folder / "out").iterdir())
    assert len([name for name in files if name.endswith(".results.json")]) == 5
    assert "sweep.json" in files
    best = document["cells"][0]
    results = read_json(folder / "out" / f"{best['evaluation_id']}.results.json")
    assert results["retrieval_metrics"]["span_recall"]["value"] == best["metrics"]["span_recall"]["value"]
    assert len(results["query_results"]) == 168
    kept("retrieval-results", results | {"query_results": results["query_results"][:2]}, folder)
    rag_eval("validate", f"out/{best['evaluation_id']}.results.json").ok()


def test_retrievers_and_rerankers_are_as_before(rag_eval: Commands, folder: Path) -> None:
    said = rag_eval(
        *("retrieval", CORPUS, "--dataset", QUESTIONS, "--store", "exact", "-k", "5", "--json"),
        *("--retriever", "dense", "--retriever", "bm25", "--retriever", "fused"),
        *("--reranker", "none", "--reranker", "lexical", "--chunker", "sentence(chunk_size=400)"),
    ).ok()
    assert len(said.json["cells"]) == 3 * 2
    kept("retrieval-retrievers", said.json, folder)


def test_chunk_and_document_level_are_as_before(rag_eval: Commands, folder: Path) -> None:
    options = ("--level", "chunk", "--chunker", "recursive(chunk_size=500)", "--queries-per-doc", "2")
    corpus = folder / "documents"
    corpus.mkdir()
    for name in ("fares.md", "faq.md", "lighthouse.md"):
        (corpus / name).write_bytes((CORPUS / name).read_bytes())
    rag_eval("generate", "documents", *options, "-o", "chunks.jsonl").ok()
    chunk = ("retrieval", "documents", "--dataset", "chunks.jsonl", "--store", "exact", "--level", "chunk")
    said = rag_eval(*chunk, "--chunker", "recursive(chunk_size=500)", "--json").ok().json
    assert set(said["cells"][0]["metrics"]) == {"chunk_recall", "chunk_precision", "chunk_f1"}
    assert 0 < said["cells"][0]["metrics"]["chunk_recall"]["value"] <= 1
    rag_eval(*chunk, "--chunker", "recursive(chunk_size=300)").refused("chunk_size=300", "chunk_size=500")
    document = ("--level", "document", "--retriever", "bm25", "--json")
    kept(
        "retrieval-documents",
        rag_eval("retrieval", CORPUS, "--dataset", QUESTIONS, *document).ok().json,
        folder,
    )


def test_figures_are_those_of_the_arithmetic(rag_eval: Commands, tiny: list[str]) -> None:
    chunkers = ("--chunker", "sentence(chunk_size=26)", "--chunker", "recursive(chunk_size=1000)")
    document = rag_eval(*tiny, *chunkers, "--retriever", "bm25", "-k", "1", "--json").ok().json
    value = cells(document)
    # By sentences: the second of boats.md and all of birds.md. By documents: 25 of 51 characters, and all.
    sentence, whole = (
        value["sentence(chunk_size=26, overlap=0)"],
        value["recursive(chunk_size=1000, overlap=0)"],
    )
    assert sentence["span_recall"] == whole["span_recall"] == 1
    assert sentence["span_precision"] == sentence["span_iou"] == 1
    assert whole["span_precision"] == whole["span_iou"] == pytest.approx((25 / 51 + 1) / 2)
    assert document["queries"] == 2


def test_the_same_sweep_from_a_configuration_and_by_several_workers(
    rag_eval: Commands, folder: Path, tiny: list[str]
) -> None:
    chunkers = ["sentence(chunk_size=26)", "recursive(chunk_size=1000)"]
    options = [part for chunker in chunkers for part in ("--chunker", chunker)]
    first = rag_eval(*tiny, *options, "--store", "exact", "--per-query", "--json").ok().json
    again = rag_eval(*tiny, *options, "--store", "exact", "--per-query", "--workers", "2", "--json").ok().json
    config = {"corpus": "documents", "store": "exact", "chunker": chunkers, "k": [3]}
    (folder / "sweep.config.yaml").write_text(json.dumps({"dataset": "tiny.eval.json", "retrieval": config}))
    by_file = rag_eval("retrieval", "--config", "sweep.config.yaml", "-k", "5", "--json").ok().json
    assert cells(first) == cells(again) == cells(by_file)
    kept("retrieval-per-query", first)
