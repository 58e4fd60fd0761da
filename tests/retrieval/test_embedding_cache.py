"""The embedding cache: each text once, shared by processes, and never another model's vectors."""

from __future__ import annotations

import multiprocessing
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_evaluation_framework import InputError, UsageError
from rag_evaluation_framework.errors import StorageError
from rag_evaluation_framework.retrieval.embedders import FILE_NAME, CachedEmbedder, HashingEmbedder, embedded
from rag_evaluation_framework.retrieval.retrievers import DenseRetriever
from rag_evaluation_framework.retrieval.stores import Matrix
from stored_texts import TEXTS, chunks_of


class Counting:
    """A hashing embedder that remembers what it was asked for."""

    def __init__(self, dimensions: int = 32) -> None:
        self.inner = HashingEmbedder(dimensions)
        self.asked: list[str] = []

    def __repr__(self) -> str:
        return "counting"

    def embed(self, texts: Sequence[str]) -> Matrix:
        self.asked += texts
        return self.inner.embed(texts)


def test_each_text_is_embedded_once_over_calls_and_objects(tmp_path: Path) -> None:
    embedder = Counting()
    cached = CachedEmbedder(embedder, tmp_path)
    first = cached.embed([*TEXTS, *TEXTS])
    assert sorted(embedder.asked) == sorted(TEXTS)
    again = CachedEmbedder(embedder, tmp_path)
    assert (again.embed([TEXTS[3], "new", TEXTS[0]])[[0, 2]] == first[[3, 0]]).all()
    assert embedder.asked[len(TEXTS) :] == ["new"]
    assert (cached.embedded_texts, again.embedded_texts) == (len(TEXTS), 1)


def test_what_comes_back_is_what_the_embedder_gave_to_the_last_bit(tmp_path: Path) -> None:
    cached, plain = CachedEmbedder(HashingEmbedder(), tmp_path), HashingEmbedder()
    texts = [*TEXTS, "", "\ud800 lone surrogate", "x" * 100_000]
    for _ in range(2):
        vectors = cached.embed(texts)
        assert vectors.dtype == np.float32
        assert (vectors == plain.embed(texts)).all()


def test_models_do_not_share_vectors(tmp_path: Path) -> None:
    small = CachedEmbedder(HashingEmbedder(8), tmp_path)
    large = CachedEmbedder(HashingEmbedder(64), tmp_path)
    assert small.embed(TEXTS).shape == (len(TEXTS), 8)
    assert large.embed(TEXTS).shape == (len(TEXTS), 64)
    assert str(large) == "hashing(dimensions=64)"


def test_another_embedder_under_the_same_name_is_noticed(tmp_path: Path) -> None:
    CachedEmbedder(Counting(8), tmp_path).embed(TEXTS[:2])
    with pytest.raises(InputError, match=r"counting: expected vectors of one size per model, got sizes 8, 9"):
        CachedEmbedder(Counting(9), tmp_path).embed(TEXTS[:3])


def test_an_embedder_without_a_name_needs_one(tmp_path: Path) -> None:
    class Nameless:
        def embed(self, texts: Sequence[str]) -> Matrix:
            return HashingEmbedder(8).embed(texts)

    with pytest.raises(UsageError, match=r"Nameless has no name"):
        CachedEmbedder(Nameless(), tmp_path)
    assert CachedEmbedder(Nameless(), tmp_path, model="mine").embed(["a"]).shape == (1, 8)


def test_a_wrong_vector_is_not_kept(tmp_path: Path) -> None:
    class Broken(Counting):
        def embed(self, texts: Sequence[str]) -> Matrix:
            return np.full((len(texts), 8), np.nan, np.float32)

    with pytest.raises(InputError, match=r"embedder counting.*expected a finite number, got nan"):
        CachedEmbedder(Broken(), tmp_path).embed(TEXTS)
    assert CachedEmbedder(Counting(8), tmp_path).embed(TEXTS).shape == (len(TEXTS), 8)


def test_a_failure_midway_loses_no_finished_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class FailingLate(Counting):
        def embed(self, texts: Sequence[str]) -> Matrix:
            if len(self.asked) >= 4:
                raise ConnectionError("gone")
            return super().embed(texts)

    monkeypatch.setattr("rag_evaluation_framework.retrieval.embedders._EMBEDDED_AT_ONCE", 2)
    with pytest.raises(ConnectionError, match="gone"):
        CachedEmbedder(FailingLate(), tmp_path).embed(TEXTS)
    second = Counting()
    CachedEmbedder(second, tmp_path).embed(TEXTS)
    assert second.asked == TEXTS[4:]


def test_a_file_that_is_no_cache_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"not a database" * 100)
    with pytest.raises(StorageError, match=r"embedding cache .*embeddings\.sqlite3: file is not a database"):
        CachedEmbedder(HashingEmbedder(), tmp_path).embed(TEXTS)
    with pytest.raises(StorageError, match="embedding cache"):
        CachedEmbedder(HashingEmbedder(), tmp_path / FILE_NAME).embed(TEXTS)


def embed_in_process(cached: CachedEmbedder, number: int, count: int) -> tuple[int, bytes]:
    """Embed texts, half of which every process asks for, from a different place each time."""
    shared = [f"shared text {(offset + number * 37) % count}" for offset in range(count)]
    own = [f"text {offset} of process {number}" for offset in range(count)]
    for start in range(0, count, 20):
        cached.embed([*shared[start : start + 20], *own[start : start + 20]])
    return cached.embedded_texts, cached.embed([f"shared text {offset}" for offset in range(count)]).tobytes()


def test_four_processes_share_one_cache(tmp_path: Path) -> None:
    count = 200
    cached = CachedEmbedder(HashingEmbedder(32), tmp_path)
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        results = pool.starmap(embed_in_process, [(cached, number, count) for number in range(4)])
    expected = HashingEmbedder(32).embed([f"shared text {offset}" for offset in range(count)]).tobytes()
    assert {vectors for _, vectors in results} == {expected}
    with sqlite3.connect(tmp_path / FILE_NAME) as database:
        assert database.execute("SELECT count(*) FROM embeddings").fetchone() == (5 * count,)
    database.close()
    assert CachedEmbedder(HashingEmbedder(32), tmp_path).embed(["shared text 7"]).shape == (1, 32)
    asked = sum(embedded for embedded, _ in results)
    assert 5 * count <= asked <= 8 * count


class Scripted:
    """An embedder that returns what it was told to."""

    def __init__(self, *replies: Any) -> None:
        self.replies = list(replies)

    def __repr__(self) -> str:
        return "scripted"

    def embed(self, texts: Sequence[str]) -> Any:
        return self.replies.pop(0)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ([[1.0, 2.0]] * 3, "embedder scripted: expected 2 vectors, got 3"),
        (
            [[1.0, 2.0], [float("-inf"), 0.0]],
            r"embedder scripted\[1\]\[0\]: expected a finite number, got -inf",
        ),
        (None, "embedder scripted: expected a list of vectors"),
        ("ab", "embedder scripted: expected a list of vectors"),
    ],
)
def test_each_wrong_reply_has_its_message(reply: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        embedded(Scripted(reply), ["one", "two"])


def test_queries_of_another_size_than_the_chunks_are_an_error_that_names_the_embedder() -> None:
    retriever = DenseRetriever(Scripted([[1.0, 2.0]] * len(TEXTS), [[1.0, 2.0, 3.0]]))
    retriever.index(chunks_of(TEXTS))
    with pytest.raises(InputError, match="embedder scripted: expected vectors of 2 numbers, got 3"):
        retriever.retrieve(["a question"], 3)
