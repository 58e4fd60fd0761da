"""Byte-pair tokens without a download."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import FixedTokenChunker
from rag_evaluation_framework.retrieval.tokenizers import tokenizer_from

TABLES = tables_beside(__file__)

pytest.importorskip("rs_bpe", reason="the extra tokens is not installed")


@pytest.mark.parametrize(("name", "text", "offsets"), TABLES["cuts"])
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
