"""Runs given as ranked lists: read from the top, and only as far as a metric looks."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Sequence
from itertools import repeat
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import InputError, Issue, shown
from rag_evaluation_framework.metrics.judged_rankings import UNJUDGED, Integers, capped
from rag_evaluation_framework.metrics.ranking_rules import Ties
from rag_evaluation_framework.metrics.rankings import GradeType, Lookups, Run, grade_table

_LISTS_AT_A_TIME = 64


class RankedLists:
    """A block of ranked lists, best document first."""

    def __init__(self, lists: Sequence[Sequence[Any]], lengths: npt.NDArray[np.int64], *, ties: Ties) -> None:
        self.lists = lists
        self.lengths = lengths

    @staticmethod
    def checked(queries: Sequence[Hashable], run: Run) -> list[Sequence[Any]]:
        """Return every query's list, empty where there is none; anything else is an error."""
        lists = list(map(run.get, queries, repeat(())))
        wrong = {kind for kind in set(map(type, lists)) if not _is_list_type(kind)}
        issues = [
            Issue("ranking", "a ranked list of document ids", shown(ranked), f"run[{query!r}]")
            for query, ranked in (zip(queries, lists, strict=True) if wrong else ())
            if type(ranked) in wrong
        ]
        # Pairs of document and score would match no judgement and pass for documents nobody judged.
        if not issues and not all(map(_is_document_id, {type(ranked[0]) for ranked in lists if ranked})):
            issues = [
                Issue("document", "a document id", shown(ranked[0]), f"run[{query!r}][0]")
                for query, ranked in zip(queries, lists, strict=True)
                if ranked and not _is_document_id(type(ranked[0]))
            ]
        if issues:
            raise InputError(capped(issues))
        return cast("list[Sequence[Any]]", lists)

    def look_up(self, judgements: Lookups, *, depth: int | None, grade_type: GradeType) -> Integers | None:
        code = np.dtype(grade_type).char
        grades = array(code)
        distinct = 0
        # A few lists at a time: what one pass brings into the processor's cache the next finds there.
        for start in range(0, len(self.lists), _LISTS_AT_A_TIME):
            few = slice(start, start + _LISTS_AT_A_TIME)
            tops = [ranked[:depth] for ranked in self.lists[few]]
            try:
                distinct += sum(map(len, map(set, tops)))
            except TypeError:  # something that cannot be hashed cannot be a document id
                return None
            found = [
                lookup[document] if document in lookup else UNJUDGED  # noqa: SIM401 - quicker than get
                for lookup, top in zip(judgements[few], tops, strict=True)
                for document in top
            ]
            grades += array(code, found)
        if distinct < len(grades):
            return None
        lengths = self.lengths if depth is None else np.minimum(self.lengths, depth)
        return grade_table(np.array(grades, dtype=grade_type), lengths)

    def first_relevant(
        self, rows: Sequence[int], judgements: Lookups, *, relevance_level: int
    ) -> Integers | None:
        first = np.zeros(len(rows), dtype=np.int64)
        for place, row in enumerate(rows):
            ranked, lookup = self.lists[row], judgements[row]
            for document in filter(lookup.__contains__, ranked):
                if lookup[document] >= relevance_level:
                    first[place] = rank = ranked.index(document) + 1
                    if len(set(ranked[:rank])) < rank:
                        return None
                    break
        return first

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


def _is_list_type(kind: type) -> bool:
    return issubclass(kind, Sequence) and not issubclass(kind, str | bytes)


def _is_document_id(kind: type) -> bool:
    return issubclass(kind, str | int | np.integer)
