"""The sentence chunker: whole sentences, as many as fit."""

from __future__ import annotations

from typing import Any

from rag_evaluation_framework.retrieval.measures import Measure, measure_of
from rag_evaluation_framework.retrieval.recursive_spans import SpanList
from rag_evaluation_framework.retrieval.sentences import sentence_spans
from rag_evaluation_framework.retrieval.span_chunker import (
    CHARACTERS,
    SpanChunker,
    checked_sizes,
    length_unit,
)
from rag_evaluation_framework.retrieval.tokenizers import AnyTokenizer


class SentenceChunker(SpanChunker):
    """Puts neighbouring sentences together while they fit into ``chunk_size``; none is cut.

    A sentence longer than that is a chunk by itself. ``overlap`` is how much of the chunk before may be
    repeated, in whole sentences. ``length`` is what sizes count: ``characters`` or a tokenizer's tokens.
    Sentences are found by the rules of :mod:`~rag_evaluation_framework.retrieval.sentences`, for English and
    Chinese.
    """

    name = "sentence"

    def __init__(
        self,
        chunk_size: int = 1000,
        overlap: int = 0,
        *,
        length: AnyTokenizer = CHARACTERS,
    ) -> None:
        self.chunk_size, self.overlap = checked_sizes("chunk_size", chunk_size, overlap)
        self._tokenizer = length_unit(length)

    def spans(self, text: str) -> SpanList:
        measure = measure_of(text, self._tokenizer)
        return joined(sentence_spans(text), measure, size=self.chunk_size, overlap=self.overlap)

    @property
    def parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = {"chunk_size": self.chunk_size, "overlap": self.overlap}
        if self._tokenizer is not None:
            parameters["length"] = self._tokenizer.name
        return parameters


def joined(sentences: SpanList, measure: Measure, *, size: int, overlap: int = 0) -> SpanList:
    """Join neighbouring sentences into spans of at most ``size``, which repeat at most ``overlap``."""
    spans: SpanList = []
    first = 0
    for number, (_, end) in enumerate(sentences):
        if number > first and measure.length(sentences[first][0], end) > size:
            last_end = sentences[number - 1][1]
            spans.append((sentences[first][0], last_end))
            while first < number and (
                measure.length(sentences[first][0], last_end) > overlap
                or measure.length(sentences[first][0], end) > size
            ):
                first += 1
    if first < len(sentences):
        spans.append((sentences[first][0], sentences[-1][1]))
    return spans
