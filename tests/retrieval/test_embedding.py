"""What an embedder returns is checked, whoever wrote it: one clear message for each way to be wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from stored_texts import TEXTS, chunks_of

from rag_evaluation_framework.errors import InputError
from rag_evaluation_framework.retrieval.embedders import embedded
from rag_evaluation_framework.retrieval.retrievers import DenseRetriever


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
        ([[1.0, 2.0]], "embedder scripted: expected 2 vectors, got 1"),
        ([[1.0, 2.0]] * 3, "embedder scripted: expected 2 vectors, got 3"),
        ([[1.0], [1.0, 2.0]], "embedder scripted: expected a list of vectors of one size, got sizes 1, 2"),
        (
            [[1.0, 2.0], [float("nan"), 0.0]],
            r"embedder scripted\[1\]\[0\]: expected a finite number, got nan",
        ),
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


def test_lists_of_lists_are_welcome() -> None:
    assert embedded(Scripted([[1, 2], [3, 4]]), ["one", "two"]).tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_queries_of_another_size_than_the_chunks_are_an_error_that_names_the_embedder() -> None:
    retriever = DenseRetriever(Scripted([[1.0, 2.0]] * len(TEXTS), [[1.0, 2.0, 3.0]]))
    retriever.index(chunks_of(TEXTS))
    with pytest.raises(InputError, match="embedder scripted: expected vectors of 2 numbers, got 3"):
        retriever.retrieve(["a question"], 3)


def test_nothing_to_embed_asks_nobody() -> None:
    assert len(embedded(Scripted(), [])) == 0
