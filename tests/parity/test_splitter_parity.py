"""The recursive chunker against LangChain's splitter, whose chunks it must give with the same separators."""

from __future__ import annotations

from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from rag_evaluation_framework import RecursiveCharacterChunker
from rag_evaluation_framework.retrieval.chunkers import SEPARATORS
from sizes import loaded_on_use

splitters = loaded_on_use("langchain_text_splitters", reason="LangChain's splitters are not installed")


@given(
    text=st.text(alphabet="ab \n\n.?！分😀\r", max_size=200),
    size=st.integers(2, 40),  # at 1, LangChain keeps white space that it drops at any other size
    overlap=st.integers(0, 39),
    kind=st.sampled_from(sorted(SEPARATORS)),
    side=st.sampled_from(["start", "end"]),
)
def test_chunks_equal_langchains(
    text: str, size: int, overlap: int, kind: str, side: Literal["start", "end"]
) -> None:
    overlap = min(overlap, size - 1)
    splitter = splitters.RecursiveCharacterTextSplitter(
        chunk_size=size, chunk_overlap=overlap, separators=list(SEPARATORS[kind][0]), keep_separator=side
    )
    chunker = RecursiveCharacterChunker(size, overlap, separators=kind, keep_separator=side)
    assert chunker.chunk(text) == splitter.split_text(text)


def test_langchains_default_is_ours_by_its_name() -> None:
    text = "A paragraph of some words.\n\nAnother one,\nwith lines.\n\n\nAnd a last one. " * 40
    splitter = splitters.RecursiveCharacterTextSplitter(chunk_size=100, chunk_overlap=30)
    assert RecursiveCharacterChunker(100, 30, separators="langchain").chunk(text) == splitter.split_text(text)
