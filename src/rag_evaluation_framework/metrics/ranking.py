"""Ranking metrics over judged blocks, their rules, `evaluate_ranking`.

A document is relevant when its grade reaches the relevance level (1 unless the rules say otherwise). A
negative grade is trec_eval's mark for "pooled but not judged" and counts as no judgement. Every function
returns one value per query; nothing here divides by zero or returns NaN. Which queries enter the mean is
decided by the rules of :func:`~rag_evaluation_framework.metrics.ranking.evaluate_ranking`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import compress
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import UsageError, invalid
from rag_evaluation_framework.metrics.declaration import BoundMetric, Within, metric, parse_metrics
from rag_evaluation_framework.metrics.judged_columns import QrelColumns, RunColumns, judge_columns
from rag_evaluation_framework.metrics.judged_rankings import (
    NOT_JUDGED,
    NOT_RETRIEVED,
    NOTHING_RELEVANT,
    Floats,
    IdArray,
    Integers,
    JudgedBlock,
    JudgedRankings,
    QrelArrays,
    RankingRules,
    Reading,
    check_arrays,
    discounted_sum,
    judge_arrays,
    last_row,
    running_sum,
)
from rag_evaluation_framework.metrics.qrels import Qrels, Run, judge_mappings
from rag_evaluation_framework.metrics.views import RANKING
from rag_evaluation_framework.statistics.resampling import exact_sum
from rag_evaluation_framework.text.display import short_repr

# Without a cut-off these look for the first relevant document only, not at the whole list.
_FIRST_HIT_ONLY = frozenset({"hit", "mrr"})
_FIRST_LOOK = 10

# 2**1000 summed over a million ranks is still a finite number.
_HIGHEST_EXPONENT = 1000


def reading_for(metrics: Iterable[BoundMetric]) -> Reading:
    """Return how far down the lists these metrics look."""
    depth: int | None = 0
    first_hit = False
    for bound in metrics:
        if bound.k is not None:
            depth = None if depth is None else max(depth, bound.k)
        elif bound.metric.name in _FIRST_HIT_ONLY:
            first_hit = True
        else:
            depth = None
    return Reading(depth if depth is None else depth or _FIRST_LOOK, first_hit)


@metric("hit", reads=RANKING, aliases=("success", "Success"))
def hit(judged: JudgedRankings, *, k: int | None = None) -> Floats:
    """1 if any relevant document is among the first k, else 0.

    Formula: 1 if some rank <= k holds a relevant document, else 0

    Empty: nothing retrieved is 0

    Source: trec_eval's success
    """
    first = judged.first_relevant
    found = first > 0 if k is None else (first > 0) & (first <= k)
    return found.astype(np.float64)


@metric("precision", reads=RANKING, aliases=("set_P",))
def precision(judged: JudgedRankings, *, k: int | None = None) -> Floats:
    """The share of relevant documents among the first k retrieved, over what was retrieved.

    Formula: relevant in the first k / min(k, retrieved)

    Empty: nothing retrieved is 0

    Source: differs from trec_eval's P, which divides by k and is precision_strict here; without k its set_P
    """
    return _share(judged.hits_within(k), judged.retrieved_within(k))


@metric("precision_strict", reads=RANKING, aliases=("P",))
def precision_strict(judged: JudgedRankings, *, k: int | None = None) -> Floats:
    """The share of the first k ranks that hold a relevant document; the missing ranks of a short list count
    as misses.

    Formula: relevant in the first k / k; without k, relevant retrieved / retrieved

    Empty: nothing retrieved is 0

    Source: trec_eval's P
    """
    return judged.hits_within(k) / float(k) if k is not None else precision(judged)


@metric("recall", reads=RANKING, aliases=("R", "set_recall"))
def recall(judged: JudgedRankings, *, k: int | None = None) -> Floats:
    """The share of the relevant documents that are among the first k.

    Formula: relevant in the first k / relevant

    Empty: no relevant document is 0 where the rules score it at all; nothing retrieved is 0

    Source: trec_eval's recall
    """
    return _share(judged.hits_within(k), judged.relevant)


@metric("set_f", reads=RANKING, aliases=("set_F",))
def set_f(judged: JudgedRankings) -> Floats:
    """The harmonic mean of precision and recall of everything retrieved, in any order.

    Formula: 2 * relevant retrieved / (retrieved + relevant), their harmonic mean

    Empty: no relevant document retrieved is 0

    Source: trec_eval's set_F
    """
    return _share(2.0 * judged.hits_within(None), judged.retrieved + judged.relevant)


@metric("set_map", reads=RANKING)
def set_map(judged: JudgedRankings) -> Floats:
    """The product of precision and recall of everything retrieved, in any order.

    Formula: relevant retrieved / retrieved * relevant retrieved / relevant

    Empty: no relevant document retrieved is 0

    Source: trec_eval's set_map
    """
    return precision(judged) * recall(judged)


@metric("set_relative_precision", reads=RANKING, aliases=("set_relative_P",))
def set_relative_precision(judged: JudgedRankings) -> Floats:
    """The precision of everything retrieved, relative to the best possible at this length.

    Formula: relevant retrieved / min(retrieved, relevant)

    Empty: no relevant document retrieved is 0

    Source: trec_eval's set_relative_P
    """
    return _share(judged.hits_within(None), np.minimum(judged.retrieved, judged.relevant))


@metric("ndcg", reads=RANKING, aliases=("ndcg_cut", "nDCG"), allowed={"gain": ("linear", "exponential")})
def ndcg(judged: JudgedRankings, *, k: int | None = None, gain: str = "linear") -> Floats:
    """The gain of the first k ranks, relative to the gain of the best possible ranking.

    Formula: DCG@k / ideal DCG@k, where DCG@k is the sum over ranks <= k of gain / log2(rank + 1); the gain
    is the grade, or 2^grade - 1 with gain=exponential; the ideal ranks every judged document by grade

    Empty: no positive grade is 0 where the rules score it at all; nothing retrieved is 0

    Source: Järvelin and Kekäläinen 2002; linear as trec_eval's ndcg_cut, exponential as Burges et al. 2005
    """
    if gain == "linear":
        achieved, ideal = judged.discounted_gains
    else:
        achieved, ideal = map(_discounted_exponentially, (judged.grades, judged.ideal_grades))
    return _share(last_row(achieved, k), last_row(ideal, k))


@metric("mrr", reads=RANKING, aliases=("recip_rank", "RR"))
def mrr(judged: JudgedRankings, *, k: int | None = None) -> Floats:
    """The reciprocal rank of the first relevant document.

    Formula: 1 / rank of the first relevant document, 0 if there is none (or none in the first k)

    Empty: nothing retrieved is 0

    Source: Voorhees 1999; trec_eval's recip_rank
    """
    first = judged.first_relevant
    within = first if k is None else np.where(first <= k, first, 0)
    return _share(np.minimum(within, 1), within)


@metric("map", reads=RANKING, aliases=("map_cut", "AP", "MAP"))
def average_precision(judged: JudgedRankings, *, k: int | None = None) -> Floats:
    """The mean precision at the ranks of the relevant documents.

    Formula: sum over relevant documents at ranks <= k of (relevant at or above it / its rank), / relevant

    Empty: no relevant document is 0 where the rules score it at all; nothing retrieved is 0

    Source: trec_eval's map and map_cut, which divide by all relevant documents, also under a cut-off
    """
    return _share(last_row(judged.precision_sums, k), judged.relevant)


@metric("r-precision", reads=RANKING, aliases=("r_precision", "Rprec", "RPrec"))
def r_precision(judged: JudgedRankings) -> Floats:
    """The precision at rank R, where R is the number of relevant documents.

    Formula: relevant in the first R / R, where R counts the relevant documents

    Empty: no relevant document is 0 where the rules score it at all; nothing retrieved is 0

    Source: trec_eval's Rprec
    """
    if judged.depth == 0:
        return np.zeros(len(judged.relevant))
    row = np.clip(judged.relevant, 1, judged.depth) - 1
    found = judged.hits[row, np.arange(len(row))]
    return _share(np.where(judged.relevant > 0, found, 0), judged.relevant)


@metric("bpref", reads=RANKING, aliases=("Bpref", "BPref"))
def bpref(judged: JudgedRankings) -> Floats:
    """The share of judged non-relevant documents ranked below relevant ones; unjudged ones are ignored.

    Formula: 1/R * sum over retrieved relevant documents of 1 - min(n, R) / min(N, R), where n counts the
    judged non-relevant documents above it, N all judged non-relevant ones and R the relevant ones

    Empty: no relevant document is 0 where the rules score it at all; nothing retrieved is 0

    Source: Buckley and Voorhees 2004, as trec_eval computes it
    """
    is_nonrelevant = (judged.grades >= 0) & ~judged.is_relevant
    above = np.minimum(running_sum(is_nonrelevant.astype(np.int64)), judged.relevant)
    possible = np.maximum(np.minimum(judged.nonrelevant, judged.relevant), 1)
    preferred = np.where(judged.is_relevant, 1.0 - above / possible, 0.0)
    return _share(last_row(running_sum(preferred), None), judged.relevant)


@metric("rbp", reads=RANKING, aliases=("RBP",), allowed={"p": Within(0, 1, is_open=True)})
def rbp(judged: JudgedRankings, *, k: int | None = None, p: float = 0.8) -> Floats:
    """The expected gain of a user who goes on to the next rank with probability p; binary relevance.

    Formula: (1 - p) * sum over relevant documents of p^(rank - 1)

    Empty: nothing retrieved is 0

    Source: Moffat and Zobel 2008; p = 0.8 as ir_measures has it
    """
    weights = (1.0 - p) * p ** (judged.ranks - 1.0)
    return last_row(running_sum(judged.is_relevant * weights), k)


@metric("err", reads=RANKING, aliases=("ERR",), allowed={"max_grade": Within(1, _HIGHEST_EXPONENT)})
def err(judged: JudgedRankings, *, k: int | None = None, max_grade: int = 4) -> Floats:
    """The expected reciprocal rank at which a user who reads down the list is satisfied.

    Formula: sum over ranks of s(rank) / rank * product of 1 - s above it, where s = (2^grade - 1) /
    2^max_grade is the chance that a document satisfies

    Empty: nothing retrieved is 0

    Source: Chapelle et al. 2009; max_grade = 4 as gdeval has it, so one document of grade 1 satisfies one
    user in sixteen: for binary judgements write err(max_grade=1)
    """
    highest = int(judged.grades.max(initial=0))
    if highest > max_grade:
        raise UsageError(
            f"err(max_grade={max_grade}): expected no grade above {max_grade}, got {highest}; "
            f"use err(max_grade={highest})"
        )
    satisfied = (np.exp2(np.maximum(judged.grades, 0).astype(np.float64)) - 1.0) / 2.0**max_grade
    reached = np.ones_like(satisfied)
    np.cumprod(1.0 - satisfied[:-1], axis=0, out=reached[1:])
    return last_row(running_sum(satisfied * reached / judged.ranks), k)


@metric("hole", reads=RANKING, higher_is_better=False, aliases=("holes",))
def hole(judged: JudgedRankings, *, k: int | None = None) -> Floats:
    """The share of the first k retrieved documents without a judgment; high values weaken other metrics.

    Formula: unjudged in the first k / min(k, retrieved)

    Empty: nothing retrieved leaves no hole, 0

    Source: hole@k as reported with BEIR (Thakur et al. 2021); 1 - Judged@k of ir_measures for full lists
    """
    seen = last_row(running_sum((judged.grades >= 0).astype(np.int64)), k)
    retrieved = judged.retrieved_within(k)
    return _share(retrieved - seen, retrieved)


def _share(part: npt.NDArray[Any], whole: npt.NDArray[Any]) -> Floats:
    """Divide query by query; where the whole is nothing the share is 0."""
    shares: Floats = np.divide(part, whole, out=np.zeros(len(whole)), where=np.asarray(whole > 0))
    return shares


def _discounted_exponentially(grades: Integers) -> Floats:
    highest = int(grades.max(initial=0))
    if highest > _HIGHEST_EXPONENT:
        raise UsageError(f"ndcg(gain=exponential): expected grades up to {_HIGHEST_EXPONENT}, got {highest}")
    return discounted_sum(np.exp2(np.maximum(grades, 0).astype(np.float64)) - 1.0)


# The front door of the ranking metrics: qrels and a run in, every figure with its counts out.


class RankingReport(msgspec.Struct, frozen=True):
    """Every metric for every scored query, and their means.

    ``per_query`` has one array per metric, aligned with ``query_ids``. ``mean`` has the same bits for
    any order of the queries, and no entry when nothing was scored. ``skipped`` names each query that was
    left out, with the reason.
    """

    query_ids: Sequence[Hashable]
    per_query: dict[str, Floats]
    mean: dict[str, float]
    skipped: dict[Hashable, str]
    rules: RankingRules

    __repr__ = short_repr


def evaluate_ranking(
    qrels: Qrels | QrelArrays | QrelColumns,
    run: Run | IdArray | RunColumns,
    metrics: Iterable[str | BoundMetric],
    *,
    rules: RankingRules | None = None,
    max_depth: int | None = None,
) -> RankingReport:
    """Return the metrics of a ranked run by its relevance judgments.

    Args:
        qrels: Grades by document id, or the relevant documents, for each query; or arrays of integer ids, see
            :func:`~rag_evaluation_framework.metrics.judged_rankings.judge_arrays`, or the columns of a file.
        run: A ranked list of document ids, or scores by document id, for each query; or arrays or columns.
        metrics: Names such as ``ndcg@10``.
        rules: Rules where tools differ; by default ours.
        max_depth: Maximum number of documents per query (trec_eval's ``-M``).

    Returns:
        The report: every metric for every query, the means, and the skipped queries.

    Raises:
        InputError: A document is retrieved twice where it could change a figure, a score is not finite, or a
            grade is no whole number; the error has every problem.

    Example:
        >>> from rag_evaluation_framework import evaluate_ranking
        >>> report = evaluate_ranking({"q1": {"d1": 1}}, {"q1": ["d2", "d1"]}, ["recip_rank"])
        >>> report.mean
        {'mrr': 0.5}
    """
    rules = rules or RankingRules()
    bound = _ranking_metrics(metrics)
    judged = _judged_blocks(qrels, run, rules=rules, reading=reading_for(bound), max_depth=max_depth)
    query_ids, per_query, skipped = _scored(bound, judged, rules=rules, order=_order_of(qrels))
    mean = {name: exact_sum(each) / len(each) for name, each in per_query.items() if len(each)}
    return RankingReport(query_ids, per_query, mean, skipped, rules)


# Below this trec_eval counts an average precision as this much: no query alone makes the geometric mean 0.
_LEAST_PRECISION = 0.00001


def ranking_totals(
    qrels: Qrels | QrelColumns, run: Run | RunColumns, *, rules: RankingRules, max_depth: int | None = None
) -> dict[str, float]:
    """Return what trec_eval counts over all queries, and the geometric mean of their average precisions."""
    judged = _judged_blocks(qrels, run, rules=rules, reading=Reading(None), max_depth=max_depth)
    counts = {
        "map": average_precision,
        "num_ret": lambda block: block.retrieved,
        "num_rel": lambda block: block.relevant,
        "num_rel_ret": lambda block: block.hits_within(None),
    }
    query_ids, found, _ = _scored(counts, judged, rules=rules, order=_order_of(qrels))
    precisions = np.maximum(found.pop("map"), _LEAST_PRECISION)
    return {
        "num_q": len(query_ids),
        **{name: int(each.sum()) for name, each in found.items()},
        "gm_map": float(np.exp(np.log(precisions).mean())) if len(precisions) else 0.0,
    }


def _judged_blocks(
    qrels: Qrels | QrelArrays | QrelColumns,
    run: Run | IdArray | RunColumns,
    *,
    rules: RankingRules,
    reading: Reading,
    max_depth: int | None,
) -> Iterator[JudgedBlock]:
    if isinstance(run, Mapping) and isinstance(qrels, Mapping):
        _check_queries(qrels, run)
        cut = run if max_depth is None else _cut(run, max_depth, rules)
        return judge_mappings(qrels, cut, rules=rules, reading=reading)
    if isinstance(run, np.ndarray) and isinstance(qrels, np.ndarray | tuple):
        check_arrays(qrels, run)
        return judge_arrays(qrels, run[:, :max_depth], rules=rules, reading=reading)
    if isinstance(run, RunColumns) and isinstance(qrels, QrelColumns):
        return judge_columns(qrels, run, rules=rules, reading=reading, max_depth=max_depth)
    raise UsageError(
        "evaluate_ranking: expected two mappings or two integer arrays, "
        f"got {type(qrels).__name__} and {type(run).__name__}"
    )


def _order_of(qrels: Qrels | QrelArrays | QrelColumns) -> Mapping[str, int] | None:
    """Return the place of each query where the queries come in the order of the run."""
    return qrels.queries if isinstance(qrels, QrelColumns) else None


def _cut(run: Run, depth: int, rules: RankingRules) -> Run:
    """Return a run with the first documents of each query, in the order of the rules."""
    descending = rules.ties == "trec_eval"
    as_compared: Any = np.float32 if descending else float

    def first(retrieved: Any) -> Any:
        if not isinstance(retrieved, Mapping):
            return retrieved[:depth]
        by_id = sorted(retrieved, reverse=descending)
        ordered = sorted(by_id, key=lambda document: as_compared(retrieved[document]), reverse=True)
        return {document: retrieved[document] for document in ordered[:depth]}

    return {query: first(retrieved) for query, retrieved in run.items()}


def _ranking_metrics(metrics: Iterable[str | BoundMetric]) -> list[BoundMetric]:
    if isinstance(metrics, str):
        raise UsageError(f"evaluate_ranking: expected a list of metrics, got the text {metrics!r}")
    bound = parse_metrics(map(str, metrics))
    others = [str(each) for each in bound if each.metric.view != RANKING]
    if others:
        raise UsageError(f"evaluate_ranking: expected ranking metrics, got {', '.join(others)}")
    if not bound:
        raise UsageError("evaluate_ranking: metrics is empty")
    return bound


def _check_queries(qrels: Qrels, run: Run) -> None:
    """Refuse inputs with nothing to compare; ids of another type are the usual cause."""
    for name, mapping in (("qrels", qrels), ("run", run)):
        if not mapping:
            raise invalid(name, "at least one query", {})
    if run.keys().isdisjoint(qrels):
        raise invalid("run", f"queries of the qrels such as {next(iter(qrels))!r}", next(iter(run)))


Counted = Callable[[JudgedRankings], npt.NDArray[Any]]


def _scored(
    metrics: Sequence[BoundMetric] | Mapping[str, Counted],
    judged_blocks: Iterable[JudgedBlock],
    *,
    rules: RankingRules,
    order: Mapping[str, int] | None,
) -> tuple[tuple[Hashable, ...], dict[str, npt.NDArray[Any]], dict[Hashable, str]]:
    """Return the queries that are scored, what each metric gives for them, and why others are left out.

    With ``order`` the queries come in that order, for any order of their blocks.
    """
    measures: dict[str, Counted] = (
        dict(metrics) if isinstance(metrics, Mapping) else {str(bound): bound for bound in metrics}
    )
    scored: list[Any] = []
    skipped: dict[str, list[Any]] = {NOT_JUDGED: [], NOT_RETRIEVED: [], NOTHING_RELEVANT: []}
    values: dict[str, list[npt.NDArray[Any]]] = {name: [np.zeros(0)] for name in measures}
    for queries, judged in judged_blocks:
        if isinstance(judged, str):
            skipped[judged].extend(queries)
            continue
        kept = judged.relevant > 0
        all_kept = rules.no_relevant == "zero" or bool(kept.all())
        for name, measure in measures.items():
            figures = measure(judged)
            # A copy in any case: a figure may be a view of a whole block's running sums.
            values[name].append(figures.copy() if all_kept else figures[kept])
        if all_kept:
            scored.extend(queries)
            continue
        scored.extend(compress(queries, kept.tolist()))
        skipped[NOTHING_RELEVANT].extend(compress(queries, (~kept).tolist()))
    per_query = {name: np.concatenate(parts) for name, parts in values.items()}
    if order is not None:
        skipped[NOTHING_RELEVANT].sort(key=order.__getitem__)
        places = np.fromiter(map(order.__getitem__, scored), dtype=np.int64, count=len(scored))
        if (places[1:] < places[:-1]).any():
            by_place = np.argsort(places)
            scored = [scored[place] for place in by_place.tolist()]
            per_query = {name: each[by_place] for name, each in per_query.items()}
    reasons = {query: reason for reason, queries in skipped.items() for query in queries}
    return tuple(scored), per_query, reasons
