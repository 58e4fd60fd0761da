"""Questions with their excerpts become a dataset: samples with exact ground truth, usable anywhere.

A sample has the characters that answer it, with their text, and the ids of the chunks they are in. The
dataset says which documents it was made from (their SHA-256), by what, with which chunker at chunk level, and
how many questions were rejected for which reason.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from rag_evaluation_framework.datasets.dialects.evaluation_sets import KIND
from rag_evaluation_framework.errors import UsageError, invalid
from rag_evaluation_framework.evaluation.retrieval_truth import CHUNKER, FINGERPRINTS
from rag_evaluation_framework.extensions import Chunker, PositionAwareChunker
from rag_evaluation_framework.records.chunks import (
    PositionAwareChunk,
    generate_chunk_id,
    generate_pa_chunk_id,
)
from rag_evaluation_framework.records.citations import SpanCitation
from rag_evaluation_framework.records.datasets import Dataset
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.samples import Refusal, Sample, Turn
from rag_evaluation_framework.retrieval.chunking import UNPLACED, chunk_corpus, component_text
from rag_evaluation_framework.synthesis.drafts import Draft, Drafts, Excerpt, Level

GENERATOR = "generator"
"""The key under which a dataset's metadata says what made it."""

REJECTED = "rejected"
"""The key under which a dataset's metadata counts the rejected questions by reason."""

# A chunk is relevant if it has this share of an excerpt; of an excerpt cut finer, every large part is.
_SHARE_OF_EXCERPT = 0.5


def dataset_of(
    drafts: Drafts,
    corpus: Corpus,
    *,
    level: Level,
    chunker: Chunker | PositionAwareChunker | None = None,
    generator: Mapping[str, Any],
) -> Dataset:
    """Return the drafts as a dataset; at chunk level, those without chunk ids get those of their chunks.

    An excerpt that is not the text of its document at its place is refused: it was made from another
    document.
    """
    chunks = _ChunkPlaces(corpus, chunker) if level == "chunk" else None
    digits = max(3, len(str(len(drafts.kept))))
    samples = []
    for number, draft in enumerate(drafts.kept, start=1):
        _check(draft, corpus)
        samples.append(_sample(f"q{number:0{digits}}", draft, chunks))
    metadata: dict[str, Any] = {
        "size": len(samples),
        "level": level,
        GENERATOR: dict(generator),
        REJECTED: dict(drafts.counts()),
        FINGERPRINTS: corpus.fingerprints,
    }
    if chunks is not None:
        metadata[CHUNKER] = chunks.name
    return Dataset(samples=tuple(samples), dialect=KIND, metadata=metadata)


def _check(draft: Draft, corpus: Corpus) -> None:
    for excerpt in draft.excerpts:
        text = corpus[excerpt.doc_id].content[excerpt.start : excerpt.end]
        if not excerpt.text or text != excerpt.text:
            found = f"{excerpt.text!r} at {excerpt.start}-{excerpt.end}"
            raise invalid("excerpts", f"text of {excerpt.doc_id!r}", found, code="misplaced-excerpt")


def _sample(sample_id: str, draft: Draft, chunks: _ChunkPlaces | None) -> Sample:
    ids: tuple[str, ...]
    if chunks is None:
        ids = tuple(dict.fromkeys(generate_pa_chunk_id(excerpt.text) for excerpt in draft.excerpts))
    else:
        ids = draft.chunk_ids or chunks.of(draft)
    return Sample(
        id=sample_id,
        turns=(Turn(role="user", content=draft.question),),
        reference=draft.answer,
        relevant_documents=dict.fromkeys((excerpt.doc_id for excerpt in draft.excerpts), 1),
        relevant_spans=tuple(
            SpanCitation(excerpt.doc_id, excerpt.start, excerpt.end, text=excerpt.text)
            for excerpt in draft.excerpts
        ),
        relevant_chunk_ids=ids,
        expectation=None if draft.excerpts or draft.chunk_ids else Refusal(),
        difficulty=draft.difficulty,
        query_type=draft.kind,
    )


class _ChunkPlaces:
    """The chunks of a corpus by one chunker, found by the characters they cover."""

    def __init__(self, corpus: Corpus, chunker: Chunker | PositionAwareChunker | None) -> None:
        if chunker is None:
            raise UsageError(
                "chunker: expected one at chunk level, because chunk ids hold for one chunker only"
            )
        self.name = component_text(chunker)
        self._chunks: defaultdict[str, list[PositionAwareChunk]] = defaultdict(list)
        for chunk in chunk_corpus(corpus, chunker).chunks:
            if not chunk.metadata.get(UNPLACED):
                self._chunks[chunk.doc_id].append(chunk)
        self._starts = {doc_id: [chunk.start for chunk in chunks] for doc_id, chunks in self._chunks.items()}

    def of(self, draft: Draft) -> tuple[str, ...]:
        """Return the ids of the chunks that hold most of a draft's excerpts."""
        found = [chunk for excerpt in draft.excerpts for chunk in self._holding(excerpt)]
        return tuple(dict.fromkeys(generate_chunk_id(chunk.content) for chunk in found))

    def _holding(self, excerpt: Excerpt) -> list[PositionAwareChunk]:
        """Return the chunks with a large share of an excerpt; where none has one, those with the most."""
        chunks = self._chunks[excerpt.doc_id]
        last = bisect_right(self._starts.get(excerpt.doc_id, []), excerpt.end - 1)
        shared = {
            number: min(chunk.end, excerpt.end) - max(chunk.start, excerpt.start)
            for number, chunk in enumerate(chunks[:last])
            if chunk.end > excerpt.start
        }
        most = max(shared.values(), default=0)
        least = min(_SHARE_OF_EXCERPT * (excerpt.end - excerpt.start), most)
        return [chunks[number] for number, size in shared.items() if size >= least]
