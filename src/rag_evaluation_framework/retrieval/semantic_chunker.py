"""The semantic chunker: a chunk ends where the next sentences are about something else."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import InputError, Issue, UsageError, shown
from rag_evaluation_framework.extensions import Embedder
from rag_evaluation_framework.retrieval.measures import CharacterMeasure
from rag_evaluation_framework.retrieval.recursive_chunker import RecursiveCharacterChunker
from rag_evaluation_framework.retrieval.recursive_spans import SpanList
from rag_evaluation_framework.retrieval.sentence_chunker import joined
from rag_evaluation_framework.retrieval.sentences import sentence_spans
from rag_evaluation_framework.retrieval.span_chunker import SpanChunker, checked_count
from rag_evaluation_framework.specifications import Specification, parse_specification


class SemanticChunker(SpanChunker):
    """Cuts a text between sentences whose neighbourhoods have the most different embeddings.

    Every sentence is embedded together with ``buffer`` sentences on either side. Where the cosine distance of
    two neighbours is above the ``percentile`` of all distances in the document, a chunk ends (the method that
    Greg Kamradt described in "5 Levels of Text Splitting", 2024, with his percentile). What is longer than
    ``chunk_size`` characters is cut again, between sentences where that is enough.
    """

    name = "semantic"

    def __init__(
        self, embedder: Embedder, *, percentile: float = 95.0, buffer: int = 1, chunk_size: int = 2000
    ) -> None:
        if not isinstance(embedder, Embedder):
            raise UsageError(f"embedder: expected an object with embed(texts), got {shown(embedder)}")
        if not isinstance(percentile, int | float) or not 0 <= percentile <= 100:
            raise UsageError(f"percentile: expected a number from 0 to 100, got {shown(percentile)}")
        self.embedder = embedder
        self.percentile = float(percentile)
        self.buffer = checked_count("buffer", buffer, at_least=0)
        self.chunk_size = checked_count("chunk_size", chunk_size, at_least=1)

    def spans(self, text: str) -> SpanList:
        sentences = sentence_spans(text)
        spans: SpanList = []
        first = 0
        for last in [*self._breaks(text, sentences), len(sentences) - 1]:
            spans += self._small_enough(text, sentences[first : last + 1])
            first = last + 1
        return spans

    @property
    def parameters(self) -> dict[str, Any]:
        return {
            "embedder": _written(self.embedder),
            "percentile": self.percentile,
            "buffer": self.buffer,
            "chunk_size": self.chunk_size,
        }

    def _breaks(self, text: str, sentences: SpanList) -> list[int]:
        """Return the sentences after which the subject changes."""
        if len(sentences) < 2:
            return []
        last = len(sentences) - 1
        neighbourhoods = [
            text[sentences[max(number - self.buffer, 0)][0] : sentences[min(number + self.buffer, last)][1]]
            for number in range(len(sentences))
        ]
        vectors = _unit_vectors(self.embedder.embed(neighbourhoods), rows=len(sentences))
        distances = 1.0 - np.einsum("ij,ij->i", vectors[:-1], vectors[1:])
        threshold = float(np.percentile(distances, self.percentile))
        # Rounding must not make a break where all distances are equal.
        return np.flatnonzero(distances > threshold + 1e-9).tolist()

    def _small_enough(self, text: str, sentences: SpanList) -> SpanList:
        """Return one span for these sentences, or several of at most ``chunk_size`` characters."""
        spans: SpanList = []
        for start, end in joined(sentences, CharacterMeasure(text), size=self.chunk_size):
            if end - start <= self.chunk_size:
                spans.append((start, end))
            else:
                pieces = RecursiveCharacterChunker(self.chunk_size).spans(text[start:end])
                spans += [(start + begin, start + finish) for begin, finish in pieces]
        return spans


def _unit_vectors(embeddings: npt.ArrayLike, *, rows: int) -> npt.NDArray[np.float64]:
    """Return the vectors at length 1 (a zero vector stays zero); a wrong shape or NaN is refused."""
    vectors = np.asarray(embeddings, np.float64)
    if vectors.ndim != 2 or len(vectors) != rows:
        found = f"an array of shape {vectors.shape}"
        raise InputError([Issue("invalid-embedding", f"{rows} vectors from the embedder", found)])
    if not np.isfinite(vectors).all():
        raise InputError([Issue("invalid-embedding", "finite numbers from the embedder", "NaN or infinity")])
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)


def _written(embedder: object) -> Specification:
    """Return the specification an embedder prints as; one that prints something else, by its class."""
    try:
        return parse_specification(str(embedder))
    except UsageError:
        return Specification(type(embedder).__name__)
