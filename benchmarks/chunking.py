"""Chunking with exact positions against LangChain's splitter and chonkie, on the same text.

With LangChain's separators our chunks are checked to be LangChain's before anything is printed. LangChain is
timed for texts alone, to which the ratios refer, and with offsets, found by searching; ours for spans,
texts, and chunks with ids and positions. Peers that are not installed are left out.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from rag_evaluation_framework.records.documents import Document, DocumentId
from rag_evaluation_framework.retrieval.chunkers import FixedTokenChunker, RecursiveCharacterChunker
from rag_evaluation_framework.text.sentences import sentence_spans

Result = TypeVar("Result")

CHARACTERS = 10_000_000
REPETITIONS = 3
SIZES = ((200, 0), (200, 50), (1000, 0), (1000, 200))
TOKEN_SIZE = 200


def main() -> None:
    """Print megabytes a CPU second, and the ratio to LangChain in the same row's setting."""
    text = _prose(random.Random(0), CHARACTERS)
    print(f"{len(text) / 1e6:.1f} million characters of prose")
    print(f"{'task':<66}{'M/s':>8}{'ratio':>9}")
    for size, overlap in SIZES:
        _by_characters(text, size, overlap)
    _by_tokens(text)
    _print_row("fixed tokens, words", len(text), _cpu_seconds(lambda: FixedTokenChunker(200).spans(text))[0])
    _print_row("sentences", len(text), _cpu_seconds(lambda: sentence_spans(text))[0])


def _by_characters(text: str, size: int, overlap: int) -> None:
    same = RecursiveCharacterChunker(size, overlap, separators="langchain")
    prose = RecursiveCharacterChunker(size, overlap)
    document = Document(DocumentId("prose"), text)
    theirs: float | None = None
    setting = f"recursive, characters {size}/{overlap}"
    if find_spec("langchain_text_splitters"):
        from langchain_text_splitters import RecursiveCharacterTextSplitter

        splitter = RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=overlap)
        theirs, texts = _cpu_seconds(lambda: splitter.split_text(text))
        assert same.chunk(text) == texts
        _print_row(f"{setting}: LangChain, texts alone", len(text), theirs, theirs)
        splitter = RecursiveCharacterTextSplitter(
            chunk_size=size, chunk_overlap=overlap, add_start_index=True
        )
        seconds, _ = _cpu_seconds(lambda: splitter.create_documents([text]), repetitions=1)
        _print_row(f"{setting}: LangChain, with offsets", len(text), seconds, theirs)
    if find_spec("chonkie") and not overlap:
        from chonkie import RecursiveChunker

        chonkie = RecursiveChunker(tokenizer="character", chunk_size=size)
        _print_row(f"{setting}: chonkie", len(text), _cpu_seconds(lambda: chonkie.chunk(text))[0], theirs)
    _print_row(f"{setting}: ours, spans", len(text), _cpu_seconds(lambda: same.spans(text))[0], theirs)
    _print_row(f"{setting}: ours, texts", len(text), _cpu_seconds(lambda: same.chunk(text))[0], theirs)
    seconds, _ = _cpu_seconds(lambda: same.chunk_with_positions(document))
    _print_row(f"{setting}: ours, chunks with ids and positions", len(text), seconds, theirs)
    _print_row(
        f"{setting}: ours, own separators, spans",
        len(text),
        _cpu_seconds(lambda: prose.spans(text))[0],
        theirs,
    )


def _by_tokens(text: str) -> None:
    """Compare lengths in cl100k tokens; LangChain counts with the same vocabulary."""
    if not find_spec("rs_bpe"):
        return
    setting = f"recursive, cl100k tokens {TOKEN_SIZE}/0"
    theirs: float | None = None
    if find_spec("langchain_text_splitters"):
        from langchain_text_splitters import RecursiveCharacterTextSplitter
        from rs_bpe import openai

        splitter = RecursiveCharacterTextSplitter(
            chunk_size=TOKEN_SIZE, chunk_overlap=0, length_function=openai.cl100k_base().count
        )
        theirs, _ = _cpu_seconds(lambda: splitter.split_text(text), repetitions=1)
        _print_row(f"{setting}: LangChain, texts alone", len(text), theirs, theirs)
    ours = RecursiveCharacterChunker(TOKEN_SIZE, length="cl100k", separators="langchain")
    _print_row(f"{setting}: ours, spans", len(text), _cpu_seconds(lambda: ours.spans(text))[0], theirs)
    fixed = FixedTokenChunker(TOKEN_SIZE, tokenizer="cl100k")
    _print_row("fixed tokens, cl100k", len(text), _cpu_seconds(lambda: fixed.spans(text))[0])


def _prose(rng: random.Random, characters: int) -> str:
    """Return text with the shape of prose: words, sentences, and paragraphs of one to twelve sentences."""
    pages = (Path(__file__).parents[1] / "docs").glob("*.md")
    words = [
        word for page in sorted(pages) for word in re.findall(r"[a-z]+", page.read_text(encoding="utf-8"))
    ]
    paragraphs: list[str] = []
    length = 0
    while length < characters:
        sentences = [
            " ".join(rng.choices(words, k=rng.randint(4, 30))).capitalize() + "."
            for _ in range(rng.randint(1, 12))
        ]
        paragraphs.append(" ".join(sentences))
        length += len(paragraphs[-1]) + 2
    return "\n\n".join(paragraphs)


def _cpu_seconds(task: Callable[[], Result], repetitions: int = REPETITIONS) -> tuple[float, Result]:
    """Return the least CPU time of several runs, and the last result."""
    least = float("inf")
    for _ in range(repetitions):
        begun = time.process_time()
        result = task()
        least = min(least, time.process_time() - begun)
    return least, result


def _print_row(task: str, characters: int, seconds: float, theirs: float | None = None) -> None:
    ratio = "" if theirs is None else f"{theirs / seconds:8.1f}×"
    print(f"{task:<66}{characters / 1e6 / seconds:>8.1f}{ratio:>9}")


if __name__ == "__main__":
    main()
