"""What a comparison needs of a run, whatever it is read from: a run in memory, on the disk, or a document.

Scores of time are left out: they differ between two runs of the same system.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from rag_evaluation_framework.errors import UsageError, shown
from rag_evaluation_framework.metrics.declaration import BoundMetric
from rag_evaluation_framework.records.runs import Run, RunHead, SampleResult
from rag_evaluation_framework.records.scores import TIMING_METHOD
from rag_evaluation_framework.results.metric_sections import (
    PERFORMANCE,
    declared_metric,
    is_higher_better,
    stand_in,
)
from rag_evaluation_framework.results.run_folder import RunFolder


@dataclass(slots=True)
class ScoredMetric:
    """One metric's values by query id, and how they were made; ``None`` if the source does not say."""

    method: str | None
    version: int | None
    higher_is_better: bool
    values: dict[str, float] = field(default_factory=dict)

    def bound(self, name: str) -> BoundMetric:
        """Return the metric as declared, or one of its name where it is not declared here."""
        metric = declared_metric(name)
        if metric is None or metric.metric.higher_is_better != self.higher_is_better or str(metric) != name:
            return stand_in(name, self.method or "unknown", higher_is_better=self.higher_is_better)
        return metric


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredRun:
    """A run as scores by metric and query, with what decides whether another one may be compared with it."""

    name: str
    dataset_id: str | None
    dataset_hash: str | None
    metrics: Mapping[str, ScoredMetric] = field(hash=False)


RunSource: TypeAlias = Run | RunFolder | ScoredRun | Mapping[str, Any]


def scored_run(source: RunSource, name: str | None = None) -> ScoredRun:
    """Read what a comparison needs; ``name`` is shown in it, by default the run's id."""
    if isinstance(source, ScoredRun):
        return source
    if isinstance(source, Run):
        return _from_results(source.head, source.results, name)
    if isinstance(source, RunFolder):
        return _from_results(source.head, source.results(order="dataset"), name)
    if isinstance(source, Mapping):
        return _from_document(source, name)
    raise UsageError(f"expected a run, its folder or a results document, got {shown(source)}")


def _from_results(head: RunHead, results: Iterable[SampleResult], name: str | None) -> ScoredRun:
    metrics: dict[str, ScoredMetric] = {}
    for result in results:
        for score in result.scores:
            if score.method == TIMING_METHOD or score.value is None:
                continue
            if score.metric not in metrics:
                version = head.metric_versions.get(score.metric)
                higher = is_higher_better(score.metric, score.method)
                metrics[score.metric] = ScoredMetric(score.method, version, higher)
            metric = metrics[score.metric]
            metric.values[result.sample_id] = score.value
            metric.method = _joined(metric.method, score.method)
    return ScoredRun(
        name=name or head.run_id, dataset_id=head.dataset_id, dataset_hash=head.dataset_hash, metrics=metrics
    )


def _joined(so_far: str | None, method: str) -> str:
    """Name every method by which a metric's scores were made."""
    if so_far is None or so_far == method:
        return method
    return " + ".join(sorted({*so_far.split(" + "), method}))


def _from_document(document: Mapping[str, Any], name: str | None) -> ScoredRun:
    figures = dict(metric_figures(document))
    versions = _mapping(_mapping(document.get("metadata")).get("metric_versions"))
    metrics: dict[str, ScoredMetric] = {}
    for query_id, metric, value in _individual_scores(document):
        if metric not in metrics:
            figure = figures.get(metric, {})
            method = figure.get("method")
            higher = is_higher_better(metric, str(method), figure.get("higher_is_better"))
            metrics[metric] = ScoredMetric(method, versions.get(metric), higher)
        metrics[metric].values[query_id] = value
    return ScoredRun(
        name=name or str(document.get("evaluation_id")),
        dataset_id=document.get("dataset_id"),
        dataset_hash=_mapping(document.get("metadata")).get("dataset_hash"),
        metrics=metrics,
    )


def metric_sections(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the sections of a document that hold metrics, including those of other tools' documents."""
    for name, section in document.items():
        if name.endswith("_metrics") and name != PERFORMANCE and isinstance(section, Mapping):
            yield name, section


def metric_figures(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each metric of a document that has more than a bare number."""
    for _, section in metric_sections(document):
        for metric, figure in section.items():
            if isinstance(figure, Mapping):
                yield metric, figure


def _individual_scores(document: Mapping[str, Any]) -> Iterator[tuple[str, str, float]]:
    queries = document.get("query_results")
    for query in queries if isinstance(queries, list) else []:
        scores = _mapping(_mapping(query).get("individual_metrics"))
        for metric, score in scores.items():
            value = score.get("value") if isinstance(score, Mapping) else score
            if isinstance(value, int | float) and not isinstance(value, bool) and "query_id" in query:
                yield str(query["query_id"]), metric, float(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
