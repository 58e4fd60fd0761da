"""Sweeps over retrieval pipelines: every combination evaluated, ranked and tested.

Cells are ranked among those of the same k, since more chunks find more with any pipeline; each is tested
against the best of its k, query by query, with one correction over all tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from rag_evaluation_framework.errors import UnknownNameError
from rag_evaluation_framework.evaluation.levels.level_scoring import (
    LevelScorer,
    TokenLevelScorer,
    level_scorer,
)
from rag_evaluation_framework.evaluation.levels.retrieval_datasets import find_dataset
from rag_evaluation_framework.evaluation.levels.retrieval_ground_truth import LEVELS, Level, level_of
from rag_evaluation_framework.evaluation.levels.retrieval_runs import evaluated_cells
from rag_evaluation_framework.evaluation.levels.sweep_results import SweepCell, SweepResults
from rag_evaluation_framework.extensions import (
    Chunker,
    Embedder,
    PositionAwareChunker,
    Reranker,
    Retriever,
    VectorStore,
)
from rag_evaluation_framework.metrics.declaration import parse_metric
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.samples import Dataset
from rag_evaluation_framework.results.comparison import (
    MetricComparison,
    PairedTest,
    compare_systems,
    corrected_together,
)
from rag_evaluation_framework.results.run_rows import rows_of_run
from rag_evaluation_framework.results.run_summaries import IntervalSettings, summarise_run
from rag_evaluation_framework.retrieval.embedders import OnTexts
from rag_evaluation_framework.retrieval.pipeline import in_order
from rag_evaluation_framework.retrieval.sweep import Grid, OnStep, grid_of


def evaluate_sweep(
    corpus: Corpus,
    dataset: Dataset | str | Path,
    *,
    chunkers: Sequence[str | Chunker | PositionAwareChunker],
    embedders: Sequence[str | Embedder] = ("hashing",),
    retrievers: Sequence[str | Retriever] = ("dense",),
    vector_stores: Sequence[str | VectorStore | None] = (None,),
    rerankers: Sequence[str | Reranker | None] = (None,),
    k: int | Sequence[int] = 5,
    fetch_k: int | None = None,
    dataset_name: str | None = None,
    level: Level | None = None,
    rank_by: str | None = None,
    test: PairedTest = "randomisation",
    intervals: IntervalSettings | None = None,
    workers: int = 1,
    on_step: OnStep | None = None,
    on_texts: OnTexts | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> SweepResults:
    """Evaluate every combination; each text is embedded once, each chunking and each search done once.

    A part is an object or its specification, such as ``"recursive(chunk_size=200, overlap=50)"``. The level
    is by default the finest that the dataset has truth for, the ranking by the level's first metric. Figures
    depend on the seed of ``intervals`` and not on the number of workers.
    """
    return evaluate_grid(
        corpus,
        dataset,
        grid_of(
            chunkers=chunkers,
            embedders=embedders,
            retrievers=retrievers,
            vector_stores=vector_stores,
            rerankers=rerankers,
            k=k,
            fetch_k=fetch_k,
            on_texts=on_texts,
        ),
        dataset_name=dataset_name,
        level=level,
        rank_by=rank_by,
        test=test,
        intervals=intervals,
        workers=workers,
        on_step=on_step,
        now=now,
    )


def evaluate_grid(
    corpus: Corpus,
    dataset: Dataset | str | Path,
    grid: Grid,
    *,
    dataset_name: str | None = None,
    level: Level | None = None,
    rank_by: str | None = None,
    test: PairedTest = "randomisation",
    intervals: IntervalSettings | None = None,
    workers: int = 1,
    on_step: OnStep | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> SweepResults:
    """Evaluate the combinations of a grid whose parts are built already; see :func:`evaluate_sweep`."""
    intervals = intervals or IntervalSettings()
    loaded = dataset if isinstance(dataset, Dataset) else find_dataset(dataset)
    scorer = level_scorer(_checked_level(level) if level else level_of(loaded), loaded, corpus)
    rank_by = _checked_metric(rank_by or scorer.metrics[0], scorer)
    evaluated = evaluated_cells(
        corpus,
        loaded,
        scorer,
        grid,
        dataset_name=dataset_name or (None if isinstance(dataset, Dataset) else Path(dataset).name),
        seed=intervals.seed,
        workers=workers,
        on_step=on_step,
        now=now,
    )
    cells = in_order(
        lambda cell: SweepCell(cell, summarise_run(rows_of_run(cell.run), intervals=intervals)),
        list(evaluated),
        workers=workers,
    )
    ranked = tuple(_ranked(cells, rank_by))
    return SweepResults(
        dataset_id=ranked[0].evaluated.run.head.dataset_id,
        level=scorer.level,
        rank_by=rank_by,
        cells=ranked,
        comparisons=tuple(_comparisons(ranked, rank_by, test=test, intervals=intervals)),
        documents=len(corpus),
        samples=loaded.samples,
        moved_spans=scorer.moved if isinstance(scorer, TokenLevelScorer) else 0,
        seed=intervals.seed,
    )


def _checked_level(level: str) -> Level:
    for known in LEVELS:
        if level == known:
            return known
    raise UnknownNameError("level", level, LEVELS)


def _checked_metric(name: str, scorer: LevelScorer) -> str:
    if name not in scorer.metrics:
        raise UnknownNameError(f"metric at {scorer.level} level", name, scorer.metrics)
    return name


def _ranked(cells: Sequence[SweepCell], metric: str) -> Iterator[SweepCell]:
    """Yield the cells of each k in ascending order, the best first; equal ones in the order of the grid."""
    sign = -1 if parse_metric(metric).metric.higher_is_better else 1

    def place(cell: SweepCell) -> tuple[int, bool, float]:
        value = cell.metric(metric).value
        return cell.cell.k, value is None, sign * (value or 0.0)

    yield from sorted(cells, key=place)


def _comparisons(
    ranked: Sequence[SweepCell], metric: str, *, test: PairedTest, intervals: IntervalSettings
) -> list[MetricComparison]:
    compared: list[MetricComparison] = []
    for k in dict.fromkeys(each.cell.k for each in ranked):
        scores = {
            each.name: {metric: values}
            for each in ranked
            if each.cell.k == k and (values := each.values(metric))
        }
        if len(scores) > 1:
            compared += compare_systems(
                scores,
                [parse_metric(metric)],
                baseline=next(iter(scores)),
                test=test,
                alpha=1 - intervals.confidence,
                resamples=intervals.resamples,
                seed=intervals.seed,
            )
    return corrected_together(compared)
