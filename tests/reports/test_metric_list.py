"""The list of the metrics, as it is printed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from rag_evaluation_framework.metrics.declaration import Metric, all_metrics
from rag_evaluation_framework.reports.lists import describe_metrics
from rag_evaluation_framework.reports.screen import Screen


def shown(metrics: Sequence[Metric]) -> str:
    screen = Screen(width=400)
    screen.draw(describe_metrics(metrics))
    return str(screen)


PAGE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"


@pytest.mark.parametrize(
    "text", [shown(all_metrics()), PAGE.read_text(encoding="utf-8")], ids=["screen", "page"]
)
def test_every_metric_is_listed_with_its_version(text: str) -> None:
    assert text.count("version ") == len(all_metrics())
    assert all(metric.signature in text for metric in all_metrics())
