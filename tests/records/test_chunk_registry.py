"""Chunk ids are hashes of text; the registry keeps every place of a repeated text."""

from __future__ import annotations

from rag_evaluation_framework import (
    CharacterSpan,
    Chunk,
    ChunkId,
    ChunkRegistry,
    Document,
    DocumentId,
    PositionAwareChunk,
    PositionAwareChunkId,
    generate_chunk_id,
    generate_pa_chunk_id,
)

A, B = DocumentId("a.md"), DocumentId("b.md")


def place(text: str, doc_id: DocumentId, start: int) -> PositionAwareChunk:
    return PositionAwareChunk(generate_pa_chunk_id(text), text, doc_id, start, start + len(text))


def test_ids_are_the_first_twelve_digits_of_the_sha256() -> None:
    assert generate_chunk_id("Hello, World!") == "chunk_dffd6021bb2b"
    assert generate_pa_chunk_id("Hello, World!") == "pa_chunk_dffd6021bb2b"


def test_the_same_text_in_two_places_shares_an_id_and_keeps_both_places() -> None:
    registry = ChunkRegistry()
    first, second, third = place("same", A, 10), place("same", A, 90), place("same", B, 10)
    for chunk in (first, second, third, second):
        registry.register_pa_chunk(chunk)
    assert registry.get_pa_chunk(first.id) is first
    assert registry.get_span(first.id) == CharacterSpan(A, 10, 14)
    assert registry.get_spans(first.id) == [first.to_span(), second.to_span(), third.to_span()]


def test_both_kinds_are_registered_and_found_by_the_short_names_too() -> None:
    registry = ChunkRegistry()
    plain = Chunk(generate_chunk_id("text"), "text", A)
    placed = place("text", A, 0)
    registry.register(plain)
    registry.register(placed)
    assert registry.get(plain.id) is registry.get_chunk(plain.id) is plain
    assert registry.get(placed.id) is placed


def test_an_unknown_id_is_none() -> None:
    registry = ChunkRegistry()
    assert registry.get("x") is None
    assert registry.get_chunk(ChunkId("x")) is None
    assert registry.get_pa_chunk(PositionAwareChunkId("x")) is None
    assert registry.get_span(PositionAwareChunkId("x")) is None
    assert registry.get_spans(PositionAwareChunkId("x")) == []


def test_a_chunk_knows_whether_it_stands_in_its_document() -> None:
    document = Document(A, "say same again")
    assert place("same", A, 4).matches(document)
    assert not place("same", A, 5).matches(document)
    assert not place("same", B, 4).matches(document)
