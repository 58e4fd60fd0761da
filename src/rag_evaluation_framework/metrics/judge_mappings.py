"""Qrels and runs in Python's own containers, brought together into blocks of judged rankings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import InputError, Issue, shown
from rag_evaluation_framework.metrics.judged_rankings import (
    Integers,
    JudgedRankings,
    Reading,
    blocks,
    rank_of_first,
)
from rag_evaluation_framework.metrics.judgements import (
    CountedJudgements,
    Judgements,
    as_lookups,
    collection_issue,
    count_judgements,
    grade_issues,
)
from rag_evaluation_framework.metrics.ranking_rules import RankingRules
from rag_evaluation_framework.metrics.rankings import (
    Ranking,
    duplicate_issues,
    look_up,
    order_by_score,
    score_issues,
)

Qrels = Mapping[Hashable, Judgements]
Run = Mapping[Hashable, Ranking]
JudgedBlock = tuple[list[Hashable], JudgedRankings]

_SHOWN_ISSUES = 20


def judge_mappings(qrels: Qrels, run: Run, *, rules: RankingRules, reading: Reading) -> Iterator[JudgedBlock]:
    """Yield the queries of the qrels, in their order, in blocks of judged rankings.

    A query that the run lacks is yielded as one that retrieved nothing, or left out, as the rules say. Wrong
    values are collected over all the blocks and raised together at the end.
    """
    nothing: dict[Any, float] | list[Any] = {} if _run_holds_scores(run) else []
    queries = [query for query in qrels if rules.missing_queries == "zero" or query in run]
    rankings = [run.get(query, nothing) for query in queries]
    judgements = as_lookups(_checked_judgements(qrels, queries))
    issues: list[Issue] = []
    for block in blocks(_widths(rankings, judgements, reading.depth)):
        lookups, retrieved = judgements[block], rankings[block]
        counted = count_judgements(lookups, relevance_level=rules.relevance_level, depth=reading.depth)
        judged = counted and _judged(counted, retrieved, rules=rules, reading=reading)
        if judged is None:
            for query, lookup, ranking in zip(queries[block], lookups, retrieved, strict=True):
                issues += _issues(query, lookup, ranking)
        elif not issues:
            yield queries[block], judged
    if issues:
        raise InputError(_capped(issues))


def _judged(
    counted: CountedJudgements, rankings: Sequence[Any], *, rules: RankingRules, reading: Reading
) -> JudgedRankings | None:
    """Grade a block's rankings as deep as the metrics look; ``None`` if something in them is wrong."""
    ranked = _documents(rankings, depth=reading.depth, rules=rules)
    if ranked is None:
        return None
    grades = look_up(ranked, counted.lookups, kind=counted.grade_type)
    retrieved = np.fromiter(map(len, rankings), dtype=np.int64, count=len(rankings))
    first_hit = None
    if reading.first_hit and reading.depth is not None:
        first_hit = rank_of_first(grades >= rules.relevance_level)
        missed = np.flatnonzero((first_hit == 0) & (retrieved > reading.depth) & (counted.relevant > 0)).tolist()
        deeper = _documents([rankings[row] for row in missed], depth=None, rules=rules, )
    return JudgedRankings(
        grades,
        retrieved,
        counted.relevant,
        counted.nonrelevant,
        counted.ideal_grades,
        rules.relevance_level,
        first_hit,
    )
