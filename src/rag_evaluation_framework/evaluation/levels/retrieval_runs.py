"""Scores the cells of a sweep: each becomes a run with every query's hits and scores."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.evaluation.levels.level_scoring import ChunkingScorer, LevelScorer
from rag_evaluation_framework.metrics.declaration import parse_metric
from rag_evaluation_framework.records.chunks import PositionAwareChunk, generate_chunk_id
from rag_evaluation_framework.records.documents import Corpus
from rag_evaluation_framework.records.responses import Hit, Response
from rag_evaluation_framework.records.runs import Run, RunHead, SampleResult, package_versions
from rag_evaluation_framework.records.samples import Dataset
from rag_evaluation_framework.results.sample_list import content_hash
from rag_evaluation_framework.retrieval.costs import CellCost
from rag_evaluation_framework.retrieval.pipeline import UNPLACED, Chunking
from rag_evaluation_framework.retrieval.sweep import Cell, CellHits, Grid, OnStep, StageSeconds, sweep
from rag_evaluation_framework.statistics.resampling import exact_mean

UNNAMED_DATASET = "dataset"

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9]+")
_LONGEST_NAME = 80
_BYTES_A_NUMBER = 4


@dataclass(frozen=True, slots=True)
class IndexSize:
    """How large an index is; ``vector_bytes`` is ``None`` where there are no vectors."""

    chunks: int
    characters: int
    vector_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedCell:
    """A cell of a sweep with its run, and what the run took."""

    cell: Cell
    run: Run
    index: IndexSize
    store_recall: float | None
    embedding_tokens: int | None
    cost: CellCost
    seconds: StageSeconds


def evaluated_cells(
    corpus: Corpus,
    dataset: Dataset,
    scorer: LevelScorer,
    grid: Grid,
    *,
    dataset_name: str | None = None,
    seed: int = 0,
    workers: int = 1,
    on_step: OnStep | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Iterator[EvaluatedCell]:
    """Yield each cell of the grid, scored; a truth that does not fit is refused before any embedding."""
    if not dataset.samples:
        raise UsageError("dataset: expected at least one sample, got none")
    heads = _Heads(dataset, scorer, dataset_name=dataset_name, seed=seed, started_at=now().isoformat())
    scorers: dict[str, ChunkingScorer] = {}

    def check(chunking: Chunking) -> None:
        scorers[chunking.chunker] = scorer.for_chunks(chunking.chunks, chunker=chunking.chunker)

    found = sweep(
        corpus,
        [sample.question for sample in dataset.samples],
        grid,
        distinct=scorer.level == "chunk",
        workers=workers,
        on_chunking=check,
        on_step=on_step,
    )
    for number, hits in enumerate(found, start=1):
        yield EvaluatedCell(
            cell=hits.cell,
            run=Run(
                heads.head(number, hits), _results(dataset, hits, scorers[hits.chunking.chunker], scorer)
            ),
            index=_index_size(hits),
            store_recall=hits.store_recall,
            embedding_tokens=hits.embedding_tokens,
            cost=hits.cost,
            seconds=hits.seconds,
        )


def _results(
    dataset: Dataset, found: CellHits, chunking_scorer: ChunkingScorer, scorer: LevelScorer
) -> tuple[SampleResult, ...]:
    sample_ids = [sample.id for sample in dataset.samples]
    scores = chunking_scorer.scores(dict(zip(sample_ids, found.hits, strict=True)))
    as_hit = _chunk_hit if scorer.level == "chunk" else _span_hit
    # The same chunk is found for many queries: one record serves them all.
    records: dict[int, Hit] = {}
    results = []
    for sample_id, chunks in zip(sample_ids, found.hits, strict=True):
        for chunk in chunks:
            if id(chunk) not in records:
                records[id(chunk)] = as_hit(chunk)
        hits = tuple(records[id(chunk)] for chunk in chunks)
        response = Response(hits=hits, retrieved_nothing=not hits)
        results.append(SampleResult(sample_id, response, scores[sample_id]))
    return tuple(results)


def _span_hit(chunk: PositionAwareChunk) -> Hit:
    return Hit(id=chunk.id, span=chunk.to_span())


def _chunk_hit(chunk: PositionAwareChunk) -> Hit:
    span = None if chunk.metadata.get(UNPLACED) else chunk.to_span()
    return Hit(id=generate_chunk_id(chunk.content), span=span)


def _index_size(found: CellHits) -> IndexSize:
    chunks = found.chunking.chunks
    dimensions = found.dimensions
    return IndexSize(
        chunks=len(chunks),
        characters=sum(len(chunk.content) for chunk in chunks),
        vector_bytes=None if dimensions is None else len(chunks) * dimensions * _BYTES_A_NUMBER,
    )


class _Heads:
    """Makes the head of each run; what all of them share is worked out once."""

    def __init__(
        self, dataset: Dataset, scorer: LevelScorer, *, dataset_name: str | None, seed: int, started_at: str
    ) -> None:
        self._scorer, self._started_at, self._seed = scorer, started_at, seed
        self._dataset_id = dataset.dataset_id or dataset_name or UNNAMED_DATASET
        self._dataset_version = dataset.version
        self._dataset_hash = content_hash(dataset.samples)

    def head(self, number: int, found: CellHits) -> RunHead:
        cell = found.cell
        return RunHead(
            run_id=f"{number:03}_{_short_name(cell)}",
            dataset_id=self._dataset_id,
            dataset_version=self._dataset_version,
            dataset_hash=self._dataset_hash,
            target=str(cell),
            configuration={"level": self._scorer.level, **asdict(cell), "chunks": len(found.chunking.chunks)},
            metric_versions=dict(_versions(self._scorer.metrics)),
            seed=self._seed,
            packages=package_versions(),
            started_at=self._started_at,
        )


def _versions(metrics: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """Yield the version of each metric that is declared here."""
    for name in metrics:
        try:
            yield name, parse_metric(name).metric.version
        except UsageError:  # somebody else's
            continue


def _short_name(cell: Cell) -> str:
    """Return a cell's chunker and k as part of a file name."""
    words = _NOT_IN_NAMES.sub("-", cell.chunker).strip("-")[:_LONGEST_NAME]
    return f"{words}_k{cell.k}"


def mean_scores(run: Run) -> Mapping[str, float]:
    """Return the mean of each metric over the samples that have it; a metric without any is left out."""
    values: dict[str, list[float]] = {}
    for result in run.results:
        for score in result.scores:
            of_metric = values.setdefault(score.metric, [])
            if score.value is not None:
                of_metric.append(score.value)
    return {metric: exact_mean(of_metric) for metric, of_metric in values.items() if of_metric}
