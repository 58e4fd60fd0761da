"""Chroma, embedded and as a server: what it finds, keeps and leaves behind."""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from vendor_servers import answers, free_port

from rag_evaluation_framework import ChromaVectorStore, UsageError
from rag_evaluation_framework.errors import TargetError
from rag_evaluation_framework.retrieval.stores import ExactVectorStore
from sizes import loaded_on_use, size
from stored_texts import numbered_chunks, random_vectors

chromadb = loaded_on_use("chromadb", reason="chromadb is not installed: make test-vendors")
pytestmark = pytest.mark.vendors("chromadb")


def collections() -> int:
    gc.collect()
    return int(chromadb.EphemeralClient().count_collections())


def test_of_thousands_of_vectors_without_structure_the_true_ten_nearest_are_found() -> None:
    count = size(3_000, 10_000)
    vectors, queries = random_vectors(count, 48), random_vectors(100, 48, seed=1)
    store, exact = ChromaVectorStore(), ExactVectorStore()
    store.add(numbered_chunks(count), vectors)
    exact.add(numbered_chunks(count), vectors)
    assert store.recall_against_exact(queries, 10) >= 0.999
    same = [
        a == b for a, b in zip(store.search_many(queries, 10), exact.search_many(queries, 10), strict=True)
    ]
    assert sum(same) >= 99
    store.clear()


def test_recall_against_exact_search_shows_settings_that_miss() -> None:
    vectors, queries = random_vectors(2_000, 64), random_vectors(50, 64, seed=1)
    poor = ChromaVectorStore(max_neighbors=2, ef_construction=2, ef_search=2)
    poor.add(numbered_chunks(2_000), vectors)
    assert poor.recall_against_exact(queries, 10) < 0.9


def test_every_store_has_a_collection_of_its_own_which_goes_with_it() -> None:
    before = collections()
    first, second = ChromaVectorStore(), ChromaVectorStore()
    first.add(numbered_chunks(3), [[1, 0], [0, 1], [1, 1]])
    second.add(numbered_chunks(1), [[1, 0]])
    assert collections() == before + 2
    assert len(second.search([1, 0], 9)) == 1
    first.clear()
    assert collections() == before + 1
    assert first.search([1, 0], 5) == []
    del second
    assert collections() == before


def test_positions_and_texts_stand_in_the_metadata() -> None:
    store = ChromaVectorStore()
    store.add(numbered_chunks(5), random_vectors(5, 4).tolist())
    client = chromadb.EphemeralClient()
    name = max(it.name for it in client.list_collections() if it.count() == 5)
    kept = client.get_collection(name).get(include=["documents", "metadatas"])
    assert sorted(
        (text, it["doc_id"], it["start"], it["end"])
        for text, it in zip(kept["documents"], kept["metadatas"], strict=True)
    ) == sorted((it.content, it.doc_id, it.start, it.end) for it in numbered_chunks(5))
    store.clear()


def test_a_folder_holds_the_collection_as_long_as_the_store_lives(tmp_path: Path) -> None:
    store = ChromaVectorStore(path=str(tmp_path / "db"))
    store.add(numbered_chunks(4), random_vectors(4, 8))
    assert len(store.search(random_vectors(1, 8)[0], 2)) == 2
    assert (tmp_path / "db" / "chroma.sqlite3").is_file()
    store.clear()


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(UsageError, match="chroma: expected a host or a path, got both"):
        ChromaVectorStore("localhost", path="x")
    with pytest.raises(UsageError, match="chroma: ef_search: expected a whole number of at least 1, got 0"):
        ChromaVectorStore(ef_search=0)


def test_a_server_that_is_not_there_is_one_clear_error() -> None:
    store = ChromaVectorStore("127.0.0.1", 9)
    with pytest.raises(TargetError, match=r"chroma at 127\.0\.0\.1:9: Could not connect"):
        store.add(numbered_chunks(1), [[1.0, 2.0]])


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Run ``chroma run`` until the tests here are done."""
    number, program = free_port(), Path(sys.executable).with_name("chroma")
    folder = tmp_path_factory.mktemp("chroma")
    with subprocess.Popen(
        [program, "run", "--path", folder, "--host", "127.0.0.1", "--port", str(number)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            deadline = time.monotonic() + 60
            while not answers(f"http://127.0.0.1:{number}/api/v2/heartbeat"):
                assert process.poll() is None, "chroma did not start"
                assert time.monotonic() < deadline, "chroma does not answer"
                time.sleep(0.05)
            yield number
        finally:
            process.kill()


def test_a_server_finds_what_the_exact_store_finds(port: int) -> None:
    vectors, queries = random_vectors(500, 16), random_vectors(20, 16, seed=1)
    store, exact = ChromaVectorStore("127.0.0.1", port), ExactVectorStore()
    for it in (store, exact):
        it.add(numbered_chunks(500), vectors)
    assert store.search_many(queries, 5) == exact.search_many(queries, 5)
    assert str(store).startswith(f'chroma(host="127.0.0.1", port={port}, max_neighbors=')
    assert pickle.loads(pickle.dumps(store)).search_many(queries, 5) == exact.search_many(queries, 5)
    client = chromadb.HttpClient("127.0.0.1", port)
    assert client.count_collections() == 1
    store.clear()
    assert client.count_collections() == 0
