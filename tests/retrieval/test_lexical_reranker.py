"""The lexical reranker moves up what shares the query's rarer words, and forgets no candidate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stored_texts import TEXTS, chunks_of

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.retrieval.retrievers import LexicalReranker


def test_a_worked_order() -> None:
    # By words: c, then a and b as they came (no shared word). Words count twice; with constant 10:
    # a = 2/12 + 1/11 = 0.2576, b = 2/13 + 1/12 = 0.2372, c = 2/11 + 1/13 = 0.2587.
    a, b, c = chunks_of(["red sky", "green sea", "blue lamp"])
    assert LexicalReranker().rerank("a lamp", [a, b, c], 3) == [c, a, b]
    assert LexicalReranker().rerank("a lamp", [a, b, c], 1) == [c]


def test_candidates_that_share_the_words_come_first() -> None:
    chunks = chunks_of(TEXTS)
    assert LexicalReranker().rerank("When are servers patched?", chunks[1:5], 1)[0].content == TEXTS[2]
    assert LexicalReranker().rerank("带薪年假", chunks[4:], 1)[0].content == TEXTS[5]


@given(query=st.text(max_size=20), numbers=st.permutations(range(len(TEXTS))), k=st.integers(1, 10))
def test_the_best_k_are_candidates_each_once(query: str, numbers: list[int], k: int) -> None:
    candidates = [chunks_of(TEXTS)[number] for number in numbers]
    kept = LexicalReranker().rerank(query, candidates, k)
    assert len(kept) == min(k, len(candidates))
    assert len({it.start for it in kept}) == len(kept)


def test_without_a_shared_word_the_order_stays() -> None:
    chunks = chunks_of(TEXTS)
    assert LexicalReranker().rerank("zebra", chunks, 8) == chunks


def test_no_candidates_give_none_and_k_of_zero_is_refused() -> None:
    assert LexicalReranker().rerank("q", [], 3) == []
    with pytest.raises(UsageError, match="k: expected a whole number of at least 1, got 0"):
        LexicalReranker().rerank("q", chunks_of(TEXTS), 0)
    with pytest.raises(UsageError, match="constant"):
        LexicalReranker(constant=-1)
