"""One retrieval pipeline evaluated against one dataset, at chunk level or token level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from rag_evaluation_framework.errors import TargetError, UsageError, shown
from rag_evaluation_framework.evaluation.data import (
    DATASETS_FOLDER,
    find_dataset,
    is_recorded,
    recorded_experiment,
)
from rag_evaluation_framework.evaluation.grid_runs import evaluate_grid
from rag_evaluation_framework.evaluation.hit_columns import GivenMetric, RetrievalLevel, retrieval_level
from rag_evaluation_framework.evaluation.retrieval_truth import Level, with_registered_spans
from rag_evaluation_framework.extensions import Chunker, Embedder, PositionAwareChunker, Reranker, VectorStore
from rag_evaluation_framework.metrics.spans import ChunkLevelMetric, TokenLevelMetric
from rag_evaluation_framework.records.chunks import ChunkRegistry
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.runs import Options, Run
from rag_evaluation_framework.records.samples import Dataset
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.retrieval.sweep import grid_of
from rag_evaluation_framework.text.display import short_repr

MetricT = TypeVar("MetricT", bound=GivenMetric)


@dataclass(frozen=True, slots=True)
class EvaluationResult:
    """The mean of each metric over the queries that have a value; a metric without any is left out.

    Args:
        metrics: The means by metric.
        experiment_url: Address of the experiment at LangSmith, or ``None``.
        raw_results: The :class:`~rag_evaluation_framework.results.evaluations.Evaluation` with the hits and
            scores of every query.
        warnings: Reasons for a missing experiment.
    """

    metrics: Mapping[str, float] = field(hash=False)
    experiment_url: str | None
    raw_results: Any = field(hash=False)
    warnings: tuple[str, ...] = ()

    __repr__ = short_repr

    @property
    def per_query(self) -> dict[str, dict[str, float]]:
        """The value of each metric for each query, by its id; what could not be computed is left out."""
        columns = self.raw_results.columns
        values: dict[str, dict[str, float]] = {sample_id: {} for sample_id in columns.ids}
        for metric in columns.values:
            for sample_id, value in columns.scored(metric).items():
                values[sample_id][metric] = value
        return values


class RetrievalEvaluation(Generic[MetricT]):
    """Evaluates retrieval pipelines over one corpus against one dataset.

    ``langsmith_dataset_name`` is the path of a dataset of any dialect, or a name: of a dataset at LangSmith
    where an API key is set, else of one in ``datasets_folder`` (see
    :mod:`~rag_evaluation_framework.evaluation.data`). A run of a dataset at LangSmith is recorded
    there as an experiment, unless ``upload_experiments`` is false. Relevant chunks of which the dataset has
    only the ids are looked up in the ``chunk_registry``: at token level, their characters are the truth.
    """

    level: Level
    default_metrics: tuple[str, ...]
    """The metrics computed where ``run`` is given none."""

    def __init__(
        self,
        corpus: Corpus,
        langsmith_dataset_name: str | Path,
        *,
        datasets_folder: str | Path = DATASETS_FOLDER,
        upload_experiments: bool | None = None,
        chunk_registry: ChunkRegistry | None = None,
    ) -> None:
        if not isinstance(corpus, Corpus):
            raise UsageError(f"corpus: expected a Corpus, got {shown(corpus)}")
        self.corpus = corpus
        self.langsmith_dataset_name = langsmith_dataset_name
        self._datasets_folder = datasets_folder
        self._upload_experiments = upload_experiments
        self._chunk_registry = chunk_registry

    @cached_property
    def dataset(self) -> Dataset:
        """The dataset, read when it is first needed."""
        found = find_dataset(self.langsmith_dataset_name, folder=self._datasets_folder)
        if self._chunk_registry is None or self.level != "token":
            return found
        return with_registered_spans(found, self._chunk_registry)

    @cached_property
    def _level(self) -> RetrievalLevel:
        return retrieval_level(self.level, self.dataset, self.corpus)

    def run(
        self,
        chunker: Chunker | PositionAwareChunker,
        embedder: Embedder,
        k: int = 5,
        vector_store: VectorStore | None = None,
        reranker: Reranker | None = None,
        metrics: Sequence[MetricT | str] | None = None,
        *,
        fetch_k: int | None = None,
        workers: int = 1,
        runs_directory: str | Path | None = None,
        resume: str | None = None,
    ) -> EvaluationResult:
        """Return the means of the default metrics, or of ``metrics``: names or objects, all of this level.

        ``vector_store`` is by default Chroma where it is installed, else the exact one; the run records
        which. With a reranker, ``fetch_k`` candidates (4 k by default) are fetched. With a
        ``runs_directory`` the run is kept there, and one that did not end can be given to ``resume``.
        """
        is_experiment = is_recorded(self.dataset, self._upload_experiments)
        level = self._level.with_metrics(self.default_metrics if metrics is None else metrics)
        grid = grid_of(
            chunkers=[chunker],
            embedders=[embedder],
            vector_stores=[vector_store],
            rerankers=[reranker],
            k=[k],
            fetch_k=fetch_k,
        )
        evaluation = evaluate_grid(
            self.corpus,
            self.dataset,
            grid,
            level,
            dataset_name=str(self.langsmith_dataset_name),
            options=Options(workers=workers),
            runs_directory=runs_directory,
            resume=resume,
        )
        outcome = evaluation.outcome
        if outcome.interrupted:
            raise KeyboardInterrupt
        if not outcome.completed:
            raise TargetError("incomplete", outcome.reason or "the run is not complete")
        (cell,) = evaluation.parts.values()
        found = {name: each.value for name, each in cell.metrics.items() if each.value is not None}
        if not is_experiment:
            return EvaluationResult(found, None, cell, evaluation.warnings)
        return self._with_experiment(found, cell)

    def _with_experiment(self, found: Mapping[str, float], cell: Evaluation) -> EvaluationResult:
        took = cell.performance.figures.get("stage_seconds", {})
        run = Run(cell.head, tuple(row.result for row in cell.rows))
        seconds = took.get("search", 0.0) + took.get("rerank", 0.0)
        url, warnings = recorded_experiment(run, self.dataset, seconds=seconds)
        return EvaluationResult(found, url, cell, (*cell.warnings, *warnings))


class ChunkLevelEvaluation(RetrievalEvaluation[ChunkLevelMetric]):
    """A comparison of the retrieved chunk ids with the relevant ones: chunk recall, precision and F1.

    The chunker must be the one of the ground truth. A text that occurs in several places is one chunk here,
    so k results are k different ones.

    Args:
        corpus: The documents.
        langsmith_dataset_name: Path of a dataset, or its name at LangSmith or in ``datasets_folder``.
        datasets_folder: Folder of datasets by name.
        upload_experiments: False to record no experiment at LangSmith.
        chunk_registry: Registry of the relevant chunks.
    """

    level = "chunk"
    default_metrics = ("chunk_recall", "chunk_precision", "chunk_f1")


class TokenLevelEvaluation(RetrievalEvaluation[TokenLevelMetric]):
    """A comparison of the retrieved characters with the relevant ones, for any chunker.

    The metrics are span recall, precision and IoU; on request also ``span_f1`` and ``precision_omega``, the
    best precision that the chunking allows. Overlapping spans are merged, so that each character counts once.
    A chunker without positions is wrapped.

    Args:
        corpus: The documents.
        langsmith_dataset_name: Path of a dataset, or its name at LangSmith or in ``datasets_folder``.
        datasets_folder: Folder of datasets by name.
        upload_experiments: False to record no experiment at LangSmith.
        chunk_registry: Registry of the relevant chunks; their characters are the ground truth.
    """

    level = "token"
    default_metrics = ("span_recall", "span_precision", "span_iou")
