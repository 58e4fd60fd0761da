"""Several systems side by side over the same judgements: ranked runs, scored in blocks and compared.

What is recorded and scored in blocks is never asked, so there is no journal: a run of 100,000 queries stays a
few arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np

from rag_evaluation_framework.datasets.ranking_tables import TableRun, table_qrels
from rag_evaluation_framework.datasets.trec import read_qrels, read_run
from rag_evaluation_framework.datasets.trec_tables import Format, RunFile, is_table, read_qrel_columns
from rag_evaluation_framework.errors import (
    InputError,
    Problems,
    RagEvalError,
    UnknownNameError,
    UsageError,
    counted,
)
from rag_evaluation_framework.metrics.declaration import BoundMetric, parse_metrics
from rag_evaluation_framework.metrics.judged_columns import NotPlain, QrelColumns, RunColumns
from rag_evaluation_framework.metrics.judged_rankings import RankingRules
from rag_evaluation_framework.metrics.qrels import Qrels, Run
from rag_evaluation_framework.metrics.ranking import RankingReport, evaluate_ranking, ranking_totals
from rag_evaluation_framework.records.runs import Options, RunHead, RunOutcome, package_versions
from rag_evaluation_framework.results.comparison import RULES, Comparison, compare_systems
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.summaries import Columns, Counts, Figure, summarise
from rag_evaluation_framework.startup import asdict, dataclass, replace
from rag_evaluation_framework.statistics.intervals import mean_intervals

DEFAULT_RANKING_METRICS = ("ndcg@10", "map@100", "mrr", "recall@10", "hit@1")

_LISTED_QUERIES = 5


def named(runs: Sequence[Path]) -> dict[str, Path]:
    """Name each run by its file's stem, or by its whole path where two stems are the same."""
    stems = [run.name.split(".")[0] or run.name for run in runs]
    if len(set(stems)) == len(stems):
        return dict(zip(stems, runs, strict=True))
    names = [str(run) for run in runs]
    if len(set(names)) < len(names):
        raise UsageError("the same run file is given twice; give each once")
    return dict(zip(names, runs, strict=True))


def evaluate_run_files(
    qrels: Path,
    runs: Mapping[str, Path],
    metrics: Sequence[str] | None = None,
    *,
    baseline: str | None = None,
    options: Options | None = None,
    seed: int = 0,
) -> Evaluation:
    """Score run files against a file of judgements; everything wrong with any of them is one error.

    ``baseline`` is the name of a run or its file.
    """
    format_: Any = None if options is None else options.format
    if format_ not in (None, *get_args(Format)):
        raise UnknownNameError("format of judgements and runs", format_, get_args(Format))
    options = options or Options()
    problems = Problems()
    bound: list[BoundMetric] = []
    with problems.collected():
        bound = parse_metrics(DEFAULT_RANKING_METRICS if metrics is None else metrics)
    ranked = _ranked_in_blocks(qrels, runs, bound, options) if bound else {}
    judgements: dict[str, dict[str, int]] = {}
    systems: dict[str, Run] = {}
    if not bound or len(ranked) < len(runs):
        with problems.collected():
            judgements = read_qrels(qrels, format=format_)
        for name, path in runs.items():
            if name not in ranked:
                with problems.collected():
                    systems[name] = read_run(path, format=format_)
    problems.raise_all()
    return _side_by_side(
        {
            name: ranked.get(name) or partial(_ranked, judgements, systems[name], bound, options)
            for name in runs
        },
        bound,
        name=str(qrels),
        baseline=next((name for name, path in runs.items() if str(path) == baseline), baseline),
        options=options,
        seed=seed,
    )


def rank_systems(
    qrels: Qrels,
    runs: Mapping[str, Run],
    metrics: Sequence[BoundMetric],
    *,
    name: str = "qrels",
    baseline: str | None = None,
    options: Options | None = None,
    seed: int = 0,
) -> Evaluation:
    """Score each run and, where there are several, compare the others with the baseline (the first)."""
    options = options or Options()
    ranked = {system: partial(_ranked, qrels, run, metrics, options) for system, run in runs.items()}
    return _side_by_side(ranked, metrics, name=name, baseline=baseline, options=options, seed=seed)


@dataclass(frozen=True, slots=True)
class _Ranked:
    """One run scored: its figures, the queries it lacks, and the totals where they are asked for."""

    report: RankingReport
    missing: tuple[str, ...]
    totals: Mapping[str, float]


def _ranked_in_blocks(
    qrels: Path, runs: Mapping[str, Path], metrics: Sequence[BoundMetric], options: Options
) -> dict[str, _Ranked]:
    """Score the runs that can be read in blocks, all against the same judgements.

    Whatever is not plain, or wrong, is left to the careful way, which tells everything that is wrong at once.
    """
    ranked: dict[str, _Ranked] = {}
    format_: Any = options.format
    with suppress(NotPlain, RagEvalError):
        judgements = table_qrels(qrels) if is_table(qrels) else read_qrel_columns(qrels, format=format_)
        for name, path in runs.items():
            with suppress(NotPlain, RagEvalError):
                run = TableRun(path) if is_table(path) else RunFile(path, format=format_)
                ranked[name] = _ranked(judgements, run, metrics, options)
    return ranked


def _ranked(
    qrels: Qrels | QrelColumns, run: Run | RunColumns, metrics: Sequence[BoundMetric], options: Options
) -> _Ranked:
    rules, depth = _rules(options), options.max_depth
    report = evaluate_ranking(qrels, run, metrics, rules=rules, max_depth=depth)
    totals = ranking_totals(qrels, run, rules=rules, max_depth=depth) if options.totals else {}
    retrieved = run.keys() if isinstance(run, Mapping) else run.queries
    missing = tuple(str(query) for query in report.query_ids if query not in retrieved)
    return _Ranked(report, missing, totals)


def _side_by_side(
    runs: Mapping[str, _Ranked | Callable[[], _Ranked]],
    metrics: Sequence[BoundMetric],
    *,
    name: str,
    baseline: str | None,
    options: Options,
    seed: int,
) -> Evaluation:
    """Return the runs, those that are not yet scored too, as one evaluation."""
    if baseline is not None and baseline not in runs:
        raise UnknownNameError("baseline", baseline, list(runs))
    head = RunHead(
        run_id="ranking",
        dataset_id=name,
        configuration={RULES: asdict(_rules(options)), "confidence": options.confidence},
        metric_versions={str(metric): metric.metric.version for metric in metrics},
        seed=seed,
        packages=package_versions(),
    )
    parts: dict[str, Evaluation] = {}
    for system, run in runs.items():
        try:
            ranked = run if isinstance(run, _Ranked) else run()
        except InputError as error:
            raise _in_run(error, system) from None
        parts[system] = _part(system, head, ranked, metrics, options=options)
    comparison = _comparison(parts, metrics, baseline or next(iter(parts)), options, seed=seed)
    first = next(iter(parts.values()))
    return Evaluation(
        kind="systems",
        head=head,
        metrics=first.metrics,
        counts=first.counts,
        outcome=first.outcome,
        parts=parts,
        parts_are="systems",
        comparison=comparison,
        document=_document(head, parts, comparison),
    )


def _rules(options: Options) -> RankingRules:
    rules = RankingRules.trec_eval() if options.rules == "trec_eval" else RankingRules()
    missing = "zero" if options.complete else rules.missing_queries
    return replace(rules, relevance_level=options.relevance_level, missing_queries=missing)


def _comparison(
    parts: Mapping[str, Evaluation],
    metrics: Sequence[BoundMetric],
    baseline: str,
    options: Options,
    *,
    seed: int,
) -> Comparison:
    compared = []
    if len(parts) > 1:
        scores = {
            name: {str(metric): part.columns.scored(str(metric)) for metric in metrics}
            for name, part in parts.items()
        }
        compared = compare_systems(
            scores,
            metrics,
            baseline=baseline,
            test=options.test,
            alpha=round(1 - options.confidence, 12),  # 0.05, not 0.050000000000000044
            resamples=options.resamples,
            seed=seed,
        )
    contenders = tuple(dict.fromkeys(each.contender for each in compared))
    return Comparison(baseline=baseline, contenders=contenders, metrics=tuple(compared))


def _part(
    name: str, head: RunHead, ranked: _Ranked, metrics: Sequence[BoundMetric], *, options: Options
) -> Evaluation:
    report, missing = ranked.report, ranked.missing
    values = [report.per_query[str(metric)] for metric in metrics]
    intervals: dict[str, Any] = {
        "confidence": options.confidence,
        "resamples": options.resamples,
        "seed": head.seed,
    }
    made = (
        mean_intervals(values, method=options.interval, **intervals)
        if report.query_ids
        else [None] * len(values)
    )
    figures = {
        str(metric): summarise(
            metric,
            each,
            n_skipped=len(report.skipped),
            interval=interval,
            interval_method=options.interval,
            **intervals,
        )
        for metric, each, interval in zip(metrics, values, made, strict=True)
    }
    skipped = {str(query): reason for query, reason in report.skipped.items()}
    scored = len(report.query_ids)
    columns = Columns(
        (*map(str, report.query_ids), *skipped),
        {
            metric: np.concatenate([values, np.full(len(skipped), np.nan)]) if skipped else values
            for metric, values in report.per_query.items()
        },
        dict.fromkeys(report.per_query, np.repeat(np.array([0, 1], np.uint8), [scored, len(skipped)])),
    )
    counts = Counts(total=scored + len(skipped), finished=scored + len(skipped))
    return Evaluation(
        kind="ranking",
        head=RunHead(run_id=name, dataset_id=head.dataset_id, target=name, seed=head.seed),
        metrics=figures,
        counts=counts,
        outcome=RunOutcome(completed=True, interrupted=False, done=counts.total, failed=0, remaining=0),
        columns=columns,
        warnings=tuple(_notes(skipped, missing if report.rules.missing_queries == "zero" else ())),
        document=_system(name, figures, skipped, missing, totals=ranked.totals),
    )


def _notes(skipped: Mapping[str, str], missing: Sequence[str]) -> Iterator[str]:
    """Say which queries were treated separately."""
    reasons: dict[str, list[str]] = {}
    for query, reason in skipped.items():
        reasons.setdefault(reason, []).append(query)
    for reason, queries in reasons.items():
        yield f"skipped {_listed(queries)}: {reason}"
    if missing:
        yield f"counted as 0, not in the run: {_listed(missing)}"


def _listed(queries: Sequence[str]) -> str:
    names = ", ".join(queries[:_LISTED_QUERIES])
    more = len(queries) - _LISTED_QUERIES
    return f"{counted(len(queries), 'query', 'queries')} ({names}{f' and {more} more' if more > 0 else ''})"


def _in_run(error: InputError, name: str) -> InputError:
    """Say which run an error is in, unless it is in the judgements, which all runs share."""
    return InputError(
        issue if issue.path.startswith("qrels") else issue.located(file=name) for issue in error.issues
    )


def _document(head: RunHead, parts: Mapping[str, Evaluation], comparison: Comparison) -> dict[str, Any]:
    tests = comparison.significance_tests()
    return {
        **head.configuration,
        "seed": head.seed,
        "systems": [part.document for part in parts.values()],
        "comparisons": [each.to_dict() for each in comparison.metrics],
        **({"statistical_analysis": {"significance_tests": tests}} if tests else {}),
    }


def _system(
    name: str,
    figures: Mapping[str, Figure],
    skipped: Mapping[str, str],
    missing: Sequence[str],
    *,
    totals: Mapping[str, float],
) -> dict[str, Any]:
    return {
        "name": name,
        "metrics": {metric: figure.to_dict() for metric, figure in figures.items()},
        "skipped_queries": dict(skipped),
        "missing_queries": list(missing),
        **({"totals": dict(totals)} if totals else {}),
    }
