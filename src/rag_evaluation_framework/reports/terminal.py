"""An evaluation or a comparison on a terminal."""

from __future__ import annotations

from typing import Any

from rag_evaluation_framework.reports.blocks import Screen
from rag_evaluation_framework.reports.description import describe
from rag_evaluation_framework.results.comparison import Comparison
from rag_evaluation_framework.results.evaluations import Evaluation


def render(thing: Evaluation | Comparison, *, screen: Screen | None = None, **wish: Any) -> str:
    """Render what is described of it, as ``wish`` says, on a ``screen``, by default of 100 columns."""
    return str((screen or Screen()).draw(describe(thing, **wish)))
