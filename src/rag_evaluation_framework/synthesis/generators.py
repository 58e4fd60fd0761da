"""The seed's generators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from rag_evaluation_framework.errors import ModelError, UsageError, counted, shown
from rag_evaluation_framework.evaluation.data import DATASETS_FOLDER
from rag_evaluation_framework.extensions import Chunker, PositionAwareChunker
from rag_evaluation_framework.files.strict_json import drop_nulls
from rag_evaluation_framework.models.clients import as_chat_model
from rag_evaluation_framework.records.chunks import (
    Chunk,
    ChunkRegistry,
    PositionAwareChunk,
    generate_chunk_id,
    generate_pa_chunk_id,
)
from rag_evaluation_framework.records.documents import (
    ChunkId,
    Corpus,
    DocumentId,
    PositionAwareChunkId,
    QueryId,
    QueryText,
)
from rag_evaluation_framework.records.runs import Progress
from rag_evaluation_framework.records.samples import (
    ChunkLevelGroundTruth,
    Dataset,
    Query,
    Refusal,
    Sample,
    TokenLevelGroundTruth,
)
from rag_evaluation_framework.results.run_store import RunFolder
from rag_evaluation_framework.retrieval.pipeline import chunk_corpus
from rag_evaluation_framework.synthesis import generated_datasets
from rag_evaluation_framework.synthesis.draft_quality import QualityControl
from rag_evaluation_framework.synthesis.drafts import Level
from rag_evaluation_framework.synthesis.generation import CONCURRENCY, Generation, generate_with_model
from rag_evaluation_framework.synthesis.question_plan import MAX_CHARACTERS, QuestionSettings

# What the generators at chunk level and token level share: a model, a corpus, and where datasets go.

GroundTruthT = TypeVar("GroundTruthT")

_USUAL_QUALITY = QualityControl()


class SyntheticDataGenerator(ABC, Generic[GroundTruthT]):
    """A generator of questions about a corpus with their ground truth, by a language model.

    Args:
        llm_client: An OpenAI client, an object with ``complete(prompt)``, a function from a prompt to a text,
            or a chat model.
        corpus: The documents.
        model: Name of the model: required by an OpenAI client, printed in results for others.
        max_characters: Maximum characters per request; longer documents are cut at their headings.
        concurrency: Maximum number of requests at a time.
    """

    level: Level
    chunker: Chunker | PositionAwareChunker | None = None

    def __init__(
        self,
        llm_client: object,
        corpus: Corpus,
        *,
        model: str | None = None,
        max_characters: int = MAX_CHARACTERS,
        concurrency: int = CONCURRENCY,
    ) -> None:
        if not isinstance(corpus, Corpus):
            raise UsageError(f"corpus: expected a Corpus, got {shown(corpus)}")
        self.llm = llm_client
        self.corpus = corpus
        self.generation: Generation | None = None
        """The last generation: its dataset, what was rejected, and what it cost."""
        self.delivered: generated_datasets.Delivered | None = None
        """Place of the last dataset, if it was written."""
        self.chunk_registry = ChunkRegistry()
        """Finds the text and the characters behind the chunk ids of the ground truth."""
        self._model = as_chat_model(llm_client, name=model)
        self._max_characters = max_characters
        self._concurrency = concurrency

    def generate(
        self,
        queries_per_doc: int = 5,
        upload_to_langsmith: bool = True,
        dataset_name: str | None = None,
        *,
        quality: QualityControl | None = _USUAL_QUALITY,
        datasets_folder: str | Path = DATASETS_FOLDER,
        run_folder: RunFolder | str | Path | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        **asked: Any,
    ) -> list[GroundTruthT]:
        """Return questions with the ids of what answers them, which :attr:`chunk_registry` resolves.

        The dataset goes to LangSmith under ``dataset_name``; with ``upload_to_langsmith=False`` a file of
        that name in ``datasets_folder`` has it, or nowhere without one. With ``quality=None`` every question
        is kept whose ground truth holds. ``asked`` is what else :class:`QuestionSettings` has.
        """
        settings = QuestionSettings(
            level=self.level, queries_per_doc=queries_per_doc, max_characters=self._max_characters, **asked
        )
        place = generated_datasets.destination(
            dataset_name,
            upload_to_langsmith=upload_to_langsmith,
            default_name=generated_datasets.default_dataset_name(self.level, self.corpus),
            folder=datasets_folder,
        )
        generation = generate_with_model(
            self.corpus,
            self._model,
            settings,
            chunker=self.chunker,
            quality=quality,
            run_folder=run_folder,
            on_progress=on_progress,
            concurrency=self._concurrency,
        )
        dataset = _complete(generation)
        self.generation = generation
        self.delivered = None if place is None else generated_datasets.deliver(dataset, place)
        return [self._ground_truth(_query_of(sample), sample) for sample in dataset.samples]

    @abstractmethod
    def _ground_truth(self, query: Query, sample: Sample) -> GroundTruthT:
        """Return a query with the ids of what answers it."""


def _query_of(sample: Sample) -> Query:
    """Return the query of a sample, with what is known about it."""
    known = {
        "query_type": sample.query_type,
        "difficulty": sample.difficulty,
        "reference_answer": sample.reference,
        "source_docs": list(sample.relevant_documents) or None,
        "expectation": "refusal" if isinstance(sample.expectation, Refusal) else None,
    }
    return Query(QueryId(sample.id), QueryText(sample.question), drop_nulls(known))


def _complete(generation: Generation) -> Dataset:
    if generation.dataset is not None:
        return generation.dataset
    outcome = generation.outcome
    if outcome.interrupted:
        raise KeyboardInterrupt
    kept = "to be able to resume, set run_folder" if generation.run_path is None else "you can resume it"
    of_all = counted(outcome.done + outcome.remaining, "request was", "requests were")
    done = f"{outcome.done:,} of {of_all} answered; {kept}"
    raise ModelError("incomplete", f"{outcome.reason}; {done}")


# Questions with the chunks that answer them: ground truth for one chunker.


class ChunkLevelDataGenerator(SyntheticDataGenerator[ChunkLevelGroundTruth]):
    """A generator of questions whose relevant chunks are known by their ids.

    The model receives the chunks with their ids and cites them, so the ground truth is valid for this
    chunker.

    Args:
        llm_client: As for :class:`SyntheticDataGenerator`.
        corpus: The documents.
        chunker: The chunker.
        **options: Further arguments of :class:`SyntheticDataGenerator`.
    """

    level = "chunk"

    def __init__(
        self, llm_client: object, corpus: Corpus, chunker: Chunker | PositionAwareChunker, **options: Any
    ) -> None:
        super().__init__(llm_client, corpus, **options)
        self.chunker = chunker
        for chunk in chunk_corpus(corpus, chunker, distinct=True).chunks:
            chunk_id = generate_chunk_id(chunk.content)
            self.chunk_registry.register_chunk(Chunk(chunk_id, chunk.content, chunk.doc_id, chunk.metadata))

    def _ground_truth(self, query: Query, sample: Sample) -> ChunkLevelGroundTruth:
        return ChunkLevelGroundTruth(query, [ChunkId(each) for each in sample.relevant_chunk_ids])


# Questions with the characters that answer them: ground truth that holds for every chunker.


class TokenLevelDataGenerator(SyntheticDataGenerator[TokenLevelGroundTruth]):
    """A generator of questions whose relevant passages are known to the character.

    No chunker is needed: the model quotes passages, and each is found in its document.

    Args:
        llm_client: As for :class:`SyntheticDataGenerator`.
        corpus: The documents.
        model: Name of the model.
        max_characters: Maximum characters per request.
        concurrency: Maximum number of requests at a time.
    """

    level = "token"

    def _ground_truth(self, query: Query, sample: Sample) -> TokenLevelGroundTruth:
        ids: list[PositionAwareChunkId] = []
        for span in sample.relevant_spans:
            text = self.corpus[span.file].content[span.start : span.end]
            passage = PositionAwareChunk(
                generate_pa_chunk_id(text), text, DocumentId(span.file), span.start, span.end
            )
            self.chunk_registry.register_pa_chunk(passage)
            ids.append(passage.id)
        return TokenLevelGroundTruth(query, ids)
