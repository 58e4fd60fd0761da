"""The list of the metrics, as it is printed."""

from __future__ import annotations

from command_lines import rag_eval
from rag_evaluation_framework.metrics.declaration import all_metrics


def test_list_metrics_names_every_metric_with_its_version() -> None:
    text = rag_eval("list", "metrics", "--width", "400").stdout
    assert text.count("version ") == len(all_metrics())
    assert all(metric.signature in text for metric in all_metrics())
