"""An evaluation or a comparison of any kind, as the blocks that every medium renders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rag_evaluation_framework.reports.blocks import Blocks
from rag_evaluation_framework.reports.comparison_blocks import describe_comparison
from rag_evaluation_framework.reports.evaluation_blocks import describe_evaluation
from rag_evaluation_framework.reports.sweep_blocks import describe_sweep
from rag_evaluation_framework.reports.system_blocks import describe_ranking
from rag_evaluation_framework.results.comparison import RULES, Comparison
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.run_store import CELLS, DEFAULT_RUNS_DIRECTORY


def describe(
    thing: Evaluation | Comparison,
    *,
    samples: bool = True,
    rows: bool = False,
    slice_by: str | None = None,
    reading: bool = True,
    runs: Path = DEFAULT_RUNS_DIRECTORY,
    **wish: Any,
) -> Blocks:
    """Describe an evaluation with its parts, or a comparison, as the renderer of terminals says."""
    if isinstance(thing, Comparison):
        return describe_comparison(thing, slice_by=slice_by, runs=runs, **wish)
    if CELLS in thing.head.configuration:
        return describe_sweep(thing, details=wish.get("details", False))
    if thing.kind == "systems" and RULES in thing.head.configuration:
        return describe_ranking(thing, rows=rows, details=wish.get("details", False))
    return describe_evaluation(thing, samples=samples, reading=reading, **wish)
