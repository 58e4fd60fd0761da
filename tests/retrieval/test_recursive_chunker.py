"""The recursive chunker by worked examples, and the parameters it refuses."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from chunked_texts import repetitive_texts
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework.errors import UnknownNameError, UsageError
from rag_evaluation_framework.retrieval.chunkers import RecursiveCharacterChunker, TokenMeasure
from rag_evaluation_framework.retrieval.tokenizers import WordTokenizer


@pytest.mark.parametrize(
    ("text", "size", "overlap", "chunks"),
    [
        # Two paragraphs of 3 and 4 characters: 3 + 2 + 4 = 9 fit into 9, not into 8.
        ("one\n\nfour", 9, 0, ["one\n\nfour"]),
        ("one\n\nfour", 8, 0, ["one", "four"]),
        # The first paragraph (11) is too long and is cut at spaces; "three" is not joined to it.
        ("alpha bravo\n\nthree", 8, 0, ["alpha", "bravo", "three"]),
        # Words of 2 with their space: 3 a piece. Three pieces are 9; the overlap of 3 repeats one.
        ("aa bb cc dd ee", 9, 3, ["aa bb cc", "cc dd ee"]),
        # No word fits into an overlap of 2.
        ("aa bb cc dd ee", 9, 2, ["aa bb cc", "dd ee"]),
        # Nothing to cut at: anywhere, each chunk repeating 2 characters.
        ("abcdefgh", 4, 2, ["abcd", "cdef", "efgh"]),
        # Chinese sentences, 4 characters each with their stop.
        ("第一句。第二句。第三句。", 8, 0, ["第一句。第二句。", "第三句。"]),
        ("第一句！第二句？", 4, 0, ["第一句！", "第二句？"]),
        # Paragraphs with CRLF are paragraphs.
        ("a b\r\n\r\nc d", 5, 0, ["a b", "c d"]),
        # A sentence keeps its stop.
        ("One two. Three four.", 12, 0, ["One two.", "Three four."]),
    ],
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"chunk_size": 0}, "chunk_size: expected a whole number of at least 1, got 0"),
        ({"chunk_size": 2.5}, "chunk_size: expected a whole number of at least 1, got 2.5"),
        ({"chunk_size": True}, "chunk_size: expected a whole number"),
        ({"chunk_size": 10, "overlap": -1}, "overlap: expected a whole number of at least 0, got -1"),
        ({"chunk_size": 10, "overlap": 10}, "overlap: expected less than chunk_size, which is 10, got 10"),
        ({"chunk_size": 10, "separators": []}, "separators: expected a name or a list of texts"),
        ({"chunk_size": 10, "separators": "[1]"}, "separators: expected a name or a list of texts"),
        ({"chunk_size": 10, "separators": "[oops"}, "separators: expected a name or a list of texts"),
        ({"chunk_size": 10, "keep_separator": "middle"}, "keep_separator: expected start or end"),
        ({"chunk_size": 10, "length": 7}, "tokenizer: expected a tokenizer's name"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match="^" + message.replace("[", r"\[")):
        RecursiveCharacterChunker(**arguments)  # type: ignore[arg-type]


def test_unknown_names_offer_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean prose"):
        RecursiveCharacterChunker(10, separators="pros")
    with pytest.raises(UnknownNameError, match="did you mean cl100k"):
        RecursiveCharacterChunker(10, length="cl100")
