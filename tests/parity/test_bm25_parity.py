"""BM25 against bm25s (the same formula) and rank_bm25 (the same saturation, another idf)."""

from __future__ import annotations

import random

import numpy as np
import pytest

from rag_evaluation_framework.retrieval.bm25 import BM25Index

bm25s = pytest.importorskip("bm25s")
rank_bm25 = pytest.importorskip("rank_bm25")


def collection(seed: int) -> tuple[list[list[str]], list[list[str]]]:
    rng = random.Random(seed)
    words = [f"w{number}" for number in range(300)]
    weights = [1 / (number + 1) for number in range(300)]  # words are spread as in a language
    texts = [rng.choices(words, weights, k=rng.randint(1, 60)) for _ in range(200)]
    queries = [rng.sample(words, k=rng.randint(1, 6)) for _ in range(30)]
    return texts, queries


@pytest.mark.parametrize(("k1", "b"), [(1.5, 0.75), (0.9, 0.4), (1.2, 0.0)])
def test_scores_are_those_of_bm25s_with_lucenes_formula(k1: float, b: float) -> None:
    texts, queries = collection(0)
    theirs = bm25s.BM25(method="lucene", k1=k1, b=b)
    theirs.index(texts, show_progress=False)
    ours = BM25Index(texts, k1=k1, b=b)
    for query in queries:
        assert np.allclose(ours.scores(query), theirs.get_scores(query), rtol=1e-5, atol=1e-6)


def test_one_word_ranks_as_rank_bm25_ranks_it() -> None:
    # For one word the idf is a constant factor: saturation and length alone decide.
    texts, _ = collection(1)
    theirs, ours = rank_bm25.BM25Okapi(texts, k1=1.5, b=0.75), BM25Index(texts)
    for word in ("w20", "w50", "w120"):
        expected = theirs.get_scores([word]) / theirs.idf[word] / (1.5 + 1)
        holding = sum(word in text for text in texts)
        rarity = np.log1p((len(texts) - holding + 0.5) / (holding + 0.5))
        assert np.allclose(ours.scores([word]) / rarity, expected, rtol=1e-9)
