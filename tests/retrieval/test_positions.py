"""Positions for chunkers that only return texts."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import (
    ChunkerPositionAdapter,
    Document,
    DocumentId,
    PositionAwareChunk,
    UsageError,
)
from rag_evaluation_framework.retrieval.positions import UnplacedChunkWarning

TEXT = " ".join(f"word{number}" for number in range(160))


class TextChunker:
    """A foreign chunker: a function from text to texts."""

    def __init__(self, function: Callable[[str], list[str]]) -> None:
        self.function = function

    def chunk(self, text: str) -> list[str]:
        return self.function(text)


def windows(size: int, overlap: int) -> TextChunker:
    step = size - overlap
    return TextChunker(
        lambda text: [text[at : at + size] for at in range(0, max(len(text) - overlap, 1), step)]
    )


def placed(text: str, chunker: TextChunker) -> list[PositionAwareChunk]:
    return ChunkerPositionAdapter(chunker).chunk_with_positions(Document(DocumentId("doc"), text))


def test_every_overlapping_chunk_is_found() -> None:
    text = TEXT[:1250]
    chunks = windows(200, 50).chunk(text)
    assert len(chunks) == 8
    assert [chunk.start for chunk in placed(text, windows(200, 50))] == [*range(0, 1200, 150)]


@given(
    st.lists(st.sampled_from(["a", "bb", "a", "ccc", "分", "😀"]), min_size=1, max_size=60),
    st.integers(2, 12),
    st.integers(0, 11),
)
def test_a_chunk_that_has_one_place_is_at_it_and_the_others_say_that_they_are_ambiguous(
    words: list[str], size: int, overlap: int
) -> None:
    text = " ".join(words)
    overlap = min(overlap, size - 1)
    chunker = windows(size, overlap)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnplacedChunkWarning)
        chunks = placed(text, chunker)
    starts = [chunk.start for chunk in chunks]
    assert starts == sorted(set(starts))
    assert all(text[chunk.start : chunk.end] == chunk.content for chunk in chunks)
    unambiguous = {chunk.start for chunk in chunks if not chunk.metadata}
    for number, piece in enumerate(chunker.chunk(text)):
        true = number * (size - overlap)
        if piece.strip() and text.count(piece) == 1 and text.find(piece, text.find(piece) + 1) < 0:
            assert true in unambiguous


def test_repeated_paragraphs_that_follow_one_another_are_placed_in_turn() -> None:
    chunks = placed("same.\n\nsame.\n\nother.\n\nsame.", TextChunker(lambda text: text.split("\n\n")))
    assert [chunk.start for chunk in chunks] == [0, 7, 14, 22]
    # "other." stands once; that leaves two places for the two before it and one for the one behind it.
    assert [chunk.metadata for chunk in chunks] == [{}, {}, {}, {}]


def test_an_ambiguous_chunk_leaves_room_for_those_that_follow() -> None:
    # Windows of 8 that repeat 4. The second also stands directly after the first, where the third would have
    # no place before the last, which has one.
    text = "xyxyxyxyxyxyxyxyAB"
    chunks = placed(text, windows(8, 4))
    assert [chunk.content for chunk in chunks] == ["xyxyxyxy"] * 3 + ["xyxyAB"]
    assert [bool(chunk.metadata) for chunk in chunks] == [True, True, True, False]


def test_a_chunk_out_of_order_costs_no_other_its_place() -> None:
    chunker = TextChunker(lambda text: [*text.split(), "one"])
    with pytest.warns(UnplacedChunkWarning, match="1 of 4 chunks"):
        chunks = placed("one two three", chunker)
    assert [chunk.start for chunk in chunks] == [0, 4, 8]


def test_changed_white_space_is_tolerated_and_the_content_is_the_documents() -> None:
    text = "One  two\nthree.\n\nFour\tfive."
    chunks = placed(text, TextChunker(lambda text: ["One two three.", "Four five."]))
    assert [(chunk.start, chunk.end, chunk.content) for chunk in chunks] == [
        (0, 15, "One  two\nthree."),
        (17, 27, "Four\tfive."),
    ]


def test_what_is_not_in_the_document_is_warned_about_counted_and_left_out() -> None:
    adapter = ChunkerPositionAdapter(TextChunker(lambda text: ["One.", "SHOUTED", "Two.", "  "]))
    document = Document(DocumentId("doc"), "One. shouted Two.")
    with pytest.warns(
        UnplacedChunkWarning,
        match=r"doc: skipped 1 of 3 chunks, whose text is not in the document .*'SHOUTED'",
    ):
        chunks = adapter.chunk_with_positions(document)
    assert [chunk.content for chunk in chunks] == ["One.", "Two."]
    assert adapter.unplaced == {"doc": 1}


def test_what_is_no_chunker_is_refused() -> None:
    with pytest.raises(UsageError, match="chunker: expected an object with chunk"):
        ChunkerPositionAdapter("recursive")  # type: ignore[arg-type]
