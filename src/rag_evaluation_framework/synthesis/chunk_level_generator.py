"""Questions with the chunks that answer them: ground truth for one chunker."""

from __future__ import annotations

from rag_evaluation_framework.extensions import Chunker, PositionAwareChunker
from rag_evaluation_framework.records.chunks import Chunk, generate_chunk_id
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.ground_truths import ChunkLevelGroundTruth, Query
from rag_evaluation_framework.records.identifiers import ChunkId
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.retrieval.chunking import chunk_corpus
from rag_evaluation_framework.synthesis.asking.model_questions import CONCURRENCY
from rag_evaluation_framework.synthesis.asking.windows import MAX_CHARACTERS
from rag_evaluation_framework.synthesis.data_generators import SyntheticDataGenerator


class ChunkLevelDataGenerator(SyntheticDataGenerator[ChunkLevelGroundTruth]):
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

    def _ground_truth(self, query: Query, sample: Sample) -> ChunkLevelGroundTruth:
        return ChunkLevelGroundTruth(query, [ChunkId(each) for each in sample.relevant_chunk_ids])
