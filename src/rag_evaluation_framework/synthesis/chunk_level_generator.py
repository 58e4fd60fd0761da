"""Questions with the chunks that answer them: ground truth for one chunker."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

from rag_evaluation_framework.evaluation.levels.retrieval_datasets import DATASETS_FOLDER
from rag_evaluation_framework.extensions import Chunker, PositionAwareChunker
from rag_evaluation_framework.records.chunks import Chunk, generate_chunk_id
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.ground_truths import ChunkLevelGroundTruth
from rag_evaluation_framework.records.identifiers import ChunkId
from rag_evaluation_framework.retrieval.chunking import chunk_corpus
from rag_evaluation_framework.synthesis.asking.model_questions import CONCURRENCY
from rag_evaluation_framework.synthesis.asking.windows import MAX_CHARACTERS
from rag_evaluation_framework.synthesis.data_generators import (
    USUAL_QUALITY,
    GenerationOptions,
    SyntheticDataGenerator,
    query_of,
)
from rag_evaluation_framework.synthesis.generation import ChecksDrafts


class ChunkLevelDataGenerator(SyntheticDataGenerator):
    """Generates questions whose relevant chunks are known by their ids.

    The model is shown the chunks with their ids and cites them, so the ground truth holds for this chunker.
    """

    level = "chunk"

    def __init__(
        self,
        llm_client: object,
        corpus: Corpus,
        chunker: Chunker | PositionAwareChunker,
        *,
        model: str | None = None,
        max_characters: int = MAX_CHARACTERS,
        concurrency: int = CONCURRENCY,
    ) -> None:
        super().__init__(
            llm_client, corpus, model=model, max_characters=max_characters, concurrency=concurrency
        )
        self.chunker = chunker
        for chunk in chunk_corpus(corpus, chunker, distinct=True).chunks:
            chunk_id = generate_chunk_id(chunk.content)
            self._chunk_registry.register_chunk(Chunk(chunk_id, chunk.content, chunk.doc_id, chunk.metadata))

    def generate(
        self,
        queries_per_doc: int = 5,
        upload_to_langsmith: bool = True,
        dataset_name: str | None = None,
        *,
        quality: ChecksDrafts | None = USUAL_QUALITY,
        datasets_folder: str | Path = DATASETS_FOLDER,
        **options: Unpack[GenerationOptions],
    ) -> list[ChunkLevelGroundTruth]:
        """Return questions with the ids of their chunks, which :attr:`chunk_registry` resolves.

        The dataset goes to LangSmith under ``dataset_name``; with ``upload_to_langsmith=False`` it is written
        to ``datasets_folder`` under that name, or nowhere without one. With ``quality=None`` every question
        is kept whose ground truth holds.
        """
        dataset = self._generated(
            queries_per_doc,
            upload_to_langsmith,
            dataset_name,
            chunker=self.chunker,
            quality=quality,
            datasets_folder=datasets_folder,
            options=options,
        )
        return [
            ChunkLevelGroundTruth(query_of(sample), [ChunkId(each) for each in sample.relevant_chunk_ids])
            for sample in dataset.samples
        ]
