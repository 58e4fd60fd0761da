"""Retrieval runs scored against one set of judgements: summaries of each, comparisons with a baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rag_evaluation_framework.errors import InputError, UnknownNameError
from rag_evaluation_framework.metrics.declaration import BoundMetric
from rag_evaluation_framework.metrics.judged_rankings import RankingRules
from rag_evaluation_framework.metrics.qrels import Qrels, Run
from rag_evaluation_framework.metrics.ranking import RankingReport, evaluate_ranking
from rag_evaluation_framework.results.comparison import MetricComparison, PairedTest, compare_systems
from rag_evaluation_framework.results.summaries import MetricSummary, summarise
from rag_evaluation_framework.statistics.intervals import IntervalMethod


@dataclass(frozen=True, slots=True)
class RankedSystem:
    """One run's scores per query and what they amount to. ``missing`` are scored queries it lacks."""

    name: str
    report: RankingReport
    missing: tuple[str, ...]
    summaries: tuple[MetricSummary, ...]

    def scores(self) -> dict[str, dict[str, float]]:
        """Return value by query by metric."""
        return {
            metric: dict(zip(map(str, self.report.query_ids), values.tolist(), strict=True))
            for metric, values in self.report.per_query.items()
        }


@dataclass(frozen=True, slots=True)
class RankingResults:
    """Everything ``rag-eval rank`` shows, as data."""

    systems: tuple[RankedSystem, ...]
    comparisons: tuple[MetricComparison, ...]
    rules: RankingRules
    confidence: float
    seed: int

    def to_dict(self, *, per_query: bool = False) -> dict[str, Any]:
        """Return plain values for JSON; ``per_query`` adds every query's scores."""
        return {
            "rules": asdict(self.rules),
            "confidence": self.confidence,
            "seed": self.seed,
            "systems": [_system(system, per_query) for system in self.systems],
            "comparisons": [comparison.to_dict() for comparison in self.comparisons],
        }


def rank_systems(
    qrels: Qrels,
    runs: Mapping[str, Run],
    metrics: Sequence[BoundMetric],
    *,
    rules: RankingRules | None = None,
    baseline: str | None = None,
    test: PairedTest = "randomisation",
    interval_method: IntervalMethod = "auto",
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> RankingResults:
    """Score each run and, where there are several, compare the others with the baseline (the first)."""
    if baseline is not None and baseline not in runs:
        raise UnknownNameError("baseline", baseline, list(runs))
    rules = rules or RankingRules()
    systems = []
    for name, run in runs.items():
        try:
            report = evaluate_ranking(qrels, run, metrics, rules=rules)
        except InputError as error:
            raise _in_run(error, name) from None
        summaries = tuple(
            summarise(
                metric,
                report.per_query[str(metric)],
                n_skipped=len(report.skipped),
                confidence=confidence,
                interval_method=interval_method,
                resamples=resamples,
                seed=seed,
            )
            for metric in metrics
        )
        missing = tuple(str(query) for query in report.query_ids if query not in run)
        systems.append(RankedSystem(name, report, missing, summaries))
    comparisons: list[MetricComparison] = []
    if len(systems) > 1:
        comparisons = compare_systems(
            {system.name: system.scores() for system in systems},
            metrics,
            baseline=baseline or systems[0].name,
            test=test,
            alpha=round(1 - confidence, 12),  # 0.05, not 0.050000000000000044
            resamples=resamples,
            seed=seed,
        )
    return RankingResults(tuple(systems), tuple(comparisons), rules, confidence, seed)


def _in_run(error: InputError, name: str) -> InputError:
    """Say which run an error is in, unless it is in the judgements, which all runs share."""
    return InputError(
        issue if issue.path.startswith("qrels") else issue.located(file=name) for issue in error.issues
    )


def _system(system: RankedSystem, per_query: bool) -> dict[str, Any]:
    values: dict[str, Any] = {
        "name": system.name,
        "metrics": {summary.metric: summary.to_dict() for summary in system.summaries},
        "skipped_queries": {str(query): reason for query, reason in system.report.skipped.items()},
        "missing_queries": list(system.missing),
    }
    if per_query:
        values["per_query"] = system.scores()
    return values
