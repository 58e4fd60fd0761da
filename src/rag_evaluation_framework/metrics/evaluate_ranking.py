"""The front door of the ranking metrics: qrels and a run in, every figure with its counts out."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from rag_evaluation_framework.errors import UsageError, invalid
from rag_evaluation_framework.metrics.declaration import BoundMetric, parse_metrics
from rag_evaluation_framework.metrics.judge_arrays import IdArray, QrelArrays, check_arrays, judge_arrays
from rag_evaluation_framework.metrics.judge_mappings import judge_mappings
from rag_evaluation_framework.metrics.judged_rankings import (
    NOT_JUDGED,
    NOT_RETRIEVED,
    NOTHING_RELEVANT,
    Floats,
    JudgedBlock,
)
from rag_evaluation_framework.metrics.judgements import Qrels
from rag_evaluation_framework.metrics.ranking import reading_for
from rag_evaluation_framework.metrics.ranking_rules import RankingRules
from rag_evaluation_framework.metrics.rankings import Run
from rag_evaluation_framework.metrics.views import RANKING
from rag_evaluation_framework.statistics.exact_sum import exact_sum


@dataclass(frozen=True, slots=True)
class RankingReport:
    """Every metric for every scored query, and their means.

    ``per_query`` has one array per metric, aligned with ``query_ids``. ``mean`` has the same bits whatever
    the order of the queries, and no entry when nothing was scored. ``skipped`` names each query that was
    left out, with the reason.
    """

    query_ids: Sequence[Hashable]
    per_query: dict[str, Floats]
    mean: dict[str, float]
    skipped: dict[Hashable, str]
    rules: RankingRules

    @property
    def n_scored(self) -> int:
        return len(self.query_ids)

    @property
    def n_skipped(self) -> int:
        return len(self.skipped)


def evaluate_ranking(
    qrels: Qrels | QrelArrays,
    run: Run | IdArray,
    metrics: Iterable[str | BoundMetric],
    *,
    rules: RankingRules = RankingRules(),  # noqa: B008 - frozen, so one default serves every call
) -> RankingReport:
    """Score a run against judgements.

    ``run`` maps each query to a ranked list of document ids or to scores by document id; ``qrels`` maps each
    query to grades by document id, or to the relevant documents. Or both are arrays of integer ids, see
    :func:`~rag_evaluation_framework.metrics.judge_arrays.judge_arrays`. ``metrics`` are names such as
    ``ndcg@10``. What tools differ on is in ``rules``.

    A document retrieved twice is an error wherever it could change a figure; so are scores that are not
    finite and grades that are not whole numbers. All problems are reported in one ``InputError``.
    """
    bound = _ranking_metrics(metrics)
    reading = reading_for(bound)
    if isinstance(run, Mapping) and isinstance(qrels, Mapping):
        _check_queries(qrels, run)
        return _report(bound, judge_mappings(qrels, run, rules=rules, reading=reading), rules=rules)
    if isinstance(run, np.ndarray) and isinstance(qrels, np.ndarray | tuple):
        check_arrays(qrels, run)
        return _report(bound, judge_arrays(qrels, run, rules=rules, reading=reading), rules=rules)
    raise UsageError(
        "evaluate_ranking: expected two mappings or two integer arrays, "
        f"got {type(qrels).__name__} and {type(run).__name__}"
    )


def _ranking_metrics(metrics: Iterable[str | BoundMetric]) -> list[BoundMetric]:
    if isinstance(metrics, str):
        raise UsageError(f"evaluate_ranking: expected a list of metrics, got the text {metrics!r}")
    bound = parse_metrics(map(str, metrics))
    others = [str(each) for each in bound if each.metric.view != RANKING]
    if others:
        raise UsageError(f"evaluate_ranking: expected ranking metrics, got {', '.join(others)}")
    if not bound:
        raise UsageError("evaluate_ranking: expected at least one metric, got none")
    return bound


def _check_queries(qrels: Qrels, run: Run) -> None:
    """Refuse inputs with nothing to compare; ids of another type are the usual cause."""
    for name, mapping in (("qrels", qrels), ("run", run)):
        if not mapping:
            raise invalid(name, "at least one query", {})
    if run.keys().isdisjoint(qrels):
        raise invalid("run", f"queries of the qrels such as {next(iter(qrels))!r}", next(iter(run)))


def _report(
    metrics: Sequence[BoundMetric], judged_blocks: Iterable[JudgedBlock], *, rules: RankingRules
) -> RankingReport:
    scored: list[Hashable] = []
    skipped: dict[str, list[Hashable]] = {NOT_JUDGED: [], NOT_RETRIEVED: [], NOTHING_RELEVANT: []}
    values: list[list[Floats]] = [[np.zeros(0)] for _ in metrics]
    for queries, judged in judged_blocks:
        if isinstance(judged, str):
            skipped[judged].extend(queries)
            continue
        kept = judged.relevant > 0
        all_kept = rules.no_relevant == "zero" or bool(kept.all())
        for bound, parts in zip(metrics, values, strict=True):
            figures = bound(judged)
            # A copy in any case: a figure may be a view of a whole block's running sums.
            parts.append(figures.copy() if all_kept else figures[kept])
        if all_kept:
            scored.extend(queries)
            continue
        scored.extend(compress(queries, kept.tolist()))
        skipped[NOTHING_RELEVANT].extend(compress(queries, (~kept).tolist()))
    per_query = {str(bound): np.concatenate(parts) for bound, parts in zip(metrics, values, strict=True)}
    mean = {name: exact_sum(each) / len(each) for name, each in per_query.items() if len(each)}
    reasons = {query: reason for reason, queries in skipped.items() for query in queries}
    return RankingReport(tuple(scored), per_query, mean, reasons, rules)
