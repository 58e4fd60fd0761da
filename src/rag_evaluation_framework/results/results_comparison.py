"""Results documents side by side: every figure of every metric section, and tests where queries pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from rag_evaluation_framework.results.comparison import MetricComparison, corrected_together
from rag_evaluation_framework.results.metric_sections import PERFORMANCE
from rag_evaluation_framework.results.run_comparison import (
    compare_scored,
    data_differences,
    method_differences,
    shared_metrics,
)
from rag_evaluation_framework.results.scored_runs import ScoredRun, metric_sections, scored_run

Figures = dict[str, float | int]

# Where documents of earlier versions have the latency of each query: no figure of the run.
_QUERY_LATENCIES = "query_latencies_ms"
# What tells how a figure was made, and is none itself.
_ABOUT_FIGURES = frozenset({"n_scored", "n_skipped", "n_failed"})


def compare_documents(documents: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Compare documents by id; the first is the one that the others are tested against.

    - ``metrics_comparison``: value by id by figure. A metric's ``value`` is listed under its own name, other
      numbers under a path (``span_accuracy.mean_exact_jaccard``); names that occur in two sections begin with
      the section's.
    - ``performance_comparison``: what each part of ``performance_metrics`` says, by id.
    - ``paired_tests``: a :class:`MetricComparison` for each metric with values by query, corrected together.
    - ``not_tested``: for which evaluation and metric there is no test, and why.
    """
    tests, not_tested = _paired_tests([scored_run(document, name) for name, document in documents.items()])
    return {
        "evaluations": list(documents),
        "metrics_comparison": _by_figure({name: _figures(document) for name, document in documents.items()}),
        "performance_comparison": _by_figure(
            {name: _performance(document) for name, document in documents.items()}
        ),
        "paired_tests": [test.to_dict() for test in tests],
        "not_tested": not_tested,
    }


def _by_figure(documents: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Turn figures by document into documents by figure."""
    turned: dict[str, dict[str, Any]] = {}
    for name, figures in documents.items():
        for figure, value in figures.items():
            turned.setdefault(figure, {})[name] = value
    return turned


def _figures(document: Mapping[str, Any]) -> Figures:
    found = [
        (section, path, value)
        for section, content in metric_sections(document)
        for path, value in _numbers(content, "")
    ]
    times = Counter(path for _, path, _ in found)
    return {path if times[path] == 1 else f"{section}.{path}": value for section, path, value in found}


def _numbers(value: Any, path: str) -> Iterator[tuple[str, float | int]]:
    """Yield every number at any depth of objects with its path; lists are left out."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name in _ABOUT_FIGURES:
                continue
            deeper = path if name == "value" and path else f"{path}.{name}" if path else name
            yield from _numbers(inner, deeper)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value


def _performance(document: Mapping[str, Any]) -> dict[str, Any]:
    section = document.get(PERFORMANCE)
    if not isinstance(section, Mapping):
        return {}
    return {name: value for name, value in section.items() if name != _QUERY_LATENCIES}


def _paired_tests(runs: list[ScoredRun]) -> tuple[list[MetricComparison], list[dict[str, Any]]]:
    """Test each run against the first, on every metric for which both have values by query."""
    compared: list[MetricComparison] = []
    not_tested: list[dict[str, Any]] = []
    for contender in runs[1:]:
        testable, reasons = _testable(runs[0], contender)
        not_tested += reasons
        if testable:
            compared += compare_scored(runs[0], contender, testable)
    return corrected_together(compared), not_tested


def _testable(baseline: ScoredRun, contender: ScoredRun) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the metrics that can be tested, and for the others why they cannot."""
    reasons: list[dict[str, Any]] = []
    if different := "; ".join(data_differences(baseline, contender)):
        return [], [{"evaluation": contender.name, "metric": None, "reason": different}]
    testable = []
    for metric in shared_metrics(baseline, contender):
        why = "; ".join(method_differences(baseline, contender, metric))
        if not why and not baseline.metrics[metric].values.keys() & contender.metrics[metric].values.keys():
            why = "no query in common"
        if why:
            reasons.append({"evaluation": contender.name, "metric": metric, "reason": why})
        else:
            testable.append(metric)
    for metric in sorted(baseline.metrics.keys() ^ contender.metrics.keys()):
        missing = contender.name if metric in baseline.metrics else baseline.name
        why = f"{missing} has no values by query"
        reasons.append({"evaluation": contender.name, "metric": metric, "reason": why})
    return testable, reasons
