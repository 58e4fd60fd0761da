"""Questions with the characters that answer them: ground truth that holds for every chunker."""

from __future__ import annotations

from rag_evaluation_framework.records.chunks import PositionAwareChunk, generate_pa_chunk_id
from rag_evaluation_framework.records.ground_truths import Query, TokenLevelGroundTruth
from rag_evaluation_framework.records.identifiers import DocumentId, PositionAwareChunkId
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.synthesis.data_generators import SyntheticDataGenerator


class TokenLevelDataGenerator(SyntheticDataGenerator[TokenLevelGroundTruth]):
    """Generates questions whose relevant passages are known to the character.

    No chunker is needed: the model is asked for passages, and each is found in its document.
    """

    level = "token"

    def _ground_truth(self, query: Query, sample: Sample) -> TokenLevelGroundTruth:
        ids: list[PositionAwareChunkId] = []
        for span in sample.relevant_spans:
            text = self.corpus[span.file].content[span.start : span.end]
            passage = PositionAwareChunk(
                generate_pa_chunk_id(text), text, DocumentId(span.file), span.start, span.end
            )
            self._chunk_registry.register_pa_chunk(passage)
            ids.append(passage.id)
        return TokenLevelGroundTruth(query, ids)
