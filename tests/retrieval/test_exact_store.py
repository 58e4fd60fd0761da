"""The exact store finds the true nearest, orders ties by place, and gives the same answer however asked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import InputError
from rag_evaluation_framework.retrieval import stores
from rag_evaluation_framework.retrieval.stores import ExactVectorStore, nearest, unit_vectors
from stored_texts import chunk, numbered_chunks, random_vectors


def test_a_worked_example_is_ordered_by_the_cosine() -> None:
    # Cosines with (1, 0): (2, 0) is 1, (3, 4) is 3/5, (0, 5) is 0, (-1, 0) is -1.
    chunks = [chunk("a", start=0), chunk("b", start=5), chunk("c", start=9), chunk("d", start=20)]
    store = ExactVectorStore()
    store.add(chunks, [[3, 4], [-1, 0], [2, 0], [0, 5]])
    assert [it.content for it in store.search([1, 0], 4)] == ["c", "a", "d", "b"]
    assert [it.content for it in store.search([1, 0], 2)] == ["c", "a"]


@pytest.mark.parametrize("count", [1, 5, 40, 700, 4000])
def test_the_nearest_are_those_of_a_plain_sort_in_float64(count: int) -> None:
    vectors, queries = unit_vectors(random_vectors(count, 24)), unit_vectors(random_vectors(50, 24, seed=1))
    numbers, scores = nearest(queries, vectors, 10, tie_order=lambda: np.arange(count))
    expected = (queries.astype(np.float64)[:, None, :] * vectors[None, :, :]).sum(axis=-1)
    order = np.argsort(-expected, axis=1, kind="stable")[:, :10]
    assert numbers.tolist() == order.tolist()
    assert np.allclose(scores, np.take_along_axis(expected, order, axis=1), atol=1e-12)


@pytest.mark.parametrize("k", [1, 20, 300, 999, 1000, 1001])
@pytest.mark.parametrize("rising", [False, True])
def test_rows_in_several_blocks_are_merged(monkeypatch: pytest.MonkeyPatch, k: int, rising: bool) -> None:
    vectors, queries = unit_vectors(random_vectors(1000, 8)), unit_vectors(random_vectors(9, 8, seed=1))
    if rising:  # each block holds better ones than all before it
        vectors = vectors[np.argsort(vectors @ queries[0])]
    expected = (queries.astype(np.float64)[:, None, :] * vectors[None, :, :]).sum(axis=-1)
    monkeypatch.setattr(stores, "_ROW_BLOCK", 130)
    monkeypatch.setattr(stores, "_QUERY_BLOCK", 4)
    numbers = nearest(queries, vectors, k, tie_order=lambda: np.arange(1000))[0]
    assert numbers.tolist() == np.argsort(-expected, axis=1, kind="stable")[:, :k].tolist()


@given(directions=st.integers(1, 40), blocks=st.integers(1, 60), k=st.integers(1, 90), seed=st.integers(0, 9))
def test_crowds_of_equal_vectors_in_any_order_are_cut_by_the_order_of_ties(
    directions: int, blocks: int, k: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    count = 10 * blocks
    vectors = unit_vectors(random_vectors(directions, 5, seed=seed))[rng.integers(0, directions, count)]
    queries, rank = unit_vectors(random_vectors(6, 5, seed=seed + 1)), rng.permutation(count)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stores, "_ROW_BLOCK", 64)
        patch.setattr(stores, "_CROWD", 8)
        numbers, scores = nearest(queries, vectors, k, tie_order=lambda: rank)
    expected = (queries.astype(np.float64)[:, None, :] * vectors[None, :, :]).sum(axis=-1)
    for row, cosines in enumerate(expected):
        order = np.lexsort((rank, -cosines))[:k]
        assert numbers[row].tolist() == order.tolist()
        assert scores[row].tolist() == cosines[order].tolist()


def test_rows_of_length_one_stay_as_they_are_and_others_are_brought_to_it() -> None:
    unit = unit_vectors(random_vectors(600, 24))
    assert np.array_equal(unit_vectors(unit), unit)
    mixed = unit * np.where(np.arange(600) % 2, np.float32(1), np.float32(4))[:, None]  # 4 is exact
    assert np.array_equal(unit_vectors(mixed)[1::2], unit[1::2])
    assert np.allclose(np.linalg.norm(unit_vectors(mixed).astype(np.float64), axis=1), 1, atol=1e-7)


def test_asking_one_by_one_and_all_at_once_gives_the_same() -> None:
    store = ExactVectorStore()
    store.add(numbered_chunks(3000), random_vectors(3000, 32))  # type: ignore[arg-type]
    queries = random_vectors(20, 32, seed=4)
    together = store.search_many(queries, 10)  # type: ignore[arg-type]
    assert together == [store.search(query.tolist(), 10) for query in queries]
    assert together[5:9] == store.search_many(queries[5:9].tolist(), 10)


@pytest.mark.parametrize(
    ("embeddings", "message"),
    [
        ([[1, 2]], r"embeddings: expected 2 vectors, got 1"),
        ([[1, 2], [1, 2, 3]], r"embeddings: expected a list of vectors of one size, got sizes 2, 3"),
        ([[1, float("nan")], [1, 2]], r"embeddings\[0\]\[1\]: expected a finite number, got nan"),
        ([[1, 2], [1e39, 2]], r"embeddings\[1\]\[0\]: expected a finite number, got inf"),
        ([[], []], r"embeddings: expected vectors of at least one number, got empty vectors"),
        ([["x", "y"], ["z", "w"]], r"embeddings: expected a list of vectors of one size, got"),
        ([1.0, 2.0], r"embeddings: expected a list of vectors, got an array of 1 dimension"),
    ],
)
def test_vectors_that_cannot_be_are_refused_and_nothing_is_kept(embeddings: object, message: str) -> None:
    store = ExactVectorStore()
    with pytest.raises(InputError, match=message):
        store.add([chunk("a"), chunk("b", start=5)], embeddings)  # type: ignore[arg-type]
    assert len(store) == 0
