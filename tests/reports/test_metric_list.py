"""The list of the metrics, as it is printed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from command_lines import rag_eval
from rag_evaluation_framework.metrics.declaration import all_metrics

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"


@pytest.mark.parametrize(
    "text_of",
    [lambda: rag_eval("list", "metrics", "--width", "400").stdout, lambda: PAGE.read_text(encoding="utf-8")],
    ids=["screen", "page"],
)
def test_every_metric_is_listed_with_its_version(text_of: Callable[[], str]) -> None:
    text = text_of()
    assert text.count("version ") == len(all_metrics())
    assert all(metric.signature in text for metric in all_metrics())
