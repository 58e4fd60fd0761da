"""An evaluation or a comparison on a terminal."""

from __future__ import annotations

from pathlib import Path

from rag_evaluation_framework.reports.blocks import Screen
from rag_evaluation_framework.reports.description import describe
from rag_evaluation_framework.results.comparison import Comparison
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.run_store import DEFAULT_RUNS_DIRECTORY


def render(
    thing: Evaluation | Comparison,
    *,
    screen: Screen | None = None,
    samples: bool = True,
    rows: bool = False,
    details: bool = False,
    everything: bool = False,
    slice_by: str | None = None,
    reading: bool = True,
    runs: Path = DEFAULT_RUNS_DIRECTORY,
) -> str:
    """Render an evaluation with its parts, or a comparison, on a ``screen``, by default of 100 columns.

    ``samples`` shows what does not pass, ``rows`` every query of ranked runs, ``details`` methods, tests and
    what was not scored. ``everything`` has each case in full, of a comparison each answer that changed, and
    ``slice_by`` its groups. ``reading`` says first which field of plain rows was taken for what. The
    commands of a comparison find its runs in ``runs``.
    """
    named = {"samples": samples, "rows": rows, "details": details, "everything": everything}
    described = describe(thing, slice_by=slice_by, reading=reading, runs=runs, **named)
    return str((screen or Screen()).draw(described))
