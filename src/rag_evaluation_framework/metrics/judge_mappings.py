"""Qrels and runs in Python's own containers, brought together into blocks of judged rankings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import compress, islice, zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import InputError, Issue
from rag_evaluation_framework.metrics.grade_counts import count_grades
from rag_evaluation_framework.metrics.judged_rankings import (
    NOT_JUDGED,
    NOT_RETRIEVED,
    JudgedBlock,
    JudgedRankings,
    Reading,
    blocks,
    capped,
    rank_of_first,
)
from rag_evaluation_framework.metrics.judgements import Qrels, as_lookups, flat_grades, grade_issues
from rag_evaluation_framework.metrics.ranked_lists import RankedLists
from rag_evaluation_framework.metrics.ranking_rules import RankingRules
from rag_evaluation_framework.metrics.rankings import (
    Lookups,
    Rankings,
    Run,
    check_kinds,
    counted_lengths,
    grade_table,
)
from rag_evaluation_framework.metrics.scored_documents import ScoredDocuments

__all__ = ["Qrels", "Run", "judge_mappings"]

# Few enough that what one pass brings into the processor's cache is there for the next.
_QUERIES_AT_A_TIME = 2048
# A judged grade takes one byte, a value of a metric eight.
_GRADES_PER_CELL = 8


def judge_mappings(qrels: Qrels, run: Run, *, rules: RankingRules, reading: Reading) -> Iterator[JudgedBlock]:
    """Yield the queries of the qrels, in their order, in blocks of judged rankings.

    A query that the run lacks is yielded as one that retrieved nothing, or left out, as the rules say. Wrong
    values are collected over all the blocks and raised together at the end.
    """
    scores = isinstance(next(iter(run.values())), Mapping)
    kind = ScoredDocuments if scores else RankedLists
    issues: list[Issue] = []
    for queries, given, retrieved_queries, retrieved in _in_step(qrels, run):
        check_kinds(retrieved, scores=scores, run=run)
        judgements = as_lookups(queries, given, qrels=qrels)
        # Most runs hold the queries of the qrels in their order; in others they are looked up.
        if queries != retrieved_queries:
            yield [query for query in retrieved_queries if query not in qrels], NOT_JUDGED
            if rules.missing_queries == "skip":
                yield [query for query in queries if query not in run], NOT_RETRIEVED
                known = [query in run for query in queries]
                queries, judgements = list(compress(queries, known)), list(compress(judgements, known))
            retrieved = [run.get(query, kind.nothing) for query in queries]
            check_kinds(retrieved, scores=scores, run=run)
        lengths, judged_counts = counted_lengths(retrieved), counted_lengths(judgements)
        read = lengths if scores or reading.depth is None else np.minimum(lengths, reading.depth)
        for block in blocks(np.maximum(read, judged_counts // _GRADES_PER_CELL)):
            rankings = kind(retrieved[block], lengths[block], ties=rules.ties)
            judged = _judged(judgements[block], judged_counts[block], rankings, rules=rules, reading=reading)
            if judged is not None:
                yield queries[block], judged
                continue
            for row, query in enumerate(queries[block]):
                issues += grade_issues(query, judgements[block][row])
                issues += rankings.issues(query, row)
    if issues:
        raise InputError(capped(issues))


def _in_step(qrels: Qrels, run: Run) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield some queries of the qrels and their judgements, some of the run and what they retrieved."""
    return zip_longest(*map(_pieces, (qrels, qrels.values(), run, run.values())), fillvalue=())


def _pieces(values: Iterable[Any]) -> Iterator[list[Any]]:
    rest = iter(values)
    while piece := list(islice(rest, _QUERIES_AT_A_TIME)):
        yield piece


def _judged(
    judgements: Lookups,
    judged_counts: npt.NDArray[np.int64],
    rankings: Rankings,
    *,
    rules: RankingRules,
    reading: Reading,
) -> JudgedRankings | None:
    """Grade a block's rankings as deep as the metrics look; ``None`` if something read is wrong."""
    grades = flat_grades(judgements)
    if grades is None:
        return None
    table = grade_table(grades, judged_counts)
    counts = count_grades(table, relevance_level=rules.relevance_level, depth=reading.depth)
    top = rankings.look_up(judgements, depth=reading.depth, grade_type=grades.dtype)
    if top is None:
        return None
    first_hit = None
    if reading.first_hit and reading.depth is not None:
        first_hit = rank_of_first(top >= rules.relevance_level)
        missed = np.flatnonzero((first_hit == 0) & (rankings.lengths > reading.depth)).tolist()
        below = rankings.first_relevant(missed, judgements, relevance_level=rules.relevance_level)
        if below is None:
            return None
        first_hit[missed] = below
    return JudgedRankings(
        top,
        rankings.lengths,
        counts.relevant,
        counts.nonrelevant,
        counts.ideal_grades,
        rules.relevance_level,
        first_hit,
    )
