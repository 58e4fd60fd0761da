"""A sweep with every cell asked for all queries at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rag_evaluation_framework import Corpus
from rag_evaluation_framework.retrieval.pipeline import Chunking
from rag_evaluation_framework.retrieval.sweep import Cell, Grid, Hits, swept_cells


@dataclass
class CellHits:
    cell: Cell
    chunking: Chunking
    hits: Hits
    store_recall: float | None
    embedding_tokens: int | None
    cost: dict[str, float]


def sweep(corpus: Corpus, queries: Sequence[str], grid: Grid, **options: Any) -> Iterator[CellHits]:
    for pipeline in swept_cells(corpus, queries, grid, **options):
        pipeline.prepare()
        hits = pipeline.retrieve(queries, pipeline.cell.k)
        took = pipeline.figures()
        known = (took.get(name) for name in ("store_recall", "embedding_tokens"))
        yield CellHits(pipeline.cell, pipeline.chunking, hits, *known, cost=took.get("cost_usd", {}))
