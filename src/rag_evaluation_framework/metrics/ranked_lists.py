"""Runs given as ranked lists: read from the top, and only as far as a metric looks."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from operator import length_hint
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import Issue, shown
from rag_evaluation_framework.metrics.judged_rankings import Integers
from rag_evaluation_framework.metrics.ranking_rules import Ties
from rag_evaluation_framework.metrics.rankings import GradeType, Lookups, grade_table, grades_of

_LISTS_AT_A_TIME = 128


class RankedLists:
    """A block of ranked lists, best document first."""

    nothing: Sequence[Any] = ()

    def __init__(self, lists: Sequence[Sequence[Any]], lengths: npt.NDArray[np.int64], *, ties: Ties) -> None:
        self.lists = lists
        self.lengths = lengths

    def look_up(self, judgements: Lookups, *, depth: int | None, grade_type: GradeType) -> Integers | None:
        pieces = [np.zeros(0, dtype=grade_type)]
        distinct = 0
        # A few lists at a time: what one pass brings into the processor's cache the next finds there.
        for start in range(0, len(self.lists), _LISTS_AT_A_TIME):
            few = slice(start, start + _LISTS_AT_A_TIME)
            tops = [ranked[:depth] for ranked in self.lists[few]]
            # Pairs of document and score would match no judgement and pass for documents nobody judged.
            if not all(map(_is_document_id, {type(top[0]) for top in tops if top})):
                return None
            try:
                distinct += sum(map(len, map(set, tops)))
            except TypeError:  # something that cannot be hashed cannot be a document id
                return None
            pieces.append(grades_of(tops, judgements[few], grade_type=grade_type))
        grades = np.concatenate(pieces)
        if distinct < len(grades):
            return None
        lengths = self.lengths if depth is None else np.minimum(self.lengths, depth)
        return grade_table(grades, lengths)

    def first_relevant(
        self, rows: Sequence[int], judgements: Lookups, *, relevance_level: int
    ) -> Integers | None:
        try:
            first = [_first_relevant(self.lists[row], judgements[row], relevance_level) for row in rows]
        except TypeError:  # as above
            return None
        for row, rank in zip(rows, first, strict=True):
            if len(set(self.lists[row][:rank])) < rank:
                return None
        return np.array(first, dtype=np.int64)

    def issues(self, query: Hashable, row: int) -> list[Issue]:
        first: dict[Any, int] = {}
        issues = []
        for rank, document in enumerate(self.lists[row], start=1):
            if not _is_document_id(type(document)):
                issues.append(
                    Issue("document", "a document id", shown(document), f"run[{query!r}][{rank - 1}]")
                )
            elif first.setdefault(document, rank) != rank:
                found = f"{shown(document)} at rank {first[document]} and again at rank {rank}"
                issues.append(Issue("duplicate-document", "each document once", found, f"run[{query!r}]"))
        return issues


def _first_relevant(ranked: Sequence[Any], lookup: Mapping[Any, int], relevance_level: int) -> int:
    documents = ranked if isinstance(ranked, list | tuple) else list(ranked)
    judged, rest = lookup.keys(), iter(documents)
    # Each search stops behind a judged document, and what is left of the list tells its rank.
    while not judged.isdisjoint(rest):
        rank = len(documents) - length_hint(rest)
        if lookup[documents[rank - 1]] >= relevance_level:
            return rank
    return 0


def _is_document_id(kind: type) -> bool:
    return issubclass(kind, str | int | np.integer)
