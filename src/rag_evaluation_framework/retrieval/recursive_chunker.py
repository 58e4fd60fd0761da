"""The recursive chunker: paragraphs, then lines, then sentences, then words, then characters."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rag_evaluation_framework.errors import UnknownNameError, UsageError, shown
from rag_evaluation_framework.retrieval.measures import measure_of
from rag_evaluation_framework.retrieval.recursive_spans import Side, SpanList, recursive_spans, stripped
from rag_evaluation_framework.retrieval.span_chunker import (
    CHARACTERS,
    SpanChunker,
    checked_sizes,
    length_unit,
)
from rag_evaluation_framework.retrieval.tokenizers import AnyTokenizer

# The separators, coarsest first, and the piece with which they stay. ``prose`` knows Chinese and CRLF;
# ``langchain`` and ``chroma`` are the defaults of LangChain's splitter and of Chroma's chunking report.
SEPARATORS: Mapping[str, tuple[tuple[str, ...], Side]] = {
    "prose": (
        ("\n\n", "\r\n\r\n", "\n", "。", "！", "？", ". ", "? ", "! ", "；", "; ", "，", " ", ""),
        "end",
    ),
    "langchain": (("\n\n", "\n", " ", ""), "start"),
    "chroma": (("\n\n", "\n", ".", "?", "!", " ", ""), "start"),
}


class RecursiveCharacterChunker(SpanChunker):
    """Cuts a text at the coarsest separators that give chunks of at most ``chunk_size``.

    ``overlap`` is how much of the chunk before may be repeated, in whole pieces. ``length`` is what sizes
    count: ``characters``, or the tokens of a tokenizer (``cl100k``, ``words``, or an object that
    :func:`~rag_evaluation_framework.retrieval.tokenizers.tokenizer_from` takes). ``separators`` is the name
    of a set or the separators themselves, coarsest first (as JSON in a specification); ``keep_separator``
    says whether one stays at the ``start`` of the piece after it or at the ``end`` of the piece before it.
    Without the separator ``""`` a piece that nothing cuts may be longer than ``chunk_size``.
    """

    name = "recursive"

    def __init__(
        self,
        chunk_size: int = 1000,
        overlap: int = 0,
        *,
        length: AnyTokenizer = CHARACTERS,
        separators: str | Sequence[str] = "prose",
        keep_separator: Side | None = None,
    ) -> None:
        self.chunk_size, self.overlap = checked_sizes("chunk_size", chunk_size, overlap)
        self._tokenizer = length_unit(length)
        self._separators, self._side = _separators(separators)
        self._written_separators = separators if isinstance(separators, str) else json.dumps(list(separators))
        if keep_separator not in (None, "start", "end"):
            raise UsageError(f"keep_separator: expected start or end, got {shown(keep_separator)}")
        self._keep_separator = keep_separator

    def spans(self, text: str) -> SpanList:
        pieces = recursive_spans(
            text,
            measure_of(text, self._tokenizer),
            size=self.chunk_size,
            overlap=self.overlap,
            separators=self._separators,
            side=self._keep_separator or self._side,
        )
        return stripped(text, pieces)

    @property
    def parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = {"chunk_size": self.chunk_size, "overlap": self.overlap}
        if self._tokenizer is not None:
            parameters["length"] = self._tokenizer.name
        if self._written_separators != "prose":
            parameters["separators"] = self._written_separators
        if self._keep_separator is not None:
            parameters["keep_separator"] = self._keep_separator
        return parameters


def _separators(separators: str | Sequence[str]) -> tuple[tuple[str, ...], Side]:
    """Return the separators of a name, of a JSON list or of a sequence, and where they stay by default."""
    given: object = separators
    if isinstance(separators, str):
        if separators in SEPARATORS:
            return SEPARATORS[separators]
        if not separators.startswith("["):
            raise UnknownNameError("set of separators", separators, list(SEPARATORS))
        try:
            given = json.loads(separators)
        except ValueError:
            given = None
    if not isinstance(given, Sequence) or not given or not all(isinstance(mark, str) for mark in given):
        raise UsageError(f"separators: expected a name or a list of texts, got {shown(separators)}")
    return tuple(given), "end"
