"""Components from specifications."""

from __future__ import annotations

import pytest

from rag_evaluation_framework.components import CHUNKERS, chunker_from
from rag_evaluation_framework.errors import UnknownNameError, UsageError
from rag_evaluation_framework.extensions import parse_specification
from rag_evaluation_framework.retrieval.chunkers import RecursiveCharacterChunker, SemanticChunker


def test_a_specification_builds_the_chunker_it_names() -> None:
    chunker = chunker_from("recursive(chunk_size=200, overlap=50)")
    assert isinstance(chunker, RecursiveCharacterChunker)
    assert (chunker.chunk_size, chunker.overlap) == (200, 50)
    assert str(chunker_from(parse_specification("recursive(chunk_size=200, overlap=50)"))) == str(chunker)


def test_a_component_among_the_arguments_is_built_too() -> None:
    chunker = chunker_from("semantic(embedder=hashing, buffer=2)")
    assert isinstance(chunker, SemanticChunker)
    assert chunker.buffer == 2


def test_every_chunker_is_listed() -> None:
    assert {"chonkie", "fixed", "langchain", "markdown", "recursive", "semantic", "sentence"} <= set(
        CHUNKERS.names()
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "recursive(size=200)",
            r"chunker 'recursive\(size=200\)': unknown setting 'size'; did you mean chunk_size",
        ),
        ("semantic", "chunker 'semantic': expected the setting embedder, got none"),
        ("recursive(chunk_size=words(x=1))", "chunk_size: expected a value, got the component"),
        ("recursive(chunk_size=abc)", "expected chunk_size to be a whole number, got 'abc'"),
        ("recursive(chunk_size=0)", "chunk_size: expected a whole number of at least 1, got 0"),
    ],
)
def test_arguments_a_chunker_does_not_have_are_named(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        chunker_from(text)


def test_an_unknown_chunker_offers_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="unknown chunker 'recursiv'; did you mean recursive"):
        chunker_from("recursiv(chunk_size=5)")
