"""One pipeline evaluated against one dataset, at chunk level or token level."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar

from rag_evaluation_framework.errors import UsageError, shown
from rag_evaluation_framework.evaluation.levels.evaluation_result import EvaluationResult
from rag_evaluation_framework.evaluation.levels.experiments import is_recorded, recorded_experiment
from rag_evaluation_framework.evaluation.levels.given_metrics import GivenMetric, GivenMetrics
from rag_evaluation_framework.evaluation.levels.level_scoring import LevelScorer, level_scorer
from rag_evaluation_framework.evaluation.levels.retrieval_datasets import DATASETS_FOLDER, find_dataset
from rag_evaluation_framework.evaluation.levels.retrieval_ground_truth import Level
from rag_evaluation_framework.evaluation.levels.retrieval_runs import evaluated_cells, mean_scores
from rag_evaluation_framework.extensions import (
    Chunker,
    Embedder,
    PositionAwareChunker,
    Reranker,
    VectorStore,
)
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.samples import Dataset
from rag_evaluation_framework.retrieval.sweep import grid_of

MetricT = TypeVar("MetricT", bound=GivenMetric)


class RetrievalEvaluation(Generic[MetricT]):
    """Evaluates retrieval pipelines over one corpus against one dataset.

    ``langsmith_dataset_name`` is the path of a dataset of any dialect, or a name: of a dataset at LangSmith
    where an API key is set, else of one in ``datasets_folder`` (see
    :mod:`~rag_evaluation_framework.evaluation.levels.retrieval_datasets`). A run of a dataset at LangSmith is
    recorded there as an experiment, unless ``upload_experiments`` is false (see
    :mod:`~rag_evaluation_framework.evaluation.levels.experiments`).
    """

    level: Level

    def __init__(
        self,
        corpus: Corpus,
        langsmith_dataset_name: str | Path,
        *,
        datasets_folder: str | Path = DATASETS_FOLDER,
        upload_experiments: bool | None = None,
    ) -> None:
        if not isinstance(corpus, Corpus):
            raise UsageError(f"corpus: expected a Corpus, got {shown(corpus)}")
        self.corpus = corpus
        self.langsmith_dataset_name = langsmith_dataset_name
        self._datasets_folder = datasets_folder
        self._upload_experiments = upload_experiments

    @cached_property
    def dataset(self) -> Dataset:
        """The dataset, read when it is first needed."""
        return find_dataset(self.langsmith_dataset_name, folder=self._datasets_folder)

    @cached_property
    def _scorer(self) -> LevelScorer:
        return level_scorer(self.level, self.dataset, self.corpus)

    def run(
        self,
        chunker: Chunker | PositionAwareChunker,
        embedder: Embedder,
        k: int = 5,
        vector_store: VectorStore | None = None,
        reranker: Reranker | None = None,
        metrics: Sequence[MetricT] | None = None,
        *,
        fetch_k: int | None = None,
        workers: int = 1,
    ) -> EvaluationResult:
        """Return the means of the level's metrics, or of ``metrics`` in their place.

        ``vector_store`` is by default Chroma where it is installed, else the exact one; the run records
        which. With a reranker, ``fetch_k`` candidates (4 k by default) are fetched.
        """
        is_experiment = is_recorded(self.dataset, self._upload_experiments)
        scorer: LevelScorer = self._scorer if metrics is None else GivenMetrics(self._scorer, metrics)
        grid = grid_of(
            chunkers=[chunker],
            embedders=[embedder],
            vector_stores=[vector_store],
            rerankers=[reranker],
            k=[k],
            fetch_k=fetch_k,
        )
        name = str(self.langsmith_dataset_name)
        cells = evaluated_cells(self.corpus, self.dataset, scorer, grid, dataset_name=name, workers=workers)
        cell = next(cells)
        metrics_found = dict(mean_scores(cell.run))
        if not is_experiment:
            return EvaluationResult(metrics_found, None, cell.run)
        seconds = cell.seconds.search + cell.seconds.rerank
        experiment = recorded_experiment(cell.run, self.dataset, seconds=seconds)
        warnings = () if experiment.warning is None else (experiment.warning,)
        return EvaluationResult(metrics_found, experiment.url, cell.run, warnings)
