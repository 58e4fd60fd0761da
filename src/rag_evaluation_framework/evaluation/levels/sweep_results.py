"""What a sweep found: every cell with its figures, ranked, tested against the best, and written to files."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rag_evaluation_framework.errors import UnknownNameError, refused
from rag_evaluation_framework.evaluation.levels.retrieval_ground_truth import Level
from rag_evaluation_framework.evaluation.levels.retrieval_runs import EvaluatedCell
from rag_evaluation_framework.files import strict_json
from rag_evaluation_framework.files.atomic import write_bytes_atomically
from rag_evaluation_framework.records.samples import Sample
from rag_evaluation_framework.results.comparison import MetricComparison
from rag_evaluation_framework.results.documents import write_results_document
from rag_evaluation_framework.results.result_files import SUFFIX
from rag_evaluation_framework.results.run_rows import rows_of_run
from rag_evaluation_framework.results.run_summaries import RunSummary
from rag_evaluation_framework.results.summaries import MetricSummary
from rag_evaluation_framework.retrieval.sweep import Cell

SWEEP_FILE = "sweep.json"


@dataclass(frozen=True, slots=True)
class SweepCell:
    """One cell: its run with every query, the figures, and what the index and the stages took."""

    evaluated: EvaluatedCell
    summary: RunSummary

    @property
    def cell(self) -> Cell:
        return self.evaluated.cell

    @property
    def name(self) -> str:
        return str(self.cell)

    def metric(self, name: str) -> MetricSummary:
        """Return one metric's mean with its interval and counts."""
        found = self.summary.metric(name)
        if found is None:
            raise UnknownNameError("metric", name, [each.metric for each in self.summary.metrics])
        return found

    def values(self, metric: str) -> dict[str, float]:
        """Return one metric's values by query id; queries without one are left out."""
        scores = self.evaluated.run.scores(metric)
        return {query: score.value for query, score in scores.items() if score.value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepResults:
    """Everything that ``rag-eval retrieval`` shows, as data. ``cells`` are sorted by k, then best first."""

    dataset_id: str
    level: Level
    rank_by: str
    cells: tuple[SweepCell, ...]
    comparisons: tuple[MetricComparison, ...]
    documents: int
    samples: tuple[Sample, ...]
    moved_spans: int
    seed: int

    def ranking(self) -> dict[int, list[SweepCell]]:
        """Return the cells of each k, best first."""
        ranked: dict[int, list[SweepCell]] = {}
        for each in self.cells:
            ranked.setdefault(each.cell.k, []).append(each)
        return ranked

    def comparison(self, cell: SweepCell) -> MetricComparison | None:
        """Return how a cell compares with the best of its k; ``None`` for the best itself."""
        return next((each for each in self.comparisons if each.contender == cell.name), None)

    @property
    def spent_usd(self) -> float | None:
        """What the whole sweep cost; ``None`` unless it is known for every cell."""
        spent = [each.evaluated.cost.spent for each in self.cells]
        known = [dollars for dollars in spent if dollars is not None]
        return math.fsum(known) if len(known) == len(spent) else None

    def to_dict(self, *, per_query: bool = False) -> dict[str, Any]:
        """Return plain values for JSON; ``per_query`` adds every query's scores."""
        return {
            "dataset_id": self.dataset_id,
            "level": self.level,
            "rank_by": self.rank_by,
            "queries": len(self.samples),
            "documents": self.documents,
            "moved_spans": self.moved_spans,
            "seed": self.seed,
            **_known({"spent_usd": self.spent_usd}),
            "cells": [_written_cell(each, per_query=per_query) for each in self.cells],
            "comparisons": [each.to_dict() for each in self.comparisons],
        }

    def write(self, folder: str | Path) -> list[Path]:
        """Write a results document for each cell, and the ranking as ``sweep.json``; return the paths."""
        folder = Path(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise refused("write", folder, error) from error
        paths = [self._write_cell(folder, each) for each in self.cells]
        path = folder / SWEEP_FILE
        write_bytes_atomically(path, strict_json.encode(self.to_dict(), indent=2) + b"\n")
        return [*paths, path]

    def _write_cell(self, folder: Path, cell: SweepCell) -> Path:
        run = cell.evaluated.run
        path = folder / f"{run.head.run_id}{SUFFIX}"
        summary = replace(cell.summary, performance=_performance(cell))
        write_results_document(path, run.head, lambda: rows_of_run(run, self.samples), summary)
        return path


def _performance(cell: SweepCell) -> dict[str, Any]:
    evaluated = cell.evaluated
    figures: dict[str, Any] = {
        "index": asdict(evaluated.index),
        "stage_seconds": {name: round(value, 6) for name, value in asdict(evaluated.seconds).items()},
        "store_recall": evaluated.store_recall,
        "embedding_tokens": evaluated.embedding_tokens,
        "cost_usd": _known(asdict(evaluated.cost)) or None,
    }
    return _known(figures)


def _known(figures: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in figures.items() if value is not None}


def _written_cell(cell: SweepCell, *, per_query: bool) -> dict[str, Any]:
    written = {
        "name": cell.name,
        "evaluation_id": cell.evaluated.run.head.run_id,
        "configuration": asdict(cell.cell),
        "metrics": {each.metric: each.to_dict() for each in cell.summary.metrics},
        "performance": _performance(cell),
    }
    if per_query:
        written["per_query"] = {each.metric: cell.values(each.metric) for each in cell.summary.metrics}
    return written
