"""Questions with the characters that answer them: ground truth that holds for every chunker."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

from rag_evaluation_framework.evaluation.levels.retrieval_datasets import DATASETS_FOLDER
from rag_evaluation_framework.records.chunks import PositionAwareChunk, generate_pa_chunk_id
from rag_evaluation_framework.records.ground_truths import TokenLevelGroundTruth
from rag_evaluation_framework.records.identifiers import DocumentId, PositionAwareChunkId
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.synthesis.data_generators import (
    USUAL_QUALITY,
    GenerationOptions,
    SyntheticDataGenerator,
    query_of,
)
from rag_evaluation_framework.synthesis.generation import ChecksDrafts


class TokenLevelDataGenerator(SyntheticDataGenerator):
    """Generates questions whose relevant passages are known to the character.

    No chunker is needed: the model is asked for passages, and each is found in its document.
    """

    level = "token"

    def generate(
        self,
        queries_per_doc: int = 5,
        upload_to_langsmith: bool = True,
        dataset_name: str | None = None,
        *,
        quality: ChecksDrafts | None = USUAL_QUALITY,
        datasets_folder: str | Path = DATASETS_FOLDER,
        **options: Unpack[GenerationOptions],
    ) -> list[TokenLevelGroundTruth]:
        """Return questions with the ids of their passages, which :attr:`chunk_registry` resolves.

        The dataset goes to LangSmith under ``dataset_name``; with ``upload_to_langsmith=False`` it is written
        to ``datasets_folder`` under that name, or nowhere without one. With ``quality=None`` every question
        is kept whose ground truth holds.
        """
        dataset = self._generated(
            queries_per_doc,
            upload_to_langsmith,
            dataset_name,
            chunker=None,
            quality=quality,
            datasets_folder=datasets_folder,
            options=options,
        )
        return [TokenLevelGroundTruth(query_of(sample), self._passages(sample)) for sample in dataset.samples]

    def _passages(self, sample: Sample) -> list[PositionAwareChunkId]:
        ids: list[PositionAwareChunkId] = []
        for span in sample.relevant_spans:
            text = self.corpus[span.file].content[span.start : span.end]
            passage = PositionAwareChunk(
                generate_pa_chunk_id(text), text, DocumentId(span.file), span.start, span.end
            )
            self._chunk_registry.register_pa_chunk(passage)
            ids.append(passage.id)
        return ids
