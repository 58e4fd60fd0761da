"""Span-first chunkers: recursive, tokens, sentences, semantic."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

import numpy as np

from rag_evaluation_framework.errors import UnknownNameError, UsageError, checked_count, shown
from rag_evaluation_framework.extensions import Embedder, Specification, parse_specification
from rag_evaluation_framework.records.chunks import PositionAwareChunk, generate_pa_chunk_id
from rag_evaluation_framework.records.documents import Document
from rag_evaluation_framework.retrieval.embedders import embedded
from rag_evaluation_framework.retrieval.tokenizers import AnyTokenizer, Tokenizer, tokenizer_from
from rag_evaluation_framework.text.sentences import sentence_spans
from rag_evaluation_framework.text.spans import SpanList

# How long a stretch of text is: in characters, or in the tokens of a tokenizer.
#
# A measure adds up: the length of ``[a, c)`` is that of ``[a, b)`` and ``[b, c)`` together, because the
# text is tokenised once, as a whole. A chunker can therefore ask where a chunk of so many tokens would
# end, and need not count the tokens of every piece it tries.


class Measure(Protocol):
    """The length of stretches of one text."""

    def length(self, start: int, end: int) -> int:
        """Return the length of the characters ``[start, end)``."""

    def furthest(self, start: int, amount: int) -> int:
        """Return the last position up to which the text from ``start`` has at most this length."""

    def earliest(self, end: int, amount: int) -> int:
        """Return the first position from which the text up to ``end`` has at most this length."""


class CharacterMeasure:
    """A character is one long."""

    def __init__(self, text: str) -> None:
        self._last = len(text)

    def length(self, start: int, end: int) -> int:
        return end - start

    def furthest(self, start: int, amount: int) -> int:
        return min(start + amount, self._last)

    def earliest(self, end: int, amount: int) -> int:
        return max(end - amount, 0)


class TokenMeasure:
    """A token is one long, and belongs to the stretch in which it starts.

    The space before a word, which many tokenizers make part of the word, counts for nothing: a stretch that
    ends with it has not begun the word.
    """

    def __init__(self, text: str, tokenizer: Tokenizer) -> None:
        offsets = tokenizer.offsets(text)
        characters = np.frombuffer((text + " ").encode("utf-32-le", "surrogatepass"), np.uint32)
        spaced = (characters[offsets[:-1]] == ord(" ")) & (np.diff(offsets) > 1)
        self._offsets: list[int] = [*(offsets[:-1] + spaced).tolist(), len(text)]

    def length(self, start: int, end: int) -> int:
        return bisect_left(self._offsets, end) - bisect_left(self._offsets, start)

    def furthest(self, start: int, amount: int) -> int:
        token = bisect_left(self._offsets, start) + amount
        return self._offsets[min(token, len(self._offsets) - 1)]

    def earliest(self, end: int, amount: int) -> int:
        token = bisect_left(self._offsets, end) - amount
        return self._offsets[token - 1] + 1 if token > 0 else 0


# Cutting a text at the coarsest separators that make the pieces small enough.
#
# A text that is too long is cut at the first separator that occurs in it: paragraphs, then lines, then
# sentences, then words. Neighbouring pieces go together while they fit; a piece that is too long alone is
# cut at the next separator. With the same separators this gives the chunks of LangChain's
# ``RecursiveCharacterTextSplitter``, which a test holds; but where LangChain cuts out and counts every
# piece, here a chunk's last separator is looked for backwards from the place where the chunk would be full.

Side: TypeAlias = Literal["start", "end"]


def recursive_spans(
    text: str, measure: Measure, *, size: int, overlap: int, separators: Sequence[str], side: Side
) -> SpanList:
    """Return chunks of at most ``size``; each repeats whole pieces of the one before, at most ``overlap``.

    A separator stays at the ``start`` of the piece after it or at the ``end`` of the piece before it; the
    separator ``""`` cuts anywhere. A piece that no separator cuts stays whole, however long.
    """
    cutter = _Cutter(text, measure, size, overlap, separators, side)
    cutter.cut(0, len(text), 0)
    return cutter.spans


def stripped(text: str, spans: SpanList) -> SpanList:
    """Return the spans without white space at their ends; what was only white space is left out."""
    kept: SpanList = []
    for start, end in spans:
        piece = text[start:end].rstrip()
        if piece:
            kept.append((start + len(piece) - len(piece.lstrip()), start + len(piece)))
    return kept


class _Cutter:
    """One text being cut; finished spans are appended in order."""

    def __init__(
        self, text: str, measure: Measure, size: int, overlap: int, separators: Sequence[str], side: Side
    ) -> None:
        self.text, self.measure, self.size, self.overlap = text, measure, size, overlap
        self.separators, self.side = separators, side
        self.spans: SpanList = []

    def cut(self, begin: int, end: int, level: int) -> None:
        """Cut ``[begin, end)`` at the first separator, from this level on, that occurs in it."""
        if self.measure.furthest(begin, self.size) < end:
            for number in range(level, len(self.separators)):
                separator = self.separators[number]
                if self.text.find(separator, begin, end) >= 0:
                    borders = _Borders(self.text, separator, end, self.side) if separator else _Anywhere()
                    self.merge(borders, begin, end, number)
                    return
        self.spans.append((begin, end))

    def merge(self, borders: _Anywhere | _Borders, begin: int, end: int, level: int) -> None:
        """Put the pieces of ``[begin, end)`` together into chunks that are as large as allowed."""
        furthest, earliest, size = self.measure.furthest, self.measure.earliest, self.size
        start = begin
        while start < end:
            full = furthest(start, size)
            if full >= end:
                self.spans.append((start, end))
                return
            border = borders.last(start, full)
            if border <= start:  # the piece that starts here is too long by itself
                border = borders.after(start)
                self.cut(start, border, level + 1)
                start = border
                continue
            self.spans.append((start, border))
            if self.overlap:
                # What is repeated must leave room for the piece that follows.
                repeated = max(earliest(border, self.overlap), earliest(borders.after(border), size))
                start = borders.first(start, repeated) if repeated < border else border
            else:
                start = border


class _Borders:
    """The places where pieces of a text meet: before each occurrence of a separator, or after it.

    Occurrences do not overlap and are found from left to right. For a separator that can overlap itself
    (``"\\n\\n"`` in three line ends), they must therefore be followed from a border that is known.
    """

    def __init__(self, text: str, separator: str, end: int, side: Side) -> None:
        self.text, self.separator, self.end = text, separator, end
        self.width = len(separator)
        self.shift = self.width if side == "end" else 0
        self.overlaps_itself = any(separator.startswith(separator[cut:]) for cut in range(1, self.width))

    def after(self, border: int) -> int:
        """Return the border after this one."""
        begin = border
        if not self.shift and self.text.startswith(self.separator, border):
            begin += self.width
        found = self.text.find(self.separator, begin, self.end)
        return self.end if found < 0 else found + self.shift

    def last(self, start: int, limit: int) -> int:
        """Return the last border after ``start``, itself a border, up to ``limit``; ``start`` if none."""
        if self.overlaps_itself:
            border = start
            while (following := self.after(border)) <= limit:
                border = following
            return border
        if self.shift:
            found = self.text.rfind(self.separator, start, limit)
        else:
            found = self.text.rfind(self.separator, start + 1, min(limit + self.width, self.end))
        return start if found < 0 else found + self.shift

    def first(self, start: int, position: int) -> int:
        """Return the first border from ``position`` on, which lies after the border ``start``."""
        if self.overlaps_itself:
            border = start
            while border < position:
                border = self.after(border)
            return border
        found = self.text.find(self.separator, max(position - self.shift, start), self.end)
        return self.end if found < 0 else found + self.shift


class _Anywhere:
    """Borders between all characters."""

    def after(self, border: int) -> int:
        return border + 1

    def last(self, start: int, limit: int) -> int:
        return max(start, limit)

    def first(self, start: int, position: int) -> int:
        return max(start, position)


# What our chunkers have in common: they decide spans first and slice the document afterwards.
#
# So ``document.content[start:end] == chunk.content`` cannot fail. Positions count code points: what a
# reader sees as one character (an emoji with a skin tone, a letter with a combining accent) may be
# several, and a chunk of a fixed size may end between them.

CHARACTERS = "characters"


class SpanChunker(ABC):
    """A chunker that tells which characters of a text each chunk has.

    Chunks come in the order of the text. Every character that is not white space is in at least one of them,
    and no chunk is white space alone. ``str()`` is the specification that results record, and that builds an
    equal chunker.
    """

    name: ClassVar[str]
    """Name of the chunker in a specification: ``recursive``."""

    @abstractmethod
    def spans(self, text: str) -> SpanList:
        """Return start and end of each chunk."""

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The arguments that build an equal chunker."""

    def chunk(self, text: str) -> list[str]:
        """Return the texts of the chunks."""
        return [text[start:end] for start, end in self.spans(text)]

    def chunk_with_positions(self, doc: Document) -> list[PositionAwareChunk]:
        """Return the chunks of a document, with the characters they have."""
        return sliced(doc, self.spans(doc.content))

    def __str__(self) -> str:
        return str(Specification(self.name, self.parameters))

    __repr__ = __str__


def sliced(doc: Document, spans: SpanList) -> list[PositionAwareChunk]:
    """Cut the spans out of a document."""
    chunks = []
    for start, end in spans:
        content = doc.content[start:end]
        chunks.append(PositionAwareChunk(generate_pa_chunk_id(content), content, doc.id, start, end))
    return chunks


def checked_sizes(name: str, size: object, overlap: object) -> tuple[int, int]:
    """Return a chunk's size and overlap; sizes that make no sense are refused under the size's name."""
    whole_size = checked_count(name, size, at_least=1)
    whole_overlap = checked_count("overlap", overlap, at_least=0)
    if whole_overlap >= whole_size:
        raise UsageError(f"overlap: expected less than {name} ({size}), got {overlap}")
    return whole_size, whole_overlap


class SizedChunker(SpanChunker):
    """A chunker whose chunks have at most ``chunk_size``, counted in characters or a tokenizer's tokens."""

    def __init__(
        self, chunk_size: int = 1000, overlap: int = 0, *, length: AnyTokenizer = CHARACTERS
    ) -> None:
        self.chunk_size, self.overlap = checked_sizes("chunk_size", chunk_size, overlap)
        self._tokenizer = None if length == CHARACTERS else tokenizer_from(length)

    def measure(self, text: str) -> Measure:
        """Return the measure of a text in what sizes count."""
        return CharacterMeasure(text) if self._tokenizer is None else TokenMeasure(text, self._tokenizer)

    @property
    def parameters(self) -> dict[str, Any]:
        length = {} if self._tokenizer is None else {"length": self._tokenizer.name}
        return {"chunk_size": self.chunk_size, "overlap": self.overlap, **length}


# The recursive chunker: paragraphs, then lines, then sentences, then words, then characters.

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


class RecursiveCharacterChunker(SizedChunker):
    r"""Cuts a text at the coarsest separators that give chunks of at most ``chunk_size``.

    Args:
        chunk_size: Maximum size of a chunk. Without the separator ``""`` a piece that nothing cuts may be
            longer.
        overlap: Maximum repetition of the chunk before, in whole pieces.
        length: Unit of sizes: ``characters``, or the tokens of a tokenizer (``cl100k``, ``words``, or an
            object that :func:`~rag_evaluation_framework.retrieval.tokenizers.tokenizer_from` takes).
        separators: Name of a set, or the separators, coarsest first (as JSON in a specification).
        keep_separator: ``start`` or ``end``: the side of a piece where its separator stays.

    Example:
        >>> from rag_evaluation_framework import RecursiveCharacterChunker
        >>> RecursiveCharacterChunker(20).chunk("Rome is old.\n\nIt is a big city.")
        ['Rome is old.', 'It is a big city.']
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
        super().__init__(chunk_size, overlap, length=length)
        self._separators, self._side = _separators(separators)
        self._written_separators = separators if isinstance(separators, str) else json.dumps(list(separators))
        if keep_separator not in (None, "start", "end"):
            raise UsageError(f"keep_separator: expected start or end, got {shown(keep_separator)}")
        self._keep_separator = keep_separator

    def spans(self, text: str) -> SpanList:
        pieces = recursive_spans(
            text,
            self.measure(text),
            size=self.chunk_size,
            overlap=self.overlap,
            separators=self._separators,
            side=self._keep_separator or self._side,
        )
        return stripped(text, pieces)

    @property
    def parameters(self) -> dict[str, Any]:
        parameters = super().parameters
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


# The fixed-size chunker: so many tokens a chunk, wherever that ends.


class FixedTokenChunker(SpanChunker):
    """Cuts a text every ``tokens`` tokens; ``overlap`` tokens are repeated in the next chunk.

    A chunk never ends inside a character, even where a token does (byte pairs cut emoji): the character goes
    with the chunk that has its last token.

    Args:
        tokens: Number of tokens per chunk.
        overlap: Number of tokens that are repeated in the next chunk.
        tokenizer: Tokenizer; by default ``cl100k`` if the extra ``tokens`` is installed, else ``words``, of
            which about nine are ten of ``cl100k`` in English. The chunker's name has it.

    Example:
        >>> from rag_evaluation_framework import FixedTokenChunker
        >>> FixedTokenChunker(3, tokenizer="words").chunk("One two three four five six")
        ['One two three', ' four five six']
    """

    name = "fixed"

    def __init__(self, tokens: int = 200, overlap: int = 0, tokenizer: AnyTokenizer | None = None) -> None:
        self.tokens, self.overlap = checked_sizes("tokens", tokens, overlap)
        self.tokenizer = tokenizer_from(tokenizer)

    def spans(self, text: str) -> SpanList:
        offsets = self.tokenizer.offsets(text)
        count = len(offsets) - 1
        # The last window is the first one that reaches the end.
        last = max(count - self.overlap, 1)
        starts = offsets[0 : min(last, count) : self.tokens - self.overlap].tolist()
        ends = offsets[self.tokens : count : self.tokens - self.overlap].tolist()
        ends += [len(text)] * (len(starts) - len(ends))
        return [span for span in zip(starts, ends, strict=True) if text[span[0] : span[1]].strip()]

    @property
    def parameters(self) -> dict[str, Any]:
        return {"tokens": self.tokens, "overlap": self.overlap, "tokenizer": self.tokenizer.name}


# The sentence chunker: whole sentences, as many as fit.


class SentenceChunker(SizedChunker):
    """Puts neighbouring sentences together while they fit into ``chunk_size``; none is cut.

    A sentence longer than that is a chunk by itself. ``overlap`` is how much of the chunk before may be
    repeated, in whole sentences. ``length`` is what sizes count: ``characters`` or a tokenizer's tokens.
    Sentences are found by the rules of :mod:`~rag_evaluation_framework.text.sentences`, for English and
    Chinese.
    """

    name = "sentence"

    def spans(self, text: str) -> SpanList:
        return joined(sentence_spans(text), self.measure(text), size=self.chunk_size, overlap=self.overlap)


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


# The semantic chunker: a chunk ends where the next sentences are about something else.


class SemanticChunker(SpanChunker):
    """Cuts a text between sentences whose neighbourhoods have the most different embeddings.

    A chunk ends where the cosine distance of two neighbors is above the percentile (the method that Greg
    Kamradt described in "5 Levels of Text Splitting", 2024, with his percentile).

    Args:
        embedder: Embedder of the sentences.
        percentile: Percentile of all distances in the document above which a chunk ends.
        buffer: Number of sentences on either side that are embedded with each sentence.
        chunk_size: Maximum characters of a chunk; longer ones are cut again, between sentences if possible.
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
            "embedder": _embedder_specification(self.embedder),
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
        # In float64, so that rounding does not decide where distances are nearly equal.
        vectors = embedded(self.embedder, neighbourhoods).astype(np.float64)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        vectors /= np.where(lengths > 0, lengths, 1.0)
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


def _embedder_specification(embedder: object) -> Specification:
    """Return the specification an embedder prints as; one that prints something else, by its class."""
    try:
        return parse_specification(str(embedder))
    except UsageError:
        return Specification(type(embedder).__name__)
