"""The list of the metrics, as it is printed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from rag_evaluation_framework.metrics.declaration import Metric, all_metrics
from rag_evaluation_framework.reports.lists import metric_list_markdown, metric_rows, show_metrics
from rag_evaluation_framework.reports.screen import Screen


def shown(metrics: Sequence[Metric]) -> str:
    screen = Screen(width=400)
    show_metrics(screen, metrics)
    return str(screen)


@pytest.mark.parametrize("render", [shown, metric_list_markdown])
def test_every_metric_is_listed_with_its_version(render: Callable[[Sequence[Metric]], str]) -> None:
    text = render(all_metrics())
    assert text.count("version ") == len(all_metrics())
    assert all(metric.signature in text for metric in all_metrics())


def test_a_line_has_direction_needs_methods_and_version() -> None:
    (faithfulness,) = [metric for metric in all_metrics() if metric.name == "faithfulness"]
    head = shown([faithfulness]).splitlines()[2]
    version = metric_rows([faithfulness])[0]["version"]
    assert head == (
        f"faithfulness   (higher is better; needs answer, contexts; by lexical, judge; version {version})"
    )
