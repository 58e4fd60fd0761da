"""Qrels and runs in Python's own containers, brought together into blocks of judged rankings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import InputError, Issue
from rag_evaluation_framework.metrics.grade_counts import count_grades
from rag_evaluation_framework.metrics.judged_rankings import (
    JudgedBlock,
    JudgedRankings,
    Reading,
    blocks,
    capped,
    rank_of_first,
)
from rag_evaluation_framework.metrics.judgements import (
    Qrels,
    as_lookups,
    flat_grades,
    grade_issues,
)
from rag_evaluation_framework.metrics.ranked_lists import RankedLists
from rag_evaluation_framework.metrics.ranking_rules import RankingRules
from rag_evaluation_framework.metrics.rankings import (
    Lookups,
    Ranking,
    Rankings,
    Run,
    counted_lengths,
    grade_table,
    holds_scores,
)
from rag_evaluation_framework.metrics.scored_documents import ScoredDocuments

__all__ = ["Qrels", "Run", "judge_mappings"]

# Few enough that what one pass brings into the processor's cache is there for the next.
_QUERIES_AT_A_TIME = 2048


def judge_mappings(
    qrels: Qrels, run: Run, *, rules: RankingRules, reading: Reading, aligned: bool = False
) -> Iterator[JudgedBlock]:
    """Yield the queries of the qrels, in their order, in blocks of judged rankings.

    ``aligned`` says that the run holds the same queries in the same order, so that none is looked up.

    A query that the run lacks is yielded as one that retrieved nothing, or left out, as the rules say. Wrong
    values are collected over all the blocks and raised together at the end.
    """
    kind = ScoredDocuments if holds_scores(run) else RankedLists
    paired = _paired(as_lookups(qrels), run, nothing=kind.nothing, rules=rules, aligned=aligned)
    issues: list[Issue] = []
    for queries, judgements, retrieved in paired:
        lengths, judged_counts = counted_lengths(retrieved), counted_lengths(judgements)
        widths = np.maximum(lengths, judged_counts)
        if kind is RankedLists and reading.depth is not None:
            widths = np.minimum(widths, reading.depth)
        for block in blocks(widths):
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


def _paired(
    judgements: Mapping[Any, Mapping[Any, int]],
    run: Run,
    *,
    nothing: Ranking,
    rules: RankingRules,
    aligned: bool,
) -> Iterator[tuple[list[Any], list[Mapping[Any, int]], list[Any]]]:
    """Yield some queries at a time with their judgements and what they retrieved."""
    if aligned:
        in_step = zip(*map(_pieces, (judgements, judgements.values(), run.values())), strict=True)
        yield from in_step
        return
    kept = filter(run.__contains__, judgements) if rules.missing_queries == "skip" else judgements
    for queries in _pieces(kept):
        yield queries, [judgements[query] for query in queries], [run.get(query, nothing) for query in queries]


def _pieces(values: Iterable[Any]) -> Iterator[list[Any]]:
    """Cut what is iterated over into lists, so that only what is in work is touched."""
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
