"""Ranked systems side by side: run files scored in blocks and compared; kept with every query, and merged.

What is recorded and scored in blocks is never asked, so there is no journal: a run of 100,000 queries stays a
few arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, get_args

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

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
from rag_evaluation_framework.metrics.ranking import evaluate_ranking, ranking_totals
from rag_evaluation_framework.records.runs import Options, RunHead, RunOutcome, package_versions
from rag_evaluation_framework.results.comparison import RULES, CalledWorkers, Comparison, compare_systems
from rag_evaluation_framework.results.evaluations import Evaluation
from rag_evaluation_framework.results.summaries import Columns, Counts, summarise
from rag_evaluation_framework.statistics.intervals import mean_intervals
from rag_evaluation_framework.structs import asdict

# To read and score 100 MB takes about a second: less is nothing to share.
_WORTH_SHARING = 100_000_000
_RANKED_BY = ("confidence", "interval", "max_depth", "resamples", "test")
DEFAULT_RANKING_METRICS = ("ndcg@10", "map@100", "mrr", "recall@10", "hit@1")
_LISTED_QUERIES = 5


class RankedSystem(msgspec.Struct, frozen=True):
    """One run scored: values by metric of its queries, why others are skipped, which it lacks, and totals."""

    queries: tuple[str, ...]
    values: Mapping[str, npt.NDArray[np.float64]]
    skipped: Mapping[str, str]
    missing: tuple[str, ...]
    totals: Mapping[str, float]


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
        raise UnknownNameError("format of judgments and runs", format_, get_args(Format))
    options = options or Options()
    options.reach()
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


def _ranked_in_blocks(
    qrels: Path, runs: Mapping[str, Path], metrics: Sequence[BoundMetric], options: Options
) -> dict[str, RankedSystem]:
    """Score the runs that can be read in blocks, all against the same judgements.

    Input that is not plain, or wrong, is left to the careful way, which reports all that is wrong at once.
    """
    format_: Any = options.format
    try:
        judgements = table_qrels(qrels) if is_table(qrels) else read_qrel_columns(qrels, format=format_)
    except (NotPlain, RagEvalError):
        return {}
    work = partial(_ranked_file, judgements, metrics, options)
    ranked: Iterator[RankedSystem | None] = map(work, runs.values())
    if sum(path.stat().st_size for path in runs.values() if path.is_file()) >= _WORTH_SHARING:
        from rag_evaluation_framework.workers import in_order

        ranked = in_order(work, runs.values(), workers=options.crew, total=len(runs))
    return {name: each for name, each in zip(runs, ranked, strict=True) if each is not None}


def _ranked_file(
    judgements: Qrels | QrelColumns, metrics: Sequence[BoundMetric], options: Options, path: Path
) -> RankedSystem | None:
    format_: Any = options.format
    try:
        run = TableRun(path) if is_table(path) else RunFile(path, format=format_)
        return _ranked(judgements, run, metrics, options)
    except (NotPlain, RagEvalError):
        return None


def _ranked(
    qrels: Qrels | QrelColumns, run: Run | RunColumns, metrics: Sequence[BoundMetric], options: Options
) -> RankedSystem:
    rules, depth = _rules(options), options.max_depth
    report = evaluate_ranking(qrels, run, metrics, rules=rules, max_depth=depth)
    totals = ranking_totals(qrels, run, rules=rules, max_depth=depth) if options.totals else {}
    retrieved = run.keys() if isinstance(run, Mapping) else run.queries
    missing = tuple(str(query) for query in report.query_ids if query not in retrieved)
    skipped = {str(query): reason for query, reason in report.skipped.items()}
    return RankedSystem(tuple(map(str, report.query_ids)), report.per_query, skipped, missing, totals)


def _side_by_side(
    runs: Mapping[str, RankedSystem | Callable[[], RankedSystem]],
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
    wish = {each: getattr(options, each) for each in _RANKED_BY}
    rules = msgspec.structs.asdict(_rules(options))
    wish |= {RULES: rules, "baseline": baseline or next(iter(runs)), "seed": seed}
    head = RunHead(
        run_id="ranking",
        dataset_id=name,
        configuration=wish,
        metric_versions={str(metric): metric.metric.version for metric in metrics},
        seed=seed,
        packages=package_versions(),
    )
    ranked: dict[str, RankedSystem] = {}
    for system, run in runs.items():
        try:
            ranked[system] = run if isinstance(run, RankedSystem) else run()
        except InputError as error:
            raise _in_run(error, system) from None
    return _compared(ranked, metrics, head=head, workers=lambda: options.crew)


def _rules(options: Options) -> RankingRules:
    rules = RankingRules.trec_eval() if options.rules == "trec_eval" else RankingRules()
    missing = "zero" if options.complete else rules.missing_queries
    return replace(rules, relevance_level=options.relevance_level, missing_queries=missing)


def _in_run(error: InputError, name: str) -> InputError:
    """Return an error with the run that it is in, unless it is in the judgements, which all runs share."""
    return InputError(
        issue if issue.path.startswith("qrels") else issue.located(file=name) for issue in error.issues
    )


def _compared(
    systems: Mapping[str, RankedSystem],
    metrics: Sequence[BoundMetric],
    *,
    head: RunHead,
    workers: CalledWorkers | None = None,
) -> Evaluation:
    """Return ranked systems as one evaluation; the head says how intervals and tests are made."""
    wish = head.configuration
    drawn = {"resamples": wish["resamples"], "seed": head.seed}
    words = {"method": wish["interval"], "confidence": wish["confidence"], **drawn}
    parts = {name: _part(name, each, metrics, head=head, **words) for name, each in systems.items()}
    tests = []
    if len(parts) > 1:
        tests = compare_systems(
            {name: {m: part.columns.scored(m) for m in part.metrics} for name, part in parts.items()},
            metrics,
            baseline=wish["baseline"],
            test=wish["test"],
            alpha=round(1 - wish["confidence"], 12),  # 0.05, not 0.050000000000000044
            workers=workers,
            **drawn,
        )
    contenders = tuple(dict.fromkeys(each.contender for each in tests))
    comparison = Comparison(baseline=wish["baseline"], contenders=contenders, metrics=tuple(tests))
    first, told = next(iter(parts.values())), {"significance_tests": comparison.significance_tests()}
    return Evaluation(
        kind="systems",
        head=head,
        metrics=first.metrics,
        counts=first.counts,
        outcome=first.outcome,
        parts=parts,
        parts_are="systems",
        comparison=comparison,
        document={
            **{name: wish[name] for name in (RULES, "confidence", "seed")},
            "systems": [part.document for part in parts.values()],
            "comparisons": [each.to_dict() for each in tests],
            **({"statistical_analysis": told} if tests else {}),
        },
    )


def _part(
    name: str, system: RankedSystem, metrics: Sequence[BoundMetric], *, head: RunHead, **intervals: Any
) -> Evaluation:
    values, skipped = [system.values[str(metric)] for metric in metrics], system.skipped
    made = mean_intervals(values, **intervals) if system.queries else [None] * len(values)
    figures = {
        str(metric): summarise(metric, each, n_skipped=len(skipped), interval=interval)
        for metric, each, interval in zip(metrics, values, made, strict=True)
    }
    scored, blanks = len(system.queries), np.full(len(skipped), np.nan)
    columns = Columns(
        (*system.queries, *skipped),
        {m: np.concatenate([each, blanks]) if skipped else each for m, each in system.values.items()},
        dict.fromkeys(system.values, np.repeat(np.array([0, 1], np.uint8), [scored, len(skipped)])),
    )
    return Evaluation(
        kind="ranking",
        head=replace(head, run_id=name, target=name, configuration={}, packages={}),
        metrics=figures,
        counts=Counts(total=len(columns), finished=len(columns)),
        outcome=RunOutcome(completed=True, interrupted=False, done=len(columns), failed=0, remaining=0),
        columns=columns,
        warnings=tuple(_notes(system, counts_zero=head.configuration[RULES]["missing_queries"] == "zero")),
        document={
            "name": name,
            "metrics": {metric: figure.to_dict() for metric, figure in figures.items()},
            "skipped_queries": dict(skipped),
            "missing_queries": list(system.missing),
            **({"totals": dict(system.totals)} if system.totals else {}),
        },
    )


def _notes(system: RankedSystem, *, counts_zero: bool) -> Iterator[str]:
    """Yield a note for each group of queries that were treated separately."""
    reasons: dict[str, list[str]] = {}
    for query, reason in system.skipped.items():
        reasons.setdefault(reason, []).append(query)
    for reason, queries in reasons.items():
        yield f"skipped {_listed(queries)}: {reason}"
    if system.missing and counts_zero:
        yield f"counted as 0, not in the run: {_listed(system.missing)}"


def _listed(queries: Sequence[str]) -> str:
    names = ", ".join(queries[:_LISTED_QUERIES])
    more = len(queries) - _LISTED_QUERIES
    return f"{counted(len(queries), 'query', 'queries')} ({names}{f' and {more} more' if more > 0 else ''})"


# Kept with the scores of every query, from which rankings are loaded and merged.


def with_queries(ranking: Evaluation) -> dict[str, Any]:
    """Return the document of ranked systems with the scores of every query, and how they were made."""
    systems = [
        {**(part.document or {}), "per_query": {m: part.columns.scored(m) for m in part.metrics}}
        for part in ranking.parts.values()
    ]
    return {**(ranking.document or {}), "systems": systems, "head": asdict(ranking.head)}


def merge_rankings(documents: Sequence[Mapping[str, Any]], *, head: RunHead) -> Evaluation:
    """Return the queries of rankings by the same systems one after another, with figures and tests of all."""
    told = [{each["name"]: each for each in document["systems"]} for document in documents]
    systems = {name: _together([each[name] for each in told]) for name in told[0]}
    return _compared(systems, parse_metrics(next(iter(systems.values())).values), head=head)


def _together(shards: Sequence[Mapping[str, Any]]) -> RankedSystem:
    """Return the queries of one system that several documents tell."""
    counts = [each.get("totals", {}) for each in shards]
    # The geometric mean of a whole cannot be told from those of its parts.
    names = [name for name in counts[0] if len(shards) == 1 or name != "gm_map"]
    queries = [list(next(iter(each["per_query"].values()))) for each in shards]
    placed = [(each["per_query"], query) for each, own in zip(shards, queries, strict=True) for query in own]
    return RankedSystem(
        tuple(query for _, query in placed),
        {m: np.array([each[m][query] for each, query in placed], float) for m in shards[0]["per_query"]},
        {query: why for each in shards for query, why in each["skipped_queries"].items()},
        tuple(query for each in shards for query in each["missing_queries"]),
        {name: sum(each[name] for each in counts) for name in names},
    )
