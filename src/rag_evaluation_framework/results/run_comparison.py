"""Whether one run is better than another: the same data, the same methods, paired by query, corrected.

Figures made by different methods, or over different data, are not comparable, however alike their names
are: comparing them is refused with the reasons, unless it is forced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rag_evaluation_framework.errors import UsageError
from rag_evaluation_framework.records.scores import TIMING_METHOD
from rag_evaluation_framework.results.comparison import (
    Comparison,
    MetricComparison,
    MovedSample,
    PairedTest,
    compare_systems,
    corrected_together,
)
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.scored_runs import RunSource, ScoredMetric, ScoredRun, scored_run

_MOVED = 10


def compare_runs(
    run_a: RunSource,
    run_b: RunSource,
    *,
    force: bool = False,
    test: PairedTest = "randomisation",
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compare run b with the baseline, run a, on every metric that both have.

    A run is one in memory, its folder, or its results document. Different datasets, content hashes, methods
    or metric versions are a :class:`UsageError` that names them; with ``force`` they become warnings.
    """
    baseline, contender = scored_run(run_a), scored_run(run_b)
    if baseline.name == contender.name:
        baseline = replace(baseline, name=f"{baseline.name} (baseline)")
    reasons = tuple(reasons_against(baseline, contender))
    if reasons and not force:
        raise UsageError(f"cannot compare {contender.name} with {baseline.name}: {'; '.join(reasons)}")
    shared = shared_metrics(baseline, contender)
    if not shared:
        raise UsageError(f"{contender.name} and {baseline.name} have no metric in common that was scored")
    compared = compare_scored(
        baseline, contender, shared, test=test, alpha=alpha, resamples=resamples, seed=seed
    )
    return Comparison(
        baseline=baseline.name,
        contenders=(contender.name,),
        metrics=tuple(compared),
        moved=tuple(query for metric in shared for query in _moved(baseline, contender, metric)),
        unshared_metrics=tuple(sorted(baseline.metrics.keys() ^ contender.metrics.keys())),
        warnings=reasons,
    )


def compare_columns(
    systems: Mapping[str, Evaluation],
    *,
    test: PairedTest = "randomisation",
    force: bool = False,
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 0,
) -> Comparison:
    """Compare evaluations with the first of them, on every metric that both have.

    Different data or methods are a :class:`UsageError` that names them; with ``force`` they become warnings.
    """
    baseline, *contenders = (_scored(name, each) for name, each in systems.items())
    reasons = [
        f"{contender.name}: {reason}"
        for contender in contenders
        for reason in reasons_against(baseline, contender)
    ]
    if reasons and not force:
        raise UsageError(f"cannot compare with {baseline.name}: {'; '.join(reasons)}")
    compared: list[MetricComparison] = []
    moved: list[MovedSample] = []
    for contender in contenders:
        shared = [
            name
            for name in shared_metrics(baseline, contender)
            if baseline.metrics[name].values.keys() & contender.metrics[name].values.keys()
        ]
        if shared:
            compared += compare_scored(
                baseline, contender, shared, test=test, alpha=alpha, resamples=resamples, seed=seed
            )
        moved += [sample for metric in shared for sample in _moved(baseline, contender, metric)]
    order = list(baseline.metrics)
    return Comparison(
        baseline=baseline.name,
        contenders=tuple(contender.name for contender in contenders),
        metrics=tuple(corrected_together(sorted(compared, key=lambda each: order.index(each.metric)))),
        moved=tuple(moved),
        unshared_metrics=tuple(
            sorted({name for each in contenders for name in baseline.metrics.keys() ^ each.metrics.keys()})
        ),
        warnings=tuple(reasons),
    )


def _scored(name: str, evaluation: Evaluation) -> ScoredRun:
    """Return the scores of an evaluation by metric and sample, parts together; times left out."""
    metrics: dict[str, ScoredMetric] = {}
    for part_name, part in (evaluation.parts or {"": evaluation}).items():
        prefix = f"{part_name}/" if len(evaluation.parts) > 1 else ""
        for metric, figure in part.metrics.items():
            if metric not in part.columns.values or figure.method == TIMING_METHOD:
                continue
            version = part.head.metric_versions.get(metric)
            found = metrics.setdefault(metric, ScoredMetric(figure.method, version, figure.higher_is_better))
            found.values.update({prefix + each: value for each, value in part.columns.scored(metric).items()})
    head = evaluation.head
    return ScoredRun(
        name=name,
        dataset_id=head.dataset_id,
        dataset_hash=head.dataset_hash,
        metrics={metric: found for metric, found in metrics.items() if found.values},
    )


def compare_scored(
    baseline: ScoredRun,
    contender: ScoredRun,
    metrics: Sequence[str],
    *,
    test: PairedTest = "randomisation",
    alpha: float = 0.05,
    resamples: int = 10_000,
    seed: int = 0,
) -> list[MetricComparison]:
    """Compare two runs on the metrics named, even if they are not comparable."""
    return compare_systems(
        {run.name: {name: run.metrics[name].values for name in metrics} for run in (baseline, contender)},
        [baseline.metrics[name].bound(name) for name in metrics],
        baseline=baseline.name,
        test=test,
        alpha=alpha,
        resamples=resamples,
        seed=seed,
    )


def shared_metrics(baseline: ScoredRun, contender: ScoredRun) -> list[str]:
    """Return the metrics for which both runs have scores, in the baseline's order."""
    return [name for name in baseline.metrics if name in contender.metrics]


def reasons_against(baseline: ScoredRun, contender: ScoredRun) -> Iterator[str]:
    """Yield what makes the figures of two runs incomparable."""
    yield from data_differences(baseline, contender)
    for name in shared_metrics(baseline, contender):
        yield from method_differences(baseline, contender, name)


def data_differences(baseline: ScoredRun, contender: ScoredRun) -> Iterator[str]:
    """Yield how the data of two runs differ; what is unknown does not count as different."""
    before, after = baseline.dataset_id, contender.dataset_id
    if before and after and before != after:
        yield f"different datasets ({before} and {after})"
    elif baseline.dataset_hash and contender.dataset_hash and baseline.dataset_hash != contender.dataset_hash:
        yield f"the content of the dataset {before or ''} differs (its hash is another)"


def method_differences(baseline: ScoredRun, contender: ScoredRun, metric: str) -> Iterator[str]:
    """Yield how one metric's scores were made differently."""
    before, after = baseline.metrics[metric], contender.metrics[metric]
    if before.method and after.method and before.method != after.method:
        yield f"{metric} was scored by different methods ({before.method} and {after.method})"
    elif before.version and after.version and before.version != after.version:
        yield f"{metric} was scored by different versions ({before.version} and {after.version})"


def _moved(baseline: ScoredRun, contender: ScoredRun, metric: str) -> list[MovedSample]:
    before, after = baseline.metrics[metric].values, contender.metrics[metric].values
    moved = [
        MovedSample(metric, query, before[query], after[query])
        for query in before
        if query in after and before[query] != after[query]
    ]
    return sorted(moved, key=lambda query: (-abs(query.difference), query.query_id))[:_MOVED]
