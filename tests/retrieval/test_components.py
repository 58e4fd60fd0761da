"""Components from specifications."""

from __future__ import annotations

import pytest

from cases import tables_beside
from rag_evaluation_framework import RecursiveCharacterChunker, SemanticChunker, UsageError
from rag_evaluation_framework.components import chunker_from
from rag_evaluation_framework.extensions import parse_specification

TABLES = tables_beside(__file__)


def test_a_specification_builds_the_chunker_it_names() -> None:
    chunker = chunker_from("recursive(chunk_size=200, overlap=50)")
    assert isinstance(chunker, RecursiveCharacterChunker)
    assert (chunker.chunk_size, chunker.overlap) == (200, 50)
    assert str(chunker_from(parse_specification("recursive(chunk_size=200, overlap=50)"))) == str(chunker)


def test_a_component_among_the_arguments_is_built_too() -> None:
    chunker = chunker_from("semantic(embedder=hashing, buffer=2)")
    assert isinstance(chunker, SemanticChunker)
    assert chunker.buffer == 2


@pytest.mark.parametrize(("text", "message"), TABLES["arguments_a_chunker_does_not_have_are_named"])
def test_arguments_a_chunker_does_not_have_are_named(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        chunker_from(text)
