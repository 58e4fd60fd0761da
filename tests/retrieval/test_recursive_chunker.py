"""The recursive chunker by worked examples, and the parameters it refuses."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from chunked_texts import repetitive_texts
from hypothesis import given
from hypothesis import strategies as st

from cases import tables_beside
from rag_evaluation_framework import RecursiveCharacterChunker, UsageError
from rag_evaluation_framework.retrieval.chunkers import TokenMeasure
from rag_evaluation_framework.retrieval.tokenizers import WordTokenizer

TABLES = tables_beside(__file__)


@pytest.mark.parametrize(
    ("text", "size", "overlap", "chunks"), TABLES["a_text_is_cut_at_its_coarsest_separators"]
)
def test_a_text_is_cut_at_its_coarsest_separators(
    text: str, size: int, overlap: int, chunks: list[str]
) -> None:
    assert RecursiveCharacterChunker(size, overlap).chunk(text) == chunks


def test_separators_of_ones_own_stay_where_one_says() -> None:
    text = "a;b;c"
    assert RecursiveCharacterChunker(2, separators=[";"]).chunk(text) == ["a;", "b;", "c"]
    assert RecursiveCharacterChunker(2, separators=[";"], keep_separator="start").chunk(text) == [
        "a",
        ";b",
        ";c",
    ]


def test_separators_of_ones_own_are_written_into_the_specification() -> None:
    chunker = RecursiveCharacterChunker(20, separators=["\n", '"', "\\"])
    written = chunker.parameters["separators"]
    assert json.loads(written) == ["\n", '"', "\\"]
    assert str(RecursiveCharacterChunker(20, separators=written)) == str(chunker)


def test_a_piece_that_no_separator_cuts_stays_whole() -> None:
    assert RecursiveCharacterChunker(3, separators=[" "]).chunk("abcdef gh") == ["abcdef", "gh"]


def test_token_lengths_are_counted_once_for_the_whole_text() -> None:
    # Tokens of the default tokenizer: |The| quick| brown| fox| jumps|, so two and two and one.
    chunker = RecursiveCharacterChunker(2, length="words")
    assert chunker.chunk("The quick brown fox jumps") == ["The quick", "brown fox", "jumps"]


@given(
    text=repetitive_texts,
    size=st.integers(1, 12),
    overlap=st.integers(0, 11),
    kind=st.sampled_from(["prose", "langchain", "chroma"]),
)
def test_chunks_hold_at_most_so_many_tokens_and_repeat_at_most_the_overlap(
    text: str, size: int, overlap: int, kind: str
) -> None:
    overlap = min(overlap, size - 1)
    chunker = RecursiveCharacterChunker(size, overlap, length="words", separators=kind)
    measure = TokenMeasure(text, WordTokenizer())
    spans = chunker.spans(text)
    assert all(measure.length(start, end) <= size for start, end in spans)
    for (_, end), (start, _) in pairwise(spans):
        assert start >= end or measure.length(start, end) <= overlap


@pytest.mark.parametrize(("arguments", "message"), TABLES["parameters_that_make_no_sense_are_refused"])
def test_parameters_that_make_no_sense_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match="^" + message.replace("[", r"\[")):
        RecursiveCharacterChunker(**arguments)  # type: ignore[arg-type]
