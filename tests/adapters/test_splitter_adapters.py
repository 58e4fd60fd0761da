"""Splitters of other packages as chunkers, with positions."""

from __future__ import annotations

import sys

import pytest

from rag_evaluation_framework import Document, DocumentId, UsageError
from rag_evaluation_framework.adapters.vendor_chunkers import ChonkieChunker, LangChainChunker
from rag_evaluation_framework.components import chunker_from
from rag_evaluation_framework.errors import MissingExtraError, UnknownNameError

WORDS = Document(DocumentId("words"), " ".join(f"word{number}" for number in range(300)))


def test_overlapping_chunks_of_langchain_are_all_placed() -> None:
    pytest.importorskip("langchain_text_splitters", reason="LangChain's splitters are not installed")
    chunker = LangChainChunker("RecursiveCharacterTextSplitter", chunk_size=200, chunk_overlap=50)
    chunks = chunker.chunk_with_positions(WORDS)
    assert [chunk.content for chunk in chunks] == chunker.chunk(WORDS.content)
    assert all(chunk.matches(WORDS) for chunk in chunks)
    assert not any(chunk.metadata for chunk in chunks)
    assert chunker.unplaced == {}


def test_a_splitter_that_returns_documents_is_taken_at_their_text() -> None:
    splitters = pytest.importorskip(
        "langchain_text_splitters", reason="LangChain's splitters are not installed"
    )
    chunker = LangChainChunker(splitters.MarkdownHeaderTextSplitter([("#", "title")], strip_headers=False))
    document = Document(DocumentId("guide"), "# One\n\nText of one.\n\n# Two\n\nText of two.\n")
    assert [chunk.start for chunk in chunker.chunk_with_positions(document)] == [0, 21]
    assert str(chunker) == "langchain(splitter=MarkdownHeaderTextSplitter)"


def test_chonkie_is_believed_where_the_document_agrees() -> None:
    pytest.importorskip("chonkie", reason="chonkie is not installed")
    chunker = ChonkieChunker("TokenChunker", tokenizer="character", chunk_size=200, chunk_overlap=50)
    # All windows are the same text, so no search could tell their places.
    document = Document(DocumentId("same"), "x" * 1250)
    assert [chunk.start for chunk in chunker.chunk_with_positions(document)][:4] == [0, 150, 300, 450]


def test_chonkie_is_searched_after_where_the_document_disagrees() -> None:
    class Piece:
        def __init__(self, text: str) -> None:
            self.text, self.start_index, self.end_index = text, 99, 99 + len(text)

    class Lost:
        def chunk(self, text: str) -> list[Piece]:
            return [Piece(text[:10]), Piece(text[5:20])]

    assert [chunk.start for chunk in ChonkieChunker(Lost()).chunk_with_positions(WORDS)] == [0, 5]


@pytest.mark.parametrize(
    ("specification", "message"),
    [
        ("langchain(splitter=RecursiveTextSplitter)", 'Did you mean "RecursiveCharacterTextSplitter'),
        ("chonkie(chunker=RecursivChunker)", 'Did you mean "RecursiveChunker'),
    ],
)
def test_unknown_splitters_offer_the_nearest(specification: str, message: str) -> None:
    pytest.importorskip("langchain_text_splitters", reason="LangChain's splitters are not installed")
    pytest.importorskip("chonkie", reason="chonkie is not installed")
    with pytest.raises(UnknownNameError, match=message):
        chunker_from(specification)


def test_arguments_that_a_splitter_refuses_are_an_error_of_usage() -> None:
    pytest.importorskip("langchain_text_splitters", reason="LangChain's splitters are not installed")
    with pytest.raises(UsageError, match="RecursiveCharacterTextSplitter: "):
        chunker_from("langchain(chunk_size=10, chunk_overlap=20)")
    with pytest.raises(UsageError, match="RecursiveCharacterTextSplitter: "):
        chunker_from("langchain(size=10)")


@pytest.mark.parametrize("adapter", [LangChainChunker, ChonkieChunker])
def test_what_is_no_splitter_is_refused(adapter: type[LangChainChunker] | type[ChonkieChunker]) -> None:
    with pytest.raises(UsageError, match="expected an object with"):
        adapter(7)
    with pytest.raises(UsageError, match="arguments apply only to"):
        adapter(object(), chunk_size=5)


@pytest.mark.parametrize(
    ("package", "specification", "extra"),
    [
        ("langchain_text_splitters", "langchain", "langchain"),
        ("chonkie", "chonkie", "chonkie"),
        ("rs_bpe", "fixed(tokenizer=cl100k)", "tokens"),
    ],
)
def test_a_missing_package_says_what_to_install(
    package: str, specification: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rag_evaluation_framework.retrieval import tokenizers

    monkeypatch.setitem(sys.modules, package, None)
    tokenizers.cl100k.cache_clear()
    with pytest.raises(MissingExtraError, match=rf"rag-evaluation-framework\[{extra}\]"):
        chunker_from(specification)
