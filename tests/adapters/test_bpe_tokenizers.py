"""Byte-pair tokens without a download."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.retrieval.chunkers import FixedTokenChunker
from rag_evaluation_framework.retrieval.tokenizers import tokenizer_from

pytest.importorskip("rs_bpe", reason="the extra tokens is not installed")


@pytest.mark.parametrize(
    ("name", "text", "offsets"),
    [
        # Counts and cuts of OpenAI's tokenizer page: hello| world|!
        ("cl100k", "hello world!", [0, 5, 11, 12]),
        ("cl100k", " 12345", [0, 1, 4, 6]),
        ("o200k", "hello world!", [0, 5, 11, 12]),
        # 😀 is two tokens of cl100k; both start with the one character.
        ("cl100k", "a😀b", [0, 1, 1, 2, 3]),
        # What looks like a special token is text.
        ("cl100k", "<|endoftext|>", [0, 1, 2, 6, 8, 11, 12, 13]),
        ("cl100k", "", [0]),
    ],
)
def test_tokens_start_where_the_vocabulary_cuts(name: str, text: str, offsets: list[int]) -> None:
    assert tokenizer_from(name).offsets(text).tolist() == offsets


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=50))
def test_offsets_go_from_the_first_character_to_the_last(text: str) -> None:
    offsets = tokenizer_from("cl100k").offsets(text).tolist()
    assert offsets == sorted(offsets)
    assert offsets[-1] == len(text)
    assert not text or offsets[0] == 0


def test_chunks_have_so_many_byte_pairs() -> None:
    text = "The quick brown fox jumps over the lazy dog. " * 20
    chunks = FixedTokenChunker(50, 10, tokenizer="cl100k").chunk(text)
    # 10 tokens a sentence and one for the last space: 201. Windows of 50 start every 40; the fifth is last.
    assert len(chunks) == 5
    assert [len(tokenizer_from("cl100k").offsets(chunk)) - 1 for chunk in chunks[:4]] == [50] * 4
