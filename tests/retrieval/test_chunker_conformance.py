"""What every registered chunker promises, held by each of them."""

from __future__ import annotations

import pickle

import pytest
from chunked_texts import BLANK, TEXTS, repetitive_texts
from hypothesis import given, settings

from cases import tables_beside
from rag_evaluation_framework import (
    Chunker,
    ChunkerPositionAdapter,
    Document,
    DocumentId,
    PositionAwareChunker,
    RecursiveCharacterChunker,
)
from rag_evaluation_framework.components import CHUNKERS, chunker_from
from rag_evaluation_framework.errors import MissingExtraError
from rag_evaluation_framework.retrieval.chunkers import SpanChunker

TABLES = tables_beside(__file__)

# How to build a small chunker of each kind; one that is not listed must build without arguments.
SPECIFICATIONS = TABLES["specifications"]
ALL = [text for name in CHUNKERS.names() for text in SPECIFICATIONS.get(name, [name])]


def built(specification: str) -> PositionAwareChunker:
    try:
        chunker = chunker_from(specification)
    except MissingExtraError as error:
        pytest.skip(str(error))
    return chunker if isinstance(chunker, PositionAwareChunker) else ChunkerPositionAdapter(chunker)


def document(text: str) -> Document:
    return Document(DocumentId("doc"), text)


def uncovered(text: str, spans: list[tuple[int, int]]) -> str:
    """Return the characters that no span has."""
    covered = bytearray(len(text))
    for start, end in spans:
        covered[start:end] = b"\x01" * (end - start)
    return "".join(character for character, seen in zip(text, covered, strict=True) if not seen)


@pytest.mark.parametrize("specification", ALL)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_chunks_are_exact_slices_in_order_and_leave_out_only_white_space(
    specification: str, text: str
) -> None:
    doc = document(text)
    chunks = built(specification).chunk_with_positions(doc)
    assert chunks
    assert all(chunk.matches(doc) for chunk in chunks)
    assert all(chunk.content.strip() for chunk in chunks)
    spans = [(chunk.start, chunk.end) for chunk in chunks]
    assert spans == sorted(spans)
    # Foreign chunks whose place is ambiguous may be put on another copy of their text.
    if not any("ambiguous" in chunk.metadata for chunk in chunks):
        assert not uncovered(text, spans).strip()


@pytest.mark.parametrize("specification", ALL)
@pytest.mark.parametrize("text", BLANK.values(), ids=BLANK)
def test_blank_text_has_no_chunks(specification: str, text: str) -> None:
    assert built(specification).chunk_with_positions(document(text)) == []


@pytest.mark.parametrize("specification", ALL)
def test_the_same_text_gives_the_same_chunks_with_and_without_positions(specification: str) -> None:
    chunker = built(specification)
    assert isinstance(chunker, Chunker)
    for text in TEXTS.values():
        placed = chunker.chunk_with_positions(document(text))
        assert placed == built(specification).chunk_with_positions(document(text))
        assert [chunk.content for chunk in placed] == [
            piece for piece in chunker.chunk(text) if piece.strip()
        ]


@pytest.mark.parametrize("specification", ALL)
def test_a_chunker_prints_as_a_specification_that_builds_it_again(specification: str) -> None:
    chunker = built(specification)
    again = built(str(chunker))
    assert str(again) == str(chunker)
    for text in TEXTS.values():
        assert again.chunk_with_positions(document(text)) == chunker.chunk_with_positions(document(text))


@pytest.mark.parametrize("specification", ALL)
def test_a_chunker_that_was_pickled_after_its_first_document_cuts_as_before(specification: str) -> None:
    chunker = built(specification)
    for text in TEXTS.values():
        before = chunker.chunk_with_positions(document(text))
        assert pickle.loads(pickle.dumps(chunker)).chunk_with_positions(document(text)) == before


@pytest.mark.parametrize(
    "specification", [text for text in ALL if text.split("(")[0] in ("recursive", "markdown")]
)
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_no_chunk_is_longer_than_asked_for_where_a_text_can_be_cut_anywhere(
    specification: str, text: str
) -> None:
    chunker = chunker_from(specification)
    if "length=words" not in specification:
        assert isinstance(chunker, SpanChunker)
        limit = chunker.parameters["chunk_size"]
        assert max(len(chunk) for chunk in chunker.chunk(text)) <= limit


@pytest.mark.parametrize(
    "specification", [text for text in ALL if not text.startswith(("langchain", "chonkie"))]
)
@settings(max_examples=40)
@given(text=repetitive_texts)
def test_repeated_paragraphs_keep_their_own_places(specification: str, text: str) -> None:
    doc = document(text)
    chunks = built(specification).chunk_with_positions(doc)
    assert all(chunk.matches(doc) for chunk in chunks)
    assert not uncovered(text, [(chunk.start, chunk.end) for chunk in chunks]).strip()
    starts = [chunk.start for chunk in chunks]
    assert starts == sorted(set(starts))


def test_the_calls_of_the_first_design_build_chunkers() -> None:
    assert str(RecursiveCharacterChunker(chunk_size=200)) == "recursive(chunk_size=200, overlap=0)"
    assert (
        f"{RecursiveCharacterChunker(chunk_size=200, overlap=50)}" == "recursive(chunk_size=200, overlap=50)"
    )
