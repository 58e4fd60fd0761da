"""Runs given as scores by document: put in order by falling score and the tie rule."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, islice
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_evaluation_framework.errors import Issue, invalid, shown
from rag_evaluation_framework.metrics.grade_counts import counted
from rag_evaluation_framework.metrics.judged_rankings import Booleans, Floats, Integers
from rag_evaluation_framework.metrics.ranking_rules import Ties
from rag_evaluation_framework.metrics.rankings import GradeType, Lookups, grade_table, grades_of

# Stands for a score too large for 32 bits: above all others, equal among themselves, yet finite.
_BEYOND_32_BITS = 1e39


class ScoredDocuments:
    """A block of document-to-score mappings, each read whole."""

    nothing: Mapping[Any, float] = MappingProxyType({})

    def __init__(
        self, scored: Sequence[Mapping[Any, float]], lengths: npt.NDArray[np.int64], *, ties: Ties
    ) -> None:
        self.scored = scored
        self.lengths = lengths
        self.ends = np.cumsum(lengths)
        self.ties = ties

    @cached_property
    def scores(self) -> Floats:
        """All scores one after another, as the tie rule compares them; none at all if one is not finite."""
        try:
            # The sum refuses what numpy would read without a word: numbers written as text.
            sum(chain.from_iterable(each.values() for each in self.scored))
            values = chain.from_iterable(each.values() for each in self.scored)
            flat = np.fromiter(values, dtype=np.float64, count=int(self.lengths.sum()))
        except (TypeError, ValueError, OverflowError):
            return np.zeros(0)
        return _as_compared(flat, self.ties) if np.isfinite(flat).all() else np.zeros(0)

    def look_up(self, judgements: Lookups, *, depth: int | None, grade_type: GradeType) -> Integers | None:
        if len(self.scores) != self.lengths.sum():
            return None
        lengths = self.lengths if depth is None else np.minimum(self.lengths, depth)
        return grade_table(grades_of(self._tops(depth), judgements, grade_type=grade_type), lengths)

    def first_relevant(
        self, rows: Sequence[int], judgements: Lookups, *, relevance_level: int
    ) -> Integers | None:
        """Count the scores above the best relevant one; only where that one is tied is anything sorted."""
        best = np.full(len(self.scored), np.inf)
        for row in rows:
            scored, lookup = self.scored[row], judgements[row]
            found = [
                scored[document]
                for document in lookup.keys() & scored.keys()
                if lookup[document] >= relevance_level
            ]
            if found:
                best[row] = max(found)
        searched = np.isfinite(best)
        threshold = np.repeat(np.where(searched, _as_compared(best, self.ties), np.inf), self.lengths)
        above = counted(self.scores > threshold, self.lengths)
        tied = counted(self.scores == threshold, self.lengths)
        ranks = np.where(searched, above + 1, 0)
        for row in np.flatnonzero(tied > 1).tolist():
            lookup = judgements[row]
            ranks[row] = 1 + next(
                place
                for place, document in enumerate(self._sorted(row))
                if lookup.get(document, -1) >= relevance_level
            )
        return ranks[list(rows)]

    def issues(self, query: Hashable, row: int) -> list[Issue]:
        return [
            Issue("score", "a finite score", shown(score), f"run[{query!r}][{document!r}]")
            for document, score in self.scored[row].items()
            if not _is_score(score)
        ]

    def _tops(self, depth: int | None) -> Iterator[Sequence[Any]]:
        """Yield each query's first documents. Most runs come with falling scores, which need no sorting."""
        rises = _rows_that_rise(self.scores, self.lengths)
        tops = self._sorted_tops(rises, depth)
        for scored, rise in zip(self.scored, rises.tolist(), strict=True):
            yield next(tops) if rise else list(islice(scored, depth))

    def _sorted_tops(self, chosen: Booleans, depth: int | None) -> Iterator[Sequence[Any]]:
        """Yield the first documents of the chosen queries, whose scores are in no order."""
        rows = np.flatnonzero(chosen)
        lengths = self.lengths[rows, np.newaxis]
        places = np.arange(lengths.max(initial=0))
        falling = np.full((len(rows), len(places)), np.inf)
        falling[places < lengths] = -self.scores[np.repeat(chosen, self.lengths)]
        order = np.argsort(falling, axis=1)[:, : None if depth is None else depth + 1]
        in_order = np.take_along_axis(falling, order, axis=1)
        tied = ((in_order[:, 1:] == in_order[:, :-1]) & np.isfinite(in_order[:, 1:])).any(axis=1)
        for row, has_ties, best in zip(rows.tolist(), tied.tolist(), order.tolist(), strict=True):
            if has_ties:
                yield self._sorted(row)[:depth]
            else:
                documents = list(self.scored[row])
                yield [documents[place] for place in best[: min(len(documents), depth or len(documents))]]

    def _sorted(self, row: int) -> list[Any]:
        """Order one query's documents by falling score, equal scores by document id."""
        scored, end = self.scored[row], self.ends[row]
        scores = dict(zip(scored, self.scores[end - len(scored) : end].tolist(), strict=True))
        try:
            by_identifier = sorted(scored, reverse=self.ties == "trec_eval")
        except TypeError:
            kinds = sorted({type(document).__name__ for document in scored})
            raise invalid("run", "document ids of one type, to break a tie", kinds) from None
        return sorted(by_identifier, key=scores.__getitem__, reverse=True)


def _as_compared(scores: Floats, ties: Ties) -> Floats:
    """Return scores with the precision at which the tie rule compares them."""
    if ties != "trec_eval":
        return scores
    with np.errstate(over="ignore"):
        narrow = scores.astype(np.float32).astype(np.float64)
    return np.clip(narrow, -_BEYOND_32_BITS, _BEYOND_32_BITS)


def _is_score(score: object) -> bool:
    try:
        return isinstance(score, int | float | np.integer | np.floating) and math.isfinite(score)
    except OverflowError:  # a whole number beyond every float
        return False


def _rows_that_rise(scores: Floats, lengths: npt.NDArray[np.int64]) -> Booleans:
    """Tell for each query whether some score is not below the one before it."""
    rises = np.zeros(len(scores) + 1, dtype=np.bool_)
    rises[1:-1] = scores[1:] >= scores[:-1]
    rises[np.cumsum(lengths)] = False  # the first score of the next query is compared with nothing
    return counted(rises[:-1], lengths) > 0
