"""BM25 by its formula, in English and Chinese, with ties by place."""

from __future__ import annotations

from math import log

import pytest

from rag_evaluation_framework import InputError, UsageError
from rag_evaluation_framework.retrieval.bm25 import BM25Index, BM25Retriever
from stored_texts import TEXTS, chunk, chunks_of, places


def test_a_worked_score() -> None:
    # Three texts of lengths 2, 4 and 3, mean 3; k1 = 1.5, b = 0.75. "cat" is in two of them.
    index = BM25Index([["cat", "dog"], ["cat", "cat", "cow", "hen"], ["hen", "owl", "owl"]])
    rarity_cat = log(1 + (3 - 2 + 0.5) / (2 + 0.5))
    rarity_dog = log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    first_norm = 1.5 * (0.25 + 0.75 * 2 / 3)
    second_norm = 1.5 * (0.25 + 0.75 * 4 / 3)
    expected = [
        rarity_cat / (1 + first_norm) + 2 * rarity_dog / (1 + first_norm),  # the query has "dog" twice
        rarity_cat * 2 / (2 + second_norm),
        0.0,
    ]
    assert index.scores(["dog", "cat", "dog", "unknown"]).tolist() == pytest.approx(expected)


def test_what_shares_no_word_is_not_found() -> None:
    retriever = BM25Retriever()
    retriever.index(chunks_of(TEXTS))
    assert retriever.retrieve(["zebra"], 5) == [[]]
    assert [it.content for it in retriever.retrieve(["laptops replaced"], 5)[0]] == [TEXTS[3]]


def test_chinese_is_found_by_its_words() -> None:
    retriever = BM25Retriever()
    retriever.index(chunks_of(TEXTS))
    found = retriever.retrieve(["带薪年假有几天？", "差旅报销"], 1)
    assert [row[0].content for row in found] == [TEXTS[5], TEXTS[6]]


def test_pairs_of_characters_tell_words_from_shared_characters() -> None:
    # 年假 and 假年 share both characters; only the pair tells them apart.
    retriever = BM25Retriever()
    retriever.index(chunks_of(["假年数据", "年假数据"]))
    assert retriever.retrieve(["年假"], 1)[0][0].content == "年假数据"


def test_equal_scores_are_ordered_by_document_then_start_also_at_the_cut() -> None:
    retriever = BM25Retriever()
    retriever.index(
        [chunk("same words", doc, start) for doc, start in [("b", 1), ("a", 9), ("b", 0), ("a", 4)]]
    )
    assert places(retriever.retrieve(["words"], 3)[0]) == [("a", 4), ("a", 9), ("b", 0)]


def test_bad_parameters_and_k_of_zero_are_refused() -> None:
    with pytest.raises(UsageError, match="bm25"):
        BM25Retriever(k1=-1)
    with pytest.raises(UsageError, match="bm25"):
        BM25Retriever(b=1.5)
    with pytest.raises(UsageError, match="k: expected a whole number of at least 1, got 0"):
        BM25Retriever().retrieve(["a"], 0)
    with pytest.raises(InputError, match="texts: expected a list of texts, got 'a'"):
        BM25Retriever().retrieve("a", 1)
